//! What was heard of streams of server-sent events.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::Censored;
use stampede_seam::{EventMeasures, LoadResult};

use super::json::WireLatencies;
use super::{cell, short};

/// A table of the steps that hear events, if there are any.
pub(super) fn lines(result: &LoadResult) -> Vec<String> {
    let steps = result.steps.iter().filter_map(|step| Some((&step.name, step.measures.events.as_deref()?)));
    let complete = Censored::default();
    let mut lines = Vec::new();
    for (name, EventMeasures { streams, events, others, comments, first_event, gaps }) in steps {
        let mut counts = format!("  {}: {streams} streams, {events} events", short(name));
        for (count, what) in [(others, "of other types"), (comments, "comments")] {
            if *count > 0 {
                counts.push_str(&format!(", {count} {what}"));
            }
        }
        lines.push(counts);
        for (row, latencies) in [("first event", first_event), ("between events", gaps)] {
            if latencies.count() > 0 {
                let cells = [Some(0.50), Some(0.99), None].map(|q| cell(latencies, &complete, q)).concat();
                lines.push(format!("    {row:<47}{cells}"));
            }
        }
    }
    if !lines.is_empty() {
        lines.insert(0, format!("  {:<49}{:>9}{:>9}{:>9}", "streams of events, ms", "p50", "p99", "max"));
        lines.push(String::new());
    }
    lines
}

/// What a step has heard.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadEvents")]
pub(super) struct WireEvents {
    /// Answers that were streams of events.
    streams: u64,
    /// Events of the type that counts.
    events: u64,
    /// Events of other types.
    others: u64,
    comments: u64,
    /// From when the request was sent.
    first_event_us: WireLatencies,
    /// Between two events of a stream, as they came.
    gap_us: WireLatencies,
}

impl WireEvents {
    pub(super) fn of(measures: &EventMeasures) -> Self {
        let EventMeasures { streams, events, others, comments, first_event, gaps } = measures;
        let complete = Censored::default();
        Self {
            streams: *streams,
            events: *events,
            others: *others,
            comments: *comments,
            first_event_us: WireLatencies::of(first_event, &complete),
            gap_us: WireLatencies::of(gaps, &complete),
        }
    }
}
