//! A connection: opened, secured where that is asked for, and used by one user, or by many over HTTP/2.
//!
//! ```text
//! Closed --connect--> Connecting --> (TLS: Securing) --> Open --> Closed
//! ```
//!
//! What happens to it becomes a [`Notice`] to each user that it concerns. Bytes belong to the backend while they are read,
//! so that users act on their notices afterwards.

use std::mem;
use std::time::{Duration, Instant, SystemTime};

use stampede_scenario::{Journey, Script};
use stampede_seam::{Author, BreakPoint};
use stampede_wire::response::DecodeError;

use crate::authored::Authored;
use crate::body_check::{Comparing, Expected};
use crate::crowd::Crowd;
use crate::fault::Fault;
use crate::http1::{Came, Http1};
use crate::http2::Http2;
use crate::io::{Happening, Io, Outgoing};
use crate::pipeline;
use crate::prepared_exchange::{PreparedExchange, is_head};
use crate::protocol_notes::Rule;
use crate::recorder::Recorder;
use crate::redirect::Hop;
use crate::timeline::{Phase, Timeline};
use crate::tls::{Security, Tls, TlsFault};
use crate::user::User;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Closed,
    Connecting,
    Securing,
    Open,
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number among the thread's connections.
    number: usize,
    pub(crate) stage: Stage,
    pub(crate) connecting_at: Instant,
    securing_at: Instant,
    /// The server has closed it between two answers.
    pub(crate) closed_between: bool,
    /// How many of its users are not there at present.
    pub(crate) away: usize,
    /// The number of the target that it goes to when it is opened.
    pub(crate) target: usize,
    /// Where it goes in place of its target, for as long as a redirect leads there.
    pub(crate) detour: Option<usize>,
    /// Its target has changed: it is closed once it has no request under way.
    retired: bool,
    speaks: Speaks,
    tls: Option<Box<Tls>>,
    /// Bytes of the present prepared request that have been sent, over plain HTTP/1.
    written: usize,
    /// Bytes that wait to be sent, over all else, and how many of them have been.
    out: Vec<u8>,
    out_sent: usize,
}

#[derive(Debug)]
enum Speaks {
    Http1(Http1),
    /// Not before it is open.
    Http2(Option<Box<Http2>>),
}

/// What an event means for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Its connection takes requests.
    Ready,
    /// Its connection is gone, and it has not sent its request.
    Again,
    /// More of its request can be sent.
    Room,
    /// Its answer is complete.
    Answered(Instant),
    /// What has come of its answer is enough.
    Enough(Instant),
    /// Its connection has ended, maybe before its request came.
    BrokenOff(Fault),
    /// The server has not taken its request.
    NotTaken(Fault),
    /// There is no complete answer.
    Failed(Fault),
}

/// What a connection needs while it reads.
pub(crate) struct Reception<'a> {
    /// Its own users.
    pub(crate) users: &'a mut [User],
    pub(crate) exchanges: &'a [PreparedExchange],
    pub(crate) crowds: &'a [Crowd],
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) timeline: &'a Timeline,
    pub(crate) security: Option<&'a Security>,
    /// Who takes answers, if anybody does.
    pub(crate) authored: Option<&'a mut Authored>,
    /// Room for what was encrypted.
    pub(crate) plain: &'a mut [u8],
    /// For whom there is what.
    pub(crate) notices: &'a mut Vec<(usize, Notice)>,
    /// When it came.
    pub(crate) now: Instant,
}

impl Reception<'_> {
    pub(crate) fn tell(&mut self, key: usize, notice: Notice) {
        self.notices.push((key, notice));
    }

    fn tell_waiting(&mut self, notice: Notice) {
        let waiting = self.users.iter().enumerate().filter(|(_, user)| user.is_waiting());
        self.notices.extend(waiting.map(|(key, _)| (key, notice)));
    }

    fn tell_exchanging(&mut self, notice: Notice) {
        let exchanging = self.users.iter().enumerate().filter(|(_, user)| user.is_exchanging());
        self.notices.extend(exchanging.map(|(key, _)| (key, notice)));
    }

    /// When the first byte of a user's answer came, and what its answer is held against.
    pub(crate) fn comparing(&mut self, key: usize) -> Option<(&mut Instant, Comparing<'_>)> {
        let User { crowd, exchange, journey, first_byte_at, sent_at, phase, comparison, .. } =
            self.users.get_mut(key)?;
        let check = &self.exchanges.get(*exchange)?.check;
        let expected = match (journey, self.crowds.get(*crowd).and_then(|crowd| crowd.script.as_ref())) {
            (Some(journey), Some(script)) => {
                if let Some(hearing) = &mut comparison.hearing {
                    (hearing.sent, hearing.phase) = (*sent_at, *phase);
                }
                Expected::Journey(journey, script)
            }
            _ => Expected::Check(check),
        };
        let evidence = &mut self.recorder.evidence;
        let concludes_late = check.concludes_late();
        Some((first_byte_at, Comparing { step: *exchange, expected, comparison, evidence, concludes_late }))
    }

    /// Ends the answers of users who have heard enough. One that came to its end with the same bytes needs nothing more.
    #[cold]
    fn end_what_is_enough(&mut self) {
        self.recorder.evidence.events.is_enough = false;
        let Self { users, notices, now, .. } = self;
        let has_enough = |user: &User| user.journey.as_ref().is_some_and(|journey| journey.has_heard_enough());
        for (key, _) in users.iter().enumerate().filter(|(_, user)| user.is_exchanging() && has_enough(user)) {
            match notices.iter_mut().find(|(other, _)| *other == key) {
                None => notices.push((key, Notice::Enough(*now))),
                Some((_, Notice::Answered(_))) => {}
                Some((_, notice)) => *notice = Notice::Enough(*now),
            }
        }
    }

    /// An answer of several to the only user is complete, and others follow.
    pub(crate) fn conclude_one(&mut self) {
        let Self { users, exchanges, recorder, now, .. } = self;
        if let Some(user) = users.first_mut()
            && let Some(exchange) = exchanges.get(user.exchange)
        {
            let (status, wrong) =
                user.comparison.conclude(user.exchange, &exchange.check, None, &mut recorder.evidence);
            recorder.answered_one(user.phase, user.exchange, status, wrong.map(Fault::Wrong), *now);
        }
    }

    /// The phase that bytes belong to: that of the only user's request, or of this instant.
    fn phase(&self, now: Instant) -> Phase {
        match &*self.users {
            [user] => user.phase,
            _ => self.timeline.phase(now).unwrap_or(Phase::Window),
        }
    }
}

/// What has become of a request that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requested {
    /// This many bytes have been sent; the rest follows by [`Connection::go_on`].
    Sent(usize),
    /// It waits for [`Connection::flush`].
    Queued,
    /// Nothing: the server takes no more at present.
    NotNow,
}

impl Connection {
    pub(crate) fn new(number: usize, target: usize, is_http2: bool, now: Instant) -> Self {
        Self {
            number,
            stage: Stage::Closed,
            connecting_at: now,
            securing_at: now,
            closed_between: false,
            away: 0,
            target,
            detour: None,
            retired: false,
            speaks: if is_http2 { Speaks::Http2(None) } else { Speaks::Http1(Http1::default()) },
            tls: None,
            written: 0,
            out: Vec::new(),
            out_sent: 0,
        }
    }

    /// Has a new socket, which is connecting.
    pub(crate) fn connect(&mut self) {
        self.stage = Stage::Connecting;
        self.retired = false;
        self.tls = None;
        self.out.clear();
        self.out_sent = 0;
        match &mut self.speaks {
            Speaks::Http1(http1) => http1.begin(),
            Speaks::Http2(http2) => *http2 = None,
        }
    }

    /// Takes an event; `false` when the connection is of no more use and must be closed before users act.
    #[must_use]
    pub(crate) fn take(&mut self, happening: Happening<'_>, reception: &mut Reception<'_>) -> bool {
        match (self.stage, happening) {
            (Stage::Closed, _) | (Stage::Connecting, Happening::Received(_) | Happening::Ended) => true,
            (Stage::Connecting, Happening::Writable) => self.arrive(reception),
            (Stage::Connecting, Happening::Failed(errno)) => {
                reception.tell_waiting(Notice::Failed(Fault::Connect(errno)));
                false
            }
            (Stage::Securing, Happening::Writable) => true,
            (Stage::Open, Happening::Writable) => {
                if self.tls.is_none() && matches!(self.speaks, Speaks::Http1(_)) {
                    reception.tell_exchanging(Notice::Room);
                }
                true
            }
            (Stage::Securing | Stage::Open, Happening::Received(bytes)) => self.receive(bytes, reception),
            (Stage::Securing | Stage::Open, Happening::Ended) => self.end(reception),
            (Stage::Securing | Stage::Open, Happening::Failed(errno)) => self.break_off(Fault::Read(errno), reception),
        }
    }

    /// Is connected.
    pub(crate) fn arrive(&mut self, reception: &mut Reception<'_>) -> bool {
        let Reception { users, recorder, security, now, .. } = reception;
        let now = *now;
        if let Some(user) = users.iter().find(|user| user.is_waiting()) {
            let took = now.saturating_duration_since(self.connecting_at);
            recorder.connected(user.exchange, user.phase, took);
        }
        let Some(security) = security else {
            self.open(reception);
            return true;
        };
        match Tls::begin(security) {
            Ok(tls) => {
                self.stage = Stage::Securing;
                self.securing_at = now;
                self.tls = Some(Box::new(tls));
                true
            }
            Err(fault) => {
                reception.tell_waiting(Notice::Failed(Fault::Tls(fault)));
                false
            }
        }
    }

    /// Takes requests from now on.
    fn open(&mut self, reception: &mut Reception<'_>) {
        self.stage = Stage::Open;
        if let Speaks::Http2(http2) = &mut self.speaks {
            *http2 = Some(Box::new(Http2::new(&mut self.out)));
        }
        reception.tell_waiting(Notice::Ready);
    }

    fn receive(&mut self, bytes: &[u8], reception: &mut Reception<'_>) -> bool {
        let now = reception.now;
        let phase = reception.phase(now);
        reception.recorder.received_bytes(phase, bytes.len());
        match self.tls.take() {
            None => self.read(bytes, now, reception),
            Some(mut tls) => {
                let goes_on = self.decrypt(&mut tls, bytes, now, reception);
                self.tls = Some(tls);
                goes_on
            }
        }
    }

    fn decrypt(&mut self, tls: &mut Tls, mut bytes: &[u8], now: Instant, reception: &mut Reception<'_>) -> bool {
        while !bytes.is_empty() {
            match tls.take(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(fault) => return self.break_off(Fault::Tls(fault), reception),
            }
            if self.stage == Stage::Securing && tls.is_ready() {
                if let Some(user) = reception.users.iter().find(|user| user.is_waiting()) {
                    let took = now.saturating_duration_since(self.securing_at);
                    reception.recorder.secured(user.exchange, user.phase, took);
                }
                self.open(reception);
            }
            let plain = mem::take(&mut reception.plain);
            let mut goes_on = true;
            while goes_on {
                let count = tls.read(plain);
                if count == 0 {
                    break;
                }
                goes_on = self.read(plain.get(..count).unwrap_or_default(), now, reception);
            }
            reception.plain = plain;
            if !goes_on {
                return false;
            }
        }
        !tls.has_ended() || self.end(reception)
    }

    /// Reads bytes as the protocol has them.
    fn read(&mut self, bytes: &[u8], now: Instant, reception: &mut Reception<'_>) -> bool {
        match &mut self.speaks {
            Speaks::Http1(http1) => {
                let asked = reception.users.first().is_some_and(User::is_exchanging);
                if asked && http1.reads_one_by_one() {
                    pipeline::read(http1, self.number, bytes, reception);
                    return true;
                }
                let (true, Some((first_byte_at, mut comparing))) = (asked, reception.comparing(0)) else {
                    // Nothing may come between two requests but the end, or word that this client was silent for too long.
                    if !bytes.starts_with(b"HTTP/1.1 408")
                        && http1.has_answered()
                        && let Some((_, mut comparing)) = reception.comparing(0)
                    {
                        let status = comparing.status();
                        comparing.breach(Rule::End(status), bytes);
                    }
                    self.closed_between = true;
                    return false;
                };
                if http1.awaits_first_byte() {
                    *first_byte_at = now;
                }
                match http1.read(bytes, &mut comparing) {
                    Came::Incomplete => {
                        if comparing.has_heard_enough() {
                            reception.tell(0, Notice::Enough(now));
                        }
                    }
                    Came::Complete => reception.tell(0, Notice::Answered(now)),
                    Came::Broken(fault) => reception.tell(0, Notice::Failed(fault)),
                }
                true
            }
            Speaks::Http2(None) => true,
            Speaks::Http2(Some(http2)) => match http2.read(bytes, &mut self.out, now, reception) {
                Err(error) => {
                    reception.tell_exchanging(Notice::Failed(Fault::Session(error)));
                    reception.tell_waiting(Notice::Again);
                    false
                }
                Ok(()) if reception.recorder.evidence.events.is_enough => {
                    reception.end_what_is_enough();
                    if http2.can_start() {
                        reception.tell_waiting(Notice::Ready);
                    }
                    true
                }
                Ok(()) if http2.is_done() => {
                    self.closed_between = !self.retired;
                    reception.tell_waiting(Notice::Again);
                    false
                }
                Ok(()) => {
                    if http2.can_start() {
                        reception.tell_waiting(Notice::Ready);
                    }
                    true
                }
            },
        }
    }

    /// The peer sends no more.
    fn end(&mut self, reception: &mut Reception<'_>) -> bool {
        if self.stage == Stage::Securing {
            return self.break_off(Fault::Tls(TlsFault::Closed), reception);
        }
        match &mut self.speaks {
            Speaks::Http1(http1) if reception.users.first().is_some_and(User::is_exchanging) => {
                if http1.reads_one_by_one() {
                    pipeline::end(http1, self.number, reception);
                    return true;
                }
                match http1.end() {
                    Came::Complete => reception.tell(0, Notice::Answered(reception.now)),
                    Came::Broken(fault) => reception.tell(0, Notice::BrokenOff(fault)),
                    Came::Incomplete => {}
                }
                true
            }
            _ => self.break_off(Fault::Answer(DecodeError::Truncated), reception),
        }
    }

    /// The connection is of no more use.
    fn break_off(&mut self, fault: Fault, reception: &mut Reception<'_>) -> bool {
        if self.stage == Stage::Securing {
            reception.tell_waiting(Notice::Failed(fault));
            return false;
        }
        let is_used = reception.users.iter().any(User::is_exchanging);
        self.closed_between = !is_used;
        match self.speaks {
            // Whether the request had come to the server is asked of the socket, which is closed later therefore.
            Speaks::Http1(_) if is_used && fault.is_closed_by_peer() => {
                reception.tell_exchanging(Notice::BrokenOff(fault));
                true
            }
            _ => {
                reception.tell_exchanging(Notice::Failed(fault));
                reception.tell_waiting(Notice::Again);
                false
            }
        }
    }

    /// Sends a request for the user in this place.
    pub(crate) fn request(
        &mut self,
        io: &mut impl Io,
        key: usize,
        exchange: &PreparedExchange,
    ) -> Result<Requested, Fault> {
        match &mut self.speaks {
            Speaks::Http1(http1) => {
                http1.expect_answers(exchange.is_head, exchange.answers, exchange.authorship.reads);
                if self.tls.is_some() {
                    self.out.extend_from_slice(&exchange.request);
                    return Ok(Requested::Queued);
                }
                self.written = 0;
                self.go_on(io, exchange).map(Requested::Sent)
            }
            Speaks::Http2(None) => Ok(Requested::NotNow),
            Speaks::Http2(Some(http2)) => {
                let begun = http2.request(key, exchange, &mut self.out)?;
                Ok(if begun { Requested::Queued } else { Requested::NotNow })
            }
        }
    }

    /// Sends the next request of a chain of redirects for the user in this place.
    pub(crate) fn request_hop(
        &mut self,
        key: usize,
        exchange: &PreparedExchange,
        hop: &Hop,
    ) -> Result<Requested, Fault> {
        match &mut self.speaks {
            Speaks::Http1(http1) => {
                self.out.extend_from_slice(&hop.bytes);
                http1.expect_answers(hop.is_head, 1, false);
                // Nothing of the prepared request is to follow.
                self.written = exchange.request.len();
                Ok(Requested::Queued)
            }
            Speaks::Http2(None) => Ok(Requested::NotNow),
            Speaks::Http2(Some(http2)) => {
                let begun = http2.request_hop(key, hop, &mut self.out)?;
                Ok(if begun { Requested::Queued } else { Requested::NotNow })
            }
        }
    }

    /// Sends what an author writes.
    pub(crate) fn request_by(&mut self, author: &mut dyn Author, exchange: &PreparedExchange) -> Requested {
        let Speaks::Http1(http1) = &mut self.speaks else { return Requested::NotNow };
        let begin = self.out.len();
        if !author.write(&mut self.out) {
            self.out.truncate(begin);
            return Requested::NotNow;
        }
        let is_head = self.out.get(begin..).is_some_and(is_head);
        http1.expect_answers(is_head, exchange.answers, exchange.authorship.reads);
        self.written = 0;
        Requested::Queued
    }

    /// Answers that are to come to what was sent last, over HTTP/1.
    pub(crate) fn answers_left(&self) -> u32 {
        match &self.speaks {
            Speaks::Http1(http1) => http1.answers_left(),
            Speaks::Http2(_) => 1,
        }
    }

    /// Sends the present request of the journey of the user in this place.
    pub(crate) fn request_of(
        &mut self,
        key: usize,
        exchange: &PreparedExchange,
        journey: &mut Journey,
        script: &Script,
    ) -> Result<Requested, Fault> {
        let now = SystemTime::now();
        match &mut self.speaks {
            Speaks::Http1(http1) => {
                journey.render(script, now, &mut self.out).map_err(Fault::Unwritable)?;
                http1.expect_answers(exchange.is_head, 1, false);
                self.written = 0;
                Ok(Requested::Queued)
            }
            Speaks::Http2(None) => Ok(Requested::NotNow),
            Speaks::Http2(Some(http2)) => {
                let begun = http2.request_of(key, exchange, journey, script, now, &mut self.out)?;
                Ok(if begun { Requested::Queued } else { Requested::NotNow })
            }
        }
    }

    /// Sends more of a prepared request over plain HTTP/1.
    pub(crate) fn go_on(&mut self, io: &mut impl Io, exchange: &PreparedExchange) -> Result<usize, Fault> {
        if self.written == exchange.request.len() {
            return Ok(0);
        }
        let taken = io.send(self.number, Outgoing::Prepared(exchange, self.written)).map_err(Fault::Send)?;
        self.written += taken;
        Ok(taken)
    }

    /// Sends what waits, and returns how many bytes that was. An error is found out by the next event.
    pub(crate) fn flush(&mut self, io: &mut impl Io) -> usize {
        match (&mut self.tls, self.stage) {
            (_, Stage::Closed | Stage::Connecting) => 0,
            (Some(tls), _) => {
                if tls.is_ready() && !self.out.is_empty() {
                    tls.seal(&self.out);
                    self.out.clear();
                }
                let sent = send(io, self.number, tls.unsent());
                tls.sent(sent);
                sent
            }
            (None, _) => {
                let sent = send(io, self.number, self.out.get(self.out_sent..).unwrap_or_default());
                self.out_sent += sent;
                if self.out_sent == self.out.len() {
                    self.out.clear();
                    self.out_sent = 0;
                }
                sent
            }
        }
    }

    /// How far the answer is that has not come to its end; over HTTP/2, by whether its head was there.
    pub(crate) fn answer_point(&self, has_begun: bool) -> BreakPoint {
        match &self.speaks {
            Speaks::Http1(http1) => http1.answer_point(),
            Speaks::Http2(_) if has_begun => BreakPoint::Body,
            Speaks::Http2(_) => BreakPoint::Waiting,
        }
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty() || self.tls.as_ref().is_some_and(|tls| !tls.unsent().is_empty())
    }

    /// A user's answer is complete: whether the connection may carry another request of its.
    pub(crate) fn is_kept(&mut self, exchange: &PreparedExchange) -> bool {
        let is_sent = self.tls.is_some() || (self.written == exchange.request.len() && self.out.is_empty());
        match &mut self.speaks {
            Speaks::Http1(http1) => http1.is_kept() && is_sent && !self.retired,
            Speaks::Http2(_) => true,
        }
    }

    /// Whether the server closed between two answers, and the request that came across it was not taken.
    pub(crate) fn was_closed_between(&self, io: &impl Io, fault: Fault) -> bool {
        match &self.speaks {
            Speaks::Http1(http1) => http1.was_closed_between(fault, || io.is_untaken(self.number)),
            Speaks::Http2(_) => false,
        }
    }

    /// A user has given up its request: the server need not answer it. A connection that others share, or wait for, goes
    /// on.
    pub(crate) fn abandon(&mut self, io: &mut impl Io, key: usize) {
        match &mut self.speaks {
            Speaks::Http2(Some(http2)) if self.stage == Stage::Open => {
                http2.cancel(key, &mut self.out);
                // No answer will come that would have it closed.
                if self.retired && http2.is_done() {
                    self.close(io);
                }
            }
            Speaks::Http2(_) => {}
            Speaks::Http1(_) => self.close(io),
        }
    }

    /// A user has enough of an answer that goes on: the connection is closed with it, or over HTTP/2 only its stream.
    pub(crate) fn hang_up(&mut self, io: &mut impl Io, key: usize) {
        match &mut self.speaks {
            Speaks::Http1(_) => self.retired = true,
            Speaks::Http2(Some(http2)) => {
                http2.cancel(key, &mut self.out);
                // No answer will come that would have it closed.
                if http2.is_done() {
                    self.close(io);
                }
            }
            Speaks::Http2(None) => {}
        }
    }

    /// Has another target from now on. What is under way on it comes to its end, and nothing more is sent.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
        if let Speaks::Http2(Some(http2)) = &mut self.speaks {
            http2.retire();
        }
    }

    /// Whether it is open, and the server has not said that it takes no more on it.
    pub(crate) fn goes_on(&self) -> bool {
        let is_ending = matches!(&self.speaks, Speaks::Http2(Some(http2)) if http2.is_going_away());
        self.stage == Stage::Open && !is_ending
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }

    /// Whether it is still not there after the time that a request may take.
    pub(crate) fn is_overdue(&self, now: Instant, timeout: Option<Duration>) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::Securing)
            && timeout.is_some_and(|timeout| now.saturating_duration_since(self.connecting_at) >= timeout)
    }

    /// A user has no more requests: its connection is not needed, unless others use it.
    pub(crate) fn leave(&mut self, io: &mut impl Io) {
        if matches!(self.speaks, Speaks::Http1(_)) {
            self.close(io);
        }
    }

    pub(crate) fn close(&mut self, io: &mut impl Io) {
        if self.stage != Stage::Closed {
            io.close(self.number);
            self.stage = Stage::Closed;
        }
    }
}

fn send(io: &mut impl Io, number: usize, bytes: &[u8]) -> usize {
    if bytes.is_empty() { 0 } else { io.send(number, Outgoing::Passing(bytes)).unwrap_or(bytes.len()) }
}
