//! How long cases are loaded before their windows, and who says so.

use std::time::Duration;

use stampede_core::{Load, Rounds};

use crate::mistake::Gathered;
use crate::quantity::read_time;

const DEFAULT_WARM_UP: Duration = Duration::from_secs(1);

/// A pilot takes [`Rounds::LEAST_PILOT`] at least. Windows shorter than this are for a quick look, which it would hold up.
pub(crate) const LEAST_PILOTED_WINDOW: Duration = Duration::from_secs(5);

/// A verdict takes so many rounds.
pub(crate) const LEAST_ROUNDS: u32 = 3;

/// What `--warm-up` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmUpChoice {
    /// So long for all cases.
    Given(Duration),
    /// As long as each case's pilot shows.
    Pilots,
    /// Nothing.
    Unsaid,
}

impl WarmUpChoice {
    /// How long a case is loaded that has no pilot.
    pub(crate) fn length(self) -> Duration {
        match self {
            Self::Given(length) => length,
            Self::Pilots | Self::Unsaid => DEFAULT_WARM_UP,
        }
    }
}

/// `--warm-up`: a time, which may be none, or `auto`.
pub(crate) fn read_warm_up(typed: Option<&str>, mistakes: &mut Gathered) -> WarmUpChoice {
    match typed {
        None => WarmUpChoice::Unsaid,
        Some("auto") => WarmUpChoice::Pilots,
        typed => WarmUpChoice::Given(read_time("--warm-up", typed, DEFAULT_WARM_UP, Duration::ZERO, mistakes)),
    }
}

/// The warm-up of cases without a pilot, and whether there are pilots: by default where verdicts may come, windows are as long
/// as by default or near it, and the load can come to rest. A scenario begins with its first flow: what it sends may count.
pub(crate) fn settle(
    choice: WarmUpChoice,
    load: &Load,
    is_scenario: bool,
    rounds: Rounds,
    duration: Duration,
    mistakes: &mut Gathered,
) -> (Duration, bool) {
    let rests = match load {
        Load::Closed { .. } => true,
        Load::Open { schedule, .. } => schedule.stages().is_empty(),
        Load::Ramped { .. } => false,
    };
    let rests = rests && !is_scenario;
    match choice {
        WarmUpChoice::Given(length) => (length, false),
        WarmUpChoice::Pilots => {
            if !rests {
                mistakes.add("--warm-up auto", "looks for rest under a load that changes", "for example --warm-up 5s");
            }
            (DEFAULT_WARM_UP, true)
        }
        WarmUpChoice::Unsaid if is_scenario => (Duration::ZERO, false),
        WarmUpChoice::Unsaid => {
            let judged = !matches!(rounds, Rounds::Fixed(rounds) if rounds < LEAST_ROUNDS);
            (DEFAULT_WARM_UP, judged && rests && duration >= LEAST_PILOTED_WINDOW)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pilots_are_for_studies_that_come_to_verdicts() {
        let auto = Rounds::Auto { max_time: Duration::from_secs(600) };
        for (typed, load, rounds, seconds, expected) in [
            (None, "closed:16", auto, 8, (1_000, true)),
            (None, "closed:16", Rounds::Fixed(3), 5, (1_000, true)),
            (None, "closed:16", Rounds::Fixed(2), 8, (1_000, false)),
            (None, "closed:16", auto, 4, (1_000, false)),
            (None, "open:500", auto, 8, (1_000, true)),
            (None, "open:50..100/1m", auto, 60, (1_000, false)),
            (None, "closed:1..100/1m", auto, 60, (1_000, false)),
            (Some("auto"), "closed:16", Rounds::Fixed(1), 1, (1_000, true)),
            (Some("2500ms"), "closed:16", auto, 8, (2_500, false)),
            (Some("0"), "closed:16", auto, 8, (0, false)),
        ] {
            let mut mistakes = Gathered::default();
            let choice = read_warm_up(typed, &mut mistakes);
            let duration = Duration::from_secs(seconds);
            let (length, pilots) = settle(choice, &load.parse().unwrap(), false, rounds, duration, &mut mistakes);
            assert!(mistakes.is_empty(), "{typed:?} {load}");
            assert_eq!((length.as_millis(), pilots), expected, "{typed:?} {load} {rounds:?} {seconds}");
        }
        for (typed, load) in [("auto", "open:50..100/1m"), ("soon", "closed:16")] {
            let mut mistakes = Gathered::default();
            let choice = read_warm_up(Some(typed), &mut mistakes);
            settle(choice, &load.parse().unwrap(), false, auto, Duration::from_secs(8), &mut mistakes);
            assert!(!mistakes.is_empty(), "{typed} {load}");
        }
    }
}
