//! What was sampled, as JSON. A column is one line, so that a study stays readable.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use stampede_analysis::{Activity, UnitActivity};
use stampede_core::{Gauge, LoadSecond, ProcessId, QuerySeen, Sampling, Series, SeriesSource};

use crate::json::rounded;

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireSampling {
    cpu_seconds: f64,
    series: Vec<WireSeries>,
    queries: Vec<WireQuery>,
}

/// What a database was seen to work on, in how many samples, and in how many of them it waited for a lock.
#[derive(Serialize, JsonSchema)]
struct WireQuery {
    unit: String,
    text: String,
    seen: u64,
    locked: u64,
}

impl WireSampling {
    pub(crate) fn of(sampling: &Sampling) -> Self {
        let Sampling { series, cpu, queries, inside: _ } = sampling;
        let query = |QuerySeen { unit, text, seen, locked }: &QuerySeen| WireQuery {
            unit: unit.to_string(),
            text: text.clone(),
            seen: *seen,
            locked: *locked,
        };
        Self {
            cpu_seconds: cpu.as_secs_f64(),
            series: series.iter().map(WireSeries::of).collect(),
            queries: queries.iter().map(query).collect(),
        }
    }
}

/// `source` is `group`, `machine`, `listener`, `unit` or `process`; the last three have a name.
#[derive(Serialize, JsonSchema)]
struct WireSeries {
    source: &'static str,
    name: Option<String>,
    #[schemars(with = "Vec<u64>")]
    at_us: Box<RawValue>,
    #[schemars(with = "BTreeMap<String, Vec<Option<u64>>>")]
    columns: BTreeMap<Gauge, Box<RawValue>>,
}

impl WireSeries {
    fn of(series: &Series) -> Self {
        let Series { source, at_us, columns } = series;
        let (source, name) = match source {
            SeriesSource::Group => ("group", None),
            SeriesSource::Machine => ("machine", None),
            SeriesSource::Listener(address) => ("listener", Some(address.to_string())),
            SeriesSource::Unit(unit) => ("unit", Some(unit.to_string())),
            SeriesSource::Process(ProcessId { pid, parent: _, name, part }) => {
                let part = part.as_ref().map_or_else(String::new, |part| format!("{part} "));
                ("process", Some(format!("{pid} {part}{name}")))
            }
        };
        let columns = columns.iter().map(|(gauge, values)| (*gauge, line(values)));
        Self { source, name, at_us: line(at_us), columns: columns.collect() }
    }
}

/// The whole seconds of a window as the load generator saw them, by when things happened: each lasts to the next one's
/// beginning, the last to the window's last whole second. Percentiles have 2 significant digits, and are `null` where fewer
/// than 1 (p50) or 100 (p99) requests ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireLoadSeconds {
    #[schemars(with = "Vec<u64>")]
    second: Box<RawValue>,
    #[schemars(with = "Vec<u64>")]
    sent: Box<RawValue>,
    #[schemars(with = "Vec<u64>")]
    ok: Box<RawValue>,
    #[schemars(with = "Vec<u64>")]
    failed: Box<RawValue>,
    #[schemars(with = "Vec<Option<u64>>")]
    response_p50_us: Box<RawValue>,
    #[schemars(with = "Vec<Option<u64>>")]
    response_p99_us: Box<RawValue>,
}

impl WireLoadSeconds {
    /// Nothing of a window without whole seconds, or in which they were not counted.
    pub(crate) fn of(seconds: &[LoadSecond]) -> Option<Self> {
        let column = |value: fn(&LoadSecond) -> u64| line(&seconds.iter().map(value).collect::<Vec<_>>());
        let percentile = |value: fn(&LoadSecond) -> Option<u64>| line(&seconds.iter().map(value).collect::<Vec<_>>());
        (!seconds.is_empty()).then(|| Self {
            second: column(|second| second.second),
            sent: column(|second| second.sent),
            ok: column(|second| second.ok),
            failed: column(|second| second.failed),
            response_p50_us: percentile(|second| second.response_p50_us),
            response_p99_us: percentile(|second| second.response_p99_us),
        })
    }
}

/// A list without line breaks.
fn line(values: &impl Serialize) -> Box<RawValue> {
    #[expect(clippy::expect_used, reason = "a list of numbers is plain JSON")]
    serde_json::value::to_raw_value(values).expect("a list of numbers")
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireActivity<'a> {
    units: Vec<WireUnit<'a>>,
    accept_queue_max: BTreeMap<&'a str, u64>,
    listen_overflows: Option<u64>,
    throttled_share: Option<f64>,
}

impl<'a> WireActivity<'a> {
    pub(crate) fn of(activity: &'a Activity) -> Self {
        let Activity { units, accept_queues, listen_overflows, throttled_share } = activity;
        Self {
            units: units.iter().map(WireUnit::of).collect(),
            accept_queue_max: accept_queues.iter().map(|(address, most)| (address.as_str(), *most)).collect(),
            listen_overflows: *listen_overflows,
            throttled_share: throttled_share.map(rounded),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireUnit<'a> {
    unit: &'a str,
    busy_workers_median: Option<u64>,
    busy_workers_max: Option<u64>,
    taken_workers_median: Option<u64>,
    total_workers_max: Option<u64>,
    restarts: Option<u64>,
    max_children_reached: Option<u64>,
    unanswered_share: f64,
}

impl<'a> WireUnit<'a> {
    fn of(activity: &'a UnitActivity) -> Self {
        let UnitActivity { unit, busy, taken, total, restarts, max_children_reached, unanswered_share } = activity;
        Self {
            unit: unit.as_str(),
            busy_workers_median: busy.map(|(median, _)| median),
            busy_workers_max: busy.map(|(_, most)| most),
            taken_workers_median: *taken,
            total_workers_max: *total,
            restarts: *restarts,
            max_children_reached: *max_children_reached,
            unanswered_share: rounded(*unanswered_share),
        }
    }
}
