//! A published experiment again: each of its tables a study.

mod interrupted;
mod stored;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use stampede_analysis::{Analysis, CheckedClaim, TableRun, analyse, check, measured_for};
use stampede_core::{CaseId, Claim, CpuLayout, Load, Rounds, StudyKind, with_causes};
use stampede_harness::{Copies, Missing, Prepared, Stop, TrialContext};
use stampede_plan::{ComparePlan, PlannedRow, PlannedTable, ReproducePlan};
use stampede_runtimes::Topologies;
use stampede_scale::Scaling;
use stampede_seam::Backend;
use stampede_store::{Store, StoredStudy};

use crate::block_order;
use crate::exit::Failure;
use crate::host::{Bench, Ended, attend};
use crate::record::{Sinks, StudyRecord};
use crate::resumption;
use crate::revisions;
use crate::scale::whole_cores;
use crate::site::{Purpose, Site, conditions};
use crate::study::{DRAIN, DRAIN_OF_FLOWS, begun};

/// What a trial takes beside its load at the least: start, readiness, verification, drain and stop.
const BESIDE: Duration = Duration::from_secs(4);

/// The largest row decides how many cores serve: all rows must be served by the same.
fn cores(plan: &ReproducePlan) -> usize {
    let rows = plan.tables.iter().flat_map(|table| &table.rows);
    rows.filter_map(cores_of).max().unwrap_or(1)
}

/// A published experiment that is run again.
pub struct Experiment<'a> {
    bench: Bench<'a>,
    plan: &'a ReproducePlan,
    store: PathBuf,
    tables: Vec<ExperimentTable<'a>>,
    resumes: bool,
    /// What an interrupted run measured, by the places of its tables.
    earlier: BTreeMap<usize, StoredStudy>,
}

/// A table, from when it is prepared on.
pub struct ExperimentTable<'a> {
    /// What it is to be.
    pub planned: &'a PlannedTable,
    /// Rows that cannot run, each with why and what to do.
    pub left_out: Vec<(CaseId, String)>,
    /// What was measured; none before.
    pub record: Option<StudyRecord>,
    /// When all of it had been.
    pub finished_at: Option<Timestamp>,
    prepared: Vec<Prepared>,
}

impl ExperimentTable<'_> {
    /// The plan of its first row that can run; all have workload, window and warm-up in common.
    fn plan(&self) -> Option<&ComparePlan> {
        let first = &self.prepared.first()?.case.id;
        self.planned.rows.iter().find(|row| row.case == *first)?.plan.as_ref().ok()
    }
}

impl<'a> Experiment<'a> {
    /// One whose studies are to be kept in the store at this path.
    #[must_use]
    pub fn new(bench: Bench<'a>, plan: &'a ReproducePlan, store: PathBuf) -> Self {
        Self { bench, plan, store, tables: Vec::new(), resumes: false, earlier: BTreeMap::new() }
    }

    /// The same, to go on where its newest run was interrupted.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { resumes: true, ..self }
    }

    /// One whose studies, of these names, were stored before.
    ///
    /// # Errors
    ///
    /// When there is no such study, or it is of none of its tables.
    pub fn of_stored(bench: Bench<'a>, plan: &'a ReproducePlan, store: PathBuf, names: &str) -> Result<Self, Failure> {
        let tables = stored::tables(plan, names, &store)?;
        Ok(Self { tables, ..Self::new(bench, plan, store) })
    }

    /// What is run again.
    #[must_use]
    pub fn plan(&self) -> &'a ReproducePlan {
        self.plan
    }

    /// What came of its tables so far.
    #[must_use]
    pub fn tables(&self) -> &[ExperimentTable<'a>] {
        &self.tables
    }

    /// What the study of each table says; nothing of one without a study.
    #[must_use]
    pub fn analyses(&self) -> Vec<Option<Analysis>> {
        let of = |table: &ExperimentTable<'_>| {
            table.record.as_ref().and_then(|record| Some(analyse(record.study()?, record.trials())))
        };
        self.tables.iter().map(of).collect()
    }

    /// Each table with its study, and with what that says.
    #[must_use]
    pub fn runs<'b>(&'b self, analyses: &'b [Option<Analysis>]) -> Vec<TableRun<'b>> {
        let runs = self.tables.iter().zip(analyses).map(|(table, analysis)| TableRun {
            table: &table.planned.table,
            study: table.record.as_ref().and_then(StudyRecord::study),
            trials: table.record.as_ref().map_or(&[], |record| record.trials()),
            analysis: analysis.as_ref(),
            left_out: &table.left_out,
        });
        runs.collect()
    }

    /// The claims of its author on these tables, or on none, each checked.
    #[must_use]
    pub fn claims<'b>(&'b self, runs: &[TableRun<'b>]) -> Vec<CheckedClaim<'b>> {
        let is_asked = |claim: &&Claim| claim.test.table().is_none_or(|id| runs.iter().any(|run| run.table.id == id));
        self.plan.publication.claims.iter().filter(is_asked).map(|claim| check(claim, runs)).collect()
    }

    /// Measures all rows that can run here: how that ended.
    ///
    /// # Errors
    ///
    /// When it could not begin.
    pub fn carry_out(&mut self, backend: Option<Backend>) -> Result<Result<Ended, Failure>, Failure> {
        self.bench.host.settle();
        // Each study opens it again; whether it can be is to be known before any of them.
        let store = Store::open(&self.store).map_err(Failure::missing)?;
        if self.resumes {
            // Told before anything is waited for; which studies they are then is found out once nobody else measures.
            interrupted::studies(self.plan, &store)?;
        }
        drop(store);
        let (bench, stop) = (self.bench, Stop::default());
        attend(bench, cores(self.plan), &stop, |pinning| self.measure(pinning, backend, &stop))
    }

    /// Everything that is done on the runtime.
    async fn measure(&mut self, pinning: CpuLayout, backend: Option<Backend>, stop: &Stop) -> Result<(), Failure> {
        let rows = || self.plan.tables.iter().flat_map(|table| &table.rows);
        let Some(first) = rows().find_map(|row| row.plan.as_ref().ok()) else {
            let problems: Vec<String> = rows().filter_map(problem).map(|(row, why)| format!("{row}: {why}")).collect();
            return Err(Failure::missing(format!("no row can run here:\n  {}", problems.join("\n  "))));
        };
        let site = Site::take(
            self.bench,
            Purpose { command: "reproduce", measures: true },
            first,
            &[],
            backend,
            pinning,
            stop,
        )
        .await?;
        if self.resumes {
            self.earlier = interrupted::studies(self.plan, &Store::open(&self.store).map_err(Failure::missing)?)?;
        }
        self.prepare(&site).await?;
        self.introduce();
        let count = self.tables.len();
        for number in 0..count {
            if !self.tables[number].prepared.is_empty() && !stop.obey() {
                let title = &self.tables[number].planned.table.title;
                let earlier = self.earlier.remove(&number);
                let stored = earlier.as_ref().map(|earlier| {
                    let how = if earlier.finished_at.is_some() { "measured already" } else { "resumed" };
                    format!(" ({how}: study {})", earlier.study.id)
                });
                self.bench
                    .paragraph(&format!("table {} of {count}: {title}{}", number + 1, stored.unwrap_or_default()), 0);
                self.study(number, earlier, &site).await?;
            }
        }
        Ok(())
    }

    /// Looks for what each row needs, so that the time that all takes is known before any of it begins.
    async fn prepare(&mut self, site: &Site<'_>) -> Result<(), Failure> {
        let mut copies = Copies::default();
        for planned in &self.plan.tables {
            self.bench.paragraph(&format!("preparing {}: {}", planned.table.id, planned.table.title), 0);
            let mut left_out: Vec<_> = planned.rows.iter().filter_map(problem).collect();
            let mut prepared = Vec::new();
            for (plan, scaling) in planned.rows.iter().filter_map(|row| Some((row.plan.as_ref().ok()?, row.scaling))) {
                let mut conditions = conditions(self.bench.host, plan, site.pinning.clone())?;
                if let Some(scaling) = &scaling {
                    // An instance is made for what it is given at once.
                    conditions.load = Load::Closed { connections: scaling.policy.concurrency(&scaling.service) };
                }
                let found = stampede_harness::prepare(
                    &*site.ground.platform,
                    &Topologies,
                    &plan.candidates,
                    &conditions,
                    &mut copies,
                );
                match found.await {
                    Ok((mut cases, missing)) => {
                        revisions::add(self.bench.host, &mut cases, &plan.candidates).await;
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
                self.bench.paragraph(&format!("  skipped: {}: {why}", rows.join(", ")), 4);
            }
            self.tables.push(ExperimentTable { planned, prepared, left_out, record: None, finished_at: None });
        }
        if self.tables.iter().all(|table| table.prepared.is_empty()) {
            return Err(Failure::missing("no row can run here; see above what each needs"));
        }
        Ok(())
    }

    /// Says how long all will take; an application that answers slowly takes longer to be verified.
    fn introduce(&self) {
        let rounds = self.plan.rounds;
        let left = |(number, table): (usize, &ExperimentTable<'_>)| match self.earlier.get(&number) {
            Some(StoredStudy { finished_at: Some(_), .. }) => 0,
            earlier => {
                let measured = earlier.map_or(0, |earlier| earlier.trials.len());
                (table.prepared.len() * rounds as usize).saturating_sub(measured)
            }
        };
        let trials: Vec<usize> = self.tables.iter().enumerate().map(left).collect();
        let of_table = |(table, trials): (&ExperimentTable<'_>, &usize)| {
            let plan = table.plan()?;
            Some((plan.warm_up + plan.duration + BESIDE) * *trials as u32)
        };
        let time: Duration = self.tables.iter().zip(&trials).filter_map(of_table).sum();
        let time = humantime::format_duration(Duration::from_secs(time.as_secs().div_ceil(60) * 60));
        let of = trials.iter().filter(|trials| **trials > 0).count();
        let studies = if of == 1 { "study" } else { "studies" };
        let trials: usize = trials.iter().sum();
        self.bench.paragraph(&format!("{trials} trials in {of} {studies} of {rounds} rounds: {time} or longer"), 0);
    }

    /// Measures a table, or what is left of it.
    async fn study(&mut self, number: usize, earlier: Option<StoredStudy>, site: &Site<'_>) -> Result<(), Failure> {
        let Self { plan, store, tables, .. } = self;
        let table = &mut tables[number];
        let Some(of_row) = table.plan().cloned() else { return Ok(()) };
        let timeout = table.planned.table.client_timeout(plan.scale);
        let mut study = begun(&of_row, StudyKind::Compare, site, site.now());
        study.seed = plan.seed.unwrap_or(study.seed);
        study.rounds = Rounds::Fixed(plan.rounds);
        study.cases = table.prepared.iter().map(|prepared| prepared.case.clone()).collect();
        let mut record = StudyRecord::new(Store::open(store).map_err(Failure::missing)?);
        if let Some(earlier) = earlier {
            // Its tables have no pilots.
            let asked = ComparePlan { seed: plan.seed, pilots: false, ..of_row.clone() };
            resumption::check(&earlier, &study, &asked, false, site.backend)?;
            if earlier.finished_at.is_some() {
                table.finished_at = earlier.finished_at;
                table.record = Some(StudyRecord::stored(Store::open(store).map_err(Failure::missing)?, earlier));
                return Ok(());
            }
            let resumed_at = study.started_at;
            study = earlier.study.clone();
            study.resumed_at.push(resumed_at);
            record.go_on_with(earlier);
        } else if table.prepared.iter().all(|prepared| prepared.scaling.is_none()) {
            // Other instances come and go by themselves.
            block_order::settle(&mut study, &of_row, site.bench().host.size().memory, None)?;
        }
        let context = TrialContext {
            workload: &of_row.workload,
            scenario: of_row.scenario.as_ref(),
            ready_timeout: of_row.ready_timeout,
            drain: drain(of_row.scenario.is_some(), timeout, plan.scale),
            timeout,
            failures: table.planned.table.failures,
            backend: site.backend,
            sampled: of_row.sampled,
            inside: None,
            // Rows differ in their limits: there is none that holds for all.
            yard_stick: None,
            stop: site.stop,
        };
        let trials = record.trials().to_vec();
        let mut sinks = Sinks::new(table.record.insert(record), site, measured_for(&study, &trials));
        stampede_harness::run(&*site.ground.platform, &study, &table.prepared, &context, trials, &mut sinks)
            .await
            .map_err(Failure::missing)?;
        if site.stop.is_obeyed() {
            return Ok(());
        }
        let finished_at = site.now();
        table.finished_at = Some(finished_at);
        sinks.record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)
    }
}

/// How many processors serve a row; nothing of one that cannot run.
fn cores_of(row: &PlannedRow) -> Option<usize> {
    let limits = row.plan.as_ref().ok()?.limits;
    Some(match row.scaling {
        None => limits.cpus.whole_cores(),
        Some(Scaling { total_cpus: Some(total), .. }) => total as usize,
        Some(scaling) => whole_cores(scaling.cpus()),
    })
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
    let needs: Vec<String> = missing.iter().map(|missing| missing.why.to_string()).collect();
    (!needs.is_empty()).then(|| (row.clone(), needs.join("; and ")))
}
