//! What the points that were tried tell of the others.

use stampede_stats::{GaussianProcess, expected_improvement, mean};

use super::space::{Point, Space, Tried};

/// How many levels of a size apart two points tell little of each other: the length scale of a squared exponential.
const LEVELS: f64 = 1.5;

/// The correlation of two words of a choice.
const WORDS: f64 = 0.6;

/// The standard deviation of a score that a race of some blocks ends with.
const NOISE: f64 = 0.05;

/// Scores are no further below the best one than this, a seventh of the figure: how wrong the wrong settings are tells nothing of the
/// right ones.
const DEEPEST: f64 = 2.0;

/// A Gaussian process over a space, by whose covariance knobs act alike wherever the others stand, and the less so the further
/// apart. Its few numbers are the same in every search: there are too few points to learn them from.
#[derive(Clone, Debug)]
pub(super) struct Surrogate<'a> {
    space: &'a Space,
    tried: &'a [Tried],
    /// The mean of all scores.
    mean: f64,
    /// The variance of a score.
    variance: f64,
    process: GaussianProcess,
    /// The best of what is believed of the points that were tried.
    best: f64,
}

impl<'a> Surrogate<'a> {
    /// From points and their scores; what did not work is believed to be as bad as the worst that did. None where nothing did.
    pub(super) fn of(space: &'a Space, tried: &'a [Tried]) -> Option<Self> {
        let worked = || tried.iter().filter_map(|tried| tried.score);
        let best = worked().reduce(f64::max)?;
        let worst = worked().fold(best, f64::min).max(best - DEEPEST);
        let scores: Vec<f64> = tried.iter().map(|tried| tried.score.map_or(worst, |score| score.max(worst))).collect();
        let mean = mean(&scores)?;
        let values: Vec<f64> = scores.iter().map(|score| score - mean).collect();
        let spread = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        let variance = spread.max(NOISE * NOISE);
        let covariance = |a: usize, b: usize| variance * correlation(space, &tried[a].point, &tried[b].point);
        let process = GaussianProcess::of(&values, covariance, NOISE * NOISE)?;
        let mut surrogate = Self { space, tried, mean, variance, process, best: f64::NEG_INFINITY };
        surrogate.best = tried.iter().map(|tried| surrogate.at(&tried.point).0).fold(f64::NEG_INFINITY, f64::max);
        Some(surrogate)
    }

    /// By how much a point is expected to be better than the best one.
    pub(super) fn improvement(&self, point: &Point) -> f64 {
        let (mean, deviation) = self.at(point);
        expected_improvement(mean, deviation, self.best)
    }

    fn at(&self, point: &Point) -> (f64, f64) {
        let covariances: Vec<f64> =
            self.tried.iter().map(|tried| self.variance * correlation(self.space, &tried.point, point)).collect();
        let (value, deviation) = self.process.at(&covariances, self.variance);
        (self.mean + value, deviation)
    }
}

/// Of the scores of two points: a product over the knobs in which they differ.
fn correlation(space: &Space, a: &Point, b: &Point) -> f64 {
    let of_knob = |((a, b), ordered): ((&usize, &usize), bool)| match (a == b, ordered) {
        (true, _) => 1.0,
        (false, true) => (-0.5 * (a.abs_diff(*b) as f64 / LEVELS).powi(2)).exp(),
        (false, false) => WORDS,
    };
    a.iter().zip(b).zip(space.knobs.iter().map(|knob| knob.ordered)).map(of_knob).product()
}

#[cfg(test)]
mod tests {
    use stampede_core::Role;

    use super::super::space::Knob;
    use super::*;

    fn space() -> Space {
        let knob = |name: &str, levels: usize, ordered| Knob {
            name: name.to_owned(),
            role: Role::PoolSize,
            levels: (0..levels).map(|level| level.to_string()).collect(),
            ordered,
        };
        Space { knobs: vec![knob("workers", 8, true), knob("mode", 3, false)], default: vec![0, 0] }
    }

    fn tried(scores: &[([usize; 2], Option<f64>)]) -> Vec<Tried> {
        scores.iter().map(|(point, score)| Tried { point: point.to_vec(), score: *score }).collect()
    }

    #[test]
    fn what_lies_beside_good_points_and_off_bad_ones_is_expected_to_gain_most() {
        let space = space();
        let tried = tried(&[([1, 0], Some(5.0)), ([3, 0], Some(5.6)), ([7, 0], Some(5.1)), ([1, 1], Some(4.4))]);
        let surrogate = Surrogate::of(&space, &tried).unwrap();
        let gain = |workers: usize, mode: usize| surrogate.improvement(&vec![workers, mode]);
        assert!(gain(4, 0) > gain(2, 0) && gain(2, 0) > gain(0, 0), "{surrogate:?}");
        assert!(gain(4, 2) > gain(4, 1), "a mode that was worse is worse elsewhere too");
        assert!(gain(3, 0) < gain(4, 0), "a point that was tried has little to gain");
    }

    #[test]
    fn what_failed_or_missed_its_limit_keeps_others_away_and_no_more() {
        let space = space();
        let with = |score: Option<f64>| {
            let tried = tried(&[([1, 0], Some(5.0)), ([3, 0], Some(5.6)), ([5, 0], score)]);
            Surrogate::of(&space, &tried).unwrap().improvement(&vec![6, 0])
        };
        assert!(with(None) < with(Some(5.4)));
        assert!((with(Some(-9.0)) - with(Some(3.6))).abs() < 1e-12, "however wrong");
        assert!(Surrogate::of(&space, &tried(&[([1, 0], None)])).is_none());
    }
}
