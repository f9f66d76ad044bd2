//! Whether a difference lets a change pass.

use stampede_core::Study;
use stampede_stats::Interval;

use super::margins::noise;
use super::multiple_comparisons::Pair;
use crate::metric::{Better, primary_of};

/// What is said of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is shown to be no worse than the threshold.
    Passed,
    /// It is shown to be worse than the threshold.
    Failed,
    /// The data do not say.
    Undecided,
}

/// From the interval of the logarithm of after over before. What is no worse than the noise floor does not fail; where the floor
/// is as large as the limit, what passes must stay below it with all of the floor against it.
pub(super) fn outcome(better: Better, interval: &Interval, threshold: f64, floor: f64) -> ChangeOutcome {
    let (limit, floor) = (threshold.ln_1p(), floor.ln_1p());
    let hidden = if floor < limit { 0.0 } else { floor };
    // By how much it is worse: from at least to at most.
    let (least, most) = match better {
        Better::Higher => (-interval.high, -interval.low),
        Better::Lower => (interval.low, interval.high),
        Better::Neither => return ChangeOutcome::Undecided,
    };
    if least > limit.max(floor) {
        ChangeOutcome::Failed
    } else if most + hidden < limit {
        ChangeOutcome::Passed
    } else {
        ChangeOutcome::Undecided
    }
}

/// Whether what a gate was measured up to a block shows that the change may pass: then there is nothing left to measure, though
/// the two sides are neither equivalent nor further apart than the threshold.
pub(crate) fn passes(study: &Study, pair: &Pair<'_>, block: u32) -> bool {
    let metric = primary_of(study);
    pair.interval_until(block).is_some_and(|interval| {
        outcome(metric.better, &turned(interval), study.precision, noise(study, metric)) == ChangeOutcome::Passed
    })
}

/// Pairs hold what was before over what came after.
pub(super) fn turned(Interval { value, low, high }: Interval) -> Interval {
    Interval { value: -value, low: -high, high: -low }
}
