//! A user: has one request in flight at a time, and the next one when that is due.
//!
//! ```text
//! Idle --due--> Waiting --connected--> Exchanging --answer or failure--> Idle
//!   |                                     ^     |                          |
//!   +---------- connection kept ----------+     |                          +--> Done, after the window
//!              Waiting <-- closed between answers, found out by the next request
//! ```
//!
//! In a closed load without think time the next request is due at once, so that `Idle` is left in the call that entered it.
//! In an open load an idle user is given the next request that is due; one that has just got its answer takes a waiting
//! request itself. In a scenario it takes flows in this way, and then the steps of each; between them it is `Idle` too.

mod hearing;

use std::cmp::Reverse;
use std::mem;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use stampede_core::ErrorClass;
use stampede_scenario::{Journey, NextStep, Script};
use stampede_seam::{BreakPoint, SampleEnd};

use crate::answered::Answered;
use crate::arrivals::Arrival;
use crate::body_check::Comparison;
use crate::connection::{Connection, Notice, Requested, Stage};
use crate::crowd::Crowd;
use crate::driver::{Driver, Timer};
use crate::fault::Fault;
use crate::hearing::Hearing;
use crate::io::Io;
use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::redirect::Hop;
use crate::sampler::EndedRequest;
use crate::timeline::Phase;

/// How soon a full queue of a unix socket is tried again, and the pause after a first failure.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two failures.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How often a request is sent again on other connections. A server that takes none is met by no endless loop.
const REPEATS: u32 = 100;

#[derive(Debug)]
pub(crate) struct User {
    /// Its number among the thread's users, which is the token of its timers.
    token: usize,
    /// The number of its connection, and its place among those who share it.
    connection: usize,
    key: usize,
    /// The number of its crowd among the thread's.
    pub(crate) crowd: usize,
    /// Its way through the flows of a scenario.
    pub(crate) journey: Option<Box<Journey>>,
    state: State,
    /// Number of the exchange that is under way, or comes next; of a scenario, of the step.
    pub(crate) exchange: usize,
    /// Its place in the mix.
    place: usize,
    due: Instant,
    pub(crate) phase: Phase,
    /// When it could take this request at the earliest.
    free_at: Instant,
    begun_at: Instant,
    /// Since when it could have begun, as long as its lateness is not known.
    late_since: Option<Instant>,
    /// Whether it is on the list of those that leave with the next wait.
    departing: bool,
    pub(crate) sent_at: Instant,
    /// When the kernel took more of the request than at once; kept up only where each request is kept.
    written_at: Instant,
    pub(crate) first_byte_at: Instant,
    /// When it is to be woken; timers of other instants are out of date.
    wakes_at: Option<Instant>,
    /// Whether a timer will look at the age of its request.
    deadline_set: bool,
    pub(crate) comparison: Comparison,
    /// Until when it hears the present stream of events, where time ends that, and when a timer looks at it.
    hears_until: Instant,
    hearing_ends: Option<Instant>,
    /// The request that a redirect has led to, in place of the exchange's.
    hop: Option<Box<Hop>>,
    /// How often its request was sent again since the server had not taken it.
    repeats: u32,
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
    /// It has nothing to do before it goes.
    Going,
    /// It is not there.
    Away,
    Done,
}

impl User {
    /// A user of a crowd, which begins with the exchange at the given place of the mix where they are sent in turn, on a connection that
    /// so many share.
    pub(crate) fn new(
        token: usize,
        sharers: usize,
        (crowd, script): (usize, Option<&Script>),
        (place, exchange): (usize, usize),
        now: Instant,
    ) -> Self {
        let hears = script.is_some_and(Script::hears);
        let mut comparison = Comparison::default();
        comparison.hearing = hears.then(|| Box::new(Hearing::new(now)));
        Self {
            token,
            connection: token / sharers,
            key: token % sharers,
            crowd,
            journey: script.map(|script| Box::new(Journey::new(script))),
            state: State::Idle,
            exchange,
            place,
            due: now,
            phase: Phase::WarmUp,
            free_at: now,
            begun_at: now,
            late_since: None,
            departing: false,
            sent_at: now,
            written_at: now,
            first_byte_at: now,
            wakes_at: None,
            deadline_set: false,
            comparison,
            hears_until: now,
            hearing_ends: None,
            hop: None,
            repeats: 0,
            failures: 0,
        }
    }

    pub(crate) fn token(&self) -> usize {
        self.token
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
            State::Idle | State::Going | State::Away | State::Done => false,
            State::Waiting | State::Exchanging => true,
        }
    }

    /// Gives up the request that is under way, if there is one.
    pub(crate) fn give_up<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        if self.in_flight() {
            self.was_late(&mut driver.recorder, now);
            driver.recorder.unfinished(self.exchange, self.phase, now.saturating_duration_since(self.due));
            self.keep_sample(driver, now, SampleEnd::Unfinished);
            driver.recorder.unfinished_with(self.exchange, self.phase, self.others_out(driver));
            driver.ended(self.begun_at, now);
        }
        self.state = State::Done;
    }

    /// Requests without an answer that were sent together with the present one.
    fn others_out<I: Io>(&self, driver: &Driver<I>) -> u32 {
        let connection = driver.connections.get(self.connection).filter(|_| self.is_exchanging());
        connection.map_or(0, |connection| connection.answers_left().saturating_sub(1))
    }

    /// Makes the next request of a closed load, or the next flow, due at `due`.
    pub(crate) fn schedule<I: Io>(&mut self, driver: &mut Driver<I>, due: Instant, now: Instant) {
        if self.is_away(driver, due, now) {
            return;
        }
        let Driver { crowds, timeline, .. } = driver;
        let Some(crowd) = crowds.get_mut(self.crowd) else { return };
        let begins = timeline.phase(due).is_some_and(|phase| crowd.admits(phase));
        match begins.then(|| self.begin_flow(crowd)).flatten() {
            Some(pause) => self.await_step(driver, due + pause, now),
            None => self.leave(driver),
        }
    }

    /// Sends again in a turn that begins, unless an answer of an earlier one is not there yet: then it does so after that.
    pub(crate) fn resume<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        if self.state != State::Done {
            return;
        }
        if let Some(crowd) = driver.crowds.get_mut(self.crowd) {
            crowd.active += 1;
            self.schedule(driver, driver.timeline.starts_at.max(now), now);
        }
    }

    /// Whether a user of a closed load whose number changes has to go before `due`. If so it goes, and waits for when it
    /// comes again.
    fn is_away<I: Io>(&mut self, driver: &mut Driver<I>, due: Instant, now: Instant) -> bool {
        let Some(crowd) = driver.crowds.get_mut(self.crowd) else { return false };
        let Some(ramp) = crowd.ramp() else { return false };
        let from = due.min(now);
        let Some(leaves) = ramp.leaves(self.token, from).filter(|leaves| *leaves <= due) else { return false };
        let joins = ramp.joins(self.token, from);
        if driver.timeline.phase(leaves).is_none() {
            self.leave(driver);
            return true;
        }
        if leaves > now {
            ramp.away += 1;
            self.state = State::Going;
            self.wake_at(driver, leaves);
            return true;
        }
        driver.part(self.connection);
        match joins.filter(|joins| driver.timeline.phase(*joins).is_some()) {
            Some(joins) => {
                self.state = State::Away;
                self.free_at = joins;
                self.wake_at(driver, joins);
                if let Some(ramp) = driver.crowds.get_mut(self.crowd).and_then(Crowd::ramp) {
                    ramp.away += 1;
                }
            }
            None => self.leave(driver),
        }
        true
    }

    /// Chooses the next flow of a scenario and its first step; returns the pause before that. `None` when it can have none.
    fn begin_flow(&mut self, crowd: &mut Crowd) -> Option<Duration> {
        let (Some(journey), Some(script)) = (&mut self.journey, &mut crowd.script) else { return Some(Duration::ZERO) };
        if journey.begin(script).is_none() {
            crowd.ran_out = true;
            return None;
        }
        self.next_step(crowd)
    }

    /// Chooses the next step of the flow of a scenario; returns the pause before it. `None` at the end of the flow.
    fn next_step(&mut self, crowd: &mut Crowd) -> Option<Duration> {
        let NextStep { step, pause } = self.journey.as_mut()?.next_step(crowd.script.as_mut()?)?;
        self.exchange = crowd.steps.start + step;
        Some(pause)
    }

    /// Makes the request that was chosen due at `due`. What a flow of an open load has begun it ends, even after the window.
    fn await_step<I: Io>(&mut self, driver: &mut Driver<I>, due: Instant, now: Instant) {
        let phase = match driver.crowds.get(self.crowd).map(|crowd| &crowd.pacer) {
            Some(Pacer::Open(_)) => Some(self.phase),
            _ => driver.timeline.phase(due),
        };
        let Some(phase) = phase else { return self.leave(driver) };
        if self.is_away(driver, due, now) {
            self.abandon_flow(driver);
            return;
        }
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

    /// Takes a request, or a flow, of an open load that is due.
    pub(crate) fn take<I: Io>(&mut self, driver: &mut Driver<I>, arrival: Arrival, now: Instant) {
        let Arrival { number, due } = arrival;
        let Some(crowd) = driver.crowds.get_mut(self.crowd) else { return };
        // Arrivals end with the window.
        self.phase = driver.timeline.phase(due).unwrap_or(Phase::Window);
        self.exchange = crowd.exchange_at(crowd.place(number));
        match self.begin_flow(crowd) {
            Some(pause) => {
                self.free_at = self.free_at.max(due + pause);
                self.await_step(driver, due + pause, now);
            }
            None => self.rest(driver),
        }
    }

    /// The instant that it waited for has come.
    pub(crate) fn on_timer<I: Io>(&mut self, driver: &mut Driver<I>, timer: Timer, at: Instant, now: Instant) {
        match timer {
            Timer::Wake if self.wakes_at == Some(at) => {
                self.wakes_at = None;
                match self.state {
                    State::Idle => self.begin(driver, now),
                    State::Waiting => self.go(driver),
                    State::Going | State::Away => {
                        if self.state == State::Away {
                            driver.come(self.connection);
                        }
                        if let Some(ramp) = driver.crowds.get_mut(self.crowd).and_then(Crowd::ramp) {
                            ramp.away -= 1;
                        }
                        self.schedule(driver, at, now);
                    }
                    State::Exchanging | State::Done => {}
                }
            }
            Timer::Wake => {}
            Timer::Deadline => {
                self.deadline_set = false;
                if self.in_flight() && !self.hears_for_its_time(driver) {
                    self.watch_deadline(driver, now);
                }
            }
            Timer::Hearing if self.hearing_ends == Some(at) => {
                self.hearing_ends = None;
                self.end_hearing(driver, now);
            }
            Timer::Hearing => {}
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
            // By then another user may have left, and the connection with it.
            (Notice::Ready | Notice::Again, State::Waiting) => self.go_anew(driver),
            (Notice::Room, State::Exchanging) => self.go_on(driver),
            (Notice::Answered(at), State::Exchanging) => self.answered(driver, at),
            (Notice::Enough(at), State::Exchanging) => self.heard_enough(driver, at),
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
        let target = driver.connections.get(self.connection).map_or(0, |connection| connection.target);
        driver.recorder.begun(self.exchange, self.phase, target);
        self.begun_at = now;
        self.late_since = Some(self.free_at);
        self.repeats = 0;
        self.state = State::Waiting;
        // A connection that takes longer to come than a request may take does not come.
        if driver.connections.get(self.connection).is_some_and(|connection| connection.is_overdue(now, driver.timeout))
        {
            driver.close(self.connection);
        }
        match driver.connections.get_mut(self.connection) {
            Some(connection) if connection.stage == Stage::Open => self.transmit(driver, now),
            Some(connection) if connection.stage == Stage::Closed => {
                connection.connecting_at = now;
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
        match driver.connections.get(self.connection).map(|connection| connection.stage) {
            Some(Stage::Open) => self.transmit(driver, Instant::now()),
            Some(Stage::Closed) => self.open(driver),
            Some(Stage::Connecting | Stage::Securing) | None => {}
        }
    }

    /// Takes its connection as it is now, and asks for a new one when it is gone.
    fn go_anew<I: Io>(&mut self, driver: &mut Driver<I>) {
        if let Some(connection) =
            driver.connections.get_mut(self.connection).filter(|connection| connection.stage == Stage::Closed)
        {
            connection.connecting_at = Instant::now();
        }
        self.go(driver);
    }

    fn open<I: Io>(&mut self, driver: &mut Driver<I>) {
        let socket = match driver.open(self.connection) {
            Ok(socket) => socket,
            Err(Errno::AGAIN) => return self.wake_at(driver, Instant::now() + SHORTEST_PAUSE),
            Err(errno) => return self.fail(driver, Fault::Connect(errno)),
        };
        if let Err(errno) = driver.io.add(self.connection, socket) {
            return self.fail(driver, Fault::Connect(errno));
        }
        let Some(connection) = driver.connections.get_mut(self.connection) else { return };
        connection.connect();
        if mem::take(&mut connection.closed_between) {
            driver.recorder.reconnected(self.phase);
        }
    }

    /// Sends the request.
    fn transmit<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Driver { connections, io, exchanges, crowds, authored, redirects, recorder, timers, timeline, .. } = driver;
        let (Some(connection), Some(exchange)) = (connections.get_mut(self.connection), exchanges.get(self.exchange))
        else {
            return;
        };
        // A chain of redirects was sent with its first request.
        if self.hop.is_none() {
            self.sent_at = now;
        }
        if let (Some(redirects), Some(redirection)) = (redirects, &mut self.comparison.redirection) {
            redirection.keeps_body = redirects.keeps_body(self.exchange, self.hop.as_deref());
        }
        self.first_byte_at = now;
        self.comparison.begin();
        let script = crowds.get(self.crowd).and_then(|crowd| crowd.script.as_ref());
        let requested = match (&self.hop, &mut self.journey, script) {
            (Some(hop), ..) => connection.request_hop(self.key, exchange, hop),
            (None, Some(journey), Some(script)) if exchange.is_rendered => {
                if let Some(time) = exchange.hears_for {
                    let ends = (now + time).min(timeline.rests_at);
                    self.hears_until = ends;
                    if self.hearing_ends.is_none_or(|before| ends < before) {
                        self.hearing_ends = Some(ends);
                        timers.push(Reverse((ends, self.token, Timer::Hearing)));
                    }
                }
                connection.request_of(self.key, exchange, journey, script)
            }
            _ if exchange.authorship.writes => Ok(authored
                .as_mut()
                .map_or(Requested::NotNow, |authored| connection.request_by(&mut *authored.author, exchange))),
            _ => connection.request(io, self.key, exchange),
        };
        match requested {
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
                // It is sent with this event. An author took its time to write it.
                if self.hop.is_none() {
                    self.sent_at = if I::DEFERS || exchange.authorship.writes { Instant::now() } else { now };
                }
                self.was_late(recorder, self.sent_at);
                driver.unflushed.push(self.connection);
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
        let Driver { connections, io, exchanges, recorder, .. } = driver;
        let (Some(connection), Some(exchange)) = (connections.get_mut(self.connection), exchanges.get(self.exchange))
        else {
            return;
        };
        match connection.go_on(io, exchange) {
            Ok(count) => {
                if recorder.sampler.is_some() {
                    self.written_at = Instant::now();
                }
                recorder.sent_bytes(self.phase, count);
            }
            Err(fault) => self.break_off(driver, fault),
        }
    }

    /// An answer that says where its request is to be sent again is part of the answer.
    #[cold]
    fn follow<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Driver { connections, exchanges, redirects, keep_alive, .. } = driver;
        let (Some(connection), Some(exchange), Some(redirects), Some(redirection)) = (
            connections.get_mut(self.connection),
            exchanges.get(self.exchange),
            redirects,
            &mut self.comparison.redirection,
        ) else {
            return;
        };
        let status = redirection.status();
        match redirects.follow(self.exchange, self.hop.take(), status, redirection.take()) {
            Err(fault) => self.fail(driver, Fault::Redirect(fault)),
            Ok(hop) => {
                let detour = hop.detour;
                let stays = connection.is_kept(exchange) && *keep_alive && connection.detour == detour;
                self.hop = Some(hop);
                if !stays {
                    driver.close(self.connection);
                }
                if let Some(connection) = driver.connections.get_mut(self.connection) {
                    connection.detour = detour;
                }
                if stays {
                    self.state = State::Waiting;
                    self.transmit(driver, now);
                } else {
                    self.go_anew(driver);
                }
            }
        }
    }

    /// The chain of redirects is at its end: its connection goes to its own target again.
    fn end_chain<I: Io>(&mut self, driver: &mut Driver<I>) {
        if self.hop.take().is_some()
            && let Some(connection) = driver.connections.get_mut(self.connection)
            && connection.detour.take().is_some()
        {
            connection.close(&mut driver.io);
        }
    }

    /// Records a complete answer, and goes on with the next request.
    fn answered<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        if self.comparison.redirection.as_ref().is_some_and(|redirection| redirection.is_one()) {
            return self.follow(driver, now);
        }
        let Driver { connections, exchanges, crowds, recorder, progress, keep_alive, .. } = driver;
        let (Some(connection), Some(exchange), Some(crowd)) =
            (connections.get_mut(self.connection), exchanges.get(self.exchange), crowds.get_mut(self.crowd))
        else {
            return;
        };
        let journey = self.journey.as_deref_mut().zip(crowd.script.as_mut());
        let (status, wrong) = self.comparison.conclude(self.exchange, &exchange.check, journey, &mut recorder.evidence);
        recorder.answered(
            self.phase,
            Answered {
                at: now,
                due: self.due,
                sent: self.sent_at,
                first_byte: self.first_byte_at,
                step: self.exchange,
                status,
                length: self.comparison.length(),
                fault: wrong.map(Fault::Wrong),
            },
        );
        if let Some(sampler) = &mut recorder.sampler {
            let end = wrong.map_or(SampleEnd::Ok, |wrong| SampleEnd::Failed(Fault::Wrong(wrong).class()));
            sampler.keep(&self.ended(connection.connecting_at, now, Some(status), end));
        }
        progress.rough.count(now.saturating_duration_since(self.due));
        let next = if wrong.is_none() { self.next_step(crowd) } else { None };
        if !connection.is_kept(exchange) || !*keep_alive {
            connection.closed_between = *keep_alive && !connection.is_retired();
            recorder.not_kept(self.phase);
            driver.close(self.connection);
        }
        self.end_chain(driver);
        driver.ended(self.begun_at, now);
        self.failures = 0;
        self.free_at = driver.woke_at;
        driver.publish_progress();
        match next {
            Some(pause) => self.await_step(driver, now + pause, now),
            None => {
                self.end_flow(driver, Duration::ZERO, now);
                self.take_due(driver, now);
            }
        }
    }

    /// The connection has ended without a complete answer. A server may close between two answers, and we may find out
    /// only by our next request: that is sent again, unless the server had taken it.
    fn break_off<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        let Driver { connections, io, .. } = driver;
        match connections.get_mut(self.connection) {
            Some(connection) if connection.was_closed_between(io, fault) => {
                connection.closed_between = true;
                connection.close(io);
                self.go_anew(driver);
            }
            _ => self.fail(driver, fault),
        }
    }

    /// The server says that it has not taken the request, which may then be sent again (RFC 9113, section 8.7): once on the same
    /// connection, and more often on others, since a server that ends each after a few requests says so to all that wait.
    fn repeat<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        self.repeats += 1;
        let connection = driver.connections.get(self.connection);
        let most = if connection.is_some_and(Connection::goes_on) { 1 } else { REPEATS };
        if self.repeats > most { self.fail(driver, fault) } else { self.go_anew(driver) }
    }

    /// Records that there is no complete answer. A closed load goes on with the next request after a pause: a server that is
    /// gone must not be met by millions of failures. In an open load due times see to that.
    fn fail<I: Io>(&mut self, driver: &mut Driver<I>, fault: Fault) {
        let now = Instant::now();
        self.was_late(&mut driver.recorder, now);
        driver.recorder.failed(self.phase, self.exchange, fault, now);
        if let Some(point) = self.break_point(driver, fault) {
            driver.recorder.broke(self.phase, fault.class(), point);
        }
        self.keep_sample(driver, now, SampleEnd::Failed(fault.class()));
        driver.recorder.failed_with(self.phase, self.exchange, fault, now, self.others_out(driver));
        driver.ended(self.begun_at, now);
        // What could not be written has not been sent.
        if !matches!(fault, Fault::Unwritable(_)) {
            driver.abandon(self.connection, self.key);
        }
        self.end_chain(driver);
        self.wakes_at = None;
        let pause =
            SHORTEST_PAUSE.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.free_at = now;
        driver.publish_progress();
        // It may take what is due in an open load only by way of the worker: failures would nest without a bound.
        self.end_flow(driver, pause, now);
    }

    /// How far the request was that ends now with a fault; nothing where no connection broke it off.
    fn break_point<I: Io>(&self, driver: &Driver<I>, fault: Fault) -> Option<BreakPoint> {
        if matches!(fault, Fault::Redirect(_)) {
            return None;
        }
        match fault.class() {
            ErrorClass::Malformed
            | ErrorClass::WrongStatus
            | ErrorClass::WrongHeader
            | ErrorClass::WrongBody
            | ErrorClass::Unwritable => return None,
            ErrorClass::Refused
            | ErrorClass::Reset
            | ErrorClass::Tls
            | ErrorClass::ClosedEarly
            | ErrorClass::Exhausted
            | ErrorClass::TimedOut
            | ErrorClass::Io => {}
        }
        let connection = driver.connections.get(self.connection)?;
        Some(match (self.state, fault, connection.stage) {
            (State::Exchanging, ..) => connection.answer_point(self.first_byte_at > self.sent_at),
            (_, Fault::Tls(_), _) | (_, _, Stage::Securing) => BreakPoint::Securing,
            (_, _, Stage::Open) => BreakPoint::Queued,
            (_, _, Stage::Closed | Stage::Connecting) => BreakPoint::Connecting,
        })
    }

    /// Keeps a request that has ended without a complete answer, where each is kept.
    fn keep_sample<I: Io>(&self, driver: &mut Driver<I>, now: Instant, end: SampleEnd) {
        let connecting_at = driver.connections.get(self.connection).map_or(now, |connection| connection.connecting_at);
        if let Some(sampler) = &mut driver.recorder.sampler {
            sampler.keep(&self.ended(connecting_at, now, None, end));
        }
    }

    /// The request that ends now.
    fn ended(&self, connecting: Instant, at: Instant, status: Option<u16>, end: SampleEnd) -> EndedRequest {
        EndedRequest {
            due: self.due,
            begun: self.begun_at,
            connecting,
            sent: (self.state == State::Exchanging).then_some(self.sent_at),
            written: self.written_at,
            first_byte: self.first_byte_at,
            at,
            bytes: self.comparison.length(),
            step: self.exchange,
            status,
            end,
        }
    }

    /// The present request, or flow, has come to its end: in a closed load the next one is due after the think time, or after
    /// this pause where that is longer; in an open load the user is idle.
    fn end_flow<I: Io>(&mut self, driver: &mut Driver<I>, pause: Duration, now: Instant) {
        self.abandon_flow(driver);
        let Some(crowd) = driver.crowds.get_mut(self.crowd) else { return };
        match crowd.pacer {
            Pacer::Closed { .. } => {
                self.place = crowd.next_place(self.place);
                self.exchange = crowd.exchange_at(self.place);
                let think = match &mut driver.authored {
                    None => crowd.think.draw(&mut crowd.random),
                    Some(authored) => match authored.pause() {
                        Some(pause) => pause,
                        None => return self.leave(driver),
                    },
                };
                self.schedule(driver, now + think.max(pause), now);
            }
            Pacer::Open(_) => self.rest(driver),
        }
    }

    /// Ends a flow that is not at its end.
    fn abandon_flow<I: Io>(&mut self, driver: &mut Driver<I>) {
        let script = driver.crowds.get_mut(self.crowd).and_then(|crowd| crowd.script.as_mut());
        if let (Some(journey), Some(script)) = (&mut self.journey, script) {
            journey.abandon(script);
        }
    }

    /// Waits for a request that is due.
    fn rest<I: Io>(&mut self, driver: &mut Driver<I>) {
        self.state = State::Idle;
        if let (Some(crowd), Some(connection)) =
            (driver.crowds.get_mut(self.crowd), driver.connections.get(self.connection))
        {
            crowd.idle.put(self.token, connection.target, connection.stage != Stage::Closed);
        }
    }

    /// Takes what is due at once, where it is the only idle user. Where there are others the worker says who comes next: it
    /// knows by then which of their connections have ended.
    fn take_due<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let Some(crowd) = driver.crowds.get_mut(self.crowd) else { return };
        if crowd.idle.len() == 1
            && let Some(arrival) = crowd.take_due(now)
        {
            let _ = crowd.idle.take(|_| true);
            self.take(driver, arrival, now);
        }
    }

    /// Has no more requests.
    fn leave<I: Io>(&mut self, driver: &mut Driver<I>) {
        self.state = State::Done;
        driver.leave(self.connection);
        if let Some(crowd) = driver.crowds.get_mut(self.crowd) {
            crowd.active -= 1;
        }
    }
}
