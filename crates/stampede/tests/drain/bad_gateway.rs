//! Where 502s come from: each cause that is thinkable is provoked on real nginx and PHP-FPM, or shown to be none.
//! docs/bad-gateway.md holds the tables that these tests print.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stampede_core::{
    App, AppKind, Bytes, Cpus, DefaultsContext, Deployment, Endpoint, ErrorClass, Limits, Load, Protocol, Ready,
    RenderContext, Request, StopSignal, Terms, Tuning,
};
use stampede_load::{Backend, Check, LoadExchange, LoadResult, LoadSpec, Pause, RunningLoad, Statuses, start};
use stampede_observe::Meter;
use stampede_platforms::available_cpus;
use stampede_seam::{Platform, Running};

use crate::local;
use crate::stage::{PATIENCE, Stage, have};

const HELLO: &str = "<?php echo 'hello';";

/// As long as an application that is compiled at the start (`opcache.preload`) keeps FPM from listening.
const SLOW_START: &str = "<?php usleep(500_000);";

/// nginx and PHP-FPM as a test wants them.
struct Served {
    script: &'static str,
    settings: Vec<(&'static str, &'static str)>,
    slow_start: bool,
    memory: Bytes,
    /// What is changed about the deployment that Stampede would run.
    change: fn(&mut Deployment),
}

impl Default for Served {
    fn default() -> Self {
        Self { script: HELLO, settings: Vec::new(), slow_start: false, memory: Bytes::from_mib(256), change: |_| {} }
    }
}

/// Closed load.
#[derive(Clone, Copy)]
struct Drive {
    connections: u32,
    /// Between an answer and the next request, in the mean.
    pause: Duration,
    length: Duration,
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Served {
    /// Runs it, does something with it, and sees that nothing is left.
    fn run<T>(self, act: impl AsyncFnOnce(Box<dyn Running>) -> T) -> T {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stage = Stage::new();
        let acted = executor.block_on(async {
            let running = self.launch(&stage).await;
            act(running).await
        });
        stage.assert_nothing_left();
        acted
    }

    async fn launch(self, stage: &Stage) -> Box<dyn Running> {
        let Self { script, settings, slow_start, memory, change } = self;
        let source = stage.home().join("app");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("index.php"), script).unwrap();
        fs::write(source.join("preload.php"), SLOW_START).unwrap();
        let preload = slow_start.then(|| ("opcache.preload".to_owned(), "@{app}/preload.php".to_owned()));
        let app = App {
            source,
            ini: preload.into_iter().collect(),
            ..App::new("plain", AppKind::FrontController { index: PathBuf::from("index.php") })
        };
        let platform = local::platform(stage);
        let runtime = stampede_runtimes::by_id("nginx-fpm").unwrap();
        let limits = Limits { cpus: Cpus::from_millis(1000), memory };
        let load = Load::Closed { connections: 64 };
        let mut given = Tuning::new();
        for (name, value) in settings {
            given.give(name, value);
        }
        let tuning = runtime.defaults(&DefaultsContext { app: &app, limits: &limits, load: &load, given: &given });
        assert_eq!(runtime.validate(&tuning), []);
        let needs = [runtime.requires(&app), runtime.requires_for(&app, &tuning)].concat();
        let programs = local::find(&platform, &needs).await;
        let context = RenderContext { app: &app, limits: &limits, load: &load, tuning: &tuning, programs: &programs };
        let mut deployment = runtime.deployment(&context).unwrap();
        change(&mut deployment);
        platform.launch(&deployment, &Terms::of(limits)).await.unwrap()
    }
}

fn front(running: &dyn Running) -> SocketAddr {
    match running.front() {
        Endpoint::Tcp(address) => *address,
        Endpoint::Unix(path) => panic!("listens on {}", path.display()),
    }
}

fn drive(running: &dyn Running, drive: Drive) -> RunningLoad {
    let Drive { connections, pause, length } = drive;
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    start(LoadSpec {
        targets: vec![running.front().clone()],
        protocol: Protocol::Http11,
        tls: None,
        host: "localhost".to_owned(),
        exchanges: vec![LoadExchange::new(request, Check::new(Statuses::only(200), Vec::new()))],
        load: Load::Closed { connections },
        // At random, so that clients do not go on in step.
        think: Pause { least: Duration::ZERO, most: pause * 2 },
        scenario: None,
        warm_up: Duration::ZERO,
        duration: length,
        requests: None,
        drain: Duration::from_secs(5),
        timeout: None,
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: false,
        cpus: available_cpus()[..1].to_vec(),
        backend: Backend::Epoll,
    })
    .unwrap()
}

/// What became of the requests.
#[derive(Clone, Copy, Debug)]
struct Seen {
    ok: u64,
    bad_gateway: u64,
    /// Connections that ended in place of an answer.
    cut: u64,
    /// Requests that found nobody to connect to.
    refused: u64,
    /// Requests that were not answered 5 s after the last one was sent.
    waiting: u64,
    slowest: Duration,
}

impl Seen {
    fn of(result: LoadResult) -> Self {
        let status = |code: u16| result.total.status.get(&code).copied().unwrap_or(0);
        let errors = |class: ErrorClass| result.total.errors.get(&class).copied().unwrap_or(0);
        let seen = Self {
            ok: status(200),
            bad_gateway: status(502),
            cut: errors(ErrorClass::ClosedEarly) + errors(ErrorClass::Reset),
            refused: errors(ErrorClass::Refused),
            waiting: result.total.requests.unfinished,
            slowest: result.total.response.quantile(1.0),
        };
        // Nothing else happened.
        let all = result.total.requests;
        assert_eq!(all.sent, seen.ok + seen.bad_gateway + seen.cut + seen.refused + seen.waiting, "{all:?} {result:?}");
        seen
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ok, bad_gateway, cut, refused, waiting, slowest } = self;
        write!(f, "200: {ok}, 502: {bad_gateway}, cut off: {cut}, refused: {refused}, ")?;
        write!(f, "waiting: {waiting}, slowest: {slowest:.0?}")
    }
}

/// The status of one answer, if there is one.
fn ask(front: SocketAddr) -> Option<u16> {
    let mut connection = TcpStream::connect(front).ok()?;
    connection.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(millis(2)).await;
    }
}

async fn wait_until_ready(running: &dyn Running) {
    let front = front(running);
    wait_until("a request is answered", || ask(front) == Some(200)).await;
}

/// nginx before FPM, and nothing waits for anything.
fn nginx_first(deployment: &mut Deployment) {
    deployment.units.reverse();
    for unit in &mut deployment.units {
        unit.ready = Ready::Request;
    }
}

#[test]
fn a_front_that_listens_before_its_pool_answers_502_until_the_pool_does() {
    let test = "a_front_that_listens_before_its_pool_answers_502_until_the_pool_does";
    if !have(test, &["nginx", "php-fpm"]) {
        return;
    }
    // Whether nginx is first, whether a request says that it is ready, and whether there are 502s.
    let mut rows: Vec<(&str, Served, bool, bool)> = vec![
        ("FPM first, ready by port", Served::default(), false, false),
        ("nginx first, ready by port", Served { change: nginx_first, ..Served::default() }, false, true),
        ("nginx first, ready by request", Served { change: nginx_first, ..Served::default() }, true, false),
    ];
    if have(test, &["supervisord"]) {
        let served = || Served { settings: vec![("supervisor", "supervisord")], ..Served::default() };
        rows.push(("both at once by supervisord, ready by port", served(), false, true));
        rows.push(("both at once by supervisord, ready by request", served(), true, false));
    }
    for (name, served, by_request, provoked) in rows {
        // As many connections as the published platform had for an instance, and its clients' way.
        let load = Drive { connections: 10, pause: millis(60), length: millis(1500) };
        let (seen, first) = Served { slow_start: true, ..served }.run(async |running| {
            let front = front(&*running);
            wait_until("nginx listens", || TcpStream::connect(front).is_ok()).await;
            if by_request {
                wait_until_ready(&*running).await;
            }
            let load = drive(&*running, load);
            let began = Instant::now();
            wait_until("the load is answered", || load.progress().ok > 0).await;
            let first = began.elapsed();
            let result = tokio::task::spawn_blocking(|| load.finish()).await.unwrap();
            running.stop().await.unwrap();
            (Seen::of(result), first)
        });
        eprintln!("{name}: {seen}; the first 200 after {first:.0?}");
        assert_eq!(seen.bad_gateway > 0, provoked, "{name}: {seen}");
        assert!(seen.ok > 0, "{name}: {seen}");
    }
}

/// FPM is stopped before nginx, since units are stopped in the reverse of their start.
fn pool_stops_first(deployment: &mut Deployment) {
    deployment.units.reverse();
}

/// The same, and at once.
fn pool_is_ended_first(deployment: &mut Deployment) {
    pool_stops_first(deployment);
    for unit in &mut deployment.units {
        if unit.id.as_str() == "php-fpm" {
            unit.stop.signal = StopSignal::Term;
        }
    }
}

#[test]
fn a_pool_that_stops_before_its_front_leaves_502s_behind() {
    let test = "a_pool_that_stops_before_its_front_leaves_502s_behind";
    if !have(test, &["nginx", "php-fpm"]) {
        return;
    }
    let served = |change| Served { change, ..Served::default() };
    let mut rows = vec![
        ("nginx, then FPM", served(|_| {}), false),
        ("FPM by SIGQUIT, then nginx", served(pool_stops_first), true),
        ("FPM by SIGTERM, then nginx", served(pool_is_ended_first), true),
    ];
    if have(test, &["supervisord"]) {
        let settings = vec![("supervisor", "supervisord")];
        rows.push(("supervisord by SIGTERM", Served { settings, ..Served::default() }, false));
    }
    for (name, served, provoked) in rows {
        let mut settings = served.settings.clone();
        settings.push(("pm.max_children", "16"));
        let slow = "<?php usleep(100_000); echo 'hello';";
        let load = Drive { connections: 16, pause: millis(20), length: millis(2000) };
        let seen = Served { script: slow, settings, ..served }.run(async |running| {
            wait_until_ready(&*running).await;
            let load = drive(&*running, load);
            wait_until("load is answered", || load.progress().ok >= 32).await;
            running.stop().await.unwrap();
            Seen::of(tokio::task::spawn_blocking(|| load.finish()).await.unwrap())
        });
        eprintln!("{name}: {seen}");
        assert_eq!(seen.bad_gateway > 0, provoked, "{name}: {seen}");
        assert!(provoked || seen.cut == 0, "{name}: {seen}");
    }
}

#[test]
fn workers_that_are_replaced_cost_no_answer() {
    let test = "workers_that_are_replaced_cost_no_answer";
    if !have(test, &["nginx", "php-fpm"]) {
        return;
    }
    // As the published row had it.
    let dynamic = [
        ("pm", "dynamic"),
        ("pm.max_children", "25"),
        ("pm.start_servers", "4"),
        ("pm.min_spare_servers", "2"),
        ("pm.max_spare_servers", "4"),
    ];
    let stays = [("pm.max_children", "4")];
    for (pool, settings, connections, max_requests) in [
        ("static 4", &stays[..], 64, "0"),
        ("static 4", &stays, 64, "500"),
        ("static 4", &stays, 64, "20"),
        ("dynamic 25", &dynamic, 10, "500"),
        ("dynamic 25", &dynamic, 64, "20"),
    ] {
        let mut settings = settings.to_vec();
        settings.push(("pm.max_requests", max_requests));
        Served { settings, ..Served::default() }.run(async |running| {
            wait_until_ready(&*running).await;
            let before = running.forks();
            // nginx's own stays, and each worker of the pool is another one once it has had its share of requests: on a
            // slow machine the first load may have too few of them.
            let stay = if max_requests == "0" { before.len() } else { 1 };
            for loads in 1.. {
                let load = drive(&*running, Drive { connections, pause: Duration::ZERO, length: millis(1500) });
                let result = tokio::task::spawn_blocking(|| load.finish()).await.unwrap();
                let (seen, left) = (Seen::of(result), running.forks().intersection(&before).count());
                let name = format!("{pool}, pm.max_requests {max_requests}, {connections} connections");
                eprintln!("{name}: {seen}; {left} of {} processes are left", before.len());
                assert_eq!((seen.bad_gateway, seen.cut), (0, 0), "{name}: {seen}");
                if left == stay {
                    break;
                }
                assert!(left > stay && loads < 20, "{name}: {left} are left after {loads} loads");
            }
            running.stop().await.unwrap();
        });
    }
}

#[test]
fn a_worker_that_is_killed_for_memory_is_a_502_at_most() {
    let test = "a_worker_that_is_killed_for_memory_is_a_502_at_most";
    if !have(test, &["nginx", "php-fpm"]) {
        return;
    }
    for (memory, killed) in [(512, false), (96, true)] {
        let settings = vec![("pm.max_children", "8")];
        let greedy = "<?php $text = str_repeat('x', 24 << 20); usleep(50_000); echo 'hello';";
        let served = Served { script: greedy, settings, memory: Bytes::from_mib(memory), ..Served::default() };
        let load = Drive { connections: 16, pause: millis(20), length: millis(1500) };
        let (seen, kills) = served.run(async |running| {
            wait_until_ready(&*running).await;
            let meter = Meter::new(running.meters()).unwrap();
            let load = drive(&*running, load);
            let result = tokio::task::spawn_blocking(|| load.finish()).await.unwrap();
            let kills = meter.read().unwrap().oom_kills;
            running.stop().await.unwrap();
            (Seen::of(result), kills)
        });
        eprintln!("{memory} MiB: {seen}; {kills} killed");
        assert_eq!(kills > 0, killed, "{memory}: {seen}");
        assert_eq!(seen.bad_gateway > 0, killed, "{memory}: {seen}, {kills} killed");
        assert!(seen.bad_gateway <= kills && seen.cut == 0, "{memory}: {seen}, {kills} killed");
    }
}

#[test]
fn a_queue_that_is_full_is_a_502_on_a_unix_socket_and_a_wait_over_tcp() {
    let test = "a_queue_that_is_full_is_a_502_on_a_unix_socket_and_a_wait_over_tcp";
    if !have(test, &["nginx", "php-fpm"]) {
        return;
    }
    let dynamic = [("pm", "dynamic"), ("pm.start_servers", "4"), ("pm.min_spare_servers", "2")];
    for (listen, backlog, more, provoked) in [
        ("unix", "511", &[("pm.max_children", "4")][..], false),
        // The pool grows while the burst waits.
        ("unix", "511", &[&dynamic[..], &[("pm.max_spare_servers", "4"), ("pm.max_children", "25")]].concat(), false),
        ("unix", "16", &[("pm.max_children", "4")], true),
        ("unix", "4", &[("pm.max_children", "4")], true),
        ("tcp", "4", &[("pm.max_children", "4")], false),
    ] {
        let mut settings = vec![("listen", listen), ("listen.backlog", backlog)];
        settings.extend(more);
        let script = "<?php usleep(20_000); echo 'hello';";
        // A SYN that is dropped is sent again after a second. (RFC 6298, section 2)
        let length = millis(if listen == "tcp" { 2000 } else { 1000 });
        let load = Drive { connections: 64, pause: Duration::ZERO, length };
        let seen = Served { script, settings, ..Served::default() }.run(async |running| {
            wait_until_ready(&*running).await;
            let load = drive(&*running, load);
            let result = tokio::task::spawn_blocking(|| load.finish()).await.unwrap();
            running.stop().await.unwrap();
            Seen::of(result)
        });
        eprintln!(
            "{listen}, listen.backlog {backlog}, {}: {seen}",
            if more.len() > 1 { "dynamic 25" } else { "static 4" }
        );
        assert_eq!(seen.bad_gateway > 0, provoked, "{listen} {backlog}: {seen}");
        assert!(seen.refused == 0 && (seen.waiting == 0 || listen == "tcp"), "{listen} {backlog}: {seen}");
        assert_eq!(seen.slowest >= Duration::from_secs(1), listen == "tcp", "{listen} {backlog}: {seen}");
    }
}
