//! Two clocks, and how the moments of one are those of the other.

use stampede_agent::{AgentVantage, ClockOffset};
use stampede_seam::{Moment, Vantage};
use tokio::time::Instant;

/// Our clock and an agent's. What is known of them is fixed when this is made: a moment that is passed on and comes back is the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    instant: Instant,
    /// What ours showed then.
    moment: Moment,
    offset: ClockOffset,
}

impl Clocks {
    pub(crate) fn of(ours: &dyn Vantage, agent: &AgentVantage) -> Self {
        Self { instant: Instant::now(), moment: ours.now(), offset: agent.clock_offset() }
    }

    /// The agent's moment at one of ours.
    pub(crate) fn there(&self, agent: &AgentVantage, ours: Moment) -> Moment {
        let at = if ours >= self.moment {
            self.instant + ours.since(self.moment)
        } else {
            let before = self.moment.since(ours);
            self.instant.checked_sub(before).unwrap_or(self.instant)
        };
        agent.moment_at(at, self.offset)
    }

    /// Our moment at one of the agent's.
    pub(crate) fn here(&self, agent: &AgentVantage, theirs: Moment) -> Moment {
        let at = agent.instant_at(theirs, self.offset);
        if at >= self.instant {
            self.moment + (at - self.instant)
        } else {
            Moment::new(self.moment.since_start().saturating_sub(self.instant - at))
        }
    }
}
