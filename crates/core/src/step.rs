//! The requests of one kind within a load.

use std::collections::BTreeMap;

use crate::{Censored, Counts, ErrorClass, Latencies};

/// What was measured of the requests of one step of a load: of each by itself what a
/// [`Measurement`](crate::Measurement) has of all together.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step's name.
    pub name: String,
    /// Requests that were due in the window.
    pub requests: Counts,
    /// Requests that were due in the window and never begun.
    pub unsent: u64,
    /// From when a request was sent to the end of its answer.
    pub service: Latencies,
    /// From when a request was due to the end of its answer.
    pub response: Latencies,
    /// Requests without an end; they are part of `response` at their age.
    pub censored: Censored,
    /// Answers by status.
    pub status: BTreeMap<u16, u64>,
    /// Failed requests by cause.
    pub errors: BTreeMap<ErrorClass, u64>,
}
