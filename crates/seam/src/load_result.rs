//! What a load has measured.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{Censored, Counts, ErrorClass, GeneratorUse, Latencies};
use stampede_scenario::FlowTally;

use crate::answer_facts::AnswerFacts;
use crate::backend::Backend;
use crate::event_measures::EventMeasures;
use crate::saturation::{LittlesLaw, Saturation};
use crate::slice::Slice;

/// What a load has measured. All but flows, captures, feeders, `wrong_answers` and `first_failure` is about
/// the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Length of the window; for a load that ends with a number of requests, up to the end of the last of them. Of a load in
    /// turns, of all windows together.
    pub window: Duration,
    /// What became of the requests that were due in each turn's window; empty for a load without turns.
    pub turns: Vec<Counts>,
    /// The window's requests by the target that they were begun for, in the order of
    /// [`LoadSpec::targets`](crate::LoadSpec::targets); empty where targets changed meanwhile.
    pub by_target: Vec<u64>,
    /// All requests together.
    pub total: Measures,
    /// The requests of each exchange in the order of [`LoadSpec::exchanges`](crate::LoadSpec::exchanges), or of each step
    /// through all user classes and flows of a scenario.
    pub steps: Vec<StepResult>,
    /// The flows of a scenario, through all user classes.
    pub flows: Vec<FlowResult>,
    /// Captures that had no value in any right answer of a step that had some: `flow/step: capture`.
    pub unmatched_captures: Vec<String>,
    /// Feeders that had no more rows for a flow.
    pub exhausted_feeders: Vec<String>,
    /// The seconds of the window that [`RunningLoad::slices`](crate::RunningLoad::slices) has not told, where they were asked
    /// for.
    pub slices: Vec<Slice>,
    /// How the kernel was reached.
    pub backend: Backend,
    /// Connections that were opened again because the server had closed between two answers.
    pub reconnects: u64,
    /// Bytes that were sent on connections: everything that the protocols say, requests that were sent again included.
    pub bytes_sent: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// What the load threads used between the edges of the window.
    pub generator: GeneratorUse,
    /// How long the load threads spun in the last microseconds before a due time; not part of `generator`.
    pub spin: Duration,
    /// How late the first request of the whole load was begun, behind its due time or, where the load was started later, behind the
    /// load's begin; of several threads, the latest. Nothing where no request was begun.
    pub begun_late: Option<Duration>,
    /// Whether the accounts of the window agree with each other.
    pub littles_law: LittlesLaw,
    /// What the generator itself added to the measurement, when that was too much.
    pub saturation: Option<Saturation>,
    /// What the answers were like.
    pub facts: AnswerFacts,
    /// The first wrong answers of the whole load, a few.
    pub wrong_answers: Vec<WrongAnswer>,
    /// The first failed request of the whole load.
    pub first_failure: Option<RequestFailure>,
}

/// The requests of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Its name.
    pub name: String,
    /// What was measured.
    pub measures: Measures,
}

/// What became of a flow in the whole load. Those that were neither completed nor abandoned were under way at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// How often it came to which end.
    pub count: FlowTally,
}

/// Counts and latencies of requests. All but `warm_up` and `warm_up_status` is about those that were due in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Requests that were due in the window and were begun.
    pub requests: Counts,
    /// Requests that were due before it.
    pub warm_up: Counts,
    /// Requests that were due in the window and never begun, because no connection was free before the load was over. A
    /// closed load has none.
    pub unsent: u64,
    /// From when a request was sent to the end of its answer, for complete answers, right or wrong.
    pub service: Latencies,
    /// From when a request was due to the end of its answer, for complete answers, right or wrong, and to the end of the
    /// load or the time-out for requests that are `censored`.
    pub response: Latencies,
    /// Requests that timed out, were unfinished or never sent; they are part of `response` at their age.
    pub censored: Censored,
    /// From when a request was sent to the first byte of its answer, for complete answers.
    pub first_byte: Latencies,
    /// From when a connection was asked for to when it was there.
    pub connect: Latencies,
    /// From when a connection was there to when it was encrypted.
    pub tls: Latencies,
    /// From when the generator could have begun a request to when it did. It could when the request was due and a
    /// connection was free, at the latest at the wake-up that brought the news.
    pub lateness: Latencies,
    /// Complete answers of the warm-up by status.
    pub warm_up_status: BTreeMap<u16, u64>,
    /// Complete answers by status.
    pub status: BTreeMap<u16, u64>,
    /// Failed requests by cause.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// What was heard, of a step that hears events.
    pub events: Option<Box<EventMeasures>>,
}

/// An answer that was not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongAnswer {
    /// Number of the step in [`LoadResult::steps`].
    pub step: usize,
    /// The status that came.
    pub status: u16,
    /// The first byte of the body that differs; 0 when the status is wrong.
    pub offset: u64,
    /// The body from there, up to 512 bytes.
    pub bytes: Vec<u8>,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFailure {
    /// Its cause.
    pub class: ErrorClass,
    /// Number of the step in [`LoadResult::steps`].
    pub step: usize,
    /// The cause in words.
    pub detail: String,
}
