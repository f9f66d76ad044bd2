//! How fast a study goes.

use std::time::Duration;

use stampede_core::Trial;

/// How long a block of so many cases takes: the mean time from the start of a trial to that of the next, for each case.
/// `None` where fewer than two trials are known.
pub(crate) fn block_time(cases: usize, trials: &[Trial]) -> Option<Duration> {
    let first = trials.iter().map(|trial| trial.started_at).min()?;
    let last = trials.iter().map(|trial| trial.started_at).max()?;
    let steps = u32::try_from(trials.len().checked_sub(1)?).ok().filter(|steps| *steps > 0)?;
    let between = Duration::try_from(last.duration_since(first)).ok()? / steps;
    Some(between * u32::try_from(cases).ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::samples;

    #[test]
    fn a_block_takes_its_trials_from_start_to_start() {
        let trial = |second| Trial {
            started_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second),
            ..samples::measured("a", 1, 100.0)
        };
        for (name, starts, expected) in [
            ("none", &[][..], None),
            ("one says nothing", &[0], None),
            ("two blocks of two", &[0, 10, 22, 30], Some(Duration::from_secs(20))),
        ] {
            let trials: Vec<Trial> = starts.iter().copied().map(trial).collect();
            assert_eq!(block_time(2, &trials), expected, "{name}");
        }
    }
}
