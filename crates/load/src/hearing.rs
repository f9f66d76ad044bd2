//! What is measured of streams of events, with the memory for it.

use std::time::Instant;

use stampede_scenario::{Heard, Scenario};
use stampede_seam::EventMeasures;

use crate::answered::nanoseconds;
use crate::timeline::Phase;

/// The times of the stream that a user hears.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing {
    /// When its request was sent.
    pub(crate) sent: Instant,
    pub(crate) phase: Phase,
    /// When its last event that counts came.
    last: Instant,
}

/// What was heard in each step of a scenario that hears events; nothing of any other load.
#[derive(Debug, Default)]
pub(crate) struct HeardEvents {
    steps: Vec<Option<Box<EventMeasures>>>,
    /// Whether a step has heard enough since that was looked at last.
    pub(crate) is_enough: bool,
}

impl Hearing {
    pub(crate) fn new(now: Instant) -> Self {
        Self { sent: now, phase: Phase::WarmUp, last: now }
    }
}

impl HeardEvents {
    /// Memory for the steps of a scenario.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let steps = scenario.crowds.iter().flat_map(|crowd| crowd.flows.iter().flat_map(|flow| &flow.steps));
        Self { steps: steps.map(|step| step.events.as_ref().map(|_| Box::default())).collect(), is_enough: false }
    }

    fn measures(&mut self, step: usize, hearing: &Hearing) -> Option<&mut EventMeasures> {
        self.steps.get_mut(step)?.as_deref_mut().filter(|_| hearing.phase == Phase::Window)
    }

    /// The answer is a stream.
    pub(crate) fn began(&mut self, step: usize, hearing: &Hearing) {
        if let Some(measures) = self.measures(step, hearing) {
            measures.streams += 1;
        }
    }

    /// Bytes of a stream have come.
    pub(crate) fn heard(&mut self, step: usize, hearing: &mut Hearing, heard: Heard) {
        let Heard { events, others, comments, has_first } = heard;
        let Some(measures) = self.measures(step, hearing) else { return };
        measures.events += events;
        measures.others += others;
        measures.comments += comments;
        let Some(later) = events.checked_sub(1) else { return };
        let now = Instant::now();
        if has_first {
            measures.first_event.record_ns(nanoseconds(now.saturating_duration_since(hearing.sent)));
        } else {
            measures.gaps.record_ns(nanoseconds(now.saturating_duration_since(hearing.last)));
        }
        // Those that came with it.
        (0..later).for_each(|_| measures.gaps.record_ns(0));
        hearing.last = now;
    }

    /// Adds what another thread has heard.
    pub(crate) fn merge(&mut self, other: Self) {
        for (sum, heard) in self.steps.iter_mut().zip(other.steps) {
            if let (Some(sum), Some(heard)) = (sum, heard) {
                sum.add(&heard);
            }
        }
    }

    /// What each step has heard, in their order.
    pub(crate) fn into_steps(self) -> impl Iterator<Item = Option<Box<EventMeasures>>> {
        self.steps.into_iter().chain(std::iter::repeat_with(|| None))
    }
}
