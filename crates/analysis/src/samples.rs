//! Made-up records for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    Bytes, Case, CaseId, CaseRole, CgroupSupport, Counts, CpuLayout, Cpus, EnforcedLimits, ErrorModel, GatewayUse,
    GeneratorUse, Groundwork, InstanceLife, InstanceUsage, Latencies, Limit, Limits, Load, Machine, Measurement,
    Outcome, ResourceUse, Rounds, RuntimeId, ScaleRecord, ScaledService, Study, StudyId, StudyKind, Topology, Trial,
    Tuning, WorkloadId,
};

/// A study of these cases under half a CPU and 256 MiB, load `closed:16`.
pub(crate) fn study(cases: &[&str]) -> Study {
    Study {
        id: StudyId::new("s"),
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
        started_at: Timestamp::UNIX_EPOCH,
        stampede_version: "0.1.0".to_owned(),
        machine: Machine { cpus: 2, cpu_model: "some".to_owned(), kernel: "6.1".to_owned(), cgroup: CgroupSupport::V2 },
        cases: cases.iter().map(|id| case(id)).collect(),
        groundwork: Groundwork::default(),
        order: stampede_core::BlockOrder::default(),
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: Default::default(),
    }
}

fn case(id: &str) -> Case {
    Case {
        id: CaseId::new(id),
        runtime: RuntimeId::new(id),
        role: CaseRole::Candidate,
        runtime_version: "PHP 8.2.29 NTS".to_owned(),
        app: "plain".to_owned(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning: Tuning::new(),
        limits: Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) },
        topology: Topology::default(),
        platform: "local".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load: Load::Closed { connections: 16 },
        beside: Vec::new(),
    }
}

/// A measured trial of 5 s at this throughput, under enforced limits and with nothing odd about it.
pub(crate) fn measured(case: &str, block: u32, throughput: f64) -> Trial {
    let ok = (throughput * 5.0).round() as u64;
    let mut latencies = Latencies::new();
    (0..ok).for_each(|i| latencies.record_ns(1_000_000 + i));
    Trial {
        case: CaseId::new(case),
        block,
        position: 1,
        started_at: Timestamp::UNIX_EPOCH,
        outcome: Outcome::Measured,
        enforced: Some(EnforcedLimits {
            cpus: Limit::AtMost(Cpus::from_millis(500)),
            period: Duration::from_millis(100),
            memory: Limit::AtMost(Bytes::from_mib(256)),
        }),
        ready: None,
        php: None,
        answers: Vec::new(),
        measurement: Some(Measurement {
            window: Duration::from_secs(5),
            requests: Counts { sent: ok, ok, failed: 0, unfinished: 0 },
            warm_up: Counts::default(),
            reconnects: 0,
            service: latencies.clone(),
            response: latencies,
            status: BTreeMap::from([(200, ok)]),
            errors: BTreeMap::new(),
            bytes_sent: 0,
            bytes_received: 0,
            resources: Some(ResourceUse {
                between: Duration::from_secs(5),
                cpu: Duration::from_secs(2),
                periods: 50,
                throttled_periods: 0,
                throttled: Duration::ZERO,
                memory_peak: 50 << 20,
                cache_peak: 0,
                oom_kills: 0,
            }),
            generator: GeneratorUse { threads: 1, cpu: Duration::from_secs(1) },
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

/// A trial that could not be measured.
pub(crate) fn failed(case: &str, block: u32) -> Trial {
    Trial {
        outcome: Outcome::Failed("no answer".to_owned()),
        measurement: None,
        enforced: None,
        ..measured(case, block, 1.0)
    }
}

/// A trial of an autoscaled service of which so many instances lived all along its 5 s, each given so many requests at once.
pub(crate) fn scaled(case: &str, block: u32, throughput: f64, concurrency: u32, instances: u32) -> Trial {
    let service = ScaledService {
        policy: "cloud-run".to_owned(),
        concurrency,
        min_instances: 0,
        max_instances: instances,
        queue_length: Limit::Unlimited,
        queue_wait: Duration::from_secs(10),
        request_timeout: Duration::from_secs(300),
        start: Duration::from_secs(1),
        price: "cloud-run-requests".to_owned(),
        total_cpus: None,
    };
    let life = InstanceLife {
        process: Some(Duration::from_millis(400)),
        ready: Some(Duration::from_millis(600)),
        ..InstanceLife::default()
    };
    let scale = ScaleRecord {
        service,
        opens: Duration::from_secs(10),
        closes: Duration::from_secs(15),
        lives: vec![life; instances as usize],
        waits: Latencies::new(),
        most_waiting: 0,
        rejected: 0,
        usage: InstanceUsage::default(),
        gateway: GatewayUse::default(),
        decisions: Vec::new(),
    };
    Trial { scale: Some(scale), ..measured(case, block, throughput) }
}
