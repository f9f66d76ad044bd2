//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The share of repeated experiments whose interval holds the true value: more than 0 and less than 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    // The rest of 1 and not the share itself, so that the 99.99999 % of an early look keep all their digits.
    error: f64,
}

impl Confidence {
    /// 90 %: two one-sided tests at 5 % each decide like this interval.
    pub const P90: Self = Self { error: 0.10 };
    /// 95 %: what reports print.
    pub const P95: Self = Self { error: 0.05 };

    /// The confidence that is wrong with this probability: 0.05 is 95 %. `None` unless it lies between 0 and 1.
    pub fn with_error(error: f64) -> Option<Self> {
        (error > 0.0 && error < 1.0).then_some(Self { error })
    }

    /// The probability of being wrong, on either side.
    pub const fn error(self) -> f64 {
        self.error
    }
}

/// The factor by which a two-sided interval of a mean is wider than the mean's standard error, for a spread that was
/// estimated with this many degrees of freedom. `None` without any.
pub(crate) fn student_t_quantile(confidence: Confidence, degrees_of_freedom: usize) -> Option<f64> {
    t_quantile_above(confidence.error / 2.0, degrees_of_freedom as f64)
}

/// The value that Student's t exceeds with this probability, which is at most a half. `None` without degrees of freedom.
pub fn t_quantile_above(probability: f64, degrees_of_freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    // The lower tail, mirrored: probabilities near 0 have digits that those near 1 have lost.
    Some(-distribution.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: SciPy 1.17.1, `scipy.stats.t.ppf(0.975, df)` and `ppf(0.95, df)`.
    #[test]
    fn quantiles_are_those_of_scipy() {
        for (confidence, degrees, expected) in [
            (Confidence::P95, 1, 12.706_204_736_174_694),
            (Confidence::P95, 2, 4.302_652_729_749_462),
            (Confidence::P90, 2, 2.919_985_580_353_724),
            (Confidence::P95, 9, 2.262_157_162_798_205),
            (Confidence::P90, 29, 1.699_127_026_533_497),
            (Confidence::P95, 1000, 1.962_339_080_826_408),
            (Confidence { error: 2e-9 }, 2, 22_360.679_741_456_875),
            (Confidence { error: 2e-9 }, 19, 10.613_521_312_506_379),
        ] {
            let quantile = student_t_quantile(confidence, degrees).unwrap();
            assert!((quantile / expected - 1.0).abs() < 1e-9, "{confidence:?} {degrees}: {quantile} is not {expected}");
        }
    }

    /// Reference: SciPy 1.17.1, `scipy.stats.t.isf(probability, df)`.
    #[test]
    fn degrees_of_freedom_need_not_be_whole() {
        for (probability, degrees, expected) in [
            (0.025, 2.5, 3.574_654_842_003_683_4),
            (0.025 / 78.0, 4.37, 8.695_132_111_887_668),
            (0.05 / 156.0, 23.9, 3.924_728_129_661_951),
            (0.1, 7.25, 1.409_884_895_325_901_8),
        ] {
            let quantile = t_quantile_above(probability, degrees).unwrap();
            assert!((quantile / expected - 1.0).abs() < 1e-9, "{probability} {degrees}: {quantile} is not {expected}");
        }
    }

    #[test]
    fn a_confidence_lies_between_0_and_1() {
        for error in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(Confidence::with_error(error), None, "{error}");
        }
        assert_eq!(Confidence::with_error(0.05), Some(Confidence::P95));
    }

    #[test]
    fn there_is_no_quantile_without_degrees_of_freedom() {
        assert_eq!(student_t_quantile(Confidence::P95, 0), None);
    }
}
