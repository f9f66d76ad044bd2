//! The question of a forecast: which services, under which load, simulated for how long.

mod traffic;

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use stampede_core::{App, AppKind, Bytes, Case, Cpus, DefaultsContext, Limits, Load, Role};
use stampede_forecast::{Calibration, ForecastQuestion, ServicePoint, SimulationSetup};
use stampede_scale::{CpuAllocation, Policy, Price, QueueLimits, ServiceSettings};

use self::traffic::{AskedTraffic, own_length, read_traffic};
use crate::catalogue::Catalogue;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::read_seed;
use crate::service::{
    CONCURRENCY, PriceFlag, ServiceFlags, WaitingFlags, check_service, connected_instances, fewer_at_once,
    read_any_time, read_connections, read_count, read_policy, read_price, read_waiting,
};

/// As many as Cloud Run allows a service that says nothing (cloud.google.com/run/docs/configuring/max-instances).
const MAX_INSTANCES: u32 = 100;
/// Long enough for the windows of a minute in which autoscalers average. On Cloud Run the instances of the beginning, when nobody
/// was there, stay for their idle time beside it.
const DURATION: Duration = Duration::from_secs(300);
const WARM_UP: Duration = Duration::from_secs(120);
const DEFAULT_ROUNDS: u32 = 5;

/// The flags of `stampede forecast` that say what is simulated, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct ForecastFlags {
    /// Which case of the study [default: the only one that had one request at a time]
    #[arg(long, value_name = "CASE", help_heading = "Calibration")]
    pub case: Option<String>,
    /// Another study of the same runtime, which makes the forecast better (may be repeated): one with more connections shows how
    /// well requests share the CPU, one with a low open load how much longer requests take after a pause
    #[arg(long, value_name = "STUDY", help_heading = "Calibration")]
    pub also: Vec<String>,
    /// Load: open:RATE, open:poisson:RATE, open:FROM..TO/TIME, or closed:CLIENTS
    #[arg(long, value_name = "MODEL", allow_hyphen_values = true, help_heading = "Load")]
    pub load: Option<String>,
    /// In place of --load: a file with one request per line, as its time in seconds after the first
    #[arg(long, value_name = "FILE", conflicts_with = "load", help_heading = "Load")]
    pub trace: Option<PathBuf>,
    /// Multiply the load by this [default: 1]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, help_heading = "Load")]
    pub times: Option<String>,
    /// With closed loads: round-trip time between a client and the platform [default: 0ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub client_rtt: Option<String>,
    /// Simulated time, after the warm-up [default: the length of the load's stages, or 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub duration: Option<String>,
    /// Simulated time before that, not counted [default: 2m if the load is constant, plus the idle time of instances on
    /// Cloud Run; otherwise none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Load")]
    pub warm_up: Option<String>,
    #[command(flatten)]
    pub service: ServiceFlags,
    /// CPUs of an instance; each value is simulated: 0.167,0.5,1 [default: as in the study]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Service")]
    pub cpus: Option<String>,
    /// Memory of an instance; each value is simulated: 256Mi,512Mi [default: as in the study]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Service")]
    pub memory: Option<String>,
    /// Workers of an instance: how many requests it works on at once, while others wait [default: as in the study, or the
    /// runtime's default for these limits]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub workers: Option<String>,
    /// CPUs that all instances share, as on a laptop [default: each has its own]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub host_cpus: Option<String>,
    #[command(flatten)]
    pub waiting: WaitingFlags,
    /// Extra time for each start of an instance, such as for downloading the image [default: 0s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub start_wait: Option<String>,
    /// Instances get more CPU while they start, as with the startup CPU boost of Cloud Run
    #[arg(long, help_heading = "Service")]
    pub start_boost: bool,
    /// Instances keep their CPU between requests, and are paid for as long as they run
    #[arg(long, help_heading = "Service")]
    pub cpu_always: bool,
    #[command(flatten)]
    pub price: PriceFlag,
    /// How often each combination is simulated, each time with other random gaps between requests [default: 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Simulation")]
    pub rounds: Option<String>,
    /// Seed of random numbers; the same seed gives the same forecast [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Simulation")]
    pub seed: Option<String>,
}

/// What all points have in common.
struct Common<'a> {
    calibration: Calibration,
    case: &'a Case,
    catalogue: &'a dyn Catalogue,
    policy: Policy,
    price: &'static Price,
    allocation: CpuAllocation,
    start_boost: bool,
    min_instances: u32,
    max_instances: u32,
    /// Those of the database that all instances have.
    connections: Option<u32>,
    queue_wait: Option<Duration>,
    request_timeout: Duration,
    workers: Option<u32>,
    host_cpus: Option<u32>,
    warm_up: Duration,
    duration: Duration,
}

/// Reads flags, for a case that was calibrated from: the question, and what is told before it is answered.
///
/// # Errors
///
/// All mistakes of the command line and of the trace that it names.
pub fn read_forecast(
    flags: &ForecastFlags,
    calibration: &Calibration,
    case: &Case,
    catalogue: &dyn Catalogue,
) -> Result<(ForecastQuestion, Vec<String>), Mistakes> {
    let ForecastFlags { service, cpus, memory, workers, host_cpus, waiting, price, .. } = flags;
    let mut mistakes = Gathered::default();
    let traffic = read_traffic(flags, &mut mistakes);
    let policy = read_policy(service, &mut mistakes);
    let own = traffic.as_ref().map_or(Duration::ZERO, |asked| own_length(&asked.traffic));
    let (own_duration, own_warm_up) = match (own.is_zero(), &policy) {
        (true, Policy::CloudRun(p)) => (DURATION, WARM_UP + p.idle),
        (true, Policy::Knative(_)) => (DURATION, WARM_UP),
        (true, Policy::Hpa(p)) => (DURATION, WARM_UP + p.stabilization),
        (false, _) => (own, Duration::ZERO),
    };
    let duration = read_any_time("--duration", flags.duration.as_deref(), own_duration, &mut mistakes);
    if duration.is_zero() {
        mistakes.add("--duration 0s", "leaves nothing to count", "for example --duration 5m");
    }
    let warm_up = read_any_time("--warm-up", flags.warm_up.as_deref(), own_warm_up, &mut mistakes);
    let concurrency = read_list("--concurrency", service.concurrency.as_deref(), CONCURRENCY, &mut mistakes);
    let cpus = read_list("--cpus", cpus.as_deref(), calibration.cpus, &mut mistakes);
    let memory = read_list("--memory", memory.as_deref(), case.limits.memory, &mut mistakes);
    let min_instances = read_count("--min-instances", service.min_instances.as_deref(), policy.fewest(), &mut mistakes);
    let most = MAX_INSTANCES.max(min_instances);
    let max_instances = read_count("--max-instances", service.max_instances.as_deref(), most, &mut mistakes);
    let workers = read_some("--workers", workers.as_deref(), "leaves nobody to work", &mut mistakes);
    let host_cpus = read_some("--host-cpus", host_cpus.as_deref(), "leaves no processor to work on", &mut mistakes);
    let (queue_wait, request_timeout) = read_waiting(waiting, &mut mistakes);
    let start_wait = read_any_time("--start-wait", flags.start_wait.as_deref(), Duration::ZERO, &mut mistakes);
    let rounds = read_some("--rounds", flags.rounds.as_deref(), "simulates nothing", &mut mistakes);
    let seed = read_seed(flags.seed.as_deref(), &mut mistakes).unwrap_or(1);
    let allocation = if flags.cpu_always { CpuAllocation::Always } else { policy.allocation() };
    let price = read_price(price.price.as_deref(), &policy, allocation, &mut mistakes);
    let mut calibration = calibration.clone();
    calibration.start.wait += start_wait;
    let common = Common {
        calibration,
        case,
        catalogue,
        policy,
        price,
        allocation,
        start_boost: flags.start_boost,
        min_instances,
        max_instances,
        connections: read_connections(service.max_connections.as_deref(), &mut mistakes),
        queue_wait,
        request_timeout,
        workers,
        host_cpus,
        warm_up,
        duration,
    };
    let (mut points, mut warnings) = (Vec::<ServicePoint>::new(), Vec::new());
    let sizes = cpus.iter().flat_map(|cpus| memory.iter().map(|memory| Limits { cpus: *cpus, memory: *memory }));
    for (limits, concurrency) in
        sizes.flat_map(|limits| concurrency.iter().map(move |concurrency| (limits, *concurrency)))
    {
        let point = common.point(limits, concurrency, traffic.as_ref(), &mut mistakes, &mut warnings);
        // Points that the platform's rules make equal are one.
        let key =
            |point: &ServicePoint| (point.scenario.service.cpus, point.scenario.service.memory, point.concurrency);
        points.extend(point.filter(|point| points.iter().all(|other| key(other) != key(point))));
    }
    warnings.sort();
    warnings.dedup();
    let load = traffic.map(|asked| asked.told).unwrap_or_default();
    let rounds = rounds.unwrap_or(DEFAULT_ROUNDS);
    let question = ForecastQuestion { load, policy, price, rounds, seed, points };
    mistakes.each_once().finish(Ok((question, warnings)))
}

impl Common<'_> {
    /// A service of these limits, of which an instance is given so many requests at once as far as it may be; nothing without traffic.
    fn point(
        &self,
        limits: Limits,
        concurrency: u32,
        traffic: Option<&AskedTraffic>,
        mistakes: &mut Gathered,
        warnings: &mut Vec<String>,
    ) -> Option<ServicePoint> {
        let Self { calibration, policy, request_timeout, .. } = self;
        let Limits { cpus, memory } = limits;
        let service = ServiceSettings {
            cpu_allocation: self.allocation,
            start_up_boost: self.start_boost,
            request_timeout: *request_timeout,
            ..ServiceSettings::on_demand(cpus, memory, concurrency, self.min_instances, self.max_instances)
        };
        check_service(policy, &service, mistakes);
        warnings.extend(fewer_at_once(policy, &service));
        let given = policy.concurrency(&service);
        let own = || default_pool(self.case, &limits, given, self.catalogue);
        let pool = self.workers.or(calibration.workers).or_else(own).unwrap_or(given).max(1);
        check_memory(calibration, memory, pool, mistakes);
        let (max_instances, told) =
            connected_instances(self.max_instances, self.min_instances, pool, self.connections, mistakes);
        warnings.extend(told);
        let service = ServiceSettings { max_instances, ..service };
        let workers = pool.min(given).max(1);
        let instance = calibration.instance(cpus, workers);
        let start = instance.start_time(service.start_cpus());
        let mut queue = policy.queue(&service, start);
        queue = QueueLimits { wait: self.queue_wait.unwrap_or(queue.wait), ..queue };
        let wait = queue.wait.min(*request_timeout);
        if self.min_instances == 0 && start > wait {
            warnings.push(format!(
                "on {cpus} CPU an instance takes {:.1} s to start and a request waits for {:.1} s at most: those that find no \
                 instance are all turned away; raise --queue-limit, --cpus or --min-instances",
                start.as_secs_f64(),
                wait.as_secs_f64()
            ));
        }
        let scenario = SimulationSetup {
            service,
            policy: *policy,
            queue,
            granularity: self.price.granularity,
            instance,
            host_cpus: self.host_cpus,
            work: calibration.work,
            traffic: traffic?.traffic.clone(),
            warm_up: self.warm_up,
            duration: self.duration,
        };
        let extrapolated = extrapolation(calibration, cpus, workers);
        Some(ServicePoint { scenario, concurrency: given, workers, extrapolated })
    }
}

/// A whole number above 0, where one was given.
fn read_some(flag: &str, typed: Option<&str>, of_none: &str, mistakes: &mut Gathered) -> Option<u32> {
    let count = read_count(flag, Some(typed?), 1, mistakes);
    if count == 0 {
        mistakes.add(format!("{flag} 0"), of_none, "give 1 or more");
    }
    Some(count)
}

/// Values between commas, each once.
fn read_list<T: FromStr<Err: Display> + Display + PartialEq>(
    flag: &str,
    typed: Option<&str>,
    default: T,
    mistakes: &mut Gathered,
) -> Vec<T> {
    let Some(typed) = typed else { return vec![default] };
    let mut values = Vec::new();
    for part in typed.split(',') {
        match part.trim().parse() {
            Ok(value) if values.contains(&value) => {}
            Ok(value) => values.push(value),
            Err(problem) => mistakes.add(format!("{flag} {part}"), problem, format!("for example {flag} {default}")),
        }
    }
    values
}

/// How many workers an instance has by its runtime's own defaults under these limits, as `stampede scale` and `export` start it; nothing
/// where a runtime has no pool.
fn default_pool(case: &Case, limits: &Limits, given: u32, catalogue: &dyn Catalogue) -> Option<u32> {
    let runtime = catalogue.runtimes().iter().find(|runtime| runtime.id() == case.runtime)?;
    // Pools follow from limits, load and mode, and from nothing of the application.
    let app = App::new(&case.app, AppKind::FrontController { index: PathBuf::new() });
    let load = Load::Closed { connections: given };
    let tuning = runtime.defaults(&DefaultsContext { app: &app, limits, load: &load, given: &case.tuning.asked() });
    let pools = runtime.tunables().iter().filter(|tunable| tunable.role == Role::PoolSize);
    pools.filter_map(|tunable| tuning.get(tunable.name)?.parse().ok()).max()
}

fn check_memory(calibration: &Calibration, memory: Bytes, workers: u32, mistakes: &mut Gathered) {
    let needed = calibration.memory_of(workers);
    if needed > memory {
        let workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
        let problem = format!("is too small for {workers}, by what was measured {:.0} MiB", needed.mib().ceil());
        mistakes.add(format!("--memory {memory}"), problem, "give more memory, or fewer --workers");
    }
}

fn extrapolation(calibration: &Calibration, cpus: Cpus, workers: u32) -> Option<String> {
    let mut beyond = Vec::new();
    if workers > calibration.most_measured() {
        beyond.push(format!("at most {} at once measured", calibration.most_measured()));
    }
    if cpus > calibration.cpus {
        beyond.push(format!("at most {} CPU measured", calibration.cpus));
    }
    (!beyond.is_empty()).then(|| beyond.join(", "))
}
