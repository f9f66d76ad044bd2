//! Connections and targets take turns, and targets come and go: servers that count for each of their connections.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{Endpoint, Protocol};
use stampede_load::{Backend, LoadResult, LoadSpec, Shard, StartError, start};
use stampede_testkit::{Behaviour, Close, CountingServer, Received, ReservedPort};

use crate::asking::{MS, cpus, on_each_backend, spec, total};
use crate::http2_peer::{Came, Http2Server, Peer};

on_each_backend! {
    connections_whose_number_is_given_carry_the_same_number_of_requests,
    without_a_number_connections_open_as_they_are_needed_and_targets_take_turns,
    four_replicas_have_a_quarter_each_at_a_tenth_of_their_capacity,
    shards_together_have_the_same_number_of_connections_to_each_target,
    replicas_behind_a_balancer_of_connections_have_a_quarter_each,
    connections_that_a_server_closes_as_idle_are_reconnects_and_no_errors,
    without_a_number_a_connection_that_was_closed_as_idle_is_not_needed,
    targets_come_and_go_while_load_runs,
    targets_of_http2_come_and_go_while_load_runs,
    a_load_at_rest_leaves_a_target_at_once,
}

/// 16 connections to servers of this delay carry 3,200 requests a second.
fn replica() -> Behaviour {
    Behaviour { delay: 5 * MS, ..Behaviour::default() }
}

/// A tenth of that, due in two ways.
const TENTH: [&str; 2] = ["open:320@16", "open:poisson:320@16"];

/// One thread, and two where there are as many processors.
fn threads() -> Vec<Vec<u32>> {
    (1..=cpus().len().min(2)).map(|threads| cpus()[..threads].to_vec()).collect()
}

/// Nothing went wrong, and no connection was opened a second time.
fn is_smooth(what: &str, result: &LoadResult) {
    let counts = total(result);
    assert_eq!((counts.ok, result.reconnects, result.total.unsent), (counts.sent, 0, 0), "{what} {result:?}");
}

/// Each of four has 25 % within 1 point.
fn assert_quarters(what: &str, requests: &[u64]) {
    let sum = requests.iter().sum::<u64>() as f64;
    let shares: Vec<f64> = requests.iter().map(|count| *count as f64 / sum * 100.0).collect();
    assert!(shares.len() == 4 && shares.iter().all(|share| (share - 25.0).abs() < 1.0), "{what}: {shares:?}");
}

fn connections_whose_number_is_given_carry_the_same_number_of_requests(backend: Backend) {
    for (load, cpus) in TENTH.iter().flat_map(|load| threads().into_iter().map(move |cpus| (load, cpus))) {
        let server = CountingServer::start(replica()).unwrap();
        let what = format!("{load} on {cpus:?}");
        let result = start(LoadSpec { cpus, ..spec(backend, server.endpoint(), load) }).unwrap().finish();
        is_smooth(&what, &result);
        let Received { by_connection, .. } = server.stop();
        assert_eq!(by_connection.len(), 16, "{what}");
        let (fewest, most) = (by_connection.iter().min().unwrap(), by_connection.iter().max().unwrap());
        assert!(most - fewest <= 2, "{what}: {by_connection:?}");
    }
}

fn without_a_number_connections_open_as_they_are_needed_and_targets_take_turns(backend: Backend) {
    let servers: Vec<_> = (0..4).map(|_| CountingServer::start(Behaviour::default()).unwrap()).collect();
    let targets = servers.iter().map(|server| server.endpoint().clone()).collect();
    let result = start(LoadSpec { targets, ..spec(backend, servers[0].endpoint(), "open:200") }).unwrap().finish();
    is_smooth("open:200", &result);
    let received: Vec<_> = servers.into_iter().map(CountingServer::stop).collect();
    assert_quarters("open:200", &received.iter().map(Received::requests).collect::<Vec<_>>());
    let connections: u64 = received.iter().map(|received| received.connections).sum();
    // A machine that is held up has a few due at the same time.
    assert!((4..20).contains(&connections), "{connections}");
}

fn four_replicas_have_a_quarter_each_at_a_tenth_of_their_capacity(backend: Backend) {
    for (load, cpus) in TENTH.iter().flat_map(|load| threads().into_iter().map(move |cpus| (load, cpus))) {
        let servers: Vec<_> = (0..4).map(|_| CountingServer::start(replica()).unwrap()).collect();
        let targets = servers.iter().map(|server| server.endpoint().clone()).collect();
        let what = format!("{load} on {cpus:?}");
        let spec = LoadSpec { targets, cpus, duration: 1000 * MS, ..spec(backend, servers[0].endpoint(), load) };
        let result = start(spec).unwrap().finish();
        is_smooth(&what, &result);
        let received: Vec<_> = servers.into_iter().map(CountingServer::stop).collect();
        assert_quarters(&what, &received.iter().map(Received::requests).collect::<Vec<_>>());
        assert!(received.iter().all(|received| received.connections == 4), "{what}");
    }
}

/// Three generators of a load, whose connections are no multiple of the targets.
fn shards_together_have_the_same_number_of_connections_to_each_target(backend: Backend) {
    for load in ["closed:64", "open:640@64"] {
        let servers: Vec<_> = (0..4).map(|_| CountingServer::start(replica()).unwrap()).collect();
        let targets: Vec<Endpoint> = servers.iter().map(|server| server.endpoint().clone()).collect();
        let of = NonZeroU32::new(3).unwrap();
        let part = |index| {
            let shard = Some(Shard { index, of });
            let spec = spec(backend, servers[0].endpoint(), load);
            start(LoadSpec { targets: targets.clone(), shard, duration: 1000 * MS, ..spec }).unwrap()
        };
        let parts: Vec<_> = (0..3).map(part).collect();
        let results: Vec<_> = parts.into_iter().map(|part| part.finish()).collect();
        let merged = LoadResult::merged(&results).unwrap();
        is_smooth(load, &merged);
        let received: Vec<_> = servers.into_iter().map(CountingServer::stop).collect();
        let connections: Vec<_> = received.iter().map(|received| received.connections).collect();
        assert_eq!(connections, [16; 4], "{load}");
        assert_eq!(merged.by_target.iter().sum::<u64>(), merged.total.requests.sent, "{load}");
        for (received, counted) in received.iter().zip(&merged.by_target) {
            assert!(received.requests() >= *counted, "{load}: {} and {:?}", received.requests(), merged.by_target);
        }
        if load.starts_with("open") {
            assert_quarters(load, &merged.by_target);
        }
    }
}

fn replicas_behind_a_balancer_of_connections_have_a_quarter_each(backend: Backend) {
    for load in TENTH {
        let servers: Vec<_> = (0..4).map(|_| CountingServer::start(replica()).unwrap()).collect();
        let Some(balancer) = Haproxy::start(&servers) else { return };
        let spec = LoadSpec { duration: 1000 * MS, ..spec(backend, &balancer.endpoint(), load) };
        is_smooth(load, &start(spec).unwrap().finish());
        drop(balancer);
        let received: Vec<_> = servers.into_iter().map(CountingServer::stop).collect();
        assert_quarters(load, &received.iter().map(Received::requests).collect::<Vec<_>>());
    }
}

/// HAProxy, which gives connections to servers in turn and looks at no request.
struct Haproxy {
    _folder: tempfile::TempDir,
    child: std::process::Child,
    port: ReservedPort,
}

impl Haproxy {
    /// `None`, said loudly, where it is not installed.
    fn start(servers: &[CountingServer]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let port = ReservedPort::new().unwrap();
        let lines = servers.iter().enumerate().map(|(number, server)| {
            let Endpoint::Tcp(address) = server.endpoint() else { panic!("{:?}", server.endpoint()) };
            format!("    server s{number} {address}\n")
        });
        let conf = format!(
            "global\n    nbthread 1\ndefaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1m\n    \
             timeout server 1m\nlisten front\n    bind {}\n    balance roundrobin\n{}",
            port.address(),
            lines.collect::<String>()
        );
        let file = folder.path().join("haproxy.cfg");
        fs::write(&file, conf).unwrap();
        let programs = ["haproxy", "/usr/sbin/haproxy"];
        let mut child = programs.iter().find_map(|program| {
            let mut command = Command::new(program);
            command.arg("-db").arg("-f").arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        });
        let Some(mut child) = child.take() else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIP replicas_behind_a_balancer_of_connections_have_a_quarter_each: needs haproxy"
            );
            return None;
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(port.address()).is_err() {
            assert_eq!(child.try_wait().unwrap(), None, "haproxy has ended");
            assert!(Instant::now() < deadline, "haproxy does not listen on {}", port.address());
            thread::sleep(MS);
        }
        Some(Self { _folder: folder, child, port })
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::Tcp(self.port.address())
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connections_that_a_server_closes_as_idle_are_reconnects_and_no_errors(backend: Backend) {
    // Each of 16 connections has a request every 160 ms.
    let behaviour = Behaviour { close: Close::Idle(50 * MS), ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let result = start(spec(backend, server.endpoint(), "open:100@16")).unwrap().finish();
    let received = server.stop();
    assert_eq!((result.total.requests.ok, result.total.requests.sent), (50, 50), "{result:?}");
    assert_eq!((received.requests(), received.connections), (50, 50), "{received:?}");
    assert_eq!(result.reconnects, 50 - 16, "{result:?}");
}

fn without_a_number_a_connection_that_was_closed_as_idle_is_not_needed(backend: Backend) {
    // About eight connections at first, and then one does.
    let behaviour = Behaviour { delay: 20 * MS, close: Close::Idle(100 * MS), ..Behaviour::default() };
    let server = CountingServer::start(behaviour).unwrap();
    let load = "open:400/50ms,0/400ms,25/1000ms";
    let spec = LoadSpec { duration: 1450 * MS, ..spec(backend, server.endpoint(), load) };
    let result = start(spec).unwrap().finish();
    let received = server.stop();
    assert_eq!(total(&result).ok, total(&result).sent, "{result:?}");
    // One comes back after the pause; a machine that is held up needs one more.
    assert!((1..=3).contains(&result.reconnects), "{} {received:?}", result.reconnects);
}

/// Waits for a condition of servers, for as long as a load may run.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(8);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(MS);
    }
}

fn targets_come_and_go_while_load_runs(backend: Backend) {
    for load in ["open:800@9", "open:poisson:800", "closed:6", "closed:6..8/2s"] {
        // Each has servers of its own, and is idle most of the time.
        thread::scope(|scope| {
            for cpus in threads() {
                scope.spawn(move || targets_come_and_go(backend, load, cpus));
            }
        });
    }
}

fn targets_come_and_go(backend: Backend, load: &str, cpus: Vec<u32>) {
    let what = format!("{load} on {cpus:?}");
    let [a, b, c] = [(); 3].map(|()| CountingServer::start(replica()).unwrap());
    let endpoints = |servers: &[&CountingServer]| -> Vec<Endpoint> {
        servers.iter().map(|server| server.endpoint().clone()).collect()
    };
    let targets = endpoints(&[&a, &b]);
    let spec = LoadSpec { targets, cpus, duration: 2000 * MS, ..spec(backend, a.endpoint(), load) };
    let running = start(spec).unwrap();
    assert!(matches!(running.set_targets(&[]), Err(StartError::NoTarget)));

    wait(&what, || a.requests().min(b.requests()) >= 30);
    assert_eq!(c.requests(), 0, "{what}");
    // One comes.
    running.set_targets(&endpoints(&[&b, &c, &a])).unwrap();
    wait(&what, || c.requests() >= 30);
    // One goes.
    running.set_targets(&endpoints(&[&c, &b])).unwrap();
    wait(&what, || a.open_connections() == 0);
    let (before, of_b, of_c) = (a.requests(), b.requests(), c.requests());
    wait(&what, || b.requests() >= of_b + 100 && c.requests() >= of_c + 100);
    assert_eq!(a.requests(), before, "{what}");
    let shares = [b.requests() - of_b, c.requests() - of_c].map(|count| count as f64);
    // In a closed load the shares are those of the connections, which a thread's odd one moves.
    let most = if load.starts_with("open") { 1.2 } else { 3.0 };
    assert!((1.0 / most..most).contains(&(shares[0] / shares[1])), "{what} {shares:?}");

    let result = running.finish();
    is_smooth(&what, &result);
    assert!(result.by_target.is_empty(), "those of before were others");
    let received: u64 = [a, b, c].map(|server| server.stop().requests()).iter().sum();
    assert_eq!(received, total(&result).sent, "{what}");
}

/// Answers each request, one after the other, after some milliseconds.
fn answer(peer: &mut Peer, came: Came) -> std::io::Result<()> {
    match came {
        Came::Preface => peer.settings(&[]),
        Came::Head(_) => Ok(()),
        Came::End(stream) => {
            thread::sleep(3 * MS);
            peer.answer(stream)
        }
    }
}

fn targets_of_http2_come_and_go_while_load_runs(backend: Backend) {
    let protocol = Protocol::Http2 { streams: NonZeroU32::new(3).unwrap() };
    for load in ["open:400@4", "closed:4"] {
        let [a, b] = [(); 2].map(|()| Http2Server::start(answer));
        let spec = LoadSpec { protocol, duration: 1500 * MS, ..spec(backend, &a.endpoint, load) };
        let running = start(spec).unwrap();
        wait(load, || a.requests() >= 50);
        running.set_targets(std::slice::from_ref(&b.endpoint)).unwrap();
        wait(load, || b.requests() >= 50);
        let before = a.requests();
        wait(load, || b.requests() >= 100);
        assert_eq!(a.requests(), before, "{load}");
        let result = running.finish();
        is_smooth(load, &result);
        assert_eq!(a.requests() + b.requests(), total(&result).sent, "{load}");
        assert_eq!((a.connections(), b.connections()), (4, 4), "{load}");
    }
}

fn a_load_at_rest_leaves_a_target_at_once(backend: Backend) {
    let [a, b] = [(); 2].map(|()| CountingServer::start(Behaviour::default()).unwrap());
    let spec =
        LoadSpec { duration: Duration::from_secs(60), ..spec(backend, a.endpoint(), "open:40/100ms,0/59900ms@4") };
    let running = start(spec).unwrap();
    wait("four connections", || a.requests() == 4 && a.open_connections() == 4);
    running.set_targets(std::slice::from_ref(b.endpoint())).unwrap();
    wait("no connection", || a.open_connections() == 0);
    running.abort();
    is_smooth("at rest", &running.finish());
    assert_eq!(b.stop().connections, 0);
}
