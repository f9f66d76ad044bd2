//! What a step has heard of streams of events.

use serde::{Deserialize, Serialize};
use stampede_core::Latencies;

/// What a step has heard of streams of events, in requests that were due in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventMeasures {
    /// Answers that were streams of events.
    pub streams: u64,
    /// Events that count.
    pub events: u64,
    /// Events of other types.
    pub others: u64,
    /// Comments, which keep a connection open.
    pub comments: u64,
    /// From when the request of a stream was sent to its first event that counts.
    pub first_event: Latencies,
    /// From one event that counts to the next of its stream, as they came: 0 where they came together.
    pub gaps: Latencies,
}

impl EventMeasures {
    /// Adds what was heard of other streams.
    pub fn add(&mut self, other: &Self) {
        let Self { streams, events, others, comments, first_event, gaps } = other;
        self.streams += streams;
        self.events += events;
        self.others += others;
        self.comments += comments;
        self.first_event.merge(first_event);
        self.gaps.merge(gaps);
    }
}
