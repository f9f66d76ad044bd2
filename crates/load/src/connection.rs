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
//! In a closed load the next request is due at once, so that `Idle` is left in the call that entered it.

use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use stampede_wire::response::{DecodeError, Decoder, Progress};

use crate::body_check::{Comparing, Comparison};
use crate::fault::Fault;
use crate::pacer::Pacer;
use crate::recorder::Answered;
use crate::socket::Opened;
use crate::timeline::Phase;
use crate::worker::Driver;

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
    sent_at: Instant,
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
            sent_at: now,
            written: 0,
            comparison: Comparison::default(),
            failures: 0,
            closed_between: false,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The phase of the request that is under way.
    pub(crate) fn unfinished(&self) -> Option<Phase> {
        match self.state {
            State::Idle | State::Done => None,
            State::Queueing | State::Connecting | State::Exchanging => Some(self.phase),
        }
    }

    /// Makes the next request due at `due`.
    pub(crate) fn schedule<P: Pacer>(&mut self, driver: &mut Driver<P>, due: Instant, now: Instant) {
        let Some(phase) = driver.timeline.phase(due) else {
            self.state = State::Done;
            self.socket = None;
            return;
        };
        self.due = due;
        self.phase = phase;
        self.state = State::Idle;
        if due <= now {
            self.begin(driver);
        } else {
            driver.wake_at(due, self.token);
        }
    }

    /// What it waited for has come.
    pub(crate) fn on_timer<P: Pacer>(&mut self, driver: &mut Driver<P>) {
        match self.state {
            State::Idle => self.begin(driver),
            State::Queueing => self.open(driver),
            State::Connecting | State::Exchanging | State::Done => {}
        }
    }

    /// Its socket can be read or written, or has failed.
    pub(crate) fn on_event<P: Pacer>(&mut self, driver: &mut Driver<P>, events: EventFlags) {
        match self.state {
            State::Connecting => self.transmit(driver),
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

    fn begin<P: Pacer>(&mut self, driver: &mut Driver<P>) {
        driver.recorder.begun(self.phase);
        self.written = 0;
        if self.socket.is_some() {
            self.state = State::Exchanging;
            self.transmit(driver);
        } else {
            self.open(driver);
        }
    }

    fn open<P: Pacer>(&mut self, driver: &mut Driver<P>) {
        match driver.open() {
            Ok(Opened::Connected(fd)) => {
                self.register(driver, fd, EventFlags::IN, State::Exchanging);
                if self.state == State::Exchanging {
                    self.transmit(driver);
                }
            }
            Ok(Opened::Connecting(fd)) => {
                let interest = EventFlags::IN | EventFlags::OUT;
                self.register(driver, fd, interest, State::Connecting);
            }
            Err(Errno::AGAIN) => {
                self.state = State::Queueing;
                driver.wake_at(Instant::now() + SHORTEST_PAUSE, self.token);
            }
            Err(errno) => self.fail(driver, Fault::Connect(errno)),
        }
    }

    fn register<P: Pacer>(&mut self, driver: &mut Driver<P>, fd: OwnedFd, interest: EventFlags, state: State) {
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
    fn transmit<P: Pacer>(&mut self, driver: &mut Driver<P>) {
        let (Some(socket), Some(exchange)) = (&mut self.socket, driver.exchanges.get(self.exchange)) else {
            return;
        };
        if self.written == 0 {
            self.decoder.expect_answer(exchange.is_head);
            self.sent_at = Instant::now();
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
    fn receive<P: Pacer>(&mut self, driver: &mut Driver<P>) {
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
        socket.answering = true;
        driver.recorder.received_bytes(self.phase, count);
        let bytes = driver.buffer.get(..count).unwrap_or_default();
        let mut comparing = Comparing {
            exchange: self.exchange,
            check: &exchange.check,
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
    fn answered<P: Pacer>(&mut self, driver: &mut Driver<P>, now: Instant) {
        let Some(exchange) = driver.exchanges.get(self.exchange) else {
            return;
        };
        let fault = self.comparison.conclude(self.exchange, &exchange.check, &mut driver.recorder.evidence);
        driver.recorder.answered(
            self.phase,
            Answered {
                at: now,
                due: self.due,
                sent: self.sent_at,
                exchange: self.exchange,
                status: self.comparison.status(),
                fault,
            },
        );
        self.failures = 0;
        let request_sent = self.written == exchange.request.len();
        match &mut self.socket {
            Some(socket) if self.decoder.is_reusable() && request_sent => {
                socket.reused = true;
                socket.answering = false;
            }
            _ => {
                self.socket = None;
                self.closed_between = true;
            }
        }
        self.go_on(driver, now, Duration::ZERO);
    }

    /// The connection has ended without a complete answer. A server may close between two answers, and we may find out
    /// only by our next request: that is sent again, unless the server had taken it.
    fn break_off<P: Pacer>(&mut self, driver: &mut Driver<P>, fault: Fault) {
        match &self.socket {
            Some(socket)
                if socket.reused && !socket.answering && fault.is_closed_by_peer() && !socket.took_request(fault) =>
            {
                self.socket = None;
                self.closed_between = true;
                self.written = 0;
                self.open(driver);
            }
            _ => self.fail(driver, fault),
        }
    }

    /// Records that there is no complete answer, and goes on with the next request after a pause: a server that is gone
    /// must not be met by millions of failures.
    fn fail<P: Pacer>(&mut self, driver: &mut Driver<P>, fault: Fault) {
        let now = Instant::now();
        driver.recorder.failed(self.phase, self.exchange, fault, now);
        self.socket = None;
        self.closed_between = false;
        let pause =
            SHORTEST_PAUSE.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.go_on(driver, now, pause);
    }

    fn go_on<P: Pacer>(&mut self, driver: &mut Driver<P>, now: Instant, pause: Duration) {
        driver.publish_progress();
        self.exchange += 1;
        if self.exchange >= driver.exchanges.len() {
            self.exchange = 0;
        }
        match driver.pacer.next_due() {
            Some(due) => self.schedule(driver, now + pause.max(due), now),
            None => {
                self.state = State::Done;
                self.socket = None;
            }
        }
    }
}
