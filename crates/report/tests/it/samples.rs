//! Made-up studies whose figures look like real ones.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stampede_analysis::{Analysis, analyse};
use stampede_core::{
    AddressId, Bytes, Case, CaseId, CaseRole, Censored, CgroupSupport, Counts, CpuLayout, Cpus, EnforcedLimits,
    ErrorClass, ErrorModel, Floor, GatewayUse, Gauge, GeneratorUse, Groundwork, InstanceLife, InstanceUsage, Latencies,
    LeftOut, Limit, Limits, Load, LoadSecond, Machine, Measurement, NoiseFloor, Outcome, Pace, Pilot, ReadinessRecord,
    ResourceUse, Role, Rounds, RuntimeId, Sampling, ScaleRecord, ScaledService, Sending, Series, SeriesSource,
    ServedAnswer, Study, StudyId, StudyKind, Topology, Trial, Tunable, TunableKind, Tuning, UnitId, UnitStop, WarmUp,
    WorkloadId, YardStickReading,
};
use stampede_report::StudyView;

/// A study with its trials.
pub(crate) struct Sample {
    pub(crate) study: Study,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) trials: Vec<Trial>,
    pub(crate) yard_stick: Vec<YardStickReading>,
}

impl Sample {
    /// Hands a view of it to a renderer.
    pub(crate) fn render<T>(&self, render: impl Fn(&StudyView<'_>) -> T) -> T {
        let analysis: Analysis = analyse(&self.study, &self.trials);
        render(&StudyView {
            study: &self.study,
            finished_at: self.finished_at,
            trials: &self.trials,
            yard_stick: &self.yard_stick,
            analysis: &analysis,
            open_part: None,
        })
    }
}

/// Cases with these throughputs, one a block, in blocks of 20 s.
pub(crate) fn plain(cases: &[(&str, &[f64])]) -> Sample {
    let mut sample = four_runtimes();
    sample.study.cases = cases.iter().map(|(id, _)| case(id, "1.0", Tuning::new())).collect();
    sample.study.rounds = Rounds::Fixed(cases[0].1.len() as u32);
    let trials = cases.iter().flat_map(|(id, values)| (1..).zip(*values).map(|(n, value)| measured(id, n, *value, 30)));
    sample.trials = trials.collect();
    sample
}

/// The settings of a runtime that has several modes.
pub(crate) fn mode(name: &str) -> Tuning {
    let tunable = Tunable {
        name: "mode",
        kind: TunableKind::Choice(&["worker", "classic"]),
        summary: "",
        manual: "",
        role: Role::Mode,
    };
    Tuning::new().with_default("mode", name, "it is the faster one").with_roles(&[tunable])
}

/// Four runtimes under half a CPU, all measured in three blocks.
pub(crate) fn four_runtimes() -> Sample {
    let tuning = |names: &[(&str, &str, &str)]| {
        names.iter().fold(Tuning::new(), |tuning, (name, value, reason)| tuning.with_default(name, value, *reason))
    };
    let mut fpm = tuning(&[
        ("pm", "static", "the limits leave nothing to grow into"),
        (
            "worker_processes",
            "1",
            "one for each core that the CPU quota of 0.5 can keep busy at once, not for each of the machine's 2",
        ),
    ]);
    fpm.give("pm.max_children", "8");
    let cases = [
        (
            "apache-mod-php",
            "Apache 2.4.62, PHP 8.2.29 NTS",
            tuning(&[("MaxRequestWorkers", "16", "prefork needs a child for every keep-alive connection")]),
        ),
        ("nginx-fpm", "nginx 1.22.1, PHP 8.2.29 NTS", fpm),
        ("php-cli-server", "PHP 8.2.29 NTS", tuning(&[("PHP_CLI_SERVER_WORKERS", "4", "four for each core")])),
        ("go", "go 1.26.0", tuning(&[("GOMAXPROCS", "1", "the CPU quota of 0.5 rounded up")])),
    ];
    let study = Study {
        id: StudyId::new("20260713-121314-compare-markdown"),
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
        started_at: "2026-07-13T12:13:14.5Z".parse().unwrap(),
        stampede_version: "0.1.0".to_owned(),
        machine: Machine {
            cpus: 2,
            cpu_model: "AMD EPYC 9R14".to_owned(),
            kernel: "6.1.0-37-amd64".to_owned(),
            cgroup: CgroupSupport::V2,
        },
        cases: cases.map(|(id, version, tuning)| case(id, version, tuning)).to_vec(),
        groundwork: Groundwork::default(),
        order: stampede_core::BlockOrder::default(),
        resumed_at: Vec::new(),
        time_over_at: None,
        windows_from: None,
        chosen: Default::default(),
    };
    let throughputs = [
        ("apache-mod-php", [1_402.0, 1_371.0, 1_420.0], 31),
        ("nginx-fpm", [1_380.0, 1_395.0, 1_398.0], 41),
        ("php-cli-server", [610.0, 655.0, 601.0], 62),
        ("go", [7_213.0, 7_190.0, 7_402.0], 14),
    ];
    let trials = (0..3)
        .flat_map(|block| throughputs.map(|(case, values, mib)| measured(case, block as u32 + 1, values[block], mib)));
    let mut sample = Sample {
        study,
        finished_at: Some("2026-07-13T12:15:02Z".parse().unwrap()),
        trials: trials.collect(),
        yard_stick: Vec::new(),
    };
    for trial in &mut sample.trials {
        if trial.case.as_str() == "php-cli-server" {
            let measurement = trial.measurement.as_mut().unwrap();
            measurement.reconnects = measurement.requests.ok;
        }
        if trial.case.as_str() == "go" {
            trial.answers[0].body_bytes = 163;
        }
    }
    sample
}

/// The same, where one runtime never starts, one fails now and then, and the study was interrupted.
pub(crate) fn with_failures() -> Sample {
    let mut sample = four_runtimes();
    sample.finished_at = None;
    sample.trials.truncate(10);
    for trial in &mut sample.trials {
        match (trial.case.as_str(), trial.block) {
            ("apache-mod-php", block) => fail(
                trial,
                // A log tells the time: no two are the same.
                &format!(
                    "start apache2: status 1; its log ends:\n[10:0{block}] (98)Address already in use: AH00072: make_sock: \
                     could not bind to address 127.0.0.1:20001\nno listening sockets available, \
                     \u{1b}[31mshutting down\u{1b}[0m"
                ),
            ),
            ("php-cli-server", 2) => fail(trial, "no answer within 10 s"),
            ("nginx-fpm", _) => {
                let measurement = trial.measurement.as_mut().unwrap();
                measurement.requests.failed = 320;
                measurement.requests.sent += 320;
                measurement.status.insert(502, 320);
                measurement.errors = BTreeMap::from([(ErrorClass::WrongStatus, 320)]);
                measurement.resources.as_mut().unwrap().memory_peak = 251 << 20;
                trial.stops[0].killed = true;
            }
            _ => (),
        }
    }
    sample
}

/// The same on a machine that enforces nothing.
pub(crate) fn without_limits() -> Sample {
    let mut sample = four_runtimes();
    sample.study.machine.cgroup = CgroupSupport::None;
    for case in &mut sample.study.cases {
        case.pinning.generator = vec![0, 1];
        case.pinning.server = vec![0, 1];
    }
    for trial in &mut sample.trials {
        trial.outcome = Outcome::Invalid("the limits were not enforced".to_owned());
        trial.enforced = None;
    }
    sample
}

fn fail(trial: &mut Trial, reason: &str) {
    trial.outcome = Outcome::Failed(reason.to_owned());
    trial.enforced = None;
    trial.ready = None;
    trial.answers.clear();
    trial.measurement = None;
    trial.stops.clear();
}

fn case(id: &str, version: &str, tuning: Tuning) -> Case {
    Case {
        id: CaseId::new(id),
        runtime: RuntimeId::new(id),
        role: match id {
            "go" => CaseRole::Reference,
            "php-cli-server" => CaseRole::NotForProduction,
            _ => CaseRole::Candidate,
        },
        runtime_version: version.to_owned(),
        app: "plain".to_owned(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning,
        limits: Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) },
        topology: Topology::default(),
        platform: "local".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load: Load::Closed { connections: 16 },
        beside: Vec::new(),
    }
}

/// A trial that used its whole quota. Most of its answers are quick; one in ten waits for the next quota period.
fn measured(case: &str, block: u32, throughput: f64, peak_mib: u64) -> Trial {
    let ok = (throughput * 5.0) as u64;
    let mut latencies = Latencies::new();
    for i in 0..ok {
        let quick_ns = 2_000_000_000 / throughput as u64 + i * 10;
        let wait_ns = if i % 10 == 0 { 50_000_000 } else { 0 };
        latencies.record_ns(quick_ns + wait_ns);
    }
    Trial {
        case: CaseId::new(case),
        block,
        position: 1,
        started_at: format!("2026-07-13T12:{:02}:20Z", 12 + block).parse().unwrap(),
        outcome: Outcome::Measured,
        enforced: Some(EnforcedLimits {
            cpus: Limit::AtMost(Cpus::from_millis(500)),
            period: Duration::from_millis(100),
            memory: Limit::AtMost(Bytes::from_mib(256)),
        }),
        ready: Some(ReadinessRecord { took: Duration::from_millis(150), attempts: 3 }),
        php: None,
        answers: vec![
            ServedAnswer { exchange: "render".to_owned(), status: 200, body_bytes: 153, new_session: None },
            ServedAnswer { exchange: "get".to_owned(), status: 400, body_bytes: 27, new_session: None },
        ],
        measurement: Some(Measurement {
            window: Duration::from_secs(5),
            requests: Counts { sent: ok, ok, failed: 0, unfinished: 0 },
            warm_up: Counts { sent: ok / 5, ok: ok / 5, failed: 0, unfinished: 0 },
            reconnects: 0,
            service: latencies.clone(),
            response: latencies,
            status: BTreeMap::from([(200, ok)]),
            errors: BTreeMap::new(),
            bytes_sent: ok * 180,
            bytes_received: ok * 320,
            resources: Some(ResourceUse {
                between: Duration::from_millis(5_002),
                cpu: Duration::from_millis(2_490),
                periods: 50,
                throttled_periods: 49,
                throttled: Duration::from_millis(2_400),
                memory_peak: peak_mib << 20,
                cache_peak: 3 << 20,
                oom_kills: 0,
            }),
            generator: GeneratorUse { threads: 1, cpu: Duration::from_millis(900) },
            sending: Some(Sending {
                backend: "epoll".to_owned(),
                unsent: 0,
                censored: Censored::default(),
                lateness: Latencies::new(),
            }),
            sampling: (case == "nginx-fpm").then(sampling),
            steps: Vec::new(),
            seconds: Vec::new(),
            turns: Vec::new(),
            load_seconds: if case == "nginx-fpm" { load_seconds(3, ok / 5, 0) } else { Vec::new() },
        }),
        stops: vec![UnitStop {
            unit: UnitId::new("main"),
            took: Duration::from_millis(40),
            killed: false,
            how: "status 0".to_owned(),
        }],
        parts: Vec::new(),
        link: None,
        audits: Vec::new(),
        scale: None,
    }
}

/// Three samples of a pool that is full, of a queue, and of the machine.
fn sampling() -> Sampling {
    let fpm = |busy, accepted| {
        vec![
            (Gauge::BusyWorkers, busy),
            (Gauge::TotalWorkers, 8),
            (Gauge::Accepted, accepted),
            (Gauge::MaxChildrenReached, 0),
        ]
    };
    let sources = [
        (SeriesSource::Group, [0, 25, 50].map(|n| vec![(Gauge::Periods, n), (Gauge::ThrottledPeriods, n)])),
        (SeriesSource::Machine, [7, 7, 9].map(|n| vec![(Gauge::ListenOverflows, n)])),
        (SeriesSource::Listener(AddressId::new("fpm")), [0, 8, 3].map(|n| vec![(Gauge::AcceptQueue, n)])),
        (SeriesSource::Listener(AddressId::new("front")), [0; 3].map(|n| vec![(Gauge::AcceptQueue, n)])),
        (SeriesSource::Unit(UnitId::new("php-fpm")), [fpm(7, 100), Vec::new(), fpm(8, 900)]),
    ];
    let series = sources.map(|(source, samples)| {
        let mut series = Series::new(source);
        for (at, figures) in [120, 2_500_090, 5_000_100].into_iter().zip(samples) {
            series.push(Duration::from_micros(at), &figures);
        }
        series
    });
    Sampling { series: series.into(), cpu: Duration::from_millis(21), queries: Vec::new(), inside: None }
}

/// The same with pilots, a noise floor, a reference server that was disturbed in one block, and an interruption.
pub(crate) fn with_trust() -> Sample {
    let mut sample = four_runtimes();
    let steady = |after| Pilot::Steady { after: Duration::from_millis(after), watched: Duration::from_secs(9) };
    let pilots = [
        ("apache-mod-php", 1_000, steady(0)),
        ("nginx-fpm", 1_000, steady(500)),
        ("php-cli-server", 3_500, steady(3_500)),
        ("go", 10_000, Pilot::Unsteady { watched: Duration::from_secs(30) }),
    ];
    let warm_ups = pilots
        .map(|(case, length, pilot)| (CaseId::new(case), WarmUp { length: Duration::from_millis(length), pilot }));
    let floor = Floor { share: 0.0183, deviation: 0.021, pairs: 10 };
    sample.study.groundwork = Groundwork {
        warm_ups: warm_ups.into(),
        floor: Some(NoiseFloor {
            calibration: StudyId::new("20260712-080000-cal"),
            metrics: BTreeMap::from([("throughput_rps".to_owned(), floor)]),
        }),
        left_out: vec![LeftOut {
            case: CaseId::new("swoole"),
            reason: "needs the PHP extension swoole".to_owned(),
            fix: Some("pecl install swoole".to_owned()),
        }],
        ..Groundwork::default()
    };
    sample.study.resumed_at = vec!["2026-07-13T12:14:00Z".parse().unwrap()];
    sample.yard_stick = (1..).zip([6_010, 5_990, 4_500, 6_030, 0]).map(|(block, ok)| reading(block, ok)).collect();
    sample
}

/// Two services whose instances are started as requests come.
pub(crate) fn with_instances() -> Sample {
    let mut sample = plain(&[("large", &[90.0, 92.0, 91.0]), ("small", &[60.0, 61.0, 59.0])]);
    sample.study.kind = StudyKind::Scale;
    sample.study.metric = Some(stampede_analysis::PER_VCPU_SECOND.to_owned());
    for trial in &mut sample.trials {
        let is_small = trial.case.as_str() == "small";
        if let Some(measured) = &mut trial.measurement {
            measured.sampling = None;
        }
        let seconds = Duration::from_secs;
        let life = |ordered: u64, ended: Option<u64>| InstanceLife {
            ordered: seconds(ordered),
            process: Some(Duration::from_millis(120)),
            set_up: Some(Duration::from_millis(30)),
            placed: None,
            ready: Some(Duration::from_millis(180)),
            first_request: Some(Duration::from_millis(40)),
            ended: ended.map(seconds),
            lost: None,
            cpu_millis: None,
        };
        trial.scale = Some(ScaleRecord {
            service: ScaledService {
                policy: "cloud-run".to_owned(),
                concurrency: if is_small { 1 } else { 80 },
                min_instances: 0,
                max_instances: if is_small { 6 } else { 1 },
                queue_length: Limit::Unlimited,
                queue_wait: seconds(10),
                request_timeout: seconds(300),
                start: Duration::from_millis(300),
                price: "cloud-run-requests".to_owned(),
                total_cpus: Some(1),
            },
            opens: seconds(1),
            closes: seconds(6),
            lives: if is_small { vec![life(1, None), life(2, Some(5)), life(3, None)] } else { vec![life(0, None)] },
            waits: Latencies::new(),
            most_waiting: 3,
            rejected: 0,
            usage: InstanceUsage { busy_seconds: 4.0, kept_idle_seconds: 0.0, lived_seconds: 5.0, requests: 450.0 },
            gateway: GatewayUse { cpu: Duration::from_millis(20), requests: 450, ..GatewayUse::default() },
            decisions: Vec::new(),
        });
    }
    sample
}

fn reading(block: u32, ok: u64) -> YardStickReading {
    let second = Duration::from_secs(1);
    YardStickReading {
        block,
        started_at: "2026-07-13T12:13:15Z".parse().unwrap(),
        outcome: if ok > 0 { Outcome::Measured } else { Outcome::Failed("no answer".to_owned()) },
        pace: (ok > 0).then_some(Pace { window: second, ok, cpu: Some((second / 2, second)) }),
    }
}

/// So many cases in so many blocks, all of whose trials were sampled; a few did not count.
pub(crate) fn many(cases: usize, blocks: u32) -> Sample {
    let mut sample = with_trust();
    let names: Vec<String> = (1..=cases).map(|number| format!("runtime-{number:02}")).collect();
    let tuning = |number: usize| {
        let tuning = Tuning::new().with_default("pm", "static", "no worker is started or ended while measuring");
        tuning.with_default("pm.max_children", 4 + number % 3, "as many as the CPU quota can keep busy")
    };
    sample.study.cases = (0..).zip(&names).map(|(number, name)| case(name, "nginx 1.22.1", tuning(number))).collect();
    sample.study.rounds = Rounds::Fixed(blocks);
    sample.study.groundwork.warm_ups.clear();
    sample.study.resumed_at.clear();
    let latencies: Vec<Latencies> = (0..cases as u64).map(latencies).collect();
    let trial = |block: u32, number: usize| {
        let wave = f64::from((block * 7 + number as u32 * 13) % 11);
        let mut trial = measured(&names[number], block, 20.0, 20 + number as u64);
        trial.position = number as u32 + 1;
        trial.started_at = "2026-07-13T12:13:20Z".parse().unwrap();
        let measurement = trial.measurement.as_mut().unwrap();
        let ok = ((2_000.0 - 20.0 * number as f64 + wave * 3.0) * 5.0) as u64;
        measurement.requests = Counts { sent: ok, ok, failed: 0, unfinished: 0 };
        (measurement.service, measurement.response) = (latencies[number].clone(), latencies[number].clone());
        measurement.sending.as_mut().unwrap().lateness = latencies[number].clone();
        measurement.sampling = Some(second_by_second(block, number as u64));
        measurement.load_seconds = load_seconds(60, ok / 5, u64::from(block) + number as u64);
        if (block + number as u32).is_multiple_of(23) {
            trial.outcome = Outcome::Invalid("the load generator was the limit".to_owned());
        }
        trial
    };
    sample.trials = (1..=blocks)
        .flat_map(|block| (0..cases).map(move |number| (block, number)))
        .map(|(b, n)| trial(b, n))
        .collect();
    sample
}

/// What a generator saw in so many seconds, a few of whose requests fail.
fn load_seconds(count: u64, rate: u64, shift: u64) -> Vec<LoadSecond> {
    let second = |second: u64| {
        let wave = (second * 7 + shift * 3) % 11;
        let failed = if (second + shift) % 29 == 28 { 2 } else { 0 };
        LoadSecond {
            second,
            sent: rate + wave,
            ok: rate + wave - failed,
            failed,
            response_p50_us: Some(1_000 + 20 * wave),
            response_p99_us: (rate >= 100).then_some(50_000 + 1_000 * wave),
        }
    };
    (0..count).map(second).collect()
}

/// Most answers are quick; one in ten waits for the next quota period.
fn latencies(number: u64) -> Latencies {
    let mut latencies = Latencies::coarse();
    for i in 0..10_000 {
        latencies
            .record_ns(1_000_000 + number * 50_000 + i * 10 + if i % 10 == 0 { 50_000_000 + i * 1_000 } else { 0 });
    }
    latencies.into_kept()
}

/// A sample a second for a minute, of everything that a page draws.
fn second_by_second(block: u32, number: u64) -> Sampling {
    let at = |tick: u64| (tick + u64::from(block)) * (7 + number) % 5;
    type Gauges = fn(u64, u64) -> Vec<(Gauge, u64)>;
    let sources: [(SeriesSource, Gauges); 4] = [
        (SeriesSource::Group, |tick, wave| {
            vec![
                (Gauge::CpuUs, tick * 480_000 + wave * 1_000),
                (Gauge::Periods, tick * 10),
                (Gauge::ThrottledPeriods, tick * 9 + wave % 2),
                (Gauge::AnonymousBytes, (20 << 20) + (wave << 18)),
                (Gauge::KernelBytes, 1 << 20),
            ]
        }),
        (SeriesSource::Machine, |tick, _| vec![(Gauge::ListenDrops, tick / 20)]),
        (SeriesSource::Listener(AddressId::new("front")), |_, wave| vec![(Gauge::AcceptQueue, wave)]),
        (SeriesSource::Unit(UnitId::new("php-fpm")), |tick, wave| {
            vec![(Gauge::BusyWorkers, wave), (Gauge::Requests, tick * 1_900 + wave * 20)]
        }),
    ];
    let series = sources.map(|(source, figures)| {
        let mut series = Series::new(source);
        (0..=60).for_each(|tick| series.push(Duration::from_millis(tick * 1_000), &figures(tick, at(tick))));
        series
    });
    Sampling { series: series.into(), cpu: Duration::from_millis(21), queries: Vec::new(), inside: None }
}
