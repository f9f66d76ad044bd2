//! How far from the truth the comparisons of a machine may be.

use crate::{BlockRatios, Confidence, Interval, IntervalError};

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
    use crate::{Decision, Margins, decide};

    #[test]
    fn the_floor_is_the_least_precision_that_calls_identical_cases_equivalent() {
        let logs: [f64; 5] = [0.004, -0.006, 0.003, 0.009, -0.001];
        let floor = noise_floor(&logs).unwrap();
        let ratios = BlockRatios::of_logs(logs.to_vec()).unwrap();
        let decided = |precision| {
            let [difference, equivalence] = [Confidence::P95, Confidence::P90].map(|each| ratios.t_interval(each));
            decide(&difference, &equivalence, Margins { floor: 0.0, precision })
        };
        assert_eq!(decided(floor * 1.0001), Decision::Equivalent);
        assert_eq!(decided(floor * 0.9999), Decision::Undecided);
        assert_eq!(noise_floor(&[0.0, 0.0, 0.0]), Err(IntervalError::NoVariance));
        assert_eq!(noise_floor(&logs[..2]), Err(IntervalError::TooFew { n: 2, least: 3 }));
    }
}
