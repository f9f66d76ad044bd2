//! Racing: settings that are shown to be worse than the best ones are measured no longer (irace; López-Ibáñez et al. 2016).

use std::collections::BTreeSet;

use stampede_core::{CaseId, Outcome, Study, Trial};
use stampede_stats::least_significant_difference;

use super::objective::score;

/// A setting that is as good as the best one is dropped with this chance at most, however many race (Bonferroni).
const LEVEL: f64 = 0.05;

/// The settings that stay in a race after these trials, which are whole blocks: all before the second block; then those whose mean
/// score is within the least significant difference of the best one's, by the spread that is left when settings and blocks are
/// taken out. A setting that failed is out at once; where a trial does not count, its block does not.
pub(crate) fn survivors(study: &Study, trials: &[Trial]) -> BTreeSet<CaseId> {
    let last = trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let stands = |case: &&CaseId| {
        let mut own = trials.iter().filter(|trial| trial.case == **case);
        last == 0
            || own.clone().any(|trial| trial.block == last)
                && !own.any(|trial| matches!(trial.outcome, Outcome::Failed(_)))
    };
    let standing: Vec<&CaseId> = study.cases.iter().map(|case| &case.id).filter(stands).collect();
    let in_block = |case: &CaseId, block: u32| {
        let trial = trials.iter().find(|trial| trial.case == *case && trial.block == block)?;
        score(study, trial)
    };
    let whole: Vec<u32> =
        (1..=last).filter(|block| standing.iter().all(|case| in_block(case, *block).is_some())).collect();
    let table: Vec<Vec<f64>> =
        standing.iter().map(|case| whole.iter().filter_map(|block| in_block(case, *block)).collect()).collect();
    let rows: Vec<&[f64]> = table.iter().map(Vec::as_slice).collect();
    let all = standing.into_iter().cloned();
    // Fewer than two settings or blocks have none.
    let others = rows.len().saturating_sub(1).max(1);
    let Some(least) = least_significant_difference(&rows, LEVEL / others as f64) else { return all.collect() };
    let means: Vec<f64> = rows.iter().map(|scores| scores.iter().sum::<f64>() / scores.len() as f64).collect();
    let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    all.zip(means).filter(|(_, mean)| best - mean <= least).map(|(case, _)| case).collect()
}

#[cfg(test)]
mod tests {
    use stampede_core::StudyKind;

    use super::*;
    use crate::samples;
    use crate::verdict::course;

    /// A trial at this throughput, which does not count at none.
    fn measured(name: &str, block: u32, value: f64) -> Trial {
        let mut trial = samples::measured(name, block, value);
        if value == 0.0 {
            trial.outcome = Outcome::Invalid("disturbed".to_owned());
        }
        trial
    }

    fn racing(rows: &[(&str, &[f64])]) -> Vec<String> {
        let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        let study = Study { kind: StudyKind::Tune, ..samples::study(&names) };
        let trials: Vec<Trial> = rows
            .iter()
            .flat_map(|(name, values)| (1..).zip(*values).map(|(block, value)| measured(name, block, *value)))
            .collect();
        survivors(&study, &trials).into_iter().map(|case| case.to_string()).collect()
    }

    #[test]
    fn what_is_clearly_worse_leaves_after_the_second_block() {
        for (name, rows, expected) in [
            ("one block", &[("a", &[1_000.0][..]), ("b", &[100.0])][..], &["a", "b"][..]),
            (
                "two blocks",
                &[
                    ("a", &[1_000.0, 1_030.0]),
                    ("b", &[1_010.0, 1_020.0]),
                    ("c", &[500.0, 512.0]),
                    ("d", &[1_005.0, 1_012.0]),
                ],
                &["a", "b", "d"],
            ),
            (
                "one that left before has no part in it",
                &[("a", &[1_000.0, 1_030.0, 1_001.0]), ("b", &[1_010.0, 1_020.0, 1_005.0]), ("c", &[500.0, 512.0])],
                &["a", "b"],
            ),
            (
                "a block in which one does not count",
                &[("a", &[1_000.0, 0.0, 1_030.0]), ("b", &[1_010.0, 1_020.0, 1_020.0]), ("c", &[500.0, 507.0, 512.0])],
                &["a", "b"],
            ),
            ("one alone", &[("a", &[1_000.0, 1_030.0]), ("b", &[500.0])], &["a"]),
        ] {
            assert_eq!(racing(rows), expected, "{name}");
        }
    }

    #[test]
    fn a_race_ends_after_its_blocks_and_when_one_is_left() {
        let study = Study { kind: StudyKind::Tune, ..samples::study(&["a", "b", "c"]) };
        let rows: [(&str, &[f64]); 3] =
            [("a", &[1_000.0, 1_030.0, 1_001.0]), ("b", &[1_010.0, 1_020.0, 1_005.0]), ("c", &[500.0, 512.0])];
        let until = |last: u32| -> Vec<Trial> {
            let trials = rows.iter().flat_map(|(name, values)| {
                (1..).zip(*values).map(|(block, value)| samples::measured(name, block, *value))
            });
            trials.filter(|trial| trial.block <= last).collect()
        };
        let open = |last| course(&study, &until(last)).open.len();
        assert_eq!([open(0), open(1), open(2), open(3)], [3, 3, 2, 0]);
        let alone = [samples::measured("a", 1, 100.0), samples::failed("b", 1), samples::failed("c", 1)];
        assert!(course(&study, &alone).open.is_empty());
    }

    #[test]
    fn what_fails_is_out_at_once() {
        let study = Study { kind: StudyKind::Tune, ..samples::study(&["a", "b"]) };
        assert_eq!(survivors(&study, &[]).len(), 2);
        let trials = [samples::measured("a", 1, 100.0), samples::failed("b", 1)];
        assert_eq!(survivors(&study, &trials), BTreeSet::from([CaseId::new("a")]));
    }
}
