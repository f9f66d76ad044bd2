//! One trial of a study as JSON: what was measured, and how it was sent and ended.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::metric;
use stampede_core::{
    Case, Censored, ErrorClass, GeneratorUse, Measurement, PhpReadBack, Sending, ServedAnswer, Trial, UnitStop,
};

use super::{WireCounts, WireEnforced, WireLatencies, rounded};
use crate::audits::WireAudit;
use crate::places;
use crate::sampling_json::{WireLoadSeconds, WireSampling};
use crate::scale_figures::{
    ScaleFigures, WireBill, WireColdStarts, WireDecision, WireGateway, WireInstances, WireQueue, WireService,
    instance_cpus,
};
use crate::steps::WireStep;
use crate::topology::{WireLink, WirePart};
use crate::turns_json::WireTurn;

#[derive(Serialize, JsonSchema)]
pub(super) struct WireTrial<'a> {
    block: u32,
    position: u32,
    started_at: String,
    outcome: &'static str,
    reason: Option<Cow<'a, str>>,
    enforced: Option<WireEnforced>,
    ready: Option<WireReady>,
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    php: Option<PhpReadBack>,
    answers: Vec<WireAnswer<'a>>,
    requests: Option<WireCounts>,
    warm_up_requests: Option<WireCounts>,
    reconnects: Option<u64>,
    window_s: Option<f64>,
    throughput_rps: Option<f64>,
    service_us: Option<WireLatencies>,
    response_us: Option<WireLatencies>,
    status: BTreeMap<u16, u64>,
    #[schemars(with = "BTreeMap<String, u64>")]
    errors: BTreeMap<ErrorClass, u64>,
    bytes_sent: Option<u64>,
    bytes_received: Option<u64>,
    cpu_between_s: Option<f64>,
    cpu_seconds: Option<f64>,
    cpu_us_per_request: Option<f64>,
    requests_per_cpu_second: Option<f64>,
    memory_peak_bytes: Option<u64>,
    cache_peak_bytes: Option<u64>,
    oom_kills: Option<u64>,
    throttled_periods: Option<u64>,
    periods: Option<u64>,
    throttled_seconds: Option<f64>,
    generator: Option<WireGenerator>,
    sending: Option<WireSending<'a>>,
    sampling: Option<WireSampling>,
    load_seconds: Option<WireLoadSeconds>,
    /// The turns that the window was cut into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    turns: Vec<WireTurn>,
    stops: Vec<WireStop<'a>>,
    parts: Vec<WirePart<'a>>,
    client_link: Option<WireLink>,
    steps: Vec<WireStep<'a>>,
    audits: Vec<WireAudit<'a>>,
    /// What follows is that of trials of autoscaled services alone; the page draws the instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    service: Option<WireService<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instances: Option<WireInstances>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    cold_starts: Option<WireColdStarts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    queue: Option<WireQueue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    rejected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    rps_per_vcpu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    bill: Option<WireBill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    gateway: Option<WireGateway>,
    /// What a cluster's own autoscaler wanted; nothing of one that is acted out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    decisions: Vec<WireDecision>,
    /// CPUs that each instance used in the mean while it was ready, the first that was asked for first, where a cluster measures that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    instance_cpus: Vec<Option<f64>>,
}

impl<'a> WireTrial<'a> {
    pub(super) fn of(trial: &'a Trial, case: &Case) -> Self {
        let Trial {
            case: _,
            block,
            position,
            started_at,
            outcome,
            enforced,
            ready,
            php,
            answers,
            measurement,
            stops,
            parts,
            link,
            audits,
            scale,
        } = trial;
        let (outcome, reason) = outcome.words();
        let measured = measurement.as_ref();
        let resources = measured.and_then(|measured| measured.resources.as_ref());
        let derived = |key| Some(rounded((metric(key)?.reader)(trial)?));
        let record = scale.as_ref();
        let scaled = record.zip(measured).map(|(record, measured)| ScaleFigures::of(record, measured, case));
        let figures = scaled.as_ref();
        let in_cluster = record.filter(|record| record.is_of_cluster());
        let behind_gateway = record.filter(|record| !record.is_of_cluster());
        Self {
            block: *block,
            position: *position,
            started_at: started_at.to_string(),
            outcome,
            reason: reason.map(places::without_runs),
            enforced: enforced.as_ref().map(WireEnforced::of),
            ready: ready.map(|ready| WireReady { took_s: ready.took.as_secs_f64(), attempts: ready.attempts }),
            php: php.as_ref().map(places::read_back),
            answers: answers.iter().map(WireAnswer::of).collect(),
            requests: measured.map(|measured| WireCounts::of(&measured.requests)),
            warm_up_requests: measured.map(|measured| WireCounts::of(&measured.warm_up)),
            reconnects: measured.map(|measured| measured.reconnects),
            window_s: measured.map(|measured| measured.window.as_secs_f64()),
            throughput_rps: derived("throughput_rps"),
            service_us: measured.map(|measured| WireLatencies::of(&measured.service)),
            response_us: measured.map(|measured| WireLatencies::of(&measured.response)),
            status: measured.map_or_else(BTreeMap::new, |measured| measured.status.clone()),
            errors: measured.map_or_else(BTreeMap::new, |measured| measured.errors.clone()),
            bytes_sent: measured.map(|measured| measured.bytes_sent),
            bytes_received: measured.map(|measured| measured.bytes_received),
            cpu_between_s: resources.map(|resources| resources.between.as_secs_f64()),
            cpu_seconds: resources.map(|resources| resources.cpu.as_secs_f64()),
            cpu_us_per_request: derived("cpu_us_per_request"),
            requests_per_cpu_second: derived("requests_per_cpu_second"),
            memory_peak_bytes: resources.map(|resources| resources.memory_peak),
            cache_peak_bytes: resources.map(|resources| resources.cache_peak),
            oom_kills: resources.map(|resources| resources.oom_kills),
            throttled_periods: resources.map(|resources| resources.throttled_periods),
            periods: resources.map(|resources| resources.periods),
            throttled_seconds: resources.map(|resources| resources.throttled.as_secs_f64()),
            generator: measured.map(WireGenerator::of),
            sending: measured.and_then(|measured| measured.sending.as_ref()).map(WireSending::of),
            sampling: measured.and_then(|measured| measured.sampling.as_ref()).map(WireSampling::of),
            load_seconds: measured.and_then(|measured| WireLoadSeconds::of(&measured.load_seconds)),
            turns: measured.map_or_else(Vec::new, |measured| measured.turns.iter().map(WireTurn::of).collect()),
            stops: stops.iter().map(WireStop::of).collect(),
            parts: parts.iter().map(WirePart::of).collect(),
            client_link: link.as_ref().map(WireLink::of),
            steps: measured.map_or_else(Vec::new, |measured| measured.steps.iter().map(WireStep::of).collect()),
            audits: audits.iter().map(WireAudit::of).collect(),
            service: record.map(WireService::of),
            instances: record.zip(figures).map(|(record, figures)| WireInstances::of(record, figures)),
            cold_starts: figures.map(WireColdStarts::of),
            queue: behind_gateway.map(WireQueue::of),
            rejected: figures.map(|figures| figures.rejected),
            rps_per_vcpu: figures.and_then(|figures| figures.rps_per_vcpu),
            bill: figures.and_then(WireBill::of),
            gateway: behind_gateway.zip(figures).map(|(record, figures)| WireGateway::of(record, figures)),
            decisions: in_cluster.map_or_else(Vec::new, WireDecision::all),
            instance_cpus: in_cluster.map_or_else(Vec::new, instance_cpus),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireReady {
    took_s: f64,
    attempts: u32,
}

#[derive(Serialize, JsonSchema)]
struct WireAnswer<'a> {
    exchange: &'a str,
    status: u16,
    body_bytes: u64,
}

impl<'a> WireAnswer<'a> {
    fn of(answer: &'a ServedAnswer) -> Self {
        // What begins with it is a finding.
        let ServedAnswer { exchange, status, body_bytes, new_session: _ } = answer;
        Self { exchange, status: *status, body_bytes: *body_bytes }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireGenerator {
    threads: u32,
    cpu_seconds: f64,
    cpu_us_per_request: Option<f64>,
}

impl WireGenerator {
    fn of(measured: &Measurement) -> Self {
        let GeneratorUse { threads, cpu } = measured.generator;
        let answered = measured.requests.ok + measured.requests.failed;
        Self {
            threads,
            cpu_seconds: cpu.as_secs_f64(),
            cpu_us_per_request: (answered > 0).then(|| rounded(cpu.as_secs_f64() * 1e6 / answered as f64)),
        }
    }
}

/// How the generator sent. Response times from `lower_bound_from_us` on are lower bounds, since censored requests are in them
/// at their age.
#[derive(Serialize, JsonSchema)]
struct WireSending<'a> {
    backend: &'a str,
    unsent: u64,
    censored: u64,
    lower_bound_from_us: Option<f64>,
    lateness_us: WireLatencies,
}

impl<'a> WireSending<'a> {
    fn of(sending: &'a Sending) -> Self {
        let Sending { backend, unsent, censored: Censored { count, least }, lateness } = sending;
        Self {
            backend,
            unsent: *unsent,
            censored: *count,
            lower_bound_from_us: least.map(|least| rounded(least.as_nanos() as f64 / 1e3)),
            lateness_us: WireLatencies::of(lateness),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WireStop<'a> {
    unit: &'a str,
    took_s: f64,
    killed: bool,
    how: &'a str,
}

impl<'a> WireStop<'a> {
    fn of(stop: &'a UnitStop) -> Self {
        let UnitStop { unit, took, killed, how } = stop;
        Self { unit: unit.as_str(), took_s: took.as_secs_f64(), killed: *killed, how }
    }
}
