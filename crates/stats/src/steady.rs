//! When a series has come to rest.

use std::ops::Range;

use thiserror::Error;

use crate::batch::BatchMeans;
use crate::change::{Noise, change_penalty, change_points};
use crate::order::median;

/// What counts as rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// How far the levels of two neighbouring segments may be apart to be the same, as a share of the greater one.
    pub tolerance: f64,
    /// How many bins the last segment must have.
    pub least: usize,
}

/// A stretch of bins with one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Where it begins, and ends before.
    pub bins: Range<usize>,
    /// The mean of its bins, without those of disturbances.
    pub mean: f64,
    counted: usize,
}

/// The levels that a series went through.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// From the first bin to the last; neighbours differ by more than the tolerance.
    pub segments: Vec<Segment>,
    /// How many bins pass until the series is at rest; `None` when it never is.
    pub warm_up: Option<usize>,
}

/// Fewer bins than this, with the same level before and after, are a disturbance and not a level of their own.
const DISTURBANCE: usize = 3;

/// Finds the last level that a series of equal bins came to, and where that begins.
///
/// Segments are those of [`change_points`] under the noise that [`Noise::estimate`] finds, after which the two neighbours
/// that are closest are merged until all are further apart than the tolerance. Segments of one or two bins are looked
/// through when the level is the same on both sides, and at the very end, where a hiccup and a change look the same.
/// There is no steady state when fewer than `rule.least` bins remain, or 16: change points at the end of a run are the
/// sign of one that never came to rest (Barrett and others, "Virtual machine warmup blows hot and cold", OOPSLA 2017); nor when
/// two standard errors of the last level, by [`BatchMeans`], are more than the tolerance.
///
/// A level that creeps, by less than the tolerance a segment, may pass for steady: see [`crate::mann_kendall`].
///
/// # Errors
///
/// When there are fewer than 12 bins, one is negative or not finite, half of them are 0, or the rule's tolerance is not
/// between 0 and 1.
pub fn steady_state(bins: &[f64], rule: &SteadyRule) -> Result<SteadyState, SteadyError> {
    let SteadyRule { tolerance, least } = *rule;
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(SteadyError::Tolerance { tolerance });
    }
    if let Some(index) = bins.iter().position(|bin| !bin.is_finite() || *bin < 0.0) {
        return Err(SteadyError::Unusable { index });
    }
    let n = bins.len();
    let level = median(bins).filter(|_| n >= 12).ok_or(SteadyError::TooFew { n })?;
    if level == 0.0 {
        return Err(SteadyError::NoLevel);
    }
    // Noise of a hundredth of the tolerance is none. Without this floor, a series of few distinct values would be cut at each.
    let floor = (tolerance / 100.0 * level).powi(2);
    let noise = Noise::estimate(bins).filter(|noise| noise.innovation > floor);
    let noise = noise.unwrap_or(Noise { autocorrelation: 0.0, innovation: floor, drift: 0.0 });
    let changes = change_points(bins, &noise, change_penalty(n)).map_err(|_| SteadyError::NoLevel)?;

    let starts = [0].into_iter().chain(changes.iter().copied());
    let segments = starts.zip(changes.iter().copied().chain([n])).map(|(start, end)| Segment {
        bins: start..end,
        mean: bins[start..end].iter().sum::<f64>() / (end - start) as f64,
        counted: end - start,
    });
    let segments = merge(segments.collect(), tolerance);
    // Waves that return for ever are noise to the segmentation, but a level they hide is not known.
    let known = |last: &&Segment| {
        BatchMeans::of(&bins[last.bins.clone()])
            .is_ok_and(|batches| batches.bins_for(tolerance / 2.0).is_some_and(|needed| needed <= last.bins.len()))
    };
    let last = segments.last().filter(|last| last.bins.len() >= least).filter(known);
    let warm_up = last.map(|last| last.bins.start);
    Ok(SteadyState { segments, warm_up })
}

fn merge(mut segments: Vec<Segment>, tolerance: f64) -> Vec<Segment> {
    let apart = |a: &Segment, b: &Segment| (a.mean - b.mean).abs() / a.mean.max(b.mean).max(f64::MIN_POSITIVE);
    let short = |segment: &Segment| segment.bins.len() < DISTURBANCE;
    loop {
        let closest = |step: usize, segments: &[Segment]| {
            (step..segments.len())
                .filter(|last| step == 1 || short(&segments[last - 1]))
                .map(|last| (apart(&segments[last - step], &segments[last]), last))
                .filter(|(apart, _)| *apart <= tolerance)
                .min_by(|(a, _), (b, _)| a.total_cmp(b))
                .map(|(_, last)| (last - step, last))
        };
        if let Some((first, last)) = closest(1, &segments).or_else(|| closest(2, &segments)) {
            let [a, b] = [first, last].map(|place| segments[place].clone());
            let counted = a.counted + b.counted;
            let mean = (a.mean * a.counted as f64 + b.mean * b.counted as f64) / counted as f64;
            segments.splice(first..=last, [Segment { bins: a.bins.start..b.bins.end, mean, counted }]);
        } else if let [.., before, last] = segments.as_mut_slice()
            && short(last)
        {
            before.bins.end = last.bins.end;
            segments.pop();
        } else {
            return segments;
        }
    }
}

/// Why no level was looked for.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SteadyError {
    /// Noise cannot be told from changes.
    #[error("look for a steady state in {n} bins: at least 12 are needed")]
    TooFew {
        /// How many there were.
        n: usize,
    },
    /// A bin is negative, infinite or not a number.
    #[error("look for a steady state: bin {index} is not a finite number from 0")]
    Unusable {
        /// Its place, from 0.
        index: usize,
    },
    /// Shares of nothing.
    #[error("look for a steady state: half of the bins are 0")]
    NoLevel,
    /// Not a share.
    #[error("look for a steady state within {tolerance}: a tolerance lies between 0 and 1")]
    Tolerance {
        /// As it was given.
        tolerance: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SteadyRule = SteadyRule { tolerance: 0.02, least: 16 };

    #[test]
    fn levels_are_merged_disturbances_looked_through_and_creeping_seen() {
        // A ripple of 0.2 % that is not the same from bin to bin.
        let ripple = |bin: usize| 1.0 + 0.002 * ((bin * 7 % 5) as f64 - 2.0) / 2.0;
        type Level = fn(usize) -> f64;
        let rows: [(&str, Level, Option<usize>, usize); 7] = [
            ("flat", |_| 100.0, Some(0), 1),
            ("a step up", |bin| if bin < 12 { 80.0 } else { 100.0 }, Some(12), 2),
            ("a step of 1 %", |bin| if bin < 12 { 99.0 } else { 100.0 }, Some(0), 1),
            ("a hiccup", |bin| if bin == 30 { 60.0 } else { 100.0 }, Some(0), 1),
            ("a hiccup at the end", |bin| if bin == 59 { 60.0 } else { 100.0 }, Some(0), 1),
            ("a step too late", |bin| if bin < 50 { 80.0 } else { 100.0 }, None, 2),
            ("a stairway", |bin| 100.0 + 10.0 * (bin / 10) as f64, None, 6),
        ];
        for (name, level, warm_up, segments) in rows {
            let bins: Vec<f64> = (0..60).map(|bin| level(bin) * ripple(bin)).collect();
            let state = steady_state(&bins, &RULE).unwrap();
            assert_eq!((state.warm_up, state.segments.len()), (warm_up, segments), "{name}: {state:?}");
            assert_eq!(state.segments.first().map(|first| first.bins.start), Some(0), "{name}");
            assert_eq!(state.segments.last().map(|last| last.bins.end), Some(60), "{name}");
        }
    }

    #[test]
    fn a_series_without_any_noise_is_steady() {
        assert_eq!(steady_state(&[7.0; 20], &RULE).unwrap().warm_up, Some(0));
    }

    #[test]
    fn unusable_bins_are_refused() {
        let with = |value| [vec![1.0; 15], vec![value]].concat();
        for (name, bins, tolerance, expected) in [
            ("few", vec![1.0; 11], 0.02, SteadyError::TooFew { n: 11 }),
            ("none", vec![], 0.02, SteadyError::TooFew { n: 0 }),
            ("not a number", with(f64::NAN), 0.02, SteadyError::Unusable { index: 15 }),
            ("negative", with(-1.0), 0.02, SteadyError::Unusable { index: 15 }),
            ("zeros", vec![0.0; 20], 0.02, SteadyError::NoLevel),
            ("no tolerance", vec![1.0; 20], 0.0, SteadyError::Tolerance { tolerance: 0.0 }),
        ] {
            assert_eq!(steady_state(&bins, &SteadyRule { tolerance, least: 16 }), Err(expected), "{name}");
        }
    }
}
