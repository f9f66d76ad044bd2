//! The one table of metrics that every report prints from.

use std::time::Duration;

use stampede_core::{Censored, Counts, Latencies, Limit, Load, Measurement, Outcome, Study, Topology, Trial};

use self::Better::{Higher, Lower, Neither};
use self::MetricUnit::{Bytes, Count, CpuMicroseconds, Microseconds, PerCpuSecond, PerSecond, Share};

/// A figure that a trial has.
#[derive(Debug)]
pub struct Metric {
    /// Stable name, with the unit where there is one: the key in JSON.
    pub key: &'static str,
    /// What it is, in words.
    pub title: &'static str,
    /// A heading of two short lines for narrow tables. It names the unit that tables show (see [`MetricUnit`]).
    pub heading: [&'static str; 2],
    /// What it is counted in.
    pub unit: MetricUnit,
    /// Which of two values is the better one.
    pub better: Better,
    /// Its value in a trial; `None` where the trial does not have it.
    pub reader: fn(&Trial) -> Option<f64>,
}

/// What a metric is counted in, as stored in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Requests in a second.
    PerSecond,
    /// Requests for a second of CPU time.
    PerCpuSecond,
    /// Microseconds; tables show milliseconds.
    Microseconds,
    /// Microseconds of CPU time.
    CpuMicroseconds,
    /// Bytes; tables show MiB.
    Bytes,
    /// A share from 0 to 1; tables show per cent.
    Share,
    /// How many.
    Count,
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The higher.
    Higher,
    /// The lower.
    Lower,
    /// Neither: it explains other figures.
    Neither,
}

impl Metric {
    /// By which share its value in a trial may be rounded: latencies are counted in buckets.
    pub(crate) fn step(&self, trial: &Trial) -> f64 {
        let Some(measured) = trial.measurement.as_ref().filter(|_| self.unit == MetricUnit::Microseconds) else {
            return 0.0;
        };
        measured.response.step().max(measured.service.step())
    }
}

/// A row of the table.
const fn figure(
    key: &'static str,
    title: &'static str,
    heading: [&'static str; 2],
    unit: MetricUnit,
    better: Better,
    reader: fn(&Trial) -> Option<f64>,
) -> Metric {
    Metric { key, title, heading, unit, better, reader }
}

/// A time that users wait: the shorter, the better.
const fn time(
    key: &'static str,
    title: &'static str,
    heading: [&'static str; 2],
    reader: fn(&Trial) -> Option<f64>,
) -> Metric {
    figure(key, title, heading, Microseconds, Lower, reader)
}

/// Every metric. A request counts where it was answered rightly.
pub static METRICS: &[Metric] = &[
    figure("throughput_rps", "requests per second", ["", "req/s"], PerSecond, Higher, |trial| {
        let measured = trial.measurement.as_ref()?;
        ratio(measured.requests.ok as f64, measured.window.as_secs_f64())
    }),
    figure("requests_per_cpu_second", "requests per CPU-second", ["req per", "CPU-s"], PerCpuSecond, Higher, |trial| {
        let measured = trial.measurement.as_ref()?;
        ratio(1.0, cpu_seconds_per_request(measured)?)
    }),
    figure("cpu_us_per_request", "CPU time per request", ["CPU us", "/request"], CpuMicroseconds, Lower, |trial| {
        let measured = trial.measurement.as_ref()?;
        Some(cpu_seconds_per_request(measured)? * 1e6)
    }),
    time("response_p50_us", "p50 response time", ["response", "p50 ms"], |trial| response_us(trial, 0.50)),
    time("response_p90_us", "p90 response time", ["response", "p90 ms"], |trial| response_us(trial, 0.90)),
    time("response_p95_us", "p95 response time", ["response", "p95 ms"], |trial| response_us(trial, 0.95)),
    time("response_p99_us", "p99 response time", ["response", "p99 ms"], |trial| response_us(trial, 0.99)),
    time("response_p999_us", "p99.9 response time", ["response", "p99.9 ms"], |trial| response_us(trial, 0.999)),
    time("service_p50_us", "p50 service time", ["service", "p50 ms"], |trial| service_us(trial, 0.50)),
    time("service_p90_us", "p90 service time", ["service", "p90 ms"], |trial| service_us(trial, 0.90)),
    time("service_p95_us", "p95 service time", ["service", "p95 ms"], |trial| service_us(trial, 0.95)),
    time("service_p99_us", "p99 service time", ["service", "p99 ms"], |trial| service_us(trial, 0.99)),
    figure("memory_peak_bytes", "peak memory without page cache", ["peak", "MiB"], Bytes, Lower, |trial| {
        Some(trial.measurement.as_ref()?.resources?.memory_peak as f64)
    }),
    figure("failed_share", "failed requests", ["wrong", "%"], Share, Lower, |trial| {
        let requests = &trial.measurement.as_ref()?.requests;
        ratio(requests.failed as f64, (requests.ok + requests.failed) as f64)
    }),
    figure("throttled_share", "throttled quota periods", ["throttled", "%"], Share, Neither, |trial| {
        let resources = trial.measurement.as_ref()?.resources?;
        ratio(resources.throttled_periods as f64, resources.periods as f64)
    }),
    figure("cpu_share", "CPU in use of what is allowed", ["CPU", "%"], Share, Neither, |trial| {
        let resources = trial.measurement.as_ref()?.resources?;
        ratio(resources.cpu.as_secs_f64(), resources.between.as_secs_f64() * cores(trial)?)
    }),
    figure("unanswered_share", "requests without a right answer", ["fail", "%"], Share, Lower, |trial| {
        let measured = trial.measurement.as_ref()?;
        let Counts { ok, failed, unfinished, sent: _ } = measured.requests;
        let without = failed + unfinished + measured.sending.as_ref().map_or(0, |sending| sending.unsent);
        ratio(without as f64, (ok + without) as f64)
    }),
    figure("created_count", "answers 201 Created", ["201", "Created"], Count, Higher, |trial| {
        trial.measurement.as_ref()?.status.get(&201).map(|count| *count as f64)
    }),
    time("response_mean_us", "mean response time", ["response", "mean ms"], |trial| {
        response_in_full(trial, |latencies| Some(latencies.mean_ns() / 1e3))
    }),
    time("response_deviation_us", "standard deviation of response times", ["response", "sd ms"], |trial| {
        response_in_full(trial, |latencies| Some(latencies.stddev_ns() / 1e3))
    }),
    time("response_min_us", "shortest response time", ["response", "min ms"], |trial| {
        response(trial, |latencies| Some(micros(latencies.min())))
    }),
    time("response_p75_us", "p75 response time", ["response", "p75 ms"], |trial| response_us(trial, 0.75)),
    time("response_max_us", "longest response time", ["response", "max ms"], |trial| {
        response_in_full(trial, |latencies| Some(micros(latencies.max())))
    }),
    figure(PER_VCPU_SECOND, "throughput per vCPU", ["req per", "vCPU-s"], PerCpuSecond, Higher, |trial| {
        let (measured, _) = (trial.measurement.as_ref()?, trial.scale.as_ref()?);
        ratio(measured.requests.ok as f64, measured.window.as_secs_f64() * cores(trial)?)
    }),
    figure(
        "replica_cpu_share",
        "CPU in use of what the busiest replica is allowed",
        ["replica", "CPU %"],
        Share,
        Neither,
        |trial| {
            let replicas = trial.parts.iter().filter(|part| Topology::is_replica(&part.part));
            let shares = replicas.map(|part| {
                let share = part.share?;
                let used = part.resources?;
                ratio(used.cpu.as_secs_f64(), used.between.as_secs_f64() * share.cpus.cores())
            });
            shares.collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)
        },
    ),
    figure("memory_share", "peak memory of what is allowed", ["memory", "%"], Share, Lower, |trial| {
        let resources = trial.measurement.as_ref()?.resources?;
        let Limit::AtMost(memory) = trial.enforced?.memory else { return None };
        ratio(resources.memory_peak as f64, memory.get() as f64)
    }),
    figure("gateway_error_share", "answers 502 to 504", ["502-504", "%"], Share, Lower, |trial| {
        let measured = trial.measurement.as_ref()?;
        let errors: u64 = measured.status.range(502..=504).map(|(_, count)| count).sum();
        ratio(errors as f64, (measured.requests.ok + measured.requests.failed) as f64)
    }),
];

/// Of autoscaled services alone: right answers for each second of a vCPU that their instances had, used or not.
pub const PER_VCPU_SECOND: &str = "requests_per_vcpu_second";

/// How many CPUs a trial's deployment was allowed; of an autoscaled service, all its instances on average.
fn cores(trial: &Trial) -> Option<f64> {
    let Limit::AtMost(cpus) = trial.enforced?.cpus else { return None };
    let instances = trial.scale.as_ref().map_or(1.0, |record| record.instance_count().mean);
    Some(cpus.cores() * instances)
}

/// The metric of this key.
pub fn metric(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

/// The metric that ranks cases and decides verdicts. Closed load: throughput, since the rate is what such a load leaves
/// free. Open load: the p99 response time, since the rate is given.
pub fn primary(load: &Load) -> &'static Metric {
    match load {
        Load::Closed { .. } | Load::Ramped { .. } => THROUGHPUT,
        Load::Open { .. } => RESPONSE_P99,
    }
}

/// The primary metric of a study: the one that was requested, or that of the load, which its cases share.
pub(crate) fn primary_of(study: &Study) -> &'static Metric {
    if let Some(asked) = study.metric.as_deref().and_then(metric) {
        return asked;
    }
    study.cases.first().map_or(THROUGHPUT, |case| primary(&case.load))
}

/// Of closed loads.
static THROUGHPUT: &Metric = row("throughput_rps");

/// Of open loads.
static RESPONSE_P99: &Metric = row("response_p99_us");

/// The row of this key, wherever it stands in the table. A key that has none is found out by the compiler.
const fn row(key: &str) -> &'static Metric {
    let mut place = 0;
    while place < METRICS.len() {
        if is_same(METRICS[place].key.as_bytes(), key.as_bytes()) {
            return &METRICS[place];
        }
        place += 1;
    }
    panic!("no metric has this key")
}

/// `==`, which constant functions do not have.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    place == a.len() && place == b.len()
}

/// A percentile (`q` from 0 to 1) of one trial, unless fewer than 50 latencies exceed it: then it says more about a few
/// requests than about the server (METHODOLOGY.md). A p99 needs 5,000 requests.
pub fn percentile(latencies: &Latencies, q: f64) -> Option<Duration> {
    const EXCEEDANCES: f64 = 50.0;
    // Binary fractions make 49.99999999999995 of 1,000 requests beyond their p95; the tolerance is below one request.
    let exceedances = latencies.count() as f64 * (1.0 - q) + 1e-6;
    (exceedances >= EXCEEDANCES).then(|| latencies.quantile(q))
}

fn response_us(trial: &Trial, q: f64) -> Option<f64> {
    let open = unanswered(trial);
    response(trial, |latencies| percentile(latencies, q).filter(|quantile| !open.bounds(*quantile)).map(micros))
}

/// A figure that depends on the longest response times, which are not known where some have no end.
fn response_in_full(trial: &Trial, figure: impl Fn(&Latencies) -> Option<f64>) -> Option<f64> {
    response(trial, figure).filter(|_| unanswered(trial).count == 0)
}

/// Requests that have no end, of a trial that counts all the same; of one that does not, figures are shown as lower bounds.
fn unanswered(trial: &Trial) -> Censored {
    let sending = trial.measurement.as_ref().and_then(|measured| measured.sending.as_ref());
    sending.filter(|_| trial.outcome == Outcome::Measured).map(|sending| sending.censored).unwrap_or_default()
}

/// A figure of a trial's response times, where it has some.
fn response(trial: &Trial, figure: impl Fn(&Latencies) -> Option<f64>) -> Option<f64> {
    let latencies = &trial.measurement.as_ref()?.response;
    if latencies.count() == 0 { None } else { figure(latencies) }
}

fn service_us(trial: &Trial, q: f64) -> Option<f64> {
    percentile(&trial.measurement.as_ref()?.service, q).map(micros)
}

/// CPU time for each request with the right answer. Both are taken as rates, since the counters are read a little beside
/// the edges of the window.
pub(crate) fn cpu_seconds_per_request(measured: &Measurement) -> Option<f64> {
    let resources = measured.resources?;
    let cores = ratio(resources.cpu.as_secs_f64(), resources.between.as_secs_f64())?;
    let rate = ratio(measured.requests.ok as f64, measured.window.as_secs_f64())?;
    ratio(cores, rate)
}

/// A quotient, unless it is one by nothing.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use stampede_core::{Bytes, Cpus, Limits, PartRecord, ResourceUse, Sending};

    use super::*;
    use crate::samples;

    #[test]
    fn response_times_that_are_not_known_have_no_figure_unless_the_trial_does_not_count() {
        let mut trial = samples::measured("a", 1, 1_000.0);
        let measured = trial.measurement.as_mut().unwrap();
        measured.response = Latencies::new();
        (0..900).for_each(|_| measured.response.record_ns(1_000_000));
        (0..100).for_each(|_| measured.response.record_ns(5_000_000_000));
        measured.sending = Some(Sending {
            backend: "epoll".to_owned(),
            unsent: 0,
            censored: Censored { count: 100, least: Some(Duration::from_secs(5)) },
            lateness: Latencies::new(),
        });
        let value = |trial: &Trial, key| (metric(key).unwrap().reader)(trial);
        for (key, known) in [
            ("response_p50_us", true),
            ("response_p90_us", true),
            ("response_p95_us", false),
            ("response_mean_us", false),
            ("response_deviation_us", false),
            ("response_max_us", false),
            ("response_min_us", true),
        ] {
            assert_eq!(value(&trial, key).is_some(), known, "{key}");
            let invalid = Trial { outcome: Outcome::Invalid("too slow".to_owned()), ..trial.clone() };
            assert!(value(&invalid, key).is_some(), "{key}, as a lower bound");
        }
    }

    #[test]
    fn the_busiest_replica_is_measured_by_its_own_share() {
        let part = |name: &str, share: u32, cpu| PartRecord {
            part: name.to_owned(),
            units: Vec::new(),
            share: Some(Limits { cpus: Cpus::from_millis(share), memory: Bytes::from_mib(256) }),
            enforced: None,
            resources: Some(ResourceUse {
                between: Duration::from_secs(10),
                cpu: Duration::from_millis(cpu),
                ..ResourceUse::default()
            }),
            requests: None,
            restarts: Vec::new(),
            settings: BTreeMap::new(),
        };
        let mut trial = samples::measured("a", 1, 1_000.0);
        trial.parts = vec![part("replica-1", 500, 2_500), part("replica-2", 500, 4_000), part("balancer", 300, 3_000)];
        let reader = metric("replica_cpu_share").unwrap().reader;
        assert!((reader(&trial).unwrap() - 0.8).abs() < 1e-12, "{:?}", reader(&trial));
        trial.parts[0].share = None;
        assert_eq!(reader(&trial), None);
        trial.parts.clear();
        assert_eq!(reader(&trial), None);
    }

    #[test]
    fn keys_are_unique_and_the_primary_metric_is_one_of_them() {
        let keys: BTreeSet<_> = METRICS.iter().map(|metric| metric.key).collect();
        assert_eq!(keys.len(), METRICS.len());
        assert_eq!(primary(&Load::Closed { connections: 1 }).key, "throughput_rps");
        assert_eq!(primary(&"open:500".parse().unwrap()).key, "response_p99_us");
        assert!(metric("no_such_metric").is_none());
    }

    #[test]
    fn a_row_is_named_by_its_key_wherever_it_stands() {
        for metric in METRICS {
            assert_eq!(row(metric.key).key, metric.key);
        }
        for (a, b, same) in
            [("a", "a", true), ("a", "ab", false), ("ab", "a", false), ("ab", "ac", false), ("", "", true)]
        {
            assert_eq!(is_same(a.as_bytes(), b.as_bytes()), same, "{a} {b}");
        }
    }

    #[test]
    fn a_percentile_needs_fifty_latencies_beyond_it() {
        for (q, least) in [(0.5, 100), (0.9, 500), (0.95, 1_000), (0.99, 5_000), (0.999, 50_000)] {
            let mut latencies = Latencies::new();
            (1..least).for_each(|_| latencies.record_ns(1_000));
            assert_eq!(percentile(&latencies, q), None, "{q}");
            latencies.record_ns(1_000);
            assert_eq!(percentile(&latencies, q), Some(Duration::from_micros(1)), "{q}");
        }
    }

    #[test]
    fn readers_derive_from_counters() {
        // 5 s at 1,000 requests a second; 2.6 s of CPU time within 5.2 s, that is half a core.
        let mut trial = samples::measured("a", 1, 1_000.0);
        let measurement = trial.measurement.as_mut().unwrap();
        measurement.resources.as_mut().unwrap().between = Duration::from_millis(5_200);
        measurement.resources.as_mut().unwrap().cpu = Duration::from_millis(2_600);
        measurement.requests.failed = 50;
        measurement.status.extend([(500, 10), (502, 20), (504, 5)]);
        for (key, expected) in [
            ("throughput_rps", 1_000.0),
            ("requests_per_cpu_second", 2_000.0),
            ("cpu_us_per_request", 500.0),
            ("failed_share", 50.0 / 5_050.0),
            ("unanswered_share", 50.0 / 5_050.0),
            ("cpu_share", 1.0),
            ("memory_share", 50.0 / 256.0),
            ("gateway_error_share", 25.0 / 5_050.0),
        ] {
            let value = (metric(key).unwrap().reader)(&trial).unwrap();
            assert!((value / expected - 1.0).abs() < 1e-12, "{key}: {value} is not {expected}");
        }
        assert_eq!((metric("replica_cpu_share").unwrap().reader)(&trial), None, "no replica has a share of its own");
        trial.measurement = None;
        for metric in METRICS {
            assert_eq!((metric.reader)(&trial), None, "{}", metric.key);
        }
    }
}
