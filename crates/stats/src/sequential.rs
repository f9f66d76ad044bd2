//! Several looks at several comparisons, with one error for all.

use crate::blocks::BlockRatios;
use crate::interval::Interval;
use crate::normal::above;
use crate::spending::{Look, SequentialError, boundaries};
use crate::student::t_quantile_above;

/// The interval of the logarithm of a ratio at the last of `looks`, out of a sequence that holds the truth at all looks
/// together with probability 1 - `error`, whatever makes the study stop (repeated confidence intervals: Jennison and
/// Turnbull 1989, and 2000, chapter 9).
///
/// The boundary is that for a known spread, put into t: the t quantile with the same tail (the significance level approach of
/// Pocock 1977). With few blocks an early interval may span everything.
///
/// # Errors
///
/// As [`boundaries`].
pub fn repeated_interval(ratios: &BlockRatios, error: f64, looks: &[Look]) -> Result<Interval, SequentialError> {
    let tail = nominal_error(error, looks)? / 2.0;
    let quantile = if tail > 0.0 { t_quantile_above(tail, ratios.n() - 1) } else { None };
    let half = quantile.unwrap_or(f64::INFINITY) * ratios.standard_error();
    Ok(Interval { value: ratios.mean(), low: ratios.mean() - half, high: ratios.mean() + half })
}

/// The two-sided p-value below which a test at the last of `looks` rejects.
///
/// # Errors
///
/// As [`boundaries`].
pub fn nominal_error(error: f64, looks: &[Look]) -> Result<f64, SequentialError> {
    Ok(boundaries(error, looks)?.last().map_or(0.0, |boundary| 2.0 * above(*boundary)))
}

/// One comparison of a family, at the present look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hypothesis<'a> {
    /// Rejected at an earlier look; its share of the error has gone to the others.
    Rejected,
    /// Not looked at now. It keeps its share.
    Waiting,
    /// Looked at.
    Tested {
        /// All looks at this comparison, the present one last.
        looks: &'a [Look],
        /// Two-sided, as [`BlockRatios::p_value`] gives it.
        p_value: f64,
    },
}

/// What became of a [`Hypothesis`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// At this look or before.
    pub rejected: bool,
    /// The error that it was tested with, over all its looks. A [`repeated_interval`] with this error agrees with
    /// `rejected`; `None` when it was not tested now.
    pub error: Option<f64>,
}

/// Holm's procedure over comparisons that are looked at repeatedly: the probability to reject any true hypothesis, at any
/// look, is at most `error`, however the comparisons depend on each other.
///
/// Of k hypotheses that are not rejected yet, each is tested with `error` / k by its own spending; whenever one is rejected,
/// the others are tested again with more: the procedure of Ye, Li, Liu and Yao, "A group sequential Holm procedure with
/// multiple primary endpoints", Statistics in Medicine 32 (2013), in the form of Maurer and Bretz, "Multiple testing in
/// group sequential trials using graphical approaches", Statistics in Biopharmaceutical Research 5 (2013), with equal
/// weights. A raised share applies to the present and later looks, not to data that was looked at before.
///
/// # Errors
///
/// As [`boundaries`], and when a p-value is not one.
pub fn sequential_holm(error: f64, family: &[Hypothesis<'_>]) -> Result<Vec<Judgement>, SequentialError> {
    let mut judgements: Vec<Judgement> = family
        .iter()
        .map(|hypothesis| Judgement { rejected: *hypothesis == Hypothesis::Rejected, error: None })
        .collect();
    loop {
        let open = judgements.iter().filter(|judgement| !judgement.rejected).count();
        let share = error / open.max(1) as f64;
        let mut any = false;
        for (hypothesis, judgement) in family.iter().zip(&mut judgements) {
            if let Hypothesis::Tested { looks, p_value } = *hypothesis
                && !judgement.rejected
            {
                if !(0.0..=1.0).contains(&p_value) {
                    return Err(SequentialError::PValue { p_value });
                }
                let rejected = p_value <= nominal_error(share, looks)?;
                *judgement = Judgement { rejected, error: Some(share) };
                any |= rejected;
            }
        }
        if !any {
            return Ok(judgements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [Look; 2] = [Look { spent: 0.5, information: 6.0 }, Look { spent: 1.0, information: 12.0 }];

    fn tested(p_value: f64) -> Hypothesis<'static> {
        Hypothesis::Tested { looks: &LOOKS, p_value }
    }

    #[test]
    fn a_rejection_leaves_more_for_the_others() {
        let nominal = |k: f64| nominal_error(0.05 / k, &LOOKS).unwrap();
        // Enough for a half of the error, but not for a third.
        let between = f64::midpoint(nominal(3.0), nominal(2.0));
        for (name, family, expected) in [
            ("one is let go, one follows", vec![tested(1e-9), tested(between), tested(0.5)], [true, true, false]),
            ("none is let go", vec![tested(0.5), tested(between), tested(0.5)], [false, false, false]),
            ("one went before", vec![Hypothesis::Rejected, tested(between), tested(0.5)], [true, true, false]),
            (
                "who waits keeps his share",
                vec![Hypothesis::Waiting, tested(between), tested(0.5)],
                [false, false, false],
            ),
        ] {
            let judged = sequential_holm(0.05, &family).unwrap();
            assert_eq!(judged.iter().map(|judgement| judgement.rejected).collect::<Vec<_>>(), expected, "{name}");
        }
        assert_eq!(sequential_holm(0.05, &[]), Ok(vec![]));
        assert!(matches!(sequential_holm(0.05, &[tested(f64::NAN)]), Err(SequentialError::PValue { .. })));
    }

    #[test]
    fn the_interval_at_the_error_of_the_judgement_agrees_with_it() {
        for mean in [0.01, 0.02, 0.03, 0.04, 0.06] {
            let logs = (0..12).map(|block| mean + 0.04 * (f64::from(block % 4) - 1.5)).collect();
            let ratios = BlockRatios::of_logs(logs).unwrap();
            let family = [tested(ratios.p_value(0.0)), tested(0.9)];
            let judged = sequential_holm(0.05, &family).unwrap()[0];
            let interval = repeated_interval(&ratios, judged.error.unwrap(), &LOOKS).unwrap();
            assert_eq!(judged.rejected, interval.low > 0.0, "{mean}: {interval:?}");
        }
    }
}
