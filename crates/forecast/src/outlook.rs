//! Services of many sizes, each at a load and at more of it: what they cost, and how near they come to an objective.
//!
//! All are simulated once; those that seem cheap and come near the objective are simulated again, as often as a forecast is, and
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
    let first = in_parallel(options.len(), |place| outlook(&options[place], None, objective, price, FIRST, seed));
    let mut near: Vec<usize> = (0..options.len()).filter(|place| first[*place].times < NEAR).collect();
    near.sort_by(|a, b| first[*a].month.total_cmp(&first[*b].month).then(first[*a].times.total_cmp(&first[*b].times)));
    if near.is_empty() {
        near = (0..options.len()).collect();
        near.sort_by(|a, b| first[*a].times.total_cmp(&first[*b].times));
    }
    let (holding, missing): (Vec<usize>, Vec<usize>) = near.into_iter().partition(|place| first[*place].times < 1.0);
    let few = if holding.is_empty() { CHEAPEST + WITH_ROOM + MISSING } else { MISSING };
    let cheapest = holding.first().map_or(f64::INFINITY, |place| first[*place].month);
    let missing = missing.into_iter().filter(|place| first[*place].month < cheapest).take(few);
    let has_room = |place: &usize| has_room(&options[*place].setup.service, first[*place].most);
    let (cheap, rest) = holding.split_at(CHEAPEST.min(holding.len()));
    let with_room = rest.iter().copied().filter(has_room).take(WITH_ROOM);
    let chosen: Vec<usize> = cheap.iter().copied().chain(with_room).chain(missing).collect();
    let again = in_parallel(chosen.len(), |number| {
        let option = chosen[number];
        let most = first[option].most.max(1);
        ServiceProposal { option, outlook: outlook(&options[option], Some(most), objective, price, AGAIN, seed) }
    });
    let mut proposals = again;
    proposals.sort_by(|a, b| {
        let by_price = a.outlook.month.total_cmp(&b.outlook.month);
        by_price.then(a.outlook.times.total_cmp(&b.outlook.times)).then(a.option.cmp(&b.option))
    });
    proposals
}

/// Simulates a service at both loads, with so many instances at most where that is given.
fn outlook<S: Shape>(
    option: &ServiceOption<'_, S>,
    most: Option<u32>,
    objective: &ServiceObjective,
    price: &Price,
    rounds: u32,
    seed: u64,
) -> Outlook {
    let mut at_load = option.setup.clone();
    if let Some(most) = most {
        at_load.service.max_instances = most.max(at_load.service.min_instances);
    }
    let runs = |setup: &SimulationSetup| -> Vec<Run> {
        (0..rounds).map(|round| simulate(setup, option.shape, seed_of(seed, round))).collect()
    };
    let load = runs(&at_load);
    let headroom = option.headroom.clone().map(|traffic| runs(&SimulationSetup { traffic, ..at_load.clone() }));
    let all = || load.iter().chain(headroom.iter().flatten());
    let service = &at_load.service;
    let month = |run: &Run| {
        let usage = run.usage.times(MONTH / run.duration.as_secs_f64());
        price.bill(&usage, service.cpus, service.memory, false).total()
    };
    let times = |runs: &[Run]| mean(runs, |run| objective.times(run));
    Outlook {
        times: headroom.as_ref().map_or(0.0, |headroom| times(headroom)).max(times(&load)),
        month: mean(&load, month),
        instances: mean(&load, |run| run.instances.mean),
        most: all().map(|run| run.instances.max).max().unwrap_or_default(),
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
}
