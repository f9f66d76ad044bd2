//! The seconds of a load as lines of JSON, `stampede/load-second/v1`, written while it runs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use stampede_core::Latencies;
use stampede_load::Slice;

use crate::destination;
use crate::exit::Failure;

/// Where the lines go.
pub(crate) struct Timeseries(Box<dyn Write>);

impl Timeseries {
    /// Empties the file, or takes stdout for `-`.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if destination::is_stdout(path) {
            return Ok(Self(Box::new(io::stdout())));
        }
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("--timeseries {} cannot be written: {error}", path.display())))?;
        Ok(Self(Box::new(file)))
    }

    /// Writes a line for each; whoever reads the file while load runs sees whole lines.
    pub(crate) fn write(&mut self, slices: &[Slice]) -> Result<(), Failure> {
        for slice in slices {
            let mut line = serde_json::to_string(&WireSecond::of(slice)).unwrap_or_default();
            line.push('\n');
            self.0
                .write_all(line.as_bytes())
                .and_then(|()| self.0.flush())
                .map_err(|error| Failure::missing(format!("cannot write the time series: {error}")))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct WireSecond {
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
#[derive(Serialize)]
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

#[derive(Serialize)]
struct WireBytes {
    sent: u64,
    received: u64,
}
