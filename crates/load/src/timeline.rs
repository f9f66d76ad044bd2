//! When a load starts, is measured and ends.

use std::time::{Duration, Instant};

use stampede_seam::TurnSpan;

/// The two parts of a load that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    WarmUp,
    Window,
}

/// The instants that divide a load, or a turn of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    pub(crate) starts_at: Instant,
    pub(crate) opens_at: Instant,
    pub(crate) closes_at: Instant,
    /// Until when requests are begun, which after the window count as those before it.
    pub(crate) rests_at: Instant,
    pub(crate) drain_ends_at: Instant,
}

impl Timeline {
    pub(crate) fn new(starts_at: Instant, warm_up: Duration, duration: Duration, drain: Duration) -> Self {
        let opens_at = starts_at + warm_up;
        let closes_at = opens_at + duration;
        Self { starts_at, opens_at, closes_at, rests_at: closes_at, drain_ends_at: closes_at + drain }
    }

    /// Those of the turns of a load that begins at an instant, in order. The answers of one are waited for until the next begins,
    /// and of the last for the time of the drain.
    pub(crate) fn of_turns(begins: Instant, turns: &[TurnSpan], drain: Duration) -> Vec<Self> {
        let next = turns.iter().skip(1).map(|next| Some(begins + next.wakes)).chain([None]);
        let timeline = |(span, next): (&TurnSpan, Option<Instant>)| {
            let TurnSpan { wakes, opens, closes, rests } = *span;
            Self {
                starts_at: begins + wakes,
                opens_at: begins + opens,
                closes_at: begins + closes,
                rests_at: begins + rests,
                drain_ends_at: next.unwrap_or(begins + rests + drain),
            }
        };
        turns.iter().zip(next).map(timeline).collect()
    }

    /// The phase of a request, by when it is due; `None` when that is too late.
    pub(crate) fn phase(&self, due: Instant) -> Option<Phase> {
        if due < self.opens_at {
            Some(Phase::WarmUp)
        } else if due < self.closes_at {
            Some(Phase::Window)
        } else if due < self.rests_at {
            Some(Phase::WarmUp)
        } else {
            None
        }
    }

    /// How long the window is, or was where all ended earlier.
    pub(crate) fn window(&self, ended_at: Option<Instant>) -> Duration {
        ended_at.unwrap_or(self.closes_at).min(self.closes_at).saturating_duration_since(self.opens_at)
    }

    /// How much of the time between two instants lies in the window.
    pub(crate) fn overlap(&self, from: Instant, to: Instant) -> Duration {
        to.min(self.closes_at).saturating_duration_since(from.max(self.opens_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_holds_its_beginning_and_not_its_end() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let timeline = Timeline::new(start, second, 2 * second, second);
        let instant = Duration::from_nanos(1);
        for (due, phase) in [
            (start, Some(Phase::WarmUp)),
            (start + second - instant, Some(Phase::WarmUp)),
            (start + second, Some(Phase::Window)),
            (start + 3 * second - instant, Some(Phase::Window)),
            (start + 3 * second, None),
        ] {
            assert_eq!(timeline.phase(due), phase);
        }
        assert_eq!(timeline.drain_ends_at, start + 4 * second);
        for (from, to, overlap) in [(0, 1, 0), (0, 2, 1), (2, 3, 1), (0, 9, 2), (3, 9, 0), (3, 2, 0)] {
            assert_eq!(timeline.overlap(start + from * second, start + to * second), overlap * second, "{from} {to}");
        }
    }
}
