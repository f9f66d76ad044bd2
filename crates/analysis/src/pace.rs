//! How fast a study goes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{BlockOrder, Rounds, Study, Trial};

/// The mean time from the start of a trial to that of the next, without interruptions of the study. Trials that take turns are up
/// together: theirs is their share of the time of a block. `None` where no trial, or block, is known that came right after another.
pub(crate) fn trial_time(study: &Study, trials: &[&Trial]) -> Option<Duration> {
    if study.order == BlockOrder::Turns {
        return share_of_block_of(study, trials);
    }
    let (mut time, mut steps) = (Duration::ZERO, 0);
    for Sitting { trials, .. } in sittings(study, trials) {
        let starts = || trials.iter().map(|trial| trial.started_at);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else { continue };
        time += between(first, last);
        steps += trials.len() as u32 - 1;
    }
    (steps > 0).then(|| time / steps)
}

/// The mean time that blocks took for each of their trials, from the first trial's start to that of the next block: with
/// launch, verification, drain and stop, and with the block's reading of the reference server. Without interruptions of the study.
/// `None` where no block came right after another.
pub(crate) fn share_of_block(study: &Study, trials: &[Trial]) -> Option<Duration> {
    share_of_block_of(study, &trials.iter().collect::<Vec<_>>())
}

fn share_of_block_of(study: &Study, trials: &[&Trial]) -> Option<Duration> {
    let (mut time, mut count) = (Duration::ZERO, 0);
    for Sitting { trials, .. } in sittings(study, trials) {
        let mut blocks: BTreeMap<u32, (Timestamp, u32)> = BTreeMap::new();
        for trial in trials {
            let (start, trials) = blocks.entry(trial.block).or_insert((trial.started_at, 0));
            *start = trial.started_at.min(*start);
            *trials += 1;
        }
        for ((start, trials), (next, _)) in blocks.values().zip(blocks.values().skip(1)) {
            time += between(*start, *next);
            count += trials;
        }
    }
    (count > 0).then(|| time / count)
}

/// From the start of a study to the end of these trials, when one takes `each`, without interruptions.
pub(crate) fn elapsed_after(study: &Study, trials: &[&Trial], each: Duration) -> Duration {
    let last = |Sitting { began, trials }: Sitting<'_>| {
        let newest = trials.iter().max_by_key(|trial| (trial.block, trial.started_at))?;
        let of_block = || trials.iter().filter(|trial| trial.block == newest.block);
        Some(match study.order {
            BlockOrder::Windows => between(began, newest.started_at) + each,
            BlockOrder::Turns => {
                let first = of_block().map(|trial| trial.started_at).min()?;
                between(began, first) + each * of_block().count() as u32
            }
        })
    };
    let elapsed: Duration = sittings(study, trials).into_iter().filter_map(last).sum();
    elapsed.max(each)
}

/// How long a study was measured up to the start of the last of these trials, without interruptions.
pub fn measured_for(study: &Study, trials: &[Trial]) -> Duration {
    let trials: Vec<&Trial> = trials.iter().collect();
    elapsed_after(study, &trials, Duration::ZERO)
}

/// What is left of the time of a study whose rounds are found out, when the present sitting has no trials yet. Earlier sittings count
/// up to the end of their last trials.
pub fn time_left(study: &Study, trials: &[Trial], now: Timestamp) -> Option<Duration> {
    let Rounds::Auto { max_time } = study.rounds else { return None };
    let trials: Vec<&Trial> = trials.iter().collect();
    let each = trial_time(study, &trials).unwrap_or(study.warm_up + study.duration);
    let earlier = if trials.is_empty() { Duration::ZERO } else { elapsed_after(study, &trials, each) };
    let began = study.resumed_at.last().copied().unwrap_or(study.started_at);
    Some(max_time.saturating_sub(earlier + between(began, now)))
}

/// How long a study took up to its end where it has one, without interruptions.
pub fn took(study: &Study, trials: &[Trial], finished_at: Option<Timestamp>) -> Duration {
    let begun = study.resumed_at.last().copied().unwrap_or(study.started_at);
    let last = trials.iter().map(|trial| trial.started_at).max().map_or(begun, |at| at.max(begun));
    measured_for(study, trials) + finished_at.map_or(Duration::ZERO, |at| between(last, at))
}

/// Time in which a study was measured without an interruption.
struct Sitting<'a> {
    began: Timestamp,
    trials: Vec<&'a Trial>,
}

fn sittings<'a>(study: &Study, trials: &[&'a Trial]) -> Vec<Sitting<'a>> {
    let begins = std::iter::once(&study.started_at).chain(&study.resumed_at);
    let mut sittings: Vec<Sitting<'_>> = begins.map(|began| Sitting { began: *began, trials: Vec::new() }).collect();
    for trial in trials {
        let place = study.resumed_at.iter().filter(|resumed| **resumed <= trial.started_at).count();
        sittings[place].trials.push(trial);
    }
    sittings
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::samples;

    #[test]
    fn trials_that_take_turns_share_the_time_of_their_block() {
        let at = |second| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let trial = |(block, second)| Trial { started_at: at(second), ..samples::measured("a", block, 100.0) };
        let trials: Vec<Trial> = [(1, 2), (1, 3), (1, 4), (2, 32), (2, 33), (2, 34)].map(trial).into();
        let of: Vec<&Trial> = trials.iter().collect();
        let study = Study { order: BlockOrder::Turns, started_at: at(0), ..samples::study(&["a", "b", "c"]) };
        let each = trial_time(&study, &of).unwrap();
        assert_eq!(each, Duration::from_secs(10));
        assert_eq!(elapsed_after(&study, &of, each), Duration::from_secs(62));
        assert_eq!(trial_time(&study, &of[..3]), None);
    }

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
            assert_eq!(trial_time(&samples::study(&["a"]), &trials), expected.map(Duration::from_secs), "{name}");
        }
        let elapsed = elapsed_after(&samples::study(&["a"]), &[&trial(1, 5), &trial(2, 35)], Duration::from_secs(10));
        assert_eq!(elapsed, Duration::from_secs(45));
    }

    #[test]
    fn the_time_of_an_interruption_does_not_count() {
        let at = |second| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let study = Study { resumed_at: vec![at(10_000), at(20_000)], ..samples::study(&["a"]) };
        let trials: Vec<Trial> = (1..)
            .zip([5, 15, 20_002, 20_014])
            .map(|(block, second)| Trial { started_at: at(second), ..samples::measured("a", block, 100.0) })
            .collect();
        let trials: Vec<&Trial> = trials.iter().collect();
        assert_eq!(trial_time(&study, &trials), Some(Duration::from_secs(11)));
        // 15 s and a trial, nothing, 14 s and a trial.
        let each = Duration::from_secs(10);
        assert_eq!(elapsed_after(&study, &trials, each), Duration::from_secs(15 + 10 + 14 + 10));
        // What was known before the interruptions is as it was then.
        assert_eq!(elapsed_after(&study, &trials[..2], each), Duration::from_secs(25));
        let trials: Vec<Trial> = trials.into_iter().cloned().collect();
        assert_eq!(measured_for(&study, &trials), Duration::from_secs(15 + 14));
        for (name, finished_at, expected) in [("not finished", None, 15 + 14), ("finished", Some(20_020), 15 + 20)] {
            assert_eq!(took(&study, &trials, finished_at.map(at)), Duration::from_secs(expected), "{name}");
        }
        // Interrupted once more, and finished without another trial.
        let study = Study { resumed_at: vec![at(10_000), at(20_000), at(30_000)], ..study };
        assert_eq!(took(&study, &trials, Some(at(30_003))), Duration::from_secs(15 + 14 + 3));
    }

    #[test]
    fn a_block_lasts_until_the_next_one_begins() {
        let at = |second| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let study = Study { resumed_at: vec![at(1_000)], ..samples::study(&["a", "b"]) };
        let trial = |(block, second)| Trial { started_at: at(second), ..samples::measured("a", block, 100.0) };
        for (name, starts, expected) in [
            ("none", &[][..], None),
            ("one block", &[(1, 5), (1, 15)], None),
            // 24 s for each block, of which the reference server has 4.
            ("blocks of two", &[(1, 4), (1, 14), (2, 28), (2, 38), (3, 52)], Some(12)),
            // The interruption came in the second block.
            ("interrupted", &[(1, 4), (1, 14), (2, 28), (2, 1_004), (3, 1_016), (3, 1_026)], Some(12)),
        ] {
            let trials: Vec<Trial> = starts.iter().copied().map(trial).collect();
            assert_eq!(share_of_block(&study, &trials), expected.map(Duration::from_secs), "{name}");
        }
    }
}
