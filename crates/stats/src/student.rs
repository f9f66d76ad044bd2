//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The share of repeated experiments whose interval holds the true value: more than 0 and less than 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 90 %: two one-sided tests at 5 % each decide like this interval.
    pub const P90: Self = Self(0.90);
    /// 95 %: what reports print.
    pub const P95: Self = Self(0.95);

    /// The cumulative probability below the upper end of a two-sided interval: 0.975 at 95 %.
    fn upper_tail(self) -> f64 {
        f64::midpoint(1.0, self.0)
    }
}

/// The factor by which a two-sided interval of a mean is wider than the mean's standard error, for a spread that was
/// estimated with this many degrees of freedom. `None` without any.
pub(crate) fn student_t_quantile(confidence: Confidence, degrees_of_freedom: usize) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).ok()?;
    Some(distribution.inverse_cdf(confidence.upper_tail()))
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
        ] {
            let quantile = student_t_quantile(confidence, degrees).unwrap();
            assert!((quantile / expected - 1.0).abs() < 1e-9, "{confidence:?} {degrees}: {quantile} is not {expected}");
        }
    }

    #[test]
    fn there_is_no_quantile_without_degrees_of_freedom() {
        assert_eq!(student_t_quantile(Confidence::P95, 0), None);
    }
}
