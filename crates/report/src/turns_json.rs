//! The turns of trials in JSON, and where scatter comes from.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{NestedVariances, TurnScatter, Variance};
use stampede_core::{Turn, WindowsFrom};

/// Standard deviations of the natural logarithm of throughput: shares of a rate.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireTurnScatter {
    blocks: usize,
    turns: usize,
    turn: WireDeviation,
    between_lifetimes: WireDeviation,
}

#[derive(Serialize, JsonSchema)]
struct WireDeviation {
    share: f64,
    low: f64,
    high: f64,
}

impl WireTurnScatter {
    pub(crate) fn of(scatter: &TurnScatter) -> Self {
        let TurnScatter { variances: NestedVariances { within, between }, blocks, turns } = scatter;
        let deviation = |variance: &Variance| WireDeviation {
            share: variance.value.sqrt(),
            low: variance.low.sqrt(),
            high: variance.high.sqrt(),
        };
        Self { blocks: *blocks, turns: *turns, turn: deviation(within), between_lifetimes: deviation(between) }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireWindowsFrom<'a> {
    /// The first block in windows.
    block: u32,
    why: &'a str,
}

impl<'a> WireWindowsFrom<'a> {
    pub(crate) fn of(windows_from: &'a WindowsFrom) -> Self {
        let WindowsFrom { block, why } = windows_from;
        Self { block: *block, why }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireTurn {
    at_s: f64,
    window_s: f64,
    ok: u64,
    cpu_seconds: Option<f64>,
    periods: u64,
    stolen_seconds: Option<f64>,
}

impl WireTurn {
    pub(crate) fn of(turn: &Turn) -> Self {
        let Turn { at, window, ok, cpu, periods, stolen } = turn;
        let seconds = |time: &Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            at_s: at.as_secs_f64(),
            window_s: window.as_secs_f64(),
            ok: *ok,
            cpu_seconds: seconds(cpu),
            periods: *periods,
            stolen_seconds: seconds(stolen),
        }
    }
}
