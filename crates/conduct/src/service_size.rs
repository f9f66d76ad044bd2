//! The cheapest autoscaled service that holds an objective: forecasts propose it, and real instances confirm it.

use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{
    FIRST_BLOCKS, MEMORY_MARGIN, MOST_BLOCKS, ServiceCell, ServiceFound, ServiceQuestion, ServiceStep, SizeOutcome,
    SizeReading, SizeRole, SizeSides, service_found, service_step, service_window, took,
};
use stampede_core::{Bytes, Candidate, CpuLayout, Cpus, Failures, Limits, Load, Outcome, StudyKind};
use stampede_forecast::{
    Calibration, MeasuredStudy, Quantiles, ServiceObjective, ServiceOption, ServiceProposal, SimulationSetup, Traffic,
    propose,
};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, PlannedService, ServiceSizePlan, SizePlan};
use stampede_scale::{Policy, Scaling, ServiceSettings};
use stampede_store::StoredStudy;

use crate::exit::{Exit, Failure};
use crate::host::{Bench, Ended, attend};
use crate::sequence::Sequence;
use crate::site::Site;
use crate::size::{readings, room};

/// How long a load that never changes is simulated, after how long: autoscalers average over a minute, so that what is rare comes once in
/// some, and on Cloud Run the instances of the beginning stay for their idle time beside it.
const SIMULATED: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(120));

/// Trials that say nothing of a service, before one that does, after which there is nothing to search: those of one look.
const MOST_UNUSABLE: usize = FIRST_BLOCKS as usize;

fn part_name(number: usize) -> String {
    format!("service{number:03}")
}

/// A search while it is made. The calibration, and the blocks of each confirmation, is a study of its own.
pub struct ServiceSizing<'a> {
    plan: ServiceSizePlan,
    /// The services that were proposed, the cheapest first, and how each is made.
    cells: Vec<ServiceCell>,
    policies: Vec<Policy>,
    /// How many were simulated.
    simulated: usize,
    /// Runtimes whose forecasts could not be calibrated, and why.
    unknown: Vec<(usize, String)>,
    sequence: Sequence<'a>,
    readings: Vec<SizeReading>,
    studies: Vec<StoredStudy>,
    is_out_of_time: bool,
}

impl<'a> ServiceSizing<'a> {
    /// Begins a search in the store at this path, or resumes one: of this name, or the newest.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or has no such search.
    pub fn begin(
        bench: Bench<'a>,
        plan: ServiceSizePlan,
        store: PathBuf,
        resume: Option<&Option<String>>,
    ) -> Result<Self, Failure> {
        bench.host.settle();
        let first = (StudyKind::OwnRates, &part_name(1)[..]);
        let (id, seed) = Sequence::begin(&store, resume, first, plan.plan.seed, bench)?;
        let metric = "response_p99_us".to_owned();
        let (failures, copies) = (Failures::Figures, Copies::default());
        Ok(Self {
            plan: ServiceSizePlan { plan: ComparePlan { seed: Some(seed), ..plan.plan.clone() }, ..plan },
            cells: Vec::new(),
            policies: Vec::new(),
            simulated: 0,
            unknown: Vec::new(),
            sequence: Sequence { bench, id, metric, failures, store, copies, is_told: false },
            readings: Vec::new(),
            studies: Vec::new(),
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
        let cores = self.plan.room.cpus.whole_cores();
        attend(bench, cores, &stop, async |pinning| self.measure(pinning, &stop).await)
    }

    /// The name of it all.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.sequence.id
    }

    /// What is searched, with the seed that was drawn where none was given.
    #[must_use]
    pub fn plan(&self) -> &ServiceSizePlan {
        &self.plan
    }

    /// The services that were proposed, the cheapest first.
    #[must_use]
    pub fn cells(&self) -> &[ServiceCell] {
        &self.cells
    }

    /// How many services were simulated.
    #[must_use]
    pub fn simulated(&self) -> usize {
        self.simulated
    }

    /// Runtimes whose forecasts could not be calibrated, each by its place, and why.
    #[must_use]
    pub fn unknown(&self) -> &[(usize, String)] {
        &self.unknown
    }

    /// The trials of services so far.
    #[must_use]
    pub fn readings(&self) -> &[SizeReading] {
        &self.readings
    }

    /// What was measured.
    #[must_use]
    pub fn studies(&self) -> &[StoredStudy] {
        &self.studies
    }

    /// Whether it ended since its time was over.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.is_out_of_time
    }

    /// What it came to.
    #[must_use]
    pub fn found(&self) -> ServiceFound {
        service_found(self.question(), &self.cells, &self.readings)
    }

    /// The names of the runtimes.
    #[must_use]
    pub fn runtimes(&self) -> Vec<String> {
        self.plan.plan.candidates.iter().map(|candidate| candidate.id.to_string()).collect()
    }

    fn question(&self) -> ServiceQuestion {
        ServiceQuestion { headroom: self.plan.headroom > 0.0, errors: self.plan.errors }
    }

    async fn measure(&mut self, pinning: CpuLayout, stop: &Stop) -> Result<(), Failure> {
        let plan = self.plan.plan.clone();
        let site = self.sequence.site("size", &plan, pinning, stop).await?;
        self.introduce();
        let Some(mut spent) = self.calibrate(&site).await? else { return Ok(()) };
        // What a trial took besides its load, at most.
        let mut beside = Duration::ZERO;
        let warm_up = self.plan.plan.warm_up;
        for number in 2.. {
            let left = self.plan.budget.saturating_sub(spent);
            let room = |cell: &ServiceCell| room(left, warm_up + cell.window + beside);
            match service_step(self.question(), &self.cells, &self.readings, room) {
                ServiceStep::Confirm { cell, blocks, sides } => {
                    let Some(took) = self.confirm(&site, number, cell, blocks, sides).await? else { return Ok(()) };
                    let trials = blocks.max(1) * sides.roles().count().max(1) as u32;
                    let window = self.cells.get(cell).map_or(Duration::ZERO, |cell| cell.window);
                    let more = (took / trials).saturating_sub(warm_up + window);
                    (spent, beside) = (spent + took, beside.max(more));
                    if is_unusable(&self.readings) {
                        self.sequence.note("no trial says anything of a service");
                        return Ok(());
                    }
                }
                ServiceStep::Done => {
                    let next = service_step(self.question(), &self.cells, &self.readings, |_| u32::MAX);
                    self.is_out_of_time = next != ServiceStep::Done;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Measures what forecasts are calibrated by, and makes them: how long that took; nothing where it was to end before.
    async fn calibrate(&mut self, site: &Site<'_>) -> Result<Option<Duration>, Failure> {
        let candidates = &self.plan.plan.candidates;
        let plans = candidates.iter().map(|candidate| self.plan.calibrations(candidate));
        let plans = plans
            .collect::<Result<Vec<_>, _>>()
            .map_err(|problem| Failure::usage(format!("calibrate: {} {}", problem.tunable, problem.problem)))?;
        let id = self.sequence.name(&part_name(1));
        let Some(stored) = self.sequence.study(site, id, StudyKind::OwnRates, &plans.concat()).await? else {
            return Ok(None);
        };
        let took = took(&stored.study, &stored.trials, stored.finished_at);
        let calibrations = calibrations(&self.plan, &stored);
        self.studies.push(stored);
        for (runtime, calibration) in calibrations.iter().enumerate() {
            if let Err(problem) = calibration {
                self.unknown.push((runtime, problem.clone()));
            }
        }
        let known: Vec<(usize, &Calibration)> = calibrations
            .iter()
            .enumerate()
            .filter_map(|(runtime, calibration)| Some((runtime, calibration.as_ref().ok()?)))
            .collect();
        let services = services(&self.plan, &known);
        self.simulated = services.len();
        self.sequence.note(&format!("{} services are simulated, each at the load and at more of it", services.len()));
        let (cells, policies) = proposed(&self.plan, &services).into_iter().unzip();
        (self.cells, self.policies) = (cells, policies);
        Ok(Some(took))
    }

    /// Measures a service in so many blocks, at each load: how long that took; nothing where it was to end before.
    async fn confirm(
        &mut self,
        site: &Site<'_>,
        number: usize,
        place: usize,
        blocks: u32,
        sides: SizeSides,
    ) -> Result<Option<Duration>, Failure> {
        let (Some(cell), Some(policy)) = (self.cells.get(place), self.policies.get(place)) else {
            return Ok(Some(Duration::ZERO));
        };
        let candidate = self.plan.plan.candidates.get(cell.runtime);
        let candidate = candidate.ok_or_else(|| Failure::missing("the runtime is gone"))?;
        let name = cell.named(candidate.id.as_str());
        let window = cell.window.as_secs();
        self.sequence.note(&format!("trial {number}: {name}, {blocks} rounds of {window} s to confirm it"));
        let roles: Vec<SizeRole> = sides.roles().collect();
        let limits = Limits { cpus: cell.cpus, memory: cell.memory };
        let instances = (cell.min_instances, cell.max_instances);
        let scaling = Scaling {
            service: self.plan.settings(limits, cell.concurrency, instances),
            policy: *policy,
            queue_wait: None,
            price: self.plan.price,
            total_cpus: None,
        };
        let service = |role: &SizeRole| {
            let (id, load) = match role {
                SizeRole::Load => ("load", &self.plan.load),
                _ => ("headroom", &self.plan.plan.load),
            };
            self.plan.service(id, candidate, scaling, cell.workers, (load, blocks, cell.window))
        };
        let services = roles.iter().map(service).collect::<Result<Vec<PlannedService>, _>>();
        let services =
            services.map_err(|problem| Failure::usage(format!("{name}: {} {}", problem.tunable, problem.problem)))?;
        let id = self.sequence.name(&part_name(number));
        let Some(stored) = self.sequence.services(site, id, &services).await? else { return Ok(None) };
        self.readings.extend(readings(&stored, &roles, (place, 1), self.plan.plan.slo.as_ref()));
        let took = took(&stored.study, &stored.trials, stored.finished_at);
        self.studies.push(stored);
        Ok(Some(took))
    }

    fn introduce(&self) {
        let ServiceSizePlan { plan, load, headroom, price, policies, .. } = &self.plan;
        let beside = if *headroom > 0.0 { format!(" and {:.0} % more", headroom * 100.0) } else { String::new() };
        let policy = policies.first().map_or("", |(_, policy)| policy.name());
        self.sequence.note(&format!(
            "{}: services on {policy} are forecast, then {FIRST_BLOCKS} to {MOST_BLOCKS} rounds of those that seem cheapest; {} at {load}{beside}, by {}",
            self.sequence.id,
            plan.slo.as_ref().map(ToString::to_string).unwrap_or_default(),
            price.id
        ));
    }
}

/// What is known of each runtime, or why nothing is.
fn calibrations(plan: &ServiceSizePlan, stored: &StoredStudy) -> Vec<Result<Calibration, String>> {
    let record = MeasuredStudy { study: &stored.study, trials: &stored.trials };
    let of = |candidate: &Candidate| {
        let name = format!("{}-one", candidate.id);
        let ours = || stored.trials.iter().filter(|trial| trial.case.as_str() == name);
        if ours().next().is_none() {
            return Err("it could not be served".to_owned());
        }
        let failed = ours().find_map(|trial| match &trial.outcome {
            Outcome::Failed(reason) | Outcome::Invalid(reason) => reason.lines().next().map(str::to_owned),
            Outcome::Measured => None,
        });
        Calibration::of(&[record], Some(&name)).map_err(|problem| failed.unwrap_or_else(|| problem.to_string()))
    };
    plan.plan.candidates.iter().map(of).collect()
}

/// A service that is simulated.
struct Service<'a> {
    runtime: usize,
    /// 0 of a runtime without a pool.
    pool: u32,
    target: Option<f64>,
    option: ServiceOption<'a, Quantiles>,
}

/// All services that the platform offers and whose workers fit their memory.
fn services<'a>(plan: &ServiceSizePlan, known: &[(usize, &'a Calibration)]) -> Vec<Service<'a>> {
    let mut all = Vec::new();
    for &(runtime, calibration) in known {
        let has_pool = plan.plan.candidates.get(runtime).and_then(SizePlan::pool_of).is_some();
        for (cpus, policy) in plan.cpus.iter().flat_map(|cpus| plan.policies.iter().map(move |policy| (*cpus, *policy)))
        {
            for concurrency in concurrencies(plan, cpus, policy.1) {
                let instances = pools(plan, has_pool, concurrency).into_iter().flat_map(|pool| {
                    plan.min_instances.iter().map(move |least| InstanceShape {
                        runtime,
                        cpus,
                        concurrency,
                        pool,
                        min_instances: *least,
                    })
                });
                all.extend(instances.filter_map(|shape| shape.service(plan, calibration, policy)));
            }
        }
    }
    all
}

/// How many requests an instance with so much CPU may be given at once, of those that are searched: what the platform makes equal is one.
fn concurrencies(plan: &ServiceSizePlan, cpus: Cpus, policy: Policy) -> Vec<u32> {
    let limits = Limits { cpus, memory: Bytes::new(0) };
    let given = |asked: &u32| policy.concurrency(&plan.settings(limits, *asked, (0, plan.max_instances)));
    let mut all: Vec<u32> = plan.concurrency.iter().map(given).collect();
    all.dedup();
    all
}

/// An instance, and the fewest of them.
#[derive(Clone, Copy)]
struct InstanceShape {
    runtime: usize,
    cpus: Cpus,
    concurrency: u32,
    /// 0 of a runtime without a pool.
    pool: u32,
    min_instances: u32,
}

impl InstanceShape {
    /// The service of such instances; nothing where the platform does not offer it, or no memory that is searched is enough for its
    /// workers. Of several sizes of memory it is the least that is enough: more of it costs more and answers no faster.
    fn service<'a>(
        self,
        plan: &ServiceSizePlan,
        calibration: &'a Calibration,
        (target, policy): (Option<f64>, Policy),
    ) -> Option<Service<'a>> {
        let Self { runtime, cpus, concurrency, pool, min_instances } = self;
        let workers = if pool > 0 { pool } else { concurrency };
        let held = plan.connections.map_or(u32::MAX, |connections| connections / workers.max(1));
        let most = plan.max_instances.min(held);
        if most < min_instances.max(1) {
            return None;
        }
        let needed = calibration.memory_of(workers).get() as f64 * MEMORY_MARGIN;
        let enough = plan.memory.iter().filter(|memory| memory.get() as f64 >= needed);
        let settings =
            |memory: &Bytes| plan.settings(Limits { cpus, memory: *memory }, concurrency, (min_instances, most));
        let service = enough.map(settings).find(|service| policy.problems(service).is_empty())?;
        let traffic = traffic(&plan.load)?;
        let headroom = self::traffic(&plan.plan.load).filter(|_| plan.headroom > 0.0);
        let (warm_up, duration) = lengths(&traffic, &policy);
        let instance = calibration.instance(cpus, workers.min(concurrency).max(1));
        let setup = SimulationSetup {
            service,
            policy,
            queue: policy.queue(&service, instance.start_time(service.start_cpus())),
            granularity: plan.price.granularity,
            instance,
            host_cpus: None,
            work: calibration.work,
            traffic,
            warm_up,
            duration,
        };
        let option = ServiceOption { setup, headroom, shape: &calibration.shape };
        Some(Service { runtime, pool, target, option })
    }
}

/// How long something is simulated before it counts, and how long it counts: a load that changes is counted as it is.
fn lengths(traffic: &Traffic, policy: &Policy) -> (Duration, Duration) {
    let length = match traffic {
        Traffic::Open { schedule, .. } => schedule.length(),
        Traffic::Trace(_) | Traffic::Closed { .. } => Duration::ZERO,
    };
    match (length.is_zero(), policy) {
        (false, _) => (Duration::ZERO, length),
        (true, Policy::CloudRun(parameters)) => (SIMULATED.1 + parameters.idle, SIMULATED.0),
        (true, Policy::Knative(_)) => (SIMULATED.1, SIMULATED.0),
        (true, Policy::Hpa(parameters)) => (SIMULATED.1 + parameters.stabilization, SIMULATED.0),
    }
}

/// The pools that are worth a look where an instance is given so many requests at once: a worker without a request is for nothing.
fn pools(plan: &ServiceSizePlan, has_pool: bool, given: u32) -> Vec<u32> {
    if !has_pool {
        return vec![0];
    }
    let enough: Vec<u32> = plan.pools.iter().copied().filter(|pool| *pool <= given).collect();
    if enough.is_empty() { plan.pools.first().copied().into_iter().collect() } else { enough }
}

/// What comes, as a simulation has it; nothing of a load whose rate follows from the answers.
fn traffic(load: &Load) -> Option<Traffic> {
    match load {
        Load::Open { schedule, arrivals, .. } => {
            Some(Traffic::Open { schedule: schedule.clone(), arrivals: *arrivals })
        }
        Load::Closed { .. } | Load::Ramped { .. } => None,
    }
}

/// The services that come near the objective, the cheapest first, each with its autoscaler.
fn proposed(plan: &ServiceSizePlan, services: &[Service<'_>]) -> Vec<(ServiceCell, Policy)> {
    let options: Vec<ServiceOption<'_, Quantiles>> = services.iter().map(|service| service.option.clone()).collect();
    let objective = ServiceObjective { terms: plan.terms(), errors: plan.errors };
    let has_room = |service: &ServiceSettings, most: u32| {
        service.cpus.millis().saturating_mul(most) <= plan.room.cpus.millis()
            && service.memory.get().saturating_mul(u64::from(most)) <= plan.room.memory.get()
    };
    let proposals = propose(&options, &objective, plan.price, has_room, plan.plan.seed.unwrap_or(1));
    let cell = |ServiceProposal { option, outlook }: ServiceProposal| {
        let Service { runtime, pool, target, option } = services.get(option)?;
        let service = &option.setup.service;
        let max_instances = outlook.most.max(service.min_instances).max(1);
        let cell = ServiceCell {
            runtime: *runtime,
            cpus: service.cpus,
            memory: service.memory,
            workers: *pool,
            concurrency: service.concurrency,
            min_instances: service.min_instances,
            max_instances,
            target: *target,
            price: outlook.month,
            instances: outlook.instances,
            times: outlook.times,
            window: service_window(&plan.windows, outlook.times, outlook.scatter, option.setup.duration),
            fits: has_room(service, max_instances),
        };
        Some((cell, option.setup.policy))
    };
    proposals.into_iter().filter_map(cell).collect()
}

/// How a search for a service ends. One without a choice says whether services miss, do not serve, or cannot be told.
#[must_use]
pub fn service_size_exit(found: &ServiceFound, cells: &[ServiceCell], readings: &[SizeReading]) -> Exit {
    match () {
        () if found.choice.is_some() => Exit::Done,
        () if is_unusable(readings) => Exit::Invalid,
        () if !cells.is_empty() => Exit::GateFailed,
        () => Exit::TrialFailed,
    }
}

/// Whether trials were made of which none tells of a service.
fn is_unusable(readings: &[SizeReading]) -> bool {
    let is_unusable = |reading: &SizeReading| matches!(reading.outcome, SizeOutcome::Unusable(_));
    readings.len() >= MOST_UNUSABLE && readings.iter().all(is_unusable)
}
