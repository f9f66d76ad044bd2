//! Whether two things are the same for all practical purposes.

use crate::{BlockRatios, Confidence, Interval, IntervalError, ratio_interval};

/// Whether a ratio is shown to differ from 1 by less than `precision` (0.03 is 3 %), in either direction.
///
/// Two one-sided tests at 5 % each (Schuirmann 1987), decided by whether the 90 % interval of the paired log ratios lies
/// within 1/(1 + precision) to 1 + precision, which are as far from 1 as each other on the scale of logarithms.
///
/// # Errors
///
/// When [`ratio_interval`] has none.
pub fn equivalent_within(pairs: &[(f64, f64)], precision: f64) -> Result<bool, IntervalError> {
    let interval = ratio_interval(pairs, Confidence::P90)?;
    let bound = 1.0 + precision;
    Ok(1.0 / bound < interval.low && interval.high < bound)
}

/// The bias that comparisons on a machine may have, as a share: a bound from comparisons of identical cases, each given as
/// the logarithm of its ratio.
///
/// It is the smallest precision at which two one-sided tests at 5 % would call the identical cases equivalent. What is
/// claimed about different cases should lie beyond it. Few comparisons give a high floor.
///
/// # Errors
///
/// When there are fewer than three comparisons, one is not finite, or all are the same.
pub fn noise_floor(identical: &[f64]) -> Result<f64, IntervalError> {
    let Interval { low, high, .. } = BlockRatios::of_logs(identical.to_vec())?.t_interval(Confidence::P90);
    Ok(low.abs().max(high.abs()).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalence_needs_a_narrow_interval_around_one() {
        for (name, pairs, expected) in [
            ("same and steady", [(100.0, 100.5), (101.0, 100.8), (99.0, 99.2)], true),
            ("same on average, noisy", [(100.0, 110.0), (110.0, 100.0), (100.0, 100.0)], false),
            ("steady, 10 % apart", [(110.0, 100.0), (111.0, 101.0), (109.0, 99.0)], false),
            ("steady, 1 % apart", [(101.0, 100.0), (102.0, 101.0), (100.0, 99.0)], true),
        ] {
            assert_eq!(equivalent_within(&pairs, 0.03), Ok(expected), "{name}");
        }
        assert_eq!(equivalent_within(&[(1.0, 1.0)], 0.03), Err(IntervalError::TooFew { n: 1, least: 2 }));
    }

    #[test]
    fn the_floor_is_the_least_precision_that_calls_identical_cases_equivalent() {
        let logs: [f64; 5] = [0.004, -0.006, 0.003, 0.009, -0.001];
        let pairs = logs.map(|log| (log.exp(), 1.0));
        let floor = noise_floor(&logs).unwrap();
        assert_eq!(equivalent_within(&pairs, floor * 1.0001), Ok(true));
        assert_eq!(equivalent_within(&pairs, floor * 0.9999), Ok(false));
        assert_eq!(noise_floor(&[0.0, 0.0, 0.0]), Err(IntervalError::NoVariance));
        assert_eq!(noise_floor(&logs[..2]), Err(IntervalError::TooFew { n: 2, least: 3 }));
    }
}
