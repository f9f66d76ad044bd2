//! What the blocks of a study say about the ratio of two cases.

use crate::Confidence;
use crate::interval::{Interval, IntervalError, finite, log_ratios, mean};
use crate::pair_spread::PairSpread;
use crate::random::SplitMix64;
use crate::student::t_quantile_above;

/// The logarithm of the ratio of two cases, once for each block that measured both.
///
/// A block shares its surroundings, so that what disturbed both cases cancels; blocks are the replicates. At least three,
/// and not all the same: fewer do not carry a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockRatios {
    logs: Vec<f64>,
    mean: f64,
    own: PairSpread,
    few: Option<PairSpread>,
    least_error: f64,
}

/// Fewer blocks than this decide nothing.
const LEAST_BLOCKS: usize = 3;

/// From this many blocks on, they say more themselves than others do or is assumed: of how they scatter than other cases of the same
/// blocks, of the shape of their distribution than that it is normal.
pub const MANY_BLOCKS: usize = 10;

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
        Self::of_known(logs, None, 0.0)
    }

    /// From logarithms of ratios whose spread is known from more than themselves while they are few ([`crate::pair_spread`]), or
    /// whose values are rounded, so that the error of their mean is never below `least_error`, however many there are.
    ///
    /// # Errors
    ///
    /// As [`Self::of_logs`]; all may be the same where others or the rounding tell an error.
    pub fn of_known(logs: Vec<f64>, few: Option<PairSpread>, least_error: f64) -> Result<Self, IntervalError> {
        finite(&logs)?;
        let n = logs.len();
        let too_few = IntervalError::TooFew { n, least: LEAST_BLOCKS };
        let mean = mean(&logs).filter(|_| n >= LEAST_BLOCKS).ok_or(too_few)?;
        let own = PairSpread { deviation: deviation(&logs, mean), degrees: (n - 1) as f64 };
        let known = Self { logs, mean, own, few, least_error };
        // Equal ratios differ by rounding: a logarithm has an error of about 1e-16 of its own size.
        if known.standard_error() < 1e-12 { Err(IntervalError::NoVariance) } else { Ok(known) }
    }

    /// The number of blocks.
    pub fn n(&self) -> usize {
        self.logs.len()
    }

    /// The mean logarithm: the logarithm of the geometric mean of the ratios.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation of the logarithms, 0.04 is about 4 % a block, and how well it is known.
    pub fn spread(&self) -> PairSpread {
        self.spread_of(self.n())
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.standard_error_of(self.n())
    }

    /// What so many blocks would tell of the spread, which scatter as these do.
    fn spread_of(&self, blocks: usize) -> PairSpread {
        let PairSpread { deviation, degrees } = self.few.filter(|_| blocks < MANY_BLOCKS).unwrap_or(self.own);
        PairSpread { deviation, degrees: degrees * (blocks - 1) as f64 / (self.n() - 1) as f64 }
    }

    fn standard_error_of(&self, blocks: usize) -> f64 {
        (self.spread_of(blocks).deviation / (blocks as f64).sqrt()).max(self.least_error)
    }

    /// By how much the t interval of so many blocks, which scatter as these do, reaches beyond its mean on either side.
    pub(crate) fn half_of(&self, blocks: usize, confidence: Confidence) -> f64 {
        let quantile = t_quantile_above(confidence.error() / 2.0, self.spread_of(blocks).degrees);
        quantile.unwrap_or(f64::INFINITY) * self.standard_error_of(blocks)
    }

    /// The interval of the logarithm of the ratio: a t interval below 10 blocks (Kalibera and Jones 2013), from 10 on what the t
    /// interval and the studentised bootstrap span together. Either alone misses too often: t where the noise is skewed, the
    /// bootstrap where it is symmetric with far outliers, as it is when a neighbour's load hits one trial of a pair or the
    /// other (docs/statistics.md has the figures, ADR 26 the choice). The same seed gives the same interval.
    pub fn interval(&self, confidence: Confidence, seed: u64) -> Interval {
        let t = self.t_interval(confidence);
        if self.n() < MANY_BLOCKS {
            return t;
        }
        let bootstrap = self.bootstrap_interval(confidence, seed).unwrap_or(t);
        Interval { value: self.mean, low: t.low.min(bootstrap.low), high: t.high.max(bootstrap.high) }
    }

    /// The studentised bootstrap of whole blocks (Davison and Hinkley, "Bootstrap Methods and their Application", 1997), which
    /// follows a skewed distribution. `None` where the resamples do not tell its ends: so high a confidence that few lie
    /// beyond, or blocks that are nearly all the same. The same seed gives the same interval.
    pub fn bootstrap_interval(&self, confidence: Confidence, seed: u64) -> Option<Interval> {
        // Only quantiles that many replicates lie beyond are worth the name.
        if confidence.error() * (RESAMPLES as f64) < 20.0 {
            return None;
        }
        let own_error = self.own.deviation / (self.n() as f64).sqrt();
        let mut replicates = self.studentised_replicates(seed);
        replicates.sort_by(f64::total_cmp);
        let rank = |share: f64| replicates[((RESAMPLES + 1) as f64 * share).round() as usize - 1];
        let half = confidence.error() / 2.0;
        let [low, high] = [rank(1.0 - half), rank(half)].map(|replicate| self.mean - replicate * own_error);
        // Blocks that are nearly all the same make many resamples without any spread, which say nothing.
        (low.is_finite() && high.is_finite()).then_some(Interval { value: self.mean, low, high })
    }

    /// The t interval of the logarithm of the ratio, for any number of blocks.
    pub fn t_interval(&self, confidence: Confidence) -> Interval {
        let half = self.half_of(self.n(), confidence);
        Interval { value: self.mean, low: self.mean - half, high: self.mean + half }
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
    use proptest::prelude::*;

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

    /// Reference: SciPy 1.17.1, `r = numpy.log(a / b)`, then
    /// `numpy.exp((r.mean(), *scipy.stats.t.interval(c, n - 1, loc=r.mean(), scale=scipy.stats.sem(r))))`.
    #[test]
    fn t_intervals_of_ratios_are_those_of_scipy() {
        let ratios = BlockRatios::of_pairs(&[(5210.0, 1002.0), (5190.0, 985.0), (5305.0, 1011.0)]).unwrap();
        for (confidence, expected) in [
            (Confidence::P95, [5.238_558_368_889_023, 5.150_972_489_429_514, 5.327_633_537_273_377]),
            (Confidence::P90, [5.238_558_368_889_023, 5.178_957_541_094_936, 5.298_845_098_941_538_5]),
        ] {
            let Interval { value, low, high } = ratios.t_interval(confidence).exp();
            for (got, expected) in [value, low, high].into_iter().zip(expected) {
                assert!((got / expected - 1.0).abs() < 1e-9, "{got} is not {expected}");
            }
        }
    }

    #[test]
    fn while_blocks_are_few_others_tell_their_spread_and_rounding_is_never_averaged_out() {
        let few = Some(PairSpread { deviation: 0.06, degrees: 20.0 });
        let known = |n: usize, least_error| {
            let logs = (0..n).map(|block| 0.01 * (block % 2) as f64).collect();
            BlockRatios::of_known(logs, few, least_error).unwrap()
        };
        let half = |ratios: &BlockRatios| ratios.half_of(ratios.n(), Confidence::P95);
        // qt(0.975, 20) is 2.085963.
        assert!((half(&known(4, 0.0)) / (2.085_963 * 0.03) - 1.0).abs() < 1e-6);
        // Two more blocks tell as much of the spread each: qt(0.975, 100 / 3) is 2.033743.
        let after = known(4, 0.0).half_of(6, Confidence::P95);
        assert!((after / (2.033_743 * 0.06 / 6.0_f64.sqrt()) - 1.0).abs() < 1e-5, "{after}");
        let own = BlockRatios::of_logs((0..10).map(|block| 0.01 * f64::from(block % 2)).collect()).unwrap();
        assert_eq!(half(&known(10, 0.0)), half(&own));
        assert_eq!(known(9, 0.05).standard_error(), 0.05);
        let equal = |least_error| BlockRatios::of_known(vec![0.3; 4], None, least_error);
        assert_eq!(equal(0.0), Err(IntervalError::NoVariance));
        assert_eq!(equal(0.001).unwrap().standard_error(), 0.001);
    }

    #[test]
    fn ten_blocks_that_resample_to_one_still_give_finite_ends() {
        // One block in ten differs, so that a third of all resamples have no spread.
        let logs = [vec![0.0; 9], vec![0.01]].concat();
        let interval = BlockRatios::of_logs(logs).unwrap().interval(Confidence::P95, 1);
        assert!(interval.low.is_finite() && interval.high.is_finite(), "{interval:?}");
    }
    proptest! {
        #[test]
        fn a_ratio_does_not_depend_on_the_unit_and_inverts(
            pairs in prop::collection::vec((1e-3..1e6f64, 1e-3..1e6f64), 3..12),
            scale in 1e-3..1e3f64,
        ) {
            let interval = |pairs: Vec<(f64, f64)>| BlockRatios::of_pairs(&pairs).unwrap().t_interval(Confidence::P95);
            let scaled = interval(pairs.iter().map(|(a, b)| (a * scale, b * scale)).collect());
            let swapped = interval(pairs.iter().map(|(a, b)| (*b, *a)).collect());
            let ratio = interval(pairs);
            for (one, other) in [
                (ratio.value, scaled.value),
                (ratio.low, scaled.low),
                (ratio.high, scaled.high),
                (ratio.value, -swapped.value),
                (ratio.low, -swapped.high),
                (ratio.high, -swapped.low),
            ] {
                prop_assert!((one - other).abs() <= 1e-9 * one.abs().max(1.0), "{one} {other}");
            }
        }
    }
}
