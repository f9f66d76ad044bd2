//! A stop in the midst of requests: the balancer first, then replicas, and no request in flight is cut. And where a front
//! answers 502 in place of the application.
//!
//! A test program of its own: it runs deployments in its own process, which so becomes the reaper of whatever those leave
//! behind (see `ProcessOwner`), and would be that of the programs that other tests kill.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_gateway;
#[path = "../it/counter.rs"]
mod counter;
mod local;
#[path = "../it/stage.rs"]
#[allow(dead_code, reason = "shared with `it`, which uses all of it")]
mod stage;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{
    App, AppKind, Balance, Balancer, BalancerKind, Bytes, ComposeContext, Composed, Composer, Cpus, DefaultsContext,
    Endpoint, Limits, Load, RenderContext, Terms, Topology, Tuning,
};
use stampede_runtimes::Topologies;
use stampede_seam::Platform;

use crate::counter::go_app;
use crate::stage::{Stage, have};

const LIMITS: Limits = Limits { cpus: Cpus::from_millis(800), memory: Bytes::from_mib(256) };
const LOAD: Load = Load::Closed { connections: 8 };
/// How long an answer takes.
const PAUSE: &str = "200ms";

#[test]
fn no_request_in_flight_is_cut() {
    if !have("no_request_in_flight_is_cut", &["nginx", "haproxy", "php-fpm", "go"]) {
        return;
    }
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for kind in BalancerKind::ALL {
        for runtime in ["go", "nginx-fpm"] {
            let stage = Stage::new();
            let app = app(&stage, runtime);
            executor.block_on(drain(&stage, kind, runtime, &app));
            stage.assert_nothing_left();
        }
    }
}

/// An application each of whose answers takes a while.
fn app(stage: &Stage, runtime: &str) -> App {
    let source = stage.home().join("app");
    let kind = if runtime == "go" {
        go_app(&source);
        AppKind::GoProgram
    } else {
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("index.php"), "<?php usleep(200_000); echo 'hello';").unwrap();
        AppKind::FrontController { index: PathBuf::from("index.php") }
    };
    App { source, ..App::new("plain", kind) }
}

const CLIENTS: usize = 8;

/// So many of them are to wait for an answer when the stop is asked for.
const MOST: usize = 6;

/// What was sent within this time before the stop may meet a connection that is being closed.
const JUST_NOW: Duration = Duration::from_millis(20);

async fn drain(stage: &Stage, kind: BalancerKind, runtime: &str, app: &App) {
    let name = format!("{} before {runtime}", kind.id());
    let platform = local::platform(stage);
    let topology = Topology {
        replicas: 2,
        balancer: Some(Balancer {
            kind,
            balance: Balance::RoundRobin,
            upstream_keepalive: 32,
            tls: false,
            share: None,
        }),
        ..Topology::default()
    };
    let runtime = stampede_runtimes::by_id(runtime).unwrap();
    let found = local::find(&platform, &runtime.requires(app)).await;
    let beside = local::find(&platform, &Topologies.requires(&topology)).await;
    let limits = topology.replica_limits(&LIMITS);
    let mut given = Tuning::new();
    if runtime.tunables().iter().any(|tunable| tunable.name == "pm.max_children") {
        given.give("pm.max_children", "8");
    }
    let tuning = runtime.defaults(&DefaultsContext { app, limits: &limits, load: &LOAD, given: &given });
    let context = RenderContext { app, limits: &limits, load: &LOAD, tuning: &tuning, programs: &found };
    let one = runtime.deployment(&context).unwrap();
    let init = BTreeMap::new();
    let context = ComposeContext {
        topology: &topology,
        limits: &LIMITS,
        load: &LOAD,
        programs: &beside,
        certificate: None,
        init: &init,
    };
    let Composed { deployment, parts, .. } = Topologies.compose(one, &context).unwrap();
    let running = platform.launch(&deployment, &Terms { total: LIMITS, parts }).await.unwrap();
    let Endpoint::Tcp(front) = running.front().clone() else { panic!("{name}: no port") };

    let stopped = Arc::new(AtomicBool::new(false));
    let waiting: Waiting = Arc::new(Mutex::new([None; CLIENTS]));
    let clients: Vec<_> =
        (0..CLIENTS).map(|number| client(front, number, Arc::clone(&waiting), Arc::clone(&stopped))).collect();
    until_most_wait(&waiting, &name).await;
    let asked = Instant::now();
    let report = running.stop().await.unwrap();
    let took = asked.elapsed();
    stopped.store(true, Ordering::Relaxed);
    let requests: Vec<Request> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();

    // What is sent while the balancer closes an idle connection may meet its end; what was on its way before may not.
    let in_flight: Vec<&Request> =
        requests.iter().filter(|request| request.sent + JUST_NOW < asked && request.ended > asked).collect();
    assert!(in_flight.len() >= MOST, "{name}: {requests:?}");
    assert!(in_flight.iter().all(|request| request.answered), "{name}: {in_flight:?}");
    assert!(report.units.iter().all(|unit| !unit.killed), "{name}: {report:?}");
    assert_eq!(report.units.last().unwrap().unit.as_str(), "balancer", "{name}");
    assert!(took < Duration::from_secs(4), "{name}: {took:?} {report:?}");
    eprintln!("{name}: {} in flight, stopped in {took:?}", in_flight.len());
}

#[derive(Debug)]
struct Request {
    sent: Instant,
    ended: Instant,
    answered: bool,
}

/// When each client sent the request that it waits for.
type Waiting = Arc<Mutex<[Option<Instant>; CLIENTS]>>;

/// Waits until most clients have waited for a while, and will for another while.
async fn until_most_wait(waiting: &Waiting, name: &str) {
    let begun = Instant::now();
    loop {
        let ages: Vec<Duration> = waiting.lock().unwrap().iter().flatten().map(Instant::elapsed).collect();
        // Past the first answers, every connection is one that is kept.
        let is_warm = begun.elapsed() > Duration::from_millis(500);
        if is_warm && ages.iter().filter(|age| (JUST_NOW * 2..JUST_NOW * 8).contains(&**age)).count() >= MOST {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {ages:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Sends requests on one connection after the other, each kept as long as the server keeps it.
fn client(
    front: SocketAddr,
    number: usize,
    waiting: Waiting,
    stopped: Arc<AtomicBool>,
) -> thread::JoinHandle<Vec<Request>> {
    thread::spawn(move || {
        let mut requests = Vec::new();
        while !stopped.load(Ordering::Relaxed) {
            let Ok(mut connection) = TcpStream::connect(front) else {
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            loop {
                let sent = Instant::now();
                waiting.lock().unwrap()[number] = Some(sent);
                let answer = exchange(&mut connection);
                waiting.lock().unwrap()[number] = None;
                let answered = answer.as_ref().is_some_and(|answer| answer.ends_with("hello"));
                requests.push(Request { sent, ended: Instant::now(), answered });
                if !answered || answer.is_some_and(|answer| answer.to_lowercase().contains("connection: close")) {
                    break;
                }
            }
        }
        requests
    })
}

fn exchange(connection: &mut TcpStream) -> Option<String> {
    write!(connection, "GET /?sleep={PAUSE} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    let mut bytes = [0; 4096];
    while !answer.ends_with("hello") && !answer.ends_with("hello\r\n0\r\n\r\n") {
        let read = connection.read(&mut bytes).ok().filter(|read| *read > 0)?;
        answer.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    // A chunked one ends with its last chunk.
    Some(answer.trim_end_matches("\r\n0\r\n\r\n").to_owned())
}
