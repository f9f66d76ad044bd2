//! `stampede compare`: which runtime is fastest under these limits, and how sure are we?

use std::env;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    Bytes, CpuLayout, Fut, Machine, Outcome as TrialOutcome, Platform, Severity, Study, StudyId, StudyKind, Trial,
};
use stampede_harness::{Conditions, Event, Missing, Prepared, Sink, SinkError, Surroundings};
use stampede_plan::{CompareFlags, ComparePlan, MachineSize, RuntimeChoice, TopologyFlags};
use stampede_platforms::lock::{LockError, MeasuringLock};
use stampede_platforms::{LocalConfig, LocalPlatform, scope};
use stampede_runtimes::Topologies;
use stampede_store::Store;

use crate::args::{CompareArgs, TopologyArgs};
use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::exit::{Exit, Failure};
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::progress::Progress;
use crate::record::Record;
use crate::show::Report;
use crate::signals::Signals;
use crate::{Outcome, clean, folders, screen};

/// Longest wait for answers that are still out when the window closes.
const DRAIN: Duration = Duration::from_secs(5);
/// Longest wait for blocking threads at the end; a request whose server is gone ends at once.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// How often a lock that another Stampede holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn run(args: Box<CompareArgs>) -> Outcome {
    let CompareArgs {
        workload,
        runtimes,
        set,
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        seed,
        ready_timeout,
        backend,
        platform,
        no_wait,
        topology,
        output,
        store,
        quiet,
    } = *args;
    let flags = CompareFlags {
        workload,
        runtimes: Some(runtimes),
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        seed,
        ready_timeout,
        platform,
        set,
        topology: topology_flags(topology),
    };
    let machine = stampede_platforms::machine();
    let size = MachineSize {
        cpus: machine.cpus,
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        connections: raise_open_files().saturating_sub(OWN_FILES),
    };
    let plan = ComparePlan::read(&flags, size, &BuiltIn).map_err(Failure::usage);
    let (plan, report) = Failure::both(plan, Report::new(output))?;
    if let Err(error) = scope::enter(Path::new("/")) {
        screen::warning(&Failure::missing(error).message);
    }
    let path = folders::store(&store)?;
    let store = Store::open(&path).map_err(Failure::missing)?;

    let available = stampede_platforms::available_cpus();
    let pinning = CpuLayout::divide(&available, plan.limits.cpus.whole_cores());
    // Everything of Stampede's own stays off the server's cores from here on: threads inherit this.
    stampede_platforms::pin_to(&pinning.generator).map_err(Failure::missing)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let mut record = Record::new(store);
    let ended = runtime.block_on(attend(&plan, machine, pinning, backend, no_wait, quiet, &mut record));
    // What still runs on a blocking thread (a run that is being prepared when Ctrl-C comes) cleans up after itself.
    runtime.shutdown_timeout(LAST_WAIT);
    conclude(ended, &report, &mut record, &path)
}

fn topology_flags(args: TopologyArgs) -> TopologyFlags {
    let TopologyArgs {
        replicas,
        balancer,
        balance,
        upstream_keepalive,
        tls,
        services,
        share,
        ready,
        restart,
        client_rtt,
        client_bandwidth,
    } = args;
    TopologyFlags {
        replicas,
        balancer,
        balance,
        upstream_keepalive,
        tls,
        services,
        share,
        ready,
        restart,
        client_rtt,
        client_bandwidth,
    }
}

/// Everything that is done on the runtime; whatever it is doing, a signal ends it.
async fn attend(
    plan: &ComparePlan,
    machine: Machine,
    pinning: CpuLayout,
    backend: BackendChoice,
    no_wait: bool,
    quiet: bool,
    record: &mut Record,
) -> Result<Ended, Failure> {
    let mut signals = Signals::new()?;
    tokio::select! {
        biased;
        () = signals.any() => Ok(Ended::Interrupted),
        ended = study(plan, machine, pinning, backend, no_wait, quiet, record) => ended.map(|()| Ended::Complete),
    }
}

/// How a study ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Complete,
    Interrupted,
}

async fn study(
    plan: &ComparePlan,
    machine: Machine,
    pinning: CpuLayout,
    backend: BackendChoice,
    no_wait: bool,
    quiet: bool,
    record: &mut Record,
) -> Result<(), Failure> {
    let _lock = wait_for_lock(no_wait, plan).await?;
    let config = LocalConfig {
        warden: warden()?,
        state_dir: folders::state(),
        cache_dir: folders::cache()?,
        server_cpus: pinning.server.clone(),
        ready_timeout: plan.ready_timeout,
    };
    // It cleans up after Stampedes that were killed, which may take a while.
    let platform = match tokio::task::spawn_blocking(|| LocalPlatform::new(config)).await {
        Ok(platform) => platform.map_err(Failure::missing)?,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    };
    clean::tell(platform.cleaned());
    for finding in platform.preflight(&plan.limits).await {
        if finding.severity > Severity::Info {
            screen::warning(&format!("{}; {}", finding.text, finding.advice));
        }
    }
    let cpus = pinning.clone();
    let backend = match tokio::task::spawn_blocking(move || backend.find(&cpus, quiet)).await {
        Ok(backend) => backend,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    };
    let topology = plan.topology.clone();
    let certificate = topology.has_tls().then(stampede_platforms::self_made).transpose().map_err(Failure::missing)?;
    let conditions = Conditions { limits: plan.limits, load: plan.load.clone(), pinning, topology, certificate };
    let (prepared, missing) = stampede_harness::prepare(&platform, &Topologies, &plan.candidates, &conditions)
        .await
        .map_err(Failure::missing)?;
    account_for_missing(plan.choice, &prepared, &missing)?;

    let started_at = Timestamp::now();
    let study = Study {
        id: StudyId::new(format!("{}-{:04x}", started_at.strftime("%Y%m%d-%H%M%S"), random() as u16)),
        kind: StudyKind::Compare,
        workload: plan.workload.id.clone(),
        seed: plan.seed.unwrap_or_else(|| u64::from(random() as u32)),
        rounds: plan.rounds,
        warm_up: plan.warm_up,
        duration: plan.duration,
        started_at,
        stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine,
        cases: prepared.iter().map(|prepared| prepared.case.clone()).collect(),
    };
    if !quiet {
        introduce(&study);
    }
    let surroundings =
        Surroundings { workload: &plan.workload, ready_timeout: plan.ready_timeout, drain: DRAIN, backend };
    let mut sinks = Sinks { record, progress: Progress::new(quiet, screen::width()) };
    stampede_harness::run(&platform, &study, &prepared, &surroundings, &mut sinks).await.map_err(Failure::missing)
}

/// Prints what was measured, and says how it ended. What is printed does not depend on the store, which may be full.
fn conclude(ended: Result<Ended, Failure>, report: &Report, record: &mut Record, store: &Path) -> Outcome {
    let finished_at = matches!(ended, Ok(Ended::Complete)).then(Timestamp::now);
    if let Some(study) = record.study().cloned() {
        report.write(&study, finished_at, record.trials())?;
        if let Some(finished_at) = finished_at {
            record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)?;
        }
        if report.on_terminal() {
            screen::print(&format!("\nstored in {}\n", store.display()))?;
        }
    }
    match ended? {
        Ended::Complete => Ok(exit_of(record.trials())),
        Ended::Interrupted => {
            screen::warning(&format!("interrupted; {} finished trials are kept", record.trials().len()));
            Ok(Exit::Interrupted)
        }
    }
}

/// How this program is started again as a warden.
fn warden() -> Result<Vec<OsString>, Failure> {
    let program = env::current_exe().map_err(Failure::missing)?;
    Ok(vec![program.into_os_string(), "__warden".into()])
}

async fn wait_for_lock(no_wait: bool, plan: &ComparePlan) -> Result<MeasuringLock, Failure> {
    let purpose = format!("compare {}", plan.workload.id);
    let mut told = false;
    loop {
        match MeasuringLock::try_acquire(&purpose) {
            Ok(lock) => return Ok(lock),
            Err(LockError::Held { holder }) if no_wait => {
                return Err(Failure::missing(format!(
                    "another Stampede is measuring on this machine: {holder}\n  wait for it, or leave out --no-wait"
                )));
            }
            Err(LockError::Held { holder }) => {
                if !told {
                    screen::note(&format!("waiting for another Stampede that is measuring: {holder}"));
                }
                told = true;
            }
            Err(error) => return Err(Failure::missing(error)),
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// A missing runtime that was named ends the command; one that was not is left out and said so.
fn account_for_missing(choice: RuntimeChoice, prepared: &[Prepared], missing: &[Missing]) -> Result<(), Failure> {
    let line = |Missing { case, what, install }: &Missing| format!("{case} needs {what}: {install}");
    let lines = missing.iter().map(line).collect::<Vec<_>>().join("\n");
    if prepared.is_empty() && missing.is_empty() {
        return Err(Failure::usage("no runtime can serve this workload; see stampede list runtimes"));
    }
    if prepared.is_empty() || (choice == RuntimeChoice::Named && !missing.is_empty()) {
        return Err(Failure::missing(lines));
    }
    for line in lines.lines() {
        screen::note(&format!("left out: {line}"));
    }
    Ok(())
}

/// Says which settings each case has and why, and what will be done.
fn introduce(study: &Study) {
    let colour = screen::colour_on(&io::stderr());
    screen::note(&stampede_report::terminal::settings(study, screen::width(), colour));
    screen::note(&format!(
        "{}: {} cases x {} rounds of {:?}, seed {}",
        study.workload,
        study.cases.len(),
        study.rounds,
        study.duration,
        study.seed
    ));
}

fn exit_of(trials: &[Trial]) -> Exit {
    let any = |test: fn(&TrialOutcome) -> bool| trials.iter().any(|trial| test(&trial.outcome));
    if any(|outcome| matches!(outcome, TrialOutcome::Failed(_))) {
        Exit::TrialFailed
    } else if any(|outcome| matches!(outcome, TrialOutcome::Invalid(_))) {
        Exit::Invalid
    } else {
        Exit::Done
    }
}

/// A number that differs from run to run; the standard library seeds its hash maps from the kernel.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Everything that listens to a study.
struct Sinks<'a> {
    record: &'a mut Record,
    progress: Progress,
}

impl Sink for Sinks<'_> {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.record.take(event).await?;
            self.progress.take(event).await
        })
    }
}
