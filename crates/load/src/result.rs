//! What a load has measured.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Counts, ErrorClass, GeneratorUse, Latencies};

/// What a load has measured. All but `warm_up`, `wrong_answers` and `first_failure` is about requests that were due in
/// the window.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadResult {
    /// Length of the window.
    pub window: Duration,
    /// Requests that were due in the window.
    pub requests: Counts,
    /// Requests that were due before it.
    pub warm_up: Counts,
    /// Connections that were opened anew because the server had closed between two answers.
    pub reconnects: u64,
    /// From when a request was sent to the end of its answer, for complete answers, right or wrong.
    pub service: Latencies,
    /// From when a request was due to the end of its answer, for complete answers, right or wrong.
    pub response: Latencies,
    /// Complete answers by status.
    pub status: BTreeMap<u16, u64>,
    /// Failed requests by cause.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Bytes of requests, those that were sent again included.
    pub bytes_sent: u64,
    /// Bytes of answers, heads included.
    pub bytes_received: u64,
    /// What the load threads used between the edges of the window.
    pub generator: GeneratorUse,
    /// The first wrong answers of the whole load, a few.
    pub wrong_answers: Vec<WrongAnswer>,
    /// The first failed request of the whole load.
    pub first_failure: Option<Failure>,
}

/// An answer that was not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAnswer {
    /// Number of the exchange in [`LoadSpec::exchanges`](crate::LoadSpec::exchanges).
    pub exchange: usize,
    /// The status that came.
    pub status: u16,
    /// The first byte of the body that differs; 0 when the status is wrong.
    pub offset: u64,
    /// The body from there, up to 512 bytes.
    pub bytes: Vec<u8>,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its cause.
    pub class: ErrorClass,
    /// Number of the exchange in [`LoadSpec::exchanges`](crate::LoadSpec::exchanges).
    pub exchange: usize,
    /// The cause in words.
    pub detail: String,
}
