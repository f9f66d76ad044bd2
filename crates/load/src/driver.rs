//! What a thread's users share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::engine::ThreadProgress;
use crate::io::Io;
use crate::link::Link;
use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::socket::{Opened, Target};
use crate::spec::PreparedExchange;
use crate::timeline::Timeline;

/// A sleeping thread may run this long after its timer, so the last part of the way to a due time is spun.
pub(crate) const SPIN: Duration = Duration::from_micros(50);

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A user goes on.
    Wake,
    /// A user looks at the age of its request.
    Deadline,
}

/// One of each kind, and a wake-up that a time-out has overtaken.
pub(crate) const TIMERS_A_USER: usize = 3;

pub(crate) struct Driver<I> {
    pub(crate) io: I,
    pub(crate) links: Vec<Link>,
    pub(crate) timeline: Timeline,
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) pacer: Pacer,
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep_alive: bool,
    pub(crate) recorder: Recorder,
    /// Users of an open load that wait for a request; the one that is used next is the last.
    pub(crate) idle: Vec<usize>,
    /// Users of a closed load that have requests to come.
    pub(crate) active: usize,
    /// Users with a request.
    pub(crate) in_flight: u32,
    /// Users whose requests leave with the next wait, where the backend defers.
    pub(crate) departing: Vec<usize>,
    /// When the loop learned of the events that it is dealing with.
    pub(crate) woke_at: Instant,
    pub(crate) target: Arc<Target>,
    /// Connections opened so far.
    pub(crate) opened: u32,
    /// At most [`TIMERS_A_USER`] for each user.
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

    pub(crate) fn open(&mut self) -> Result<Opened, Errno> {
        let opened = self.target.open(self.opened);
        self.opened = self.opened.wrapping_add(1);
        opened
    }

    pub(crate) fn close(&mut self, number: usize) {
        if let Some(link) = self.links.get_mut(number) {
            link.close(&mut self.io);
        }
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
        match &self.pacer {
            Pacer::Closed { .. } => self.active == 0,
            Pacer::Open(arrivals) => self.in_flight == 0 && arrivals.next().is_none(),
        }
    }

    /// Counts the requests that were due and never begun.
    pub(crate) fn give_up_waiting(&mut self, now: Instant) {
        if let Pacer::Open(arrivals) = &mut self.pacer {
            while let Some(arrival) = arrivals.take_due(now) {
                if let Some(phase) = self.timeline.phase(arrival.due) {
                    let exchange = usize::try_from(arrival.number % self.exchanges.len() as u64).unwrap_or(0);
                    self.recorder.unsent(exchange, phase, now.saturating_duration_since(arrival.due));
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
