//! Topologies and their parts: as JSON, and as lines for a terminal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::median;
use stampede_core::{
    Balance, BalancerKind, CaseId, EnforcedLimits, Limit, LinkUse, Outcome, PartRecord, ReadyBy, ResourceUse, Restart,
    Topology, Trial, UnitRestart,
};

use crate::StudyView;
use crate::json::WireLimits;

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireTopology<'a> {
    replicas: u32,
    replica_share: Option<WireLimits>,
    balancer: Option<WireBalancer>,
    services: Vec<WireService<'a>>,
    #[schemars(with = "String")]
    ready: ReadyBy,
    #[schemars(with = "String")]
    restart: Restart,
    client_rtt_us: Option<f64>,
    client_bits_per_second: Option<u64>,
    client_keep_alive: bool,
}

#[derive(Serialize, JsonSchema)]
struct WireBalancer {
    #[schemars(with = "String")]
    kind: BalancerKind,
    #[schemars(with = "String")]
    balance: Balance,
    upstream_keepalive: u32,
    tls: bool,
    share: Option<WireLimits>,
}

#[derive(Serialize, JsonSchema)]
struct WireService<'a> {
    kind: &'static str,
    settings: &'a BTreeMap<String, String>,
    share: Option<WireLimits>,
    /// The image that it is, in a cluster.
    image: Option<&'a str>,
}

impl<'a> WireTopology<'a> {
    pub(crate) fn of(topology: &'a Topology) -> Self {
        let Topology { replicas, balancer, services, replica_share, ready, restart, link, keep_alive } = topology;
        Self {
            replicas: *replicas,
            replica_share: replica_share.as_ref().map(WireLimits::of),
            balancer: balancer.as_ref().map(|balancer| WireBalancer {
                kind: balancer.kind,
                balance: balancer.balance,
                upstream_keepalive: balancer.upstream_keepalive,
                tls: balancer.tls,
                share: balancer.share.as_ref().map(WireLimits::of),
            }),
            services: services
                .iter()
                .map(|service| WireService {
                    kind: service.kind.id(),
                    settings: &service.settings,
                    share: service.share.as_ref().map(WireLimits::of),
                    image: service.image.as_deref(),
                })
                .collect(),
            ready: *ready,
            restart: *restart,
            client_rtt_us: link.map(|link| link.rtt.as_nanos() as f64 / 1e3),
            client_bits_per_second: link.and_then(|link| link.bits_per_second),
            client_keep_alive: *keep_alive,
        }
    }
}

/// A part of a trial. `enforced` is the tightest of its own share and the total.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WirePart<'a> {
    part: &'a str,
    units: Vec<&'a str>,
    share: Option<WireLimits>,
    enforced_cpus: Option<f64>,
    enforced_memory_bytes: Option<u64>,
    cpu_seconds: Option<f64>,
    cpu_between_s: Option<f64>,
    periods: Option<u64>,
    throttled_periods: Option<u64>,
    memory_peak_bytes: Option<u64>,
    cache_peak_bytes: Option<u64>,
    oom_kills: Option<u64>,
    /// Requests of the window that were sent to it, where it is a target by itself.
    requests: Option<u64>,
    restarts: Vec<WireRestart<'a>>,
    settings: &'a BTreeMap<String, String>,
}

#[derive(Serialize, JsonSchema)]
struct WireRestart<'a> {
    unit: &'a str,
    how: &'a str,
    after_s: f64,
}

impl<'a> WirePart<'a> {
    pub(crate) fn of(record: &'a PartRecord) -> Self {
        let PartRecord { part, units, share, enforced, resources, requests, restarts, settings } = record;
        let used = resources.as_ref();
        Self {
            part,
            units: units.iter().map(|unit| unit.as_str()).collect(),
            share: share.as_ref().map(WireLimits::of),
            enforced_cpus: enforced.as_ref().and_then(|EnforcedLimits { cpus, .. }| match cpus {
                Limit::AtMost(cpus) => Some(cpus.cores()),
                Limit::Unlimited => None,
            }),
            enforced_memory_bytes: enforced.as_ref().and_then(|EnforcedLimits { memory, .. }| match memory {
                Limit::AtMost(bytes) => Some(bytes.get()),
                Limit::Unlimited => None,
            }),
            cpu_seconds: used.map(|used| used.cpu.as_secs_f64()),
            cpu_between_s: used.map(|used| used.between.as_secs_f64()),
            periods: used.map(|used| used.periods),
            throttled_periods: used.map(|used| used.throttled_periods),
            memory_peak_bytes: used.map(|used| used.memory_peak),
            cache_peak_bytes: used.map(|used| used.cache_peak),
            oom_kills: used.map(|used| used.oom_kills),
            requests: *requests,
            restarts: restarts
                .iter()
                .map(|UnitRestart { unit, how, after }| WireRestart {
                    unit: unit.as_str(),
                    how,
                    after_s: after.as_secs_f64(),
                })
                .collect(),
            settings,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WireLink {
    cpu_seconds: f64,
    late_p50_us: f64,
    late_p99_us: f64,
    bytes: u64,
}

impl WireLink {
    pub(crate) fn of(link: &LinkUse) -> Self {
        let LinkUse { cpu, late_p50, late_p99, bytes } = *link;
        let micros = |time: std::time::Duration| time.as_nanos() as f64 / 1e3;
        Self { cpu_seconds: cpu.as_secs_f64(), late_p50_us: micros(late_p50), late_p99_us: micros(late_p99), bytes }
    }
}

/// A line for each part of each case: what it used, as the median of its trials.
pub(crate) fn lines(view: &StudyView<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &view.study.cases {
        let trials: Vec<&Trial> =
            view.trials.iter().filter(|trial| trial.case == case.id && trial.outcome == Outcome::Measured).collect();
        lines.extend(case.topology.parts().iter().filter_map(|part| line(&case.id, &part.name, &trials)));
        let links: Vec<&LinkUse> = trials.iter().filter_map(|trial| trial.link.as_ref()).collect();
        if let Some(late) = median_of(links.iter().map(|link| link.late_p99.as_secs_f64() * 1e3)) {
            let cpu = median_of(links.iter().map(|link| link.cpu.as_secs_f64())).unwrap_or_default();
            lines.push(format!(
                "{} client link: late by {late:.2} ms at p99; {cpu:.2} s of the generator's CPU",
                case.id
            ));
        }
    }
    lines
}

fn line(case: &CaseId, name: &str, trials: &[&Trial]) -> Option<String> {
    let records: Vec<&PartRecord> =
        trials.iter().flat_map(|trial| &trial.parts).filter(|record| record.part == name).collect();
    let used: Vec<&ResourceUse> = records.iter().filter_map(|record| record.resources.as_ref()).collect();
    let cpus = median_of(used.iter().map(|used| used.cpu.as_secs_f64() / used.between.as_secs_f64()))?;
    let memory = median_of(used.iter().map(|used| used.memory_peak as f64))?;
    let share = records.first().and_then(|record| record.share);
    let of = |text: String| if share.is_some() { format!(" of {text}") } else { String::new() };
    let mut text = format!(
        "{case} {name}: {cpus:.2}{} CPUs, {:.0} MiB{}",
        of(share.map_or_else(String::new, |share| share.cpus.to_string())),
        memory / f64::from(1 << 20),
        of(share.map_or_else(String::new, |share| share.memory.to_string())),
    );
    if let Some(share) = median_of(trials.iter().filter_map(|trial| share_of_requests(trial, name))) {
        text.push_str(&format!(", {:.1} % of the requests", share * 100.0));
    }
    let restarts: usize = records.iter().map(|record| record.restarts.len()).sum();
    if restarts > 0 {
        text.push_str(&format!("; started again {restarts} times"));
    }
    Some(text)
}

/// Which share of the requests of all replicas was sent to this one, where that is known.
fn share_of_requests(trial: &Trial, name: &str) -> Option<f64> {
    let of = |record: &PartRecord| record.requests.map(|requests| requests as f64);
    let all: f64 = trial.parts.iter().filter_map(of).sum();
    trial.parts.iter().find(|record| record.part == name).and_then(of).map(|own| own / all)
}

/// Of the figures that are finite: a part that ran for no time has no rate.
fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.filter(|value| value.is_finite()).collect::<Vec<_>>())
}
