//! Which of several cases may be the best.

use thiserror::Error;

use crate::Confidence;
use crate::normal::{above, density, integrate};
use crate::power::over_spreads;

/// How far a case is above the best of the others: the interval of that difference, simultaneous for all cases and
/// constrained to hold 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstBest {
    /// The case's mean minus the best other mean.
    pub value: f64,
    /// At most 0. At 0, the case is the best.
    pub low: f64,
    /// At least 0. At 0, the case is not the best.
    pub high: f64,
}

impl AgainstBest {
    /// Whether the case may be the best: it is not shown to be worse than another.
    pub fn may_be_best(&self) -> bool {
        self.high > 0.0
    }
}

/// Multiple comparisons with the best: Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the
/// best", Annals of Statistics 12 (1984), for cases that were each measured once in every block.
///
/// Each row of `blocks` is a block with one number for each case, in the same order; more is better. Use logarithms where
/// ratios matter. Blocks and cases add up, and what remains scatters alike for all cases; the spread is estimated from all of
/// it with (blocks - 1)(cases - 1) degrees of freedom. Where some cases scatter several times as much as others, the error
/// is up to three times what it should be (`docs/statistics.md`).
///
/// # Errors
///
/// When there are fewer than three blocks or two cases, a row has another length than the first, a number is not finite, or
/// nothing scatters.
pub fn compare_with_best(blocks: &[Vec<f64>], confidence: Confidence) -> Result<Vec<AgainstBest>, BestError> {
    let (n, k) = (blocks.len(), blocks.first().map_or(0, Vec::len));
    if n < 3 || k < 2 {
        return Err(BestError::TooFew { blocks: n, cases: k });
    }
    if let Some(block) = blocks.iter().position(|row| row.len() != k || row.iter().any(|value| !value.is_finite())) {
        return Err(BestError::Unusable { block });
    }
    let means: Vec<f64> = (0..k).map(|case| blocks.iter().map(|row| row[case]).sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / k as f64;
    let squares: f64 = blocks
        .iter()
        .map(|row| {
            let shift = row.iter().sum::<f64>() / k as f64 - all;
            row.iter().zip(&means).map(|(value, mean)| (value - mean - shift).powi(2)).sum::<f64>()
        })
        .sum();
    let degrees = (n - 1) * (k - 1);
    let deviation = (squares / degrees as f64).sqrt();
    let scale = means.iter().fold(1.0_f64, |scale, mean| scale.max(mean.abs()));
    if deviation < 1e-12 * scale {
        return Err(BestError::NoVariance);
    }
    let margin = dunnett_quantile(confidence, k - 1, degrees) * deviation * (2.0 / n as f64).sqrt();
    let best_other = |case: usize| {
        let others = means.iter().enumerate().filter(|(other, _)| *other != case);
        others.map(|(_, mean)| *mean).fold(f64::NEG_INFINITY, f64::max)
    };
    Ok((0..k)
        .map(|case| {
            let value = means[case] - best_other(case);
            AgainstBest { value, low: (value - margin).min(0.0), high: (value + margin).max(0.0) }
        })
        .collect())
}

/// What the greatest of several t statistics that share a control exceeds with the error's probability: one-sided, all
/// correlations one half (Dunnett 1955).
pub fn dunnett_quantile(confidence: Confidence, comparisons: usize, degrees: usize) -> f64 {
    let exceeded = |quantile: f64| {
        over_spreads(degrees, |spread| {
            // The control is at z; each other case must be sqrt(2) quantile above it.
            integrate(-6.5, 6.5, 52, |z| {
                let stays = 1.0 - above(z + std::f64::consts::SQRT_2 * quantile * spread);
                density(z) * (1.0 - stays.powi(comparisons as i32))
            })
        })
    };
    let (mut low, mut high) = (-8.0, 1.0);
    while exceeded(high) > confidence.error() && high < 1e9 {
        high *= 2.0;
    }
    while high - low > 1e-6 * high.abs().max(1.0) {
        let middle = f64::midpoint(low, high);
        if exceeded(middle) > confidence.error() { low = middle } else { high = middle }
    }
    high
}

/// Why nothing can be compared with the best.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BestError {
    /// Three blocks of two cases are the least.
    #[error("compare {cases} cases in {blocks} blocks with the best: at least 2 cases and 3 blocks are needed")]
    TooFew {
        /// How many there were.
        blocks: usize,
        /// How many the first had.
        cases: usize,
    },
    /// A block has other cases than the first, or a value that is not a finite number.
    #[error("compare with the best: block {block} does not have one finite number for each case")]
    Unusable {
        /// Its place, from 0.
        block: usize,
    },
    /// All blocks say exactly the same.
    #[error("compare with the best: nothing varies between blocks")]
    NoVariance,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_clearly_worse_cannot_be_the_best() {
        let blocks: Vec<Vec<f64>> =
            [[5.0, 4.9, 3.0], [6.1, 6.15, 4.2], [5.5, 5.45, 3.4], [5.2, 5.25, 3.3]].map(Vec::from).to_vec();
        let compared = compare_with_best(&blocks, Confidence::P95).unwrap();
        assert_eq!(compared.iter().map(AgainstBest::may_be_best).collect::<Vec<_>>(), [true, true, false]);
        assert!(compared[2].low < compared[2].value && compared[2].high == 0.0, "{compared:?}");
        assert!(compared[0].low < 0.0 && compared[0].high > 0.0, "{compared:?}");
        // What a block adds to all of its cases says nothing about them.
        let shifted: Vec<Vec<f64>> =
            (1..).zip(&blocks).map(|(shift, row)| row.iter().map(|value| value + f64::from(shift)).collect()).collect();
        for (a, b) in compared.iter().zip(compare_with_best(&shifted, Confidence::P95).unwrap()) {
            assert!((a.low - b.low).abs() < 1e-9 && (a.high - b.high).abs() < 1e-9, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let p95 = Confidence::P95;
        for (name, blocks, expected) in [
            ("none", vec![], BestError::TooFew { blocks: 0, cases: 0 }),
            ("one case", vec![vec![1.0]; 3], BestError::TooFew { blocks: 3, cases: 1 }),
            ("two blocks", vec![vec![1.0, 2.0]; 2], BestError::TooFew { blocks: 2, cases: 2 }),
            ("a case is missing", vec![vec![1.0, 2.0], vec![1.0], vec![1.0, 2.0]], BestError::Unusable { block: 1 }),
            (
                "not a number",
                vec![vec![1.0, f64::NAN], vec![1.0, 2.0], vec![1.0, 2.0]],
                BestError::Unusable { block: 0 },
            ),
            ("all the same", vec![vec![1.0, 2.0]; 4], BestError::NoVariance),
        ] {
            assert_eq!(compare_with_best(&blocks, p95), Err(expected), "{name}");
        }
    }
}
