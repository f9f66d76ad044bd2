//! The event loop of one load thread. From its start to its end it takes no memory and no lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::connection::Connection;
use crate::engine::ThreadProgress;
use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::socket::{Opened, Target};
use crate::spec::PreparedExchange;
use crate::timeline::{Phase, Timeline};

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Events that are fetched at once.
const EVENTS: usize = 256;

/// Requests of an open load that are begun before events are looked at again.
const BATCH: usize = 64;

/// A sleeping thread may run this long after its timer, so the last part of the way to a due time is spun.
const SPIN: Duration = Duration::from_micros(50);

/// The token of the event that ends the load early.
const ABORT: u64 = u64::MAX;

/// What a thread is given to begin with.
pub(crate) struct Assignment {
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) target: Arc<Target>,
    pub(crate) epoll: OwnedFd,
    pub(crate) pacer: Pacer,
    pub(crate) timeline: Timeline,
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep_alive: bool,
    /// Whether the window ends with the last request instead of with its time.
    pub(crate) by_count: bool,
    pub(crate) progress: Arc<ThreadProgress>,
    /// How many connections come before this thread's.
    pub(crate) first_connection: usize,
    pub(crate) connections: usize,
}

/// Makes an epoll instance that the given event ends.
pub(crate) fn create_epoll(abort: &OwnedFd) -> Result<OwnedFd, Errno> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, abort, EventData::new_u64(ABORT), EventFlags::IN)?;
    // Waiting for nanoseconds needs Linux 5.11 (epoll_pwait2); better to be told now than in the midst of the load.
    epoll::wait(&epoll, spare_capacity(&mut Vec::with_capacity(1)), Some(&to_timespec(Duration::ZERO)))?;
    Ok(epoll)
}

/// Drives the load until it is over, and returns what was seen.
pub(crate) fn run(assignment: Assignment) -> Recorder {
    let Assignment {
        exchanges,
        target,
        epoll,
        pacer,
        timeline,
        timeout,
        keep_alive,
        by_count,
        progress,
        first_connection,
        connections,
    } = assignment;
    let start = Instant::now();
    let mut driver = Driver {
        timeline,
        exchanges,
        epoll,
        pacer,
        timeout,
        keep_alive,
        recorder: Recorder::new(),
        buffer: vec![0; BUFFER].into_boxed_slice(),
        idle: Vec::with_capacity(connections),
        active: connections,
        in_flight: 0,
        woke_at: start,
        target,
        opened: 0,
        timers: BinaryHeap::with_capacity(TIMERS_A_CONNECTION * connections),
        progress,
    };
    let mut connections: Vec<Connection> = (0..connections)
        .map(|token| {
            let exchange = (first_connection + token) % driver.exchanges.len();
            Connection::new(token, exchange, start)
        })
        .collect();
    let mut events = Vec::with_capacity(EVENTS);
    let mut usage = Usage::default();

    let start = Instant::now();
    match driver.pacer {
        Pacer::Closed { .. } => {
            for connection in &mut connections {
                connection.schedule(&mut driver, start, start);
            }
        }
        // The first one is on top, and opens first.
        Pacer::Open(_) => driver.idle.extend((0..connections.len()).rev()),
    }
    let mut seen = InFlight { count: driver.in_flight, at: start };
    loop {
        let now = Instant::now();
        usage.pass(now, &timeline);
        seen.look(&mut driver, now);
        while let Some((at, token, timer)) = driver.pop_timer(now) {
            if let Some(connection) = connections.get_mut(token) {
                connection.on_timer(&mut driver, timer, at, now);
            }
        }
        begin_due(&mut driver, &mut connections, now);
        let now = if driver.in_flight == seen.count { now } else { Instant::now() };
        seen.look(&mut driver, now);
        if now >= timeline.drain_ends_at || driver.is_over() && (by_count || now >= timeline.closes_at) {
            break;
        }
        events.clear();
        let (patience, spins) = driver.patience(now);
        match epoll::wait(&driver.epoll, spare_capacity(&mut events), Some(&to_timespec(patience))) {
            Ok(_) | Err(Errno::INTR) => {}
            // The kernel gives no other error for a valid descriptor and buffer (epoll_wait(2)).
            Err(_) => break,
        }
        driver.woke_at = Instant::now();
        let woke_at = driver.woke_at;
        seen.look(&mut driver, woke_at);
        if spins && events.is_empty() && timeline.phase(now) == Some(Phase::Window) {
            usage.spun(driver.woke_at.saturating_duration_since(now));
        }
        if events.iter().any(is_abort) {
            break;
        }
        for Event { flags, data } in events.iter().copied() {
            let token = usize::try_from(data.u64()).unwrap_or(usize::MAX);
            if let Some(connection) = connections.get_mut(token) {
                connection.on_event(&mut driver, flags);
            }
        }
    }
    let now = Instant::now();
    for connection in &mut connections {
        connection.give_up(&mut driver, now);
    }
    driver.give_up_waiting(now);
    driver.recorder.is_over(now);
    driver.recorder.used(usage.cpu(), usage.spin);
    driver.recorder
}

/// Gives requests of an open load that are due to idle connections.
fn begin_due(driver: &mut Driver, connections: &mut [Connection], now: Instant) {
    for _ in 0..BATCH {
        let (Pacer::Open(arrivals), Some(token)) = (&mut driver.pacer, driver.idle.last().copied()) else {
            return;
        };
        let (Some(arrival), Some(connection)) = (arrivals.take_due(now), connections.get_mut(token)) else {
            return;
        };
        driver.idle.pop();
        connection.take(driver, arrival);
    }
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A connection goes on.
    Wake,
    /// A connection looks at the age of its request.
    Deadline,
}

/// One of each kind, and a wake-up that a time-out has overtaken.
const TIMERS_A_CONNECTION: usize = 3;

/// What a thread's connections share.
pub(crate) struct Driver {
    pub(crate) timeline: Timeline,
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) epoll: OwnedFd,
    pub(crate) pacer: Pacer,
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep_alive: bool,
    pub(crate) recorder: Recorder,
    pub(crate) buffer: Box<[u8]>,
    /// Connections of an open load that wait for a request; the one that is used next is the last.
    pub(crate) idle: Vec<usize>,
    /// Connections of a closed load that have requests to come.
    pub(crate) active: usize,
    /// Connections with a request.
    pub(crate) in_flight: u32,
    /// When the loop learned of the events that it is dealing with.
    pub(crate) woke_at: Instant,
    target: Arc<Target>,
    /// Connections opened so far.
    opened: u32,
    /// At most [`TIMERS_A_CONNECTION`] for each connection.
    timers: BinaryHeap<Reverse<(Instant, usize, Timer)>>,
    progress: Arc<ThreadProgress>,
}

impl Driver {
    /// Has a connection's `on_timer` called at an instant.
    pub(crate) fn set_timer(&mut self, at: Instant, token: usize, timer: Timer) {
        self.timers.push(Reverse((at, token, timer)));
    }

    pub(crate) fn open(&mut self) -> Result<Opened, Errno> {
        let opened = self.target.open(self.opened);
        self.opened = self.opened.wrapping_add(1);
        opened
    }

    /// Notes that a request has come to its end, whatever that is.
    pub(crate) fn ended(&mut self, begun: Instant, now: Instant) {
        self.in_flight -= 1;
        self.recorder.was_in_flight(self.timeline.overlap(begun, now));
    }

    pub(crate) fn publish_progress(&self) {
        let (ok, failed) = self.recorder.progress();
        self.progress.publish(ok, failed);
    }

    /// Whether no request is under way and none will become due.
    fn is_over(&self) -> bool {
        match &self.pacer {
            Pacer::Closed { .. } => self.active == 0,
            Pacer::Open(arrivals) => self.in_flight == 0 && arrivals.next().is_none(),
        }
    }

    /// Counts the requests that were due and never begun.
    fn give_up_waiting(&mut self, now: Instant) {
        if let Pacer::Open(arrivals) = &mut self.pacer {
            while let Some(arrival) = arrivals.take_due(now) {
                if let Some(phase) = self.timeline.phase(arrival.due) {
                    self.recorder.unsent(phase, now.saturating_duration_since(arrival.due));
                }
            }
        }
    }

    fn pop_timer(&mut self, now: Instant) -> Option<(Instant, usize, Timer)> {
        match self.timers.peek() {
            Some(Reverse((at, ..))) if *at <= now => self.timers.pop().map(|Reverse(timer)| timer),
            _ => None,
        }
    }

    /// How long to wait for events, and whether that is a spin before a due time.
    fn patience(&self, now: Instant) -> (Duration, bool) {
        let Timeline { opens_at, closes_at, drain_ends_at, .. } = self.timeline;
        let edge = if now < opens_at {
            opens_at
        } else if now < closes_at {
            closes_at
        } else {
            drain_ends_at
        };
        let wake = self.timers.peek().map_or(edge, |Reverse((at, ..))| edge.min(*at));
        let patience = wake.saturating_duration_since(now);
        match self.pacer.next_due() {
            Some(due) if !self.idle.is_empty() => {
                let left = due.saturating_duration_since(now);
                if left.is_zero() {
                    return (Duration::ZERO, false);
                }
                match left.checked_sub(SPIN) {
                    None => (Duration::ZERO, true),
                    Some(sleep) => (patience.min(sleep), false),
                }
            }
            _ => (patience, false),
        }
    }
}

/// How many requests were in flight at the last look.
struct InFlight {
    count: u32,
    at: Instant,
}

impl InFlight {
    /// Adds up the time in flight since the last look. Where the number has changed, it has done so bit by bit.
    fn look(&mut self, driver: &mut Driver, now: Instant) {
        let time = driver.timeline.overlap(self.at, now);
        driver.recorder.saw_in_flight(time.saturating_mul(self.count + driver.in_flight) / 2);
        *self = Self { count: driver.in_flight, at: now };
    }
}

/// What this thread used between the edges of the window.
#[derive(Default)]
struct Usage {
    cpu_at_open: Option<Duration>,
    cpu_at_close: Option<Duration>,
    spin: Duration,
}

impl Usage {
    /// Reads the thread's clock when an edge has passed.
    fn pass(&mut self, now: Instant, timeline: &Timeline) {
        if now >= timeline.opens_at {
            self.cpu_at_open.get_or_insert_with(thread_cpu);
        }
        if now >= timeline.closes_at {
            self.cpu_at_close.get_or_insert_with(thread_cpu);
        }
    }

    /// Adds a turn of a spin. A turn takes about a microsecond; one longer than the spin may be was spent waiting for the
    /// processor.
    fn spun(&mut self, turn: Duration) {
        if turn < SPIN {
            self.spin += turn;
        }
    }

    /// Ends now when the load was ended early.
    fn cpu(&self) -> Duration {
        self.cpu_at_open
            .map_or(Duration::ZERO, |opened| self.cpu_at_close.unwrap_or_else(thread_cpu).saturating_sub(opened))
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn is_abort(event: &Event) -> bool {
    let Event { data, .. } = *event;
    data.u64() == ABORT
}

fn to_timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
