//! A forecast for programs.

use std::time::Duration;

use serde_json::{Value, json};
use stampede_core::Estimate;
use stampede_scale::Basis;

use super::{Answer, Answered, table};

/// `schema` changes when a reader of the old one would be misled.
const SCHEMA: &str = "stampede/forecast/v1";

pub(super) fn render(answer: &Answer) -> String {
    let Answer { study, calibration: c, question: q, price, points } = answer;
    let efficiencies: Vec<_> =
        c.efficiencies.iter().map(|(n, share)| json!({"requests": n, "efficiency": share})).collect();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let waking: Vec<_> =
        c.waking.iter().map(|w| json!({"idle_ms": ms(w.idle), "cpu_ms": ms(w.cpu), "wait_ms": ms(w.wait)})).collect();
    let value = json!({
        "schema": SCHEMA,
        "study": study,
        "calibration": {
            "case": c.case,
            "runtime": c.runtime,
            "cpus": c.cpus.cores(),
            "requests": c.requests,
            "trials": c.trials,
            "cpu_ms_p50": c.work.cpu.as_secs_f64() * 1e3,
            "wait_ms_p50": c.work.wait.as_secs_f64() * 1e3,
            "workers": c.workers,
            "memory_peak": c.memory.iter().map(|(n, bytes)| json!({"workers": n, "bytes": bytes.get()})).collect::<Vec<_>>(),
            "start_cpu_ms": c.start.cpu.as_secs_f64() * 1e3,
            "start_wait_ms": c.start.wait.as_secs_f64() * 1e3,
            "efficiencies": efficiencies,
            "waking": waking,
        },
        "load": q.load,
        "policy": q.policy_name,
        "rounds": q.rounds,
        "seed": q.seed,
        "price": {
            "id": price.id,
            "provider": price.provider,
            "regions": price.regions,
            "basis": match price.basis { Basis::Requests => "requests", Basis::Instances => "instances" },
            "read": price.read,
            "source": price.source,
        },
        "points": points.iter().map(|answered| point(answered, price.currency)).collect::<Vec<_>>(),
        "conclusion": table::conclusion(answer),
    });
    // A value of text keys and numbers always has a text.
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

fn point(Answered { point, forecast: f }: &Answered, currency: &str) -> Value {
    let service = &point.scenario.service;
    json!({
        "concurrency": point.concurrency,
        "workers": point.workers,
        "cpus": service.cpus.cores(),
        "memory": service.memory.get(),
        "min_instances": service.min_instances,
        "max_instances": service.max_instances,
        "host_cpus": point.scenario.host_cpus,
        "extrapolated": point.extrapolated,
        "throughput": estimate(&f.throughput, 1.0),
        "response_p50_ms": estimate(&f.p50, 1e3),
        "response_p95_ms": estimate(&f.p95, 1e3),
        "response_p99_ms": estimate(&f.p99, 1e3),
        "rejected": estimate(&f.rejected, 1.0),
        "timed_out": estimate(&f.timed_out, 1.0),
        "instances": {
            "min": f.instances_range.0,
            "mean": estimate(&f.instances, 1.0),
            "max": f.instances_range.1,
            "course": f.course,
        },
        "cold_starts": {"count": estimate(&f.cold_starts, 1.0), "took_ms": f.start_seconds * 1e3},
        "cpu_utilisation": estimate(&f.utilisation, 1.0),
        "rps_per_vcpu": estimate(&f.per_vcpu_second, 1.0),
        "bill": {
            "currency": currency,
            "per_million_requests": estimate(&f.per_million, 1.0),
            "per_month": estimate(&f.per_month, 1.0),
        },
        "simulated_requests": f.simulated,
    })
}

fn estimate(Estimate { value, low, high, n }: &Estimate, unit: f64) -> Value {
    json!({"value": value * unit, "low": low.map(|low| low * unit), "high": high.map(|high| high * unit), "n": n})
}
