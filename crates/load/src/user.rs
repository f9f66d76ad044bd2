//! A user: has one request in flight at a time, and the next one when that is due.
//!
//! ```text
//! Idle --due--> Waiting --connected--> Exchanging --answer or failure--> Idle
//!   |                                     ^     |                          |
//!   +---------- connection kept ----------+     |                          +--> Done, after the window
//!              Waiting <-- closed between answers, found out by the next request
//! ```
//!
//! In a closed load the next request is due at once, so that `Idle` is left in the call that entered it. In an open load an
//! idle user is given the next request that is due; one that has just got its answer takes a waiting request itself.

use std::mem;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::arrivals::Arrival;
use crate::body_check::Comparison;
use crate::driver::{Driver, Timer};
use crate::fault::Fault;
use crate::io::Io;
use crate::link::{Notice, Requested, Stage};
use crate::pacer::Pacer;
use crate::recorder::{Answered, Recorder};
use crate::timeline::Phase;

/// How soon a full queue of a unix socket is tried again, and the pause after a first failure.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two failures.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct User {
    /// Its number among the thread's users, which is the token of its timers.
    token: usize,
    /// The number of its connection, and its place among those who share it.
    link: usize,
    key: usize,
    state: State,
    /// Number of the exchange that is under way, or comes next.
    pub(crate) exchange: usize,
    due: Instant,
    pub(crate) phase: Phase,
    /// When it could take this request at the earliest.
    free_at: Instant,
    begun_at: Instant,
    /// Since when it could have begun, as long as its lateness is not known.
    late_since: Option<Instant>,
    /// Whether it is on the list of those that leave with the next wait.
    departing: bool,
    sent_at: Instant,
    pub(crate) first_byte_at: Instant,
    /// When it is to be woken; timers of other instants are out of date.
    wakes_at: Option<Instant>,
    /// Whether a timer will look at the age of its request.
    deadline_set: bool,
    pub(crate) comparison: Comparison,
    /// Whether its request has been sent again.
    repeated: bool,
    /// Failures since the last complete answer.
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next request is not due yet.
    Idle,
    /// A request is due, and the connection not there.
    Waiting,
    Exchanging,
    Done,
}

impl User {
    /// A user that begins with the given exchange, on a connection that so many share.
    pub(crate) fn new(token: usize, sharers: usize, exchange: usize, now: Instant) -> Self {
        Self {
            token,
            link: token / sharers,
            key: token % sharers,
            state: State::Idle,
            exchange,
            due: now,
            phase: Phase::WarmUp,
            free_at: now,
            begun_at: now,
            late_since: None,
            departing: false,
            sent_at: now,
            first_byte_at: now,
            wakes_at: None,
            deadline_set: false,
            comparison: Comparison::default(),
            repeated: false,
            failures: 0,
        }
    }

    /// Whether its request waits for the connection.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state == State::Waiting
    }

    /// Whether its request has been sent.
    pub(crate) fn is_exchanging(&self) -> bool {
        self.state == State::Exchanging
    }

    fn in_flight(&self) -> bool {
        match self.state {
            State::Idle | State::Done => false,
            State::Waiting | State::Exchanging => true,
        }
    }

    /// Gives up the request that is under way, if there is one.
    pub(crate) fn give_up<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        if self.in_flight() {
            self.was_late(&mut driver.recorder, now);
            driver.recorder.unfinished(self.exchange, self.phase, now.saturating_duration_since(self.due));
            driver.ended(self.begun_at, now);
        }
        self.state = State::Done;
    }

    /// Makes the next request of a closed load due at `due`.
    pub(crate) fn schedule<I: Io>(&mut self, driver: &mut Driver<I>, due: Instant, now: Instant) {
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
            driver.leave(self.link);
            driver.active -= 1;
            return;
        };
        self.due = due;
        self.phase = phase;
        self.state = State::Idle;
        if due <= now {
            self.begin(driver, now);
        } else {
            self.free_at = due;
            self.wake_at(driver, due);
        }
    }

    /// Takes a request of an open load that is due.
    pub(crate) fn take<I: Io>(&mut self, driver: &mut Driver<I>, arrival: Arrival, now: Instant) {
        let Arrival { number, due } = arrival;
        // Arrivals end with the window.
        self.phase = driver.timeline.phase(due).unwrap_or(Phase::Window);
        self.exchange = usize::try_from(number % driver.exchanges.len() as u64).unwrap_or(0);
        self.due = due;
        self.free_at = self.free_at.max(due);
        self.begin(driver, now);
    }

    /// The instant that it waited for has come.
    pub(crate) fn on_timer<I: Io>(&mut self, driver: &mut Driver<I>, timer: Timer, at: Instant, now: Instant) {
        match timer {
            Timer::Wake if self.wakes_at == Some(at) => {
                self.wakes_at = None;
                match self.state {
                    State::Idle => self.begin(driver, now),
                    State::Waiting => self.go(driver),
                    State::Exchanging | State::Done => {}
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

    /// Ends a request that is too old, or sets a timer for when it is. There is one timer a user, not one a request.
    fn watch_deadline<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Some(deadline) = driver.timeout.and_then(|timeout| self.begun_at.checked_add(timeout)) else {
            return;
        };
        if deadline <= now {
            driver.recorder.censor(self.exchange, self.phase, now.saturating_duration_since(self.due));
            self.fail(driver, Fault::TimedOut);
        } else if !self.deadline_set {
            self.deadline_set = true;
            driver.set_timer(deadline, self.token, Timer::Deadline);
        }
    }

    fn wake_at<I: Io>(&mut self, driver: &mut Driver<I>, at: Instant) {
        self.wakes_at = Some(at);
        driver.set_timer(at, self.token, Timer::Wake);
    }

    /// Does what its connection has told.
    pub(crate) fn act<I: Io>(&mut self, driver: &mut Driver<I>, notice: Notice) {
        match (notice, self.state) {
            (Notice::Ready, State::Waiting) => self.transmit(driver, Instant::now()),
            (Notice::Again, State::Waiting) => self.go(driver),
            (Notice::Room, State::Exchanging) => self.go_on(driver),
            (Notice::Answered(at), State::Exchanging) => self.answered(driver, at),
            (Notice::BrokenOff(fault), State::Exchanging) => self.break_off(driver, fault),
            (Notice::NotTaken(fault), State::Exchanging) => self.repeat(driver, fault),
            (Notice::Failed(fault), State::Waiting | State::Exchanging) => self.fail(driver, fault),
            // An earlier notice of the same event has changed its mind.
            _ => {}
        }
    }

    fn begin<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let now = if I::DEFERS { now } else { Instant::now() };
        driver.in_flight += 1;
        driver.recorder.begun(self.exchange, self.phase);
        self.begun_at = now;
        self.late_since = Some(self.free_at);
        self.repeated = false;
        self.state = State::Waiting;
        match driver.links.get_mut(self.link) {
            Some(link) if link.stage == Stage::Open => self.transmit(driver, now),
            Some(link) if link.stage == Stage::Closed => {
                link.connecting_at = now;
                self.open(driver);
            }
            _ => {}
        }
        if self.state == State::Waiting {
            // It is for the server now.
            self.was_late(&mut driver.recorder, now);
        }
        if self.in_flight() {
            self.watch_deadline(driver, now);
        }
    }

    /// Takes its connection as it is now, and opens it when it is closed.
    fn go<I: Io>(&mut self, driver: &mut Driver<I>) {
        self.state = State::Waiting;
        match driver.links.get(self.link).map(|link| link.stage) {
            Some(Stage::Open) => self.transmit(driver, Instant::now()),
            Some(Stage::Closed) => self.open(driver),
            Some(Stage::Connecting | Stage::Securing) | None => {}
        }
    }

    fn open<I: Io>(&mut self, driver: &mut Driver<I>) {
        let socket = match driver.open(self.link) {
            Ok(socket) => socket,
            Err(Errno::AGAIN) => return self.wake_at(driver, Instant::now() + SHORTEST_PAUSE),
            Err(errno) => return self.fail(driver, Fault::Connect(errno)),
        };
        if let Err(errno) = driver.io.add(self.link, socket) {
            return self.fail(driver, Fault::Connect(errno));
        }
        let Some(link) = driver.links.get_mut(self.link) else { return };
        link.connect();
        if mem::take(&mut link.closed_between) {
            driver.recorder.reconnected(self.phase);
        }
    }

    /// Sends the request.
    fn transmit<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Driver { links, io, exchanges, recorder, .. } = driver;
        let (Some(link), Some(exchange)) = (links.get_mut(self.link), exchanges.get(self.exchange)) else { return };
        self.sent_at = now;
        self.first_byte_at = now;
        match link.request(io, self.key, exchange) {
            Ok(Requested::NotNow) => {}
            Ok(Requested::Sent(count)) => {
                self.state = State::Exchanging;
                recorder.sent_bytes(self.phase, count);
                if !I::DEFERS {
                    self.was_late(recorder, now);
                } else if !mem::replace(&mut self.departing, true) {
                    driver.departing.push(self.token);
                }
            }
            Ok(Requested::Queued) => {
                self.state = State::Exchanging;
                self.was_late(recorder, now);
                driver.unflushed.push(self.link);
            }
            Err(fault) => {
                self.state = State::Exchanging;
                self.break_off(driver, fault);
            }
        }
    }

    /// Its request leaves now.
    pub(crate) fn departs(&mut self, recorder: &mut Recorder, now: Instant) {
        self.departing = false;
        self.sent_at = now;
        self.was_late(recorder, now);
    }

    /// Notes how late its request was, the first time for each.
    fn was_late(&mut self, recorder: &mut Recorder, now: Instant) {
        if let Some(since) = self.late_since.take() {
            recorder.late(self.exchange, self.phase, now.saturating_duration_since(since));
        }
    }

    /// Sends more of the request.
    fn go_on<I: Io>(&mut self, driver: &mut Driver<I>) {
        let Driver { links, io, exchanges, recorder, .. } = driver;
        let (Some(link), Some(exchange)) = (links.get_mut(self.link), exchanges.get(self.exchange)) else { return };
        match link.go_on(io, exchange) {
            Ok(count) => recorder.sent_bytes(self.phase, count),
            Err(fault) => self.break_off(driver, fault),
        }
    }

    /// Records a complete answer, and goes on with the next request.
    fn answered<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Driver { links, exchanges, recorder, keep_alive, .. } = driver;
        let (Some(link), Some(exchange)) = (links.get_mut(self.link), exchanges.get(self.exchange)) else { return };
        let fault = self.comparison.conclude(self.exchange, exchange, &mut recorder.evidence);
        recorder.answered(
            self.phase,
            Answered {
                at: now,
                due: self.due,
                sent: self.sent_at,
                first_byte: self.first_byte_at,
                step: self.exchange,
                status: self.comparison.status(),
                fault,
            },
        );
        if !link.is_kept(exchange) || !*keep_alive {
            link.closed_between = *keep_alive;
            driver.close(self.link);
        }
        driver.ended(self.begun_at, now);
        self.failures = 0;
        self.free_at = driver.woke_at;
        driver.publish_progress();
        match &mut driver.pacer {
            Pacer::Closed { .. } => self.schedule_next(driver, now, now),
            Pacer::Open(arrivals) => match arrivals.take_due(now) {
                Some(arrival) => self.take(driver, arrival, now),
                None => self.rest(driver),
            },
        }
    }

    /// The connection has ended without a complete answer. A server may close between two answers, and we may find out
    /// only by our next request: that is sent again, unless the server had taken it.
    fn break_off<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        let Driver { links, io, .. } = driver;
        match links.get_mut(self.link) {
            Some(link) if link.was_closed_between(io, fault) => {
                link.closed_between = true;
                link.close(io);
                link.connecting_at = Instant::now();
                self.go(driver);
            }
            _ => self.fail(driver, fault),
        }
    }

    /// The server says that it has not taken the request, which is then sent again, but only once.
    fn repeat<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        if mem::replace(&mut self.repeated, true) { self.fail(driver, fault) } else { self.go(driver) }
    }

    /// Records that there is no complete answer. A closed load goes on with the next request after a pause: a server that is
    /// gone must not be met by millions of failures. In an open load due times see to that.
    fn fail<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        let now = Instant::now();
        self.was_late(&mut driver.recorder, now);
        driver.recorder.failed(self.phase, self.exchange, fault, now);
        driver.ended(self.begun_at, now);
        driver.abandon(self.link, self.key);
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

    fn schedule_next<I: Io>(&mut self, driver: &mut Driver<I>, due: Instant, now: Instant) {
        self.exchange += 1;
        if self.exchange >= driver.exchanges.len() {
            self.exchange = 0;
        }
        self.schedule(driver, due, now);
    }

    /// Waits for a request that is due.
    fn rest<I: Io>(&mut self, driver: &mut Driver<I>) {
        self.state = State::Idle;
        driver.idle.push(self.token);
    }
}
