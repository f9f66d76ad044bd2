//! Made-up records in which every field has a value of its own, so that two swapped columns show.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{
    AddressId, AuditRecord, AuditTold, Autoloader, BlockOrder, Bytes, Case, CaseId, CaseRole, Censored, CgroupSupport,
    ClientLink, Counts, CpuLayout, Cpus, Denied, EnforcedLimits, ErrorClass, ErrorModel, Fallback, Floor, GatewayUse,
    Gauge, GeneratorUse, Groundwork, InsideEffort, InsideFunction, InsideNative, InsideRecord, InsideStack,
    InsideState, InsideTarget, InsideTimes, InsideWait, InstanceLife, InstanceUsage, Latencies, LeftOut, Limit, Limits,
    LinkUse, Load, LoadSecond, Machine, Measurement, NoiseFloor, Outcome, Pace, PartRecord, PhpBuild, PhpReadBack,
    Pilot, QuerySeen, ReadinessRecord, ResourceUse, Revision, Rounds, RuntimeId, Sampling, ScaleDecision, ScaleRecord,
    ScaledService, Sending, Series, SeriesSource, ServedAnswer, Service, ServiceKind, Site, SloSecond, StepRecord,
    Study, StudyId, StudyKind, Topology, Trial, Tuning, Turn, UnitId, UnitRestart, UnitStop, WarmUp, WorkloadId,
    YardStickReading,
};

pub(crate) fn study(id: &str, started_at_s: i64) -> Study {
    let mut tuning = Tuning::new().with_default("pm", "static", "constant memory");
    tuning.give("pm.max_children", "16");
    Study {
        id: StudyId::new(id),
        kind: StudyKind::Compare,
        workload: WorkloadId::new("markdown"),
        seed: u64::MAX,
        rounds: Rounds::Fixed(3),
        precision: 0.025,
        errors: ErrorModel::AllCases,
        metric: Some("cpu_us_per_request".to_owned()),
        slo: Some("p99<100ms,errors<0.1%".parse().unwrap()),
        warm_up: Duration::from_millis(1_500),
        duration: Duration::from_nanos(5_000_000_001),
        started_at: Timestamp::new(started_at_s, 123_456_789).unwrap(),
        stampede_version: "0.1.0".to_owned(),
        machine: Machine {
            cpus: 2,
            cpu_model: "Some CPU \"quoted\" ü".to_owned(),
            kernel: "6.1.0".to_owned(),
            cgroup: CgroupSupport::V1,
        },
        cases: vec![case("nginx-fpm", tuning), case("go", Tuning::new())],
        groundwork: Groundwork {
            warm_ups: BTreeMap::from([
                ("nginx-fpm", Pilot::Steady { after: Duration::from_millis(500), watched: Duration::from_secs(9) }),
                ("go", Pilot::Untold { why: "answered nothing".to_owned() }),
            ])
            .into_iter()
            .map(|(case, pilot)| (CaseId::new(case), WarmUp { length: Duration::from_millis(2_500), pilot }))
            .collect(),
            floor: Some(NoiseFloor {
                calibration: StudyId::new("0712-c"),
                metrics: BTreeMap::from([(
                    "throughput_rps".to_owned(),
                    Floor { share: 0.0125, deviation: 0.03, pairs: 10 },
                )]),
            }),
            left_out: vec![LeftOut {
                case: CaseId::new("swoole"),
                reason: "needs the PHP extension swoole".to_owned(),
                fix: None,
            }],
            generators: Vec::new(),
            node: None,
            peaks: BTreeMap::from([(CaseId::new("go"), Bytes::new(9 << 20))]),
            order_why: Some("two cases that fit".to_owned()),
            window_why: Some("starts are short".to_owned()),
            up_together: Some(2),
        },
        order: BlockOrder::Turns,
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: Default::default(),
    }
}

/// A reading that counted and one that could not.
pub(crate) fn readings() -> Vec<YardStickReading> {
    let started_at = Timestamp::new(1_700_000_001, 7).unwrap();
    let pace = Pace {
        window: Duration::from_millis(1_000),
        ok: 5_432,
        cpu: Some((Duration::from_millis(499), Duration::from_millis(1_001))),
    };
    let reading = |block, outcome, pace| YardStickReading { block, started_at, outcome, pace };
    vec![
        reading(1, Outcome::Measured, Some(pace)),
        reading(1, Outcome::Invalid("late".to_owned()), Some(Pace { cpu: None, ..pace })),
        reading(2, Outcome::Failed("no answer".to_owned()), None),
    ]
}

fn case(id: &str, tuning: Tuning) -> Case {
    Case {
        id: CaseId::new(id),
        runtime: RuntimeId::new(format!("{id}-runtime")),
        role: if id == "go" { CaseRole::Reference } else { CaseRole::Candidate },
        runtime_version: "nginx 1.22.1, PHP 8.2.29 NTS".to_owned(),
        app: "symfony".to_owned(),
        site: Some(Site {
            root: Some("public".into()),
            files: true,
            fallback: Fallback::PathInfo,
            denied: vec![Denied::Folder("private".to_owned()), Denied::Ending("yml".to_owned())],
            hidden: vec![Denied::Name(".user.ini".to_owned())],
            htaccess: true,
            host: None,
            https: false,
        }),
        revision: Some(Revision { commit: "3f2a91c0b7".repeat(4), is_dirty: id == "go" }),
        autoloader: Some(Autoloader { developers: 2, class_map: id == "go" }),
        php: Some(build()),
        tuning,
        limits: Limits { cpus: Cpus::from_millis(167), memory: Bytes::from_mib(256) },
        topology: Topology {
            replicas: 2,
            services: vec![Service {
                kind: ServiceKind::Postgres,
                settings: BTreeMap::from([("work_mem".to_owned(), "8MB".to_owned())]),
                share: Some(Limits { cpus: Cpus::from_millis(50), memory: Bytes::from_mib(64) }),
                image: None,
            }],
            link: Some(ClientLink { rtt: Duration::from_millis(20), bits_per_second: None }),
            keep_alive: false,
            ..Topology::default()
        },
        platform: "local".to_owned(),
        base_image: Some("debian:bookworm".to_owned()),
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load: Load::Closed { connections: 16 },
        beside: vec!["open:5".parse().unwrap()],
    }
}

fn build() -> PhpBuild {
    PhpBuild {
        version: "8.2.29".to_owned(),
        thread_safe: false,
        debug: false,
        libc: "glibc".to_owned(),
        configure: "./configure --enable-fpm".to_owned(),
        extension_dir: "/usr/lib/php/20220829".into(),
        built_in: vec!["core".to_owned()],
        loadable: vec!["mbstring".to_owned()],
        setup: None,
    }
}

fn read_back() -> PhpReadBack {
    PhpReadBack {
        version: "8.2.29".to_owned(),
        sapi: "fpm-fcgi".to_owned(),
        extensions: BTreeMap::from([("mbstring".to_owned(), "8.2.29".to_owned())]),
        settings: BTreeMap::from([("memory_limit".to_owned(), "128M".to_owned())]),
        opcache: true,
        ..PhpReadBack::default()
    }
}

pub(crate) fn measured(case: &str, block: u32) -> Trial {
    let mut service = Latencies::new();
    let mut response = Latencies::new();
    let mut lateness = Latencies::new();
    let mut step = Latencies::new();
    step.record_ns(2_000);
    for i in 1..=1_000 {
        service.record_ns(i * 1_000);
        response.record_ns(i * 1_100);
        lateness.record_ns(i * 10);
    }
    Trial {
        case: CaseId::new(case),
        block,
        position: 2,
        started_at: Timestamp::new(1_700_000_000 + i64::from(block), 1).unwrap(),
        outcome: Outcome::Measured,
        enforced: Some(EnforcedLimits {
            cpus: Limit::AtMost(Cpus::from_millis(168)),
            period: Duration::from_millis(100),
            memory: Limit::AtMost(Bytes::from_mib(255)),
        }),
        ready: Some(ReadinessRecord { took: Duration::from_millis(321), attempts: 4 }),
        php: Some(read_back()),
        answers: vec![ServedAnswer { exchange: "render".to_owned(), status: 200, body_bytes: 153, new_session: None }],
        measurement: Some(Measurement {
            window: Duration::from_secs(5),
            requests: Counts { sent: 1_010, ok: 1_000, failed: 7, unfinished: 3 },
            warm_up: Counts { sent: 206, ok: 200, failed: 5, unfinished: 1 },
            reconnects: 11,
            service,
            response,
            status: BTreeMap::from([(200, 1_000), (502, 6)]),
            errors: BTreeMap::from([(ErrorClass::WrongStatus, 6), (ErrorClass::Reset, 1)]),
            bytes_sent: 12_000,
            bytes_received: 34_000,
            resources: Some(ResourceUse {
                between: Duration::from_millis(5_001),
                cpu: Duration::from_millis(835),
                periods: 50,
                throttled_periods: 49,
                throttled: Duration::from_millis(4_100),
                memory_peak: 41 << 20,
                cache_peak: 9 << 20,
                oom_kills: 1,
            }),
            generator: GeneratorUse { threads: 2, cpu: Duration::from_millis(701) },
            sending: Some(Sending {
                backend: "io-uring".to_owned(),
                unsent: 12,
                censored: Censored { count: 15, least: Some(Duration::from_micros(77)) },
                lateness,
            }),
            sampling: Some(Sampling {
                series: series(),
                cpu: Duration::from_micros(1_234),
                queries: queries(),
                inside: Some(Box::new(inside())),
            }),
            seconds: vec![SloSecond { ended: 5, beyond: vec![0, 1] }, SloSecond { ended: 3, beyond: vec![3, 0] }],
            turns: vec![Turn {
                at: Duration::from_millis(1_230),
                window: Duration::from_millis(900),
                ok: 88,
                cpu: Some(Duration::from_micros(450_001)),
                periods: 9,
                stolen: None,
            }],
            load_seconds: vec![LoadSecond {
                second: 0,
                sent: 9,
                ok: 7,
                failed: 1,
                response_p50_us: Some(1_200),
                response_p99_us: None,
            }],
            steps: vec![StepRecord {
                name: "create and follow/create".to_owned(),
                requests: Counts { sent: 110, ok: 100, failed: 7, unfinished: 3 },
                unsent: 5,
                service: step.clone(),
                response: step.clone(),
                censored: Censored { count: 3, least: Some(Duration::from_micros(99)) },
                status: BTreeMap::from([(201, 90), (422, 10)]),
                errors: BTreeMap::from([(ErrorClass::TimedOut, 7)]),
            }],
        }),
        stops: vec![UnitStop {
            unit: UnitId::new("nginx"),
            took: Duration::from_millis(12),
            killed: true,
            how: "signal 9 (SIGKILL)".to_owned(),
        }],
        parts: vec![PartRecord {
            part: "replica-1".to_owned(),
            units: vec![UnitId::new("nginx-1")],
            share: None,
            enforced: None,
            resources: Some(ResourceUse { cpu: Duration::from_millis(400), ..ResourceUse::default() }),
            requests: None,
            restarts: vec![UnitRestart {
                unit: UnitId::new("nginx-1"),
                how: "status 1".to_owned(),
                after: Duration::from_millis(1_500),
            }],
            settings: BTreeMap::new(),
        }],
        link: Some(LinkUse { cpu: Duration::from_millis(90), bytes: 1_000, ..LinkUse::default() }),
        audits: vec![AuditRecord {
            name: "people".to_owned(),
            answered: 90,
            unknown: 3,
            told: vec![AuditTold { by: "postgres".to_owned(), before: 1, after: 92 }],
        }],
        scale: Some(ScaleRecord {
            service: ScaledService {
                policy: "cloud-run".to_owned(),
                concurrency: 80,
                min_instances: 1,
                max_instances: 6,
                queue_length: Limit::AtMost(7),
                queue_wait: Duration::from_millis(10_001),
                request_timeout: Duration::from_secs(300),
                start: Duration::from_micros(420_017),
                price: "cloud-run-requests".to_owned(),
                total_cpus: None,
            },
            opens: Duration::from_micros(3),
            closes: Duration::from_secs(30),
            lives: vec![
                InstanceLife {
                    process: Some(Duration::from_micros(7)),
                    placed: Some(Duration::from_micros(2)),
                    cpu_millis: Some(251),
                    ..InstanceLife::default()
                },
                InstanceLife { lost: Some("had php-fpm end".to_owned()), ..InstanceLife::default() },
            ],
            waits: step.clone(),
            most_waiting: 20,
            rejected: 4,
            usage: InstanceUsage { busy_seconds: 0.1, kept_idle_seconds: 0.2, lived_seconds: 0.3, requests: 9.0 },
            gateway: GatewayUse { cpu: Duration::from_micros(17), requests: 13, ..GatewayUse::default() },
            decisions: vec![ScaleDecision { at: Duration::from_micros(5), wanted: 2, used: Some(0.75) }],
        }),
    }
}

fn inside() -> InsideRecord {
    let wait = InsideWait {
        call: Some("flock".to_owned()),
        kernel: None,
        target: Some(InsideTarget::File("/tmp/sess_\u{fffd}<b>".to_owned())),
    };
    let stack = |frames: &[u32], state, samples| InsideStack {
        frames: frames.to_vec(),
        line: Some(7),
        state,
        request: Some("/users".to_owned()),
        samples,
    };
    let second = Duration::from_secs(1);
    InsideRecord {
        functions: vec![
            InsideFunction { file: Some("/app/index.php".to_owned()), ..InsideFunction::default() },
            InsideFunction { name: Some("session_start".to_owned()), ..InsideFunction::default() },
        ],
        stacks: vec![stack(&[0], InsideState::Running, 9), stack(&[0, 1], InsideState::Waiting(wait), 4)],
        spent: InsideTimes { running: second, ready: Duration::ZERO, waiting: second * 3, waits: 40 },
        effort: InsideEffort { taken: 13, torn: 1, moved: 2, skipped: 0, missed: 0, cpu: Duration::from_millis(3) },
        sampled: vec![Duration::ZERO..second],
        problems: vec!["no PHP".to_owned()],
        native: InsideNative::default(),
    }
}

fn queries() -> Vec<QuerySeen> {
    let unit = UnitId::new("postgres");
    vec![QuerySeen {
        unit,
        text: "SELECT \"saldo\" FROM clientes WHERE id = $1 /* … */".to_owned(),
        seen: 17,
        locked: 5,
    }]
}

/// Of every kind of source, with a sample that has nothing.
fn series() -> Vec<Series> {
    let sources = [
        SeriesSource::Group,
        SeriesSource::Machine,
        SeriesSource::Listener(AddressId::new("front")),
        SeriesSource::Unit(UnitId::new("php-fpm")),
    ];
    let series = sources.map(|source| {
        let mut series = Series::new(source);
        series.push(Duration::from_micros(7), &[(Gauge::BusyWorkers, 3), (Gauge::CpuUs, u64::from(u32::MAX) * 9)]);
        series.push(Duration::from_micros(100_012), &[]);
        series.push(Duration::from_micros(200_001), &[(Gauge::BusyWorkers, 0)]);
        series
    });
    series.into()
}

/// Trials of every outcome, with everything absent that can be.
pub(crate) fn trials() -> Vec<Trial> {
    let failed = Trial {
        outcome: Outcome::Failed("php-fpm ended: status 78".to_owned()),
        enforced: None,
        ready: None,
        php: None,
        answers: Vec::new(),
        measurement: None,
        stops: Vec::new(),
        parts: Vec::new(),
        link: None,
        audits: Vec::new(),
        scale: None,
        ..measured("nginx-fpm", 2)
    };
    let invalid = Trial {
        outcome: Outcome::Invalid("the limits were not enforced".to_owned()),
        enforced: Some(EnforcedLimits {
            cpus: Limit::Unlimited,
            period: Duration::from_millis(100),
            memory: Limit::Unlimited,
        }),
        ..measured("go", 2)
    };
    vec![measured("nginx-fpm", 1), measured("go", 1), invalid, failed]
}
