//! Starts load threads, watches them and puts their results together.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};
use stampede_core::Load;
use thiserror::Error;

use crate::pacer::{BackToBack, Pacer};
use crate::recorder::Recorder;
use crate::result::LoadResult;
use crate::socket::Target;
use crate::spec::{LoadSpec, PreparedExchange};
use crate::timeline::Timeline;
use crate::worker::{self, Assignment};

/// Starts a load. It runs on threads of its own until its drain ends, whatever the caller does meanwhile.
///
/// # Errors
///
/// When there is nothing to send, or the threads cannot be set up. Nothing runs then.
pub fn start(spec: LoadSpec) -> Result<RunningLoad, StartError> {
    match spec.load {
        Load::Closed { .. } => start_with(spec, || BackToBack),
    }
}

fn start_with<P: Pacer>(spec: LoadSpec, pacer: impl Fn() -> P) -> Result<RunningLoad, StartError> {
    let LoadSpec { target, host, exchanges, load, warm_up, duration, drain, cpus } = spec;
    if exchanges.is_empty() {
        return Err(StartError::NoExchange);
    }
    let connections = load.connections() as usize;
    let threads = cpus.len().min(connections);
    if threads == 0 {
        return Err(StartError::NoThread);
    }
    let target = Arc::new(Target::new(&target).map_err(|error| StartError::Target(error.into()))?);
    let exchanges: Arc<[PreparedExchange]> =
        exchanges.into_iter().map(|exchange| PreparedExchange::new(exchange, &host)).collect();

    // An early return drops first the senders, without which the threads end, and then the threads.
    let mut running =
        RunningLoad { timeline: Timeline::new(Instant::now(), warm_up, duration, drain), threads: Vec::new() };
    let mut waiting = Vec::new();
    let (ready, all_ready) = mpsc::channel();
    let mut first_connection = 0;
    for (number, cpu) in (0..threads).zip(cpus) {
        let abort = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(epoll_error)?;
        let progress = Arc::new(ThreadProgress::default());
        let connections = connections / threads + usize::from(number < connections % threads);
        let assignment = Assignment {
            exchanges: Arc::clone(&exchanges),
            target: Arc::clone(&target),
            epoll: worker::create_epoll(&abort).map_err(epoll_error)?,
            pacer: pacer(),
            progress: Arc::clone(&progress),
            first_connection,
            connections,
        };
        first_connection += connections;
        let (go, start) = mpsc::channel();
        let ready = ready.clone();
        let handle = thread::Builder::new()
            .name(format!("load-{number}"))
            .spawn(move || run_pinned(cpu, assignment, &ready, &start))
            .map_err(StartError::Thread)?;
        waiting.push(go);
        running.threads.push(LoadThread { handle, abort, progress });
    }
    for pinned in all_ready.iter().take(threads) {
        pinned?;
    }
    running.timeline = Timeline::new(Instant::now(), warm_up, duration, drain);
    for go in waiting {
        // A thread waits for this until it comes.
        let _ = go.send(running.timeline);
    }
    Ok(running)
}

/// A load thread's life. Without a timeline nothing is sent.
fn run_pinned<P: Pacer>(
    cpu: u32,
    assignment: Assignment<P>,
    ready: &Sender<Result<(), StartError>>,
    start: &Receiver<Timeline>,
) -> Option<Recorder> {
    // Nobody waits for this any more when another thread has failed.
    let _ = ready.send(pin(cpu));
    let timeline = start.recv().ok()?;
    Some(worker::run(assignment, timeline))
}

fn pin(cpu: u32) -> Result<(), StartError> {
    let mut set = CpuSet::new();
    let number = cpu as usize;
    if number < CpuSet::MAX_CPU {
        set.set(number);
    }
    sched_setaffinity(None, &set).map_err(|error| StartError::Pin { cpu, source: error.into() })
}

/// A load that runs. Dropping it ends it at once.
#[derive(Debug)]
pub struct RunningLoad {
    timeline: Timeline,
    threads: Vec<LoadThread>,
}

#[derive(Debug)]
struct LoadThread {
    handle: JoinHandle<Option<Recorder>>,
    /// Written to end the thread early.
    abort: OwnedFd,
    progress: Arc<ThreadProgress>,
}

/// How many requests have come to an end so far, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Right answers.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
}

impl RunningLoad {
    /// When the window opens and the warm-up ends.
    pub fn opens_at(&self) -> Instant {
        self.timeline.opens_at
    }

    /// When the window closes and the drain begins.
    pub fn closes_at(&self) -> Instant {
        self.timeline.closes_at
    }

    /// How far it is; costs the load threads nothing.
    pub fn progress(&self) -> Progress {
        self.threads.iter().map(|thread| thread.progress.read()).fold(Progress::default(), |sum, thread| Progress {
            ok: sum.ok + thread.ok,
            failed: sum.failed + thread.failed,
        })
    }

    /// Whether all answers are there or the drain's time is over, so that [`RunningLoad::finish`] does not wait.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.handle.is_finished())
    }

    /// Ends it now: what has no answer yet is unfinished. Does not wait; [`RunningLoad::finish`] does.
    pub fn abort(&self) {
        for thread in &self.threads {
            // It fails only when it was written 2^64 times before.
            let _ = rustix::io::write(&thread.abort, &1_u64.to_ne_bytes());
        }
    }

    /// Waits until all answers are there or the drain's time is over, and returns what was measured. After an abort
    /// that is what was seen until then, while `window` is the length that was planned.
    pub fn finish(mut self) -> LoadResult {
        let mut merged = Recorder::new();
        for thread in self.threads.drain(..) {
            match thread.handle.join() {
                Ok(recorder) => recorder.into_iter().for_each(|recorder| merged.merge(recorder)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        merged.into_result(self.timeline.closes_at - self.timeline.opens_at)
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        self.abort();
        for thread in self.threads.drain(..) {
            // Whoever drops a load does not want its result, not even a panic.
            let _ = thread.handle.join();
        }
    }
}

/// One thread's progress, in a cache line of its own (two, since processors fetch them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ThreadProgress {
    ok: AtomicU64,
    failed: AtomicU64,
}

impl ThreadProgress {
    pub(crate) fn publish(&self, ok: u64, failed: u64) {
        self.ok.store(ok, Ordering::Relaxed);
        self.failed.store(failed, Ordering::Relaxed);
    }

    fn read(&self) -> Progress {
        Progress { ok: self.ok.load(Ordering::Relaxed), failed: self.failed.load(Ordering::Relaxed) }
    }
}

fn epoll_error(errno: Errno) -> StartError {
    StartError::Epoll(errno.into())
}

/// Why a load could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is nothing to send.
    #[error("start the load: it has no exchange")]
    NoExchange,
    /// There is nothing to send with.
    #[error("start the load: it has no processor or no connection")]
    NoThread,
    /// The target cannot be an address.
    #[error("start the load: the path of the unix socket cannot be used")]
    Target(#[source] io::Error),
    /// The kernel gave no epoll instance or event.
    #[error("start the load: create an epoll instance")]
    Epoll(#[source] io::Error),
    /// The kernel gave no thread.
    #[error("start the load: create a thread")]
    Thread(#[source] io::Error),
    /// The processor does not exist or may not be used.
    #[error("start the load: pin a thread to processor {cpu}")]
    Pin {
        /// The processor.
        cpu: u32,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use stampede_core::Request;
    use stampede_testkit::{Behaviour, Close, CountingServer};

    use super::*;
    use crate::spec::{Check, LoadExchange};

    struct Pausing(Duration);

    impl Pacer for Pausing {
        fn next_due(&mut self) -> Option<Duration> {
            Some(self.0)
        }
    }

    #[test]
    fn a_pacer_may_pause_and_a_server_close_meanwhile() {
        let pause = Duration::from_millis(5);
        for close in [Close::Never, Close::Announced(1), Close::Silent(1)] {
            let behaviour = Behaviour { close, ..Behaviour::default() };
            let check = Check { status: 200, body: Some(behaviour.body.clone()) };
            let server = CountingServer::start(behaviour).unwrap();
            let request =
                Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
            let spec = LoadSpec {
                target: server.endpoint().clone(),
                host: "localhost".to_owned(),
                exchanges: vec![LoadExchange { request, check }],
                load: Load::Closed { connections: 2 },
                warm_up: Duration::ZERO,
                duration: 60 * pause,
                drain: Duration::from_secs(2),
                cpus: vec![rustix::thread::sched_getcpu() as u32],
            };
            let result = start_with(spec, || Pausing(pause)).unwrap().finish();
            let received = server.stop();
            assert_eq!(received.requests(), result.requests.ok, "{close:?} {result:?}");
            assert_eq!(result.requests.sent, result.requests.ok, "{close:?}");
            assert!((20..=120).contains(&result.requests.ok), "{close:?} {result:?}");
            // The pause is no part of a latency.
            assert!(result.response.quantile(0.5) < pause, "{close:?} {result:?}");
            let reconnects = match close {
                Close::Never => 0,
                // Two connections are the first ones.
                _ => result.requests.ok - 2,
            };
            assert_eq!(result.reconnects, reconnects, "{close:?}");
        }
    }
}
