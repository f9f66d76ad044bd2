//! How fast a study goes.

use std::time::Duration;

use stampede_core::{Study, Trial};

/// The mean time from the start of a trial to that of the next. `None` where fewer than two trials are known.
pub(crate) fn trial_time(trials: &[&Trial]) -> Option<Duration> {
    let first = trials.iter().map(|trial| trial.started_at).min()?;
    let last = trials.iter().map(|trial| trial.started_at).max()?;
    let steps = u32::try_from(trials.len().checked_sub(1)?).ok().filter(|steps| *steps > 0)?;
    Some(Duration::try_from(last.duration_since(first)).ok()? / steps)
}

/// From the start of a study to the end of these trials, when one takes `each`.
pub(crate) fn elapsed_after(study: &Study, trials: &[&Trial], each: Duration) -> Duration {
    let started = trials.iter().map(|trial| trial.started_at).max();
    let before = started.map(|started| started.duration_since(study.started_at));
    before.and_then(|before| Duration::try_from(before).ok()).unwrap_or_default() + each
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::samples;

    #[test]
    fn time_is_told_by_the_starts_of_trials() {
        let trial = |block, second| Trial {
            started_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second),
            ..samples::measured("a", block, 100.0)
        };
        for (name, starts, expected) in [
            ("none", &[][..], None),
            ("one says nothing", &[(1, 5)], None),
            ("two blocks of two", &[(1, 5), (1, 15), (2, 27), (2, 35)], Some(10)),
        ] {
            let trials: Vec<Trial> = starts.iter().map(|(block, second)| trial(*block, *second)).collect();
            let trials: Vec<&Trial> = trials.iter().collect();
            assert_eq!(trial_time(&trials), expected.map(Duration::from_secs), "{name}");
        }
        let elapsed = elapsed_after(&samples::study(&["a"]), &[&trial(1, 5), &trial(2, 35)], Duration::from_secs(10));
        assert_eq!(elapsed, Duration::from_secs(45));
    }
}
