//! A scenario, simulated several times, and what that comes to.

use stampede_core::{Estimate, Latencies};
use stampede_scale::Price;
use stampede_stats::{Confidence, mean_interval};

use crate::{Run, Shape, SimulationSetup, simulate};

/// A service turns away or gives up less than this share of its requests, or is not one to choose.
const FEW: f64 = 0.001;
/// An average month.
const MONTH_SECONDS: f64 = 365.25 / 12.0 * 86_400.0;

/// What is to be expected. Each estimate is over independent runs; its interval tells how much the luck of arrivals and requests
/// moves it, and nothing of how well the model fits.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Requests answered in a second.
    pub throughput: Estimate,
    /// Seconds that half of the requests take at most, without any network.
    pub p50: Estimate,
    /// The same for 95 of 100.
    pub p95: Estimate,
    /// The same for 99 of 100.
    pub p99: Estimate,
    /// Requests that were turned away, as a share of all that came.
    pub rejected: Estimate,
    /// Requests that took too long, as a share of all that came.
    pub timed_out: Estimate,
    /// Instances on average.
    pub instances: Estimate,
    /// The fewest instances in any run, and the most.
    pub instances_range: (u32, u32),
    /// Instances at the ends of equal parts of the time, in the first run.
    pub course: Vec<u32>,
    /// Cold starts in a run.
    pub cold_starts: Estimate,
    /// Seconds that one takes.
    pub start_seconds: f64,
    /// CPU that is used, as a share of that of all instances.
    pub utilisation: Estimate,
    /// Requests answered for each second of a vCPU that instances had, used or not.
    pub per_vcpu_second: Estimate,
    /// What a million answered requests cost, nothing of it free.
    pub per_million: Estimate,
    /// What a month like this costs, after what is free.
    pub per_month: Estimate,
    /// Requests that were simulated.
    pub simulated: u64,
}

impl Forecast {
    /// The share of requests without an answer in time.
    pub fn failed(&self) -> f64 {
        self.rejected.value + self.timed_out.value
    }

    /// Whether so few are turned away or given up that it is one to choose.
    pub fn keeps_up(&self) -> bool {
        self.failed() < FEW
    }
}

/// Simulates a scenario `rounds` times, each with a seed of its own that follows from `seed`.
pub fn forecast(scenario: &SimulationSetup, shape: &impl Shape, price: &Price, rounds: u32, seed: u64) -> Forecast {
    let runs: Vec<Run> = (0..rounds.max(1)).map(|round| simulate(scenario, shape, seed_of(seed, round))).collect();
    let service = &scenario.service;
    let over = |of: &dyn Fn(&Run) -> f64| estimate(&runs.iter().map(of).collect::<Vec<_>>());
    let quantile = |q: f64| over(&move |run: &Run| of_response(&run.response, q));
    let came = |run: &Run| ((run.answered + run.rejected + run.timed_out) as f64).max(1.0);
    let vcpu_seconds = |run: &Run| run.instances.mean * run.duration.as_secs_f64() * service.cpus.cores();
    let bill = |run: &Run, months: f64, free: bool| {
        price.bill(&run.usage.times(months), service.cpus, service.memory, free).total()
    };
    Forecast {
        throughput: over(&|run| run.answered as f64 / run.duration.as_secs_f64()),
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
        rejected: over(&|run| run.rejected as f64 / came(run)),
        timed_out: over(&|run| run.timed_out as f64 / came(run)),
        instances: over(&|run| run.instances.mean),
        instances_range: (
            runs.iter().map(|run| run.instances.min).min().unwrap_or_default(),
            runs.iter().map(|run| run.instances.max).max().unwrap_or_default(),
        ),
        course: runs.first().map(|run| run.instances.course.clone()).unwrap_or_default(),
        cold_starts: over(&|run| run.cold_starts as f64),
        start_seconds: runs.first().map_or(0.0, |run| run.start_time.as_secs_f64()),
        utilisation: over(&|run| run.cpu_seconds / vcpu_seconds(run).max(f64::MIN_POSITIVE)),
        per_vcpu_second: over(&|run| run.answered as f64 / vcpu_seconds(run).max(f64::MIN_POSITIVE)),
        per_million: over(&|run| bill(run, 1.0, false) / (run.answered as f64).max(1.0) * 1e6),
        per_month: over(&|run| bill(run, MONTH_SECONDS / run.duration.as_secs_f64(), true)),
        simulated: runs.iter().map(|run| run.simulated).sum(),
    }
}

fn of_response(response: &Latencies, q: f64) -> f64 {
    response.quantile(q).as_secs_f64()
}

pub(crate) fn seed_of(seed: u64, round: u32) -> u64 {
    // Neighbouring seeds must not share rounds.
    stampede_core::Random(seed ^ (u64::from(round) << 40)).draw()
}

fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as u32;
    match mean_interval(values, Confidence::P95) {
        Ok(interval) => Estimate { value: interval.value, low: Some(interval.low), high: Some(interval.high), n },
        Err(_) => Estimate { value: values.first().copied().unwrap_or_default(), low: None, high: None, n },
    }
}
