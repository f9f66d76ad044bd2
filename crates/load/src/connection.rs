//! One connection: a state machine that the worker wakes with events and timers.
//!
//! ```text
//! Idle --due--> Connecting --connected--> Exchanging --answer or failure--> Idle
//!   |              ^   |                      ^                               |
//!   |              |   +-- (unix: Queueing)   |                               +--> Done, after the window
//!   +--------------|---- connection kept -----+
//!                  +---- closed between answers, found out by the next request
//! ```
//!
//! In a closed load the next request is due at once, so that `Idle` is left in the call that entered it. In an open load an
//! idle connection is given the next request that is due; one that has just got its answer takes a waiting request itself.

use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use stampede_wire::response::{DecodeError, Decoder, Progress};

use crate::arrivals::Arrival;
use crate::body_check::{Comparing, Comparison};
use crate::fault::Fault;
use crate::pacer::Pacer;
use crate::recorder::Answered;
use crate::socket::Opened;
use crate::timeline::Phase;
use crate::worker::{Driver, Timer};

/// How long a reset is waited for after an end of file: on loopback it comes within microseconds.
const RESET_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// How soon a full queue of a unix socket is tried again, and the pause after a first failure.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two failures.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number among the thread's connections, which is the token of its events and timers.
    token: usize,
    state: State,
    socket: Option<Socket>,
    decoder: Decoder,
    /// Number of the exchange that is under way, or comes next.
    exchange: usize,
    due: Instant,
    phase: Phase,
    /// When it could take this request at the earliest.
    free_at: Instant,
    begun_at: Instant,
    connecting_at: Instant,
    sent_at: Instant,
    first_byte_at: Instant,
    /// When it is to be woken; timers of other instants are out of date.
    wakes_at: Option<Instant>,
    /// Whether a timer will look at the age of its request.
    deadline_set: bool,
    /// Bytes of the request that have been sent.
    written: usize,
    comparison: Comparison,
    /// Failures since the last complete answer.
    failures: u32,
    /// The server has closed it between two answers.
    closed_between: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next request is not due yet.
    Idle,
    /// A request is due, and the listener's queue full.
    Queueing,
    Connecting,
    Exchanging,
    Done,
}

#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    interest: EventFlags,
    /// Whether it has carried a complete answer.
    reused: bool,
    /// Whether a byte of the present answer has come.
    answering: bool,
}

impl Socket {
    /// Whether the peer had taken the request when the connection ended. A request that meets a closed socket, or is left
    /// unread in one, is answered with a reset. An end of file that no reset follows came from a peer that had read
    /// everything: a worker that died over this very request, say.
    ///
    /// The reset may come a little after the end of file, so it is waited for, on this rare path alone, for
    /// [`RESET_WAIT`]; a peer on another machine may be slower than that, and its close is then taken for this.
    fn took_request(&self, fault: Fault) -> bool {
        if fault != Fault::Answer(DecodeError::Truncated) {
            return false;
        }
        // No event is asked for: errors are always told.
        let mut watched = [PollFd::new(&self.fd, PollFlags::empty())];
        let _ = poll(&mut watched, Some(&RESET_WAIT));
        !watched[0].revents().contains(PollFlags::ERR)
    }
}

impl Connection {
    /// A connection that begins with the given exchange.
    pub(crate) fn new(token: usize, exchange: usize, now: Instant) -> Self {
        Self {
            token,
            state: State::Idle,
            socket: None,
            decoder: Decoder::new(),
            exchange,
            due: now,
            phase: Phase::WarmUp,
            free_at: now,
            begun_at: now,
            connecting_at: now,
            sent_at: now,
            first_byte_at: now,
            wakes_at: None,
            deadline_set: false,
            written: 0,
            comparison: Comparison::default(),
            failures: 0,
            closed_between: false,
        }
    }

    fn in_flight(&self) -> bool {
        match self.state {
            State::Idle | State::Done => false,
            State::Queueing | State::Connecting | State::Exchanging => true,
        }
    }

    /// Gives up the request that is under way, if there is one.
    pub(crate) fn give_up(&mut self, driver: &mut Driver, now: Instant) {
        if self.in_flight() {
            driver.recorder.unfinished(self.phase, now.saturating_duration_since(self.due));
            driver.ended(self.begun_at, now);
        }
        self.state = State::Done;
        self.socket = None;
    }

    /// Makes the next request of a closed load due at `due`.
    pub(crate) fn schedule(&mut self, driver: &mut Driver, due: Instant, now: Instant) {
        let phase = driver.timeline.phase(due).filter(|phase| match &mut driver.pacer {
            Pacer::Closed { left } if *phase == Phase::Window => match left.checked_sub(1) {
                Some(fewer) => {
                    *left = fewer;
                    true
                }
                None => false,
            },
            _ => true,
        });
        let Some(phase) = phase else {
            self.state = State::Done;
            self.socket = None;
            driver.active -= 1;
            return;
        };
        self.due = due;
        self.phase = phase;
        self.state = State::Idle;
        if due <= now {
            self.begin(driver);
        } else {
            self.free_at = due;
            self.wake_at(driver, due);
        }
    }

    /// Takes a request of an open load that is due.
    pub(crate) fn take(&mut self, driver: &mut Driver, arrival: Arrival) {
        let Arrival { number, due } = arrival;
        // Arrivals end with the window.
        self.phase = driver.timeline.phase(due).unwrap_or(Phase::Window);
        self.exchange = usize::try_from(number % driver.exchanges.len() as u64).unwrap_or(0);
        self.due = due;
        self.free_at = self.free_at.max(due);
        self.begin(driver);
    }

    /// The instant that it waited for has come.
    pub(crate) fn on_timer(&mut self, driver: &mut Driver, timer: Timer, at: Instant, now: Instant) {
        match timer {
            Timer::Wake if self.wakes_at == Some(at) => {
                self.wakes_at = None;
                match self.state {
                    State::Idle => self.begin(driver),
                    State::Queueing => self.open(driver),
                    State::Connecting | State::Exchanging | State::Done => {}
                }
            }
            Timer::Wake => {}
            Timer::Deadline => {
                self.deadline_set = false;
                if self.in_flight() {
                    self.watch_deadline(driver, now);
                }
            }
        }
    }

    /// Ends a request that is too old, or sets a timer for when it is. There is one timer a connection, not one a request.
    fn watch_deadline(&mut self, driver: &mut Driver, now: Instant) {
        let Some(deadline) = driver.timeout.and_then(|timeout| self.begun_at.checked_add(timeout)) else {
            return;
        };
        if deadline <= now {
            driver.recorder.censor(self.phase, now.saturating_duration_since(self.due));
            self.fail(driver, Fault::TimedOut);
        } else if !self.deadline_set {
            self.deadline_set = true;
            driver.set_timer(deadline, self.token, Timer::Deadline);
        }
    }

    fn wake_at(&mut self, driver: &mut Driver, at: Instant) {
        self.wakes_at = Some(at);
        driver.set_timer(at, self.token, Timer::Wake);
    }

    /// Its socket can be read or written, or has failed.
    pub(crate) fn on_event(&mut self, driver: &mut Driver, events: EventFlags) {
        match self.state {
            State::Connecting => {
                self.sent_at = Instant::now();
                self.transmit(driver);
            }
            State::Exchanging => {
                if events.contains(EventFlags::OUT) {
                    self.transmit(driver);
                }
                if events.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                    self.receive(driver);
                }
            }
            // Nothing may come between two requests but the end.
            State::Idle => {
                self.socket = None;
                self.closed_between = true;
            }
            State::Queueing | State::Done => {}
        }
    }

    fn begin(&mut self, driver: &mut Driver) {
        let now = Instant::now();
        driver.in_flight += 1;
        driver.recorder.begun(self.phase, now.saturating_duration_since(self.free_at));
        self.begun_at = now;
        self.written = 0;
        if self.socket.is_some() {
            self.sent_at = now;
            self.state = State::Exchanging;
            self.transmit(driver);
        } else {
            self.connect(driver, now);
        }
        if self.in_flight() {
            self.watch_deadline(driver, now);
        }
    }

    fn connect(&mut self, driver: &mut Driver, now: Instant) {
        self.connecting_at = now;
        self.open(driver);
    }

    fn open(&mut self, driver: &mut Driver) {
        match driver.open() {
            Ok(Opened::Connected(fd)) => {
                self.register(driver, fd, EventFlags::IN, State::Connecting);
                if self.state == State::Connecting {
                    self.sent_at = Instant::now();
                    self.transmit(driver);
                }
            }
            Ok(Opened::Connecting(fd)) => {
                let interest = EventFlags::IN | EventFlags::OUT;
                self.register(driver, fd, interest, State::Connecting);
            }
            Err(Errno::AGAIN) => {
                self.state = State::Queueing;
                self.wake_at(driver, Instant::now() + SHORTEST_PAUSE);
            }
            Err(errno) => self.fail(driver, Fault::Connect(errno)),
        }
    }

    fn register(&mut self, driver: &mut Driver, fd: OwnedFd, interest: EventFlags, state: State) {
        let token = EventData::new_u64(self.token as u64);
        if let Err(errno) = epoll::add(&driver.epoll, &fd, token, interest) {
            return self.fail(driver, Fault::Connect(errno));
        }
        if mem::take(&mut self.closed_between) {
            driver.recorder.reconnected(self.phase);
        }
        self.state = state;
        self.socket = Some(Socket { fd, interest, reused: false, answering: false });
    }

    /// Sends the request, or what is left of it.
    fn transmit(&mut self, driver: &mut Driver) {
        let (Some(socket), Some(exchange)) = (&mut self.socket, driver.exchanges.get(self.exchange)) else {
            return;
        };
        if self.written == 0 {
            self.decoder.expect_answer(exchange.is_head);
        }
        let mut interest = EventFlags::IN;
        let sent = loop {
            let unsent = exchange.request.get(self.written..).unwrap_or_default();
            if unsent.is_empty() {
                break Ok(());
            }
            match send(&socket.fd, unsent, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.written += count;
                    driver.recorder.sent_bytes(self.phase, count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    interest |= EventFlags::OUT;
                    break Ok(());
                }
                Err(errno) if self.state == State::Connecting => break Err(Fault::Connect(errno)),
                Err(errno) => break Err(Fault::Send(errno)),
            }
        };
        if self.written > 0 {
            if self.state == State::Connecting {
                driver.recorder.connected(self.phase, self.sent_at.saturating_duration_since(self.connecting_at));
            }
            self.state = State::Exchanging;
        }
        let sent = sent.and_then(|()| {
            if interest == socket.interest {
                return Ok(());
            }
            socket.interest = interest;
            let token = EventData::new_u64(self.token as u64);
            epoll::modify(&driver.epoll, &socket.fd, token, interest).map_err(Fault::Send)
        });
        if let Err(fault) = sent {
            self.break_off(driver, fault);
        }
    }

    /// Reads what has come of the answer.
    fn receive(&mut self, driver: &mut Driver) {
        let (Some(socket), Some(exchange)) = (&mut self.socket, driver.exchanges.get(self.exchange)) else {
            return;
        };
        let count = match recv(&socket.fd, &mut *driver.buffer, RecvFlags::empty()) {
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(errno) => return self.break_off(driver, Fault::Read(errno)),
        };
        let now = Instant::now();
        if count == 0 {
            return match self.decoder.finish() {
                Ok(()) => self.answered(driver, now),
                Err(error) => self.break_off(driver, Fault::Answer(error)),
            };
        }
        if !socket.answering {
            socket.answering = true;
            self.first_byte_at = now;
        }
        driver.recorder.received_bytes(self.phase, count);
        let bytes = driver.buffer.get(..count).unwrap_or_default();
        let mut comparing = Comparing {
            exchange: self.exchange,
            expected: exchange,
            comparison: &mut self.comparison,
            evidence: &mut driver.recorder.evidence,
        };
        match self.decoder.feed(bytes, &mut comparing) {
            Ok(Progress::Incomplete) => {}
            Ok(Progress::Complete { consumed }) if consumed < count => {
                self.fail(driver, Fault::Surplus);
            }
            Ok(Progress::Complete { .. }) => self.answered(driver, now),
            Err(error) => self.fail(driver, Fault::Answer(error)),
        }
    }

    /// Records a complete answer, and goes on with the next request.
    fn answered(&mut self, driver: &mut Driver, now: Instant) {
        let Some(exchange) = driver.exchanges.get(self.exchange) else {
            return;
        };
        let fault = self.comparison.conclude(self.exchange, exchange, &mut driver.recorder.evidence);
        driver.recorder.answered(
            self.phase,
            Answered {
                at: now,
                due: self.due,
                sent: self.sent_at,
                first_byte: self.first_byte_at,
                exchange: self.exchange,
                status: self.comparison.status(),
                fault,
            },
        );
        let request_sent = self.written == exchange.request.len();
        driver.ended(self.begun_at, now);
        self.failures = 0;
        match &mut self.socket {
            Some(socket) if driver.keep_alive && self.decoder.is_reusable() && request_sent => {
                socket.reused = true;
                socket.answering = false;
            }
            _ => {
                self.socket = None;
                self.closed_between = driver.keep_alive;
            }
        }
        self.free_at = driver.woke_at;
        driver.publish_progress();
        match &mut driver.pacer {
            Pacer::Closed { .. } => self.schedule_next(driver, now, now),
            Pacer::Open(arrivals) => match arrivals.take_due(now) {
                Some(arrival) => self.take(driver, arrival),
                None => self.rest(driver),
            },
        }
    }

    /// The connection has ended without a complete answer. A server may close between two answers, and we may find out
    /// only by our next request: that is sent again, unless the server had taken it.
    fn break_off(&mut self, driver: &mut Driver, fault: Fault) {
        match &self.socket {
            Some(socket)
                if socket.reused && !socket.answering && fault.is_closed_by_peer() && !socket.took_request(fault) =>
            {
                self.socket = None;
                self.closed_between = true;
                self.written = 0;
                self.connect(driver, Instant::now());
            }
            _ => self.fail(driver, fault),
        }
    }

    /// Records that there is no complete answer. A closed load goes on with the next request after a pause: a server that is
    /// gone must not be met by millions of failures. In an open load due times see to that.
    fn fail(&mut self, driver: &mut Driver, fault: Fault) {
        let now = Instant::now();
        driver.recorder.failed(self.phase, self.exchange, fault, now);
        driver.ended(self.begun_at, now);
        self.socket = None;
        self.closed_between = false;
        self.wakes_at = None;
        let pause =
            SHORTEST_PAUSE.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.free_at = now;
        driver.publish_progress();
        match driver.pacer {
            Pacer::Closed { .. } => self.schedule_next(driver, now + pause, now),
            // It may take the next one from here only by way of the worker: failures would nest without a bound.
            Pacer::Open(_) => self.rest(driver),
        }
    }

    fn schedule_next(&mut self, driver: &mut Driver, due: Instant, now: Instant) {
        self.exchange += 1;
        if self.exchange >= driver.exchanges.len() {
            self.exchange = 0;
        }
        self.schedule(driver, due, now);
    }

    /// Waits for a request that is due.
    fn rest(&mut self, driver: &mut Driver) {
        self.state = State::Idle;
        driver.idle.push(self.token);
    }
}
