//! Warm-ups, noise floor and reference server as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Drift, drift};
use stampede_core::{Floor, NoiseFloor, Pilot, WarmUp, YardStickReading};

use crate::json::rounded;

/// What a case's pilot showed; without one only the study's `warm_up_s` is known.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireWarmUp<'a> {
    length_s: f64,
    outcome: &'static str,
    at_rest_after_s: Option<f64>,
    watched_s: Option<f64>,
    reason: Option<&'a str>,
}

impl<'a> WireWarmUp<'a> {
    pub(crate) fn of(warm_up: &'a WarmUp) -> Self {
        let WarmUp { length, pilot } = warm_up;
        let (outcome, after, watched, reason) = match pilot {
            Pilot::Steady { after, watched } => ("steady", Some(after), Some(watched), None),
            Pilot::Unsteady { watched } => ("unsteady", None, Some(watched), None),
            Pilot::Untold { why } => ("untold", None, None, Some(why.as_str())),
        };
        Self {
            length_s: length.as_secs_f64(),
            outcome,
            at_rest_after_s: after.map(|after| after.as_secs_f64()),
            watched_s: watched.map(|watched| watched.as_secs_f64()),
            reason,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireNoiseFloor<'a> {
    calibration: &'a str,
    metrics: BTreeMap<&'a str, WireFloor>,
}

#[derive(Serialize, JsonSchema)]
struct WireFloor {
    share: f64,
    deviation: f64,
    pairs: u32,
}

impl<'a> WireNoiseFloor<'a> {
    pub(crate) fn of(floor: &'a NoiseFloor) -> Self {
        let NoiseFloor { calibration, metrics } = floor;
        let metrics = metrics.iter().map(|(key, Floor { share, deviation, pairs })| {
            (key.as_str(), WireFloor { share: rounded(*share), deviation: rounded(*deviation), pairs: *pairs })
        });
        Self { calibration: calibration.as_str(), metrics: metrics.collect() }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireYardStick<'a> {
    readings: Vec<WireReading<'a>>,
    drift: Option<WireDrift>,
}

#[derive(Serialize, JsonSchema)]
struct WireReading<'a> {
    block: u32,
    started_at: String,
    outcome: &'static str,
    reason: Option<&'a str>,
    window_s: Option<f64>,
    ok: Option<u64>,
    throughput_rps: Option<f64>,
    requests_per_cpu_second: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct WireDrift {
    median_rps: f64,
    median_requests_per_cpu_second: Option<f64>,
    lowest: f64,
    highest: f64,
    trend_share: Option<f64>,
    standing_out: Vec<u32>,
    without: Vec<u32>,
}

impl<'a> WireYardStick<'a> {
    pub(crate) fn of(readings: &'a [YardStickReading]) -> Self {
        Self { readings: readings.iter().map(WireReading::of).collect(), drift: drift(readings).map(WireDrift::of) }
    }
}

impl<'a> WireReading<'a> {
    fn of(reading: &'a YardStickReading) -> Self {
        let YardStickReading { block, started_at, outcome, pace } = reading;
        let (outcome, reason) = outcome.words();
        Self {
            block: *block,
            started_at: started_at.to_string(),
            outcome,
            reason,
            window_s: pace.map(|pace| pace.window.as_secs_f64()),
            ok: pace.map(|pace| pace.ok),
            throughput_rps: pace.and_then(|pace| pace.throughput()).map(rounded),
            requests_per_cpu_second: pace.and_then(|pace| pace.requests_per_cpu_second()).map(rounded),
        }
    }
}

impl WireDrift {
    fn of(drift: Drift) -> Self {
        let Drift { median_rps, median_per_cpu_second, readings: _, range, standing_out, trend, without } = drift;
        Self {
            median_rps: rounded(median_rps),
            median_requests_per_cpu_second: median_per_cpu_second.map(rounded),
            lowest: rounded(range.0),
            highest: rounded(range.1),
            trend_share: trend.map(rounded),
            standing_out: standing_out.into_iter().map(|(block, _)| block).collect(),
            without,
        }
    }
}
