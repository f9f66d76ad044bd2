//! Due times and response times against what they must be by calculation.
//!
//! One test, so that nothing else of this program runs beside what it times; generators and servers are pinned to different
//! processors where there are two. A try is right when all of its figures are. One that is not, and in which a thread that
//! only sleeps until the next millisecond was held up too, on either processor, says nothing about the generator: it is
//! thrown away, told, and repeated a bounded number of times. Any other that is wrong is a failure.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use stampede_core::Load;
use stampede_load::{Backend, LoadResult, LoadSpec, start};
use stampede_testkit::{Behaviour, CountingServer, Stall, StallServer, Stalls};

#[path = "it/asking.rs"]
mod asking;

use asking::{MS, backends, cpus, spec};

/// The most tries of a case, with those that are thrown away.
const TRIES: u32 = 25;

/// A processor that does not run a thread for longer than this after its timer was paused: half of what a figure may be off.
const PAUSE: Duration = Duration::from_millis(1);

#[test]
fn requests_are_sent_when_they_are_due_and_stalls_are_measured_in_full() {
    // Servers inherit it; the generator pins itself to the first one.
    pin(*cpus().last().unwrap());
    // Before other programs, where that is permitted.
    let _ = setpriority_process(None, -20);

    // At once: none has more to do than some thousand requests in a second, a few hundredths of a processor.
    let backends = backends("requests_are_sent_when_they_are_due_and_stalls_are_measured_in_full");
    thread::scope(|scope| {
        for backend in backends {
            scope.spawn(move || {
                rates_hold(backend);
                stalls_hold(backend, &STALLS);
            });
            // What is made of a time is the same whatever waits for it: these are looked at once.
            if backend == Backend::Epoll {
                scope.spawn(move || stalls_hold(backend, &STALLS_ONCE));
            }
        }
    });
}

fn rates_hold(backend: Backend) {
    for load in ["open:100", "open:2000", "open:100..1900/1500ms"] {
        retried(&format!("{load} on {backend}"), || rate_is_exact(backend, load));
    }
}

/// A load, and the milliseconds that a stall lasts and after which one begins. Some 20 to 30 requests come in a stall: what the server
/// takes to work them off afterwards is well below 2 ms.
const STALLS: [(&str, u32, u32); 5] = [
    ("open:100", 300, 617),
    ("open:1000", 25, 131),
    ("open:200@16", 120, 400),
    ("open:50..350/1200ms", 80, 200),
    ("open:poisson:200", 100, 400),
];
const STALLS_ONCE: [(&str, u32, u32); 3] = [("open:100", 200, 1000), ("open:200", 100, 400), ("open:400", 50, 257)];

fn stalls_hold(backend: Backend, stalls: &[(&str, u32, u32)]) {
    for &(load, length, every) in stalls {
        let stalls = Stalls { length: length * MS, every: every * MS };
        retried(&format!("{load} with {stalls:?} on {backend}"), || stalls_are_measured(backend, load, stalls));
    }
}

/// A figure by its name, with what is wrong with it.
type Figures = Vec<(String, Option<String>)>;

/// Tries until all figures of a try are right, or those of one in which the machine did not pause are not.
fn retried(what: &str, attempt: impl Fn() -> Figures) {
    for _ in 0..TRIES {
        let reference = Reference::begin();
        let figures = attempt();
        let paused = reference.end();
        assert!(!figures.is_empty(), "{what}: nothing was looked at");
        let wrong: Vec<_> =
            figures.into_iter().filter_map(|(name, wrong)| Some(format!("{name}: {}", wrong?))).collect();
        if wrong.is_empty() {
            return;
        }
        assert!(paused > PAUSE, "{what}: {wrong:#?}, while the machine paused for no longer than {paused:?}");
        let _ = writeln!(io::stderr(), "THROWN AWAY {what}: the machine paused for {paused:?}: {wrong:?}");
    }
    panic!("{what}: the machine paused in each of {TRIES} tries, and none was right");
}

/// Threads that sleep from one millisecond to the next, one on the generator's processor and one on the server's.
struct Reference {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Duration>>,
}

impl Reference {
    fn begin() -> Self {
        let cpus = cpus();
        let ends = Arc::new(AtomicBool::new(false));
        let threads = [cpus[0], *cpus.last().unwrap()].map(|cpu| {
            let ends = Arc::clone(&ends);
            thread::spawn(move || {
                pin(cpu);
                set_current_timer_slack(Some(std::num::NonZeroU64::MIN)).unwrap();
                let mut latest = Duration::ZERO;
                let mut due = Instant::now() + MS;
                while !ends.load(Ordering::Relaxed) {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    let now = Instant::now();
                    latest = latest.max(now.saturating_duration_since(due));
                    due = now + MS;
                }
                latest
            })
        });
        Self { ends, threads: threads.into() }
    }

    /// The longest that either was held up.
    fn end(self) -> Duration {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    }
}

fn pin(cpu: u32) {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).unwrap();
}

/// Whether a figure is within its tolerance.
fn figure(name: &str, measured: Duration, truth: Duration, tolerance: Duration) -> (String, Option<String>) {
    let wrong = (measured.abs_diff(truth) > tolerance).then(|| format!("measured as {measured:?}, is {truth:?}"));
    (name.to_owned(), wrong)
}

/// The server receives requests at the rate that was asked for, and each soon after it was due.
fn rate_is_exact(backend: Backend, load: &str) -> Figures {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    // Connections are there when the window opens: what the server takes to accept one is no part of this.
    let spec = LoadSpec { warm_up: 100 * MS, duration: 1500 * MS, ..spec(backend, server.endpoint(), load) };
    let running = start(spec).unwrap();
    let dues = dues(load, running.opens_at(), 1500 * MS);
    let result = running.finish();
    let mut came = server.stop().at;
    came.sort();
    came.drain(..result.total.warm_up.sent as usize);
    assert_eq!((came.len(), result.total.requests.ok), (dues.len(), dues.len() as u64), "{load} {result:?}");
    assert!(came.iter().zip(&dues).all(|(came, due)| came >= due), "{load}: a request came before it was due");

    let span = |at: &[Instant]| at[at.len() - 1] - at[0];
    vec![
        figure("time for all requests", span(&came), span(&dues), span(&dues).mul_f64(0.001)),
        figure("median lateness", result.total.lateness.quantile(0.5), Duration::ZERO, MS / 10),
    ]
}

/// Response times are the rest of the stall that a request falls into, whether a connection was free for it or not.
fn stalls_are_measured(backend: Backend, load: &str, stalls: Stalls) -> Figures {
    let server = StallServer::start(stalls).unwrap();
    // Connections open in the first stall, which is before the window.
    let spec = LoadSpec { warm_up: stalls.every, duration: 1200 * MS, ..spec(backend, server.endpoint(), load) };
    let running = start(spec).unwrap();
    let opens_at = running.opens_at();
    let result = running.finish();
    assert_eq!((result.total.requests.ok, result.total.unsent), (result.total.response.count(), 0), "{result:?}");
    let happened = server.stop().unwrap();
    if load.contains("poisson") {
        return random_stalls(&result, stalls);
    }
    let mut truth: Vec<_> = dues(load, opens_at, 1200 * MS).into_iter().map(|due| wait_at(due, &happened)).collect();
    truth.sort();
    assert_eq!(result.total.requests.ok, truth.len() as u64, "{result:?}");
    let quantiles = [0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99];
    let truths = quantiles.map(|q| (q, truth[(q * truth.len() as f64).ceil() as usize - 1]));
    // Near the end of a stall what counts is how long the server takes to work off what has come meanwhile.
    let inside = truths.into_iter().filter(|(_, truth)| *truth >= 5 * MS);
    inside
        .map(|(q, truth)| {
            let tolerance = truth.mul_f64(0.02).max(2 * MS);
            figure(&format!("p{}", q * 100.0), result.total.response.quantile(q), truth, tolerance)
        })
        .collect()
}

/// Poisson arrivals fall anywhere in a period: the quantile above which a share of all lies is known for many of them.
fn random_stalls(result: &LoadResult, stalls: Stalls) -> Figures {
    let n = result.total.response.count() as f64;
    let quantiles = [0.85, 0.9, 0.95];
    quantiles
        .into_iter()
        .map(|q| {
            let truth = stalls.length - stalls.every.mul_f64(1.0 - q);
            // Four standard deviations of the share beyond a quantile, as time.
            let random = stalls.every.mul_f64(4.0 * (q * (1.0 - q) / n).sqrt());
            figure(&format!("p{}", q * 100.0), result.total.response.quantile(q), truth, random + 2 * MS)
        })
        .collect()
}

/// What is left of the stall that a request falls into.
fn wait_at(due: Instant, happened: &[Stall]) -> Duration {
    let stall = happened.iter().find(|stall| stall.from <= due && due < stall.to);
    stall.map_or(Duration::ZERO, |stall| stall.to - due)
}

fn dues(load: &str, opens_at: Instant, duration: Duration) -> Vec<Instant> {
    let Load::Open { schedule, .. } = load.parse().unwrap() else { panic!("{load}") };
    (0..schedule.count_before(duration)).map(|n| opens_at + schedule.due(n).unwrap()).collect()
}
