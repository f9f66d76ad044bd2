//! The result of a load as JSON, `stampede/load/v1`. Later versions only add to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_core::{Censored, ErrorClass, Latencies};
use stampede_seam::{
    AnswerFacts, Breach, BreakCount, BreakPoint, FlowResult, FlowTally, LoadResult, Measures, Saturation, StepResult,
};

use super::events::WireEvents;
use super::generators::{WireMember, WireSkew};
use super::{LoadView, SampleCount};
use crate::json::rendered;

/// As JSON. It ends with a line break.
pub fn json(view: &LoadView<'_>) -> String {
    rendered(&WireLoad::of(view))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Load")]
pub(crate) struct WireLoad<'a> {
    schema: &'static str,
    url: &'a str,
    load: String,
    stampede_version: &'static str,
    duration_s: f64,
    requests: WireRequests,
    throughput_rps: f64,
    offered_rps: Option<f64>,
    reconnects: u64,
    service_us: WireLatencies,
    response_us: WireLatencies,
    lateness_us: WireLatencies,
    connect_us: WireLatencies,
    tls_us: Option<WireLatencies>,
    first_byte_us: WireLatencies,
    status: &'a BTreeMap<u16, u64>,
    #[schemars(with = "BTreeMap<String, u64>")]
    errors: &'a BTreeMap<ErrorClass, u64>,
    first_failure: Option<&'a str>,
    bytes: WireBytes,
    answers: WireAnswers<'a>,
    /// Of `--samples`.
    samples: Option<WireSamples>,
    generator: WireGenerator,
    /// Each of several generators that drove it together; empty where one process did.
    generators: Vec<WireMember<'a>>,
    start_skew_us: Option<WireSkew>,
    /// Requests of the window by the address that they were sent to, where there are several: in the order of the addresses.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    requests_by_target: &'a [u64],
    steps: Vec<WireStep<'a>>,
    /// Of a scenario; over the whole load.
    flows: Vec<WireFlow<'a>>,
    unmatched_captures: &'a [String],
    exhausted_feeders: &'a [String],
}

impl<'a> WireLoad<'a> {
    fn of(view: &'a LoadView<'a>) -> Self {
        let result = view.result;
        let complete = Censored::default();
        Self {
            schema: "stampede/load/v1",
            url: view.url,
            load: view.load(),
            stampede_version: env!("CARGO_PKG_VERSION"),
            duration_s: result.window.as_secs_f64(),
            requests: WireRequests::of(&result.total),
            throughput_rps: rounded(view.throughput()),
            offered_rps: view.offered().map(rounded),
            reconnects: result.reconnects,
            service_us: WireLatencies::of(&result.total.service, &complete),
            response_us: WireLatencies::of(&result.total.response, &result.total.censored),
            lateness_us: WireLatencies::of(&result.total.lateness, &complete),
            connect_us: WireLatencies::of(&result.total.connect, &complete),
            tls_us: (result.total.tls.count() > 0).then(|| WireLatencies::of(&result.total.tls, &complete)),
            first_byte_us: WireLatencies::of(&result.total.first_byte, &complete),
            status: &result.total.status,
            errors: &result.total.errors,
            first_failure: result.first_failure.as_ref().map(|failure| failure.detail.as_str()),
            bytes: WireBytes { sent: result.bytes_sent, received: result.bytes_received },
            answers: WireAnswers::of(&result.facts),
            samples: view.samples.map(|SampleCount { written, lost }| WireSamples { written, lost }),
            generator: WireGenerator::of(result),
            generators: view.generators.iter().map(WireMember::of).collect(),
            start_skew_us: WireSkew::between(view.generators),
            requests_by_target: if result.by_target.len() > 1 { &result.by_target } else { &[] },
            steps: result.steps.iter().map(WireStep::of).collect(),
            flows: result.flows.iter().map(WireFlow::of).collect(),
            unmatched_captures: &result.unmatched_captures,
            exhausted_feeders: &result.exhausted_feeders,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadRequests")]
pub(super) struct WireRequests {
    sent: u64,
    ok: u64,
    failed: u64,
    unfinished: u64,
    /// Due and never sent: no connection was free.
    unsent: u64,
    censored: u64,
}

impl WireRequests {
    pub(super) fn of(measures: &Measures) -> Self {
        let stampede_core::Counts { sent, ok, failed, unfinished } = measures.requests;
        Self { sent, ok, failed, unfinished, unsent: measures.unsent, censored: measures.censored.count }
    }
}

/// The requests of one step.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadStep")]
struct WireStep<'a> {
    name: &'a str,
    requests: WireRequests,
    service_us: WireLatencies,
    response_us: WireLatencies,
    lateness_us: WireLatencies,
    connect_us: WireLatencies,
    tls_us: Option<WireLatencies>,
    first_byte_us: WireLatencies,
    status: &'a BTreeMap<u16, u64>,
    #[schemars(with = "BTreeMap<String, u64>")]
    errors: &'a BTreeMap<ErrorClass, u64>,
    /// Of a step that hears server-sent events.
    events: Option<WireEvents>,
}

impl<'a> WireStep<'a> {
    fn of(step: &'a StepResult) -> Self {
        let StepResult { name, measures } = step;
        let complete = Censored::default();
        Self {
            name,
            requests: WireRequests::of(measures),
            service_us: WireLatencies::of(&measures.service, &complete),
            response_us: WireLatencies::of(&measures.response, &measures.censored),
            lateness_us: WireLatencies::of(&measures.lateness, &complete),
            connect_us: WireLatencies::of(&measures.connect, &complete),
            tls_us: (measures.tls.count() > 0).then(|| WireLatencies::of(&measures.tls, &complete)),
            first_byte_us: WireLatencies::of(&measures.first_byte, &complete),
            status: &measures.status,
            errors: &measures.errors,
            events: measures.events.as_deref().map(WireEvents::of),
        }
    }
}

/// What became of a flow. What was neither completed nor abandoned was under way at the end.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadFlow")]
struct WireFlow<'a> {
    name: &'a str,
    begun: u64,
    completed: u64,
    abandoned: u64,
}

impl<'a> WireFlow<'a> {
    fn of(flow: &'a FlowResult) -> Self {
        let FlowResult { name, count: FlowTally { begun, completed, abandoned } } = flow;
        Self { name, begun: *begun, completed: *completed, abandoned: *abandoned }
    }
}

/// In microseconds; without latencies everything is `null`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadLatencies")]
pub(super) struct WireLatencies {
    count: u64,
    min: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    p50: Option<f64>,
    p75: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
    /// From this value on, percentiles are lower bounds: requests without an end are in them at their age.
    lower_bound_from: Option<f64>,
}

impl WireLatencies {
    pub(super) fn of(latencies: &Latencies, censored: &Censored) -> Self {
        let any = latencies.count() > 0;
        let micros = |duration: std::time::Duration| rounded(duration.as_nanos() as f64 / 1e3);
        let quantile = |q| any.then(|| micros(latencies.quantile(q)));
        Self {
            count: latencies.count(),
            min: any.then(|| micros(latencies.min())),
            mean: any.then(|| rounded(latencies.mean_ns() / 1e3)),
            stddev: any.then(|| rounded(latencies.stddev_ns() / 1e3)),
            p50: quantile(0.50),
            p75: quantile(0.75),
            p90: quantile(0.90),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: any.then(|| micros(latencies.max())),
            lower_bound_from: censored.least.map(micros),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadBytes")]
pub(super) struct WireBytes {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// Requests that were written down one by one.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadSamples")]
struct WireSamples {
    written: u64,
    /// The disk was slower than the load, or full.
    lost: u64,
}

/// What answers were like.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadAnswers")]
struct WireAnswers<'a> {
    /// The `Server` header of the first one.
    server: Option<&'a str>,
    /// Bytes of all bodies, transfer coding removed.
    body_bytes: u64,
    /// Interim answers (1xx) by status; `first_byte_us` is of final answers.
    interim: &'a BTreeMap<u16, u64>,
    broken_off: Vec<WireBreak>,
    protocol_breach: Option<WireBreach<'a>>,
}

impl<'a> WireAnswers<'a> {
    fn of(facts: &'a AnswerFacts) -> Self {
        let AnswerFacts { server, body_bytes, interim, breaks, breach, .. } = facts;
        let breach = breach.as_ref().map(|Breach { step, rule, bytes }| WireBreach {
            step: *step,
            rule,
            bytes: bytes.escape_ascii().to_string(),
        });
        Self {
            server: server.as_deref(),
            body_bytes: *body_bytes,
            interim,
            broken_off: breaks.iter().map(WireBreak::of).collect(),
            protocol_breach: breach,
        }
    }
}

/// Requests that ended without a complete answer, by how far they were.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadBreak")]
struct WireBreak {
    #[schemars(with = "String")]
    error: ErrorClass,
    point: WirePoint,
    count: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadBreakPoint")]
#[serde(rename_all = "snake_case")]
enum WirePoint {
    Connecting,
    Tls,
    BeforeSending,
    BeforeFirstByte,
    Head,
    Body,
}

impl WireBreak {
    fn of(count: &BreakCount) -> Self {
        let BreakCount { class, point, count } = count;
        let point = match point {
            BreakPoint::Connecting => WirePoint::Connecting,
            BreakPoint::Securing => WirePoint::Tls,
            BreakPoint::Queued => WirePoint::BeforeSending,
            BreakPoint::Waiting => WirePoint::BeforeFirstByte,
            BreakPoint::Head => WirePoint::Head,
            BreakPoint::Body => WirePoint::Body,
        };
        Self { error: *class, point, count: *count }
    }
}

/// The first answer that broke HTTP.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadProtocolBreach")]
struct WireBreach<'a> {
    /// Number of the step, from 0.
    step: usize,
    rule: &'a str,
    /// The first bytes that break it, with escapes such as `\r` and `\x00`.
    bytes: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoadGenerator")]
struct WireGenerator {
    backend: String,
    threads: u32,
    cpu_seconds: f64,
    spin_seconds: f64,
    cpu_us_per_request: Option<f64>,
    saturated: bool,
    saturated_by: Option<String>,
    in_flight: f64,
    littles_law: Option<f64>,
}

impl WireGenerator {
    fn of(result: &LoadResult) -> Self {
        let cpu = result.generator.cpu.as_secs_f64();
        let sent = result.total.requests.sent;
        Self {
            backend: result.backend.to_string(),
            threads: result.generator.threads,
            cpu_seconds: cpu,
            spin_seconds: result.spin.as_secs_f64(),
            cpu_us_per_request: (sent > 0).then(|| rounded(cpu * 1e6 / sent as f64)),
            saturated: result.saturation.is_some(),
            saturated_by: result.saturation.as_ref().map(Saturation::to_string),
            in_flight: rounded(result.littles_law.in_flight(result.window)),
            littles_law: result.littles_law.ratio().map(rounded),
        }
    }
}

/// Three digits behind the point: more is noise.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
