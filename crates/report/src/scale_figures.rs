//! What an autoscaled service's trial comes to, derived from its record; and as JSON.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::{Case, InstanceCount, InstanceLife, Measurement, Passage, ScaleDecision, ScaleRecord};
use stampede_scale::{Price, Usage, price};

/// A trial's figures.
#[derive(Clone, Debug)]
pub(crate) struct ScaleFigures {
    pub(crate) instances: InstanceCount,
    pub(crate) cold_starts: ColdStarts,
    /// Instances that ended by themselves.
    pub(crate) lost: usize,
    /// Requests that failed, without those that were turned away.
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
    /// Answers for each second of a vCPU that instances had, used or not; nothing without any instance.
    pub(crate) rps_per_vcpu: Option<f64>,
    /// The CPU that instances used, as a share of what they had.
    pub(crate) utilisation: Option<f64>,
    pub(crate) bill: Option<ScaleBill>,
    /// CPU time of the gateway for a request.
    pub(crate) gateway_cpu: Option<Duration>,
    /// What the gateway takes of a request's time on average, in milliseconds: what clients saw from sending to the answer's end,
    /// less the way to them, the queue and the instance.
    pub(crate) gateway_ms: Option<f64>,
}

/// Instances that were started in the window, in milliseconds where they came up.
#[derive(Clone, Debug)]
pub(crate) struct ColdStarts {
    pub(crate) count: usize,
    pub(crate) total: Spread,
    pub(crate) process: Spread,
    pub(crate) set_up: Spread,
    /// Until a node of a cluster was found.
    pub(crate) placed: Spread,
    pub(crate) ready: Spread,
    pub(crate) first_request: Spread,
}

/// The median, 95 of 100 and the most, of few values: the nearest that occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) p50: Option<f64>,
    pub(crate) p95: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// What the window costs, with nothing free.
#[derive(Clone, Debug)]
pub(crate) struct ScaleBill {
    pub(crate) price: &'static Price,
    pub(crate) total: f64,
    /// For a million answers; none if no request was answered.
    pub(crate) per_million: Option<f64>,
}

impl Spread {
    fn of(times: impl Iterator<Item = Duration>) -> Self {
        let mut ms: Vec<f64> = times.map(|time| time.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let at = |q: f64| ms.get(((ms.len() as f64 * q).ceil() as usize).saturating_sub(1)).copied();
        Self { p50: at(0.5), p95: at(0.95), max: ms.last().copied() }
    }
}

impl ScaleFigures {
    /// Of a trial of a case.
    pub(crate) fn of(record: &ScaleRecord, measured: &Measurement, case: &Case) -> Self {
        let limits = &case.limits;
        let way = case.topology.link.map_or(Duration::ZERO, |link| link.rtt);
        let gateway_ms = record
            .gateway
            .passage
            .filter(|_| measured.service.count() > 0)
            .map(|passage| measured.service.mean_ns() / 1e6 - (way + passage.mean).as_secs_f64() * 1e3);
        let instances = record.instance_count();
        let seconds = measured.window.as_secs_f64();
        let vcpu_seconds = instances.mean * seconds * limits.cpus.cores();
        let ok = measured.requests.ok as f64;
        let per_vcpu = |value: f64| (vcpu_seconds > 0.0).then(|| value / vcpu_seconds);
        let parts = |of: fn(&InstanceLife) -> Option<Duration>| Spread::of(record.cold_starts().filter_map(of));
        let usage = Usage {
            busy_seconds: record.usage.busy_seconds,
            kept_idle_seconds: record.usage.kept_idle_seconds,
            lived_seconds: record.usage.lived_seconds,
            requests: record.usage.requests,
        };
        let bill = price(&record.service.price).map(|price| {
            let total = price.bill(&usage, limits.cpus, limits.memory, false).total();
            ScaleBill { price, total, per_million: (ok > 0.0).then(|| total / ok * 1e6) }
        });
        Self {
            instances,
            cold_starts: ColdStarts {
                count: record.cold_starts().count(),
                total: parts(InstanceLife::start),
                process: parts(|life| life.process),
                set_up: parts(|life| life.set_up),
                placed: parts(|life| life.placed),
                ready: parts(|life| life.ready),
                first_request: parts(|life| life.first_request),
            },
            lost: record.lost().count(),
            failed: measured.requests.failed.saturating_sub(record.rejected),
            rejected: record.rejected,
            rps_per_vcpu: per_vcpu(ok),
            utilisation: measured.resources.and_then(|used| per_vcpu(used.cpu.as_secs_f64())),
            bill,
            gateway_cpu: (record.gateway.requests > 0)
                .then(|| record.gateway.cpu / u32::try_from(record.gateway.requests).unwrap_or(u32::MAX)),
            gateway_ms,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireInstances {
    min: u32,
    mean: f64,
    max: u32,
    lost: usize,
    course: WireCourse,
}

/// How many there were from each of these times on, since the window opened.
#[derive(Serialize, JsonSchema)]
struct WireCourse {
    at_us: Vec<f64>,
    count: Vec<u32>,
}

/// Times are those of instances that came up.
#[derive(Serialize)]
pub(crate) struct WireColdStarts {
    count: usize,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    max_ms: Option<f64>,
    process_p50_ms: Option<f64>,
    set_up_p50_ms: Option<f64>,
    placed_p50_ms: Option<f64>,
    ready_p50_ms: Option<f64>,
    first_request_p50_ms: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct WireQueue {
    waited: u64,
    wait_p50_ms: Option<f64>,
    wait_max_ms: Option<f64>,
    most: u32,
    limit_s: f64,
}

#[derive(Serialize)]
pub(crate) struct WireBill {
    currency: &'static str,
    per_million_requests: Option<f64>,
    total: f64,
    price: &'static str,
}

#[derive(Serialize)]
pub(crate) struct WireGateway {
    cpu_seconds: f64,
    cpu_us_per_request: Option<f64>,
    /// On average.
    own_ms: Option<f64>,
    /// From when requests came to the gateway, without what it takes itself.
    without_it_ms: Option<WirePassage>,
}

#[derive(Serialize)]
struct WirePassage {
    count: u64,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

/// What an autoscaler wanted from then on, since the window opened; negative for what it wanted before.
#[derive(Serialize)]
pub(crate) struct WireDecision {
    at_us: f64,
    wanted: u32,
    cpu_used: Option<f64>,
}

impl WireDecision {
    pub(crate) fn all(record: &ScaleRecord) -> Vec<Self> {
        let of = |decision: &ScaleDecision| Self {
            at_us: (decision.at.as_secs_f64() - record.opens.as_secs_f64()) * 1e6,
            wanted: decision.wanted,
            cpu_used: decision.used,
        };
        record.decisions.iter().map(of).collect()
    }
}

/// CPUs that each instance used.
pub(crate) fn instance_cpus(record: &ScaleRecord) -> Vec<Option<f64>> {
    record.lives.iter().map(|life| life.cpu_millis.map(|millis| f64::from(millis) / 1e3)).collect()
}

#[derive(Serialize)]
pub(crate) struct WireService<'a> {
    policy: &'a str,
    concurrency: u32,
    min_instances: u32,
    max_instances: u32,
    total_cpus: Option<u32>,
    queue_limit_s: f64,
    start_ms: f64,
}

impl WireInstances {
    pub(crate) fn of(record: &ScaleRecord, figures: &ScaleFigures) -> Self {
        let InstanceCount { min, mean, max } = figures.instances;
        let (at_us, count) =
            record.course().into_iter().map(|(since, count)| (since.as_micros() as f64, count)).unzip();
        Self { min, mean, max, lost: figures.lost, course: WireCourse { at_us, count } }
    }
}

impl WireColdStarts {
    pub(crate) fn of(figures: &ScaleFigures) -> Self {
        let ColdStarts { count, total, process, set_up, placed, ready, first_request } = &figures.cold_starts;
        Self {
            count: *count,
            p50_ms: total.p50,
            p95_ms: total.p95,
            max_ms: total.max,
            process_p50_ms: process.p50,
            set_up_p50_ms: set_up.p50,
            placed_p50_ms: placed.p50,
            ready_p50_ms: ready.p50,
            first_request_p50_ms: first_request.p50,
        }
    }
}

impl WireQueue {
    pub(crate) fn of(record: &ScaleRecord) -> Self {
        let waits = &record.waits;
        let ms = |time: Duration| (waits.count() > 0).then_some(time.as_secs_f64() * 1e3);
        Self {
            waited: waits.count(),
            wait_p50_ms: ms(waits.quantile(0.5)),
            wait_max_ms: ms(waits.max()),
            most: record.most_waiting,
            limit_s: record.service.queue_wait.as_secs_f64(),
        }
    }
}

impl WireBill {
    pub(crate) fn of(figures: &ScaleFigures) -> Option<Self> {
        let ScaleBill { price, total, per_million } = figures.bill.as_ref()?;
        Some(Self { currency: price.currency, per_million_requests: *per_million, total: *total, price: price.id })
    }
}

impl WireGateway {
    pub(crate) fn of(record: &ScaleRecord, figures: &ScaleFigures) -> Self {
        Self {
            cpu_seconds: record.gateway.cpu.as_secs_f64(),
            cpu_us_per_request: figures.gateway_cpu.map(|cpu| cpu.as_secs_f64() * 1e6),
            own_ms: figures.gateway_ms,
            without_it_ms: record.gateway.passage.map(|Passage { count, mean, p50, p95, p99 }| {
                let [mean, p50, p95, p99] = [mean, p50, p95, p99].map(|time| time.as_secs_f64() * 1e3);
                WirePassage { count, mean, p50, p95, p99 }
            }),
        }
    }
}

impl<'a> WireService<'a> {
    pub(crate) fn of(record: &'a ScaleRecord) -> Self {
        let service = &record.service;
        Self {
            policy: &service.policy,
            concurrency: service.concurrency,
            min_instances: service.min_instances,
            max_instances: service.max_instances,
            total_cpus: service.total_cpus,
            queue_limit_s: service.queue_wait.as_secs_f64(),
            start_ms: service.start.as_secs_f64() * 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_values_that_occurred() {
        let of = |ms: &[u64]| Spread::of(ms.iter().map(|ms| Duration::from_millis(*ms)));
        assert_eq!(of(&[]), Spread::default());
        assert_eq!(of(&[7]), Spread { p50: Some(7.0), p95: Some(7.0), max: Some(7.0) });
        assert_eq!(of(&[4, 1, 3, 2]), Spread { p50: Some(2.0), p95: Some(4.0), max: Some(4.0) });
    }
}
