//! What the blocks of a study say about the ratio of two cases.

use crate::Confidence;
use crate::interval::{Interval, IntervalError, finite, log_ratios, mean};
use crate::random::SplitMix64;
use crate::student::{student_t_quantile, t_above};

/// The logarithm of the ratio of two cases, once for each block that measured both.
///
/// A block shares its surroundings, so that what disturbed both cases cancels; blocks are the replicates. At least three,
/// and not all the same: fewer do not carry a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRatios {
    logs: Vec<f64>,
    mean: f64,
    deviation: f64,
}

/// Fewer blocks than this decide nothing.
const LEAST_BLOCKS: usize = 3;

/// From this many blocks on, resampling them says more about the shape of their distribution than assuming it normal.
const BOOTSTRAP_BLOCKS: usize = 10;

/// How often blocks are resampled. One less than a round number, so that the quantiles fall on replicates.
const RESAMPLES: usize = 1999;

impl BlockRatios {
    /// From what was measured for two cases in each block, the first divided by the second.
    ///
    /// # Errors
    ///
    /// When there are fewer than three blocks, a number is not finite and positive, or all ratios are the same.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Result<Self, IntervalError> {
        Self::of_logs(log_ratios(pairs)?)
    }

    /// From logarithms of ratios.
    ///
    /// # Errors
    ///
    /// When there are fewer than three, one is not finite, or all are the same.
    pub fn of_logs(logs: Vec<f64>) -> Result<Self, IntervalError> {
        finite(&logs)?;
        let n = logs.len();
        let too_few = IntervalError::TooFew { n, least: LEAST_BLOCKS };
        let mean = mean(&logs).filter(|_| n >= LEAST_BLOCKS).ok_or(too_few)?;
        let deviation = deviation(&logs, mean);
        // Equal ratios differ by rounding: a logarithm has an error of about 1e-16 of its own size.
        if deviation < 1e-12 {
            return Err(IntervalError::NoVariance);
        }
        Ok(Self { logs, mean, deviation })
    }

    /// The number of blocks.
    pub fn n(&self) -> usize {
        self.logs.len()
    }

    /// The mean logarithm: the logarithm of the geometric mean of the ratios.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation of the logarithms: 0.04 is about 4 % a block.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.deviation / (self.n() as f64).sqrt()
    }

    /// The interval of the logarithm of the ratio: a t interval below 10 blocks (Kalibera and Jones 2013), from
    /// 10 the studentised bootstrap of whole blocks (Davison and Hinkley, "Bootstrap Methods and their Application", 1997), which follows a skewed distribution. The same seed gives the same interval.
    pub fn interval(&self, confidence: Confidence, seed: u64) -> Interval {
        // Only quantiles that many replicates lie beyond are worth the name: below, the tails of t are safer.
        let bootstrap = self.n() >= BOOTSTRAP_BLOCKS && confidence.error() * RESAMPLES as f64 >= 20.0;
        if !bootstrap {
            return self.t_interval(confidence);
        }
        let mut replicates = self.studentised_replicates(seed);
        replicates.sort_by(f64::total_cmp);
        let rank = |share: f64| replicates[((RESAMPLES + 1) as f64 * share).round() as usize - 1];
        let half = confidence.error() / 2.0;
        let ends = [rank(1.0 - half), rank(half)].map(|replicate| self.mean - replicate * self.standard_error());
        // Blocks that are nearly all the same make many resamples without any spread, which say nothing.
        if ends.iter().any(|end| !end.is_finite()) {
            return self.t_interval(confidence);
        }
        Interval { value: self.mean, low: ends[0], high: ends[1] }
    }

    /// The t interval of the logarithm of the ratio, for any number of blocks.
    pub fn t_interval(&self, confidence: Confidence) -> Interval {
        let quantile = student_t_quantile(confidence, self.n() - 1).unwrap_or(f64::INFINITY);
        let half = quantile * self.standard_error();
        Interval { value: self.mean, low: self.mean - half, high: self.mean + half }
    }

    /// The two-sided p-value of the hypothesis that the logarithm of the ratio is within `floor` of 0. With a floor of 0
    /// this is the paired t test; the [`BlockRatios::t_interval`] whose error is the p-value ends at the floor.
    pub fn p_value(&self, floor: f64) -> f64 {
        let t = (self.mean.abs() - floor) / self.standard_error();
        (2.0 * t_above(t, self.n() - 1).unwrap_or(0.5)).min(1.0)
    }

    /// (mean of a resample - mean) / standard error of the resample, many times.
    fn studentised_replicates(&self, seed: u64) -> Vec<f64> {
        let n = self.n();
        let mut random = SplitMix64::new(seed);
        let mut resample = vec![0.0; n];
        let mut replicate = || {
            resample.fill_with(|| self.logs[random.index(n)]);
            let mean = resample.iter().sum::<f64>() / n as f64;
            let error = deviation(&resample, mean) / (n as f64).sqrt();
            // One block n times has no spread; it is as far out as can be.
            if error > 0.0 { (mean - self.mean) / error } else { f64::INFINITY.copysign(mean - self.mean) }
        };
        (0..RESAMPLES).map(|_| replicate()).collect()
    }
}

/// The standard deviation of a sample around its mean.
fn deviation(samples: &[f64], mean: f64) -> f64 {
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (squares / (samples.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_or_equal_blocks_carry_no_verdict() {
        for (name, pairs, expected) in [
            ("none", vec![], IntervalError::TooFew { n: 0, least: 3 }),
            ("two", vec![(2.0, 1.0), (3.0, 1.0)], IntervalError::TooFew { n: 2, least: 3 }),
            ("the same", vec![(2.0, 1.0), (4.0, 2.0), (0.6, 0.3)], IntervalError::NoVariance),
            ("zero", vec![(2.0, 1.0), (4.0, 0.0), (6.0, 3.0)], IntervalError::NotPositive { index: 1 }),
            ("not a number", vec![(2.0, 1.0), (4.0, 3.0), (f64::NAN, 3.0)], IntervalError::NotPositive { index: 2 }),
        ] {
            assert_eq!(BlockRatios::of_pairs(&pairs), Err(expected), "{name}");
        }
    }

    #[test]
    fn the_p_value_is_the_error_of_the_interval_that_ends_at_the_floor() {
        let ratios = BlockRatios::of_logs(vec![0.05, 0.02, 0.06, 0.04]).unwrap();
        for floor in [0.0, 0.005, 0.03] {
            let confidence = Confidence::with_error(ratios.p_value(floor)).unwrap();
            assert!((ratios.t_interval(confidence).low - floor).abs() < 1e-9, "{floor}");
        }
        assert_eq!(ratios.p_value(0.05), 1.0);
    }

    #[test]
    fn ten_blocks_that_resample_to_one_still_give_finite_ends() {
        // One block in ten differs, so that a third of all resamples have no spread.
        let logs = [vec![0.0; 9], vec![0.01]].concat();
        let interval = BlockRatios::of_logs(logs).unwrap().interval(Confidence::P95, 1);
        assert!(interval.low.is_finite() && interval.high.is_finite(), "{interval:?}");
    }
}
