//! Autoscaled services that are only computed: the search sees forecasts whose request is off by what calibrations are off, and trials
//! of what is true.

use std::time::Duration;

use stampede_analysis::{
    ServiceCell, ServiceQuestion, ServiceStep, SizeFigures, SizeOutcome, SizeReading, SizeRole, service_found,
    service_step, service_window,
};
use stampede_core::{Arrivals, Bytes, Cpus, Random, Rate, Schedule};
use stampede_forecast::{
    InstanceModel, Run, ServiceObjective, ServiceOption, Shape, SimulationSetup, Start, Traffic, Work, propose,
    simulate,
};
use stampede_scale::{KnativeParameters, Policy, Price, ServiceSettings, price};

use super::{BROKEN, HEADROOM, NEAR, Reached, SCATTER};
use crate::draws::{draws, on_all_processors};

/// How far a calibration's CPU time of a request is off: a standard deviation of its logarithm.
const OFF: f64 = 0.05;
/// Length of what is taken for the truth, and how often it is simulated.
const TRUTH: Duration = Duration::from_secs(2_000);
const TRUTHS: u64 = 3;
/// The warm-up of a trial and its windows, as `stampede size --autoscale` has them by default: as long as the autoscaler averages, and up to
/// some times that.
pub(super) const WARM_UP: Duration = Duration::from_secs(60);
pub(super) const WINDOWS: [Duration; 3] = [Duration::from_secs(50), Duration::from_secs(100), Duration::from_secs(200)];
/// How long something is simulated for a forecast before it counts, and how long it counts, as `stampede size` has it.
const FORECAST: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(600)];
/// A month of 730 hours.
const MONTH: f64 = 730.0 * 3_600.0;

const CPUS: [u32; 4] = [250, 500, 1000, 2000];
const CONCURRENCY: [u32; 4] = [1, 2, 4, 16];
const TARGETS: [f64; 3] = [0.5, 0.7, 0.9];
/// MiB of an instance, and of each of its workers.
const MEMORY: [u64; 2] = [64, 24];
const MOST_INSTANCES: u32 = 40;
const MIN_INSTANCES: [u32; 2] = [0, 1];

/// An application with an objective.
struct Subject {
    name: &'static str,
    rate: u32,
    /// The limit of the response time that one of a hundred may be beyond.
    below: Duration,
    /// CPU time of a request and time without CPU, of two runtimes.
    runtimes: [[f64; 2]; 2],
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "service that computes",
        rate: 40,
        below: Duration::from_millis(250),
        runtimes: [[0.012, 0.001], [0.010, 0.001]],
    },
    Subject {
        name: "service that waits",
        rate: 40,
        below: Duration::from_millis(400),
        runtimes: [[0.003, 0.04], [0.0025, 0.04]],
    },
];

/// Requests whose work is exponential.
struct Exponential;

impl Shape for Exponential {
    fn draw(&self, random: &mut Random) -> f64 {
        random.exponential()
    }

    fn mean(&self) -> f64 {
        1.0
    }
}

/// A service, as it is made.
#[derive(Clone, Copy, PartialEq)]
struct Made {
    runtime: usize,
    cpus: Cpus,
    concurrency: u32,
    workers: u32,
    min_instances: u32,
    max_instances: u32,
    target: f64,
}

fn all() -> Vec<Made> {
    let mut all = Vec::new();
    for runtime in 0..2 {
        for cpus in CPUS.map(Cpus::from_millis) {
            for concurrency in CONCURRENCY {
                let half = concurrency.div_ceil(2);
                let pools = if half == concurrency { vec![concurrency] } else { vec![half, concurrency] };
                for workers in pools {
                    for target in TARGETS {
                        for min_instances in MIN_INSTANCES {
                            all.push(Made {
                                runtime,
                                cpus,
                                concurrency,
                                workers,
                                min_instances,
                                max_instances: MOST_INSTANCES,
                                target,
                            });
                        }
                    }
                }
            }
        }
    }
    all
}

impl Made {
    fn memory(&self) -> Bytes {
        Bytes::from_mib(MEMORY[0] + MEMORY[1] * u64::from(self.workers))
    }
}

impl Subject {
    fn traffic(&self, times: f64) -> Traffic {
        let millis = (f64::from(self.rate) * times * 1e3).round() / 1e3;
        let rate: Rate = millis.to_string().parse().unwrap_or(Rate::MOST);
        match Schedule::constant(rate) {
            Ok(schedule) => Traffic::Open { schedule, arrivals: Arrivals::Poisson },
            Err(_) => Traffic::Trace(Vec::new()),
        }
    }

    /// A service whose request takes so many times its CPU time, at so many times the load.
    fn setup(&self, made: &Made, factor: f64, times: f64, [warm_up, duration]: [Duration; 2]) -> SimulationSetup {
        let [cpu, wait] = self.runtimes[made.runtime.min(1)];
        let policy = Policy::Knative(KnativeParameters { target_utilisation: made.target, ..Default::default() });
        let (least, most) = (made.min_instances, made.max_instances);
        let service = ServiceSettings::on_demand(made.cpus, made.memory(), made.concurrency, least, most);
        let start = Start { cpu: Duration::from_millis(80), wait: Duration::from_millis(20) };
        let instance = InstanceModel::new(made.cpus, made.workers, start, |_| 1.0);
        SimulationSetup {
            queue: policy.queue(&service, instance.start_time(made.cpus)),
            service,
            policy,
            granularity: prices().granularity,
            instance,
            host_cpus: None,
            work: Work { cpu: Duration::from_secs_f64(cpu * factor), wait: Duration::from_secs_f64(wait) },
            traffic: self.traffic(times),
            warm_up,
            duration,
        }
    }

    /// What a value is in truth, at so many times the load.
    fn truth(&self, made: &Made, times: f64, value: impl Fn(&Run) -> f64) -> f64 {
        let setup = self.setup(made, 1.0, times, [FORECAST[0], TRUTH]);
        (0..TRUTHS).map(|seed| value(&simulate(&setup, &Exponential, seed))).sum::<f64>() / TRUTHS as f64
    }

    /// Response times as multiples of the limit with the headroom, in truth.
    fn times(&self, made: &Made) -> f64 {
        let limit = self.below.as_secs_f64();
        self.truth(made, 1.0 + HEADROOM, |run| match run.rejected + run.timed_out {
            0 => run.response.quantile(0.99).as_secs_f64() / limit,
            _ => f64::INFINITY,
        })
    }

    /// What a month at the load costs, in truth.
    fn month(&self, made: &Made) -> f64 {
        self.truth(made, 1.0, |run| {
            let usage = run.usage.times(MONTH / run.duration.as_secs_f64());
            prices().bill(&usage, made.cpus, made.memory(), false).total()
        })
    }

    fn trial(&self, made: &Made, role: SizeRole, window: Duration, random: &mut Random) -> SizeOutcome {
        let times = if role == SizeRole::Load { 1.0 } else { 1.0 + HEADROOM };
        let setup = self.setup(made, off(SCATTER, random), times, [WARM_UP, window]);
        let run = simulate(&setup, &Exponential, random.draw());
        let all = run.response.count().max(1);
        let failed = run.rejected + run.timed_out;
        SizeOutcome::Served(SizeFigures {
            times: run.response.quantile(0.99).as_secs_f64() / self.below.as_secs_f64(),
            over: (all - run.response.up_to(self.below).min(all)) as f64 / all as f64 / 0.01,
            failed,
            requests: all + run.rejected,
            work: None,
            median: run.response.quantile(0.5),
            mean: Some(Duration::from_secs_f64(run.response.mean_ns() / 1e9)),
            memory_peak: None,
            throttled: 0.0,
            growth: None,
            workers: None,
        })
    }

    /// A search: the service that is chosen, how many were measured, in how many trials.
    fn search(&self, services: &[Made], seed: u64) -> (Option<Made>, usize, usize) {
        let mut random = Random(seed);
        let factors = [off(OFF, &mut random), off(OFF, &mut random)];
        let option = |made: &Made| ServiceOption {
            setup: self.setup(made, factors[made.runtime.min(1)], 1.0, FORECAST),
            headroom: Some(self.traffic(1.0 + HEADROOM)),
            shape: &Exponential,
        };
        let options: Vec<_> = services.iter().map(option).collect();
        let objective = ServiceObjective { terms: vec![(0.99, self.below)], errors: Some(0.001) };
        let proposals = propose(&options, &objective, prices(), |_, _| true, random.draw());
        let made: Vec<Made> = proposals
            .iter()
            .map(|proposal| {
                let made = services[proposal.option];
                Made { max_instances: proposal.outlook.most.max(made.min_instances).max(1), ..made }
            })
            .collect();
        let cell = |(made, proposal): (&Made, &stampede_forecast::ServiceProposal)| ServiceCell {
            runtime: made.runtime,
            cpus: made.cpus,
            memory: made.memory(),
            workers: made.workers,
            concurrency: made.concurrency,
            min_instances: made.min_instances,
            max_instances: made.max_instances,
            target: Some(made.target),
            price: proposal.outlook.month,
            instances: proposal.outlook.instances,
            times: proposal.outlook.times,
            window: service_window(&WINDOWS, proposal.outlook.times, proposal.outlook.scatter, FORECAST[1]),
            fits: true,
        };
        let cells: Vec<ServiceCell> = made.iter().zip(&proposals).map(cell).collect();
        let question = ServiceQuestion { headroom: true, errors: Some(0.001) };
        let mut readings: Vec<SizeReading> = Vec::new();
        while let ServiceStep::Confirm { cell, blocks, sides } = service_step(question, &cells, &readings, |_| u32::MAX)
        {
            for role in (0..blocks).flat_map(|_| sides.roles()) {
                let outcome = self.trial(&made[cell], role, cells[cell].window, &mut random);
                readings.push(SizeReading { cell, role, outcome });
            }
        }
        let found = service_found(question, &cells, &readings);
        (found.choice.map(|choice| made[choice.cell]), found.confirmations.len(), readings.len())
    }
}

fn prices() -> &'static Price {
    price("cloud-run-requests").unwrap_or(&stampede_scale::PRICES[0])
}

/// A factor near 1 whose logarithm is normal.
fn off(deviation: f64, random: &mut Random) -> f64 {
    let normal = (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos();
    (deviation * normal).exp()
}

/// What searches of each subject come to whose name is asked for.
pub(super) fn reach_all(searches: u32, seed: u64, is_asked: impl Fn(&str) -> bool) -> Vec<Reached> {
    SUBJECTS.iter().filter(|subject| is_asked(subject.name)).map(|subject| reach(subject, searches, seed)).collect()
}

/// How many services are searched.
pub(super) fn count() -> usize {
    all().len()
}

fn reach(subject: &Subject, searches: u32, seed: u64) -> Reached {
    let services = all();
    let times = on_all_processors(services.len(), |place| subject.times(&services[place]));
    let holding: Vec<&Made> =
        services.iter().zip(&times).filter(|(_, times)| **times < 1.0).map(|(made, _)| made).collect();
    let months = on_all_processors(holding.len(), |place| subject.month(holding[place]));
    let cheapest = months.into_iter().fold(f64::INFINITY, f64::min);
    let found = draws(seed, searches, |random| subject.search(&services, random.next_u64()));
    let all = found.len() as f64;
    let choices: Vec<Made> = found.iter().filter_map(|(choice, ..)| *choice).collect();
    // Many searches choose the same.
    let mut different: Vec<Made> = Vec::new();
    for made in &choices {
        if !different.contains(made) {
            different.push(*made);
        }
    }
    let truths = on_all_processors(different.len(), |place| {
        let made = &different[place];
        (subject.times(made), subject.month(made))
    });
    let truth = |made: &Made| different.iter().position(|other| other == made).map(|place| truths[place]);
    let choices: Vec<(f64, f64)> = choices.iter().filter_map(truth).collect();
    let mut dearer: Vec<f64> = choices.iter().map(|(_, month)| month / cheapest - 1.0).collect();
    dearer.sort_by(f64::total_cmp);
    let count = |holds: &dyn Fn(f64) -> bool| choices.iter().filter(|(times, _)| holds(*times)).count();
    let near = choices.iter().filter(|(times, month)| *month <= (1.0 + NEAR) * cheapest && *times < BROKEN).count();
    Reached {
        name: subject.name.to_owned(),
        cheapest,
        holding: holding.len(),
        near: 100.0 * near as f64 / all,
        nothing: 100.0 * (found.len() - choices.len()) as f64 / all,
        dearer: [dearer.get(dearer.len() / 2), dearer.last()].map(|share| share.copied().unwrap_or(f64::NAN)),
        most_tried: found.iter().map(|(_, measured, _)| *measured).max().unwrap_or(0) as f64 / services.len() as f64,
        trials: found.iter().map(|(.., trials)| *trials as f64).sum::<f64>() / all,
        missed: count(&|times| times >= 1.0),
        broken: count(&|times| times > BROKEN),
        worst: choices.iter().map(|(times, _)| *times).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_at_once_has_one_worker_and_others_a_worker_for_each_or_for_two() {
        let services = all();
        let of = |concurrency| {
            let mut workers: Vec<u32> =
                services.iter().filter(|made| made.concurrency == concurrency).map(|made| made.workers).collect();
            workers.sort_unstable();
            workers.dedup();
            workers
        };
        assert_eq!((of(1), of(4)), (vec![1], vec![2, 4]));
        // Two runtimes, four limits of CPU, seven ways to serve, three targets, none or one kept.
        assert_eq!(services.len(), 2 * 4 * 7 * 3 * 2);
    }
}
