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
use crate::timeline::Timeline;

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Events that are fetched at once.
const EVENTS: usize = 256;

/// The token of the event that ends the load early.
const ABORT: u64 = u64::MAX;

/// What a thread is given to begin with.
pub(crate) struct Assignment<P> {
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) target: Arc<Target>,
    pub(crate) epoll: OwnedFd,
    pub(crate) pacer: P,
    pub(crate) progress: Arc<ThreadProgress>,
    /// How many connections come before this thread's.
    pub(crate) first_connection: usize,
    pub(crate) connections: usize,
}

/// Makes an epoll instance that the given event ends.
pub(crate) fn create_epoll(abort: &OwnedFd) -> Result<OwnedFd, Errno> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, abort, EventData::new_u64(ABORT), EventFlags::IN)?;
    Ok(epoll)
}

/// Drives the load until it is over, and returns what was seen.
pub(crate) fn run<P: Pacer>(assignment: Assignment<P>, timeline: Timeline) -> Recorder {
    let Assignment { exchanges, target, epoll, pacer, progress, first_connection, connections } = assignment;
    let mut driver = Driver {
        timeline,
        exchanges,
        epoll,
        pacer,
        recorder: Recorder::new(),
        buffer: vec![0; BUFFER].into_boxed_slice(),
        target,
        opened: 0,
        timers: BinaryHeap::with_capacity(connections),
        progress,
    };
    let start = Instant::now();
    let mut connections: Vec<Connection> = (0..connections)
        .map(|token| {
            let exchange = (first_connection + token) % driver.exchanges.len();
            Connection::new(token, exchange, start)
        })
        .collect();
    let mut events = Vec::with_capacity(EVENTS);
    let mut cpu = CpuWindow::default();

    let start = Instant::now();
    for connection in &mut connections {
        connection.schedule(&mut driver, start, start);
    }
    loop {
        let now = Instant::now();
        cpu.pass(now, &timeline);
        while let Some(token) = driver.pop_timer(now) {
            if let Some(connection) = connections.get_mut(token) {
                connection.on_timer(&mut driver);
            }
        }
        let closed = now >= timeline.closes_at;
        if now >= timeline.drain_ends_at || closed && connections.iter().all(Connection::is_done) {
            break;
        }
        events.clear();
        let patience = to_timespec(driver.next_deadline(now).saturating_duration_since(now));
        match epoll::wait(&driver.epoll, spare_capacity(&mut events), Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            // The kernel gives no other error for a valid descriptor and buffer (epoll_wait(2)).
            Err(_) => break,
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
    for phase in connections.iter().filter_map(Connection::unfinished) {
        driver.recorder.unfinished(phase);
    }
    driver.recorder.used_cpu(cpu.used());
    driver.recorder
}

/// What a thread's connections share.
pub(crate) struct Driver<P> {
    pub(crate) timeline: Timeline,
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) epoll: OwnedFd,
    pub(crate) pacer: P,
    pub(crate) recorder: Recorder,
    pub(crate) buffer: Box<[u8]>,
    target: Arc<Target>,
    /// Connections opened so far.
    opened: u32,
    /// At most one for each connection.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    progress: Arc<ThreadProgress>,
}

impl<P> Driver<P> {
    /// Has a connection's `on_timer` called at an instant.
    pub(crate) fn wake_at(&mut self, at: Instant, token: usize) {
        self.timers.push(Reverse((at, token)));
    }

    pub(crate) fn open(&mut self) -> Result<Opened, Errno> {
        let opened = self.target.open(self.opened);
        self.opened = self.opened.wrapping_add(1);
        opened
    }

    pub(crate) fn publish_progress(&self) {
        let (ok, failed) = self.recorder.progress();
        self.progress.publish(ok, failed);
    }

    fn pop_timer(&mut self, now: Instant) -> Option<usize> {
        match self.timers.peek() {
            Some(Reverse((at, _))) if *at <= now => self.timers.pop().map(|Reverse((_, token))| token),
            _ => None,
        }
    }

    /// When the loop must go on even if nothing happens.
    fn next_deadline(&self, now: Instant) -> Instant {
        let Timeline { opens_at, closes_at, drain_ends_at, .. } = self.timeline;
        let edge = if now < opens_at {
            opens_at
        } else if now < closes_at {
            closes_at
        } else {
            drain_ends_at
        };
        match self.timers.peek() {
            Some(Reverse((at, _))) => edge.min(*at),
            None => edge,
        }
    }
}

/// This thread's CPU time between the edges of the window.
#[derive(Default)]
struct CpuWindow {
    opened: Option<Duration>,
    closed: Option<Duration>,
}

impl CpuWindow {
    /// Reads the thread's clock when an edge has passed.
    fn pass(&mut self, now: Instant, timeline: &Timeline) {
        if now >= timeline.opens_at {
            self.opened.get_or_insert_with(thread_cpu);
        }
        if now >= timeline.closes_at {
            self.closed.get_or_insert_with(thread_cpu);
        }
    }

    /// Ends now when the load was ended early.
    fn used(&self) -> Duration {
        self.opened.map_or(Duration::ZERO, |opened| self.closed.unwrap_or_else(thread_cpu).saturating_sub(opened))
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

/// Rounds up to milliseconds in the kernel's interface, so the loop wakes late rather than in vain.
fn to_timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX), tv_nsec: duration.subsec_nanos().into() }
}
