//! What servers say of their workers, held against a load of which everything is known: 16 clients, each of which has a
//! request in flight at every moment, and each request is worked on for 200 ms. So many workers are busy as answers come in
//! 200 ms (Little's law): 16 of a pool that has room for them, 4 of one of 4, and then 12 wait where the kernel sees them.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stampede_core::{AddressId, Bytes, Cpus, Gauge, Limits, Load, Series, SeriesSource};
use stampede_observe::Sampler;

use crate::conformance::application;
use crate::http::Connection;
use crate::launcher::Server;
use crate::started;

const CLIENTS: u32 = 16;
const ROOM: u64 = 20;
const FULL: u64 = 4;
/// How long a request is worked on.
const WORK: Duration = Duration::from_millis(200);
const LENGTH: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows that wait beside each other: each is asked 80 times a second at most, and its workers sleep.
const AT_ONCE: usize = 4;
const LIMITS: Limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(1024) };

/// A runtime of which a unit tells what its workers do.
#[derive(Clone, Copy)]
struct Row {
    id: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// The setting that says how many workers there are.
    pool: &'static str,
    /// The unit that they belong to.
    unit: &'static str,
    /// Where requests wait for them, if the kernel can see it.
    queue: Option<&'static str>,
    /// Every answer ends its connection.
    closes: bool,
    /// A full pool has nobody to answer.
    silent: bool,
}

const FPM: Row = Row {
    id: "nginx-fpm",
    settings: &[],
    pool: "pm.max_children",
    unit: "php-fpm",
    queue: Some("fpm"),
    closes: false,
    silent: false,
};

const ROWS: [Row; 13] = [
    FPM,
    Row { settings: &[("listen", "tcp")], ..FPM },
    Row { id: "caddy-fpm", ..FPM },
    Row { id: "apache-fpm", ..FPM },
    Row { id: "apache-mod-php", pool: "MaxRequestWorkers", unit: "apache", queue: Some("front"), silent: true, ..FPM },
    Row { id: "uwsgi-php", pool: "processes", unit: "uwsgi", queue: Some("front"), closes: true, ..FPM },
    Row {
        id: "uwsgi-php",
        settings: &[("mode", "http")],
        pool: "processes",
        unit: "uwsgi",
        queue: Some("uwsgi"),
        ..FPM
    },
    Row { id: "frankenphp", pool: "num_threads", unit: "frankenphp", queue: None, ..FPM },
    Row {
        id: "frankenphp",
        settings: &[("mode", "worker")],
        pool: "worker.num",
        unit: "frankenphp",
        queue: None,
        ..FPM
    },
    Row { id: "frankenphp-binary", pool: "num_threads", unit: "frankenphp", queue: None, ..FPM },
    Row { id: "roadrunner", pool: "http.pool.num_workers", unit: "roadrunner", queue: None, ..FPM },
    Row { id: "swoole", pool: "worker_num", unit: "swoole", queue: None, silent: true, ..FPM },
    Row {
        id: "swoole",
        settings: &[("mode", "process")],
        pool: "worker_num",
        unit: "swoole",
        queue: None,
        silent: true,
        ..FPM
    },
];

/// Clients that each send a request after the other.
struct Clients {
    end: Arc<AtomicBool>,
    /// Requests that were sent and are not yet answered.
    in_flight: Arc<AtomicU64>,
    answers: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    /// They begin one after the other, so that they do not go on in step.
    fn begin(front: SocketAddr, path: &str, closes: bool) -> Self {
        let threads = Vec::new();
        let mut clients = Self { end: Arc::default(), in_flight: Arc::default(), answers: Arc::default(), threads };
        for number in 0..CLIENTS {
            let (end, path) = (Arc::clone(&clients.end), path.to_owned());
            let (in_flight, answers) = (Arc::clone(&clients.in_flight), Arc::clone(&clients.answers));
            clients.threads.push(thread::spawn(move || {
                thread::sleep(WORK * number / CLIENTS);
                let mut connection = None;
                while !end.load(Ordering::Relaxed) {
                    let open = match &mut connection {
                        Some(open) if !closes => open,
                        connection => connection.insert(Connection::open(front).expect("connect")),
                    };
                    in_flight.fetch_add(1, Ordering::Relaxed);
                    let answer = open.exchange("GET", &path, &[], b"");
                    in_flight.fetch_sub(1, Ordering::Relaxed);
                    answers.fetch_add(1, Ordering::Relaxed);
                    let right = answer.as_ref().is_ok_and(|answer| answer.status == 200 && answer.body == b"done");
                    // Some wait for a worker until their server is ended.
                    assert!(right || end.load(Ordering::Relaxed), "{answer:?}");
                }
            }));
        }
        clients
    }

    /// Ends the server and then them, since some may wait for it.
    fn end(self, server: Server) {
        self.end.store(true, Ordering::Relaxed);
        drop(server);
        for client in self.threads {
            client.join().expect("a client without a wrong answer");
        }
    }
}

/// Starts the slow application with so many workers.
fn serve(row: &Row, workers: u64, marks: &Path) -> Option<Server> {
    let runtime = stampede_runtimes::by_id(row.id).expect("a runtime of this name");
    let slow = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/slow");
    let mut app = application(runtime, row.settings, &slow, "slow");
    app.env.insert("MARKS".to_owned(), marks.display().to_string());
    let workers = workers.to_string();
    let settings = [row.settings, &[(row.pool, workers.as_str())]].concat();
    started(row.id, &app, &settings, &LIMITS, &Load::Closed { connections: CLIENTS }).map(|(server, _)| server)
}

/// What a server and the kernel say while the clients are at work, and how many workers are busy with that.
fn sampled(server: &Server, clients: &Clients) -> (Vec<Series>, u64) {
    let deadline = Instant::now() + PATIENCE;
    while clients.in_flight.load(Ordering::Relaxed) < u64::from(CLIENTS) {
        assert!(Instant::now() < deadline, "{:?} in flight; {}", clients.in_flight, server.log());
        thread::yield_now();
    }
    // The first requests of all have come to their end, or wait for a worker.
    let opens = Instant::now() + WORK * 2;
    let sampler = Sampler::start(server.targets(), opens, opens + LENGTH).expect("start threads");
    let (before, began) = (clients.answers.load(Ordering::Relaxed), Instant::now());
    let series = sampler.finish().series;
    let answers = clients.answers.load(Ordering::Relaxed) - before;
    let busy = answers as f64 * WORK.as_secs_f64() / began.elapsed().as_secs_f64();
    (series, busy.round() as u64)
}

fn of(series: &[Series], source: SeriesSource) -> &Series {
    let found = series.iter().find(|series| series.source == source);
    found.unwrap_or_else(|| panic!("no {source:?} in {series:?}"))
}

/// The middle of what was said.
fn median(series: &Series, gauge: Gauge) -> Option<u64> {
    let mut values: Vec<u64> = series.values(gauge).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[test]
fn what_servers_say_is_true_under_a_known_load() {
    hold_to_the_truth(ROOM);
}

#[test]
fn what_full_servers_say_is_true_under_a_known_load() {
    hold_to_the_truth(FULL);
}

fn hold_to_the_truth(workers: u64) {
    let folder = tempfile::TempDir::new().expect("make a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("open the folder");
    for rows in ROWS.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for row in rows {
                scope.spawn(|| hold_one(row, workers, folder.path()));
            }
        });
    }
}

fn hold_one(row: &Row, workers: u64, marks: &Path) {
    let Some(server) = serve(row, workers, marks) else { return };
    let clients = Clients::begin(server.front, &format!("/?ms={}", WORK.as_millis()), row.closes);
    let (series, busy) = sampled(&server, &clients);
    clients.end(server);
    judge(row, workers, &series, busy);
}

fn judge(row: &Row, workers: u64, series: &[Series], busy: u64) {
    let what = format!("{} {:?}, {workers} workers", row.id, row.settings);
    let all = u64::from(CLIENTS);
    let full = workers < all;
    for told in series {
        let SeriesSource::Unit(unit) = &told.source else { continue };
        let is_pool = unit.as_str() == row.unit;
        // Workers are busy for the time of their work at least, and on a machine that wakes them late for longer, up to all that
        // their clients wait for.
        let most = all.min(workers);
        let busy = if is_pool { (busy.min(most), most) } else { (all, all) };
        for (gauge, (least, most)) in [
            (Gauge::BusyWorkers, busy),
            (Gauge::InFlight, (all, all)),
            (Gauge::Connections, (all, all)),
            (Gauge::TotalWorkers, (workers, workers)),
            (Gauge::Queue, (all.saturating_sub(workers), all.saturating_sub(workers))),
        ] {
            let Some(said) = median(told, gauge) else { continue };
            let _ = writeln!(std::io::stderr(), "  {what}: {unit} {gauge:?} {said}, truly {least} to {most}");
            if gauge == Gauge::TotalWorkers && !is_pool {
                continue;
            }
            // A worker is between two requests for a moment, and so is a client.
            let is_near = said + 1 >= least && said <= most + 1;
            assert!(is_near, "{what}: {unit} {gauge:?} {said}, truly {least} to {most}: {told:?}");
        }
        let answered = told.len() - told.unanswered();
        let _ = writeln!(std::io::stderr(), "  {what}: {unit} answered {answered} of {} questions", told.len());
        if !(is_pool && full && row.silent) {
            assert!(answered * 10 >= told.len() * 9, "{what}: {unit}: {told:?}");
        }
    }
    if let (true, Some(queue)) = (full, row.queue) {
        let queue = of(series, SeriesSource::Listener(AddressId::new(queue)));
        let waiting = median(queue, Gauge::AcceptQueue).expect("a queue");
        let truth = all - workers;
        let _ = writeln!(std::io::stderr(), "  {what}: {waiting} wait, truly {truth}");
        assert!(waiting.abs_diff(truth) <= 1, "{what}: {queue:?}");
    }
}

#[test]
fn a_prefork_worker_belongs_to_its_connection_between_two_requests() {
    let folder = tempfile::TempDir::new().expect("make a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("open the folder");
    let row = ROWS.iter().find(|row| row.id == "apache-mod-php").expect("a row");
    let Some(server) = serve(row, ROOM, folder.path()) else { return };
    // Without a pause, and with next to no work.
    let clients = Clients::begin(server.front, "/", row.closes);
    let (series, _) = sampled(&server, &clients);
    clients.end(server);
    let told = of(&series, SeriesSource::Unit(stampede_core::UnitId::new("apache")));
    let (busy, kept) = (&told.columns[&Gauge::BusyWorkers], &told.columns[&Gauge::KeptWorkers]);
    let taken: Vec<u64> = busy.iter().zip(kept).filter_map(|(busy, kept)| Some((*busy)? + (*kept)?)).collect();
    let _ = writeln!(std::io::stderr(), "  busy {busy:?}, kept {kept:?}");
    assert!(!taken.is_empty() && taken.iter().all(|taken| *taken == u64::from(CLIENTS)), "{told:?}");
}
