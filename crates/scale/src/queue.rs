//! Requests that wait for a place, first come first served.

use std::collections::VecDeque;
use std::time::Duration;

use stampede_core::Limit;

use crate::Time;

/// How many may wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// How many.
    pub length: Limit<u32>,
    /// For how long.
    pub wait: Duration,
}

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// As many waited as may.
    QueueFull,
    /// It waited as long as it may.
    WaitedTooLong,
}

/// The queue in front of all instances. All may wait equally long, so whoever came first has to go first.
#[derive(Clone, Debug)]
pub(crate) struct Queue<R> {
    limits: QueueLimits,
    waiting: VecDeque<(Time, R)>,
}

impl<R> Queue<R> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { limits, waiting: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Takes a request in, or hands it back when the queue is full.
    pub(crate) fn push(&mut self, now: Time, request: R) -> Result<(), R> {
        match self.limits.length {
            Limit::AtMost(most) if self.len() >= most => Err(request),
            _ => {
                self.waiting.push_back((now, request));
                Ok(())
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<R> {
        self.waiting.pop_front().map(|(_, request)| request)
    }

    /// When the first has to go.
    pub(crate) fn deadline(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |(since, _)| since.after(self.limits.wait))
    }

    /// The first, if it has waited as long as it may.
    pub(crate) fn pop_expired(&mut self, now: Time) -> Option<R> {
        if self.deadline() <= now { self.pop() } else { None }
    }
}
