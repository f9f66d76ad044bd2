//! While load runs on kept connections, its thread takes no memory.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{Load, Protocol, Request};
use stampede_load::{
    Backend, BodyCheck, Check, LoadExchange, LoadProgress, LoadSpec, Pause, RunningLoad, Statuses, start, start_sampled,
};
use stampede_testkit::{Behaviour, CountingServer, Fault};

#[path = "it/asking.rs"]
mod asking;

use asking::backends;

/// The kernel's number of the thread that is watched.
static WATCHED: AtomicI32 = AtomicI32::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

fn count() {
    let watched = WATCHED.load(Ordering::Relaxed);
    if watched != 0 && rustix::thread::gettid().as_raw_nonzero().get() == watched {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of this process's thread of that name.
fn thread_number(name: &str) -> Option<i32> {
    fs::read_dir("/proc/self/task").ok()?.flatten().find_map(|task| {
        let comm = fs::read_to_string(task.path().join("comm")).ok()?;
        let number = task.file_name().into_string().ok()?.parse().ok()?;
        (comm.trim() == name).then_some(number)
    })
}

/// Looks until the load is so far; how far it is then.
fn reach(load: &RunningLoad, far: impl Fn(LoadProgress) -> bool) -> LoadProgress {
    loop {
        let progress = load.progress();
        if far(progress) {
            return progress;
        }
        assert!(Instant::now() < load.closes_at(), "waited in vain: {progress:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_window_is_free_of_allocations() {
    for backend in backends("the_window_is_free_of_allocations") {
        for load in ["closed:8", "open:2000@8", "open:poisson:2000..4000/300ms@8"] {
            for sampled in [false, true] {
                holds(backend, load.parse().unwrap(), sampled);
            }
        }
    }
}

fn holds(backend: Backend, load: Load, sampled: bool) {
    ALLOCATIONS.store(0, Ordering::Relaxed);
    let behaviour = Behaviour { fault: Some((Fault::WrongBody, 100)), write_size: 40, ..Behaviour::default() };
    let server = CountingServer::start(behaviour.clone()).unwrap();
    let exchange = LoadExchange::new(
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() },
        Check::new(Statuses::only(200), vec![BodyCheck::Equals(behaviour.body)]),
    );
    let spec = LoadSpec {
        targets: vec![server.endpoint().clone()],
        protocol: Protocol::Http11,
        tls: None,
        host: "localhost".to_owned(),
        exchanges: vec![exchange],
        load: load.clone(),
        think: Pause::default(),
        scenario: None,
        warm_up: Duration::from_millis(100),
        // It is ended before.
        duration: Duration::from_secs(30),
        requests: None,
        timeout: Some(Duration::from_millis(50)),
        keep_alive: true,
        seed: 1,
        shard: None,
        source: None,
        slices: true,
        drain: Duration::from_secs(2),
        cpus: vec![rustix::thread::sched_getcpu() as u32],
        backend,
    };
    let (running, reader) = if sampled {
        let (running, reader) = start_sampled(spec).unwrap();
        (running, Some(reader))
    } else {
        (start(spec).unwrap(), None)
    };
    // Batches go round while the thread is watched.
    let reading = reader.map(|mut reader| {
        thread::spawn(move || {
            let mut seen = 0;
            while reader.read(|batch| seen += batch.len()) {
                thread::sleep(Duration::from_millis(1));
            }
            (seen, reader.lost())
        })
    });
    let number = thread_number("load-0").unwrap();

    let before = reach(&running, |progress| progress.ok > 0 && Instant::now() >= running.opens_at());
    WATCHED.store(number, Ordering::Relaxed);
    let far = |progress: LoadProgress| {
        progress.ok > before.ok + if sampled { 2500 } else { 300 } && progress.failed > before.failed
    };
    let after = reach(&running, far);
    WATCHED.store(0, Ordering::Relaxed);

    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    assert_eq!(allocations, 0, "in {} answers of {load} on {backend}, sampled: {sampled}", after.ok - before.ok);
    running.abort();
    let result = running.finish();
    if let Some(reading) = reading {
        let sent = result.total.requests.sent + result.total.warm_up.sent;
        assert_eq!(reading.join().unwrap(), (usize::try_from(sent).unwrap(), 0), "{load} on {backend}");
    }
}
