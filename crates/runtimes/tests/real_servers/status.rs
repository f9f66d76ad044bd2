//! What a server says of itself while it runs, held against what is known: its settings, the load that was driven, a worker
//! that was killed.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stampede_core::{
    AddressId, Endpoint, Gauge, Role, Runtime, Sampling, Series, SeriesSource, StatusSource, Tuning, UnitStatus,
};
use stampede_observe::{Sampler, decode};
use stampede_wire::probe::Probe;

use crate::launcher::Server;
use crate::{markdown_app, start, verify};

const PATIENCE: Duration = Duration::from_secs(10);

/// A load that is watched.
pub(crate) struct Watch {
    sampler: Sampler,
    before: Vec<(UnitStatus, Vec<(Gauge, u64)>)>,
}

impl Watch {
    /// Reads what all units say, then samples for a while.
    pub(crate) fn begin(server: &Server, length: Duration) -> Self {
        let targets = server.targets();
        let before = targets.statuses.iter().map(|status| (status.clone(), read(&status.1))).collect();
        let now = Instant::now();
        Self { sampler: Sampler::start(targets, now, now + length).expect("start threads"), before }
    }

    /// Holds what was sampled against the settings and the answers that came.
    pub(crate) fn end(self, runtime: &dyn Runtime, tuning: &Tuning, answers: u64) {
        let Sampling { series, cpu, .. } = self.sampler.finish();
        let id = runtime.id();
        assert_eq!(self.before.is_empty(), runtime.status().is_empty(), "{id}: what it says of its status");
        for of_kernel in [SeriesSource::Machine, SeriesSource::Listener(AddressId::new("front"))] {
            assert!(series.iter().any(|series| series.source == of_kernel), "{id}: no {of_kernel:?}");
        }
        for ((unit, source), before) in &self.before {
            let after = read(source);
            let told = series.iter().find(|series| series.source == SeriesSource::Unit(unit.clone()));
            let told = told.unwrap_or_else(|| panic!("{id}: no status of {unit}"));
            let _ = writeln!(std::io::stderr(), "  {unit}: {}, sampled for {cpu:?} of CPU", shown(told));
            let answered = told.len() - told.unanswered();
            assert!(2 * answered > told.len(), "{id}: {unit} answered {answered} of {} questions", told.len());
            workers(&format!("{id}: {unit}"), told, pool(runtime, unit.as_str(), tuning));
            // One request more was for the answer that all are held against; status requests may be counted too: those of
            // all samples, the sampler's first, and the last one.
            let own = told.len() as u64 + 2;
            for counter in [Gauge::Requests, Gauge::Accepted] {
                let Some(growth) = growth(before, &after, counter) else { continue };
                let least = if counter == Gauge::Requests || unit.as_str() == "php-fpm" { answers + 1 } else { 0 };
                let most = answers + 1 + own;
                assert!((least..=most).contains(&growth), "{id}: {unit}: {counter:?} {growth}, {answers} answers");
            }
        }
    }
}

/// Never more workers are busy than there are. How many are under which load is held against the truth in `truth`: here the
/// processor is the limit, and who looks may run only when nobody works.
fn workers(what: &str, told: &Series, pool: Option<u64>) {
    let Some(totals) = told.columns.get(&Gauge::TotalWorkers) else {
        return;
    };
    for (busy, total) in told.columns[&Gauge::BusyWorkers].iter().zip(totals) {
        assert!(busy <= total, "{what}: {busy:?} of {total:?}");
    }
    if let Some(pool) = pool {
        assert!(totals.iter().flatten().all(|total| *total == pool), "{what}: {totals:?} of {pool}");
    }
}

/// How many workers a unit that runs PHP has.
fn pool(runtime: &dyn Runtime, unit: &str, tuning: &Tuning) -> Option<u64> {
    // Another pool of workers stands before FPM's.
    if runtime.id().as_str().ends_with("-fpm") && unit != "php-fpm" {
        return None;
    }
    let mut sizes = runtime.tunables().iter().rev().filter(|tunable| tunable.role == Role::PoolSize);
    sizes.find_map(|tunable| tuning.count(tunable.name))
}

fn growth(before: &[(Gauge, u64)], after: &[(Gauge, u64)], counter: Gauge) -> Option<u64> {
    let value = |told: &[(Gauge, u64)]| told.iter().find(|(gauge, _)| *gauge == counter).map(|(_, value)| *value);
    value(after)?.checked_sub(value(before)?)
}

fn shown(series: &Series) -> String {
    let columns = series.columns.keys().map(|gauge| {
        let values: Vec<u64> = series.values(*gauge).collect();
        format!("{gauge:?} {:?} to {:?}", values.iter().min(), values.iter().max())
    });
    columns.chain([format!("{} of {} unanswered", series.unanswered(), series.len())]).collect::<Vec<_>>().join(", ")
}

/// What a source says.
fn read(source: &StatusSource<Endpoint>) -> Vec<(Gauge, u64)> {
    let answer = Probe::send(source, PATIENCE).and_then(|mut probe| probe.wait(PATIENCE)).expect("ask for the status");
    decode(&source.format, &answer.expect("a status in time")).expect("a status")
}

#[test]
fn a_worker_that_was_killed_is_counted() {
    let runtime = stampede_runtimes::by_id("uwsgi-php").expect("listed");
    let Some(server) = start("uwsgi-php", &markdown_app(runtime), &[]) else {
        return;
    };
    verify(&server);
    let (_, source) = server.targets().statuses.remove(0);
    let before = read(&source);
    let worker = crate::effective::children(server.process("uwsgi"))[0];
    kill_process(Pid::from_raw(worker as i32).expect("a process"), Signal::KILL).expect("kill a worker");
    let deadline = Instant::now() + PATIENCE;
    while growth(&before, &read(&source), Gauge::Restarts) != Some(1) {
        assert!(Instant::now() < deadline, "{:?}; {}", read(&source), server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_full_pool_still_tells_its_status_and_its_queue_is_the_kernels() {
    let folder = tempfile::TempDir::new().expect("make a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("open the folder");
    let slow = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/slow/php");
    let mut app = crate::php_app(slow, &[]);
    app.env.insert("MARKS".to_owned(), folder.path().display().to_string());
    for listen in ["unix", "tcp"] {
        let Some(server) = start("nginx-fpm", &app, &[("pm.max_children", "2"), ("listen", listen)]) else {
            return;
        };
        let front = server.front;
        let asked = (0..5).map(|_| {
            std::thread::spawn(move || {
                let mut connection = crate::http::Connection::open(front)?;
                connection.exchange("GET", "/?ms=3000", &[], b"")
            })
        });
        let asked: Vec<_> = asked.collect();
        let targets = server.targets();
        let fpm = targets.statuses.iter().find(|(unit, _)| unit.as_str() == "php-fpm").expect("FPM's status");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = Instant::now();
            let sampler =
                Sampler::start(targets.clone(), now, now + Duration::from_millis(100)).expect("start threads");
            let queues = sampler.finish().series;
            let queue = queues.iter().find(|series| series.source == SeriesSource::Listener(AddressId::new("fpm")));
            let waiting = queue.and_then(|series| series.values(Gauge::AcceptQueue).last());
            let told = read(&fpm.1);
            let full = told.contains(&(Gauge::BusyWorkers, 2)) && waiting == Some(3);
            // Over TCP FPM knows its queue itself, and refreshes it once a second.
            if full && (listen == "unix" || told.contains(&(Gauge::Queue, 3))) {
                break;
            }
            assert!(Instant::now() < deadline, "{listen}: {told:?}, {waiting:?} wait; {}", server.log());
        }
        drop(server);
        for thread in asked {
            let _ = thread.join().expect("a client");
        }
    }
}
