//! Services of many sizes, each at a load and at more of it: what they cost, and how near they come to an objective.
//!
//! All are simulated once at the load, and the cheapest of them once with more of it; those that seem cheap and come near the objective are simulated again, as often as a forecast is, and
//! may then have no more instances than they needed.

use std::time::Duration;

use stampede_core::Latencies;
use stampede_scale::{Price, ServiceSettings};

use crate::forecast::seed_of;
use crate::parallel::in_parallel;
use crate::{Run, Shape, SimulationSetup, Traffic, simulate};

/// How often each service is simulated at first, and those that are proposed.
const FIRST: u32 = 1;
const AGAIN: u32 = 5;

/// How many services are simulated again: the cheapest that hold, the cheapest of them that have room, and those that miss by little
/// and cost less.
const CHEAPEST: usize = 8;
const WITH_ROOM: usize = 10;
const MISSING: usize = 6;

/// One that was so many times beyond the objective in its first simulation is not simulated again.
const NEAR: f64 = 1.5;

/// A service may leave this share of its requests without an answer where the objective says nothing of errors.
const FEW: f64 = 0.001;

/// A month of the prices of sizes: 730 hours.
const MONTH: f64 = 730.0 * 3_600.0;

/// What a service must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceObjective {
    /// Quantiles of the response time, each with its limit.
    pub terms: Vec<(f64, Duration)>,
    /// The share of requests that may have no answer; one in a thousand where it is absent.
    pub errors: Option<f64>,
}

/// A service that could be chosen.
#[derive(Clone, Debug)]
pub struct ServiceOption<'a, S> {
    /// The service at the load, which is what it costs.
    pub setup: SimulationSetup,
    /// What comes at more than the load, which it must hold too.
    pub headroom: Option<Traffic>,
    /// How its requests differ.
    pub shape: &'a S,
}

/// What is expected of a service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// How many times its limit the worst response time is, at the load or with the headroom, the mean of all simulations; infinite
    /// where too many requests have no answer.
    pub times: f64,
    /// By how much that differs from simulation to simulation: the standard deviation of its logarithm at the load that differs more;
    /// 0 of a single simulation, and infinite where `times` is.
    pub scatter: f64,
    /// What a month at the load costs, with nothing free.
    pub month: f64,
    /// Instances on average at the load.
    pub instances: f64,
    /// The most instances at either.
    pub most: u32,
}

/// A service that is worth to be measured, or comes nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceProposal {
    /// Its place among all.
    pub option: usize,
    /// What is expected of it, with no more instances than `most`.
    pub outlook: Outlook,
}

/// The services that come near an objective, the cheapest first; where none does, those that miss it by least. Those of which so many
/// instances have room where they are to be measured are among them. The same seed gives the same proposals.
pub fn propose<S: Shape>(
    options: &[ServiceOption<'_, S>],
    objective: &ServiceObjective,
    price: &Price,
    has_room: impl Fn(&ServiceSettings, u32) -> bool,
    seed: u64,
) -> Vec<ServiceProposal> {
    let (first, near) = first_look(options, objective, price, &has_room, seed);
    let outlook_of = |place: usize| first[place].unwrap_or(HOPELESS);
    let (holding, missing): (Vec<usize>, Vec<usize>) =
        near.into_iter().partition(|place| outlook_of(*place).times < 1.0);
    let few = if holding.is_empty() { CHEAPEST + WITH_ROOM + MISSING } else { MISSING };
    let cheapest = holding.first().map_or(f64::INFINITY, |place| outlook_of(*place).month);
    let missing = missing.into_iter().filter(|place| outlook_of(*place).month < cheapest).take(few);
    let has_room = |place: &usize| has_room(&options[*place].setup.service, outlook_of(*place).most);
    let (cheap, rest) = holding.split_at(CHEAPEST.min(holding.len()));
    let with_room = rest.iter().copied().filter(has_room).take(WITH_ROOM);
    let chosen: Vec<usize> = cheap.iter().copied().chain(with_room).chain(missing).collect();
    let again = in_parallel(chosen.len(), |number| {
        let option = chosen[number];
        let most = outlook_of(option).most.max(1);
        ServiceProposal { option, outlook: outlook(&options[option], Some(most), objective, price, AGAIN, seed) }
    });
    let mut proposals = again;
    proposals.sort_by(|a, b| {
        let by_price = a.outlook.month.total_cmp(&b.outlook.month);
        by_price.then(a.outlook.times.total_cmp(&b.outlook.times)).then(a.option.cmp(&b.option))
    });
    proposals
}

/// Simulates each service once at the load, and at the load with its headroom those that may be proposed, the cheapest first, until
/// enough of them hold: what is known of each, and the places of those that come near the objective in the order of their prices, or of
/// all in that of their times where none does.
fn first_look<S: Shape>(
    options: &[ServiceOption<'_, S>],
    objective: &ServiceObjective,
    price: &Price,
    has_room: &impl Fn(&ServiceSettings, u32) -> bool,
    seed: u64,
) -> (Vec<Option<Outlook>>, Vec<usize>) {
    let load = in_parallel(options.len(), |place| at_load(&options[place], None, objective, price, FIRST, seed));
    let both = |place: usize| with_headroom(&options[place], None, objective, FIRST, seed, load[place]);
    let mut open: Vec<usize> = (0..options.len()).filter(|place| load[*place].times < NEAR).collect();
    open.sort_by(|a, b| load[*a].month.total_cmp(&load[*b].month));
    let mut known: Vec<Option<Outlook>> = vec![None; options.len()];
    let is_enough = |known: &[Option<Outlook>]| {
        let near = near(known);
        let holding = near.into_iter().filter(|(_, outlook)| outlook.times < 1.0);
        let rest: Vec<(usize, Outlook)> = holding.skip(CHEAPEST).collect();
        let has_room = |(place, outlook): &&(usize, Outlook)| has_room(&options[*place].setup.service, outlook.most);
        rest.iter().filter(has_room).count() >= WITH_ROOM
    };
    let mut done = 0;
    while done < open.len() {
        // Those of the same price are in the order of their times.
        let is_dearer = done > 0 && load[open[done]].month > load[open[done - 1]].month;
        if is_dearer && is_enough(&known) {
            break;
        }
        let next = &open[done..(done + AT_A_TIME).min(open.len())];
        for (place, outlook) in next.iter().zip(in_parallel(next.len(), |number| both(next[number]))) {
            known[*place] = Some(outlook);
        }
        done += next.len();
    }
    let near: Vec<usize> = near(&known).into_iter().map(|(place, _)| place).collect();
    if !near.is_empty() {
        return (known, near);
    }
    let rest: Vec<usize> = (0..options.len()).filter(|place| known[*place].is_none()).collect();
    for (place, outlook) in rest.iter().zip(in_parallel(rest.len(), |number| both(rest[number]))) {
        known[*place] = Some(outlook);
    }
    let times = |place: usize| known[place].unwrap_or(HOPELESS).times;
    let mut all: Vec<usize> = (0..options.len()).collect();
    all.sort_by(|a, b| times(*a).total_cmp(&times(*b)));
    (known, all)
}

/// The services that come near the objective, in the order of their prices.
fn near(known: &[Option<Outlook>]) -> Vec<(usize, Outlook)> {
    let known = known.iter().enumerate().filter_map(|(place, outlook)| Some((place, (*outlook)?)));
    let mut near: Vec<(usize, Outlook)> = known.filter(|(_, outlook)| outlook.times < NEAR).collect();
    near.sort_by(|(_, a), (_, b)| a.month.total_cmp(&b.month).then(a.times.total_cmp(&b.times)));
    near
}

/// What is not simulated further is not worth it.
const HOPELESS: Outlook =
    Outlook { times: f64::INFINITY, scatter: f64::INFINITY, month: f64::INFINITY, instances: 0.0, most: 0 };

/// How many services are simulated before it is seen whether more are needed.
const AT_A_TIME: usize = 16;

/// Simulates a service at both loads, with so many instances at most where that is given.
fn outlook<S: Shape>(
    option: &ServiceOption<'_, S>,
    most: Option<u32>,
    objective: &ServiceObjective,
    price: &Price,
    rounds: u32,
    seed: u64,
) -> Outlook {
    let load = at_load(option, most, objective, price, rounds, seed);
    with_headroom(option, most, objective, rounds, seed, load)
}

/// The same at the load alone.
fn at_load<S: Shape>(
    option: &ServiceOption<'_, S>,
    most: Option<u32>,
    objective: &ServiceObjective,
    price: &Price,
    rounds: u32,
    seed: u64,
) -> Outlook {
    let setup = option.limited(most);
    let runs = option.runs(&setup, rounds, seed);
    let month = |run: &Run| {
        let usage = run.usage.times(MONTH / run.duration.as_secs_f64());
        price.bill(&usage, setup.service.cpus, setup.service.memory, false).total()
    };
    Outlook {
        times: mean(&runs, |run| objective.times(run)),
        scatter: objective.scatter(&runs),
        month: mean(&runs, month),
        instances: mean(&runs, |run| run.instances.mean),
        most: most_instances(&runs),
    }
}

/// What is expected of it at both loads, by what is at the load.
fn with_headroom<S: Shape>(
    option: &ServiceOption<'_, S>,
    most: Option<u32>,
    objective: &ServiceObjective,
    rounds: u32,
    seed: u64,
    load: Outlook,
) -> Outlook {
    let Some(traffic) = option.headroom.clone() else { return load };
    let runs = option.runs(&SimulationSetup { traffic, ..option.limited(most) }, rounds, seed);
    let times = mean(&runs, |run| objective.times(run)).max(load.times);
    let (scatter, most) = (load.scatter.max(objective.scatter(&runs)), load.most.max(most_instances(&runs)));
    Outlook { times, scatter, most, ..load }
}

fn most_instances(runs: &[Run]) -> u32 {
    runs.iter().map(|run| run.instances.max).max().unwrap_or_default()
}

impl<S: Shape> ServiceOption<'_, S> {
    /// The service with so many instances at most, where that is given.
    fn limited(&self, most: Option<u32>) -> SimulationSetup {
        let mut setup = self.setup.clone();
        if let Some(most) = most {
            setup.service.max_instances = most.max(setup.service.min_instances);
        }
        setup
    }

    fn runs(&self, setup: &SimulationSetup, rounds: u32, seed: u64) -> Vec<Run> {
        (0..rounds).map(|round| simulate(setup, self.shape, seed_of(seed, round))).collect()
    }
}

impl ServiceObjective {
    /// How many times its limit the worst response time of a run is; infinite where too many requests have no answer.
    fn times(&self, run: &Run) -> f64 {
        let came = (run.answered + run.rejected + run.timed_out) as f64;
        let failed = (run.rejected + run.timed_out) as f64 / came.max(1.0);
        if failed > self.errors.unwrap_or(FEW) || run.answered == 0 {
            return f64::INFINITY;
        }
        self.of_response(&run.response)
    }

    /// The standard deviation of the logarithm of that between runs; 0 of fewer than two, and infinite where that of a run is.
    fn scatter(&self, runs: &[Run]) -> f64 {
        let logs: Vec<f64> = runs.iter().map(|run| self.times(run).max(1e-6).ln()).collect();
        if logs.iter().any(|log| log.is_infinite()) {
            return f64::INFINITY;
        }
        let mean = logs.iter().sum::<f64>() / (logs.len() as f64).max(1.0);
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (squares / (logs.len() as f64 - 1.0).max(1.0)).sqrt()
    }

    fn of_response(&self, response: &Latencies) -> f64 {
        let over =
            |(quantile, below): &(f64, Duration)| response.quantile(*quantile).as_secs_f64() / below.as_secs_f64();
        self.terms.iter().map(over).fold(0.0, f64::max)
    }
}

fn mean(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / (runs.len() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use stampede_core::{Arrivals, Bytes, Cpus, Random, Rate, Schedule};
    use stampede_scale::{CloudRunParameters, KnativeParameters, Policy, ServiceSettings, price};

    use super::*;
    use crate::{InstanceModel, Start, Work};

    /// Requests of exponential work with a mean of 1, as in the queues that theory knows.
    struct Exponential;

    impl Shape for Exponential {
        fn draw(&self, random: &mut Random) -> f64 {
            random.exponential()
        }

        fn mean(&self) -> f64 {
            1.0
        }
    }

    fn poisson(rate: &str) -> Traffic {
        let schedule = Schedule::constant(rate.parse::<Rate>().unwrap()).unwrap();
        Traffic::Open { schedule, arrivals: Arrivals::Poisson }
    }

    /// An instance that works on one request at a time, with work of 10 ms on one CPU.
    fn option<'a>(policy: Policy, millis: u32, mib: u64, concurrency: u32) -> ServiceOption<'a, Exponential> {
        let (cpus, memory) = (Cpus::from_millis(millis), Bytes::from_mib(mib));
        let service = ServiceSettings::on_demand(cpus, memory, concurrency, 1, 20);
        let start = Start { cpu: Duration::from_millis(50), wait: Duration::ZERO };
        let setup = SimulationSetup {
            service,
            policy,
            queue: policy.queue(&service, Duration::from_millis(50)),
            granularity: Duration::from_millis(100),
            instance: InstanceModel::new(cpus, concurrency, start, |_| 1.0),
            host_cpus: None,
            work: Work { cpu: Duration::from_millis(10), wait: Duration::ZERO },
            traffic: poisson("50"),
            warm_up: Duration::from_secs(30),
            duration: Duration::from_secs(120),
        };
        ServiceOption { setup, headroom: Some(poisson("60")), shape: &Exponential }
    }

    #[test]
    fn the_cheapest_that_holds_comes_first_of_those_that_hold_and_the_hopeless_are_left_out() {
        let knative = |target| Policy::Knative(KnativeParameters { target_utilisation: target, ..Default::default() });
        let objective = ServiceObjective { terms: vec![(0.99, Duration::from_millis(200))], errors: None };
        let price = price("cloud-run-instances").unwrap();
        let options = [
            // The same service in more memory, which costs more and answers as fast.
            option(knative(0.7), 1000, 512, 8),
            option(knative(0.7), 1000, 256, 8),
            // Half of the CPU work on requests for twice as long: 99 of 100 of exponential work alone are done in 92 ms.
            option(knative(0.7), 500, 256, 8),
            option(Policy::CloudRun(CloudRunParameters::default()), 1000, 256, 8),
        ];
        let proposals = propose(&options, &objective, price, |_, _| true, 7);
        let of = |place: usize| proposals.iter().find(|proposal| proposal.option == place).unwrap().outlook;
        assert!(of(1).month < of(0).month, "{proposals:?}");
        assert!((of(1).times - of(0).times).abs() < 1e-12, "{proposals:?}");
        assert!(proposals.windows(2).all(|pair| pair[0].outlook.month <= pair[1].outlook.month));
        // An instance that lives all month: 730 hours of a vCPU and of 256 MiB.
        let one = MONTH * (price.vcpu_second + price.gib_second / 4.0);
        assert!((of(1).month / (one * of(1).instances) - 1.0).abs() < 0.02, "{} {one}", of(1).month);
        assert_eq!(proposals, propose(&options, &objective, price, |_, _| true, 7));

        // Nothing holds a millisecond: the nearest are told.
        let hopeless = ServiceObjective { terms: vec![(0.99, Duration::from_millis(1))], errors: None };
        let nearest = propose(&options, &hopeless, price, |_, _| true, 7);
        assert!(!nearest.is_empty() && nearest.iter().all(|proposal| proposal.outlook.times > 1.5), "{nearest:?}");
    }

    /// What is proposed where all are simulated at both loads.
    fn proposed_of_all(
        options: &[ServiceOption<'_, Exponential>],
        objective: &ServiceObjective,
        price: &Price,
        has_room: impl Fn(&ServiceSettings, u32) -> bool,
    ) -> Vec<usize> {
        let all: Vec<Outlook> =
            options.iter().map(|option| outlook(option, None, objective, price, FIRST, 7)).collect();
        let mut near: Vec<usize> = (0..all.len()).filter(|place| all[*place].times < NEAR).collect();
        near.sort_by(|a, b| all[*a].month.total_cmp(&all[*b].month).then(all[*a].times.total_cmp(&all[*b].times)));
        let (holding, missing): (Vec<usize>, Vec<usize>) = near.into_iter().partition(|place| all[*place].times < 1.0);
        let missing = missing.into_iter().filter(|place| all[*place].month < all[holding[0]].month).take(MISSING);
        let (cheap, rest) = holding.split_at(CHEAPEST);
        let rest = rest.iter().copied().filter(|place| has_room(&options[*place].setup.service, all[*place].most));
        let mut chosen: Vec<usize> = cheap.iter().copied().chain(rest.take(WITH_ROOM)).chain(missing).collect();
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn what_is_not_simulated_at_both_loads_would_not_be_proposed() {
        let mut options = Vec::new();
        for millis in [250, 500, 1000, 2000] {
            for concurrency in [1, 4, 8] {
                for target in [0.3, 0.5, 0.6, 0.7, 0.9] {
                    let parameters = KnativeParameters { target_utilisation: target, ..Default::default() };
                    let mut option = option(Policy::Knative(parameters), millis, 256, concurrency);
                    (option.setup.warm_up, option.setup.duration) = (Duration::from_secs(10), Duration::from_secs(30));
                    options.push(option);
                }
            }
        }
        let price = price("cloud-run-instances").unwrap();
        let objective = ServiceObjective { terms: vec![(0.99, Duration::from_millis(400))], errors: None };
        for most in [2, 20] {
            let has_room = |_: &ServiceSettings, instances: u32| instances <= most;
            let mut proposed: Vec<usize> =
                propose(&options, &objective, price, has_room, 7).iter().map(|proposal| proposal.option).collect();
            proposed.sort_unstable();
            assert_eq!(proposed, proposed_of_all(&options, &objective, price, has_room), "{most}");
        }
    }
}
