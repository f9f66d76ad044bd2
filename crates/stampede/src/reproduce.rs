//! `stampede reproduce`: a published experiment again, each of its tables a study, and its figures beside ours.

mod stored;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use stampede_analysis::{Analysis, CheckedClaim, TableRun, analyse, check, replicate};
use stampede_core::{
    CaseId, CpuLayout, Groundwork, Limits, Load, Machine, Outcome as TrialOutcome, Rounds, Study, StudyKind,
    with_causes,
};
use stampede_harness::{Copies, Missing, Prepared, Scaling, Stop, TrialContext};
use stampede_load::Backend;
use stampede_plan::{
    ComparePlan, InstancesAsked, KnownPublication, PlannedRow, PlannedTable, ReproduceFlags, ReproducePlan, ScaledRow,
};
use stampede_report::replication::{self, ReplicatedTable, ReplicationView};
use stampede_report::terminal::paragraph;
use stampede_report::{StudyView, csv, html};
use stampede_runtimes::Topologies;
use stampede_scale::{CpuAllocation, Service};
use stampede_store::Store;

use crate::args::ReproduceArgs;
use crate::backend::BackendChoice;
use crate::catalogue::{self, BuiltIn};
use crate::compare::{self, DRAIN, DRAIN_OF_FLOWS, Sinks};
use crate::exit::{Exit, Failure};
use crate::forecast::question::Flags;
use crate::ground::{self, Ground};
use crate::host::{self, Ended, Host};
use crate::progress::Progress;
use crate::record::Record;
use crate::show::{Renderers, Report};
use crate::{Outcome, folders, revisions, scale, screen};

/// What a trial takes beside its load at the least: start, readiness, verification, drain and stop.
const BESIDE: Duration = Duration::from_secs(4);

pub(crate) fn run(args: Box<ReproduceArgs>, host: &dyn Host) -> Outcome {
    let ReproduceArgs {
        name,
        scale,
        rate_scale,
        full,
        tables,
        studies,
        rounds,
        seed,
        client_rtt,
        workloads,
        feeders,
        backend,
        no_wait,
        output,
        store,
        quiet,
    } = *args;
    let Some(name) = name else { return list() };
    let (name, known) = experiments(name)?;
    let flags = ReproduceFlags { name, scale, rate_scale, full, rounds, seed, client_rtt, tables, workloads, feeders };
    let (machine, size) = (host.machine(), host.size());
    let plan = ReproducePlan::read(&flags, &known, size, &BuiltIn, &|row, limits| at_once(row, *limits));
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    if let Some(names) = studies {
        let store = folders::store(&store)?;
        let tables = stored::tables(&plan, &names, &store)?;
        let pinning = CpuLayout { server: Vec::new(), generator: Vec::new() };
        let experiment = Experiment { plan: &plan, machine, pinning, store, quiet, tables };
        return experiment.conclude(Ok(Ended::Complete), &report);
    }
    host.settle();
    let store = folders::store(&store)?;
    // Each study opens it anew; whether it can be is to be known before any of them.
    Store::open(&store).map_err(Failure::missing)?;
    let stop = Stop::default();
    let pinning = CpuLayout { server: Vec::new(), generator: Vec::new() };
    let mut experiment = Experiment { plan: &plan, machine, pinning, store, quiet, tables: Vec::new() };
    let ended = host::attend(host, cores(&plan), quiet, &stop, |pinning| {
        experiment.pinning = pinning;
        experiment.measure(host, backend, no_wait, &stop)
    })?;
    experiment.conclude(ended, &report)
}

/// What is known, and what of it is asked for. What ends in .yaml is the file of an experiment of one's own.
pub(crate) fn experiments(asked: String) -> Result<(String, Vec<KnownPublication>), Failure> {
    if !asked.ends_with(".yaml") {
        return Ok((asked, catalogue::publications()));
    }
    let text = fs::read_to_string(&asked)
        .map_err(|error| Failure::usage(format!("{asked} cannot be read: {error}; name an experiment, or its file")))?;
    let name = Path::new(&asked).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name.clone(), vec![KnownPublication { name, place: asked, text }]))
}

fn list() -> Outcome {
    for known in catalogue::publications() {
        let title = known.title().map_err(Failure::usage)?;
        screen::print(&format!("{:<18} {title}\n", known.name))?;
    }
    Ok(Exit::Done)
}

/// The largest row decides how many cores serve: all rows must be served by the same.
fn cores(plan: &ReproducePlan) -> usize {
    let rows = plan.tables.iter().flat_map(|table| &table.rows);
    rows.filter_map(cores_of).max().unwrap_or(1)
}

/// A published experiment that is run again.
struct Experiment<'a> {
    plan: &'a ReproducePlan,
    machine: Machine,
    pinning: CpuLayout,
    store: PathBuf,
    quiet: bool,
    /// What came of its tables so far.
    tables: Vec<Table<'a>>,
}

/// A table, from when it is prepared on.
struct Table<'a> {
    planned: &'a PlannedTable,
    prepared: Vec<Prepared>,
    /// Rows that cannot run, each with why and what to do.
    left_out: Vec<(CaseId, String)>,
    /// What was measured; none before.
    record: Option<Record>,
    /// When all of it had been.
    finished_at: Option<Timestamp>,
}

impl Table<'_> {
    /// The plan of its first row that can run; all have workload, window and warm-up in common.
    fn plan(&self) -> Option<&ComparePlan> {
        let first = &self.prepared.first()?.case.id;
        self.planned.rows.iter().find(|row| row.case == *first)?.plan.as_ref().ok()
    }
}

impl<'a> Experiment<'a> {
    /// Everything that is done on the runtime.
    async fn measure(
        &mut self,
        host: &dyn Host,
        backend: BackendChoice,
        no_wait: bool,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let rows = || self.plan.tables.iter().flat_map(|table| &table.rows);
        let Some(first) = rows().find_map(|row| row.plan.as_ref().ok()) else {
            let problems: Vec<String> = rows().filter_map(problem).map(|(row, why)| format!("{row}: {why}")).collect();
            return Err(Failure::missing(format!("no row can run here:\n  {}", problems.join("\n  "))));
        };
        let ground = Ground::take(host, "reproduce", first, &[], &self.pinning, no_wait, self.quiet).await?;
        let backend = host.backend(backend, &self.pinning, self.quiet).await;
        self.prepare(&ground).await?;
        self.introduce();
        let count = self.tables.len();
        for number in 0..count {
            if !self.tables[number].prepared.is_empty() && !stop.obey() {
                let title = &self.tables[number].planned.table.title;
                self.note(0, &format!("table {} of {count}: {title}", number + 1));
                self.study(number, &ground, backend, stop).await?;
            }
        }
        Ok(())
    }

    /// Looks for what each row needs, so that the time that all takes is known before any of it begins.
    async fn prepare(&mut self, ground: &Ground<'_>) -> Result<(), Failure> {
        let mut copies = Copies::default();
        for planned in &self.plan.tables {
            self.note(0, &format!("preparing {}: {}", planned.table.id, planned.table.title));
            let mut left_out: Vec<_> = planned.rows.iter().filter_map(problem).collect();
            let mut prepared = Vec::new();
            for (plan, scaled) in planned.rows.iter().filter_map(|row| Some((row.plan.as_ref().ok()?, &row.scaled))) {
                let mut conditions = ground::conditions(plan, self.pinning.clone())?;
                let scaling = scaled.as_ref().map(|row| scaling(row, plan.limits));
                if let Some(scaling) = &scaling {
                    // An instance is made for what it is given at once.
                    conditions.load = Load::Closed { connections: scaling.policy.concurrency(&scaling.service) };
                }
                let found = stampede_harness::prepare(
                    &*ground.platform,
                    &Topologies,
                    &plan.candidates,
                    &conditions,
                    &mut copies,
                );
                match found.await {
                    Ok((mut cases, missing)) => {
                        revisions::add(ground.host(), &mut cases, &plan.candidates).await;
                        prepared.extend(cases.into_iter().map(|case| with_scaling(case, scaling, &plan.load)));
                        left_out.extend(plan.candidates.first().and_then(|candidate| needs(&candidate.id, &missing)));
                    }
                    Err(error) => {
                        let why = with_causes(&error);
                        left_out.extend(plan.candidates.first().map(|candidate| (candidate.id.clone(), why)));
                    }
                }
            }
            for (why, rows) in by_reason(&left_out) {
                let why = why.lines().next().unwrap_or_default();
                self.note(4, &format!("  left out: {}: {why}", rows.join(", ")));
            }
            self.tables.push(Table { planned, prepared, left_out, record: None, finished_at: None });
        }
        if self.tables.iter().all(|table| table.prepared.is_empty()) {
            return Err(Failure::missing("no row can run here; see above what each needs"));
        }
        Ok(())
    }

    /// Says how long all will take; an application that answers slowly takes longer to be verified.
    fn introduce(&self) {
        let rounds = self.plan.rounds;
        let trials: usize = self.tables.iter().map(|table| table.prepared.len() * rounds as usize).sum();
        let time: Duration = self
            .tables
            .iter()
            .filter_map(|table| {
                let plan = table.plan()?;
                Some((plan.warm_up + plan.duration + BESIDE) * table.prepared.len() as u32 * rounds)
            })
            .sum();
        let time = humantime::format_duration(Duration::from_secs(time.as_secs().div_ceil(60) * 60));
        let of = self.tables.iter().filter(|table| !table.prepared.is_empty()).count();
        let studies = if of == 1 { "study" } else { "studies" };
        self.note(0, &format!("{trials} trials in {of} {studies} of {rounds} rounds: {time} at the least"));
    }

    async fn study(
        &mut self,
        number: usize,
        ground: &Ground<'_>,
        backend: Backend,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let Self { plan, machine, store, quiet, tables, .. } = self;
        let table = &mut tables[number];
        let Some(of_row) = table.plan().cloned() else { return Ok(()) };
        let started_at = ground.platform.vantage().timestamp();
        let timeout = table.planned.table.client_timeout(plan.scale);
        let study = Study {
            id: compare::name(started_at),
            kind: StudyKind::Compare,
            workload: of_row.workload.id.clone(),
            seed: plan.seed.unwrap_or_else(|| u64::from(compare::random() as u32)),
            rounds: Rounds::Fixed(plan.rounds),
            precision: of_row.precision,
            metric: None,
            slo: None,
            warm_up: of_row.warm_up,
            duration: of_row.duration,
            started_at,
            stampede_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine.clone(),
            cases: table.prepared.iter().map(|prepared| prepared.case.clone()).collect(),
            groundwork: Groundwork::default(),
            resumed_at: Vec::new(),
        };
        let context = TrialContext {
            workload: &of_row.workload,
            scenario: of_row.scenario.as_ref(),
            ready_timeout: of_row.ready_timeout,
            drain: drain(of_row.scenario.is_some(), timeout, plan.scale),
            timeout,
            failures: table.planned.table.failures,
            backend,
            sampled: of_row.sampled,
            // Rows differ in their limits: there is none that holds for all.
            yard_stick: None,
            stop,
        };
        let record = table.record.insert(Record::new(Store::open(store).map_err(Failure::missing)?));
        let mut sinks = Sinks { record, progress: Progress::new(*quiet, stop, Duration::ZERO) };
        stampede_harness::run(&*ground.platform, &study, &table.prepared, &context, Vec::new(), &mut sinks)
            .await
            .map_err(Failure::missing)?;
        if stop.is_obeyed() {
            return Ok(());
        }
        let finished_at = ground.platform.vantage().timestamp();
        table.finished_at = Some(finished_at);
        sinks.record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)
    }

    /// Prints what came of it, all of it or as far as it went.
    fn conclude(&self, ended: Result<Ended, Failure>, report: &Report) -> Outcome {
        let mut measured = false;
        if self.tables.iter().any(|table| table.record.is_some()) {
            measured = self.report(report)?;
        }
        match ended? {
            Ended::Interrupted => {
                screen::warning("interrupted; what was measured is kept");
                Ok(Exit::Interrupted)
            }
            Ended::Complete if measured => Ok(Exit::Done),
            Ended::Complete => Ok(Exit::TrialFailed),
        }
    }

    /// Writes the reports; tells whether anything counts.
    fn report(&self, report: &Report) -> Result<bool, Failure> {
        let analyses: Vec<Option<Analysis>> = self
            .tables
            .iter()
            .map(|table| table.record.as_ref().and_then(|record| Some(analyse(record.study()?, record.trials()))))
            .collect();
        let runs = self.tables.iter().zip(&analyses).map(|(table, analysis)| TableRun {
            table: &table.planned.table,
            study: table.record.as_ref().and_then(Record::study),
            trials: table.record.as_ref().map_or(&[], |record| record.trials()),
            analysis: analysis.as_ref(),
            left_out: &table.left_out,
        });
        let runs: Vec<TableRun<'_>> = runs.collect();
        let publication = &self.plan.publication;
        let asked = |claim: &&stampede_core::Claim| {
            claim.test.table().is_none_or(|id| runs.iter().any(|run| run.table.id == id))
        };
        let claims: Vec<CheckedClaim<'_>> =
            publication.claims.iter().filter(asked).map(|claim| check(claim, &runs)).collect();
        let tables: Vec<ReplicatedTable<'_>> =
            runs.iter().map(|run| ReplicatedTable { run: *run, replication: replicate(run) }).collect();
        let ReproducePlan { scale, rate_scale, .. } = *self.plan;
        let view = ReplicationView { publication, scale, rate_scale, tables: &tables, claims: &claims };
        let studies = self.tables.iter().zip(&analyses).filter_map(|(table, analysis)| {
            let (record, analysis) = (table.record.as_ref()?, analysis.as_ref()?);
            Some(StudyView {
                study: record.study()?,
                finished_at: table.finished_at,
                trials: record.trials(),
                yard_stick: record.yard_stick(),
                analysis,
            })
        });
        let studies: Vec<StudyView<'_>> = studies.collect();
        report.put_all(&Renderers {
            json: &|| replication::json(&view),
            markdown: &|| replication::markdown(&view),
            html: &|| html::replication(&view, &studies),
            csv: &|| csv::render(&studies),
            terminal: &|width, colour| replication::terminal(&view, width, colour),
        })?;
        if report.on_terminal() {
            screen::note(&format!("stored in {}", self.store.display()));
        }
        Ok(runs.iter().flat_map(|run| run.trials).any(|trial| trial.outcome == TrialOutcome::Measured))
    }

    fn note(&self, hang: usize, text: &str) {
        if !self.quiet {
            screen::note(&paragraph(text, hang, screen::width()));
        }
    }
}

/// How many processors serve a row; nothing of one that cannot run.
fn cores_of(row: &PlannedRow) -> Option<usize> {
    let limits = row.plan.as_ref().ok()?.limits;
    Some(match &row.scaled {
        None => limits.cpus.whole_cores(),
        Some(ScaledRow { instances: InstancesAsked { total_cpus: Some(total), .. }, .. }) => *total as usize,
        Some(row) => {
            let all = f64::from(row.instances.most.unwrap_or(1)) * limits.cpus.cores();
            scale::cores(all)
        }
    })
}

/// How a row's instances are started and stopped.
fn scaling(row: &ScaledRow, limits: Limits) -> Scaling {
    let ScaledRow { concurrency, instances: InstancesAsked { least, most, total_cpus } } = row;
    let mut flags = Flags::default();
    let (policy, policy_name) = flags.policy(None);
    let service = Service::on_demand(limits.cpus, limits.memory, *concurrency, *least, most.unwrap_or(1));
    let price = flags.price(None, CpuAllocation::DuringRequests);
    Scaling { service, policy, policy_name, queue_wait: None, price, total_cpus: *total_cpus }
}

/// What an instance of a row is given at once, by the rules of its autoscaler.
fn at_once(row: &ScaledRow, limits: Limits) -> u32 {
    let Scaling { service, policy, .. } = scaling(row, limits);
    policy.concurrency(&service)
}

fn with_scaling(mut prepared: Prepared, scaling: Option<Scaling>, load: &Load) -> Prepared {
    prepared.case.load.clone_from(load);
    prepared.scaling = scaling;
    prepared
}

/// How long answers are waited for after the window. Users of a scenario lose patience as much sooner as all goes faster; where a
/// client gives up by itself, its last request has as long as all others.
fn drain(has_scenario: bool, timeout: Option<Duration>, scale: f64) -> Duration {
    let of_load = if has_scenario { DRAIN_OF_FLOWS.mul_f64(scale.min(1.0)) } else { Duration::ZERO };
    // That it has given up is seen a little later.
    let of_client = timeout.map_or(Duration::ZERO, |timeout| timeout + Duration::from_secs(1));
    of_load.max(of_client).max(DRAIN)
}

/// Why a row's plan cannot be used here.
fn problem(row: &PlannedRow) -> Option<(CaseId, String)> {
    let mistakes = row.plan.as_ref().err()?;
    Some((row.case.clone(), mistakes.to_string().replace('\n', "; ")))
}

/// Each reason once, with the rows that it keeps from running.
fn by_reason(left_out: &[(CaseId, String)]) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    left_out.iter().for_each(|(row, why)| reasons.entry(why).or_default().push(row.as_str()));
    reasons
}

/// What a row needs that is missing, and how to get it.
fn needs(row: &CaseId, missing: &[Missing]) -> Option<(CaseId, String)> {
    let needs: Vec<String> = missing.iter().map(|Missing { what, install, .. }| format!("{what}: {install}")).collect();
    (!needs.is_empty()).then(|| (row.clone(), format!("needs {}", needs.join("; and "))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stampede_core::{Bytes, ClaimTest, Runtime};
    use stampede_plan::{Catalogue, KnownPublication, MachineSize};

    use super::*;

    /// What is in the repository, of which nothing has to be unpacked.
    struct Repository;

    const WORKLOADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");

    impl Catalogue for Repository {
        fn runtimes(&self) -> &[&'static dyn Runtime] {
            stampede_runtimes::all()
        }

        fn workloads(&self) -> Vec<String> {
            let folders = fs::read_dir(WORKLOADS).unwrap().filter_map(Result::ok);
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect()
        }

        fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
            Ok(Path::new(WORKLOADS).join(name))
        }

        fn generated(&self, workload: &Path, command: &[String]) -> Result<PathBuf, String> {
            BuiltIn.generated(workload, command)
        }
    }

    const LARGE: MachineSize = MachineSize { cpus: 8, memory: Bytes::from_mib(16_384), connections: 100_000 };

    /// Rows that nothing in the repository can serve: binaries that hold an application, and a Laravel that is kept.
    fn is_served_elsewhere(row: &CaseId) -> bool {
        row.as_str().starts_with("binary")
    }

    #[test]
    fn the_times_of_a_scenario_are_scaled_once() {
        let rinha = catalogue::publications().into_iter().find(|known| known.name == "rinha").unwrap();
        let flags = ReproduceFlags {
            name: "rinha".to_owned(),
            scale: Some("0.1".to_owned()),
            tables: Some("entry".to_owned()),
            ..ReproduceFlags::default()
        };
        // The scenario's own length is 205 s.
        for (duration, expected) in [("", 20_500), ("    duration: 100s\n", 10_000)] {
            let text = rinha.text.replace("    warm_up: 0s\n", &format!("    warm_up: 0s\n{duration}"));
            let known = [KnownPublication { text, ..rinha.clone() }];
            let plan = ReproducePlan::read(&flags, &known, LARGE, &Repository, &|row, _| row.concurrency).unwrap();
            let row = plan.tables[0].rows[0].plan.as_ref().unwrap();
            assert_eq!(row.duration, Duration::from_millis(expected), "{duration:?}");
            let crowds = row.scenario.as_ref().map(|scenario| scenario.crowds[0].load.clone());
            assert_eq!(crowds, Some(row.load.clone()));
        }
    }

    #[test]
    fn every_row_of_every_experiment_can_be_planned_and_every_metric_is_known() {
        for known in catalogue::publications() {
            for full in [false, true] {
                let flags = ReproduceFlags { name: known.name.clone(), full, ..ReproduceFlags::default() };
                let plan = ReproducePlan::read(&flags, &catalogue::publications(), LARGE, &Repository, &|row, _| {
                    row.concurrency
                })
                .unwrap();
                for row in plan.tables.iter().flat_map(|table| &table.rows) {
                    match &row.plan {
                        Ok(plan) => assert_eq!(plan.candidates[0].id, row.case, "{}", known.name),
                        Err(problem) => {
                            let name = &known.name;
                            assert!(is_served_elsewhere(&row.case), "{name} {}: {problem}", row.case);
                        }
                    }
                }
                for table in &plan.publication.tables {
                    for column in &table.columns {
                        assert!(stampede_analysis::metric(&column.metric).is_some(), "{}", column.metric);
                    }
                    // With the figures, a line of 80 characters holds no more.
                    for row in &table.rows {
                        assert!(row.title.chars().count() <= 32, "{}: {}", known.name, row.title);
                    }
                }
                for claim in &plan.publication.claims {
                    let metric = match &claim.test {
                        ClaimTest::Ratio { metric, .. } => metric.as_deref(),
                        ClaimTest::Figure { metric, .. } => Some(metric.as_str()),
                        ClaimTest::Untested { .. } => None,
                    };
                    assert!(metric.is_none_or(|key| stampede_analysis::metric(key).is_some()), "{metric:?}");
                }
            }
        }
    }
}
