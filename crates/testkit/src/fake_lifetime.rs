//! What a deployment that is made up does from its launch to its end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{
    Answer, Deployment, EnforcedLimits, ErrorClass, InsideRecord, Limits, Request, Terms, UnitExit, UnitRestart,
};
use stampede_seam::{Saturation, StopError};

/// What is launched, for scripts to choose a lifetime by.
#[derive(Debug)]
pub struct FakeLaunch<'a> {
    /// How many launches there were before.
    pub number: usize,
    /// What is launched.
    pub deployment: &'a Deployment,
    /// Under which budgets.
    pub terms: &'a Terms,
}

impl FakeLaunch<'_> {
    /// The name of the first unit, by which scripts tell cases apart.
    pub fn unit(&self) -> &str {
        self.deployment.units.first().map_or("", |unit| unit.id.as_str())
    }
}

/// How a deployment answers a request.
pub type Answering = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// A deployment from its launch to its end. Times count from its launch, by a virtual clock.
#[derive(Clone)]
pub struct FakeLifetime {
    /// How long the launch takes.
    pub launch: Duration,
    /// Why it fails.
    pub launch_problem: Option<String>,
    /// When it answers; connections are refused before.
    pub ready: Duration,
    /// When a unit ends by itself, and how.
    pub exit: Option<(Duration, UnitExit)>,
    /// When it does not answer, as long as it is not told to stop: from and to.
    pub stall: Option<(Duration, Duration)>,
    /// What it answers.
    pub answer: Answering,
    /// How long an answer takes, under load too.
    pub latency: Duration,
    /// Answers a second to a closed load, or at most to an open one: of that, what is too much waits.
    pub rate: f64,
    /// How long answers of a window still come after it.
    pub drain: Duration,
    /// Requests of each window that fail, by their cause.
    pub errors: Vec<(ErrorClass, u64)>,
    /// Requests of each window that have no answer when the drain is over.
    pub unfinished: u64,
    /// Tables that had no row left in each window, by their names.
    pub exhausted_feeders: Vec<String>,
    /// What the generator added to each window, when that was too much.
    pub saturation: Option<Saturation>,
    /// Why no load can be started.
    pub load_problem: Option<String>,
    /// The processors that it uses under load.
    pub cpus: f64,
    /// Processes that the kernel kills for their memory, and when.
    pub oom_kills: Vec<Duration>,
    /// Pages that are read from a disk, and when.
    pub major_faults: Vec<Duration>,
    /// By how many bytes a second its memory grows, and until when.
    pub memory_growth: Option<(u64, Duration)>,
    /// Why its counters cannot be read.
    pub counters_problem: Option<String>,
    /// What is seen of its PHP's stacks in each window, where they are sampled.
    pub inside: Option<InsideRecord>,
    /// The limits that the kernel holds; those that were asked for by default.
    pub enforced: Option<EnforcedLimits>,
    /// The limits of parts, where they are held to their own.
    pub parts: Vec<(String, Limits)>,
    /// Units that were started again.
    pub restarts: Vec<UnitRestart>,
    /// When each of its workers ends, and another one takes its place.
    pub worker_life: Option<Duration>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// Settings of PHP that are in force in place of those that were asked for.
    pub php_settings: Vec<(&'static str, &'static str)>,
    /// What every program prints that is run beside it.
    pub said: Result<String, String>,
    /// What befell it that is not its own doing.
    pub disturbed: Option<String>,
    /// How long it takes to stop.
    pub stop: Duration,
    /// Whether it has to be killed.
    pub is_deaf: bool,
    /// Why it cannot be stopped.
    pub stop_problem: Option<String>,
}

impl FakeLifetime {
    /// One that serves this page at this rate and has nothing wrong with it.
    pub fn serving(body: &'static str, rate: f64) -> Self {
        Self {
            launch: Duration::from_millis(100),
            launch_problem: None,
            ready: Duration::from_millis(200),
            exit: None,
            stall: None,
            answer: page(body),
            latency: Duration::from_millis(2),
            rate,
            drain: Duration::ZERO,
            errors: Vec::new(),
            unfinished: 0,
            exhausted_feeders: Vec::new(),
            saturation: None,
            load_problem: None,
            cpus: 0.5,
            oom_kills: Vec::new(),
            major_faults: Vec::new(),
            memory_growth: None,
            counters_problem: None,
            inside: None,
            enforced: None,
            parts: Vec::new(),
            restarts: Vec::new(),
            worker_life: None,
            log: Vec::new(),
            php_settings: Vec::new(),
            said: Ok(String::new()),
            disturbed: None,
            stop: Duration::from_millis(50),
            is_deaf: false,
            stop_problem: None,
        }
    }

    pub(crate) fn stopped(&self) -> Result<(), StopError> {
        self.stop_problem.clone().map_or(Ok(()), |problem| Err(StopError(problem)))
    }
}

impl fmt::Debug for FakeLifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeLifetime").field("rate", &self.rate).field("latency", &self.latency).finish_non_exhaustive()
    }
}

/// Answers everything with status 200 and this body.
pub fn page(body: &'static str) -> Answering {
    Arc::new(|_: &Request| Answer { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() })
}
