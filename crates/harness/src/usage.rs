//! What a group of processes uses between the edges of a window.

use std::ops::Range;

use stampede_core::{Counters, ResourceUse};
use stampede_seam::Moment;

use crate::memory_peak::MemoryPeak;

/// Takes a group's counters as they are read. The first after an edge of the window are that edge's; memory, and processes that
/// were killed for it, count until the last reading, in the drain.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    opened: Option<(Moment, Counters)>,
    closed: Option<(Moment, Counters)>,
    peak: MemoryPeak,
    last: Option<Counters>,
}

impl Usage {
    pub(crate) fn see(&mut self, at: Moment, counters: Counters, window: &Range<Moment>) {
        self.peak.add(&counters.memory);
        self.last = Some(counters);
        if at >= window.start {
            self.opened.get_or_insert((at, counters));
        }
        if at >= window.end {
            self.closed.get_or_insert((at, counters));
        }
    }

    /// The counters as they were read last.
    pub(crate) fn last(&self) -> Option<Counters> {
        self.last
    }

    /// What was used; nothing unless both edges were seen.
    pub(crate) fn used(&self) -> Option<ResourceUse> {
        let ((opened, from), (closed, to), last) = (self.opened?, self.closed?, self.last?);
        Some(ResourceUse {
            between: closed.since(opened),
            cpu: to.cpu.saturating_sub(from.cpu),
            periods: to.periods.saturating_sub(from.periods),
            throttled_periods: to.throttled_periods.saturating_sub(from.throttled_periods),
            throttled: to.throttled.saturating_sub(from.throttled),
            memory_peak: self.peak.needed,
            cache_peak: self.peak.cache,
            oom_kills: last.oom_kills,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_that_is_killed_in_the_drain_counts_and_its_cpu_time_does_not() {
        let at = |seconds| Moment::new(Duration::from_secs(seconds));
        let mut usage = Usage::default();
        for (second, oom_kills) in [(1, 0), (2, 0), (4, 0), (5, 1)] {
            let counters = Counters { cpu: Duration::from_secs(second), oom_kills, ..Counters::default() };
            usage.see(at(second), counters, &(at(2)..at(4)));
        }
        let used = usage.used().unwrap();
        assert_eq!((used.cpu, used.between, used.oom_kills), (Duration::from_secs(2), Duration::from_secs(2), 1));
    }
}
