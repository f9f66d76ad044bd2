//! Where the scatter of nested replicates comes from.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

/// The variances of a table of treatments in blocks, in which each treatment has one lifetime a block and each lifetime was
/// measured in the same number of turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NestedVariances {
    /// From turn to turn within a lifetime: of one turn.
    pub within: Variance,
    /// From one lifetime to the next, without what turns scatter.
    pub between: Variance,
}

/// A variance, 0 or more, with a 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Each tail of the intervals.
const TAIL: f64 = 0.05;

impl Variance {
    /// Of normal values whose squared residuals add up to `squares` with `freedom` degrees of freedom; its interval is of chi squared.
    /// `None` without freedom.
    pub fn of(squares: f64, freedom: f64) -> Option<Self> {
        let chi = ChiSquared::new(freedom).ok()?;
        let end = |tail: f64| squares / chi.inverse_cdf(tail);
        Some(Self { value: squares / freedom, low: end(1.0 - TAIL), high: end(TAIL) })
    }
}

impl NestedVariances {
    /// Of `blocks[block][treatment][turn]`: blocks, and the rounds of turns in them, are taken out, as they meet all treatments alike.
    /// `None` unless there are two or more of each, and equally many everywhere, and they scatter.
    ///
    /// The analysis of variance of a model with random lifetimes and turns (H. Scheffé, The Analysis of Variance, 1959, chapter 7).
    /// The interval of `between` is that of J. S. Williams (A confidence interval for variance components, Biometrika 49, 1962),
    /// which covers 90 % or a little more.
    pub fn of(blocks: &[Vec<Vec<f64>>]) -> Option<Self> {
        let treatments = blocks.first()?.len();
        let turns = blocks.first()?.first()?.len();
        let is_regular =
            blocks.iter().all(|block| block.len() == treatments && block.iter().all(|turn| turn.len() == turns));
        if blocks.len() < 2 || treatments < 2 || turns < 2 || !is_regular {
            return None;
        }
        let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
        let lifetimes: Vec<Vec<f64>> = blocks
            .iter()
            .map(|block| block.iter().map(|turn| mean(&mut turn.iter().copied(), turns)).collect())
            .collect();
        let of_block: Vec<f64> = lifetimes.iter().map(|block| mean(&mut block.iter().copied(), treatments)).collect();
        let of_treatment: Vec<f64> = (0..treatments)
            .map(|treatment| mean(&mut lifetimes.iter().map(|block| block[treatment]), blocks.len()))
            .collect();
        let all = mean(&mut of_block.iter().copied(), blocks.len());
        let (mut of_turns, mut of_lifetimes) = (0.0, 0.0);
        for ((block, lifetimes), of_block) in blocks.iter().zip(&lifetimes).zip(&of_block) {
            for (lifetime, of_treatment) in lifetimes.iter().zip(&of_treatment) {
                of_lifetimes += turns as f64 * (lifetime - of_block - of_treatment + all).powi(2);
            }
            for turn in 0..turns {
                let of_round = mean(&mut block.iter().map(|turns| turns[turn]), treatments);
                for (turns, lifetime) in block.iter().zip(lifetimes) {
                    of_turns += (turns[turn] - lifetime - of_round + of_block).powi(2);
                }
            }
        }
        let freedom_of_turns = (blocks.len() * (treatments - 1) * (turns - 1)) as f64;
        let freedom_of_lifetimes = ((blocks.len() - 1) * (treatments - 1)) as f64;
        let (turn, lifetime) = (of_turns / freedom_of_turns, of_lifetimes / freedom_of_lifetimes);
        if turn <= 0.0 {
            return None;
        }
        let chi_of_lifetimes = ChiSquared::new(freedom_of_lifetimes).ok()?;
        let f = FisherSnedecor::new(freedom_of_lifetimes, freedom_of_turns).ok()?;
        let ratio = lifetime / turn;
        let end = |tail: f64| {
            let excess = of_lifetimes * (1.0 - f.inverse_cdf(tail) / ratio);
            (excess / (turns as f64 * chi_of_lifetimes.inverse_cdf(tail))).max(0.0)
        };
        Some(Self {
            within: Variance::of(of_turns, freedom_of_turns)?,
            between: Variance {
                value: ((lifetime - turn) / turns as f64).max(0.0),
                low: end(1.0 - TAIL),
                high: end(TAIL),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::quantile_above;
    use crate::random::SplitMix64;

    /// Reference: least squares on indicator columns (NumPy 2 `linalg.lstsq`, with and without the columns of lifetimes), and SciPy
    /// 1.16 `f.ppf` and `chi2.ppf` in Williams' formula.
    #[test]
    fn the_variances_are_those_of_the_analysis_of_variance() {
        let blocks = [
            vec![vec![1.0, 1.2, 1.1], vec![2.0, 2.3, 2.1]],
            vec![vec![1.5, 1.4, 1.6], vec![2.2, 2.1, 2.5]],
            vec![vec![0.9, 1.0, 1.3], vec![2.4, 2.2, 2.6]],
            vec![vec![1.1, 1.3, 1.0], vec![1.8, 2.1, 1.9]],
        ];
        let NestedVariances { within, between } = NestedVariances::of(&blocks).unwrap();
        let told = [within.value, within.low, within.high, between.value, between.low, between.high];
        let expected = [0.00625, 0.003_224_285_2, 0.018_297_345_7, 0.032_175_925_9, 0.009_899_787_98, 0.290_101_609_06];
        for (told, expected) in told.into_iter().zip(expected) {
            assert!((told / expected - 1.0).abs() < 1e-6, "{told} {expected}");
        }
    }

    #[test]
    fn a_table_that_is_not_nested_has_none() {
        for blocks in [
            vec![],
            vec![vec![vec![1.0, 2.0], vec![1.0, 3.0]]],
            vec![vec![vec![1.0, 2.0]], vec![vec![1.0, 3.0]]],
            vec![vec![vec![1.0], vec![2.0]], vec![vec![1.5], vec![2.0]]],
            vec![vec![vec![1.0, 2.0], vec![1.0]], vec![vec![1.0, 2.0], vec![1.0, 2.0]]],
            vec![vec![vec![1.0, 1.0], vec![2.0, 2.0]], vec![vec![1.0, 1.0], vec![2.0, 2.0]]],
        ] {
            assert_eq!(NestedVariances::of(&blocks), None, "{blocks:?}");
        }
    }

    #[test]
    fn nine_of_ten_intervals_hold_the_truth() {
        let mut random = SplitMix64::new(11);
        let mut normal = || quantile_above(((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64);
        let (lifetimes, turns) = (0.018, 0.012);
        let (mut within, mut between) = (0, 0);
        const TABLES: u32 = 1000;
        for _ in 0..TABLES {
            let mut blocks = Vec::new();
            for _ in 0..8 {
                let drifts: Vec<f64> = (0..6).map(|_| 0.3 * normal()).collect();
                let block: Vec<Vec<f64>> = (0..3)
                    .map(|treatment| {
                        let lifetime = f64::from(treatment) + lifetimes * normal();
                        drifts.iter().map(|drift| lifetime + drift + turns * normal()).collect()
                    })
                    .collect();
                blocks.push(block);
            }
            let told = NestedVariances::of(&blocks).unwrap();
            let holds = |told: Variance, truth: f64| u32::from(told.low <= truth * truth && truth * truth <= told.high);
            within += holds(told.within, turns);
            between += holds(told.between, lifetimes);
        }
        // 900 expected; the standard deviation is 9.5. Williams' covers a little more.
        assert!((870..=930).contains(&within) && (870..=950).contains(&between), "{within} {between}");
    }
}
