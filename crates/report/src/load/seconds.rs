//! A second of a load as a line of JSON, `stampede/load-second/v1`.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::Latencies;
use stampede_seam::Slice;

use super::json::WireBytes;

/// A line. It ends with a line break.
pub fn second(slice: &Slice) -> String {
    let mut line = serde_json::to_string(&WireSecond::of(slice)).unwrap_or_default();
    line.push('\n');
    line
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadSecondLine")]
pub(crate) struct WireSecond {
    schema: &'static str,
    second: u64,
    sent: u64,
    ok: u64,
    failed: u64,
    service_us: WireLatencies,
    response_us: WireLatencies,
    bytes: WireBytes,
}

impl WireSecond {
    fn of(slice: &Slice) -> Self {
        let Slice { second, sent, ok, failed, service, response, bytes_sent, bytes_received } = slice;
        Self {
            schema: "stampede/load-second/v1",
            second: *second,
            sent: *sent,
            ok: *ok,
            failed: *failed,
            service_us: WireLatencies::of(service),
            response_us: WireLatencies::of(response),
            bytes: WireBytes { sent: *bytes_sent, received: *bytes_received },
        }
    }
}

/// At 2 significant digits; without latencies everything is `null`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SecondLatencies")]
struct WireLatencies {
    count: u64,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl WireLatencies {
    fn of(latencies: &Latencies) -> Self {
        let any = latencies.count() > 0;
        let micros = |duration: std::time::Duration| (duration.as_nanos() as f64 / 1e3).round();
        let quantile = |q| any.then(|| micros(latencies.quantile(q)));
        Self {
            count: latencies.count(),
            mean: any.then(|| (latencies.mean_ns() / 1e3).round()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: any.then(|| micros(latencies.max())),
        }
    }
}
