//! Studies of simulated cases: everything that is not simulated, as a real study has it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use stampede_core::{
    BlockOrder, Bytes, Case, CaseId, CaseRole, CgroupSupport, Counts, CpuLayout, Cpus, ErrorModel, GeneratorUse,
    Groundwork, Latencies, Limits, Load, Machine, Measurement, Rounds, RuntimeId, Study, StudyId, StudyKind, Topology,
    Trial, Tuning, WorkloadId,
};

/// A comparison with windows of this length, of no cases.
pub(crate) fn study(rounds: Rounds, precision: f64, duration: Duration) -> Study {
    Study {
        id: StudyId::new("simulated"),
        kind: StudyKind::Compare,
        workload: WorkloadId::new("simulated"),
        seed: 1,
        rounds,
        precision,
        errors: ErrorModel::AllCases,
        metric: None,
        slo: None,
        warm_up: Duration::from_secs(1),
        duration,
        started_at: Timestamp::UNIX_EPOCH,
        stampede_version: String::new(),
        machine: Machine { cpus: 2, cpu_model: String::new(), kernel: String::new(), cgroup: CgroupSupport::V2 },
        cases: Vec::new(),
        groundwork: Groundwork::default(),
        order: BlockOrder::default(),
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: Default::default(),
    }
}

/// A case under this load.
pub(crate) fn case(id: impl Into<String>, load: Load) -> Case {
    Case {
        id: CaseId::new(id),
        role: CaseRole::Candidate,
        runtime: RuntimeId::new("simulated"),
        runtime_version: String::new(),
        app: String::new(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning: Tuning::new(),
        limits: Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) },
        topology: Topology::default(),
        platform: "local".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load,
        beside: Vec::new(),
    }
}

/// A trial that counts, which began so long after its study.
pub(crate) fn trial(case: &CaseId, block: u32, began: Duration, measurement: Option<Measurement>) -> Trial {
    let started_at = Timestamp::UNIX_EPOCH + SignedDuration::try_from(began).unwrap_or_default();
    Trial { measurement, ..Trial::begun(case.clone(), block, 1, started_at) }
}

/// So many right answers.
pub(crate) fn measurement(window: Duration, ok: u64) -> Measurement {
    Measurement {
        window,
        requests: Counts { sent: ok, ok, failed: 0, unfinished: 0 },
        warm_up: Counts::default(),
        reconnects: 0,
        service: Latencies::coarse(),
        response: Latencies::coarse(),
        status: BTreeMap::new(),
        errors: BTreeMap::new(),
        bytes_sent: 0,
        bytes_received: 0,
        resources: None,
        generator: GeneratorUse { threads: 1, cpu: Duration::ZERO },
        sending: None,
        sampling: None,
        steps: Vec::new(),
        seconds: Vec::new(),
        turns: Vec::new(),
        load_seconds: Vec::new(),
    }
}
