//! `stampede compare`: which runtime is fastest under these limits, and how sure are we?

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    Case, CpuLayout, Failures, Fut, Groundwork, Machine, Outcome as TrialOutcome, Rounds, Study, StudyId, StudyKind,
    Trial,
};
use stampede_harness::{Copies, Event, Prepared, Sink, SinkError, Stop, TrialContext};
use stampede_load::Backend;
use stampede_plan::{CompareFlags, ComparePlan, SubjectFlag, TopologyFlags};
use stampede_store::Store;

use crate::args::{CompareArgs, StoreArgs, TopologyArgs};
use crate::backend::BackendChoice;
use crate::catalogue::BuiltIn;
use crate::exit::{Exit, Failure};
use crate::ground::{self, Ground};
use crate::host::{self, Ended, Host};
use crate::progress::Progress;
use crate::record::Record;
use crate::show::Report;
use crate::{Outcome, calibration, capacity, figure, folders, recording, resumption, screen, yard_stick};

/// Longest wait for answers that are still out when the window closes.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// The same for a scenario, whose flows have been begun and are brought to their end: as long as Gatling waits for one answer
/// (https://docs.gatling.io/reference/script/http/protocol/, `requestTimeout`).
pub(crate) const DRAIN_OF_FLOWS: Duration = Duration::from_secs(60);

pub(crate) fn run(args: Box<CompareArgs>, host: &dyn Host) -> Outcome {
    let CompareArgs {
        subject,
        app,
        exchanges,
        feeders,
        php,
        runtimes,
        set,
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        max_time,
        precision,
        seed,
        ready_timeout,
        metric,
        backend,
        platform,
        base_image,
        no_sampling,
        no_yard_stick,
        calibrate,
        resume,
        no_wait,
        topology,
        output,
        store,
        quiet,
    } = *args;
    let flags = CompareFlags {
        subject: subject.map_or(SubjectFlag::Nothing, SubjectFlag::Named),
        app,
        exchanges,
        feeders,
        php,
        runtimes,
        cpus,
        memory,
        load,
        duration,
        warm_up,
        rounds,
        max_time,
        precision,
        seed,
        ready_timeout,
        platform,
        base_image,
        set,
        no_sampling,
        no_yard_stick,
        calibrate,
        slo: None,
        topology: topology_flags(topology),
    };
    let plan = ComparePlan::read(&flags, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, report) = Failure::both(plan, Report::new(output))?;
    let metric = figure::read(metric)?;
    let kind = if plan.calibrate { StudyKind::Calibrate } else { StudyKind::Compare };
    let failures = Failures::Faults;
    let order = Order { plan: &plan, beside: &[], id: None, kind, metric, failures, resume, backend, no_wait, quiet };
    let (ended, mut record, path) = carry_out(&order, host, &store)?;
    conclude(ended, &report, &mut record, &path, host)
}

/// What is to be measured, and how.
pub(crate) struct Order<'a> {
    pub(crate) plan: &'a ComparePlan,
    /// The same under other limits, or with other things around: their cases are measured in the same blocks.
    pub(crate) beside: &'a [ComparePlan],
    /// What the study is called, where that is known before.
    pub(crate) id: Option<StudyId>,
    pub(crate) kind: StudyKind,
    /// Key of the metric that decides, where it was named.
    pub(crate) metric: Option<String>,
    /// What answers under load that are not right mean.
    pub(crate) failures: Failures,
    /// A study to go on with: of this name, or the newest of its kind that was not finished.
    pub(crate) resume: Option<Option<String>>,
    pub(crate) backend: BackendChoice,
    pub(crate) no_wait: bool,
    pub(crate) quiet: bool,
}

/// Measures a study: how that ended, what was kept of it, and in which store.
pub(crate) fn carry_out(
    order: &Order<'_>,
    host: &dyn Host,
    store: &StoreArgs,
) -> Result<(Result<Ended, Failure>, Record, PathBuf), Failure> {
    // Told before anything is waited for; which one it is then is found out once nobody else measures.
    let earlier = |store: &Store| match &order.resume {
        Some(name) => resumption::find(store, name.as_deref(), order.kind).map(drop),
        None => Ok(()),
    };
    let cores = order.plan.limits.cpus.whole_cores();
    attend(host, cores, store, order.quiet, earlier, async |pinning, record, stop| {
        study(order, host, pinning, record, stop).await
    })
}

/// Does work that measures deployments of so many cores and keeps what it measures: how that ended, what was kept of it, and in
/// which store. The store is looked at before.
pub(crate) fn attend(
    host: &dyn Host,
    cores: usize,
    store: &StoreArgs,
    quiet: bool,
    look: impl FnOnce(&Store) -> Result<(), Failure>,
    work: impl AsyncFnOnce(CpuLayout, &mut Record, &Stop) -> Result<(), Failure>,
) -> Result<(Result<Ended, Failure>, Record, PathBuf), Failure> {
    host.settle();
    let path = folders::store(store)?;
    let store = Store::open(&path).map_err(Failure::missing)?;
    look(&store)?;
    let mut record = Record::new(store);
    let stop = Stop::default();
    let ended = host::attend(host, cores, quiet, &stop, |pinning| work(pinning, &mut record, &stop))?;
    Ok((ended, record, path))
}

/// What was typed of a topology.
pub(crate) fn topology_flags(args: TopologyArgs) -> TopologyFlags {
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
        no_keepalive,
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
        no_keepalive,
    }
}

async fn study(
    order: &Order<'_>,
    host: &dyn Host,
    pinning: CpuLayout,
    record: &mut Record,
    stop: &Stop,
) -> Result<(), Failure> {
    let site = Site::take(order, host, pinning, stop).await?;
    if let Some(name) = &order.resume {
        let earlier = resumption::find(record.store(), name.as_deref(), order.kind)?;
        record.go_on_with(earlier);
    }
    conduct(order, &site, &mut Copies::default(), record).await
}

/// Where studies are measured, one after another.
pub(crate) struct Site<'a> {
    /// What may ask them to end.
    pub(crate) stop: &'a Stop,
    ground: Ground<'a>,
    machine: Machine,
    pinning: CpuLayout,
    backend: Backend,
}

impl<'a> Site<'a> {
    pub(crate) async fn take(
        order: &Order<'_>,
        host: &'a dyn Host,
        pinning: CpuLayout,
        stop: &'a Stop,
    ) -> Result<Self, Failure> {
        let (backend, quiet) = (order.backend, order.quiet);
        let command = order.kind.to_string();
        let ground = Ground::take(host, &command, order.plan, &[], &pinning, order.no_wait, quiet).await?;
        let backend = host.backend(backend, &pinning, quiet).await;
        Ok(Self { stop, ground, machine: host.machine(), pinning, backend })
    }

    /// The date and time there.
    pub(crate) fn now(&self) -> Timestamp {
        self.ground.platform.vantage().timestamp()
    }
}

/// Measures a study; one that was finished already is only held against what would be measured now.
pub(crate) async fn conduct(
    order: &Order<'_>,
    site: &Site<'_>,
    copies: &mut Copies,
    record: &mut Record,
) -> Result<(), Failure> {
    let Order { plan, beside, id, kind, metric, failures, resume: _, backend: _, no_wait: _, quiet } = order;
    let (plan, quiet) = (*plan, *quiet);
    let Site { stop, ground, machine, pinning, backend } = site;
    let conditions = ground::conditions(plan, pinning.clone())?;
    let mut prepared = ground.prepare(plan, &conditions, copies, quiet).await?;
    for plan in *beside {
        let conditions = ground::conditions(plan, pinning.clone())?;
        prepared.extend(ground.prepare(plan, &conditions, copies, true).await?);
    }
    let prepared = if plan.calibrate { calibration::twice(prepared) } else { prepared };
    let workload = recording::complete(&*ground.platform, plan, &prepared, quiet).await?;
    let yard_stick = plan.yard_stick.then(|| yard_stick::of(&conditions, plan.duration, ground.platform.id()));
    let yard_stick = yard_stick.transpose()?;

    let is_capacity = *kind == StudyKind::Capacity;
    // A scenario's rate is that of its flows, which have several requests each.
    let load = prepared.first().map(|prepared| &prepared.case.load).filter(|_| plan.scenario.is_none());
    // Studies that are part of something else have the figures of that.
    let compares = id.is_none() && matches!(kind, StudyKind::Compare | StudyKind::Gate | StudyKind::Calibrate);
    let (metric, note) = match load.filter(|_| compares) {
        Some(load) => figure::for_window(metric.as_deref(), load, plan.duration)?,
        None => (metric.clone(), None),
    };
    if let Some(note) = note.filter(|_| !quiet) {
        screen::note(&note);
    }
    let started_at = site.now();
    let mut study = Study {
        id: id.clone().unwrap_or_else(|| name(started_at)),
        kind: *kind,
        workload: plan.workload.id.clone(),
        seed: plan.seed.unwrap_or_else(|| u64::from(random() as u32)),
        rounds: plan.rounds,
        precision: plan.precision,
        metric,
        slo: plan.slo.clone().filter(|_| matches!(kind, StudyKind::Capacity | StudyKind::Tune)),
        warm_up: plan.warm_up,
        duration: plan.duration,
        started_at,
        stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.clone(),
        // Those of a capacity join it as their loads are chosen.
        cases: prepared.iter().filter(|_| !is_capacity).map(|prepared| prepared.case.clone()).collect(),
        groundwork: Groundwork::default(),
        resumed_at: Vec::new(),
    };
    let context = TrialContext {
        workload: &workload,
        scenario: plan.scenario.as_ref(),
        ready_timeout: plan.ready_timeout,
        drain: if plan.scenario.is_some() { DRAIN_OF_FLOWS } else { DRAIN },
        timeout: None,
        failures: *failures,
        backend: *backend,
        sampled: plan.sampled,
        yard_stick: yard_stick.as_ref(),
        stop,
    };
    if let Some(earlier) = record.earlier() {
        if let Some(probed) = prepared.first().filter(|_| is_capacity) {
            // Its cases are one under the loads that were chosen.
            let under = |then: &Case| Case { id: then.id.clone(), load: then.load.clone(), ..probed.case.clone() };
            study.cases = earlier.study.cases.iter().map(under).collect();
        }
        resumption::check(earlier, &study, plan.seed, plan.pilots, *backend)?;
        if earlier.finished_at.is_some() {
            return Ok(());
        }
        study = earlier.study.clone();
        study.resumed_at.push(started_at);
    } else if !plan.calibrate && !is_capacity {
        study.groundwork.floor = calibration::floor_for(record.store(), &study).map_err(Failure::missing)?;
    }
    if let Some(probed) = prepared.first().filter(|_| is_capacity) {
        if !quiet {
            introduce_probes(&study, probed);
        }
        let trials = record.trials().to_vec();
        let mut sinks = Sinks { record, progress: Progress::new(quiet, stop, Duration::ZERO) };
        let ended = stampede_harness::capacity(&*ground.platform, &study, probed, &context, trials, &mut sinks).await;
        return ended.map_err(Failure::missing);
    }
    if !quiet {
        // Those of a search's studies are told by the search.
        if id.is_none() {
            tell_settings(&study);
        }
        introduce(&study, plan.pilots && study.resumed_at.is_empty());
    }
    let trials = record.trials().to_vec();
    let earlier = stampede_analysis::measured_for(&study, &trials);
    let mut sinks = Sinks { record, progress: Progress::new(quiet, stop, earlier) };
    if plan.pilots && study.resumed_at.is_empty() {
        let pilots = stampede_harness::pilots(&*ground.platform, &prepared, &context, study.seed, &mut sinks).await;
        study.groundwork.warm_ups = pilots.map_err(Failure::missing)?;
        study.started_at = site.now();
    }
    if !quiet {
        // The warm-ups are known now.
        promise(&study, &trials, sinks.record.store());
    }
    stampede_harness::run(&*ground.platform, &study, &prepared, &context, trials, &mut sinks)
        .await
        .map_err(Failure::missing)
}

/// The name of a study that begins now.
pub(crate) fn name(started_at: Timestamp) -> StudyId {
    StudyId::new(format!("{}-{:04x}", started_at.strftime("%Y%m%d-%H%M%S"), random() as u16))
}

/// Prints what was measured, and says how it ended. What is printed does not depend on the store, which may be full.
pub(crate) fn conclude(
    ended: Result<Ended, Failure>,
    report: &Report,
    record: &mut Record,
    store: &Path,
    host: &dyn Host,
) -> Outcome {
    let finished_at = matches!(ended, Ok(Ended::Complete)).then(|| host.now());
    if let Some(study) = record.study().cloned() {
        let stored = match finished_at {
            Some(finished_at) => record.store().finish_study(&study.id, finished_at),
            None => Ok(()),
        };
        // The report comes last: its end is what a reader looks for.
        if report.on_terminal() && stored.is_ok() {
            screen::print(&format!("\nstored in {}\n", store.display()))?;
        }
        report.write(&study, finished_at, record.trials(), record.yard_stick())?;
        stored.map_err(Failure::missing)?;
    }
    match ended? {
        Ended::Complete => Ok(match record.study() {
            Some(study) if study.kind == StudyKind::Capacity => capacity::exit(study, record.trials()),
            study => exit_of(study, record.trials()),
        }),
        Ended::Interrupted => {
            let kept = record.trials().len();
            let advice = if kept > 0 { "; the same command with --resume goes on" } else { "" };
            screen::warning(&format!("interrupted; {kept} finished trials are kept{advice}"));
            Ok(Exit::Interrupted)
        }
    }
}

/// Says which settings are probed and why, and what will be done.
fn introduce_probes(study: &Study, probed: &Prepared) {
    let of_one = Study { cases: vec![probed.case.clone()], ..study.clone() };
    tell_settings(&of_one);
    let (slo, most) = (study.slo.as_ref().map(ToString::to_string), stampede_analysis::MOST_PROBES);
    let time = match study.rounds {
        Rounds::Auto { max_time } => format!(" within {}", humantime::format_duration(max_time)),
        Rounds::Fixed(_) => String::new(),
    };
    screen::note(&format!(
        "{}: closed loads, then at most {most} probes of {:?}, the last of {:?},{time}, for {}; seed {}",
        study.workload,
        study.duration,
        study.duration * stampede_analysis::CONFIRMATION,
        slo.unwrap_or_default(),
        study.seed
    ));
}

/// Says which settings each case has and why.
pub(crate) fn tell_settings(study: &Study) {
    screen::note(&stampede_report::terminal::settings(study, screen::width(), screen::colour_on(&io::stderr())));
}

/// Says which difference the rounds can show that the study has time for. The calibration that it needs for that has been
/// read before; where it cannot be read again, the times of its trials are not known.
fn promise(study: &Study, trials: &[Trial], store: &Store) {
    let floor = study.groundwork.floor.as_ref();
    let calibration = floor.and_then(|floor| store.load(floor.calibration.as_str()).ok());
    let calibration = calibration.as_ref().map(|stored| (&stored.study, &stored.trials[..]));
    let Some((rounds, share)) = stampede_analysis::within_budget(study, trials, calibration) else { return };
    let rounds = match study.rounds {
        Rounds::Fixed(_) => format!("{rounds} rounds detect"),
        Rounds::Auto { .. } => format!("about {rounds} rounds fit into the time and detect"),
    };
    screen::note(&format!(
        "{rounds} a difference of {:.1} % between two cases alone in 9 of 10 studies, given the noise of this machine",
        share * 100.0
    ));
}

/// Says what will be done.
fn introduce(study: &Study, pilots: bool) {
    let cases = study.cases.len();
    let rounds = match study.rounds {
        Rounds::Fixed(rounds) => format!("{cases} cases x {rounds} rounds of {:?}", study.duration),
        Rounds::Auto { max_time } => format!(
            "{cases} cases in rounds of {:?} each, until the verdicts are clear or {} are over",
            study.duration,
            humantime::format_duration(max_time)
        ),
    };
    let rounds = format!("{}: {rounds}, seed {}", study.workload, study.seed);
    match study.resumed_at.len() {
        0 => screen::note(&rounds),
        _ => screen::note(&format!("{rounds}; goes on with study {}", study.id)),
    }
    if pilots {
        let most = stampede_analysis::MOST_PILOT.as_secs() * cases as u64;
        screen::note(&format!(
            "first a pilot of each case, for its warm-up (at most {most} s in all; --warm-up 1s skips it)"
        ));
    }
}

pub(crate) fn exit_of(study: Option<&Study>, trials: &[Trial]) -> Exit {
    // A change that does not work answers the question as well.
    let base = study.filter(|study| study.kind == StudyKind::Why).and_then(|study| study.cases.first());
    let counts = |trial: &&Trial| base.is_none_or(|base| base.id == trial.case);
    let any = |test: fn(&TrialOutcome) -> bool| trials.iter().filter(counts).any(|trial| test(&trial.outcome));
    if any(|outcome| matches!(outcome, TrialOutcome::Failed(_))) {
        Exit::TrialFailed
    } else if any(|outcome| matches!(outcome, TrialOutcome::Invalid(_))) {
        Exit::Invalid
    } else {
        Exit::Done
    }
}

/// A number that differs from run to run; the standard library seeds its hash maps from the kernel.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Everything that listens to a study.
pub(crate) struct Sinks<'a> {
    pub(crate) record: &'a mut Record,
    pub(crate) progress: Progress<'a>,
}

impl Sink for Sinks<'_> {
    fn take<'a>(&'a mut self, event: &'a Event<'a>) -> Fut<'a, Result<(), SinkError>> {
        Box::pin(async move {
            self.record.take(event).await?;
            self.progress.take(event).await?;
            if let (Event::TrialEnded(trial), Some(study)) = (event, self.record.study()) {
                self.progress.tell_findings(study, self.record.trials(), &trial.case);
            }
            Ok(())
        })
    }
}
