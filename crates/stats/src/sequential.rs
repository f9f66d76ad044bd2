//! Several looks at several comparisons, with one error for all.

use crate::blocks::BlockRatios;
use crate::interval::Interval;
use crate::normal::above;
use crate::spending::{InterimLook, SequentialError, Spending, boundaries};
use crate::student::t_quantile_above;

/// The interval of the logarithm of a ratio that goes with the [`nominal_error`] of a look: one of a sequence that holds the
/// truth at all looks together with probability 1 - error, whatever makes the study stop (repeated confidence intervals:
/// Jennison and Turnbull 1989, and 2000, chapter 9).
///
/// The boundary is that for a known spread, put into t: the t quantile with the same tail (the significance level approach of
/// Pocock 1977). With few blocks an early interval may span everything.
pub fn repeated_interval(ratios: &BlockRatios, nominal_error: f64) -> Interval {
    let tail = nominal_error / 2.0;
    let quantile = if tail > 0.0 { t_quantile_above(tail, ratios.spread().degrees) } else { None };
    let half = quantile.unwrap_or(f64::INFINITY) * ratios.standard_error();
    Interval { value: ratios.mean(), low: ratios.mean() - half, high: ratios.mean() + half }
}

/// The two-sided p-value below which a test at the last of `looks` rejects.
///
/// # Errors
///
/// As [`boundaries`].
pub fn nominal_error(spending: Spending, error: f64, looks: &[InterimLook]) -> Result<f64, SequentialError> {
    Ok(boundaries(spending, error, looks)?.last().map_or(0.0, |boundary| 2.0 * above(*boundary)))
}

/// Which hypotheses are rejected when the probability to reject any true one is at most `error`, however they depend on each
/// other: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
///
/// Of k hypotheses that are not rejected yet, `rejects` is asked for each, by its place, whether it is rejected with `error` / k;
/// whenever one is, the others are asked again with more. One that cannot be tested now is not rejected, and keeps its share.
/// `rejected` says which were rejected before, at an earlier look.
///
/// Where `rejects` compares with the [`nominal_error`] of its looks, or asks whether the [`repeated_interval`] excludes the
/// hypothesis, this is the procedure for data that are looked at repeatedly of Ye, Li, Liu and Yao, "A group sequential Holm
/// procedure with multiple primary endpoints", Statistics in Medicine 32 (2013), in the form of Maurer and Bretz, "Multiple
/// testing in group sequential trials using graphical approaches", Statistics in Biopharmaceutical Research 5 (2013), with
/// equal weights. A raised share applies to the present and later looks, not to data that was looked at before.
pub fn step_down(error: f64, rejected: &[bool], mut rejects: impl FnMut(usize, f64) -> bool) -> Vec<bool> {
    let mut rejected = rejected.to_vec();
    loop {
        let open = rejected.iter().filter(|rejected| !**rejected).count();
        let share = error / open.max(1) as f64;
        let mut any = false;
        for (place, rejected) in rejected.iter_mut().enumerate().filter(|(_, rejected)| !**rejected) {
            *rejected = rejects(place, share);
            any |= *rejected;
        }
        if !any {
            return rejected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [InterimLook; 2] =
        [InterimLook { spent: 0.5, information: 6.0 }, InterimLook { spent: 1.0, information: 12.0 }];

    #[test]
    fn a_rejection_leaves_more_for_the_others() {
        let nominal = |share| nominal_error(Spending::Late, share, &LOOKS).unwrap();
        // Enough for a half of the error, but not for a third.
        let between = f64::midpoint(nominal(0.05 / 3.0), nominal(0.05 / 2.0));
        let waits = f64::INFINITY;
        for (name, before, p_values, expected) in [
            ("one is let go, one follows", [false; 3], [1e-9, between, 0.5], [true, true, false]),
            ("none is let go", [false; 3], [0.5, between, 0.5], [false, false, false]),
            ("one went before", [true, false, false], [0.5, between, 0.5], [true, true, false]),
            ("who waits keeps his share", [false; 3], [waits, between, 0.5], [false, false, false]),
        ] {
            let rejected = step_down(0.05, &before, |place, share| p_values[place] <= nominal(share));
            assert_eq!(rejected, expected, "{name}");
        }
        assert_eq!(step_down(0.05, &[], |_, _| true), []);
    }
}
