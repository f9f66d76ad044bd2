//! The plan of an autoscaled service's size: instances, what each is given, and the autoscaler's settings, in one search.

use std::time::Duration;

use stampede_core::{Bytes, Candidate, CaseId, Cpus, Limits, Load, Rounds, SloTerm, Topology, TuningProblem};
use stampede_scale::{
    Basis, CpuAllocation, HpaParameters, KnativeParameters, PRICES, Policy, Price, Scaling, ServiceSettings, price,
};

use super::{
    BESIDE, BLOCKS, SizeFlags, SizePlan, WORKERS, check_room, check_window, read_all_cpus, read_all_memory,
    read_headroom, read_levels, read_pool, read_term, tuned, whole_millis, window,
};
use crate::catalogue::Catalogue;
use crate::compare::{ComparePlan, Given};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::read_time;
use crate::scale::PlannedService;
use crate::service::{default_price, read_connections, read_count, read_policy, read_share};
use crate::suggestion::or_list;

/// What an instance is given at once, as far as the platform lets it.
const CONCURRENCY: [u32; 6] = [1, 4, 8, 16, 40, 80];
const MIN_INSTANCES: [u32; 2] = [0, 1];

/// Knative's targets, in thousandths of the concurrency.
const TARGETS: [u32; 3] = [500, 700, 900];

/// As many instances as Cloud Run allows a service that says nothing (cloud.google.com/run/docs/configuring/max-instances).
const MAX_INSTANCES: u32 = 100;

/// The longest window by default: some times as long as autoscalers average, whose instances go up and down over minutes.
const LONGEST_WINDOW: Duration = Duration::from_secs(200);

const DEFAULT_BUDGET: Duration = Duration::from_secs(2 * 3600);

/// A runtime is calibrated by so many rounds of windows of this length, after a load of this length.
const CALIBRATION: (u32, Duration, Duration) = (2, Duration::from_secs(10), Duration::from_secs(2));

/// One request at a time uses no more CPU than this.
const ALONE: Cpus = Cpus::from_millis(1000);

/// Requests that are worked on at once in the calibration of how they share a CPU, at most.
const TOGETHER: u32 = 8;

/// The load that leaves an instance idle between its requests.
const IDLE: &str = "open:poisson:20";

/// A search for an autoscaled service without mistakes.
#[derive(Clone, Debug)]
pub struct ServiceSizePlan {
    /// All runtimes under the most of everything, at the load with its headroom; it has an objective.
    pub plan: ComparePlan,
    /// The load, which is open.
    pub load: Load,
    /// By how much more of it the service must hold, as a share.
    pub headroom: f64,
    /// The share of requests that may have no right answer, where that is asked for.
    pub errors: Option<f64>,
    /// CPU of an instance that is searched, the least first.
    pub cpus: Vec<Cpus>,
    /// The same of memory.
    pub memory: Vec<Bytes>,
    /// The sizes of pools that are searched.
    pub pools: Vec<u32>,
    /// How many requests an instance is given at once.
    pub concurrency: Vec<u32>,
    /// The fewest instances.
    pub min_instances: Vec<u32>,
    /// The most.
    pub max_instances: u32,
    /// Connections of the database that all workers share.
    pub connections: Option<u32>,
    /// The autoscaler with each target that is searched; without one where its owner cannot say so.
    pub policies: Vec<(Option<f64>, Policy)>,
    /// What it costs.
    pub price: &'static Price,
    /// How long trials may be measured, the shortest first: a service that comes near its limits takes longer windows. Where one was
    /// asked for, or the load changes, there is one.
    pub windows: Vec<Duration>,
    /// What all instances may use of this machine.
    pub room: Limits,
    /// How long the search may take.
    pub budget: Duration,
}

/// What goes with an autoscaled service alone is not given.
pub(super) fn check_absent(flags: &SizeFlags, mistakes: &mut Gathered) {
    let service = &flags.service;
    let given = [
        ("--concurrency", &service.concurrency),
        ("--min-instances", &service.min_instances),
        ("--max-instances", &service.max_instances),
        ("--max-connections", &service.max_connections),
        ("--policy", &service.policy),
        ("--cpu-target", &service.cpu_target),
        ("--targets", &flags.targets),
    ];
    for (flag, typed) in given.into_iter().filter_map(|(flag, typed)| Some((flag, typed.as_ref()?))) {
        let problem = "is of an autoscaled service, and this one runs all the time";
        mistakes.add(format!("{flag} {typed}"), problem, "add --autoscale, or leave it out");
    }
}

impl ServiceSizePlan {
    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names: what is said of a load that is not open, of replicas, of
    /// targets that an autoscaler does not have, and of prices that are not paid by what a service uses.
    pub fn read(flags: &SizeFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let mut mistakes = Gathered::default();
        let service = &flags.service;
        let (cpus, memory) =
            (read_all_cpus(flags, machine, &mut mistakes), read_all_memory(flags, machine, &mut mistakes));
        let pools = read_levels(flags.pools.as_deref(), WORKERS.to_vec(), read_pool, &mut mistakes);
        let read = |typed: &str, mistakes: &mut Gathered| read_least("--concurrency", typed, mistakes);
        let concurrency = read_levels(service.concurrency.as_deref(), CONCURRENCY.to_vec(), read, &mut mistakes);
        let read = |typed: &str, mistakes: &mut Gathered| read_count("--min-instances", Some(typed), 1, mistakes);
        let policy = read_policy(service, &mut mistakes);
        let own = MIN_INSTANCES.into_iter().filter(|least| *least >= policy.fewest()).collect();
        let min_instances = read_levels(service.min_instances.as_deref(), own, read, &mut mistakes);
        let most = service.max_instances.as_deref().map(|typed| read_least("--max-instances", typed, &mut mistakes));
        let least = min_instances.first().copied().unwrap_or_default();
        let max_instances = most.unwrap_or(MAX_INSTANCES.max(least));
        if least > max_instances {
            let problem = format!("is below --min-instances {least}");
            mistakes.add(format!("--max-instances {max_instances}"), problem, "raise one or lower the other");
        }
        let connections = read_connections(service.max_connections.as_deref(), &mut mistakes);
        let policies = read_targets(flags.targets.as_deref(), policy, &mut mistakes);
        let price = read_price(flags.prices.as_deref(), &policy, &mut mistakes);
        let headroom = read_headroom(flags.headroom.as_deref(), &mut mistakes);
        for (flag, typed) in [("--replicas", &flags.replicas), ("--spare", &flags.spare)] {
            if let Some(typed) = typed {
                let problem = "does not go with --autoscale, which has as many instances as are needed";
                mistakes.add(format!("{flag} {typed}"), problem, "leave one of them out; --min-instances 2 keeps two");
            }
        }
        let budget = flags.budget.budget.as_deref();
        let budget = read_time("--budget", budget, DEFAULT_BUDGET, Duration::from_secs(1), &mut mistakes);
        let mut compare = flags.compare(&format!("{}s", policy.settling_time().as_secs()));
        compare.deployment.cpus = cpus.last().map(ToString::to_string);
        compare.deployment.memory = memory.last().map(ToString::to_string).or_else(|| Some("32Mi".to_owned()));
        let given = Given { rounds: Some(1), ..Given::default() };
        let plan = mistakes.finish(ComparePlan::read_given(&compare, given, machine, catalogue))?;
        let mut mistakes = Gathered::default();
        let term = read_term(&plan, &mut mistakes);
        let is_open = check_load(&plan, flags.load.load.is_some(), &mut mistakes);
        if plan.topology != Topology::default() {
            let problem = format!("cannot be autoscaled beside {}", plan.topology);
            let fix = "leave services and the topology out of plan and flags, or search without --autoscale";
            mistakes.add("--autoscale", problem, fix);
        }
        if plan.candidates.is_empty() {
            let problem = format!("has none that can serve {}", plan.workload.id);
            mistakes.add("--runtimes", problem, "see stampede list runtimes");
        }
        let (Some(term), true) = (term, is_open) else { return mistakes.finish(Err(Mistakes(Vec::new()))) };
        let Ok(sized) = plan.load.scaled(1.0, 1.0 + headroom) else {
            let fix = "lower it, or --load";
            return mistakes.finish(Err(Mistakes::one("--headroom", "is more than can be driven", fix)));
        };
        let load = plan.load.clone();
        let (length, rate) = match &load {
            Load::Open { schedule, .. } => (schedule.length(), schedule.held_rate().per_second()),
            Load::Closed { .. } | Load::Ramped { .. } => (Duration::ZERO, 0.0),
        };
        // A load that changes is measured as it is, from its beginning to its end.
        let (duration, warm_up) = match (length.is_zero(), &flags.duration.duration) {
            (false, _) => (length, Duration::ZERO),
            (true, Some(_)) => (plan.duration, plan.warm_up),
            (true, None) => (window(rate, term.beyond), plan.warm_up),
        };
        let is_ours = length.is_zero() && flags.duration.duration.is_none();
        let windows = if is_ours { doubled(duration, LONGEST_WINDOW) } else { vec![duration] };
        if length.is_zero() {
            check_window(rate, headroom, duration, term, &mut mistakes);
        }
        let sides = 1 + u32::from(headroom > 0.0);
        let (rounds, calibrating, before) = CALIBRATION;
        let calibrations = (calibrating + before + BESIDE) * (3 * rounds * plan.candidates.len() as u32);
        let needed = calibrations + (warm_up + duration + BESIDE) * (sides * BLOCKS.0);
        let problem = format!("has no room to calibrate each runtime and for {} rounds of a service", BLOCKS.0);
        check_room(budget, needed, &problem, &mut mistakes);
        let room = Limits { cpus: Cpus::from_millis(whole_millis(machine)), memory: machine.memory };
        let limits = Limits { cpus: room.cpus, ..plan.limits };
        let plan = ComparePlan {
            load: sized,
            duration,
            warm_up,
            pilots: false,
            window_by_pilots: false,
            sampled: false,
            limits,
            ..plan
        };
        mistakes.finish(Ok(Self {
            plan,
            load,
            headroom,
            errors: term.errors,
            cpus,
            memory,
            pools,
            concurrency,
            min_instances,
            max_instances,
            connections,
            policies,
            price,
            windows,
            room,
            budget,
        }))
    }

    /// The limits of the response time, each with its quantile.
    #[must_use]
    pub fn terms(&self) -> Vec<(f64, Duration)> {
        let terms = self.plan.slo.as_ref().map_or(&[][..], |slo| slo.terms());
        let response = terms.iter().filter_map(|term| match term {
            SloTerm::Response { percentile, below } => Some((1.0 - percentile.beyond(), *below)),
            SloTerm::Errors { .. } => None,
        });
        response.collect()
    }

    /// Whether instances have their CPU, and are paid, as long as they live.
    #[must_use]
    pub fn allocation(&self) -> CpuAllocation {
        match self.price.basis {
            Basis::Requests => CpuAllocation::DuringRequests,
            Basis::Instances => CpuAllocation::Always,
        }
    }

    /// What a runtime's forecasts are calibrated by, each as a case of its own: one request at a time, several, and few that leave it
    /// idle; the first is the one of one at a time.
    ///
    /// # Errors
    ///
    /// Which setting cannot be so.
    pub fn calibrations(&self, candidate: &Candidate) -> Result<Vec<ComparePlan>, TuningProblem> {
        let (rounds, duration, warm_up) = CALIBRATION;
        let has_pool = SizePlan::pool_of(candidate).is_some();
        let few = self.pools.first().copied().unwrap_or(1);
        let many = self.pools.iter().copied().filter(|pool| *pool <= TOGETHER).max().unwrap_or(few);
        let together = if has_pool { many } else { TOGETHER };
        // A quota that stalls requests would be in their times, and be counted twice.
        let cpus = self.cpus.last().copied().unwrap_or(self.room.cpus).max(ALONE).min(self.room.cpus);
        let limits = Limits { cpus, memory: self.plan.limits.memory };
        let idle = IDLE.parse::<Load>().unwrap_or(Load::Closed { connections: 1 });
        let mut loads = vec![("one", few, Load::Closed { connections: 1 })];
        loads.extend((together > 1).then_some(("together", many, Load::Closed { connections: together })));
        loads.push(("idle", many, idle));
        let plan = |(name, pool, load): (&str, u32, Load)| {
            let tuning = tuned(candidate, &limits, &load, has_pool.then_some(pool))?;
            let id = CaseId::new(format!("{}-{name}", candidate.id));
            let candidates = vec![Candidate { id, tuning, ..candidate.clone() }];
            let rounds = Rounds::Fixed(rounds);
            Ok(ComparePlan { candidates, limits, load, rounds, duration, warm_up, slo: None, ..self.plan.clone() })
        };
        loads.into_iter().map(plan).collect()
    }

    /// A service of a runtime, whose instances have a pool of this size where it has one, under a load, in so many blocks of windows that
    /// are so long.
    ///
    /// # Errors
    ///
    /// Which setting cannot be so.
    pub fn service(
        &self,
        id: &str,
        candidate: &Candidate,
        scaling: Scaling,
        pool: u32,
        (load, blocks, duration): (&Load, u32, Duration),
    ) -> Result<PlannedService, TuningProblem> {
        let limits = Limits { cpus: scaling.service.cpus, memory: scaling.service.memory };
        let given = Load::Closed { connections: scaling.policy.concurrency(&scaling.service) };
        let tuning = tuned(candidate, &limits, &given, (pool > 0).then_some(pool))?;
        let candidates = vec![Candidate { id: CaseId::new(id), tuning, ..candidate.clone() }];
        let (load, rounds) = (load.clone(), Rounds::Fixed(blocks));
        let plan = ComparePlan { candidates, limits, load, rounds, duration, slo: None, ..self.plan.clone() };
        Ok(PlannedService { plan, scaling })
    }

    /// What an instance is and how many there are, under these limits.
    #[must_use]
    pub fn settings(&self, limits: Limits, concurrency: u32, (least, most): (u32, u32)) -> ServiceSettings {
        ServiceSettings {
            cpu_allocation: self.allocation(),
            ..ServiceSettings::on_demand(limits.cpus, limits.memory, concurrency, least, most)
        }
    }
}

/// A whole number above 0.
fn read_least(flag: &str, typed: &str, mistakes: &mut Gathered) -> u32 {
    match typed.parse::<u32>() {
        Ok(count) if count > 0 => count,
        _ => {
            mistakes.add(format!("{flag} {typed}"), "is not a whole number above 0", format!("for example {flag} 8"));
            1
        }
    }
}

/// This window, and twice as long ones up to the longest.
fn doubled(window: Duration, longest: Duration) -> Vec<Duration> {
    let mut windows = vec![window];
    while let Some(last) = windows.last().copied().filter(|last| *last < longest) {
        windows.push((last * 2).min(longest));
    }
    windows
}

/// The autoscaler with each target.
fn read_targets(typed: Option<&str>, policy: Policy, mistakes: &mut Gathered) -> Vec<(Option<f64>, Policy)> {
    match (policy, typed) {
        (Policy::Knative(_) | Policy::Hpa(_), typed) => {
            let read = |typed: &str, mistakes: &mut Gathered| read_share("--targets", typed, mistakes);
            let targets = read_levels(typed, TARGETS.to_vec(), read, mistakes);
            let with = |target: u32| {
                let target = f64::from(target) / 1e3;
                let policy = match policy {
                    Policy::Hpa(parameters) => Policy::Hpa(HpaParameters { cpu_target: target, ..parameters }),
                    Policy::Knative(parameters) => {
                        Policy::Knative(KnativeParameters { target_utilisation: target, ..parameters })
                    }
                    Policy::CloudRun(_) => policy,
                };
                (Some(target), policy)
            };
            targets.into_iter().map(with).collect()
        }
        (policy, None) => vec![(None, policy)],
        (policy, Some(typed)) => {
            let problem = format!("cannot be searched: {} has targets of its own", policy.name());
            mistakes.add(format!("--targets {typed}"), problem, "leave it out, or add --policy knative or hpa");
            vec![(None, policy)]
        }
    }
}

/// The price by which services are compared.
fn read_price(typed: Option<&str>, policy: &Policy, mistakes: &mut Gathered) -> &'static Price {
    let default = default_price(policy);
    let Some(typed) = typed else { return default };
    let place = format!("--prices {typed}");
    if let Some(known) = price(typed) {
        if policy.allocation() == CpuAllocation::Always && known.basis == Basis::Requests {
            let problem = format!("is paid by requests, and pods of {} are there all the time", policy.name());
            mistakes.add(place, problem, format!("for example --prices {}", default.id));
        }
        return known;
    }
    let names: Vec<&str> = PRICES.iter().map(|price| price.id).collect();
    let is_tariff = stampede_scale::tariff(typed).is_some() || std::path::Path::new(typed).exists();
    let fix = match is_tariff {
        true => format!("name one of {}, or leave out --autoscale", names.join(", ")),
        false => or_list("--prices", typed, names.iter().copied()),
    };
    let problem = match is_tariff {
        true => "is paid for what runs all the time, and an autoscaled service is paid for what it uses",
        false => "is not known",
    };
    mistakes.add(place, problem, fix);
    default
}

/// Whether requests come at times of their own.
fn check_load(plan: &ComparePlan, is_typed: bool, mistakes: &mut Gathered) -> bool {
    let place = if is_typed { format!("--load {}", plan.load) } else { format!("load {}", plan.load) };
    let fix = "for example --load open:poisson:300, or --load open:10..200/10m";
    match &plan.load {
        _ if plan.scenario.is_some() => {
            let problem = format!("plays the scenario of {}, whose users have rates of their own", plan.workload.id);
            mistakes.add(place, problem, "name a workload without one, or its exchanges with --exchanges");
            false
        }
        Load::Open { .. } => true,
        Load::Closed { .. } | Load::Ramped { .. } => {
            mistakes.add(place, "has no rate of its own, which instances could follow (--load is needed)", fix);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use stampede_scale::CloudRunParameters;

    use super::*;

    fn told<T>(read: impl FnOnce(&mut Gathered) -> T) -> (T, Vec<String>) {
        let mut mistakes = Gathered::default();
        let value = read(&mut mistakes);
        let told = mistakes.finish(Ok(())).err().map_or_else(Vec::new, |Mistakes(told)| told);
        (value, told.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn targets_are_those_that_can_be_set_and_each_is_an_autoscaler() {
        let knative = Policy::Knative(KnativeParameters::default());
        let targets = |typed, policy| {
            let (read, told) = told(|mistakes| read_targets(typed, policy, mistakes));
            (read.into_iter().map(|(target, _)| target).collect::<Vec<_>>(), told)
        };
        assert_eq!(targets(None, knative), (vec![Some(0.5), Some(0.7), Some(0.9)], Vec::new()));
        assert_eq!(targets(Some("0.8,60%"), knative), (vec![Some(0.6), Some(0.8)], Vec::new()));
        let hpa = Policy::Hpa(HpaParameters::default());
        assert_eq!(targets(Some("60%"), hpa), (vec![Some(0.6)], Vec::new()));
        let cloud_run = Policy::CloudRun(CloudRunParameters::default());
        assert_eq!(targets(None, cloud_run), (vec![None], Vec::new()));
        let (_, said) = targets(Some("70%"), cloud_run);
        assert_eq!(
            said,
            [
                "--targets 70% cannot be searched: cloud-run has targets of its own; leave it out, or add --policy knative or \
                 hpa"
            ]
        );
        assert_eq!(targets(Some("170%"), knative).1.len(), 1);
    }

    #[test]
    fn prices_are_by_what_a_service_uses() {
        let cloud_run = Policy::CloudRun(CloudRunParameters::default());
        let of = |typed| {
            let (price, told) = told(|mistakes| read_price(typed, &cloud_run, mistakes));
            (price.id, told.concat())
        };
        assert_eq!(of(None), ("cloud-run-requests", String::new()));
        assert_eq!(of(Some("cloud-run-instances")), ("cloud-run-instances", String::new()));
        assert!(of(Some("fargate")).1.contains("is paid for what runs all the time"), "{:?}", of(Some("fargate")));
        assert!(of(Some("cloud-run-request")).1.contains("did you mean cloud-run-requests"));
        let hpa = Policy::Hpa(HpaParameters::default());
        let of_pods = |typed| told(|mistakes| read_price(typed, &hpa, mistakes));
        assert_eq!((of_pods(None).0.id, of_pods(None).1), ("eks-fargate", Vec::new()));
        assert!(of_pods(Some("cloud-run-requests")).1.concat().contains("pods of hpa are there all the time"));
    }
}
