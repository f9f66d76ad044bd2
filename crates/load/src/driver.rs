//! What a thread's users share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::authored::Authored;
use crate::connection::{Connection, Notice, Reception, Stage};
use crate::crowd::Crowd;
use crate::engine::ThreadProgress;
use crate::io::Io;
use crate::prepared_exchange::PreparedExchange;
use crate::recorder::Recorder;
use crate::redirect::Redirects;
use crate::slicer::Slicer;
use crate::socket::Target;
use crate::targets::{self, Targets};
use crate::timeline::{Phase, Timeline};
use crate::tls::Security;
use crate::user::User;

/// A sleeping thread may run this long after its timer, so the last part of the way to a due time is spun.
pub(crate) const SPIN: Duration = Duration::from_micros(50);

/// Decrypted bytes that are read at once: a record of TLS (RFC 8446, section 5.1).
pub(crate) const PLAIN: usize = 16 << 10;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A user goes on.
    Wake,
    /// A user looks at the age of its request.
    Deadline,
    /// A user has heard a stream of events for as long as it was to.
    Hearing,
}

/// One of each kind, and a wake-up that a time-out has overtaken.
pub(crate) const TIMERS_A_USER: usize = 3;

pub(crate) struct Driver<I> {
    pub(crate) io: I,
    pub(crate) connections: Vec<Connection>,
    /// Of the present turn.
    pub(crate) timeline: Timeline,
    /// Whether more turns come: connections are kept for them.
    pub(crate) rests: bool,
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) crowds: Vec<Crowd>,
    /// Who writes requests and takes answers, if anybody does.
    pub(crate) authored: Option<Authored>,
    /// What redirects are followed with, if they are.
    pub(crate) redirects: Option<Box<Redirects>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep_alive: bool,
    pub(crate) recorder: Recorder,
    /// Users with a request.
    pub(crate) in_flight: u32,
    /// Users whose requests leave with the next wait, where the backend defers.
    pub(crate) departing: Vec<usize>,
    /// When the loop learned of the events that it is dealing with.
    pub(crate) woke_at: Instant,
    pub(crate) targets: Arc<[Target]>,
    /// Where they come from, and how often they had changed.
    pub(crate) source: Arc<Targets>,
    pub(crate) generation: u64,
    /// How many connections come before this thread's.
    pub(crate) first_link: usize,
    /// Connections opened so far.
    pub(crate) opened: u32,
    /// How many users share a connection.
    pub(crate) sharers: usize,
    /// Connections with something to send; some may stand in it more than once.
    pub(crate) unflushed: Vec<usize>,
    pub(crate) security: Option<Security>,
    /// Room for what was encrypted.
    pub(crate) plain: Box<[u8]>,
    /// What the last event means for the users of its connection.
    pub(crate) notices: Vec<(usize, Notice)>,
    /// At most [`TIMERS_A_USER`] for each user, and those of streams of events.
    pub(crate) timers: BinaryHeap<Reverse<(Instant, usize, Timer)>>,
    pub(crate) progress: Arc<ThreadProgress>,
}

impl<I: Io> Driver<I> {
    /// Has a user's `on_timer` called at an instant.
    pub(crate) fn set_timer(&mut self, at: Instant, user: usize, timer: Timer) {
        self.timers.push(Reverse((at, user, timer)));
    }

    pub(crate) fn pop_timer(&mut self, now: Instant) -> Option<(Instant, usize, Timer)> {
        match self.timers.peek() {
            Some(Reverse((at, ..))) if *at <= now => self.timers.pop().map(|Reverse(timer)| timer),
            _ => None,
        }
    }

    /// Takes the next event, and returns the connection that it happened to. Its users have notices then.
    pub(crate) fn take_next(&mut self, users: &mut [User]) -> Option<usize> {
        let Self {
            io,
            connections,
            exchanges,
            crowds,
            authored,
            redirects,
            recorder,
            timeline,
            security,
            plain,
            notices,
            unflushed,
            sharers,
            ..
        } = self;
        let (number, happening) = io.next()?;
        // What the kernel has received for all of them in the wait had come by its end.
        let now = if I::DEFERS { self.woke_at } else { Instant::now() };
        let first = number * *sharers;
        let users = users.get_mut(first..first + *sharers);
        if let (Some(connection), Some(users)) = (connections.get_mut(number), users) {
            let security = match connection.detour {
                None => security.as_ref(),
                Some(detour) => redirects.as_ref().and_then(|redirects| redirects.security(detour)),
            };
            if security.is_some() && plain.is_empty() {
                *plain = vec![0; PLAIN].into_boxed_slice();
            }
            let authored = authored.as_mut();
            let mut reception =
                Reception { users, exchanges, crowds, recorder, timeline, security, authored, plain, notices, now };
            let goes_on = connection.take(happening, &mut reception);
            if !goes_on {
                connection.flush(io);
                connection.close(io);
            } else if connection.has_output() {
                unflushed.push(number);
            }
        }
        Some(number)
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) {
        while let Some(number) = self.unflushed.pop() {
            if let Some(connection) = self.connections.get_mut(number) {
                let sent = connection.flush(&mut self.io);
                let phase = self.timeline.phase(self.woke_at).unwrap_or(Phase::Window);
                self.recorder.sent_bytes(phase, sent);
            }
        }
    }

    /// A socket to the target of this connection.
    pub(crate) fn open(&mut self, number: usize) -> Result<OwnedFd, Errno> {
        let target = self.connections.get(number).and_then(|connection| match connection.detour {
            None => self.targets.get(connection.target),
            Some(detour) => self.redirects.as_ref()?.target(detour),
        });
        let socket = target.map_or(Err(Errno::INVAL), |target| target.open(self.opened));
        self.opened = self.opened.wrapping_add(1);
        socket
    }

    /// Goes on to the next turn, after windows that took so long together.
    pub(crate) fn turn_to(&mut self, next: Timeline, after: Duration, is_last: bool) {
        self.timeline = next;
        self.rests = !is_last;
        self.recorder.turn_is_over();
        if let Some(slicer) = &mut self.recorder.slicer {
            slicer.resume(&next, after, is_last);
        }
    }

    pub(crate) fn targets_have_changed(&self) -> bool {
        self.source.generation() != self.generation
    }

    /// Goes over to other targets, where they have changed: connections whose target has left, or has more than its share
    /// of them, have another one. Those without a request under way are closed at once. It takes a lock and memory.
    pub(crate) fn follow_targets(&mut self, users: &mut [User]) {
        let (generation, targets) = self.source.current();
        self.generation = generation;
        let place = |connection: &Connection| {
            let present = self.targets.get(connection.target)?;
            targets.iter().position(|target| target == present)
        };
        let before: Vec<_> = self.connections.iter().map(place).collect();
        let dealt = targets::deal(&before, self.first_link, targets.len());
        self.targets = targets;
        self.recorder.targets_change();
        let Self { connections, io, crowds, sharers, .. } = self;
        let mut waiting = Vec::new();
        for ((connection, users), (before, target)) in
            connections.iter_mut().zip(users.chunks(*sharers)).zip(before.into_iter().zip(dealt))
        {
            connection.target = target;
            if before == Some(target) {
                continue;
            }
            if users.iter().any(User::is_exchanging) {
                connection.retire();
            } else if connection.stage != Stage::Closed {
                connection.close(io);
                waiting.extend(users.iter().filter(|user| user.is_waiting()).map(User::token));
            }
        }
        let connection_of = |user: usize| connections.get(user / *sharers);
        for crowd in crowds {
            crowd.idle.deal(
                self.targets.len(),
                |user| connection_of(user).map_or(0, |connection| connection.target),
                |user| connection_of(user).is_some_and(|connection| connection.stage != Stage::Closed),
            );
        }
        for token in waiting {
            if let Some(user) = users.get_mut(token) {
                user.act(self, Notice::Again);
            }
        }
    }

    pub(crate) fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.close(&mut self.io);
        }
    }

    /// A user has no more requests, in this turn.
    pub(crate) fn leave(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number).filter(|_| !self.rests) {
            connection.leave(&mut self.io);
        }
    }

    /// A user goes for now, as all who share its connection do: the last of them closes it.
    pub(crate) fn part(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.away += 1;
            if connection.away >= self.sharers {
                connection.close(&mut self.io);
            }
        }
    }

    /// A user that went is there again.
    pub(crate) fn come(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.away -= 1;
        }
    }

    /// A user has given up its request.
    pub(crate) fn abandon(&mut self, number: usize, key: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.abandon(&mut self.io, key);
            connection.closed_between = false;
            if connection.has_output() {
                self.unflushed.push(number);
            }
        }
    }

    /// Whether nothing more is to be sent, since whoever writes the requests has ended.
    pub(crate) fn author_has_ended(&self) -> bool {
        self.authored.as_ref().is_some_and(|authored| authored.author.has_ended())
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
    pub(crate) fn is_over(&self) -> bool {
        self.crowds.iter().all(Crowd::is_over)
    }

    /// Whether nothing will become due since feeders have no more rows.
    pub(crate) fn ran_out(&self) -> bool {
        self.crowds.iter().all(|crowd| crowd.ran_out)
    }

    /// Counts the requests that were due and never begun; of flows, the first.
    pub(crate) fn give_up_waiting(&mut self, now: Instant) {
        let Self { crowds, recorder, timeline, .. } = self;
        for crowd in crowds {
            while let Some(arrival) = crowd.take_due(now) {
                let step = match &mut crowd.script {
                    Some(script) => crowd.steps.start + script.skip().unwrap_or(0),
                    None => crowd.exchange_at(crowd.place(arrival.number)),
                };
                if let Some(phase) = timeline.phase(arrival.due) {
                    recorder.unsent(step, phase, now.saturating_duration_since(arrival.due));
                }
            }
        }
    }

    /// How long to wait for events, and whether that is a spin before a due time.
    pub(crate) fn patience(&self, now: Instant) -> (Duration, bool) {
        let Timeline { opens_at, closes_at, drain_ends_at, .. } = self.timeline;
        let edge = if now < opens_at {
            opens_at
        } else if now < closes_at {
            closes_at
        } else {
            drain_ends_at
        };
        let edge = self.recorder.slicer.as_ref().and_then(Slicer::ends_at).map_or(edge, |ends_at| edge.min(ends_at));
        let wake = self.timers.peek().map_or(edge, |Reverse((at, ..))| edge.min(*at));
        let patience = wake.saturating_duration_since(now);
        let ready = self.crowds.iter().filter(|crowd| !crowd.idle.is_empty() && !crowd.ran_out);
        match ready.filter_map(|crowd| crowd.pacer.next_due()).min() {
            Some(due) => {
                let left = due.saturating_duration_since(now);
                if left.is_zero() {
                    return (Duration::ZERO, false);
                }
                match left.checked_sub(SPIN) {
                    None => (Duration::ZERO, true),
                    Some(sleep) => (patience.min(sleep), false),
                }
            }
            None => (patience, false),
        }
    }
}
