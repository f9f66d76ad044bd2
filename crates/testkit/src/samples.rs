//! A small application, and cases of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    AddressId, Body, Bytes, Case, CaseId, CpuLayout, Cpus, Deployment, Exchange, Expectation, Limits, Load, Program,
    Ready, Request, RuntimeId, Stop, StopSignal, Topology, Tuning, Unit, UnitId, Workload, WorkloadId,
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
        expect: Expectation { status: 200, body: Body::Bytes(BODY.as_bytes().to_vec()), gzip: false },
        in_load: true,
        once: false,
        optional: false,
    }
}

/// A case of this name under [`LIMITS`] and a closed load of eight connections.
pub fn case(name: &str) -> Case {
    Case {
        id: CaseId::new(name),
        runtime: RuntimeId::new(name),
        runtime_version: "1.0".to_owned(),
        app: "hello".to_owned(),
        revision: None,
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
        stop: Stop { signal: StopSignal::Term, grace: Duration::from_secs(1) },
    };
    Deployment {
        addresses: Vec::new(),
        front: AddressId::new("front"),
        app: PathBuf::new(),
        preparation: None,
        probe: None,
        units: vec![unit],
    }
}
