//! The cheapest deployment that holds an objective: sizes that are tried and confirmed one after another.

mod outline;

use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{
    Confirmation, FIRST_BLOCKS, MOST_BLOCKS, MemoryGrowth, SizeCell, SizeFigures, SizeFound, SizeGrid, SizeGrowth,
    SizeOutcome, SizeQuestion, SizeReading, SizeRole, SizeStage, SizeStep, SizeVerdict, WorkerMemory, size_found,
    size_step, took,
};
use stampede_core::{
    Bytes, Candidate, Case, CpuLayout, Cpus, Failures, LeftOut, Limits, Load, Outcome, Percentile, ResourceUse, Role,
    Rounds, Slo, SloTerm, Study, StudyKind, Topology, Trial,
};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, SizeCopies, SizePlan};
use stampede_scale::SteadySize;
use stampede_store::StoredStudy;

pub use self::outline::{service_size_outline, size_outline};

use crate::exit::{Exit, Failure};
use crate::host::{Bench, Ended, attend};
use crate::sequence::Sequence;
use crate::site::Site;

/// The share of all sizes that is tried at most, and as many as that where it is less.
const MOST_SHARE: f64 = 0.12;
const LEAST_CELLS: usize = 10;

/// The share of its time after which a search confirms what it has.
const SEARCH_SHARE: f64 = 0.5;

/// A trial that shows whether memory levels off is so many times as long as others, and has a window in these bounds.
const WATCH: u32 = 4;
const WATCHES: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(240));

/// The window of a trial with as many requests as a size can take, at most: it shows what one takes of CPU.
const SATURATE: Duration = Duration::from_secs(10);

/// How many requests a runtime without a setting of its pool is given at once in such a trial.
const AT_ONCE: u32 = 16;

/// Trials that say nothing of a size, before one that does, after which there is nothing to search.
const MOST_UNUSABLE: usize = 2;

/// How many trials as long as the longest there is time for; before the first, any number.
pub(crate) fn room(left: Duration, longest: Duration) -> u32 {
    match (left, longest) {
        (Duration::ZERO, _) => 0,
        (_, Duration::ZERO) => u32::MAX,
        _ => left.div_duration_f64(longest) as u32,
    }
}

/// How many trials a recorded part of a search had.
fn trials_of(study: &Study) -> u32 {
    let Rounds::Fixed(blocks) = study.rounds else { return u32::MAX };
    blocks.saturating_mul(study.cases.len() as u32)
}

fn part_name(number: usize) -> String {
    format!("size{number:03}")
}

/// A search while it is made. Each trial, and the blocks of each confirmation, is a study of its own.
pub struct Sizing<'a> {
    plan: SizePlan,
    grid: SizeGrid,
    question: SizeQuestion,
    sequence: Sequence<'a>,
    readings: Vec<SizeReading>,
    studies: Vec<StoredStudy>,
    left_out: Vec<LeftOut>,
    /// How long its trials took.
    spent: Duration,
    /// Whether it ended since its time was over.
    is_out_of_time: bool,
}

impl<'a> Sizing<'a> {
    /// Begins a search in the store at this path, or resumes one: of this name, or the newest.
    ///
    /// # Errors
    ///
    /// When nothing of the size that is searched is sold or can be served, or the store cannot be read or has no such search.
    pub fn begin(
        bench: Bench<'a>,
        plan: SizePlan,
        store: PathBuf,
        resume: Option<&Option<String>>,
    ) -> Result<Self, Failure> {
        bench.host.settle();
        let grid = grid(&plan);
        if grid.cells().is_empty() {
            return Err(Failure::usage(no_size(&plan)));
        }
        let question = question(&plan, &grid);
        let first = (StudyKind::OwnRates, &part_name(1)[..]);
        let (id, seed) = Sequence::begin(&store, resume, first, plan.plan.seed, bench)?;
        let metric = "response_p99_us".to_owned();
        let (failures, copies) = (Failures::Figures, Copies::default());
        Ok(Self {
            plan: SizePlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan },
            grid,
            question,
            sequence: Sequence { bench, id, metric, failures, store, copies, is_told: false },
            readings: Vec::new(),
            studies: Vec::new(),
            left_out: Vec::new(),
            spent: Duration::ZERO,
            is_out_of_time: false,
        })
    }

    /// Makes the search: how that ended.
    ///
    /// # Errors
    ///
    /// When it could not begin.
    pub fn carry_out(&mut self) -> Result<Result<Ended, Failure>, Failure> {
        let (bench, stop) = (self.sequence.bench, Stop::default());
        let cores = self.plan.plan.limits.cpus.whole_cores();
        attend(bench, cores, &stop, async |pinning| self.measure(pinning, &stop).await)
    }

    /// The name of it all.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.sequence.id
    }

    /// What is searched, with the seed that was drawn where none was given.
    #[must_use]
    pub fn plan(&self) -> &SizePlan {
        &self.plan
    }

    /// All sizes.
    #[must_use]
    pub fn grid(&self) -> &SizeGrid {
        &self.grid
    }

    /// The trials so far.
    #[must_use]
    pub fn readings(&self) -> &[SizeReading] {
        &self.readings
    }

    /// What was measured.
    #[must_use]
    pub fn studies(&self) -> &[StoredStudy] {
        &self.studies
    }

    /// Runtimes that were asked for and cannot run here, and why.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Whether it ended since its time was over.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.is_out_of_time
    }

    /// The first study of the rounds that confirmed the choice, and its case at the load, where that is a runtime alone: nothing else is
    /// exported. Later ones may be of another load alone.
    #[must_use]
    pub fn exported(&self) -> Option<(&Study, &Case)> {
        let choice = self.found().choice?.cell;
        let mut studies = self.studies.iter().map(|stored| &stored.study);
        let study = studies.find(|study| study.rounds != Rounds::Fixed(1) && self.is_of(study, choice))?;
        Some((study, study.cases.first()?)).filter(|(_, case)| case.topology.is_default())
    }

    /// What it came to.
    #[must_use]
    pub fn found(&self) -> SizeFound {
        size_found(&self.question, &self.grid, &self.readings)
    }

    /// The names of the runtimes.
    #[must_use]
    pub fn runtimes(&self) -> Vec<String> {
        self.plan.plan.candidates.iter().map(|candidate| candidate.id.to_string()).collect()
    }

    /// By runtime, the setting by which it replaces a worker after a number of requests, where it has one.
    #[must_use]
    pub fn recycling(&self) -> Vec<Option<String>> {
        let named = |candidate: &Candidate| recycling(candidate).next().map(|(name, _)| name.to_owned());
        self.plan.plan.candidates.iter().map(named).collect()
    }

    fn name(&self, cell: &SizeCell) -> String {
        let runtime = self.plan.plan.candidates.get(cell.runtime);
        cell.named(runtime.map_or("", |candidate| candidate.id.as_str()))
    }

    async fn measure(&mut self, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let plan = self.plan.plan.clone();
        let site = self.sequence.site("size", &plan, pinning, stop).await?;
        (self.plan.plan, self.left_out) = self.sequence.prepare(&site, &plan).await?;
        self.grid = grid(&self.plan);
        self.question = question(&self.plan, &self.grid);
        self.introduce();
        // The longest trial.
        let mut longest = Duration::ZERO;
        for number in 1.. {
            let earlier = self.sequence.earlier(&part_name(number))?.map(|stored| stored.study);
            let step = match &earlier {
                Some(study) => self.taken(study),
                None => {
                    let is_late = self.spent > self.plan.budget.mul_f64(SEARCH_SHARE);
                    let stage = if is_late { SizeStage::Confirm } else { SizeStage::Search };
                    self.step(stage, room(self.plan.budget.saturating_sub(self.spent), longest))
                }
            };
            let (cell, blocks, roles) = match step {
                SizeStep::Try { cell } => (cell, 1, vec![SizeRole::Search]),
                SizeStep::Watch { cell } => (cell, 1, vec![SizeRole::Watch]),
                SizeStep::Saturate { cell } => (cell, 1, vec![SizeRole::Saturate]),
                SizeStep::Confirm { cell, blocks, sides } => (cell, blocks, sides.roles().collect()),
                SizeStep::Done => {
                    self.is_out_of_time = self.step(SizeStage::Confirm, u32::MAX) != SizeStep::Done;
                    return Ok(());
                }
            };
            let Some(took) = self.trials(&site, number, cell, blocks, &roles).await? else { return Ok(()) };
            if roles.iter().all(|role| role.tells_of_times()) {
                longest = longest.max(took / (blocks.max(1) * roles.len().max(1) as u32));
            }
            self.spent += took;
            if self.says_nothing() {
                self.sequence.note("no trial is valid");
                return Ok(());
            }
        }
        Ok(())
    }

    fn step(&self, stage: SizeStage, room: u32) -> SizeStep {
        size_step(&self.question, &self.grid, &self.readings, stage, room)
    }

    /// The step that this recorded part was, whatever time there is now: one that left time for another size, or one that did not.
    fn taken(&self, study: &Study) -> SizeStep {
        if study.rounds == Rounds::Fixed(1) {
            return self.step(SizeStage::Search, trials_of(study));
        }
        let [alone, unhurried] = [trials_of(study), u32::MAX].map(|room| self.step(SizeStage::Confirm, room));
        let is_it = matches!(unhurried, SizeStep::Confirm { cell, .. } if self.is_of(study, cell));
        if is_it { unhurried } else { alone }
    }

    /// Whether a recorded part is of this size.
    fn is_of(&self, study: &Study, place: usize) -> bool {
        let plan = self.grid.cells().get(place).map(|cell| planned(&self.plan, cell, SizeRole::Load));
        let (Some(Ok(plan)), Some(case)) = (plan, study.cases.first()) else { return false };
        let is_ours = |candidate: &Candidate| {
            let is_set = |(name, _)| candidate.tuning.get(name) == case.tuning.get(name);
            candidate.runtime.id() == case.runtime && candidate.tuning.iter().all(is_set)
        };
        (plan.limits, &plan.topology) == (case.limits, &case.topology) && plan.candidates.iter().all(is_ours)
    }

    /// Measures a size in so many blocks, at each load: how long that took; nothing where it was to end before.
    async fn trials(
        &mut self,
        site: &Site<'_>,
        number: usize,
        place: usize,
        blocks: u32,
        roles: &[SizeRole],
    ) -> Result<Option<Duration>, Failure> {
        let Some(cell) = self.grid.cells().get(place).cloned() else { return Ok(Some(Duration::ZERO)) };
        let name = self.name(&cell);
        let is_again = self.readings.iter().any(|reading| reading.cell == place && reading.role == SizeRole::Search);
        let what = match roles {
            [SizeRole::Search] if is_again => {
                format!("{name}, once more: one bad trial alone rules out no other size")
            }
            [SizeRole::Search] => name.clone(),
            [SizeRole::Watch] => format!(
                "{name}, for {} s with as many requests as it can take: memory grew in trials of its runtime, and this shows whether it continues to grow",
                watch(&self.plan).as_secs()
            ),
            [SizeRole::Saturate] => {
                format!("{name}, with as many requests as it can take: what one takes of CPU at the least")
            }
            _ => format!("{name}, {blocks} rounds to confirm it"),
        };
        let [spent, budget] = [self.spent, self.plan.budget].map(|time| time.as_secs().div_ceil(60));
        self.sequence.note(&format!("trial {number}, {spent} of {budget} min: {what}"));
        let plans = roles.iter().map(|role| {
            let plan = planned(&self.plan, &cell, *role)
                .map_err(|problem| Failure::usage(format!("{name}: {} {}", problem.tunable, problem.problem)))?;
            Ok(ComparePlan { rounds: Rounds::Fixed(blocks), slo: None, ..plan })
        });
        let plans = plans.collect::<Result<Vec<_>, Failure>>()?;
        let id = self.sequence.name(&part_name(number));
        let Some(stored) = self.sequence.study(site, id, StudyKind::OwnRates, &plans).await? else { return Ok(None) };
        self.readings.extend(readings(&stored, roles, (place, cell.replicas), self.plan.plan.slo.as_ref()));
        if let Some(line) = self.came_to(place, roles) {
            self.sequence.note(&format!("  {line}"));
        }
        let took = took(&stored.study, &stored.trials, stored.finished_at);
        self.studies.push(stored);
        Ok(Some(took))
    }

    /// What the last trials of a size came to: `holds: 0.15 of its limit; 3.4 ms of CPU a request, peak of 128 MiB`.
    fn came_to(&self, place: usize, roles: &[SizeRole]) -> Option<String> {
        let last = &self.readings.last()?.outcome;
        match roles {
            [SizeRole::Search] => Some(self.of_trial(last)),
            [SizeRole::Watch] => self.of_watch(place, last),
            [SizeRole::Saturate] => of_saturated(last),
            _ => self.of_rounds(place),
        }
    }

    fn of_trial(&self, outcome: &SizeOutcome) -> String {
        let figures = match outcome {
            SizeOutcome::Failed(reason) => return format!("failed: {reason}"),
            SizeOutcome::Unusable(reason) => return format!("does not count: {reason}"),
            SizeOutcome::Served(figures) => figures,
        };
        let verdict = if self.question.is_held(outcome) { "holds" } else { "misses" };
        let work = figures.work.map(|work| format!("; {:.1} ms of CPU a request", work * 1e3));
        let peak = figures.memory_peak.map(|peak| format!(", peak of {:.0} MiB", peak.mib()));
        let rest = [work, peak].into_iter().flatten().collect::<String>();
        format!("{verdict}: {:.2} of its limit{rest}", figures.times)
    }

    fn of_watch(&self, place: usize, outcome: &SizeOutcome) -> Option<String> {
        let runtime = self.grid.cells().get(place)?.runtime;
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        Some(match self.found().growths.get(runtime)? {
            SizeGrowth::Endless { each } => {
                format!("its memory continues to grow, by {:.2} MiB per 1,000 requests", mib(each.value))
            }
            SizeGrowth::Filled { worker } => {
                format!("its memory levels off, after {:.1} MiB more for each worker", mib(*worker))
            }
            SizeGrowth::Level | SizeGrowth::Suspected { .. } | SizeGrowth::Unwatched { .. } => self.of_trial(outcome),
        })
    }

    fn of_rounds(&self, place: usize) -> Option<String> {
        let confirmations = self.found().confirmations;
        let (_, confirmation) = confirmations.iter().find(|(cell, _)| *cell == place)?;
        let Confirmation { verdict: standing, reason, over, .. } = confirmation;
        let worst = confirmation.worst();
        let times = worst.map(|of| format!("{:.2} of its limit, {}", of.value, at_most(of.high)));
        let verdict = match (standing, reason) {
            (SizeVerdict::Confirmed, _) => "holds",
            (SizeVerdict::Refuted, Some(reason)) => reason,
            (SizeVerdict::Refuted, None) => "not confirmed",
            (SizeVerdict::Open, _) => "not yet clear",
        };
        // Slow requests that come together are more than the percentile of short windows shows.
        let over = over.filter(|over| over.high >= 1.0);
        let over = over.map(|over| {
            format!("{:.2} times as many requests beyond it as may be, {}", over.value, at_most(over.high))
        });
        let is_left = *standing == SizeVerdict::Open && confirmation.lacks_requests(self.question.errors);
        let (failed, requests) = confirmation.errors;
        let errors = is_left.then(|| {
            let allowed = (self.question.errors.unwrap_or_default() * 1e5).round() / 1e3;
            format!(
                "{failed} of {requests} requests without a right answer, which does not show less than {allowed} %, "
            )
        });
        let [times, over, errors] = [times, over, errors].map(Option::unwrap_or_default);
        Some(format!("{verdict}: {times}{over}{errors}in {}", confirmation.rounds()))
    }

    /// Whether trials were made of which none tells of a size.
    fn says_nothing(&self) -> bool {
        let is_unusable = |reading: &SizeReading| matches!(reading.outcome, SizeOutcome::Unusable(_));
        self.readings.len() >= MOST_UNUSABLE && self.readings.iter().all(is_unusable)
    }

    fn introduce(&self) {
        let SizePlan { plan, load, headroom, tariff, .. } = &self.plan;
        let beside = if *headroom > 0.0 { format!(" and {:.0} % more", headroom * 100.0) } else { String::new() };
        let is_spare = self.grid.cells().iter().any(|cell| cell.spare > 0);
        let beside = if is_spare { format!("{beside}, and with replicas gone") } else { beside };
        self.sequence.note(&format!(
            "{}: at most {} of {} sizes, then {FIRST_BLOCKS} to {MOST_BLOCKS} rounds of those that seem cheapest; {} at {load}{beside}, by {}",
            self.sequence.id,
            self.question.most_cells.min(self.grid.cells().len()),
            self.grid.cells().len(),
            plan.slo.as_ref().map(ToString::to_string).unwrap_or_default(),
            tariff.provider
        ));
    }
}

/// The upper end of an interval of few rounds, where it says something.
fn at_most(high: f64) -> String {
    if high < 100.0 { format!("at most {high:.2}, ") } else { String::new() }
}

fn of_saturated(outcome: &SizeOutcome) -> Option<String> {
    match outcome {
        SizeOutcome::Failed(reason) => Some(format!("failed: {reason}")),
        SizeOutcome::Unusable(reason) => Some(format!("does not count: {reason}")),
        SizeOutcome::Served(figures) => Some(format!("{:.2} ms of CPU a request", figures.work? * 1e3)),
    }
}

/// All sizes that can be served and are sold.
fn grid(plan: &SizePlan) -> SizeGrid {
    let mut cells = Vec::new();
    for (runtime, candidate) in plan.plan.candidates.iter().enumerate() {
        let pools: &[u32] = if SizePlan::pool_of(candidate).is_some() { &plan.pools } else { &[0] };
        let copies = plan.replicas.iter().filter_map(|replicas| Some((*replicas, plan.spare_of(*replicas)?)));
        for (replicas, spare) in copies {
            for cpus in &plan.cpus {
                for memory in &plan.memory {
                    for workers in pools {
                        let (cpus, memory, workers) = (*cpus, *memory, *workers);
                        let size = SteadySize { cpus, memory, rate: plan.rate / f64::from(replicas), work: None };
                        let Some(month) = plan.tariff.month(&size) else { continue };
                        let price = month.amount * f64::from(replicas);
                        let cell = SizeCell { runtime, replicas, spare, cpus, memory, workers, price };
                        if planned(plan, &cell, SizeRole::Headroom).is_ok() {
                            cells.push(cell);
                        }
                    }
                }
            }
        }
    }
    SizeGrid::new(best_of_each_price(&cells))
}

/// Without sizes that cost as much as one with no less of anything: whoever pays for a machine can use all of it.
fn best_of_each_price(cells: &[SizeCell]) -> Vec<SizeCell> {
    let is_alike = |a: &SizeCell, b: &SizeCell| {
        (a.runtime, a.replicas, a.workers) == (b.runtime, b.replicas, b.workers) && a.price.total_cmp(&b.price).is_eq()
    };
    let is_beaten = |cell: &SizeCell| {
        cells.iter().any(|other| {
            is_alike(cell, other)
                && other.cpus >= cell.cpus
                && other.memory >= cell.memory
                && (other.cpus, other.memory) != (cell.cpus, cell.memory)
        })
    };
    cells.iter().filter(|cell| !is_beaten(cell)).cloned().collect()
}

/// Why there is no size to search, and what to change.
fn no_size(plan: &SizePlan) -> String {
    let id = &plan.tariff.id;
    let (smallest, largest) = (plan.cpus.first().zip(plan.memory.first()), plan.cpus.last().zip(plan.memory.last()));
    let Some(((cpus, memory), (most_cpus, most_memory))) = smallest.zip(largest) else { return String::new() };
    let sold = |work: Option<Duration>| {
        let of = |(cpus, memory): (Cpus, Bytes)| {
            plan.tariff.month(&SteadySize { cpus, memory, rate: plan.rate, work }).is_some()
        };
        plan.cpus.iter().any(|cpus| plan.memory.iter().any(|memory| of((*cpus, *memory))))
    };
    if sold(None) {
        let first = SizeCell {
            runtime: 0,
            replicas: plan.replicas.first().copied().unwrap_or(1),
            spare: 0,
            cpus: *cpus,
            memory: *memory,
            workers: plan.pools.first().copied().unwrap_or(1),
            price: 0.0,
        };
        return match planned(plan, &first, SizeRole::Headroom) {
            Err(problem) => {
                format!("no size can be served: {} {}\n  {}", problem.tunable, problem.problem, problem.fix)
            }
            Ok(_) => "no size fits this machine\n  name fewer --replicas, or smaller --cpus".to_owned(),
        };
    }
    if sold(Some(Duration::from_millis(1))) {
        return format!(
            "--prices {id} is paid by the CPU time of requests, which is known of no size before it is tried\n  search by another tariff: the report has the price by {id} beside it"
        );
    }
    format!(
        "no size from {cpus} CPU and {memory} to {most_cpus} CPU and {most_memory} is sold by --prices {id}\n  name other limits with --cpus and --memory, or another tariff"
    )
}

fn question(plan: &SizePlan, grid: &SizeGrid) -> SizeQuestion {
    let share = (MOST_SHARE * grid.cells().len() as f64) as usize;
    SizeQuestion {
        rate: plan.rate,
        headroom: plan.headroom,
        beyond: plan.term.beyond,
        below: plan.term.below.as_secs_f64(),
        errors: plan.term.errors,
        most_cells: share.max(LEAST_CELLS + plan.plan.candidates.len()),
        recycles: plan.plan.candidates.iter().map(recycle).collect(),
    }
}

/// After how many requests a runtime replaces a worker; 0 where it never does.
fn recycle(candidate: &Candidate) -> u64 {
    recycling(candidate).filter_map(|(_, value)| value.parse().ok()).max().unwrap_or(0)
}

/// The settings by which it does so. Others replace one after so many connections, seconds or MiB, which says nothing of requests.
fn recycling(candidate: &Candidate) -> impl Iterator<Item = (&str, &str)> {
    let settings = candidate.runtime.tunables().iter().filter(|tunable| tunable.role == Role::Recycle);
    let of_requests = settings.filter(|tunable| tunable.name.contains("request") || tunable.name.contains("jobs"));
    of_requests.filter_map(|tunable| Some((tunable.name, candidate.tuning.get(tunable.name)?)))
}

/// How many requests keep all workers of a size busy: one beside each that is served.
fn at_once(cell: &SizeCell) -> u32 {
    match cell.workers {
        0 => AT_ONCE,
        workers => 2 * workers * cell.replicas.max(1),
    }
}

/// The window of a trial that shows whether memory levels off.
fn watch(plan: &SizePlan) -> Duration {
    (plan.plan.duration * WATCH).clamp(WATCHES.0, WATCHES.1)
}

/// The plan of a size at the load of a role.
fn planned(plan: &SizePlan, cell: &SizeCell, role: SizeRole) -> Result<ComparePlan, stampede_core::TuningProblem> {
    let candidate = plan.plan.candidates.get(cell.runtime);
    let candidate = candidate.ok_or_else(|| stampede_core::TuningProblem {
        tunable: "runtime".to_owned(),
        problem: "is not one of those that are tried".to_owned(),
        fix: "name another".to_owned(),
    })?;
    let side = match role {
        SizeRole::Search => cell.hardest(plan.headroom),
        side => side,
    };
    let all_it_can = Load::Closed { connections: at_once(cell) };
    let (load, gone) = match side {
        SizeRole::Gone => (&plan.load, cell.spare),
        SizeRole::Load => (&plan.load, 0),
        SizeRole::Watch | SizeRole::Saturate => (&all_it_can, 0),
        SizeRole::Search | SizeRole::Headroom => (&plan.plan.load, 0),
    };
    let copies = SizeCopies {
        running: cell.replicas.saturating_sub(gone).max(1),
        is_balanced: cell.replicas > 1,
        each: Limits { cpus: cell.cpus, memory: cell.memory },
    };
    let pool = (cell.workers > 0).then_some(cell.workers);
    let id = match role {
        SizeRole::Search => candidate.id.to_string(),
        SizeRole::Load => "load".to_owned(),
        SizeRole::Headroom => "headroom".to_owned(),
        SizeRole::Gone => "gone".to_owned(),
        SizeRole::Watch => "watch".to_owned(),
        SizeRole::Saturate => "saturated".to_owned(),
    };
    let sized = plan.sized(id, candidate, copies, pool, load)?;
    let duration = match role {
        SizeRole::Watch => watch(plan),
        SizeRole::Saturate => sized.duration.min(SATURATE),
        SizeRole::Search | SizeRole::Load | SizeRole::Headroom | SizeRole::Gone => sized.duration,
    };
    Ok(ComparePlan { duration, ..sized })
}

/// From this share of its periods on in which its quota ran out, the balancer is what was measured.
const BALANCER_SHORT: f64 = 0.1;

/// The share of its periods in which the balancer's quota ran out, where that is much.
fn balancer_throttled(trial: &Trial) -> Option<f64> {
    let balancer = trial.parts.iter().find(|part| part.part == "balancer")?.resources?;
    let share = balancer.throttled_periods as f64 / balancer.periods.max(1) as f64;
    (share > BALANCER_SHORT).then_some(share)
}

/// The most that a replica needed of memory.
fn replica_peak(trial: &Trial) -> Option<u64> {
    let replicas = trial.parts.iter().filter(|part| Topology::is_replica(&part.part));
    replicas.filter_map(|part| Some(part.resources?.memory_peak)).max()
}

/// What the trials of a size say, which has so many replicas under limits of their own, and of which each case was measured in one of
/// these roles. By blocks, so that what a look sees first was measured first.
pub(crate) fn readings(
    stored: &StoredStudy,
    roles: &[SizeRole],
    (cell, replicas): (usize, u32),
    slo: Option<&Slo>,
) -> Vec<SizeReading> {
    let mut trials: Vec<&Trial> = stored.trials.iter().collect();
    trials.sort_by_key(|trial| (trial.block, trial.position));
    let of = |trial: &Trial| {
        let case = stored.study.cases.iter().position(|case| case.id == trial.case)?;
        Some(SizeReading { cell, role: *roles.get(case)?, outcome: outcome_of(trial, replicas > 1, slo) })
    };
    trials.into_iter().filter_map(of).collect()
}

/// What a trial says of its size. What stands beside a single one shares its limits, and its memory is a part of what is needed.
fn outcome_of(trial: &Trial, is_replicated: bool, slo: Option<&Slo>) -> SizeOutcome {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match &trial.outcome {
        Outcome::Failed(reason) => {
            // That is what a larger size mends, whatever became of it.
            let of_memory = reason.lines().find(|line| line.contains(Outcome::MEMORY_LIMIT));
            return SizeOutcome::Failed(of_memory.map_or_else(|| first_line(reason), str::to_owned));
        }
        Outcome::Invalid(reason) => return SizeOutcome::Unusable(first_line(reason)),
        Outcome::Measured => {}
    }
    let Some(measured) = &trial.measurement else { return SizeOutcome::Unusable("nothing was measured".to_owned()) };
    let resources = measured.resources.unwrap_or_default();
    if resources.oom_kills > 0 {
        return SizeOutcome::Failed(format!(
            "the kernel killed {} of its processes {}",
            resources.oom_kills,
            Outcome::MEMORY_LIMIT
        ));
    }
    if measured.response.count() == 0 {
        return SizeOutcome::Failed("no request was answered".to_owned());
    }
    if let Some(share) = balancer_throttled(trial) {
        return SizeOutcome::Unusable(format!(
            "the CPU limit of the balancer ran out in {:.0} % of its periods: larger and fewer replicas need none",
            share * 100.0
        ));
    }
    let terms = slo.map_or(&[][..], |slo| slo.terms());
    let all = measured.response.count() as f64;
    let (mut times, mut over) = (0.0_f64, 0.0_f64);
    for term in terms {
        let SloTerm::Response { percentile, below } = term else { continue };
        let response = measured.response.quantile(1.0 - Percentile::beyond(*percentile));
        times = times.max(response.as_secs_f64() / below.as_secs_f64());
        over = over.max((all - measured.response.up_to(*below) as f64) / all / Percentile::beyond(*percentile));
    }
    let unsent = measured.sending.as_ref().map_or(0, |sending| sending.unsent);
    let failed = measured.requests.failed + measured.requests.unfinished + unsent;
    let ResourceUse { cpu, memory_peak, periods, throttled_periods, .. } = resources;
    let served = measured.requests.ok;
    let of_replica = replica_peak(trial).filter(|_| is_replicated);
    SizeOutcome::Served(SizeFigures {
        times,
        over,
        failed,
        requests: served + failed,
        work: (served > 0 && !cpu.is_zero()).then(|| cpu.as_secs_f64() / served as f64),
        median: measured.response.quantile(0.5),
        mean: Some(Duration::from_secs_f64(measured.response.mean_ns() / 1e9)),
        memory_peak: Some(of_replica.unwrap_or(memory_peak)).filter(|peak| *peak > 0).map(Bytes::new),
        throttled: if periods > 0 { throttled_periods as f64 / periods as f64 } else { 0.0 },
        growth: MemoryGrowth::of(measured),
        workers: WorkerMemory::of(trial),
    })
}

/// How a search for a size ends. One without a choice says whether sizes miss, do not serve, or cannot be told.
#[must_use]
pub fn size_exit(found: &SizeFound, readings: &[SizeReading]) -> Exit {
    let is_any = |test: fn(&SizeOutcome) -> bool| readings.iter().any(|reading| test(&reading.outcome));
    match () {
        () if found.choice.is_some() => Exit::Done,
        () if is_any(|outcome| matches!(outcome, SizeOutcome::Served(_))) => Exit::GateFailed,
        () if is_any(|outcome| matches!(outcome, SizeOutcome::Unusable(_))) => Exit::Invalid,
        () => Exit::TrialFailed,
    }
}
