//! A machine with two processors that are nobody's, and what commands print on it.

use std::collections::VecDeque;
use std::fs;
use std::future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser as _;
use jiff::Timestamp;
use serde_json::Value;
use stampede_conduct::{Host, Interrupts, LocalFut, Lock, Notices, OwnProgram};
use stampede_core::{Answer, Bytes, Certificate, CgroupSupport, CpuLayout, Finding, Fut, Machine, Revision};
use stampede_load::Backend;
use stampede_plan::{ComparePlan, MachineSize, PlatformChoice};
use stampede_seam::Platform;
use stampede_testkit::{FakeLaunch, FakeLifetime, FakePlatform};
use tokio::runtime::{Builder, Runtime};

use crate::args::Args;
use crate::exit::Failure;
use crate::notices::OnScreen;
use crate::screen::capture::{self, Captured};
use crate::{outcome_of, tell};

/// What the application answers.
pub(super) const BODY: &str = "hello\n";

/// What becomes of each launch.
type Script = Arc<dyn Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync>;

/// A made-up machine with a store of its own.
pub(super) struct MadeUp {
    script: Script,
    folder: tempfile::TempDir,
    /// Keys of what is not installed.
    lacks: Vec<&'static str>,
    /// The application whose preparation fails.
    unprepared: Option<&'static str>,
    /// What stands in the way of limits.
    preflight: Vec<Finding>,
    /// When signals come, after a command has begun, and whether they are Ctrl-C.
    signals: Vec<(Duration, bool)>,
    /// What was launched and stopped, of all commands.
    log: Arc<Mutex<Vec<String>>>,
    /// The purposes that the lock was taken for.
    purposes: Mutex<Vec<String>>,
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: u8,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    /// Its stdout, which is JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Its stderr without line breaks.
    pub(super) fn words(&self) -> String {
        words(&self.stderr)
    }

    /// The same of its stdout.
    pub(super) fn report(&self) -> String {
        words(&self.stdout)
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl MadeUp {
    /// On which each launch becomes what a script says.
    pub(super) fn new(script: impl Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            folder: tempfile::tempdir().unwrap(),
            lacks: Vec::new(),
            unprepared: None,
            preflight: Vec::new(),
            signals: Vec::new(),
            log: Arc::default(),
            purposes: Mutex::default(),
        }
    }

    /// On which every runtime answers at its rate.
    pub(super) fn serving(rate: fn(&str) -> f64) -> Self {
        Self::new(move |launch| FakeLifetime::serving(BODY, rate(runtime(launch))))
    }

    /// The same store, and other servers.
    pub(super) fn then(self, script: impl Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), signals: Vec::new(), ..self }
    }

    /// Without what is required by these keys, and with an application that cannot be prepared.
    pub(super) fn lacking(self, keys: &[&'static str], unprepared: Option<&'static str>) -> Self {
        Self { lacks: keys.to_vec(), unprepared, ..self }
    }

    /// Where this is found before anything is launched.
    pub(super) fn finding(self, preflight: Vec<Finding>) -> Self {
        Self { preflight, ..self }
    }

    /// Sends signals to the commands to come, each so long after its beginning: Ctrl-C, or one that ends it at once.
    pub(super) fn interrupted(self, signals: &[(Duration, bool)]) -> Self {
        Self { signals: signals.to_vec(), ..self }
    }

    /// Runs a command as it would be typed. The store, of a command that has one, is this machine's own.
    pub(super) fn run(&self, args: &[&str]) -> Said {
        let store = self.folder.path().join("studies.db").display().to_string();
        let stored = ["--store", &store];
        let has_none = args.first().is_some_and(|command| ["clean", "init", "load"].contains(command));
        let stored = if has_none { &[][..] } else { &stored };
        let args = [&["stampede"], args, stored].concat();
        let parsed = Args::try_parse_from(&args).unwrap_or_else(|error| panic!("{error}"));
        let captured = Captured::default();
        capture::install(Some(captured.clone()));
        let exit = outcome_of(parsed, self).unwrap_or_else(tell);
        capture::install(None);
        let [stdout, stderr] = captured.texts();
        Said { code: exit as u8, stdout, stderr }
    }

    /// What was launched and stopped, in order.
    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many deployments were launched.
    pub(super) fn launches(&self) -> usize {
        self.log().iter().filter(|line| line.starts_with("launch")).count()
    }

    /// The purposes that the lock was taken for.
    pub(super) fn purposes(&self) -> Vec<String> {
        self.purposes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A folder of its own with an application of one page.
    pub(super) fn application(&self, name: &str) -> String {
        let folder = self.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("index.php"), "<?php echo 'hello';").unwrap();
        folder.display().to_string()
    }

    /// A place in its folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Whether a launch is of the application in the folder of this name.
pub(super) fn is_of(launch: &FakeLaunch<'_>, name: &str) -> bool {
    launch.deployment.app.ends_with(name)
}

/// The runtime of a launch, by its first unit: `nginx-fpm` begins with `php-fpm`.
pub(super) fn runtime<'a>(launch: &'a FakeLaunch<'_>) -> &'a str {
    launch.unit()
}

/// Answers everything with this.
pub(super) fn always(status: u16, body: &'static str) -> stampede_testkit::Answering {
    Arc::new(move |_| Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() })
}

/// A scenario in which all users send this request under this load.
pub(super) fn scenario(load: &str, path: &str) -> String {
    format!("crowds: [{{load: {load}, requests: [{{name: a, path: '{path}', check: {{status: 200}}}}]}}]\n")
}

/// A workload of the tests, by its folder.
pub(super) fn workload(name: &str) -> String {
    format!("{}/tests/workloads/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Host for MadeUp {
    fn notices(&self) -> &dyn Notices {
        &OnScreen
    }

    fn machine(&self) -> Machine {
        Machine { cpus: 2, cpu_model: "made up".to_owned(), kernel: "6.1".to_owned(), cgroup: CgroupSupport::V2 }
    }

    fn size(&self) -> MachineSize {
        MachineSize { cpus: 2, memory: Bytes::from_mib(8 << 10), connections: 10_000 }
    }

    fn cpus(&self) -> Vec<u32> {
        vec![0, 1]
    }

    fn settle(&self) {}

    fn as_root(&self) -> Option<String> {
        Some("sudo stampede".to_owned())
    }

    fn enter(&self, _layout: &CpuLayout) -> Result<Runtime, Failure> {
        Builder::new_current_thread().enable_all().start_paused(true).build().map_err(Failure::missing)
    }

    fn interrupts(&self) -> Result<Box<dyn Interrupts>, Failure> {
        let began = tokio::time::Instant::now();
        let due = self.signals.iter().map(|(after, is_interrupt)| (began + *after, *is_interrupt));
        Ok(Box::new(Scripted(due.collect())))
    }

    /// The end of the year of its clock: whatever is measured is over then.
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_798_761_599).unwrap()
    }

    fn lock<'a>(&'a self, purpose: &'a str, _no_wait: bool) -> Fut<'a, Result<Lock, Failure>> {
        self.purposes.lock().unwrap_or_else(PoisonError::into_inner).push(purpose.to_owned());
        Box::pin(async { Ok(Box::new(()) as Lock) })
    }

    fn platform<'a>(
        &'a self,
        plan: &'a ComparePlan,
        _beside: &'a [&'a ComparePlan],
        _server_cpus: Vec<u32>,
        _quiet: bool,
    ) -> Fut<'a, Result<Box<dyn Platform>, Failure>> {
        Box::pin(async move {
            let script = Arc::clone(&self.script);
            let platform = FakePlatform::new(move |launch| script(launch)).logging_to(Arc::clone(&self.log));
            let node = matches!(plan.platform, PlatformChoice::Kubernetes(_)).then_some("node-1");
            let platform =
                platform.on_node(node).lacking(&self.lacks).unprepared(self.unprepared).finding(self.preflight.clone());
            Ok(Box::new(platform) as Box<dyn Platform>)
        })
    }

    fn revision<'a>(&'a self, _folder: &'a Path) -> Fut<'a, Option<Revision>> {
        Box::pin(async { None })
    }

    fn program(&self) -> Result<OwnProgram, Failure> {
        Ok(OwnProgram {
            path: self.path("stampede"),
            version: "made up".to_owned(),
            folder: self.path("reference-server"),
        })
    }

    fn certificate(&self) -> Result<Certificate, Failure> {
        stampede_platforms::self_made().map_err(Failure::missing)
    }

    fn backend<'a>(&'a self, _asked: Option<Backend>, _cpus: &'a CpuLayout, _quiet: bool) -> Fut<'a, Backend> {
        Box::pin(async { Backend::Epoll })
    }
}

/// Signals that come at their times.
struct Scripted(VecDeque<(tokio::time::Instant, bool)>);

impl Interrupts for Scripted {
    fn next(&mut self) -> LocalFut<'_, bool> {
        Box::pin(async {
            let Some((due, is_interrupt)) = self.0.front().copied() else { return future::pending().await };
            tokio::time::sleep_until(due).await;
            self.0.pop_front();
            is_interrupt
        })
    }
}
