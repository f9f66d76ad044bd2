//! The gateway in front of servers that count what they receive, under the load engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stampede_core::{Bytes, Cpus, Endpoint, Limit, Protocol, Request};
use stampede_gateway::{Account, Gateway, InstanceOrder, Setup};
use stampede_load::{Backend, Check, LoadExchange, LoadResult, LoadSpec, Pause, Statuses, start};
use stampede_scale::{
    BurstCapacity, CloudRunParameters, CpuAllocation, KnativeParameters, Policy, QueueLimits, ServiceSettings,
};
use stampede_testkit::{Behaviour, Close, CountingServer, Fault, Received};

const MS: Duration = Duration::from_millis(1);

const SERVICE: ServiceSettings = ServiceSettings {
    cpus: Cpus::from_millis(1000),
    memory: Bytes::from_mib(512),
    concurrency: 3,
    min_instances: 0,
    max_instances: 2,
    cpu_allocation: CpuAllocation::DuringRequests,
    start_up_boost: false,
    request_timeout: Duration::from_secs(5),
};
/// Long for this machine, and short for who waits for it.
const BODY_PAUSE_HERE: Duration = Duration::from_millis(300);
const QUEUE: QueueLimits = QueueLimits { length: Limit::Unlimited, wait: Duration::from_secs(5) };

fn cloud_run() -> Policy {
    Policy::CloudRun(CloudRunParameters::default())
}

/// Servers that are started and ended as a gateway asks for it.
struct Fleet {
    gateway: Arc<Gateway>,
    over: Arc<AtomicBool>,
    /// What those received that were ended, in the order in which they were.
    received: Arc<Mutex<Vec<Received>>>,
    thread: JoinHandle<()>,
}

/// Which servers are started: none of them ever comes up without a behaviour.
fn serve(service: ServiceSettings, policy: Policy, queue: QueueLimits, behaviour: Option<Behaviour>) -> Fleet {
    let cpu_seconds = Box::new(|| 0.0);
    let setup = Setup { service, policy, queue, granularity: 100 * MS, body_pause: BODY_PAUSE_HERE, cpu_seconds };
    let (gateway, mut orders) = Gateway::open(setup).unwrap();
    let gateway = Arc::new(gateway);
    let (over, received) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let (of_thread, ended, all) = (Arc::clone(&gateway), Arc::clone(&over), Arc::clone(&received));
    let thread = thread::spawn(move || {
        let mut servers = BTreeMap::new();
        while !ended.load(Ordering::Relaxed) {
            match orders.try_recv() {
                Ok(InstanceOrder::Start(instance)) => {
                    let Some(behaviour) = behaviour.clone() else { continue };
                    let server = CountingServer::start(behaviour).unwrap();
                    let Endpoint::Tcp(address) = server.endpoint() else { panic!("a port was asked for") };
                    of_thread.ready(instance, *address);
                    servers.insert(instance, server);
                }
                // Its connections are cut at once.
                Ok(InstanceOrder::Stop(instance)) => {
                    all.lock().unwrap().extend(servers.remove(&instance).map(CountingServer::stop));
                }
                Err(_) => thread::sleep(MS),
            }
        }
        all.lock().unwrap().extend(servers.into_values().map(CountingServer::stop));
    });
    Fleet { gateway, over, received, thread }
}

impl Fleet {
    fn load(&self, load: &str, protocol: Protocol, duration: Duration) -> LoadResult {
        let request =
            Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
        let spec = LoadSpec {
            targets: vec![Endpoint::Tcp(self.gateway.address())],
            protocol,
            tls: None,
            host: "localhost".to_owned(),
            exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
            load: load.parse().unwrap(),
            think: Pause::default(),
            scenario: None,
            warm_up: Duration::ZERO,
            duration,
            requests: None,
            drain: Duration::from_secs(10),
            timeout: None,
            keep_alive: true,
            seed: 1,
            shard: None,
            source: None,
            slices: false,
            cpus: vec![0],
            backend: Backend::Epoll,
        };
        let running =
            self.gateway.count(|| start(spec), |load| from_now(load.opens_at())..from_now(load.closes_at())).unwrap();
        running.finish()
    }

    fn end(self) -> (Account, Vec<Received>) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let account = Arc::into_inner(self.gateway).unwrap().close().unwrap();
        (account, Arc::into_inner(self.received).unwrap().into_inner().unwrap())
    }
}

fn requests(received: &[Received]) -> u64 {
    received.iter().map(Received::requests).sum()
}

#[test]
fn no_instance_is_ever_given_more_than_its_limit_and_counts_add_up() {
    for protocol in [Protocol::Http11, Protocol::Http2 { streams: NonZeroU32::MIN }] {
        let delay = 20 * MS;
        let fleet = serve(SERVICE, cloud_run(), QUEUE, Some(Behaviour { delay, ..Behaviour::default() }));
        let result = fleet.load("closed:12", protocol, 1500 * MS);
        let (account, received) = fleet.end();
        let counts = result.total.requests;
        assert_eq!((counts.failed, counts.unfinished), (0, 0), "{protocol:?} {:?}", result.first_failure);
        // Two instances with three places each are never idle: 6 requests every 20 ms, where the machine is quick enough.
        assert!((60..=460).contains(&counts.ok), "{protocol:?}: {}", counts.ok);
        assert_eq!(requests(&received), counts.ok, "{protocol:?}");
        assert_eq!((received.len(), account.lives.len()), (2, 2), "{protocol:?}");
        for Received { at, connections, .. } in &received {
            // A server holds each request for the delay at least: three others came before the one that is replaced ended.
            for (before, after) in at.iter().zip(at.iter().skip(3)) {
                assert!(after.duration_since(*before) >= delay, "{protocol:?}: a fourth request");
            }
            assert!(*connections <= 3, "{protocol:?}: {connections} connections for 3 requests at once");
        }
        assert_eq!(account.passed.values().sum::<u64>() + account.broken + account.late, account.arrived);
        // What was due just before an edge may come after it.
        assert!(account.arrived.abs_diff(counts.sent) <= 12, "{protocol:?}: {} {}", account.arrived, counts.sent);
        assert!(account.waits.count() > 0 && account.most_waiting <= 12);
        assert!(account.cpu > Duration::ZERO && account.usage.requests > 0.0);
        // Queue and instance are part of what clients wait for, and nearly all of it.
        let (seen, passage) = (result.total.service.mean_ns(), account.passage.mean_ns());
        assert_eq!(account.passage.count(), account.arrived, "{protocol:?}");
        assert!(passage > delay.as_nanos() as f64 && passage < 1.05 * seen, "{protocol:?}: {passage} of {seen} ns");
    }
}

#[test]
fn requests_that_find_no_instance_are_turned_away_after_the_queue_s_limit() {
    let queue = QueueLimits { wait: 300 * MS, ..QUEUE };
    let fleet = serve(SERVICE, cloud_run(), queue, None);
    let result = fleet.load("closed:5", Protocol::Http11, 1000 * MS);
    let (account, _) = fleet.end();
    let counts = result.total.requests;
    assert_eq!(result.total.status.keys().copied().collect::<Vec<_>>(), [429]);
    assert_eq!((counts.ok, counts.failed, counts.unfinished), (0, counts.sent, 0));
    // Each client comes at 0, 300, 600 and 900 ms, where nothing is late.
    assert!((10..=20).contains(&counts.sent), "{}", counts.sent);
    assert!(account.rejected == account.arrived && account.arrived.abs_diff(counts.sent) <= 5, "{account:?}");
    assert_eq!(account.most_waiting, 5);
    assert!(result.total.response.min() >= 300 * MS && account.waits.min() >= 299 * MS);
}

#[test]
fn a_full_queue_turns_away_at_once() {
    let queue = QueueLimits { length: Limit::AtMost(2), wait: 2000 * MS };
    let policy = Policy::Knative(KnativeParameters::default());
    let fleet = serve(ServiceSettings { max_instances: 1, ..SERVICE }, policy, queue, None);
    let result = fleet.load("open:20", Protocol::Http11, 500 * MS);
    let (account, _) = fleet.end();
    let by_status = |status: u16| result.total.status.get(&status).copied().unwrap_or(0);
    // Two wait until their time is up, the others find no room.
    assert_eq!((by_status(504), by_status(503)), (2, result.total.requests.sent - 2));
    // What was due just before an edge may come after it.
    assert!(account.rejected.abs_diff(result.total.requests.sent) <= 2, "{account:?}");
    assert_eq!(account.most_waiting, 2);
}

#[test]
fn an_instance_that_is_given_up_finishes_what_it_has() {
    // Instances come and go within two seconds.
    let parameters = KnativeParameters {
        tick: 100 * MS,
        stable_window: 1000 * MS,
        panic_window: 1000 * MS,
        target_utilisation: 1.0,
        target_burst_capacity: BurstCapacity::Unlimited,
        ..KnativeParameters::default()
    };
    let service = ServiceSettings { concurrency: 1, max_instances: 4, min_instances: 1, ..SERVICE };
    let behaviour = Behaviour { delay: 70 * MS, ..Behaviour::default() };
    let fleet = serve(service, Policy::Knative(parameters), QUEUE, Some(behaviour));
    let busy = fleet.load("closed:4", Protocol::Http11, 2000 * MS);
    let quiet = fleet.load("closed:2", Protocol::Http11, 3500 * MS);
    let (account, received) = fleet.end();
    for (name, result) in [("busy", &busy), ("quiet", &quiet)] {
        let counts = result.total.requests;
        assert_eq!((counts.failed, counts.unfinished), (0, 0), "{name}: {:?}", result.first_failure);
    }
    assert_eq!(requests(&received), busy.total.requests.ok + quiet.total.requests.ok);
    let went = account.lives.iter().filter(|life| life.ended.is_some()).count();
    assert!(received.len() >= 3 && went >= 1, "{:#?}", account.lives);
}

#[test]
fn an_instance_that_breaks_off_is_a_502_and_one_that_closes_between_answers_is_none() {
    for (name, behaviour, fails) in [
        ("broken", Behaviour { fault: Some((Fault::Closed, 5)), ..Behaviour::default() }, true),
        ("announced", Behaviour { close: Close::Announced(1), ..Behaviour::default() }, false),
    ] {
        let fleet = serve(SERVICE, cloud_run(), QUEUE, Some(behaviour));
        let result = fleet.load("closed:2", Protocol::Http11, 300 * MS);
        let (account, received) = fleet.end();
        let bad = result.total.status.get(&502).copied().unwrap_or(0);
        assert_eq!(result.total.requests.failed, bad, "{name}");
        // What was due just before an edge of the window may come after it.
        assert!(account.broken.abs_diff(bad) <= 2, "{name}: {} {bad}", account.broken);
        assert_eq!(bad > 0, fails, "{name}");
        let faults: u64 = received.iter().map(|received| received.faults).sum();
        assert_eq!(faults, bad, "{name}");
    }
}

#[test]
fn a_client_that_stops_in_its_request_is_told_so_and_frees_its_place() {
    let service = ServiceSettings { concurrency: 1, max_instances: 1, ..SERVICE };
    let fleet = serve(service, cloud_run(), QUEUE, Some(Behaviour::default()));
    let mut stalled = TcpStream::connect(fleet.gateway.address()).unwrap();
    stalled.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stalled.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
    let mut told = [0; 12];
    stalled.read_exact(&mut told).unwrap();
    assert_eq!(told, *b"HTTP/1.1 408");
    // The only place is free for others.
    let after = fleet.load("closed:1", Protocol::Http11, 200 * MS);
    assert!(after.total.requests.ok > 0 && after.total.requests.failed == 0, "{:?}", after.first_failure);
    fleet.end();
}

fn from_now(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}
