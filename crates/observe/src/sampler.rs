//! Samples everything that a deployment and the kernel tell, beside the measurement.
//!
//! The kernel is read on one thread and each status on one of its own, so that a server that does not answer delays
//! nothing else. Threads sleep between two samples; they belong to the cores of the thread that starts them.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::{
    AddressId, DatabaseLogin, Endpoint, Gauge, MeterSource, QuerySeen, Sampling, Series, SeriesSource, StatusSource,
    StatusTransport, UnitId,
};
use stampede_priority::{Precedence, ThreadRole};
use stampede_seam::SampleTargets;
use stampede_wire::postgres::{PostgresError, PostgresSession};
use stampede_wire::probe::Probe;

use crate::accept_queue::AcceptQueues;
use crate::process_memory::Processes;
use crate::session_locks::SessionLocks;
use crate::status::decode;
use crate::status::postgres_activity::{self, MOST, Seen};
use crate::tick::{PERIOD, Ticks, asking_period};
use crate::{Meter, figures, kernel_text};

/// How long an answer is waited for before a sample says that there was none; the question stays, and what it brings later
/// is a sample of the time at which it came. A little less than what is between two samples at the least.
const PATIENCE: Duration = Duration::from_millis(90);

/// Samples until its window closes. Dropped before, it ends by itself with the next sample.
pub struct Sampler {
    threads: Vec<JoinHandle<(Sampled, Duration)>>,
    /// Its end ends the threads.
    running: Vec<Sender<()>>,
    queue: Arc<AtomicU64>,
}

/// Nothing is known of the queues.
const UNKNOWN: u64 = u64::MAX;

impl Sampler {
    /// Samples the kernel ten times a second from when a window opens until it closes, and units as often or, where there
    /// are more than two or the deployment may use less than one CPU, less often. The memory of one process is read as often, of
    /// each in turn.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn start(targets: SampleTargets, opens: Instant, closes: Instant) -> io::Result<Self> {
        let queue = Arc::new(AtomicU64::new(UNKNOWN));
        let mut sampler = Self { threads: Vec::new(), running: Vec::new(), queue: Arc::clone(&queue) };
        let SampleTargets { cpus, meters, listeners, statuses, inside: _ } = targets;
        let often = Ticks::new(opens, closes, PERIOD);
        let asking = asking_period(statuses.len(), cpus);
        if !meters.is_empty() {
            let (ticks, processes) = (Ticks::new(opens, closes, PERIOD), Processes::new(&meters));
            sampler.spawn(opens, ticks, "sample-memory", move |clock| {
                let mut processes = processes;
                while clock.tick() {
                    processes.sample_next(clock.now());
                }
                processes.into_series().into()
            })?;
        }
        sampler.spawn(opens, often, "sample-kernel", move |clock| {
            Kernel::new(meters, listeners, queue).watch(clock).into()
        })?;
        for (unit, source) in statuses {
            let ticks = Ticks::new(opens, closes, asking);
            sampler.spawn(opens, ticks, "sample-status", move |clock| match source.transport.clone() {
                StatusTransport::Postgres { login, question } => {
                    Database::new(unit, source.address, login, question).watch(clock)
                }
                _ => vec![watch_status(&source, Series::new(SeriesSource::Unit(unit)), clock)].into(),
            })?;
        }
        Ok(sampler)
    }

    fn spawn(
        &mut self,
        opens: Instant,
        ticks: Ticks,
        name: &str,
        watch: impl FnOnce(&mut Clock) -> Sampled + Send + 'static,
    ) -> io::Result<()> {
        let (running, stopped) = channel();
        let mut clock = Clock { opens, ticks, stopped };
        let precedence = Precedence::here();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            precedence.adopt(ThreadRole::Watch);
            (watch(&mut clock), cpu_time())
        })?;
        self.threads.push(thread);
        self.running.push(running);
        Ok(())
    }

    /// How many connections waited to be accepted at the last sample, all of the deployment's queues together; nothing before the
    /// first, and where the kernel does not tell.
    pub fn queue(&self) -> Option<u64> {
        Some(self.queue.load(Ordering::Relaxed)).filter(|queue| *queue != UNKNOWN)
    }

    /// What was sampled until now, in a window that is cut short; waits for samples that are being taken.
    pub fn cut(mut self) -> Sampling {
        self.running.clear();
        self.finish()
    }

    /// What was sampled; waits for the end of the window, and for samples that are being taken.
    pub fn finish(self) -> Sampling {
        let mut sampling = Sampling::default();
        for thread in self.threads {
            match thread.join() {
                Ok((Sampled { series, queries }, cpu)) => {
                    sampling.series.extend(series.into_iter().filter(|series| !series.is_empty()));
                    sampling.queries.extend(queries);
                    sampling.cpu += cpu;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sampling
    }
}

/// What one thread sampled.
#[derive(Default)]
struct Sampled {
    series: Vec<Series>,
    queries: Vec<QuerySeen>,
}

impl From<Vec<Series>> for Sampled {
    fn from(series: Vec<Series>) -> Self {
        Self { series, ..Self::default() }
    }
}

/// The time of one thread.
struct Clock {
    opens: Instant,
    ticks: Ticks,
    stopped: Receiver<()>,
}

impl Clock {
    /// Waits for the next sample; no more come when the window has closed.
    fn tick(&mut self) -> bool {
        let Some(due) = self.ticks.next(Instant::now()) else {
            return false;
        };
        let wait = self.stopped.recv_timeout(due.saturating_duration_since(Instant::now()));
        matches!(wait, Err(RecvTimeoutError::Timeout))
    }

    /// The time since the window opened.
    fn now(&self) -> Duration {
        self.opens.elapsed()
    }

    /// The time until the next sample.
    fn left(&self) -> Duration {
        self.ticks.left(Instant::now())
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// What the kernel tells.
struct Kernel {
    meter: Option<Meter>,
    /// The folders of unified control groups, which know what their processes waited for. Version 1 does not.
    unified: Vec<PathBuf>,
    queues: Option<AcceptQueues>,
    sessions: SessionLocks,
    names: Vec<AddressId>,
    endpoints: Vec<Endpoint>,
    /// Where the last sample of all queues together is told.
    told: Arc<AtomicU64>,
}

impl Kernel {
    fn new(meters: Vec<MeterSource>, listeners: Vec<(AddressId, Endpoint)>, told: Arc<AtomicU64>) -> Self {
        let unified = meters.iter().filter_map(|meter| match meter {
            MeterSource::CgroupV2 { dir } => Some(dir.clone()),
            MeterSource::CgroupV1 { .. } => None,
        });
        let unified = unified.collect();
        let sessions = SessionLocks::new(&meters);
        let (names, endpoints) = listeners.into_iter().unzip();
        // A container may not be allowed to ask: then queues are absent.
        Self { meter: Meter::new(meters), unified, queues: AcceptQueues::open().ok(), sessions, names, endpoints, told }
    }

    fn watch(&mut self, clock: &mut Clock) -> Vec<Series> {
        let mut group = Series::new(SeriesSource::Group);
        let mut machine = Series::new(SeriesSource::Machine);
        let mut queues: Vec<Series> =
            self.names.iter().map(|name| Series::new(SeriesSource::Listener(name.clone()))).collect();
        while clock.tick() {
            if let Some(meter) = &self.meter {
                let counters = meter.read();
                let at = clock.now();
                let mut figures = counters.as_ref().map(figures::of).unwrap_or_default();
                figures.extend(self.unified.iter().flat_map(|dir| kernel_text::pressure(dir, ".pressure")));
                figures.extend(self.sessions.waiting().map(|waiting| (Gauge::SessionLockWaits, waiting)));
                group.push(at, &figures);
            }
            let at = clock.now();
            let waiting = self.queues.as_ref().and_then(|queues| queues.read(&self.endpoints).ok());
            if waiting.is_none() {
                // What is left of an answer would be taken for one to the next question.
                self.queues = AcceptQueues::open().ok();
            }
            let waiting = waiting.unwrap_or_default();
            let known = waiting.iter().flatten().map(|queue| queue.waiting).reduce(|sum, more| sum + more);
            self.told.store(known.unwrap_or(UNKNOWN), Ordering::Relaxed);
            for (series, waiting) in queues.iter_mut().zip(waiting) {
                // How long it may be does not change while it is listened on: it is told once.
                let is_first = !series.columns.contains_key(&Gauge::AcceptQueueLimit);
                let most = waiting.filter(|_| is_first).map(|queue| (Gauge::AcceptQueueLimit, queue.most));
                let waiting = waiting.map(|queue| (Gauge::AcceptQueue, queue.waiting));
                series.push(at, &waiting.into_iter().chain(most).collect::<Vec<_>>());
            }
            let at = clock.now();
            let mut figures = kernel_text::refused(Path::new("/"));
            if machine.is_empty() {
                figures.extend(kernel_text::longest_accept_queue(Path::new("/")));
            }
            figures.extend(kernel_text::tracked(Path::new("/")));
            figures.extend(kernel_text::processors(Path::new("/")));
            figures.extend(kernel_text::swapped(Path::new("/")));
            if self.unified.is_empty() {
                figures.extend(kernel_text::pressure(Path::new("/proc/pressure"), ""));
            }
            machine.push(at, &figures);
        }
        [group, machine].into_iter().chain(queues).collect()
    }
}

/// What one unit says of itself.
fn watch_status(source: &StatusSource<Endpoint>, mut series: Series, clock: &mut Clock) -> Series {
    let mut pending = None;
    // What a server starts for its first answer, as FPM a process, shall be there when the window opens.
    ask(source, &mut pending, clock.left());
    while clock.tick() {
        let asked = clock.now();
        match ask(source, &mut pending, PATIENCE) {
            Some(figures) => series.push(clock.now(), &figures),
            None => series.push(asked, &[]),
        }
        if pending.is_some()
            && let Some(figures) = ask(source, &mut pending, clock.left())
        {
            series.push(clock.now(), &figures);
        }
    }
    series
}

/// What the answer to a question tells, unless it is not there in time; then the question is kept.
fn ask(source: &StatusSource<Endpoint>, pending: &mut Option<Probe>, patience: Duration) -> Option<Vec<(Gauge, u64)>> {
    let began = Instant::now();
    let mut probe = match pending.take() {
        Some(probe) => probe,
        None => Probe::send(source, patience).ok()?,
    };
    match probe.wait(patience.saturating_sub(began.elapsed())).ok()? {
        Some(answer) => decode(&source.format, &answer).ok(),
        None => {
            *pending = Some(probe);
            None
        }
    }
}

/// What a database says of itself, on a connection that is kept: a new one would cost it a process.
struct Database {
    unit: UnitId,
    endpoint: Endpoint,
    login: DatabaseLogin,
    question: Cow<'static, str>,
    session: Option<PostgresSession>,
    seen: Seen,
}

impl Database {
    fn new(unit: UnitId, endpoint: Endpoint, login: DatabaseLogin, question: Cow<'static, str>) -> Self {
        Self { unit, endpoint, login, question, session: None, seen: Seen::new() }
    }

    fn watch(mut self, clock: &mut Clock) -> Sampled {
        let mut series = Series::new(SeriesSource::Unit(self.unit.clone()));
        // It signs in before the window opens. What was seen by then is of no window.
        self.sample(clock.left());
        self.seen.clear();
        while clock.tick() {
            let asked = clock.now();
            match self.sample(PATIENCE) {
                Some(figures) => series.push(clock.now(), &figures),
                None => series.push(asked, &[]),
            }
        }
        let mut queries: Vec<QuerySeen> = self
            .seen
            .into_iter()
            .map(|(text, (seen, locked))| QuerySeen { unit: self.unit.clone(), text, seen, locked })
            .collect();
        queries.sort_by(|a, b| b.seen.cmp(&a.seen).then_with(|| a.text.cmp(&b.text)));
        queries.truncate(MOST);
        Sampled { series: vec![series], queries }
    }

    /// What it tells, unless it does not in time; then the question stays open.
    fn sample(&mut self, patience: Duration) -> Option<Vec<(Gauge, u64)>> {
        let rows = self.rows(patience);
        match rows {
            Ok(rows) => Some(postgres_activity::decode(&rows?, &mut self.seen)),
            Err(_) => {
                self.session = None;
                None
            }
        }
    }

    fn rows(&mut self, patience: Duration) -> Result<Option<Vec<postgres_activity::Row>>, PostgresError> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(PostgresSession::open(&self.endpoint, &self.login, patience)?),
        };
        session.ask(&self.question, patience)?;
        session.answer(patience)
    }
}
