//! Which percentiles a trial has enough requests for.

use thiserror::Error;

use crate::blocks::BlockRatios;
use crate::interval::IntervalError;

/// With fewer samples beyond it, a percentile is the report of a few accidents: even of 50, the number that chance puts
/// beyond a fixed value varies by 1 / sqrt(50), 14 %.
const LEAST_EXCEEDANCES: usize = 50;

/// The share of samples below a percentile: 0.99 for p99. Between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Quantile(f64);

/// A percentile as one trial measured it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPercentile {
    /// In the unit of the samples.
    pub value: f64,
    /// How many samples it was taken from.
    pub samples: usize,
}

impl Quantile {
    /// `None` unless the share lies between 0 and 1.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share < 1.0).then_some(Self(share))
    }

    /// How many of so many samples lie beyond it.
    pub fn exceedances(self, samples: usize) -> usize {
        // A decimal share such as 0.999 is stored a little off, which must not cost the last sample.
        ((1.0 - self.0) * samples as f64 * (1.0 + 1e-9)) as usize
    }

    /// Whether so many samples have 50 beyond it.
    pub fn is_supported_by(self, samples: usize) -> bool {
        self.exceedances(samples) >= LEAST_EXCEEDANCES
    }

    /// The fewest samples that have 50 beyond it: 5,000 for p99.
    pub fn least_samples(self) -> usize {
        (LEAST_EXCEEDANCES as f64 / (1.0 - self.0) * (1.0 - 1e-9)).ceil() as usize
    }

    /// The ratios of a percentile between two cases, block by block. Percentiles are never averaged over trials.
    ///
    /// # Errors
    ///
    /// When a trial has fewer than 50 samples beyond the percentile, and as [`BlockRatios::of_pairs`].
    pub fn ratios(self, blocks: &[(TrialPercentile, TrialPercentile)]) -> Result<BlockRatios, PercentileError> {
        for (block, (a, b)) in blocks.iter().enumerate() {
            let samples = a.samples.min(b.samples);
            if !self.is_supported_by(samples) {
                return Err(PercentileError::TooFewExceedances { block, samples, needed: self.least_samples() });
            }
        }
        let pairs: Vec<(f64, f64)> = blocks.iter().map(|(a, b)| (a.value, b.value)).collect();
        Ok(BlockRatios::of_pairs(&pairs)?)
    }
}

/// Why a percentile is not compared.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PercentileError {
    /// A trial was too short.
    #[error("compare a percentile: a trial of block {block} has {samples} samples of the {needed} needed")]
    TooFewExceedances {
        /// Its place, from 0.
        block: usize,
        /// How many that trial has.
        samples: usize,
        /// How many have 50 beyond the percentile.
        needed: usize,
    },
    /// The values cannot be compared.
    #[error("compare a percentile")]
    Ratios(#[from] IntervalError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_samples_must_lie_beyond() {
        for (share, least) in [(0.5, 100), (0.9, 500), (0.95, 1000), (0.99, 5000), (0.999, 50_000), (0.9999, 500_000)] {
            let quantile = Quantile::new(share).unwrap();
            assert_eq!(quantile.least_samples(), least, "{share}");
            assert_eq!(quantile.exceedances(least), 50, "{share}");
            assert!(quantile.is_supported_by(least) && !quantile.is_supported_by(least - 1), "{share}");
        }
        for share in [0.0, 1.0, -0.5, f64::NAN] {
            assert_eq!(Quantile::new(share), None, "{share}");
        }
    }

    #[test]
    fn percentiles_are_compared_block_by_block() {
        let p99 = Quantile::new(0.99).unwrap();
        let trial = |value, samples| TrialPercentile { value, samples };
        let mut blocks = [(2.0, 1.0), (2.2, 1.0), (1.9, 1.0)].map(|(a, b)| (trial(a, 5000), trial(b, 6000)));
        let ratios = p99.ratios(&blocks).unwrap();
        assert_eq!(ratios, BlockRatios::of_pairs(&[(2.0, 1.0), (2.2, 1.0), (1.9, 1.0)]).unwrap());
        blocks[1].1.samples = 4999;
        let error = PercentileError::TooFewExceedances { block: 1, samples: 4999, needed: 5000 };
        assert_eq!(p99.ratios(&blocks), Err(error));
        let error = PercentileError::Ratios(IntervalError::TooFew { n: 1, least: 3 });
        assert_eq!(p99.ratios(&blocks[..1]), Err(error));
    }
}
