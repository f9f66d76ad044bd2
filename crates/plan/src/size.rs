//! The plan of a size: which deployment is the cheapest that holds an objective under a load?

mod service;

use std::time::Duration;

use clap::Args;
use stampede_core::{
    Balance, Balancer, BalancerKind, Bytes, CONFIRMING_BLOCKS, Candidate, CaseId, Cpus, DefaultsContext, Limits, Load,
    Role, Rounds, SloTerm, Topology, TunableKind, Tuning, TuningProblem, short_time,
};
use stampede_scale::Tariff;

use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan, Given};
use crate::flags::{
    AppFlag, BudgetFlag, DatabaseFlags, DeploymentFlags, DurationFlag, ExchangesFlag, LoadFlag, PhpFlag,
    ReadyTimeoutFlag, RuntimesFlag, SeedFlag, SloFlag, SubjectFlag, TopologyFlags, WarmUpFlag,
};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistakes};
use crate::quantity::{parse_share, read_cpus, read_memory, read_time};
use crate::service::ServiceFlags;
use crate::tariff::{read_tariff, tariff_list};
use crate::topology::{KEPT, read_replicas};
use crate::value_list::OrList;

pub use self::service::ServiceSizePlan;

/// What a trial takes beside its load: start, readiness, verification, drain and stop.
const BESIDE: Duration = Duration::from_secs(4);

/// A window has so many requests beyond the percentile at the least, and by default.
const LEAST_BEYOND: f64 = 5.0;
const DEFAULT_BEYOND: f64 = 20.0;

/// By default windows are no shorter and no longer.
const DURATIONS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
const WARM_UP: &str = "2s";

const DEFAULT_BUDGET: Duration = Duration::from_secs(40 * 60);
const DEFAULT_HEADROOM: f64 = 0.2;
const MOST_HEADROOM: f64 = 4.0;

/// Blocks of the first look of a confirmation, and of its last.
const BLOCKS: (u32, u32) = (CONFIRMING_BLOCKS[0], CONFIRMING_BLOCKS[CONFIRMING_BLOCKS.len() - 1]);

/// Limits that are searched by default, as far as this machine has them: each about 1.4 times the one before.
const CPUS: [u32; 14] = [100, 150, 200, 250, 350, 500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000];
const MEMORY: [u64; 12] = [48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
const WORKERS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// What the balancer before replicas may use beside them. Providers have one, so that it is in no price.
const BALANCER: Limits = Limits { cpus: Cpus::from_millis(250), memory: Bytes::from_mib(64) };

/// The flags of `stampede size` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct SizeFlags {
    #[command(flatten)]
    pub subject: SubjectFlag,
    #[command(flatten)]
    pub runtimes: RuntimesFlag,
    #[command(flatten)]
    pub app: AppFlag,
    #[command(flatten)]
    pub exchanges: ExchangesFlag,
    #[command(flatten)]
    pub php: PhpFlag,
    #[command(flatten)]
    pub slo: SloFlag,
    #[command(flatten)]
    pub load: LoadFlag,
    /// Extra load under which the SLO must hold too [default: 20%]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = "Load")]
    pub headroom: Option<String>,
    #[command(flatten)]
    pub deployment: DeploymentFlags,
    #[command(flatten)]
    pub databases: DatabaseFlags,
    /// Numbers of replicas to try, behind nginx, each replica with its own limits and workers: 1,2,4 [default: 1]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Limits")]
    pub replicas: Option<String>,
    /// Number of replicas that may fail while the others still meet the SLO; numbers of replicas that are not larger are left
    /// out [default: 1 if there are two or more]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Load")]
    pub spare: Option<String>,
    /// Numbers of workers to try: 2,4,8 [default: 1,2,4,8,16,32]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Limits")]
    pub pools: Option<String>,
    /// Price list: its name (--prices help prints all), or a file of your own [default: core-hours]
    #[arg(long, value_name = "NAME|FILE", value_parser = OrList(tariff_list), help_heading = "Search")]
    pub prices: Option<String>,
    /// Search an autoscaled service: concurrency, workers, CPU, memory, minimum instances and target together
    #[arg(long, help_heading = "Service")]
    pub autoscale: bool,
    #[command(flatten)]
    pub service: ServiceFlags,
    /// Targets of Knative's autoscaler that are searched, as shares of the concurrency [default: 50%,70%,90%]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Service")]
    pub targets: Option<String>,
    #[command(flatten)]
    pub budget: BudgetFlag,
    #[command(flatten)]
    pub duration: DurationFlag,
    #[command(flatten)]
    pub warm_up: WarmUpFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub ready_timeout: ReadyTimeoutFlag,
}

/// The term of the objective that a size is searched by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeTerm {
    /// The share of requests that may be beyond the limit.
    pub beyond: f64,
    /// The limit of the response time.
    pub below: Duration,
    /// The share of requests that may have no right answer, where that is asked for.
    pub errors: Option<f64>,
}

/// Copies of a runtime that are served together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeCopies {
    /// How many run.
    pub running: u32,
    /// Whether a balancer is before them, also where one alone is left.
    pub is_balanced: bool,
    /// What each may use.
    pub each: Limits,
}

impl SizeCopies {
    /// What all may use together, and what is before them.
    #[must_use]
    pub fn total(&self) -> Limits {
        let Self { running, is_balanced, each } = *self;
        let balancer =
            if is_balanced { BALANCER } else { Limits { cpus: Cpus::from_millis(0), memory: Bytes::new(0) } };
        Limits {
            cpus: Cpus::from_millis(each.cpus.millis().saturating_mul(running).saturating_add(balancer.cpus.millis())),
            memory: Bytes::new(each.memory.get() * u64::from(running) + balancer.memory.get()),
        }
    }

    /// Behind nginx, each with limits of its own.
    fn topology(&self) -> Topology {
        let balancer = Balancer {
            kind: BalancerKind::Nginx,
            balance: Balance::RoundRobin,
            upstream_keepalive: KEPT,
            tls: false,
            share: Some(BALANCER),
        };
        Topology {
            replicas: self.running,
            balancer: Some(balancer),
            replica_share: Some(self.each),
            ..Topology::default()
        }
    }
}

/// A search for a size without mistakes.
#[derive(Clone, Debug)]
pub struct SizePlan {
    /// All runtimes under the most of everything, at the load with its headroom; it has an objective.
    pub plan: ComparePlan,
    /// The load.
    pub load: Load,
    /// Requests a second of it.
    pub rate: f64,
    /// By how much more of them it must hold, as a share.
    pub headroom: f64,
    /// What is held.
    pub term: SizeTerm,
    /// The limits that are searched, the least first.
    pub cpus: Vec<Cpus>,
    /// The same of memory.
    pub memory: Vec<Bytes>,
    /// The sizes of pools that are searched.
    pub pools: Vec<u32>,
    /// The numbers of replicas that are searched.
    pub replicas: Vec<u32>,
    /// How many replicas may be gone; without it, one of two and more.
    pub spare: Option<u32>,
    /// The CPUs that all replicas and what is before them may use of this machine.
    pub room: Cpus,
    /// What it costs.
    pub tariff: Tariff,
    /// How long it may take.
    pub budget: Duration,
}

impl SizePlan {
    /// Reads flags and the plan file that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line and of the files that it names: a load that is not one rate, an objective without a
    /// response time, windows that tell nothing of it, prices without a currency, and a time that has no room for a search.
    pub fn read(flags: &SizeFlags, machine: MachineSize, catalogue: &dyn Catalogue) -> Result<Self, Mistakes> {
        let mut mistakes = Gathered::default();
        service::check_absent(flags, &mut mistakes);
        let whole = whole_millis(machine);
        let (cpus, memory) =
            (read_all_cpus(flags, machine, &mut mistakes), read_all_memory(flags, machine, &mut mistakes));
        let pools = read_levels(flags.pools.as_deref(), WORKERS.to_vec(), read_pool, &mut mistakes);
        let read =
            |typed: &str, mistakes: &mut Gathered| read_replicas(Some(typed), "for example --replicas 1,2,4", mistakes);
        let replicas = read_levels(flags.replicas.as_deref(), vec![1], read, &mut mistakes);
        let spare = flags.spare.as_deref().and_then(|typed| read_spare(typed, &replicas, &mut mistakes));
        let headroom = read_headroom(flags.headroom.as_deref(), &mut mistakes);
        let tariff = read_tariff(flags.prices.as_deref(), &mut mistakes);
        let budget = flags.budget.budget.as_deref();
        let budget = read_time("--budget", budget, DEFAULT_BUDGET, Duration::from_secs(1), &mut mistakes);
        let mut compare = flags.compare(WARM_UP);
        let most = |limit: Option<String>| limit.or_else(|| Some("32Mi".to_owned()));
        compare.deployment.cpus = cpus.last().map(ToString::to_string);
        compare.deployment.memory = most(memory.last().map(ToString::to_string));
        let given = Given { rounds: Some(1), ..Given::default() };
        let plan = mistakes.finish(ComparePlan::read_given(&compare, given, machine, catalogue))?;
        let mut mistakes = Gathered::default();
        let term = read_term(&plan, &mut mistakes);
        let rate = read_rate(&plan, flags.load.load.is_some(), &mut mistakes);
        if replicas.iter().any(|replicas| *replicas > 1) && plan.topology != Topology::default() {
            let typed = flags.replicas.as_deref().unwrap_or_default();
            mistakes.add(
                format!("--replicas {typed}"),
                format!("cannot be searched beside {}", plan.topology),
                "leave services and the topology out of plan and flags, or search without --replicas",
            );
        }
        if plan.candidates.is_empty() {
            let fix = "see stampede list runtimes";
            mistakes.add("--runtimes", format!("has none that can serve {}", plan.workload.id), fix);
        }
        if let Some(typed) = &flags.pools
            && !plan.candidates.is_empty()
            && plan.candidates.iter().all(|candidate| Self::pool_of(candidate).is_none())
        {
            let problem = "is searched of no runtime here: each has no pool, or --set or the plan gives its size";
            mistakes.add(format!("--pools {typed}"), problem, "leave one of them out");
        }
        let (Some(term), Some(rate), Some(tariff)) = (term, rate, tariff) else {
            return mistakes.finish(Err(Mistakes(Vec::new())));
        };
        let Ok(sized) = plan.load.scaled(1.0, 1.0 + headroom) else {
            return mistakes.finish(Err(Mistakes::one(
                "--headroom",
                "is more than can be driven",
                "lower it, or --load",
            )));
        };
        let duration = match &flags.duration.duration {
            Some(_) => plan.duration,
            None => window(rate, term.beyond),
        };
        check_window(rate, headroom, duration, term, &mut mistakes);
        let warm_up = plan.warm_up.min(duration);
        let most = replicas.last().copied().unwrap_or(1);
        let sides = 1 + u32::from(headroom > 0.0) + u32::from(most > 1 && spare != Some(0));
        check_budget(budget, warm_up + duration, plan.candidates.len(), sides, &mut mistakes);
        let load = plan.load.clone();
        let room = plan.limits.cpus.max(Cpus::from_millis(whole));
        // The processors of servers are set aside for the largest that is measured.
        let taken = |running: u32, cpus: Cpus| {
            SizeCopies { running, is_balanced: running > 1, each: Limits { cpus, ..plan.limits } }.total().cpus
        };
        let largest = cpus.iter().flat_map(|cpus| replicas.iter().map(move |replicas| taken(*replicas, *cpus)));
        let largest = largest.filter(|taken| *taken <= room).max().unwrap_or(plan.limits.cpus);
        let limits = Limits { cpus: largest, ..plan.limits };
        let plan =
            ComparePlan { load: sized, duration, warm_up, pilots: false, window_by_pilots: false, limits, ..plan };
        mistakes.finish(Ok(Self {
            plan,
            load,
            rate,
            headroom,
            term,
            cpus,
            memory,
            pools,
            replicas,
            spare,
            room,
            tariff,
            budget,
        }))
    }

    /// How many of so many replicas may be gone; nothing where none would be left.
    #[must_use]
    pub fn spare_of(&self, replicas: u32) -> Option<u32> {
        let spare = self.spare.unwrap_or(u32::from(replicas > 1));
        (spare < replicas).then_some(spare)
    }

    /// The setting of a runtime that says how many requests it works on at once; none where it has none, or it was given.
    #[must_use]
    pub fn pool_of(candidate: &Candidate) -> Option<&'static str> {
        let is_pool = |tunable: &&stampede_core::Tunable| {
            tunable.role == Role::PoolSize
                && matches!(tunable.kind, TunableKind::Count { .. })
                && candidate.tuning.get(tunable.name).is_some()
        };
        let pool = candidate.runtime.tunables().iter().find(is_pool)?;
        candidate.tuning.asked().get(pool.name).is_none().then_some(pool.name)
    }

    /// Copies of one runtime, each with a pool of this size where it has one, under another load.
    ///
    /// # Errors
    ///
    /// Which setting cannot be so.
    pub fn sized(
        &self,
        id: String,
        candidate: &Candidate,
        copies: SizeCopies,
        pool: Option<u32>,
        load: &Load,
    ) -> Result<ComparePlan, TuningProblem> {
        let limits = copies.total();
        if limits.cpus > self.room {
            let problem = format!("{} of {} CPU are more than this machine has", copies.running, copies.each.cpus);
            return Err(TuningProblem::new("--replicas", problem, "name fewer, or smaller ones"));
        }
        let topology = if copies.is_balanced { copies.topology() } else { self.plan.topology.clone() };
        let (cpus, memory) = topology.shared_out();
        if cpus > limits.cpus || memory > limits.memory {
            let problem = format!("gives out {cpus} CPUs and {memory} of {} CPUs and {}", limits.cpus, limits.memory);
            return Err(TuningProblem::new("topology", problem, "lower the shares of the plan"));
        }
        let tuning = tuned(candidate, &topology.replica_limits(&limits), &self.plan.load, pool)?;
        let candidates = vec![Candidate { id: CaseId::new(id), tuning, ..candidate.clone() }];
        let (load, rounds) = (load.clone(), Rounds::Fixed(1));
        Ok(ComparePlan { candidates, limits, topology, load, rounds, ..self.plan.clone() })
    }
}

/// All settings of a runtime under these limits and this load, with a pool of this size where it has one.
fn tuned(candidate: &Candidate, limits: &Limits, load: &Load, pool: Option<u32>) -> Result<Tuning, TuningProblem> {
    let mut given = candidate.tuning.asked();
    if let (Some(name), Some(pool)) = (SizePlan::pool_of(candidate), pool) {
        given.give(name, &pool.to_string());
    }
    let context = DefaultsContext { app: &candidate.app, limits, load, given: &given };
    let tuning = candidate.runtime.defaults(&context);
    match candidate.runtime.validate(&tuning).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(tuning),
    }
}

/// The processors that servers may use, in thousandths: all but one.
fn whole_millis(machine: MachineSize) -> u32 {
    machine.cpus.saturating_sub(1).max(1) * 1000
}

/// The limits of CPU that are searched.
fn read_all_cpus(flags: &SizeFlags, machine: MachineSize, mistakes: &mut Gathered) -> Vec<Cpus> {
    let whole = whole_millis(machine);
    let by_default: Vec<Cpus> = CPUS.into_iter().filter(|cpus| *cpus <= whole).map(Cpus::from_millis).collect();
    let read = |typed: &str, mistakes: &mut Gathered| read_cpus(Some(typed), machine, mistakes);
    read_levels(flags.deployment.cpus.as_deref(), by_default, read, mistakes)
}

/// The limits of memory that are searched.
fn read_all_memory(flags: &SizeFlags, machine: MachineSize, mistakes: &mut Gathered) -> Vec<Bytes> {
    let half = Bytes::new(machine.memory.get() / 2);
    let by_default = MEMORY.into_iter().map(Bytes::from_mib).filter(|memory| *memory <= half).collect();
    let read = |typed: &str, mistakes: &mut Gathered| read_memory(Some(typed), machine, mistakes);
    read_levels(flags.deployment.memory.as_deref(), by_default, read, mistakes)
}

impl SizeFlags {
    /// What each size is measured by; `warm_up` is that of a trial where none is given.
    fn compare(&self, warm_up: &str) -> CompareFlags {
        let default = warm_up;
        let mut warm_up = self.warm_up.clone();
        warm_up.warm_up.get_or_insert_with(|| default.to_owned());
        CompareFlags {
            subject: self.subject.clone(),
            runtimes: self.runtimes.clone(),
            app: self.app.clone(),
            exchanges: self.exchanges.clone(),
            php: self.php.clone(),
            slo: self.slo.clone(),
            load: self.load.clone(),
            deployment: self.deployment.clone(),
            topology: TopologyFlags { databases: self.databases.clone(), ..TopologyFlags::default() },
            duration: self.duration.clone(),
            warm_up,
            seed: self.seed.clone(),
            ready_timeout: self.ready_timeout.clone(),
            no_yard_stick: true,
            ..CompareFlags::default()
        }
    }
}

/// Values that are separated by commas, the least first and each once.
fn read_levels<T: Ord>(
    typed: Option<&str>,
    by_default: Vec<T>,
    mut read: impl FnMut(&str, &mut Gathered) -> T,
    mistakes: &mut Gathered,
) -> Vec<T> {
    let Some(typed) = typed else { return by_default };
    let mut levels: Vec<T> = typed.split(',').map(|level| read(level.trim(), mistakes)).collect();
    levels.sort();
    levels.dedup();
    levels
}

fn read_pool(typed: &str, mistakes: &mut Gathered) -> u32 {
    let read = |typed: &str| typed.parse().ok().filter(|pool: &u32| *pool > 0);
    mistakes.value(("--pools", Some(typed)), 1, read, "is no number of workers", "for example --pools 2,4,8")
}

fn read_spare(typed: &str, replicas: &[u32], mistakes: &mut Gathered) -> Option<u32> {
    let place = format!("--spare {typed}");
    let Ok(spare) = typed.parse::<u32>() else {
        mistakes.add(place, "is not a number of replicas", "for example --spare 1");
        return None;
    };
    if replicas.last().is_none_or(|most| *most <= spare) {
        mistakes.add(place, "leaves no replica to hold the load", format!("add --replicas {} or more", spare + 1));
    }
    Some(spare)
}

/// A share of more load, as `30%` or `0.3`; none is one too.
fn read_headroom(typed: Option<&str>, mistakes: &mut Gathered) -> f64 {
    let read = |typed: &str| parse_share(typed).filter(|share| (0.0..=MOST_HEADROOM).contains(share));
    let problem = format!("is not a share from 0 to {} %", MOST_HEADROOM * 100.0);
    mistakes.value(("--headroom", typed), DEFAULT_HEADROOM, read, problem, "for example --headroom 30%")
}

fn read_term(plan: &ComparePlan, mistakes: &mut Gathered) -> Option<SizeTerm> {
    let terms = plan.slo.as_ref().map_or(&[][..], |slo| slo.terms());
    // Windows must be long enough for the highest percentile.
    let responses = terms.iter().filter_map(|term| match term {
        SloTerm::Response { percentile, below } => Some((percentile.beyond(), *below)),
        SloTerm::Errors { .. } => None,
    });
    let response = responses.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let errors = terms.iter().find_map(|term| match term {
        SloTerm::Errors { below } => Some(*below),
        SloTerm::Response { .. } => None,
    });
    let Some((beyond, below)) = response else {
        let (place, problem) = match &plan.slo {
            None => ("stampede size".to_owned(), "has no SLO to meet"),
            Some(slo) => (format!("--slo {slo}"), "has no limit on a response time"),
        };
        mistakes.add(place, problem, "add --slo 'p99<200ms,errors<0.1%'");
        return None;
    };
    Some(SizeTerm { beyond, below, errors })
}

/// Requests a second of a load that has one rate.
fn read_rate(plan: &ComparePlan, is_typed: bool, mistakes: &mut Gathered) -> Option<f64> {
    let place = if is_typed { format!("--load {}", plan.load) } else { format!("load {}", plan.load) };
    let fix = "for example --load open:poisson:300";
    match &plan.load {
        _ if plan.scenario.is_some() => {
            let problem = format!("plays the scenario of {}, whose users have rates of their own", plan.workload.id);
            mistakes.add(place, problem, "name a workload without one, or its exchanges with --exchanges");
        }
        Load::Open { schedule, .. } if schedule.stages().is_empty() && schedule.held_rate().per_second() > 0.0 => {
            return Some(schedule.held_rate().per_second());
        }
        Load::Open { .. } => mistakes.add(place, "has more than one rate, and a size is chosen for one", fix),
        Load::Closed { .. } | Load::Ramped { .. } => {
            let problem = match is_typed {
                true => "is not a fixed rate, which a size is chosen for (with closed:N the rate depends on the size)",
                false => "is not a fixed rate, which a size is chosen for: --load is required",
            };
            mistakes.add(place, problem, fix);
        }
    }
    None
}

/// The window in which enough requests are beyond a percentile.
fn window(rate: f64, beyond: f64) -> Duration {
    let (least, most) = DURATIONS;
    Duration::from_secs((DEFAULT_BEYOND / beyond / rate).ceil().min(most.as_secs_f64()) as u64).max(least)
}

/// Windows must have requests enough to show whether the objective holds.
fn check_window(rate: f64, headroom: f64, duration: Duration, term: SizeTerm, mistakes: &mut Gathered) {
    let requests = rate * duration.as_secs_f64();
    if requests * term.beyond < LEAST_BEYOND {
        let needed = (LEAST_BEYOND / term.beyond / rate).ceil() as u64;
        mistakes.add(
            format!("--duration {}s", duration.as_secs()),
            format!("has {requests:.0} requests, of which too few are beyond the percentile"),
            format!("use --duration {needed}s, or a lower percentile in --slo"),
        );
    }
    // None of so many, with 95 %: 3.7 for each that may be.
    const NEEDED: f64 = 3.7;
    let sides = if headroom > 0.0 { 2.0 + headroom } else { 1.0 };
    let shown = requests * sides * f64::from(BLOCKS.1);
    if let Some(errors) = term.errors.filter(|errors| errors * shown < NEEDED) {
        let needed = (NEEDED / errors / (rate * sides * f64::from(BLOCKS.1))).ceil() as u64;
        mistakes.add(
            format!("--slo errors<{}%", errors * 100.0),
            format!("cannot be shown: {} rounds have {shown:.0} requests", BLOCKS.1),
            format!("use --duration {needed}s, or a larger share of errors"),
        );
    }
}

/// The time must have room for a trial of each runtime, for another with all it can do, and for one confirmation.
fn check_budget(budget: Duration, load: Duration, runtimes: usize, sides: u32, mistakes: &mut Gathered) {
    let each = load + BESIDE;
    let needed = each * (2 * runtimes as u32 + 1 + sides * BLOCKS.0);
    let problem = format!("has no room for two trials of each runtime and {} rounds of a size", BLOCKS.0);
    check_room(budget, needed, &problem, mistakes);
}

fn check_room(budget: Duration, needed: Duration, problem: &str, mistakes: &mut Gathered) {
    if budget >= needed {
        return;
    }
    let needed = short_time(Duration::from_secs(needed.as_secs() + 1));
    mistakes.add(
        format!("--budget {}", short_time(budget)),
        problem,
        format!("use --budget {needed} or more, or a shorter --duration"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headroom_may_be_none() {
        let mut mistakes = Gathered::default();
        for (typed, expected) in [(None, 0.2), (Some("30%"), 0.3), (Some("0%"), 0.0), (Some("0.5"), 0.5)] {
            assert!((read_headroom(typed, &mut mistakes) - expected).abs() < 1e-12, "{typed:?}");
        }
        assert!(mistakes.is_empty());
        read_headroom(Some("-1%"), &mut mistakes);
        read_headroom(Some("much"), &mut mistakes);
        let Mistakes(told) = mistakes.finish(Ok(())).unwrap_err();
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn windows_have_requests_enough() {
        for (name, rate, beyond, seconds) in
            [("many", 1_000.0, 0.01, 10), ("some", 100.0, 0.01, 20), ("few", 10.0, 0.01, 60), ("p50", 10.0, 0.5, 10)]
        {
            assert_eq!(window(rate, beyond).as_secs(), seconds, "{name}");
        }
        let told = |rate, seconds, errors| {
            let term = SizeTerm { beyond: 0.01, below: Duration::from_millis(200), errors };
            let mut mistakes = Gathered::default();
            check_window(rate, 0.2, Duration::from_secs(seconds), term, &mut mistakes);
            mistakes.finish(Ok(())).err().map_or_else(Vec::new, |Mistakes(told)| told)
        };
        assert_eq!(told(300.0, 10, Some(0.001)), []);
        assert_eq!(told(10.0, 10, None)[0].fix, "use --duration 50s, or a lower percentile in --slo");
        assert_eq!(told(10.0, 60, Some(0.000_05))[0].fix, "use --duration 106s, or a larger share of errors");
    }

    #[test]
    fn a_search_needs_room_for_a_confirmation() {
        let of = |budget| {
            let mut mistakes = Gathered::default();
            check_budget(Duration::from_secs(budget), Duration::from_secs(12), 3, 2, &mut mistakes);
            mistakes.finish(Ok(())).err().map_or_else(Vec::new, |Mistakes(told)| told)
        };
        assert_eq!(of(300), []);
        assert_eq!(of(100)[0].fix, "use --budget 4m1s or more, or a shorter --duration");
    }
}
