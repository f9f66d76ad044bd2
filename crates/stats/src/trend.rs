//! Whether a series rises or falls, and by how much.

use thiserror::Error;

use crate::Confidence;
use crate::interval::Interval;
use crate::normal;
use crate::order::{median, ranks};

/// A series tested for a trend in one direction, whatever its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Kendall's tau against time: 1 when every sample is above all before it, -1 when below.
    pub tau: f64,
    /// The probability of a trend this strong, in either direction, in a series without any.
    pub p_value: f64,
    /// The change from one sample to the next (Theil 1950, Sen 1968), in the samples' unit.
    pub slope: Interval,
}

/// The test of Mann (1945) and Kendall (1975) with the variance of Hamed and Rao, "A modified Mann-Kendall trend test for
/// autocorrelated data", Journal of Hydrology 204 (1998), and the slope of Theil and Sen with Sen's interval.
///
/// A slow wave looks like a trend to a test for independent samples. Hamed and Rao widen the variance by those
/// autocorrelations of the detrended ranks that are significant at 5 %. Two things differ from their text: only the
/// first tenth of the lags is looked at, since the others are noise, and the variance is never narrowed, since a leak
/// should not be claimed on the strength of a chance negative correlation.
///
/// # Errors
///
/// When there are fewer than 10 samples, or one is not finite.
pub fn mann_kendall(samples: &[f64], confidence: Confidence) -> Result<Trend, TrendError> {
    let n = samples.len();
    if n < 10 {
        return Err(TrendError::TooFew { n });
    }
    if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(TrendError::NotFinite { index });
    }
    let mut score = 0.0;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, a) in samples.iter().enumerate() {
        for (distance, b) in (1..).zip(&samples[i + 1..]) {
            let change = b - a;
            score += if change == 0.0 { 0.0 } else { change.signum() };
            slopes.push(change / f64::from(distance));
        }
    }
    slopes.sort_by(f64::total_cmp);
    let slope = median(&slopes).unwrap_or_default();

    let pairs = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let (_, ties) = ranks(samples);
    let tied: f64 = ties.iter().map(|size| pairs(*size as f64)).sum();
    let detrended: Vec<f64> = (0..).zip(samples).map(|(i, sample)| sample - slope * f64::from(i)).collect();
    let variance = (pairs(n as f64) - tied) / 18.0 * inflation(&ranks(&detrended).0);
    let deviation = variance.sqrt();
    // 1 is taken off because the score moves in steps of 2 (Kendall 1975).
    let z = if deviation > 0.0 { (score.abs() - 1.0).max(0.0) / deviation } else { 0.0 };

    let half = normal::quantile_above(confidence.error() / 2.0) * deviation;
    let count = slopes.len() as f64;
    // Sen 1968: the slopes of these two ranks.
    let rank = |rank: f64| slopes[(rank.max(1.0) as usize).min(slopes.len()) - 1];
    let interval = Interval {
        value: slope,
        low: rank(((count - half) / 2.0).round()).min(slope),
        high: rank(((count + half) / 2.0).round() + 1.0).max(slope),
    };
    Ok(Trend { tau: score / count, p_value: (2.0 * normal::above(z)).min(1.0), slope: interval })
}

/// By how much autocorrelation widens the variance of the score, from the detrended ranks.
fn inflation(ranks: &[f64]) -> f64 {
    let n = ranks.len();
    let centre = (n + 1) as f64 / 2.0;
    let product =
        |lag: usize| -> f64 { ranks.iter().zip(&ranks[lag..]).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() };
    let (squares, all) = (product(0), n as f64);
    // Samples on one line have no ranks left that could correlate.
    if squares == 0.0 {
        return 1.0;
    }
    let significant = normal::quantile_above(0.025) / all.sqrt();
    let sum: f64 = (1..=n / 10)
        .map(|lag| (lag as f64, product(lag) / squares))
        .filter(|(_, correlation)| correlation.abs() > significant)
        .map(|(lag, correlation)| (all - lag) * (all - lag - 1.0) * (all - lag - 2.0) * correlation)
        .sum();
    (1.0 + 2.0 * sum / (all * (all - 1.0) * (all - 2.0))).max(1.0)
}

/// Why a trend was not looked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TrendError {
    /// The score of fewer is not close to normal (Kendall 1975).
    #[error("look for a trend in {n} samples: at least 10 are needed")]
    TooFew {
        /// How many there were.
        n: usize,
    },
    /// A sample is infinite or not a number.
    #[error("look for a trend: sample {index} is not finite")]
    NotFinite {
        /// Its place, from 0.
        index: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_a_constant_and_too_little() {
        let line: Vec<f64> = (0..20).map(|i| 5.0 - 0.5 * f64::from(i)).collect();
        let trend = mann_kendall(&line, Confidence::P95).unwrap();
        assert_eq!((trend.tau, trend.slope), (-1.0, Interval { value: -0.5, low: -0.5, high: -0.5 }));
        assert!(trend.p_value < 1e-6);
        let flat = mann_kendall(&[3.0; 20], Confidence::P95).unwrap();
        assert_eq!((flat.tau, flat.p_value, flat.slope.value), (0.0, 1.0, 0.0));
        assert_eq!(mann_kendall(&line[..9], Confidence::P95), Err(TrendError::TooFew { n: 9 }));
        assert_eq!(mann_kendall(&[f64::NAN; 12], Confidence::P95), Err(TrendError::NotFinite { index: 0 }));
    }
}
