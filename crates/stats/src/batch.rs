//! How long a trial should last.

use crate::interval::{IntervalError, finite, mean};

/// A series of bins with what it tells about the precision of its mean.
///
/// This is for planning. Bins of one trial are not replicates, and an interval counts trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeans {
    /// Of all bins.
    pub mean: f64,
    /// What the variance of the mean of n bins is, times n, when n is large: the variance of one bin together with all its
    /// covariances.
    pub long_run_variance: f64,
}

impl BatchMeans {
    /// Estimates from bins at a steady state, by the means of all runs of as many neighbouring bins as the square root of
    /// their number (overlapping batch means: Meketon and Schmeiser 1984; the length: Flegal and Jones 2010).
    ///
    /// # Errors
    ///
    /// When there are fewer than 16 bins, or one is not finite.
    pub fn of(bins: &[f64]) -> Result<Self, IntervalError> {
        finite(bins)?;
        let n = bins.len();
        let too_few = IntervalError::TooFew { n, least: 16 };
        let mean = mean(bins).filter(|_| n >= 16).ok_or(too_few)?;
        let length = n.isqrt();
        let squares: f64 =
            bins.windows(length).map(|batch| (batch.iter().sum::<f64>() / length as f64 - mean).powi(2)).sum();
        let [all, each] = [n, length].map(|count| count as f64);
        Ok(Self { mean, long_run_variance: all * each * squares / ((all - each) * (all - each + 1.0)) })
    }

    /// The fewest bins whose mean has a standard error of this share of itself. `None` when the share is not above 0 or
    /// the mean is 0.
    pub fn bins_for(&self, share: f64) -> Option<usize> {
        let target = (share * self.mean).powi(2);
        (share > 0.0 && target > 0.0).then(|| ((self.long_run_variance / target).ceil() as usize).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_run_variance_of_noise_with_a_memory_is_seen() {
        // x = 0.5 x + e with e of variance 1: the long-run variance is 1 / (1 - 0.5)^2 = 4, that of one bin 1.33. Batches
        // of 100 bins miss about 1 % of it.
        let mut random = crate::SplitMix64::new(1);
        let mut uniform = || random.next_u64() as f64 / 2.0_f64.powi(64) - 0.5;
        let mut now = 0.0;
        let bins: Vec<f64> = (0..10_000)
            .map(|_| {
                now = 0.5 * now + uniform() * 12.0_f64.sqrt();
                100.0 + now
            })
            .collect();
        let batches = BatchMeans::of(&bins).unwrap();
        assert!((3.2..4.8).contains(&batches.long_run_variance), "{batches:?}");
    }

    #[test]
    fn lengths_follow_from_the_variances() {
        let batches = BatchMeans { mean: 100.0, long_run_variance: 400.0 };
        assert_eq!(batches.bins_for(0.01), Some(400));
        assert_eq!(batches.bins_for(0.0), None);
        assert_eq!(BatchMeans::of(&[1.0; 15]), Err(IntervalError::TooFew { n: 15, least: 16 }));
        assert_eq!(BatchMeans::of(&[f64::INFINITY; 20]), Err(IntervalError::NotFinite { index: 0 }));
        assert_eq!(BatchMeans::of(&[5.0; 20]).unwrap().bins_for(0.01), Some(1));
    }
}
