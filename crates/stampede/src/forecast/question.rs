//! What is asked for, read from the command line: all mistakes are told at once.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use stampede_core::{App, AppKind, Bytes, Case, Cpus, DefaultsContext, Limits, Load, Role, Schedule};
use stampede_forecast::{Calibration, Scenario, Traffic};
use stampede_scale::{
    Basis, CloudRunParameters, CpuAllocation, KnativeParameters, PRICES, Policy, Price, QueueLimits, Service, price,
};

use super::args::ForecastArgs;

/// As many as Cloud Run allows a service that says nothing (cloud.google.com/run/docs/configuring/max-instances).
const MAX_INSTANCES: u32 = 100;
/// What Cloud Run gives an instance of a service that says nothing (cloud.google.com/run/docs/about-concurrency).
pub(crate) const CONCURRENCY: u32 = 80;
/// Long enough for the windows of a minute in which autoscalers average. On Cloud Run the instances of the beginning, when nobody
/// was there, stay for their idle time beside it.
const DURATION: Duration = Duration::from_secs(300);
const WARM_UP: Duration = Duration::from_secs(120);

/// A question that can be answered.
pub(super) struct Question {
    /// The load as it was asked for, `--times` included.
    pub(super) load: String,
    pub(super) policy: Policy,
    pub(super) policy_name: &'static str,
    pub(super) price: &'static Price,
    pub(super) rounds: u32,
    pub(super) seed: u64,
    pub(super) points: Vec<Point>,
    /// What is told before it is simulated.
    pub(super) warnings: Vec<String>,
}

/// A line of the table.
pub(super) struct Point {
    pub(super) scenario: Scenario,
    /// The most requests that an instance is given at once, by the platform's rules.
    pub(super) concurrency: u32,
    pub(super) workers: u32,
    /// Why it is beyond what was measured.
    pub(super) extrapolated: Option<String>,
}

impl Question {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// All mistakes.
    pub(super) fn read(args: &ForecastArgs, calibration: &Calibration, case: &Case) -> Result<Self, Vec<String>> {
        let mut flags = Flags::default();
        let times = flags.read("--times", args.times.as_ref(), 1.0, |text| {
            text.parse()
                .ok()
                .filter(|factor: &f64| factor.is_finite() && *factor > 0.0)
                .ok_or("is not a number above 0")
        });
        let round_trip = flags.time("--client-rtt", args.client_rtt.as_ref(), Duration::ZERO);
        let traffic = flags.traffic(args, times, round_trip);
        let (policy, policy_name) = flags.policy(args.service.policy.as_deref());
        let own = traffic.as_ref().map_or(Duration::ZERO, |(_, traffic)| own_length(traffic));
        let (own_duration, own_warm_up) = match (own.is_zero(), &policy) {
            (true, Policy::CloudRun(p)) => (DURATION, WARM_UP + p.idle),
            (true, Policy::Knative(_)) => (DURATION, WARM_UP),
            (false, _) => (own, Duration::ZERO),
        };
        let duration = flags.time("--duration", args.duration.as_ref(), own_duration);
        if duration.is_zero() {
            flags.problems.push("--duration must be more than nothing".to_owned());
        }
        let warm_up = flags.time("--warm-up", args.warm_up.as_ref(), own_warm_up);
        let concurrency = flags.list("--concurrency", args.service.concurrency.as_ref(), CONCURRENCY);
        let cpus = flags.list("--cpus", args.cpus.as_ref(), calibration.cpus);
        let memory = flags.list("--memory", args.memory.as_ref(), case.limits.memory);
        let min_instances = flags.count("--min-instances", args.service.min_instances.as_ref(), 0);
        let max_instances =
            flags.count("--max-instances", args.service.max_instances.as_ref(), MAX_INSTANCES.max(min_instances));
        let asked_workers = flags.count("--workers", args.workers.as_ref(), 0);
        if args.workers.is_some() && asked_workers == 0 {
            flags.problems.push("--workers 0 leaves nobody to work; give 1 or more".to_owned());
        }
        let host_cpus = args.host_cpus.as_ref().map(|text| flags.count("--host-cpus", Some(text), 1));
        if host_cpus == Some(0) {
            flags.problems.push("--host-cpus 0 leaves no processor to work on; give 1 or more".to_owned());
        }
        let workers = Some(asked_workers).filter(|workers| *workers > 0);
        let queue_limit =
            args.waiting.queue_limit.as_ref().map(|text| flags.time("--queue-limit", Some(text), Duration::ZERO));
        let request_timeout =
            flags.time("--request-timeout", args.waiting.request_timeout.as_ref(), Service::REQUEST_TIMEOUT);
        let start_wait = flags.time("--start-wait", args.start_wait.as_ref(), Duration::ZERO);
        let rounds = flags.count("--rounds", args.rounds.as_ref(), 5);
        if rounds == 0 {
            flags.problems.push("--rounds 0 simulates nothing; give 1 or more".to_owned());
        }
        let seed =
            flags.read("--seed", args.seed.as_ref(), 1, |text| text.parse().map_err(|_| "is not a whole number"));
        let allocation = if args.cpu_always { CpuAllocation::Always } else { CpuAllocation::DuringRequests };
        let price = flags.price(args.price.price.as_deref(), allocation);

        let mut calibration = calibration.clone();
        calibration.start.wait += start_wait;
        let calibration = &calibration;
        let mut points = Vec::new();
        let mut warnings = Vec::new();
        for ((cpus, memory), concurrency) in cpus
            .iter()
            .flat_map(|cpus| memory.iter().map(move |memory| (cpus, memory)))
            .flat_map(|size| concurrency.iter().map(move |concurrency| (size, *concurrency)))
        {
            let service = Service {
                cpus: *cpus,
                memory: *memory,
                concurrency,
                min_instances,
                max_instances,
                cpu_allocation: allocation,
                start_up_boost: args.start_boost,
                request_timeout,
            };
            flags.problems.extend(policy.problems(&service).iter().map(ToString::to_string));
            let given = policy.concurrency(&service);
            if given != concurrency {
                warnings.push(format!(
                    "--concurrency {concurrency} is 1 on {cpus} CPU: {policy_name} gives an instance below 1 CPU one request at a time"
                ));
            }
            let limits = Limits { cpus: *cpus, memory: *memory };
            let own = || default_pool(case, &limits, given);
            let pool = workers.or(calibration.workers).or_else(own).unwrap_or(given).max(1);
            flags.problems.extend(memory_problem(calibration, *memory, pool));
            let workers = pool.min(given).max(1);
            let instance = calibration.instance(*cpus, workers);
            let start = instance.start_time(service.start_cpus());
            let mut queue = policy.queue(&service, start);
            queue = QueueLimits { wait: queue_limit.unwrap_or(queue.wait), ..queue };
            if min_instances == 0 && start > queue.wait.min(request_timeout) {
                warnings.push(format!(
                    "on {cpus} CPU an instance takes {} to start and a request waits for {} at most: those that find no instance are all turned away; raise --queue-limit, --cpus or --min-instances",
                    seconds(start),
                    seconds(queue.wait.min(request_timeout)),
                ));
            }
            let Some((_, traffic)) = &traffic else { continue };
            let scenario = Scenario {
                service,
                policy,
                queue,
                granularity: price.granularity,
                instance,
                host_cpus,
                work: calibration.work,
                traffic: traffic.clone(),
                warm_up,
                duration,
            };
            let extrapolated = extrapolation(calibration, *cpus, workers);
            points.push(Point { scenario, concurrency: given, workers, extrapolated });
        }
        warnings.sort();
        warnings.dedup();
        // Points that the platform's rules make equal are one.
        let mut seen = Vec::new();
        points.retain(|Point { scenario: Scenario { service, .. }, concurrency, .. }| {
            let key = (service.cpus, service.memory, *concurrency);
            let new = !seen.contains(&key);
            seen.push(key);
            new
        });
        match traffic {
            Some((load, _)) if flags.problems.is_empty() => {
                Ok(Self { load, policy, policy_name, price, rounds, seed, points, warnings })
            }
            _ => {
                let mut told: Vec<String> = Vec::new();
                for problem in flags.problems {
                    if !told.contains(&problem) {
                        told.push(problem);
                    }
                }
                Err(told)
            }
        }
    }
}

/// How long a load goes on by itself; nothing of one that never changes.
fn own_length(traffic: &Traffic) -> Duration {
    match traffic {
        Traffic::Open { schedule, .. } => schedule.length(),
        // What is due at the end of the time is not within it.
        Traffic::Trace(times) => {
            let last = times.last().copied().unwrap_or_default();
            (last + Duration::from_nanos(1)).max(Duration::from_secs(1))
        }
        Traffic::Closed { .. } => Duration::ZERO,
    }
}

/// How many workers an instance has by its runtime's own defaults under these limits, as `stampede scale` and `export` start it; nothing
/// where a runtime has no pool.
fn default_pool(case: &Case, limits: &Limits, given: u32) -> Option<u32> {
    let runtime = stampede_runtimes::by_id(case.runtime.as_str())?;
    // Pools follow from limits, load and mode, and from nothing of the application.
    let app = App::new(&case.app, AppKind::FrontController { index: PathBuf::new() });
    let load = Load::Closed { connections: given };
    let tuning = runtime.defaults(&DefaultsContext { app: &app, limits, load: &load, given: &case.tuning.asked() });
    let pools = runtime.tunables().iter().filter(|tunable| tunable.role == Role::PoolSize);
    pools.filter_map(|tunable| tuning.get(tunable.name)?.parse().ok()).max()
}

fn memory_problem(calibration: &Calibration, memory: Bytes, workers: u32) -> Option<String> {
    let needed = calibration.memory_of(workers);
    (needed > memory).then(|| {
        format!(
            "--memory {memory} is too small for {}, by what was measured {:.0} MiB; give more memory, or fewer --workers",
            if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") },
            needed.mib().ceil()
        )
    })
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

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Flags with what is wrong with them so far.
#[derive(Default)]
pub(crate) struct Flags {
    pub(crate) problems: Vec<String>,
}

impl Flags {
    fn read<T, E: Display>(
        &mut self,
        flag: &str,
        text: Option<&String>,
        default: T,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> T {
        let Some(text) = text else { return default };
        parse(text).unwrap_or_else(|error| {
            self.problems.push(format!("{flag} {text} {error}"));
            default
        })
    }

    pub(crate) fn count(&mut self, flag: &str, text: Option<&String>, default: u32) -> u32 {
        self.read(flag, text, default, |text| text.parse().map_err(|_| "is not a whole number"))
    }

    pub(crate) fn time(&mut self, flag: &str, text: Option<&String>, default: Duration) -> Duration {
        self.read(flag, text, default, |text| {
            humantime::parse_duration(text).map_err(|_| "is not a time such as 500ms, 10s or 5m")
        })
    }

    /// Values between commas, each once.
    fn list<T: FromStr<Err: Display> + PartialEq>(&mut self, flag: &str, text: Option<&String>, default: T) -> Vec<T> {
        let Some(text) = text else { return vec![default] };
        let mut values = Vec::new();
        for part in text.split(',') {
            match part.trim().parse() {
                Ok(value) if values.contains(&value) => {}
                Ok(value) => values.push(value),
                Err(error) => self.problems.push(format!("{flag} {part} {error}")),
            }
        }
        values
    }

    fn traffic(&mut self, args: &ForecastArgs, times: f64, round_trip: Duration) -> Option<(String, Traffic)> {
        let traffic = match (&args.load, &args.trace) {
            (_, Some(path)) => trace(path, times).map(|trace| (format!("trace {}", path.display()), trace)),
            (Some(text), None) => load(text, times, round_trip),
            (None, None) => Err("--load is missing: what comes? --load open:poisson:200, or --trace FILE".to_owned()),
        };
        let closed = matches!(traffic, Ok((_, Traffic::Closed { .. })));
        if args.client_rtt.is_some() && traffic.is_ok() && !closed {
            self.problems
                .push("--client-rtt goes with a closed load: those of an open one come when they are due".to_owned());
        }
        traffic.map_err(|problem| self.problems.push(problem)).ok()
    }

    pub(crate) fn policy(&mut self, name: Option<&str>) -> (Policy, &'static str) {
        match name {
            Some("knative") => (Policy::Knative(KnativeParameters::default()), "knative"),
            None | Some("cloud-run") => (Policy::CloudRun(CloudRunParameters::default()), "cloud-run"),
            Some(other) => {
                self.problems.push(format!("--policy {other} is not one of cloud-run, knative"));
                (Policy::CloudRun(CloudRunParameters::default()), "cloud-run")
            }
        }
    }

    pub(crate) fn price(&mut self, name: Option<&str>, allocation: CpuAllocation) -> &'static Price {
        let basis = match allocation {
            CpuAllocation::DuringRequests => Basis::Requests,
            CpuAllocation::Always => Basis::Instances,
        };
        let fits = || PRICES.iter().filter(|price| price.basis == basis);
        let ids = || fits().map(|price| price.id).collect::<Vec<_>>().join(", ");
        let default = fits().next().unwrap_or(&PRICES[0]);
        let Some(name) = name else { return default };
        match price(name) {
            Some(price) if price.basis == basis => return price,
            Some(_) if basis == Basis::Requests => {
                self.problems.push(format!("--price {name} goes with --cpu-always"));
            }
            Some(_) => self.problems.push(format!("--price {name} does not go with --cpu-always")),
            None => self.problems.push(format!("--price {name} is not one of {}", ids())),
        }
        default
    }
}

fn load(text: &str, times: f64, round_trip: Duration) -> Result<(String, Traffic), String> {
    let wrong = |error: &dyn Display| format!("--load {text} {error}");
    let load = text.parse::<Load>().map_err(|error| wrong(&error))?;
    let scaled = load.scaled(1.0, times).map_err(|error| wrong(&format!("times {times}: {error}")))?;
    match scaled {
        Load::Open { connections, .. } if connections != Load::OPEN_CONNECTIONS => {
            Err(wrong(&format!("limits its connections, which a forecast does not; leave out @{connections}")))
        }
        Load::Open { schedule, arrivals, .. } => {
            let told =
                Load::Open { schedule: Schedule::clone(&schedule), arrivals, connections: Load::OPEN_CONNECTIONS };
            Ok((told.to_string(), Traffic::Open { schedule, arrivals }))
        }
        Load::Closed { connections } => {
            let clients = (f64::from(connections) * times).round().clamp(1.0, f64::from(u32::MAX)) as u32;
            Ok((format!("closed:{clients}"), Traffic::Closed { clients, round_trip }))
        }
        Load::Ramped { .. } => Err(wrong(&"changes its clients; a forecast takes closed:N or an open load")),
    }
}

/// Times in order. So many times as many requests: those beside a recorded one are spread evenly up to the next.
fn trace(path: &Path, times: f64) -> Result<Traffic, String> {
    let wrong = |what: String| format!("--trace {}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut seconds = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.trim().parse::<f64>() {
            Ok(time) if (0.0..=86_400.0 * 31.0).contains(&time) => seconds.push(time),
            _ => return Err(wrong(format!("line {} is not a time in seconds, 31 days at most: {line}", number + 1))),
        }
    }
    seconds.sort_by(f64::total_cmp);
    if seconds.is_empty() {
        return Err(wrong("there is no request in it".to_owned()));
    }
    let mut all = Vec::new();
    for (index, at) in seconds.iter().enumerate() {
        let next = seconds.get(index + 1).unwrap_or(at);
        // As many until here as the factor asks for, so that 1.5 gives one and two by turns.
        let count = ((index + 1) as f64 * times).round() as usize - all.len();
        all.extend((0..count).map(|part| Duration::from_secs_f64(at + (next - at) * part as f64 / count as f64)));
    }
    Ok(Traffic::Trace(all))
}
