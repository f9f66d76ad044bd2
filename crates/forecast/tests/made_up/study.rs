//! Studies that nobody measured, whose figures are known.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{
    Bytes, Case, CaseId, CaseRole, CgroupSupport, Counts, CpuLayout, Cpus, ErrorModel, GeneratorUse, Groundwork,
    Latencies, Limits, Load, Machine, Measurement, Outcome, ReadinessRecord, ResourceUse, Role, Rounds, RuntimeId,
    Study, StudyId, StudyKind, Topology, Trial, Tuning, WorkloadId,
};

/// What three trials of a case measured.
#[derive(Clone, Copy)]
pub(crate) struct MadeUp {
    pub(crate) id: &'static str,
    pub(crate) connections: u32,
    /// Requests at random times, in place of connections that are always busy.
    pub(crate) is_open: bool,
    /// In 5 s.
    pub(crate) requests: u64,
    /// CPU milliseconds of a request.
    pub(crate) cpu_ms: f64,
    /// Service time of the median request; others take from half of it to one and a half.
    pub(crate) service_ms: f64,
    /// Thousandths of a CPU.
    pub(crate) cpus: u32,
    /// Quota periods of 50 in which it stalled.
    pub(crate) stalled: u64,
    pub(crate) ready_ms: u64,
    /// In its pool, and whether somebody said so.
    pub(crate) workers: u32,
    pub(crate) given: bool,
    pub(crate) memory_mib: u64,
}

/// One request at a time on one CPU: 4 ms of CPU and 1 ms off it, with a worker, ready after 300 ms.
pub(crate) const SINGLE: MadeUp = MadeUp {
    id: "single",
    connections: 1,
    is_open: false,
    requests: 1001,
    cpu_ms: 4.0,
    service_ms: 5.0,
    cpus: 1000,
    stalled: 0,
    ready_ms: 300,
    workers: 1,
    given: false,
    memory_mib: 100,
};

/// A study of these cases.
pub(crate) fn study(id: &str, cases: &[MadeUp]) -> (Study, Vec<Trial>) {
    let study = Study {
        id: StudyId::new(id),
        kind: StudyKind::Compare,
        workload: WorkloadId::new("markdown"),
        seed: 1,
        rounds: Rounds::Fixed(3),
        precision: 0.03,
        errors: ErrorModel::AllCases,
        metric: None,
        slo: None,
        warm_up: Duration::from_secs(1),
        duration: Duration::from_secs(5),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        stampede_version: "0.1.0".to_owned(),
        machine: Machine {
            cpus: 2,
            cpu_model: "made up".to_owned(),
            kernel: "6.1".to_owned(),
            cgroup: CgroupSupport::V2,
        },
        cases: cases.iter().map(case).collect(),
        groundwork: Groundwork::default(),
        order: stampede_core::BlockOrder::default(),
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: Default::default(),
    };
    let trials = (1..=3).flat_map(|block| (1..).zip(cases).map(move |(position, case)| trial(case, block, position)));
    (study, trials.collect())
}

fn case(made_up: &MadeUp) -> Case {
    let mut tuning = Tuning::new().with_default("pm.max_children", made_up.workers, "as many as are loaded");
    if made_up.given {
        tuning.give("pm.max_children", &made_up.workers.to_string());
    }
    let tunables = [stampede_core::Tunable {
        name: "pm.max_children",
        role: Role::PoolSize,
        kind: stampede_core::TunableKind::Count { min: 1, max: 100 },
        summary: "",
        manual: "",
    }];
    let tuning = tuning.with_roles(&tunables);
    Case {
        id: CaseId::new(made_up.id),
        runtime: RuntimeId::new("nginx-fpm"),
        role: CaseRole::Candidate,
        runtime_version: "nginx 1.22.1, PHP 8.2.29 NTS".to_owned(),
        app: "plain".to_owned(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning,
        limits: Limits { cpus: Cpus::from_millis(made_up.cpus), memory: Bytes::from_mib(256) },
        topology: Topology::default(),
        platform: "local".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load: load(made_up),
        beside: Vec::new(),
    }
}

#[expect(clippy::expect_used, reason = "a test that cannot go on has failed")]
fn load(made_up: &MadeUp) -> Load {
    if made_up.is_open {
        return "open:poisson:20".parse().expect("a load");
    }
    Load::Closed { connections: made_up.connections }
}

fn trial(made_up: &MadeUp, block: u32, position: u32) -> Trial {
    let ok = made_up.requests;
    let mut service = Latencies::new();
    for index in 0..ok {
        let factor = 0.5 + index as f64 / (ok - 1) as f64;
        service.record_ns((made_up.service_ms * factor * 1e6) as u64);
    }
    let counts = Counts { sent: ok, ok, failed: 0, unfinished: 0 };
    Trial {
        case: CaseId::new(made_up.id),
        block,
        position,
        started_at: jiff::Timestamp::UNIX_EPOCH,
        outcome: Outcome::Measured,
        enforced: None,
        ready: Some(ReadinessRecord { took: Duration::from_millis(made_up.ready_ms), attempts: 3 }),
        php: None,
        answers: Vec::new(),
        measurement: Some(Measurement {
            window: Duration::from_secs(5),
            requests: counts,
            warm_up: Counts::default(),
            reconnects: 0,
            response: service.clone(),
            service,
            status: BTreeMap::from([(200, ok)]),
            errors: BTreeMap::new(),
            bytes_sent: 0,
            bytes_received: 0,
            resources: Some(ResourceUse {
                between: Duration::from_secs(5),
                cpu: Duration::from_secs_f64(made_up.cpu_ms * ok as f64 / 1e3),
                periods: 50,
                throttled_periods: made_up.stalled,
                throttled: Duration::ZERO,
                memory_peak: made_up.memory_mib << 20,
                cache_peak: 0,
                oom_kills: 0,
            }),
            generator: GeneratorUse::default(),
            sending: None,
            sampling: None,
            steps: Vec::new(),
            seconds: Vec::new(),
            turns: Vec::new(),
            load_seconds: Vec::new(),
        }),
        stops: Vec::new(),
        parts: Vec::new(),
        link: None,
        audits: Vec::new(),
        scale: None,
    }
}
