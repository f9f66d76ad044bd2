//! Where the level of a series changes, when its noise has a memory.

use std::f64::consts::LN_2;

use thiserror::Error;

use crate::order::median_absolute_deviation;
use crate::quadratic::{Quadratic, lower_envelope};

/// How a series moves around its level when nothing changes.
///
/// Sample t is m(t) + e(t). The level m walks randomly, by a step of variance `drift` each time; the noise e(t) is
/// `autocorrelation` * e(t - 1) plus an innovation of variance `innovation`. With the first two at 0 it is white noise
/// around a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Between 0 and 1, without 1.
    pub autocorrelation: f64,
    /// In the samples' unit squared; above 0.
    pub innovation: f64,
    /// In the samples' unit squared; 0 for a level that stays.
    pub drift: f64,
}

impl Noise {
    /// Estimates the noise of a series whose level may change a few times.
    ///
    /// The squared spread of the differences between samples that are k apart is k * drift + 2 innovation (1 - a^k) /
    /// (1 - a^2), where a is the autocorrelation. The spread is taken as the median absolute deviation, so that
    /// the few differences across a change do not count, and the three parameters are those with the least squared error
    /// over k = 1, 2, ..., 15 or a quarter of the samples (Romano and others 2022). An autocorrelation
    /// above 0.95 is not looked for: it cannot be told from drift.
    ///
    /// `None` of fewer than 12 samples, when a sample is not finite, and when at least half of the differences are alike,
    /// so that there is no spread to see.
    pub fn estimate(samples: &[f64]) -> Option<Self> {
        let lags = (samples.len() / 4).min(15);
        if lags < 3 || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let spreads: Vec<(f64, f64)> = (1..=lags)
            .map(|lag| {
                let differences: Vec<f64> = samples.iter().zip(&samples[lag..]).map(|(a, b)| b - a).collect();
                Some((lag as f64, median_absolute_deviation(&differences)?.powi(2)))
            })
            .collect::<Option<_>>()?;
        let fits = (0..=95).map(|percent| fit(&spreads, f64::from(percent) / 100.0));
        let (_, best) = fits.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (best.innovation > 0.0).then_some(best)
    }
}

/// The squared error of the best noise with this autocorrelation, and that noise: least squares in two unknowns, neither
/// of which may be negative.
fn fit(spreads: &[(f64, f64)], autocorrelation: f64) -> (f64, Noise) {
    let share = |lag: f64| 2.0 * (1.0 - autocorrelation.powf(lag)) / (1.0 - autocorrelation.powi(2));
    let sum = |term: &dyn Fn(f64, f64) -> f64| spreads.iter().map(|(lag, spread)| term(*lag, *spread)).sum::<f64>();
    let (nn, nd, dd) = (sum(&|k, _| share(k).powi(2)), sum(&|k, _| share(k) * k), sum(&|k, _| k * k));
    let (ns, ds) = (sum(&|k, s| share(k) * s), sum(&|k, s| k * s));
    let determinant = nn * dd - nd * nd;
    let (innovation, drift) = ((dd * ns - nd * ds) / determinant, (nn * ds - nd * ns) / determinant);
    // Both are found unless one is negative, or the two cannot be told apart; then all is put down to noise.
    let both = determinant > 1e-9 * nn * dd && innovation > 0.0 && drift > 0.0;
    let (innovation, drift) = if both { (innovation, drift) } else { (ns / nn, 0.0) };
    let error = sum(&|k, s| (s - innovation * share(k) - drift * k).powi(2));
    (error, Noise { autocorrelation, innovation, drift })
}

/// What a change must lower the cost by to be believed: 2 ln n, for which no change is found in a series without any as n
/// grows (Romano, Rigaill, Runge and Fearnhead 2022).
pub fn change_penalty(samples: usize) -> f64 {
    2.0 * (samples as f64).ln().max(LN_2)
}

/// The indices at which a new level begins, in order; empty when the level never changes.
///
/// DeCAFS: Romano, Rigaill, Runge and Fearnhead, "Detecting abrupt changes in the presence of local fluctuations and
/// autocorrelated noise", JASA 117 (2022). It finds the exact minimum of twice the negative log-likelihood under `noise`
/// plus `penalty` for each change. A method for independent samples would see changes in every slow wave of such noise.
///
/// # Errors
///
/// When a sample is not finite, or a parameter is outside the range that its field states.
pub fn change_points(samples: &[f64], noise: &Noise, penalty: f64) -> Result<Vec<usize>, ChangePointError> {
    let Noise { autocorrelation, innovation, drift } = *noise;
    let usable = (0.0..1.0).contains(&autocorrelation)
        && innovation > 0.0
        && innovation.is_finite()
        && drift >= 0.0
        && drift.is_finite()
        && penalty >= 0.0
        && penalty.is_finite();
    if !usable {
        return Err(ChangePointError::Parameters { noise: *noise, penalty });
    }
    if let Some(index) = samples.iter().position(|sample| !sample.is_finite()) {
        return Err(ChangePointError::NotFinite { index });
    }
    let Some((first, rest)) = samples.split_first() else {
        return Ok(Vec::new());
    };

    // Levels are looked for within the samples' range and as far again on both sides of it. Noise with a memory may put the
    // level of a short segment outside of the samples, but not that far; and parabolas that are lowest only further out
    // would be most of them.
    let (lowest, highest) = samples.iter().fold((*first, *first), |(low, high), s| (low.min(*s), high.max(*s)));
    let levels = (2.0 * lowest - highest)..(2.0 * highest - lowest);

    // The cost of the best history as a function of the level now is the lowest of a few parabolas, one for each set of
    // changes that may still turn out best. A history is the last place of `changes` in its set: (index, the one before).
    let start = Quadratic {
        vertex: *first,
        curvature: (1.0 - autocorrelation.powi(2)) / innovation,
        minimum: 0.0,
        history: None,
    };
    let mut changes: Vec<(usize, Option<usize>)> = Vec::new();
    let mut costs = vec![start];
    let mut before = *first;
    for (index, &sample) in (1..).zip(rest) {
        let mut next = Vec::with_capacity(2 * costs.len());
        for cost in costs {
            next.push(step(&cost, noise, before, sample));
            changes.push((index, cost.history));
            let changed = jump(&cost, noise, before, sample);
            next.push(Quadratic { minimum: changed.minimum + penalty, history: Some(changes.len() - 1), ..changed });
        }
        costs = lower_envelope(next, &levels);
        before = sample;
    }

    let best = costs.iter().min_by(|a, b| a.minimum.total_cmp(&b.minimum));
    let mut history = best.and_then(|best| best.history);
    let mut found = Vec::new();
    while let Some((index, earlier)) = history.and_then(|place| changes.get(place)) {
        found.push(*index);
        history = *earlier;
    }
    found.reverse();
    Ok(found)
}

/// The cost after one more sample, minimised over the level before it, when the level did not change but may have drifted.
///
/// With u the level before, m the level now, and z = sample - autocorrelation * before, it is the minimum over u of
/// cost(u) + (m - u)^2 / drift + (z - (m - autocorrelation u))^2 / innovation, a parabola in m whose coefficients are
/// written here so that a drift of 0 needs no case of its own.
fn step(cost: &Quadratic, noise: &Noise, before: f64, sample: f64) -> Quadratic {
    let Noise { autocorrelation, innovation, drift } = *noise;
    let precision = innovation.recip();
    let kept = 1.0 - autocorrelation;
    let surprise = sample - autocorrelation * before - kept * cost.vertex;
    let denominator = cost.curvature + precision * kept * kept + drift * precision * cost.curvature;
    Quadratic {
        vertex: cost.vertex + precision * surprise * (cost.curvature * drift + kept) / denominator,
        curvature: denominator / (1.0 + drift * (cost.curvature + precision * autocorrelation.powi(2))),
        minimum: cost.minimum + precision * surprise * surprise * cost.curvature / denominator,
        history: cost.history,
    }
}

/// The same when the level has changed: [`step`] for a drift without limit.
fn jump(cost: &Quadratic, noise: &Noise, before: f64, sample: f64) -> Quadratic {
    let precision = noise.innovation.recip();
    let curvature = cost.curvature;
    Quadratic {
        vertex: sample - noise.autocorrelation * (before - cost.vertex),
        curvature: precision * curvature / (curvature + precision * noise.autocorrelation.powi(2)),
        ..*cost
    }
}

/// Why changes could not be looked for.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChangePointError {
    /// A sample is infinite or not a number.
    #[error("look for changes: sample {index} is not finite")]
    NotFinite {
        /// Its place, from 0.
        index: usize,
    },
    /// No such noise exists.
    #[error("look for changes with a penalty of {penalty} under {noise:?}: a parameter is out of range")]
    Parameters {
        /// As it was given.
        noise: Noise,
        /// As it was given.
        penalty: f64,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The cost of a given set of changes, by Gaussian elimination in the normal equations of all levels at once.
    fn cost(samples: &[f64], noise: &Noise, changes: u32) -> f64 {
        let n = samples.len();
        let (a, precision) = (noise.autocorrelation, 1.0 / noise.innovation);
        // Each row is weight * (sum of coefficient * level - value)^2.
        let mut rows = vec![(precision * (1.0 - a * a), vec![(0, 1.0)], samples[0])];
        for t in 1..n {
            rows.push((precision, vec![(t, 1.0), (t - 1, -a)], samples[t] - a * samples[t - 1]));
            if changes & (1 << t) == 0 {
                rows.push((1.0 / noise.drift, vec![(t, 1.0), (t - 1, -1.0)], 0.0));
            }
        }
        let mut matrix = vec![vec![0.0; n + 1]; n];
        for (weight, terms, value) in &rows {
            for (i, x) in terms {
                for (j, y) in terms {
                    matrix[*i][*j] += weight * x * y;
                }
                matrix[*i][n] += weight * x * value;
            }
        }
        for pivot in 0..n {
            let row = matrix[pivot].clone();
            for (_, other) in matrix.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
                let factor = other[pivot] / row[pivot];
                other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            }
        }
        let level: Vec<f64> = (0..n).map(|i| matrix[i][n] / matrix[i][i]).collect();
        let square = |terms: &[(usize, f64)], value: f64| {
            (terms.iter().map(|(i, x)| x * level[*i]).sum::<f64>() - value).powi(2)
        };
        rows.iter().map(|(weight, terms, value)| weight * square(terms, *value)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn no_set_of_changes_costs_less(
            samples in prop::collection::vec(0.0..10.0f64, 2..9),
            autocorrelation in 0.0..0.9f64,
            innovation in 0.2..4.0f64,
            drift in 0.01..2.0f64,
            penalty in 0.5..6.0f64,
        ) {
            let noise = Noise { autocorrelation, innovation, drift };
            let found = change_points(&samples, &noise, penalty).unwrap();
            let total = |set: u32| cost(&samples, &noise, set) + penalty * f64::from(set.count_ones());
            let of_found = total(found.iter().map(|index| 1 << index).sum());
            for set in (0..1 << samples.len()).step_by(2) {
                prop_assert!(of_found <= total(set) + 1e-6, "{found:?} costs {of_found}, {set:b} {}", total(set));
            }
        }
    }

    #[test]
    fn the_noise_of_a_long_series_is_estimated_through_its_changes() {
        let mut random = crate::SplitMix64::new(2);
        let mut noise = 0.0;
        let series: Vec<f64> = (0..2000)
            .map(|t| {
                let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / 2.0_f64.powi(64)).sum();
                noise = 0.6 * noise + 2.0 * (sum - 6.0);
                noise + 30.0 * f64::from(t / 500)
            })
            .collect();
        let Noise { autocorrelation, innovation, drift } = Noise::estimate(&series).unwrap();
        assert!((0.5..0.7).contains(&autocorrelation), "{autocorrelation}");
        assert!((3.2..4.8).contains(&innovation), "{innovation}");
        assert!(drift < 0.2, "{drift}");
        for too_little in [&series[..11], &[1.0; 50], &[f64::NAN; 50]] {
            assert_eq!(Noise::estimate(too_little), None);
        }
    }

    #[test]
    fn unusable_input_is_refused() {
        let noise = Noise { autocorrelation: 0.5, innovation: 1.0, drift: 0.0 };
        assert_eq!(change_points(&[], &noise, 3.0), Ok(vec![]));
        assert_eq!(change_points(&[1.0, f64::NAN], &noise, 3.0), Err(ChangePointError::NotFinite { index: 1 }));
        for wrong in [
            Noise { autocorrelation: 1.0, ..noise },
            Noise { innovation: 0.0, ..noise },
            Noise { drift: -1.0, ..noise },
        ] {
            assert_eq!(
                change_points(&[1.0], &wrong, 3.0),
                Err(ChangePointError::Parameters { noise: wrong, penalty: 3.0 })
            );
        }
    }
}
