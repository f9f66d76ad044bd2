//! Where the scatter of a study that was measured in turns comes from.

use std::collections::BTreeSet;

use stampede_core::{CaseId, Measurement, Outcome, Study, Trial};
use stampede_stats::NestedVariances;

/// The variances of the natural logarithm of throughput, over the blocks in which every case has all its turns: their square
/// roots are shares of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnScatter {
    /// Within a lifetime and between them.
    pub variances: NestedVariances,
    /// Blocks that these are from.
    pub blocks: usize,
    /// Turns of a lifetime.
    pub turns: usize,
}

impl TurnScatter {
    /// Of the trials of a study that count. `None` where it was not measured in turns, or has too few.
    pub fn of(study: &Study, trials: &[Trial]) -> Option<Self> {
        let counts = |trial: &&Trial| trial.outcome == Outcome::Measured;
        let turns = |trial: &Trial| trial.measurement.as_ref().map_or(0, |measured| measured.turns.len());
        let most = trials.iter().filter(counts).map(turns).max().filter(|most| *most > 0)?;
        let numbers: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
        let of_case = |block: u32, case: &CaseId| {
            let own = trials.iter().filter(counts).find(|trial| trial.block == block && trial.case == *case)?;
            own.measurement.as_ref().filter(|measured| measured.turns.len() == most).map(logarithms)
        };
        let of_block = |block| study.cases.iter().map(|case| of_case(block, &case.id)).collect::<Option<Vec<_>>>();
        let blocks: Vec<Vec<Vec<f64>>> = numbers.into_iter().filter_map(of_block).collect();
        Some(Self { variances: NestedVariances::of(&blocks)?, blocks: blocks.len(), turns: most })
    }

    /// The standard deviation that a lifetime's mean has of its turns alone, as a share.
    pub fn within(&self) -> f64 {
        (self.variances.within.value / self.turns as f64).sqrt()
    }

    /// The standard deviation from one lifetime to the next that no length of turns takes away, as a share.
    pub fn between(&self) -> f64 {
        self.variances.between.value.sqrt()
    }
}

fn logarithms(measured: &Measurement) -> Vec<f64> {
    measured.turns.iter().map(|turn| turn.rate().max(f64::MIN_POSITIVE).ln()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Turn;

    use super::*;
    use crate::samples;

    fn trial(case: &str, block: u32, counts: &[u64]) -> Trial {
        let mut trial = samples::measured(case, block, 100.0);
        let second = Duration::from_secs(1);
        let turn = |(number, ok): (u32, &u64)| Turn {
            at: second * number,
            window: second,
            ok: *ok,
            cpu: None,
            periods: 0,
            stolen: None,
        };
        trial.measurement.as_mut().unwrap().turns = (0..).zip(counts).map(turn).collect();
        trial
    }

    #[test]
    fn scatter_is_of_blocks_in_which_all_have_their_turns() {
        let study = samples::study(&["a", "b"]);
        let mut trials = vec![
            trial("a", 1, &[1000, 1010]),
            trial("b", 1, &[2000, 2000]),
            trial("a", 2, &[1100, 1090]),
            trial("b", 2, &[2000, 2010]),
        ];
        let scatter = TurnScatter::of(&study, &trials).unwrap();
        assert_eq!((scatter.blocks, scatter.turns), (2, 2));
        assert!((0.002..0.02).contains(&scatter.within()) && (0.03..0.09).contains(&scatter.between()), "{scatter:?}");
        trials.push(trial("a", 3, &[1, 1]));
        assert_eq!(TurnScatter::of(&study, &trials), Some(scatter));
        trials[0].outcome = Outcome::Invalid("cut short".to_owned());
        assert_eq!(TurnScatter::of(&study, &trials), None);
        assert_eq!(TurnScatter::of(&study, &[samples::measured("a", 1, 100.0)]), None);
    }
}
