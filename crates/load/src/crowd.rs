//! One population of users on one thread: what they do, and what is due.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use stampede_core::Random;
use stampede_scenario::{Pause, Script};

use crate::arrivals::Arrival;
use crate::idle::Idle;
use crate::pacer::Pacer;
use crate::ramp::Ramp;
use crate::timeline::Phase;

#[derive(Debug)]
pub(crate) struct Crowd {
    /// Its number in the load.
    pub(crate) number: usize,
    pub(crate) pacer: Pacer,
    /// What its users do. Those of a crowd without it send its exchanges in turn.
    pub(crate) script: Option<Script>,
    /// Its steps, or exchanges, among those of the load.
    pub(crate) steps: Range<usize>,
    /// The exchanges in the order in which they are sent, over and over; empty where there is a script.
    pub(crate) mix: Arc<[u32]>,
    pub(crate) think: Pause,
    pub(crate) random: Random,
    /// How many users it has.
    pub(crate) users: usize,
    /// Users of an open load that wait for a flow.
    pub(crate) idle: Idle,
    /// Users of a closed load that have requests to come.
    pub(crate) active: usize,
    /// A feeder has no more rows: no flow begins any more.
    pub(crate) ran_out: bool,
}

impl Crowd {
    /// Whether a user of a closed load may begin one more flow in this phase, which is then counted.
    pub(crate) fn admits(&mut self, phase: Phase) -> bool {
        match &mut self.pacer {
            Pacer::Closed { left, .. } if phase == Phase::Window => match left.checked_sub(1) {
                Some(fewer) => {
                    *left = fewer;
                    true
                }
                None => false,
            },
            _ => true,
        }
    }

    /// Who is there, in a closed load where that changes.
    pub(crate) fn ramp(&mut self) -> Option<&mut Ramp> {
        match &mut self.pacer {
            Pacer::Closed { ramp, .. } => ramp.as_deref_mut(),
            Pacer::Open(_) => None,
        }
    }

    /// A flow, or request, of an open load that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Arrival> {
        match &mut self.pacer {
            Pacer::Open(arrivals) if !self.ran_out => arrivals.take_due(now),
            _ => None,
        }
    }

    /// Whether all its users are done, and nothing will become due for them.
    pub(crate) fn is_over(&self) -> bool {
        match &self.pacer {
            Pacer::Closed { ramp: Some(ramp), left } if *left == 0 || self.ran_out => self.active == ramp.away,
            Pacer::Closed { .. } => self.active == 0,
            Pacer::Open(arrivals) => self.idle.len() == self.users && (self.ran_out || arrivals.next().is_none()),
        }
    }

    /// The place in the mix of this arrival, or the first one of this user of a closed load.
    pub(crate) fn place(&self, number: u64) -> usize {
        usize::try_from(number % self.mix.len().max(1) as u64).unwrap_or(0)
    }

    /// The place in the mix after this one.
    pub(crate) fn next_place(&self, place: usize) -> usize {
        if place + 1 < self.mix.len() { place + 1 } else { 0 }
    }

    /// The exchange at a place of the mix; where there is a script, its first step.
    pub(crate) fn exchange_at(&self, place: usize) -> usize {
        self.mix.get(place).map_or(self.steps.start, |exchange| *exchange as usize)
    }
}
