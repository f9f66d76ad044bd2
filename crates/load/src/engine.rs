//! Starts load threads, watches them and puts their results together.

use std::io::{self, PipeReader};
use std::mem;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use stampede_core::{Endpoint, Load, Protocol};
use stampede_priority::{Precedence, ThreadRole};
use stampede_scenario::{Scenario, in_turn};
use thiserror::Error;

use crate::authored::Authored;
use crate::coarse_histogram::CoarseHistogram;
use crate::crowd_plan::{CrowdPlan, CrowdTerms};
use crate::epoll::Epoll;
use crate::io::Io;
use crate::prepared_exchange::PreparedExchange;
use crate::recorder::Recorder;
use crate::redirect::{RedirectRules, Redirects};
use crate::sampler::{self, SampleReader, ThreadSamples};
use crate::slicer::{self, Gathering};
use crate::socket::Target;
use crate::targets::Targets;
use crate::timeline::Timeline;
use crate::tls::{Security, TlsError};
use crate::uring::Uring;
use crate::worker::{self, Assignment};
use stampede_seam::AuthoredThread;
use stampede_seam::Backend;
use stampede_seam::LoadResult;
use stampede_seam::RoughLatencies;
use stampede_seam::Slice;
use stampede_seam::TurnSpan;
use stampede_seam::{LoadProgress, LoadSpec};

/// Starts a load. It runs on threads of its own until its drain ends, whatever the caller does meanwhile.
///
/// # Errors
///
/// When there is nothing to send, or the threads cannot be set up. Nothing runs then.
pub fn start(spec: LoadSpec) -> Result<RunningLoad, StartError> {
    start_at(spec, None, &[])
}

/// Starts a load that begins at an instant, and rests between its turns where it has some: see
/// [`LoadOrder`](stampede_seam::LoadOrder).
///
/// # Errors
///
/// As [`start`]; and when turns are not in order, or it is not a load that can rest.
pub fn start_at(spec: LoadSpec, begins: Option<Instant>, turns: &[TurnSpan]) -> Result<RunningLoad, StartError> {
    launch(spec, begins, turns, Extent::default())
}

/// Starts a load as [`start`] does, and gives each of its requests to the reader.
///
/// # Errors
///
/// As [`start`].
pub fn start_sampled(spec: LoadSpec) -> Result<(RunningLoad, SampleReader), StartError> {
    let mut sampled = Vec::new();
    let running = launch(spec, None, &[], Extent { sampled: Some(&mut sampled), ..Extent::default() })?;
    Ok((running, SampleReader::new(sampled)))
}

/// Starts a load as [`start`] does, or as [`start_sampled`] does, that follows redirects: the answers of a chain are one answer to
/// its first request.
///
/// # Errors
///
/// As [`start`]; and when there is a scenario, whose steps say themselves what is sent next.
pub fn start_following(
    spec: LoadSpec,
    rules: RedirectRules,
    sampled: bool,
) -> Result<(RunningLoad, Option<SampleReader>), StartError> {
    if spec.scenario.is_some() {
        return Err(StartError::Redirects);
    }
    let mut ends = Vec::new();
    let extent = Extent { sampled: sampled.then_some(&mut ends), redirects: Some(rules), ..Extent::default() };
    let running = launch(spec, None, &[], extent)?;
    Ok((running, sampled.then(|| SampleReader::new(ends))))
}

/// Starts a load over HTTP/1.1 whose threads send what each of these says, in place of the spec's targets and exchanges: of those
/// the first has the name and the check. Each thread is on the next of the spec's processors.
///
/// # Errors
///
/// As [`start`]; and when there is a scenario, or not a processor and a connection for each thread.
pub fn start_authored(spec: LoadSpec, threads: Vec<AuthoredThread>) -> Result<RunningLoad, StartError> {
    let count = threads.len();
    let has_all = (1..=spec.cpus.len().min(spec.load.connections() as usize)).contains(&count);
    if !has_all || spec.scenario.is_some() || spec.protocol != Protocol::Http11 {
        return Err(StartError::Authors);
    }
    launch(spec, None, &[], Extent { authored: threads, ..Extent::default() })
}

/// What few loads have.
#[derive(Default)]
struct Extent<'a> {
    /// Where requests are to be kept: has an end for each thread.
    sampled: Option<&'a mut Vec<ThreadSamples>>,
    /// Threads that have authors: there is one for each.
    authored: Vec<AuthoredThread>,
    /// How redirects are followed, if they are.
    redirects: Option<RedirectRules>,
}

fn launch(
    spec: LoadSpec,
    begins: Option<Instant>,
    turns: &[TurnSpan],
    extent: Extent<'_>,
) -> Result<RunningLoad, StartError> {
    let Extent { mut sampled, authored, redirects } = extent;
    if !turns.is_empty() && !can_rest(&spec, turns) {
        return Err(StartError::Turns);
    }
    let LoadSpec {
        targets,
        host,
        protocol,
        tls,
        exchanges,
        load,
        think,
        scenario,
        warm_up,
        duration,
        requests,
        drain,
        timeout,
        keep_alive,
        seed,
        shard,
        source,
        slices,
        cpus,
        backend,
    } = spec;
    let targets = Arc::new(Targets::new(prepare(&targets, source)?));
    let scheme = if tls.is_some() { "https" } else { "http" };
    let security = tls.as_ref().map(|tls| Security::new(tls, protocol)).transpose()?;
    let keep_alive = keep_alive || matches!(protocol, Protocol::Http2 { .. });
    let sent = (host.as_str(), protocol, keep_alive);
    let redirects = redirects.map(|rules| Redirects::new(rules, &exchanges, sent, tls.as_ref(), source));
    let terms =
        Arc::new(CrowdTerms { requests, warm_up, duration, seed, shard, scenario, host: host.clone(), keep_alive });
    let (mut names, mut prepared, mut crowds) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(scenario) = &terms.scenario {
        for (number, crowd) in scenario.crowds.iter().enumerate() {
            let first = prepared.len();
            for (flow, step) in crowd.flows.iter().flat_map(|flow| flow.steps.iter().map(move |step| (flow, step))) {
                names.push(flow.step_name(step));
                prepared.push(PreparedExchange::of_step(flow, step, protocol, scheme, &host, keep_alive));
            }
            crowds.push(CrowdPlan::new(number, &crowd.load, crowd.think, first..prepared.len(), &terms));
        }
    } else if !authored.is_empty() {
        let exchange = exchanges.into_iter().next().ok_or(StartError::NoExchange)?;
        for thread in &authored {
            names.push(format!("{} {}", exchange.request.method, exchange.request.path));
            prepared.push(PreparedExchange::authored(&exchange.check, thread));
        }
        crowds.push(CrowdPlan::new(0, &load, think, 0..prepared.len(), &terms));
    } else {
        let mix = in_turn(&exchanges.iter().map(|exchange| exchange.weight).collect::<Vec<_>>());
        for exchange in exchanges {
            names.push(format!("{} {}", exchange.request.method, exchange.request.path));
            prepared.push(PreparedExchange::new(exchange, protocol, scheme, &host, keep_alive));
        }
        crowds.push(CrowdPlan::of_mix(&load, think, mix, &terms));
    }
    if prepared.is_empty() {
        return Err(StartError::NoExchange);
    }
    let exchanges: Arc<[PreparedExchange]> = prepared.into();
    let threads = cpus.len().min(crowds.iter().map(|crowd| crowd.connections).max().unwrap_or(0));
    let threads = if authored.is_empty() { threads } else { authored.len() };
    let mut authored = authored.into_iter();
    if threads == 0 {
        return Err(StartError::NoThread);
    }

    let timelines = || -> Arc<[Timeline]> {
        let begins = begins.unwrap_or_else(Instant::now);
        match turns {
            [] => [Timeline::new(begins, warm_up, duration, drain)].into(),
            turns => Timeline::of_turns(begins, turns, drain).into(),
        }
    };
    let (end, ends) = io::pipe().map_err(StartError::Event)?;
    let ends = Arc::new(ends);
    // An early return drops first the senders, without which the threads end, and then the threads.
    let mut running = RunningLoad {
        timelines: timelines(),
        by_count: requests.is_some(),
        backend,
        gathering: Mutex::new(Gathering::new(Vec::new())),
        names,
        scenario: terms.scenario.clone(),
        targets: Arc::clone(&targets),
        source,
        end,
        threads: Vec::new(),
    };
    let (mut waiting, mut gathered) = (Vec::new(), Vec::new());
    let (ready, all_ready) = mpsc::channel();
    // Shards begin at different targets: all of them together deal the whole load's connections out evenly.
    let mut first_connection: usize = crowds.iter().map(|crowd| crowd.before).sum();
    let precedence = Precedence::here();
    // Others begin at that instant too, and may share a processor with these.
    let hurries = begins.is_some() && turns.is_empty();
    for (number, cpu) in (0..threads).zip(cpus) {
        let call = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Arc::new)
            .map_err(|error| StartError::Event(error.into()))?;
        let progress = Arc::new(ThreadProgress::default());
        let mut crowds: Vec<_> = crowds.iter().filter_map(|crowd| crowd.of_thread(number, threads)).collect();
        let connections = crowds.iter().map(|crowd| crowd.connections).sum();
        let (slicer, of_slicer) = if slices { Some(slicer::channel()).unzip() } else { (None, None) };
        gathered.extend(of_slicer);
        let mut recorder = Recorder::new(exchanges.len(), turns.len(), terms.scenario.as_deref(), slicer);
        if let Some(sampled) = &mut sampled {
            let (sampler, of_thread) = sampler::channel();
            recorder.sampler = Some(Box::new(sampler));
            sampled.push(of_thread);
        }
        let (exchanges, of_io) = (Arc::clone(&exchanges), Arc::clone(&exchanges));
        let mut targets = Arc::clone(&targets);
        let mut of_author = None;
        if let Some(AuthoredThread { target, author, reads, .. }) = authored.next() {
            targets = Arc::new(Targets::new(prepare(&[target], source)?));
            crowds = crowds.into_iter().map(|share| share.sending(number)).collect();
            of_author = author.map(|author| Authored::new(author, reads, connections));
        }
        let security = security.clone();
        let redirects = redirects.as_ref().map(|redirects| Box::new(redirects.for_thread()));
        let of_thread = Arc::clone(&progress);
        let of_loop = Arc::clone(&call);
        let assign = move |timelines: Arc<[Timeline]>| Assignment {
            exchanges,
            targets,
            security,
            crowds,
            recorder,
            timelines,
            hurries,
            timeout,
            protocol,
            keep_alive,
            by_count: requests.is_some(),
            progress: of_thread,
            call: of_loop,
            first_connection,
            authored: of_author,
            redirects,
        };
        first_connection += connections;
        let (go, start) = mpsc::channel();
        let ready = ready.clone();
        let ends = Arc::clone(&ends);
        let handle = thread::Builder::new()
            .name(format!("load-{number}"))
            .spawn({
                let call = Arc::clone(&call);
                move || {
                    // Closed with the last thread, even when that panics.
                    let _ends = ends;
                    precedence.adopt(ThreadRole::Load);
                    match backend {
                        Backend::Epoll => run_pinned::<Epoll>(cpu, connections, &of_io, &call, assign, &ready, &start),
                        Backend::IoUring => {
                            run_pinned::<Uring>(cpu, connections, &of_io, &call, assign, &ready, &start)
                        }
                    }
                }
            })
            .map_err(StartError::Thread)?;
        waiting.push(go);
        running.threads.push(LoadThread { handle, call, progress });
    }
    for pinned in all_ready.iter().take(threads) {
        pinned?;
    }
    running.gathering = Mutex::new(Gathering::new(gathered));
    running.timelines = timelines();
    for go in waiting {
        // A thread waits for this until it comes.
        let _ = go.send(Arc::clone(&running.timelines));
    }
    Ok(running)
}

/// What calls a thread to end it; the event adds up what is written before it is read.
pub(crate) const ABORT: u64 = 1 << 32;

/// Whether a load is the same whenever it goes on, and its turns follow each other.
fn can_rest(spec: &LoadSpec, turns: &[TurnSpan]) -> bool {
    let is_steady = matches!(spec.load, Load::Closed { .. }) && spec.scenario.is_none() && spec.requests.is_none();
    let edges = turns.iter().flat_map(|turn| [turn.wakes, turn.opens, turn.closes, turn.rests]);
    is_steady && edges.is_sorted()
}

fn prepare(targets: &[Endpoint], source: Option<IpAddr>) -> Result<Arc<[Target]>, StartError> {
    if targets.is_empty() {
        return Err(StartError::NoTarget);
    }
    let prepared = targets.iter().map(|target| Target::new(target, source)).collect::<Result<_, _>>();
    prepared.map_err(|error| StartError::Target(error.into()))
}

/// A load thread's life. Without a timeline nothing is sent.
fn run_pinned<I: Io>(
    cpu: u32,
    connections: usize,
    exchanges: &Arc<[PreparedExchange]>,
    call: &OwnedFd,
    assign: impl FnOnce(Arc<[Timeline]>) -> Assignment,
    ready: &Sender<Result<(), StartError>>,
    start: &Receiver<Arc<[Timeline]>>,
) -> Option<Recorder> {
    let io = pin(cpu).and_then(|()| wake_on_time()).and_then(|()| {
        I::new(connections, exchanges, call)
            .map_err(|error| StartError::Backend { backend: I::BACKEND, source: error.into() })
    });
    let (io, told) = match io {
        Ok(io) => (Some(io), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // Nobody waits for this any more when another thread has failed.
    let _ = ready.send(told);
    let timelines = start.recv().ok()?;
    io.map(|io| worker::run(assign(timelines), io))
}

fn pin(cpu: u32) -> Result<(), StartError> {
    let mut set = CpuSet::new();
    let number = cpu as usize;
    if number < CpuSet::MAX_CPU {
        set.set(number);
    }
    sched_setaffinity(None, &set).map_err(|error| StartError::Pin { cpu, source: error.into() })
}

/// Has the kernel wake this thread when its timers end, and not up to 50 us later (PR_SET_TIMERSLACK(2const)).
fn wake_on_time() -> Result<(), StartError> {
    set_current_timer_slack(Some(NonZeroU64::MIN)).map_err(|error| StartError::TimerSlack(error.into()))
}

/// A load that runs. Dropping it ends it at once.
#[derive(Debug)]
pub struct RunningLoad {
    /// Of each turn; one for a load that does not rest.
    timelines: Arc<[Timeline]>,
    /// Whether the window ends with the last of a number of requests.
    by_count: bool,
    backend: Backend,
    gathering: Mutex<Gathering>,
    /// The names of the steps.
    names: Vec<String>,
    scenario: Option<Arc<Scenario>>,
    targets: Arc<Targets>,
    source: Option<IpAddr>,
    /// Comes to its end when all threads have.
    end: PipeReader,
    threads: Vec<LoadThread>,
}

#[derive(Debug)]
struct LoadThread {
    handle: JoinHandle<Option<Recorder>>,
    /// Written to call the thread: [`ABORT`] to end it, less to have it look at its targets.
    call: Arc<OwnedFd>,
    progress: Arc<ThreadProgress>,
}

impl RunningLoad {
    /// When the window opens and the warm-up ends; of a load in turns, the first.
    pub fn opens_at(&self) -> Instant {
        self.timelines.first().map_or_else(Instant::now, |first| first.opens_at)
    }

    /// When the window closes and the drain begins, at the latest; of a load in turns, the last.
    pub fn closes_at(&self) -> Instant {
        self.timelines.last().map_or_else(Instant::now, |last| last.closes_at)
    }

    /// The names of its steps, in the order of [`LoadResult::steps`].
    pub fn step_names(&self) -> &[String] {
        &self.names
    }

    /// How far it is; costs the load threads nothing.
    pub fn progress(&self) -> LoadProgress {
        self.threads.iter().map(|thread| thread.progress.read()).fold(LoadProgress::default(), |sum, thread| {
            LoadProgress { ok: sum.ok + thread.ok, failed: sum.failed + thread.failed }
        })
    }

    /// Requests that have ended so far, rightly or not, on each thread; costs the load threads nothing.
    pub fn ended_by_thread(&self) -> Vec<u64> {
        let progress = |thread: &LoadThread| thread.progress.read();
        self.threads.iter().map(progress).map(|LoadProgress { ok, failed }| ok + failed).collect()
    }

    /// How long requests have taken so far, roughly; costs the load threads next to nothing.
    pub fn rough_latencies(&self) -> RoughLatencies {
        let mut sum = RoughLatencies::new();
        self.threads.iter().for_each(|thread| thread.progress.rough.add_to(&mut sum));
        sum
    }

    /// The seconds of the window that have passed since the last call, where they were asked for.
    pub fn slices(&self) -> Vec<Slice> {
        self.gathering.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether all answers are there or the drain's time is over, so that [`RunningLoad::finish`] does not wait.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.handle.is_finished())
    }

    /// A pipe whose end of file comes once all answers are there or the drain's time is over: who waits for that does not
    /// have to look at [`RunningLoad::is_finished`] again and again, on a processor that may be the load's.
    /// [`RunningLoad::finish`] takes no more than a moment then.
    ///
    /// # Errors
    ///
    /// When there is no file descriptor left.
    pub fn end(&self) -> io::Result<PipeReader> {
        self.end.try_clone()
    }

    /// Ends it now: what has no answer yet is unfinished. Does not wait; [`RunningLoad::finish`] does.
    pub fn abort(&self) {
        self.call(ABORT);
    }

    /// Has requests go to these targets from now on, and to no other. A connection to one that is not among them is closed
    /// when its answer is there, or at once when none is under way; some connections to the others are closed in the same
    /// way, and opened to targets that have come, so that all have their share. None of that is a reconnect. Does not wait.
    ///
    /// # Errors
    ///
    /// When there is none, or one cannot be an address. The load goes on as before then.
    pub fn set_targets(&self, targets: &[Endpoint]) -> Result<(), StartError> {
        self.targets.replace(prepare(targets, self.source)?);
        self.call(1);
        Ok(())
    }

    fn call(&self, what: u64) {
        for thread in &self.threads {
            // It fails only when nobody reads it and the sum comes near 2^64.
            let _ = rustix::io::write(&*thread.call, &what.to_ne_bytes());
        }
    }

    /// Waits until all answers are there or the drain's time is over, and returns what was measured. After an abort the
    /// window ends with the abort.
    pub fn finish(mut self) -> LoadResult {
        let mut merged = Recorder::new(self.names.len(), 0, self.scenario.as_deref(), None);
        let mut last = Vec::new();
        for thread in self.threads.drain(..) {
            match thread.handle.join() {
                Ok(Some(mut recorder)) => {
                    last.extend(recorder.slicer.take().map(|slicer| slicer.current));
                    merged.merge(recorder);
                }
                Ok(None) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let gathering = mem::replace(&mut self.gathering, Mutex::new(Gathering::new(Vec::new())));
        let gathering = gathering.into_inner().unwrap_or_else(PoisonError::into_inner);
        let names = mem::take(&mut self.names);
        let scenario = self.scenario.as_deref();
        let result = merged.into_result(&self.timelines, self.by_count, self.backend, names, scenario);
        LoadResult { slices: gathering.finish(last), ..result }
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
    pub(crate) rough: CoarseHistogram,
}

impl ThreadProgress {
    pub(crate) fn publish(&self, ok: u64, failed: u64) {
        self.ok.store(ok, Ordering::Relaxed);
        self.failed.store(failed, Ordering::Relaxed);
    }

    fn read(&self) -> LoadProgress {
        LoadProgress { ok: self.ok.load(Ordering::Relaxed), failed: self.failed.load(Ordering::Relaxed) }
    }
}

/// Why a load could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is nothing to send.
    #[error("start the load: it has no exchange")]
    NoExchange,
    /// It cannot rest.
    #[error(
        "start the load in turns: they must follow each other, and the load be of a steady number of clients without a scenario \
         or a number of requests"
    )]
    Turns,
    /// It cannot have authors.
    #[error(
        "start the load with authors: it must be over HTTP/1.1, without a scenario, with a connection for each thread"
    )]
    Authors,
    /// Redirects are to be followed, and a scenario says what is sent next.
    #[error("start the load: the steps of a scenario follow redirects where they say so")]
    Redirects,
    /// There is nothing to send with.
    #[error("start the load: it has no processor or no connection")]
    NoThread,
    /// There is nowhere to send to.
    #[error("start the load: it has no target")]
    NoTarget,
    /// TLS cannot be used.
    #[error("start the load")]
    Tls(#[from] TlsError),
    /// The target cannot be an address.
    #[error("start the load: the path of the unix socket cannot be used")]
    Target(#[source] io::Error),
    /// The kernel gave nothing that tells of the end of the load, or ends it early.
    #[error("start the load: create an event for its end")]
    Event(#[source] io::Error),
    /// The kernel does not have the backend, or does not permit it.
    #[error("start the load: set up {backend}")]
    Backend {
        /// The backend.
        backend: Backend,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The kernel gave no thread.
    #[error("start the load: create a thread")]
    Thread(#[source] io::Error),
    /// The kernel does not take the timer slack.
    #[error("start the load: have timers end on time")]
    TimerSlack(#[source] io::Error),
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
