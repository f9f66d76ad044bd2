//! What each of several generators did: a few lines for a terminal, and an object each in JSON.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::Censored;
use stampede_seam::{GeneratorRecord, HeldUp, LoadResult, StartSkew};

use super::json::{WireLatencies, WireRequests, rounded};
use super::millis;

/// The lines of a terminal; none where one process drove the load.
pub(super) fn lines(generators: &[GeneratorRecord]) -> Vec<String> {
    if generators.is_empty() {
        return Vec::new();
    }
    let skew = StartSkew::between(generators).map_or_else(String::new, |(skew, bound)| {
        format!(", begun within {} ms of each other (+-{})", millis(skew), millis(bound))
    });
    let mut lines = vec![format!("  generators {}{skew}", generators.len())];
    let width = generators.iter().map(|generator| generator.name.chars().count()).max().unwrap_or(0).clamp(9, 24);
    lines.push(format!(
        "    {:<width$}{:>9}{:>9}{:>10}{:>10}{:>14}{:>6}{:>6}{:>6}",
        "name", "sent/s", "most/s", "late p50", "late p99", "began ms", "CPU", "wait", "quota"
    ));
    for GeneratorRecord { name, result, held_up, start, most_rps, faults } in generators {
        let name: String = name.chars().take(width).collect();
        let mark = if faults.is_empty() { "" } else { "  INVALID" };
        let Some(result) = result else {
            lines.push(format!("    {name:<width$}{:>9}{mark}", "lost"));
            continue;
        };
        let window = result.window.as_secs_f64().max(f64::MIN_POSITIVE);
        let rate = result.total.requests.sent as f64 / window;
        let late = |q| match result.total.lateness.count() {
            0 => "-".to_owned(),
            _ => millis(result.total.lateness.quantile(q)),
        };
        let most = most_rps.map_or_else(|| "-".to_owned(), |most| format!("{most:.0}"));
        let began = start.map_or_else(
            || "-".to_owned(),
            |StartSkew { ns, bound }| format!("{:+.2}+-{:.2}", ns as f64 / 1e6, bound.as_secs_f64() * 1e3),
        );
        let share = |time: Duration, of: f64| format!("{:.0}%", 100.0 * time.as_secs_f64() / of);
        let threads = window * f64::from(result.generator.threads.max(1));
        let HeldUp { waited, throttled, paused: _ } = held_up.unwrap_or_default();
        lines.push(format!(
            "    {name:<width$}{rate:>9.1}{most:>9}{:>10}{:>10}{began:>14}{:>6}{:>6}{:>6}{mark}",
            late(0.50),
            late(0.99),
            share(result.generator.cpu + result.spin, threads),
            share(waited, threads),
            share(throttled, window)
        ));
    }
    lines
}

/// One of several generators. What a lost one would have reported is `null`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadMember")]
pub(super) struct WireMember<'a> {
    name: &'a str,
    requests: Option<WireRequests>,
    sent_rps: Option<f64>,
    /// Requests a second that it can send at most, as measured before the load.
    most_rps: Option<f64>,
    lateness_us: Option<WireLatencies>,
    threads: Option<u32>,
    cpu_seconds: Option<f64>,
    spin_seconds: Option<f64>,
    /// How long its load threads waited for a processor, all together.
    waited_seconds: Option<f64>,
    /// How long a CPU quota held it up.
    throttled_seconds: Option<f64>,
    /// The longest time in which its process stood still.
    paused_seconds: Option<f64>,
    /// How long after the moment for all it began; before it where negative.
    began_us: Option<f64>,
    /// By how much that is off at most.
    began_bound_us: Option<f64>,
    /// Why its part of the load was not what it should be.
    faults: &'a [String],
}

impl<'a> WireMember<'a> {
    pub(super) fn of(generator: &'a GeneratorRecord) -> Self {
        let GeneratorRecord { name, result, held_up, start, most_rps, faults } = generator;
        let result = result.as_ref();
        let rate = |result: &LoadResult| {
            rounded(result.total.requests.sent as f64 / result.window.as_secs_f64().max(f64::MIN_POSITIVE))
        };
        let lateness = |result: &LoadResult| WireLatencies::of(&result.total.lateness, &Censored::default());
        Self {
            name,
            requests: result.map(|result| WireRequests::of(&result.total)),
            sent_rps: result.map(rate),
            most_rps: most_rps.map(rounded),
            lateness_us: result.map(lateness),
            threads: result.map(|result| result.generator.threads),
            cpu_seconds: result.map(|result| result.generator.cpu.as_secs_f64()),
            spin_seconds: result.map(|result| result.spin.as_secs_f64()),
            waited_seconds: held_up.map(|held_up| held_up.waited.as_secs_f64()),
            throttled_seconds: held_up.map(|held_up| held_up.throttled.as_secs_f64()),
            paused_seconds: held_up.map(|held_up| held_up.paused.as_secs_f64()),
            began_us: start.map(|start| rounded(start.ns as f64 / 1e3)),
            began_bound_us: start.map(|start| micros(start.bound)),
            faults,
        }
    }
}

/// How long after the first generator the last one began, and by how much that is off at most.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadStartSkew")]
pub(super) struct WireSkew {
    skew: f64,
    bound: f64,
}

impl WireSkew {
    pub(super) fn between(generators: &[GeneratorRecord]) -> Option<Self> {
        StartSkew::between(generators).map(|(skew, bound)| Self { skew: micros(skew), bound: micros(bound) })
    }
}

fn micros(duration: Duration) -> f64 {
    rounded(duration.as_nanos() as f64 / 1e3)
}
