//! A study of made-up cases, and everything that listens to it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    Answer, CgroupSupport, ErrorModel, Failures, Fut, Groundwork, Machine, Outcome, Rounds, Study, StudyId, StudyKind,
    Terms, Trial, WindowsFrom, Workload, WorkloadId,
};
use stampede_harness::{Event, Phase, Prepared, Sink, SinkError, Stop, TrialContext, YardStick};
use stampede_seam::{Backend, Platform as _};
use stampede_testkit::{FakePlatform, samples};

pub(crate) use stampede_testkit::samples::{BODY, LIMITS, exchange, workload};

/// A study under way.
pub(crate) struct Bench {
    pub(crate) study: Study,
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) workload: Workload,
    pub(crate) yard_stick: Option<YardStick>,
    pub(crate) failures: Failures,
    pub(crate) sampled: bool,
    pub(crate) stop: Arc<Stop>,
}

impl Bench {
    /// A comparison of these cases, each served by a unit of its name.
    pub(crate) fn new(cases: &[&str], rounds: Rounds) -> Self {
        let prepared: Vec<Prepared> = cases.iter().map(|name| prepared(name)).collect();
        Self {
            study: Study {
                id: StudyId::new("study"),
                kind: StudyKind::Compare,
                workload: WorkloadId::new("hello"),
                seed: 1,
                rounds,
                precision: 0.03,
                errors: ErrorModel::AllCases,
                metric: None,
                slo: None,
                warm_up: Duration::from_secs(1),
                duration: Duration::from_secs(10),
                started_at: Timestamp::UNIX_EPOCH,
                stampede_version: "0.1.0".to_owned(),
                machine: Machine {
                    cpus: 2,
                    cpu_model: "made up".to_owned(),
                    kernel: "6.1".to_owned(),
                    cgroup: CgroupSupport::V2,
                },
                cases: prepared.iter().map(|prepared| prepared.case.clone()).collect(),
                groundwork: Groundwork::default(),
                order: stampede_core::BlockOrder::default(),
                resumed_at: Vec::new(),
                time_over_at: None,
                windows_from: None,
                chosen: Default::default(),
            },
            prepared,
            workload: workload(),
            yard_stick: None,
            failures: Failures::Faults,
            sampled: false,
            stop: Arc::default(),
        }
    }

    pub(crate) fn context(&self) -> TrialContext<'_> {
        TrialContext {
            workload: &self.workload,
            scenario: None,
            ready_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            timeout: None,
            failures: self.failures,
            backend: Backend::Epoll,
            sampled: self.sampled,
            inside: None,
            yard_stick: self.yard_stick.as_ref(),
            stop: &self.stop,
        }
    }

    /// Runs it from its beginning.
    pub(crate) async fn run(&self, platform: &FakePlatform) -> Heard {
        self.resume(platform, Vec::new()).await
    }

    /// Runs it from where an earlier one was interrupted.
    pub(crate) async fn resume(&self, platform: &FakePlatform, trials: Vec<Trial>) -> Heard {
        self.hear(platform, trials, Heard::default()).await
    }

    /// Runs it until so many trials have ended, and then completes the block.
    pub(crate) async fn stop_after(&self, platform: &FakePlatform, trials: usize) -> Heard {
        let stops = Some((trials, Arc::clone(&self.stop)));
        self.hear(platform, Vec::new(), Heard { stops, ..Heard::default() }).await
    }

    async fn hear(&self, platform: &FakePlatform, trials: Vec<Trial>, mut heard: Heard) -> Heard {
        let mut study = self.study.clone();
        if trials.is_empty() {
            study.started_at = platform.vantage().timestamp();
        }
        stampede_harness::run(platform, &study, &self.prepared, &self.context(), trials, &mut heard)
            .await
            .expect("a list takes all events");
        heard
    }
}

/// Everything that was said.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) trials: Vec<Trial>,
    /// `trial a 1 of 6`, `phase Launch`, `reference 1`.
    pub(crate) events: Vec<String>,
    /// When the time of the study was over.
    pub(crate) time_over_at: Option<Timestamp>,
    /// From where on windows took the place of turns.
    pub(crate) windows_from: Option<WindowsFrom>,
    /// Asks a study to stop when so many trials have ended.
    pub(crate) stops: Option<(usize, Arc<Stop>)>,
}

impl Sink for Heard {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        match event {
            Event::TrialEnded(trial) => {
                self.trials.push((*trial).clone());
                self.events.push(format!("ended {}", trial.case));
                if let Some((_, stop)) = self.stops.as_ref().filter(|(after, _)| *after == self.trials.len()) {
                    stop.ask();
                }
            }
            Event::TrialStarted { case, block, number, of, .. } => {
                let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
                self.events.push(format!("trial {case} {number}{of} in block {block}"));
            }
            Event::TurnStarted { .. } => {}
            Event::PhaseStarted(phase) => self.events.push(format!("phase {phase:?}")),
            Event::Searching { exchange, deployment, .. } => {
                self.events.push(format!("search {deployment} for {exchange}"))
            }
            Event::YardStickStarted { block } => self.events.push(format!("reference {block}")),
            Event::CaseAdded(case) => self.events.push(format!("case {}", case.id)),
            Event::PilotStarted(case) => self.events.push(format!("pilot {case}")),
            Event::TimeOver(at) => self.time_over_at = Some(*at),
            Event::TurnsEnded(windows_from) => self.windows_from = Some((*windows_from).clone()),
            Event::PilotEnded(..)
            | Event::StudyStarted(_)
            | Event::StudyResumed(_)
            | Event::YardStickEnded(_)
            | Event::Progress { .. }
            | Event::Warned(_) => {}
        }
        Box::pin(async { Ok(()) })
    }
}

impl Heard {
    /// Cases by block, in the order in which they were measured.
    pub(crate) fn blocks(&self) -> Vec<Vec<String>> {
        let last = self.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
        let of = |block| self.trials.iter().filter(move |trial| trial.block == block);
        (1..=last).map(|block| of(block).map(|trial| trial.case.to_string()).collect()).collect()
    }

    /// The outcome of the only trial, and its phases.
    pub(crate) fn only(&self) -> &Trial {
        assert_eq!(self.trials.len(), 1, "{:?}", self.events);
        &self.trials[0]
    }

    pub(crate) fn phases(&self) -> Vec<Phase> {
        let known =
            [Phase::Launch, Phase::Ready, Phase::Verify, Phase::WarmUp, Phase::Measure, Phase::Drain, Phase::Stop];
        let of = |event: &String| known.into_iter().find(|phase| *event == format!("phase {phase:?}"));
        self.events.iter().filter_map(of).collect()
    }
}

/// Why a trial failed or is invalid.
pub(crate) fn reason(trial: &Trial) -> &str {
    match &trial.outcome {
        Outcome::Measured => "",
        Outcome::Invalid(reason) | Outcome::Failed(reason) => reason,
    }
}

pub(crate) fn answer(status: u16, body: &str) -> Answer {
    Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

pub(crate) fn prepared(name: &str) -> Prepared {
    Prepared::alone(samples::case(name), samples::deployment(name), Terms::of(LIMITS))
}
