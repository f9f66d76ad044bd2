//! Whether two things are the same for all practical purposes.

use crate::{Confidence, IntervalError, ratio_interval};

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
        assert_eq!(equivalent_within(&[(1.0, 1.0)], 0.03), Err(IntervalError::TooFew { n: 1 }));
    }
}
