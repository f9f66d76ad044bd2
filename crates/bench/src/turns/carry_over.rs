//! What a turn has of the one before.

use stampede_harness::{order, turn_orders};
use stampede_stats::mean;

/// A block in turns.
#[derive(Clone, Debug)]
pub(super) struct TurnBlock {
    /// The study's seed and the block's number, from which the order of its turns follows.
    pub(super) seed: u64,
    pub(super) number: u32,
    /// `logarithms[case][turn]`: natural logarithms of rates, cases in the order of the plan.
    pub(super) logarithms: Vec<Vec<f64>>,
}

/// By how much the turns of a case are quicker than its lifetime's mean where one case had the turn before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CarryOver {
    pub(super) case: usize,
    pub(super) after: usize,
    /// Of the logarithm of the rate, over blocks, with its standard error.
    pub(super) mean: f64,
    pub(super) error: f64,
}

/// Each case after each. The block's first turn comes after none.
pub(super) fn carry_over(blocks: &[TurnBlock]) -> Vec<CarryOver> {
    let cases = blocks.first().map_or(0, |block| block.logarithms.len());
    let of = |case: usize, after: usize| {
        let means: Vec<f64> = blocks.iter().filter_map(|block| mean(&after_one(block, case, after)?)).collect();
        let middle = mean(&means)?;
        let squares: f64 = means.iter().map(|mean| (mean - middle).powi(2)).sum();
        let count = means.len() as f64;
        let error = (squares / (count - 1.0) / count).sqrt();
        (means.len() > 1).then_some(CarryOver { case, after, mean: middle, error })
    };
    (0..cases).flat_map(|case| (0..cases).filter_map(move |after| of(case, after))).collect()
}

/// How far off its lifetime's mean each turn of a case is that comes after that one.
fn after_one(block: &TurnBlock, case: usize, after: usize) -> Option<Vec<f64>> {
    let cases = block.logarithms.len();
    let own = block.logarithms.get(case)?;
    let middle = mean(own)?;
    let places = order(block.seed, block.number, cases);
    let rounds = turn_orders(block.seed, block.number, cases, own.len() as u32);
    let turns: Vec<(usize, usize)> = (0..)
        .zip(&rounds)
        .flat_map(|(round, deployments)| deployments.iter().map(move |deployment| (round, *deployment)))
        .map(|(round, deployment)| (round, places[deployment]))
        .collect();
    let pairs = turns.iter().zip(turns.iter().skip(1));
    let is_asked = |((_, before), (_, now)): &(&(usize, usize), &(usize, usize))| *before == after && *now == case;
    Some(pairs.filter(is_asked).map(|(_, (round, _))| own[*round] - middle).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns that are a tenth slower after the first case, among three.
    #[test]
    fn what_a_turn_has_of_the_one_before_is_found() {
        let block = |number: u32| {
            let (seed, turns) = (7, 15);
            let places = order(seed, number, 3);
            let mut logarithms = vec![vec![0.0; turns]; 3];
            let mut before = None;
            for (round, deployments) in turn_orders(seed, number, 3, turns as u32).into_iter().enumerate() {
                for deployment in deployments {
                    let case = places[deployment];
                    logarithms[case][round] = if before == Some(0) { -0.1 } else { 0.0 };
                    before = Some(case);
                }
            }
            TurnBlock { seed, number, logarithms }
        };
        let blocks: Vec<TurnBlock> = (1..=40).map(block).collect();
        let found = carry_over(&blocks);
        assert_eq!(found.len(), 9);
        for case in 0..3 {
            let of = |after: usize| found.iter().find(|one| (one.case, one.after) == (case, after)).unwrap();
            let differs = of(0).mean - of(1).mean;
            assert!((differs + 0.1).abs() < 0.01, "{case}: {differs}");
            assert!(of(1).error < 0.01 && (of(1).mean - of(2).mean).abs() < 0.02, "{found:?}");
        }
        assert!(carry_over(&blocks[..1]).is_empty());
    }
}
