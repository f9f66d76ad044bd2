//! Confidence intervals of a mean and of a difference of two.

use thiserror::Error;

use crate::Confidence;
use crate::student::{student_t_quantile, t_quantile_above};

/// A point estimate between the ends of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of a ratio, from that of its logarithm.
    pub fn exp(self) -> Self {
        Self { value: self.value.exp(), low: self.low.exp(), high: self.high.exp() }
    }
}

/// The arithmetic mean; `None` of no samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// The t interval of a mean of independent replicates.
///
/// # Errors
///
/// When there are fewer than two samples, or one is not finite.
pub fn mean_interval(samples: &[f64], confidence: Confidence) -> Result<Interval, IntervalError> {
    let n = samples.len();
    finite(samples)?;
    let (Some(value), Some(quantile)) = (mean(samples), student_t_quantile(confidence, n.saturating_sub(1))) else {
        return Err(IntervalError::TooFew { n, least: 2 });
    };
    let squares: f64 = samples.iter().map(|sample| (sample - value).powi(2)).sum();
    let standard_error = (squares / ((n - 1) as f64) / n as f64).sqrt();
    Ok(Interval { value, low: value - quantile * standard_error, high: value + quantile * standard_error })
}

/// The difference of the means of two independent groups of replicates, the first minus the second, when each scatters in its
/// own way: Welch 1947, with the degrees of freedom of Satterthwaite 1946.
///
/// For what was not measured side by side: what differs between the surroundings of the two groups is part of the difference.
///
/// # Errors
///
/// When a group has fewer than two replicates, one is not finite, or nothing scatters.
pub fn difference_interval(a: &[f64], b: &[f64], confidence: Confidence) -> Result<Interval, IntervalError> {
    let [(mean_a, variance_a, degrees_a), (mean_b, variance_b, degrees_b)] = [of_group(a)?, of_group(b)?];
    let variance = variance_a + variance_b;
    let degrees = variance * variance / (variance_a * variance_a / degrees_a + variance_b * variance_b / degrees_b);
    let quantile = t_quantile_above(confidence.error() / 2.0, degrees).ok_or(IntervalError::NoVariance)?;
    let (value, half) = (mean_a - mean_b, quantile * variance.sqrt());
    Ok(Interval { value, low: value - half, high: value + half })
}

/// The mean, its variance and the degrees of freedom of that.
fn of_group(samples: &[f64]) -> Result<(f64, f64, f64), IntervalError> {
    finite(samples)?;
    let n = samples.len();
    let mean = mean(samples).filter(|_| n >= 2).ok_or(IntervalError::TooFew { n, least: 2 })?;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let degrees = (n - 1) as f64;
    Ok((mean, squares / degrees / n as f64, degrees))
}

/// The logarithm of the first number of each pair divided by the second.
///
/// # Errors
///
/// When a number is not finite and positive.
pub(crate) fn log_ratios(pairs: &[(f64, f64)]) -> Result<Vec<f64>, IntervalError> {
    let usable = |number: f64| number.is_finite() && number > 0.0;
    if let Some(index) = pairs.iter().position(|(a, b)| !usable(*a) || !usable(*b)) {
        return Err(IntervalError::NotPositive { index });
    }
    Ok(pairs.iter().map(|(a, b)| a.ln() - b.ln()).collect())
}

pub(crate) fn finite(samples: &[f64]) -> Result<(), IntervalError> {
    samples
        .iter()
        .position(|sample| !sample.is_finite())
        .map_or(Ok(()), |index| Err(IntervalError::NotFinite { index }))
}

/// Why there is no interval.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IntervalError {
    /// A spread needs two numbers, a verdict three blocks.
    #[error("compute an interval from {n} replicates: at least {least} are needed")]
    TooFew {
        /// How many there were.
        n: usize,
        /// How many there must be.
        least: usize,
    },
    /// All replicates are the same, which says nothing about the next one.
    #[error("compute an interval: all replicates are the same")]
    NoVariance,
    /// A sample is infinite or not a number.
    #[error("compute an interval: sample {index} is not finite")]
    NotFinite {
        /// Its place, from 0.
        index: usize,
    },
    /// A number has no logarithm.
    #[error("compute an interval of ratios: pair {index} is not of two finite, positive numbers")]
    NotPositive {
        /// Its place, from 0.
        index: usize,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(interval: Interval, expected: [f64; 3]) {
        let Interval { value, low, high } = interval;
        for (got, expected) in [value, low, high].into_iter().zip(expected) {
            assert!((got / expected - 1.0).abs() < 1e-9, "{interval:?} is not {expected}");
        }
    }

    /// Reference: SciPy 1.17.1, `scipy.stats.t.interval(c, n - 1, loc=x.mean(), scale=scipy.stats.sem(x))`.
    #[test]
    fn mean_intervals_are_those_of_scipy() {
        let three = [1204.0, 1187.5, 1211.25];
        assert_close(
            mean_interval(&three, Confidence::P95).unwrap(),
            [1_200.916_666_666_666_7, 1_170.680_941_537_705_8, 1_231.152_391_795_627_6],
        );
        assert_close(
            mean_interval(&three, Confidence::P90).unwrap(),
            [1_200.916_666_666_666_7, 1_180.397_259_934_707_3, 1_221.436_073_398_626_1],
        );
        let ten = [5.1, 4.9, 5.0, 5.2, 4.7, 5.05, 5.15, 4.95, 5.0, 5.1];
        assert_close(
            mean_interval(&ten, Confidence::P95).unwrap(),
            [5.015, 4.912_368_511_483_552, 5.117_631_488_516_447],
        );
    }

    /// Reference: R 4.2.2, `t.test(a, b)$conf.int`.
    #[test]
    fn differences_are_those_of_r() {
        let (a, b) = ([5.1, 4.9, 5.0, 5.2, 4.7], [5.4, 5.3, 5.6]);
        assert_close(
            difference_interval(&a, &b, Confidence::P95).unwrap(),
            [-0.453_333_333_333_333, -0.765_658_519_827_789, -0.141_008_146_838_878],
        );
        assert_eq!(difference_interval(&[1.0; 3], &[2.0; 3], Confidence::P95), Err(IntervalError::NoVariance));
        assert_eq!(difference_interval(&a, &[1.0], Confidence::P95), Err(IntervalError::TooFew { n: 1, least: 2 }));
    }

    #[test]
    fn too_few_or_unusable_numbers_are_refused() {
        let p95 = Confidence::P95;
        for (samples, expected) in [
            (vec![], IntervalError::TooFew { n: 0, least: 2 }),
            (vec![1.0], IntervalError::TooFew { n: 1, least: 2 }),
            (vec![1.0, f64::NAN], IntervalError::NotFinite { index: 1 }),
        ] {
            assert_eq!(mean_interval(&samples, p95), Err(expected), "{samples:?}");
        }
        assert_eq!(mean(&[]), None);
    }

    proptest! {
        #[test]
        fn an_interval_contains_its_mean_and_narrows_with_less_confidence(
            samples in prop::collection::vec(-1e6..1e6f64, 2..20),
        ) {
            let wide = mean_interval(&samples, Confidence::P95).unwrap();
            let narrow = mean_interval(&samples, Confidence::P90).unwrap();
            prop_assert!((wide.low..=wide.high).contains(&mean(&samples).unwrap()));
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }
}
