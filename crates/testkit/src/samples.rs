//! A small application, cases of it, and the result of a load; a load.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    AddressId, Body, Bytes, Case, CaseId, CaseRole, Censored, Counts, CpuLayout, Cpus, Deployment, Endpoint, Exchange,
    Expectation, GeneratorUse, GracefulStop, Latencies, Limits, Load, Program, Protocol, Ready, Request, RuntimeId,
    StopSignal, Topology, Tuning, Unit, UnitId, Workload, WorkloadId,
};
use stampede_seam::{
    AnswerFacts, Backend, Check, LittlesLaw, LoadExchange, LoadOrder, LoadResult, LoadSpec, Measures, Pause, Statuses,
};

/// What the application answers to everything.
pub const BODY: &str = "hello";

/// What each case may use.
pub const LIMITS: Limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(64) };

/// An application with one page.
pub fn workload() -> Workload {
    Workload {
        id: WorkloadId::new("hello"),
        title: "says hello".to_owned(),
        apps: Vec::new(),
        exchanges: vec![exchange("home", "/")],
        cookies: false,
        services: Vec::new(),
        play: None,
        audits: Vec::new(),
    }
}

/// A request that must be answered with [`BODY`].
pub fn exchange(name: &str, path: &str) -> Exchange {
    Exchange {
        name: name.to_owned(),
        request: Request {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: BTreeMap::new(),
            body: Vec::new(),
        },
        expect: Expectation {
            status: 200,
            body: Body::Bytes(BODY.as_bytes().to_vec()),
            gzip: false,
            head: Default::default(),
        },
        weight: 1,
        once: false,
        optional: false,
    }
}

/// A case of this name under [`LIMITS`] and a closed load of eight connections.
pub fn case(name: &str) -> Case {
    Case {
        id: CaseId::new(name),
        runtime: RuntimeId::new(name),
        role: CaseRole::Candidate,
        runtime_version: "1.0".to_owned(),
        app: "hello".to_owned(),
        site: None,
        revision: None,
        autoloader: None,
        php: None,
        tuning: Tuning::default(),
        limits: LIMITS,
        topology: Topology::default(),
        platform: "fake".to_owned(),
        base_image: None,
        pinning: CpuLayout { server: vec![1], generator: vec![0] },
        load: Load::Closed { connections: 8 },
        beside: Vec::new(),
    }
}

/// A deployment of one unit of this name.
pub fn deployment(name: &str) -> Deployment {
    let unit = Unit {
        id: UnitId::new(name),
        build: None,
        files: Vec::new(),
        folders: Vec::new(),
        check: None,
        program: Program { path: "/fake".to_owned(), args: Vec::new(), env: BTreeMap::new() },
        logs: Vec::new(),
        statuses: Vec::new(),
        ready: Ready::Request,
        stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(1) },
    };
    Deployment {
        addresses: Vec::new(),
        front: AddressId::new("front"),
        app: PathBuf::new(),
        container: None,
        image: None,
        preparation: None,
        probe: None,
        units: vec![unit],
    }
}

/// `GET /` that is to be answered with 200, for a second, on the first processor that the caller may use.
pub fn load_order(target: &Endpoint, load: Load) -> LoadOrder {
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    let spec = LoadSpec {
        targets: vec![target.clone()],
        host: target.to_string(),
        protocol: Protocol::Http11,
        tls: None,
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
        load,
        think: Pause::default(),
        scenario: None,
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(1),
        requests: None,
        drain: Duration::from_secs(5),
        timeout: None,
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: true,
        cpus: first_cpu().into_iter().collect(),
        backend: Backend::Epoll,
    };
    LoadOrder { spec, link: None, begins: None, turns: Vec::new() }
}

/// A processor that the caller may use.
fn first_cpu() -> Option<u32> {
    let own = rustix::thread::sched_getaffinity(None).ok()?;
    (0..1024).find(|cpu| own.is_set(*cpu)).and_then(|cpu| u32::try_from(cpu).ok())
}

/// 20,000 answers between 10 and 30 ms on 100 connections within ten seconds.
pub fn load_result() -> LoadResult {
    let latencies = |from_us: u64, count: u64, step_ns: u64| {
        let mut latencies = Latencies::new();
        (0..count).for_each(|number| latencies.record_ns(from_us * 1000 + number * step_ns));
        latencies
    };
    LoadResult {
        window: Duration::from_secs(10),
        turns: Vec::new(),
        by_target: Vec::new(),
        backend: Backend::Epoll,
        total: Measures {
            requests: Counts { sent: 20_000, ok: 20_000, failed: 0, unfinished: 0 },
            unsent: 0,
            warm_up: Counts::default(),
            warm_up_status: BTreeMap::new(),
            service: latencies(10_000, 20_000, 1000),
            response: latencies(10_010, 20_000, 1000),
            censored: Censored::default(),
            first_byte: latencies(9000, 20_000, 1000),
            connect: latencies(100, 100, 10_000),
            tls: Latencies::new(),
            lateness: latencies(1, 20_000, 0),
            status: BTreeMap::from([(200, 20_000)]),
            errors: BTreeMap::new(),
            events: None,
        },
        steps: Vec::new(),
        slices: Vec::new(),
        flows: Vec::new(),
        unmatched_captures: Vec::new(),
        exhausted_feeders: Vec::new(),
        reconnects: 0,
        bytes_sent: 2_000_000,
        bytes_received: 4_000_000,
        generator: GeneratorUse { threads: 2, cpu: Duration::from_secs(1) },
        spin: Duration::ZERO,
        begun_late: None,
        littles_law: LittlesLaw::default(),
        saturation: None,
        facts: AnswerFacts::default(),
        wrong_answers: Vec::new(),
        first_failure: None,
    }
}
