//! A forecast as JSON.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::Estimate;
use stampede_forecast::{Calibration, Forecast, ForecastPoint, ForecastQuestion, ServicePoint, Waking};
use stampede_scale::{Basis, Price};

use super::{ForecastView, conclusion};
use crate::json::rendered;

/// As JSON. It ends with a line break.
pub fn json(view: &ForecastView<'_>) -> String {
    rendered(&WireForecast::of(view))
}

/// A forecast. Its `schema` changes when a reader of the old one would be misled.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Forecast")]
pub(crate) struct WireForecast<'a> {
    schema: &'static str,
    study: &'a str,
    calibration: WireCalibration<'a>,
    load: &'a str,
    policy: &'a str,
    rounds: u32,
    seed: u64,
    price: WirePrice,
    points: Vec<WirePoint<'a>>,
    conclusion: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ForecastCalibration")]
struct WireCalibration<'a> {
    case: &'a str,
    runtime: &'a str,
    cpus: f64,
    requests: u64,
    trials: u32,
    cpu_ms_p50: f64,
    wait_ms_p50: f64,
    workers: Option<u32>,
    memory_peak: Vec<WireMemory>,
    start_cpu_ms: f64,
    start_wait_ms: f64,
    efficiencies: Vec<WireEfficiency>,
    waking: Vec<WireWaking>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MemoryOfWorkers")]
struct WireMemory {
    workers: u32,
    bytes: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Efficiency")]
struct WireEfficiency {
    requests: u32,
    efficiency: f64,
}

/// What a request takes beside its work after an instance was idle.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Waking")]
struct WireWaking {
    idle_ms: f64,
    cpu_ms: f64,
    wait_ms: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Price")]
struct WirePrice {
    id: &'static str,
    provider: &'static str,
    regions: &'static str,
    basis: &'static str,
    read: &'static str,
    source: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ForecastPoint")]
struct WirePoint<'a> {
    concurrency: u32,
    workers: u32,
    cpus: f64,
    memory: u64,
    min_instances: u32,
    max_instances: u32,
    host_cpus: Option<u32>,
    /// Why it is beyond what was measured.
    extrapolated: Option<&'a str>,
    throughput: WireExpected,
    response_p50_ms: WireExpected,
    response_p95_ms: WireExpected,
    response_p99_ms: WireExpected,
    rejected: WireExpected,
    timed_out: WireExpected,
    instances: WireInstances<'a>,
    cold_starts: WireColdStarts,
    cpu_utilisation: WireExpected,
    rps_per_vcpu: WireExpected,
    bill: WireBill,
    simulated_requests: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ForecastInstances")]
struct WireInstances<'a> {
    min: u32,
    mean: WireExpected,
    max: u32,
    course: &'a [u32],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ForecastColdStarts")]
struct WireColdStarts {
    count: WireExpected,
    took_ms: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ForecastBill")]
struct WireBill {
    currency: &'static str,
    per_million_requests: WireExpected,
    per_month: WireExpected,
}

/// An estimate as it was simulated: nothing of it is rounded.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Expected")]
struct WireExpected {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: u32,
}

impl<'a> WireForecast<'a> {
    fn of(view: &ForecastView<'a>) -> Self {
        let ForecastView { study, calibration, question, points } = *view;
        let ForecastQuestion { load, policy, price, rounds, seed, points: _ } = question;
        let Price { id, provider, regions, basis, read, source, .. } = **price;
        let basis = match basis {
            Basis::Requests => "requests",
            Basis::Instances => "instances",
        };
        Self {
            schema: "stampede/forecast/v1",
            study,
            calibration: WireCalibration::of(calibration),
            load,
            policy: policy.name(),
            rounds: *rounds,
            seed: *seed,
            price: WirePrice { id, provider, regions, basis, read, source },
            points: points.iter().map(|point| WirePoint::of(point, price.currency)).collect(),
            conclusion: conclusion(view),
        }
    }
}

impl<'a> WireCalibration<'a> {
    fn of(calibration: &'a Calibration) -> Self {
        let Calibration {
            case,
            runtime,
            cpus,
            requests,
            trials,
            work,
            efficiencies,
            waking,
            workers,
            memory,
            start,
            ..
        } = calibration;
        let efficiency = |&(requests, efficiency): &(u32, f64)| WireEfficiency { requests, efficiency };
        let waking_of = |Waking { idle, cpu, wait }: &Waking| WireWaking {
            idle_ms: ms(*idle),
            cpu_ms: ms(*cpu),
            wait_ms: ms(*wait),
        };
        Self {
            case: case.as_str(),
            runtime,
            cpus: cpus.cores(),
            requests: *requests,
            trials: *trials,
            cpu_ms_p50: ms(work.cpu),
            wait_ms_p50: ms(work.wait),
            workers: *workers,
            memory_peak: memory
                .iter()
                .map(|(workers, bytes)| WireMemory { workers: *workers, bytes: bytes.get() })
                .collect(),
            start_cpu_ms: ms(start.cpu),
            start_wait_ms: ms(start.wait),
            efficiencies: efficiencies.iter().map(efficiency).collect(),
            waking: waking.iter().map(waking_of).collect(),
        }
    }
}

impl<'a> WirePoint<'a> {
    fn of(point: &'a ForecastPoint, currency: &'static str) -> Self {
        let ForecastPoint { point, forecast } = point;
        let ServicePoint { scenario, concurrency, workers, extrapolated } = point;
        let Forecast {
            throughput,
            p50,
            p95,
            p99,
            rejected,
            timed_out,
            instances,
            instances_range: (min, max),
            course,
            cold_starts,
            start_seconds,
            utilisation,
            per_vcpu_second,
            per_million,
            per_month,
            simulated,
        } = forecast;
        let is = |estimate| WireExpected::of(estimate, 1.0);
        let in_ms = |estimate| WireExpected::of(estimate, 1e3);
        Self {
            concurrency: *concurrency,
            workers: *workers,
            cpus: scenario.service.cpus.cores(),
            memory: scenario.service.memory.get(),
            min_instances: scenario.service.min_instances,
            max_instances: scenario.service.max_instances,
            host_cpus: scenario.host_cpus,
            extrapolated: extrapolated.as_deref(),
            throughput: is(throughput),
            response_p50_ms: in_ms(p50),
            response_p95_ms: in_ms(p95),
            response_p99_ms: in_ms(p99),
            rejected: is(rejected),
            timed_out: is(timed_out),
            instances: WireInstances { min: *min, mean: is(instances), max: *max, course },
            cold_starts: WireColdStarts { count: is(cold_starts), took_ms: start_seconds * 1e3 },
            cpu_utilisation: is(utilisation),
            rps_per_vcpu: is(per_vcpu_second),
            bill: WireBill { currency, per_million_requests: is(per_million), per_month: is(per_month) },
            simulated_requests: *simulated,
        }
    }
}

impl WireExpected {
    fn of(Estimate { value, low, high, n }: &Estimate, unit: f64) -> Self {
        Self { value: value * unit, low: low.map(|low| low * unit), high: high.map(|high| high * unit), n: *n }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
