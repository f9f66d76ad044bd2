//! A study from its plan to its last trial: made ready, resumed or begun, told, measured and kept.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use stampede_analysis::MOST_PILOT;
use stampede_core::{
    BlockOrder, CpuLayout, ErrorModel, Failures, Groundwork, LeftOut, Rounds, Slo, Study, StudyId, StudyKind, Trial,
    Workload,
};
use stampede_harness::{Copies, PilotFindings, Prepared, Stop, TrialContext, YardStick};
use stampede_plan::ComparePlan;
use stampede_seam::Backend;
use stampede_store::Store;

use crate::exit::Failure;
use crate::host::{Bench, Ended, attend};
use crate::record::{Sinks, StudyRecord};
use crate::site::{Cases, Purpose, Site, conditions};
use crate::{block_order, calibration, metric_choice, recording, reference_server, resumption};

/// Longest wait for answers that are still out when the window closes.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// The same for a scenario, whose flows have been begun and are brought to their end: as long as Gatling waits for one answer
/// (https://docs.gatling.io/reference/script/http/protocol/, `requestTimeout`).
pub(crate) const DRAIN_OF_FLOWS: Duration = Duration::from_secs(60);

/// Which figure decides a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deciding {
    /// The one with this key; without one, that of the load.
    Metric(Option<String>),
    /// The same, or where its windows have too few requests for that percentile, the highest that they have.
    InWindow(Option<String>),
}

/// What is to be measured, and how.
#[derive(Clone, Debug)]
pub struct StudyRequest<'a> {
    /// Its cases, their load and their limits.
    pub plan: &'a ComparePlan,
    /// The same under other limits, or with other things around: their cases are measured in the same blocks.
    pub beside: &'a [ComparePlan],
    /// What the study is called where it is a part of something else, which tells its settings and has its figures.
    pub id: Option<StudyId>,
    /// What it asks.
    pub kind: StudyKind,
    /// What decides it.
    pub deciding: Deciding,
    /// What an answer must be for its trial to count as good.
    pub slo: Option<Slo>,
    /// What answers under load that are not right mean.
    pub failures: Failures,
    /// A study to resume: of this name, or the newest of its kind that was not finished.
    pub resume: Option<Option<String>>,
    /// How load is driven; what costs least where it is not given.
    pub backend: Option<Backend>,
    /// Whether what is found of its application and runtimes was told before.
    pub is_told: bool,
}

impl<'a> StudyRequest<'a> {
    /// A question about the cases of a plan, decided by its first metric, whose answers must be right.
    #[must_use]
    pub fn of(plan: &'a ComparePlan, kind: StudyKind) -> Self {
        let (deciding, failures) = (Deciding::Metric(None), Failures::Faults);
        let (id, slo, resume, backend) = (None, None, None, None);
        Self { plan, beside: &[], id, kind, deciding, slo, failures, resume, backend, is_told: false }
    }

    /// Whether pilots choose how long its windows are: those of a comparison that is no part of something else.
    fn chooses_window(&self) -> bool {
        self.plan.window_by_pilots && self.kind == StudyKind::Compare && self.id.is_none()
    }
}

/// Measures a study and keeps it in the store at this path: how that ended, and what was kept of it.
///
/// # Errors
///
/// When it could not begin.
pub fn carry_out(
    bench: Bench<'_>,
    store: &Path,
    request: &StudyRequest<'_>,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    recorded(bench, store, request, async |site, record| conduct(request, site, &mut Copies::default(), record).await)
}

/// Measures on the site of a request and keeps it; what is to be resumed is in the record then.
pub(crate) fn recorded(
    bench: Bench<'_>,
    store: &Path,
    request: &StudyRequest<'_>,
    work: impl AsyncFnOnce(&Site<'_>, &mut StudyRecord) -> Result<(), Failure>,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    let StudyRequest { plan, kind, resume, backend, .. } = request;
    let cores = plan.limits.cpus.whole_cores();
    attend_recorded(bench, cores, store, resume, *kind, async |pinning, record, stop| {
        let purpose = Purpose { command: &kind.to_string(), measures: true };
        if let Some(name) = resume {
            let earlier = resumption::find(record.store(), name.as_deref(), *kind)?;
            record.go_on_with(earlier);
        }
        // Trials that are compared are of one node.
        let node = record.earlier().and_then(|earlier| earlier.study.groundwork.node.clone());
        let site = Site::take(bench, purpose, &plan.on_node(node), &[], *backend, pinning, stop).await?;
        work(&site, record).await
    })
}

/// Does work that measures deployments of so many cores and keeps what it measures: how that ended, and what was kept of it.
pub(crate) fn attend_recorded(
    bench: Bench<'_>,
    cores: usize,
    store: &Path,
    resume: &Option<Option<String>>,
    kind: StudyKind,
    work: impl AsyncFnOnce(CpuLayout, &mut StudyRecord, &Stop) -> Result<(), Failure>,
) -> Result<(Result<Ended, Failure>, StudyRecord), Failure> {
    bench.host.settle();
    let store = Store::open(store).map_err(Failure::missing)?;
    // Told before anything is waited for; which one it is then is found out once nobody else measures.
    if let Some(name) = resume {
        resumption::find(&store, name.as_deref(), kind)?;
    }
    let mut record = StudyRecord::new(store);
    let stop = Stop::default();
    let ended = attend(bench, cores, &stop, |pinning| work(pinning, &mut record, &stop))?;
    Ok((ended, record))
}

/// Measures a study; one that was finished already is only compared with what would be measured now.
pub(crate) async fn conduct(
    request: &StudyRequest<'_>,
    site: &Site<'_>,
    copies: &mut Copies,
    record: &mut StudyRecord,
) -> Result<(), Failure> {
    let ready = Ready::of(request, site, copies).await?;
    conduct_ready(&ready, request, site, record).await
}

/// The same of a study whose cases are ready.
pub(crate) async fn conduct_ready(
    ready: &Ready,
    request: &StudyRequest<'_>,
    site: &Site<'_>,
    record: &mut StudyRecord,
) -> Result<(), Failure> {
    let (plan, bench) = (request.plan, site.bench());
    let mut study = ready.study(request, site)?;
    let started_at = study.started_at;
    let context = ready.context(request, site);
    resumption::check_open_part(record, plan.at)?;
    let memory = bench.host.size().memory;
    let is_new = record.earlier().is_none();
    let has_pilots = plan.pilots && is_new;
    if let Some(earlier) = record.earlier() {
        resumption::check(earlier, &study, plan, request.chooses_window(), site.backend)?;
        if earlier.finished_at.is_some() {
            return Ok(());
        }
        study = earlier.study.clone();
        study.resumed_at.push(started_at);
    } else {
        let settled = block_order::settle(&mut study, plan, memory, None);
        // Pilots may need less than the limits, so that more of them fit.
        settled.or_else(|problem| if has_pilots { Ok(()) } else { Err(problem) })?;
        find_floor(&mut study, plan, record.store())?;
    }
    // The settings of a part are told by what it is a part of.
    if request.id.is_none() {
        bench.settings(&study);
    }
    // One trial of a sequence is told by what chose it.
    if !request.is_told || study.cases.len() > 1 || study.rounds != Rounds::Fixed(1) {
        introduce(bench, &study, has_pilots, has_pilots && request.chooses_window());
    }
    let trials = record.trials().to_vec();
    let earlier = stampede_analysis::measured_for(&study, &trials);
    let mut sinks = Sinks::new(record, site, earlier);
    if has_pilots {
        let platform = &*site.ground.platform;
        let pilots = stampede_harness::pilots(platform, &study, &ready.prepared, &context, &mut sinks).await;
        let PilotFindings { warm_ups, peaks, costs, cycle } = pilots.map_err(Failure::missing)?;
        (study.groundwork.warm_ups, study.groundwork.peaks) = (warm_ups, peaks);
        if request.chooses_window() {
            let chosen = stampede_analysis::window(&costs).filter(|(window, _)| *window <= plan.duration);
            let (window, why) = chosen.unwrap_or_else(|| (plan.duration, "no pilot came to rest".to_owned()));
            bench.note(&format!("windows of {window:?}: {why} (--duration fixes it)"));
            (study.duration, study.groundwork.window_why) = (window, Some(why));
        }
        block_order::settle(&mut study, plan, memory, cycle)?;
        find_floor(&mut study, plan, sinks.record.store())?;
    }
    if let Some(why) = study.groundwork.order_why.as_ref().filter(|_| is_new) {
        bench.note(&format!("measured in {}: {why}", study.order));
    }
    // The warm-ups are known now.
    promise(bench, &study, &trials, sinks.record.store());
    stampede_harness::run(&*site.ground.platform, &study, &ready.prepared, &context, trials, &mut sinks)
        .await
        .map_err(Failure::missing)
}

/// Looks for what differences on this machine must clear, in the order in which the study is measured.
fn find_floor(study: &mut Study, plan: &ComparePlan, store: &Store) -> Result<(), Failure> {
    if !plan.calibrate {
        study.groundwork.floor = calibration::floor_for(store, study).map_err(Failure::missing)?;
    }
    Ok(())
}

/// What a study takes beside its plan.
pub(crate) struct Ready {
    pub(crate) prepared: Vec<Prepared>,
    /// Cases that were asked for and cannot run, and why.
    pub(crate) left_out: Vec<LeftOut>,
    /// With all its answers.
    pub(crate) workload: Workload,
    yard_stick: Option<YardStick>,
    /// When its first deployment may be launched: from here on its time counts.
    begins_at: Timestamp,
}

impl Ready {
    /// Makes the cases of a request ready.
    pub(crate) async fn of(request: &StudyRequest<'_>, site: &Site<'_>, copies: &mut Copies) -> Result<Self, Failure> {
        let (plan, ground, host) = (request.plan, &site.ground, site.bench().host);
        let own = conditions(host, plan, site.pinning.clone())?;
        let bench = Bench { quiet: site.bench().quiet || request.is_told, ..site.bench() };
        let Cases { mut prepared, mut left_out } = ground.prepare_as(bench, plan, &own, copies).await?;
        for plan in request.beside {
            let conditions = conditions(host, plan, site.pinning.clone())?;
            let beside = ground.prepare_beside(plan, &conditions, copies).await?;
            prepared.extend(beside.prepared);
            left_out.extend(beside.left_out);
        }
        let prepared = if plan.calibrate { calibration::twice(prepared) } else { prepared };
        let begins_at = site.now();
        let workload = recording::complete(bench, &*ground.platform, plan, &prepared).await?;
        let yard_stick = if plan.yard_stick {
            Some(reference_server::of(&host.program()?, &own, plan.duration, ground.platform.id()))
        } else {
            None
        };
        Ok(Self { prepared, left_out, workload, yard_stick, begins_at })
    }

    /// The study that would begin now.
    pub(crate) fn study(&self, request: &StudyRequest<'_>, site: &Site<'_>) -> Result<Study, Failure> {
        let StudyRequest { plan, beside: _, id, kind, deciding, slo, failures: _, resume: _, backend: _, is_told: _ } =
            request;
        // A scenario's rate is that of its flows, which have several requests each.
        let load = self.prepared.first().map(|prepared| &prepared.case.load).filter(|_| plan.scenario.is_none());
        let (metric, note) = match (deciding, load) {
            (Deciding::InWindow(metric), Some(load)) => {
                metric_choice::for_window(metric.as_deref(), load, plan.duration)?
            }
            (Deciding::InWindow(metric) | Deciding::Metric(metric), _) => (metric.clone(), None),
        };
        if let Some(note) = note {
            site.bench().note(&note);
        }
        let started_at = self.begins_at;
        Ok(Study {
            id: id.clone().unwrap_or_else(|| name(started_at)),
            metric,
            slo: slo.clone(),
            cases: self.prepared.iter().map(|prepared| prepared.case.clone()).collect(),
            groundwork: Groundwork {
                left_out: self.left_out.clone(),
                generators: plan.generators.clone(),
                node: site.ground.platform.node().map(str::to_owned),
                ..Groundwork::default()
            },
            ..begun(plan, *kind, site, started_at)
        })
    }

    /// What every trial shares.
    pub(crate) fn context<'a>(&'a self, request: &StudyRequest<'a>, site: &'a Site<'_>) -> TrialContext<'a> {
        let plan = request.plan;
        TrialContext {
            workload: &self.workload,
            scenario: plan.scenario.as_ref(),
            ready_timeout: plan.ready_timeout,
            drain: if plan.scenario.is_some() { DRAIN_OF_FLOWS } else { DRAIN },
            timeout: None,
            failures: request.failures,
            backend: site.backend,
            sampled: plan.sampled,
            inside: plan.inside,
            yard_stick: self.yard_stick.as_ref(),
            stop: site.stop,
        }
    }
}

/// A study of a plan that begins now, without cases, and decided by what follows from its load.
pub(crate) fn begun(plan: &ComparePlan, kind: StudyKind, site: &Site<'_>, started_at: Timestamp) -> Study {
    Study {
        id: name(started_at),
        kind,
        workload: plan.workload.id.clone(),
        seed: plan.seed.unwrap_or_else(seed),
        rounds: plan.rounds,
        precision: plan.precision,
        errors: ErrorModel::AllCases,
        metric: None,
        slo: None,
        warm_up: plan.warm_up,
        duration: plan.duration,
        started_at,
        stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: site.machine.clone(),
        cases: Vec::new(),
        groundwork: Groundwork::default(),
        order: BlockOrder::default(),
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: plan.chosen.clone(),
    }
}

/// The name of a study that begins now.
pub(crate) fn name(started_at: Timestamp) -> StudyId {
    StudyId::new(format!("{}-{:04x}", started_at.strftime("%Y%m%d-%H%M%S"), random() as u16))
}

/// A seed where none was given.
pub(crate) fn seed() -> u64 {
    u64::from(random() as u32)
}

/// A number that differs from run to run; the standard library seeds its hash maps from the kernel.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Says which difference the rounds can show that the study has time for. The calibration that it needs for that has been
/// read before; where it cannot be read again, the times of its trials are not known.
fn promise(bench: Bench<'_>, study: &Study, trials: &[Trial], store: &Store) {
    if bench.quiet {
        return;
    }
    let floor = study.groundwork.floor.as_ref();
    let calibration = floor.and_then(|floor| store.load(floor.calibration.as_str()).ok());
    let calibration = calibration.as_ref().map(|stored| (&stored.study, &stored.trials[..]));
    let Some((rounds, share)) = stampede_analysis::within_budget(study, trials, calibration) else { return };
    let rounds = match study.rounds {
        Rounds::Fixed(_) => format!("{rounds} rounds detect"),
        Rounds::Auto { .. } => format!("about {rounds} rounds fit into the time and detect"),
    };
    bench.note(&format!(
        "{rounds} a difference of {:.1} % between two cases alone in 9 of 10 studies, given the noise of this machine",
        share * 100.0
    ));
}

/// Says what will be done.
fn introduce(bench: Bench<'_>, study: &Study, pilots: bool, window_by_pilots: bool) {
    let most = if window_by_pilots { "at most " } else { "" };
    let cases = study.cases.len();
    let of = if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") };
    let rounds = match study.rounds {
        Rounds::Fixed(rounds) => {
            let measured = study.duration * rounds * cases as u32;
            format!(
                "{of} x {rounds} rounds of {most}{:?}: {most}{} of measuring, besides warm-ups and starts of servers",
                study.duration,
                humantime::format_duration(measured)
            )
        }
        Rounds::Auto { max_time } => format!(
            "{of}, {most}{:?} each a round, until the result is clear or for {} at most",
            study.duration,
            humantime::format_duration(max_time)
        ),
    };
    let rounds = format!("{}: {rounds}, seed {}", study.workload, study.seed);
    match study.resumed_at.len() {
        0 => bench.paragraph(&rounds, 2),
        _ => bench.paragraph(&format!("{rounds}; resumes study {}", study.id), 2),
    }
    if pilots {
        let each = study.rounds.time_of_pilot(cases).map_or(MOST_PILOT, |most| most.min(MOST_PILOT));
        let most = (each * cases as u32).as_secs();
        bench.note(&format!(
            "first a pilot run of each case, which finds how long it must warm up ({most} s in all at most; --warm-up 1s skips it)"
        ));
    }
}
