//! How large a difference must be, and how often it must be measured, before it says anything.

use stampede_core::{Study, StudyKind};
use stampede_stats::Margins;

use crate::metric::{Metric, primary_of};

/// Fewer blocks than this decide nothing.
pub const MIN_BLOCKS: usize = 3;

/// The noise floor of a metric. A machine that was not calibrated for such a study has none.
pub(crate) fn noise(study: &Study, metric: &Metric) -> f64 {
    let noise = study.groundwork.floor.as_ref().and_then(|floor| floor.metrics.get(metric.key));
    noise.map_or(0.0, |floor| floor.share)
}

/// The noise floor of a study where it is as large as the precision: a bias that may be so large may hide a difference as large, and
/// nothing is shown to be equivalent.
pub fn hides_precision(study: &Study) -> Option<f64> {
    Some(noise(study, primary_of(study))).filter(|noise| *noise >= study.precision)
}

/// How large a difference must be.
pub(crate) fn margins(study: &Study) -> Margins {
    let noise = noise(study, primary_of(study));
    let floor = match study.kind {
        StudyKind::Compare
        | StudyKind::Calibrate
        | StudyKind::Capacity
        | StudyKind::Why
        | StudyKind::Tune
        | StudyKind::Scale
        | StudyKind::OwnRates => noise,
        // A gate asks for differences beyond what may pass.
        StudyKind::Gate => noise.max(study.precision),
    };
    let precision = if hides_precision(study).is_none() { study.precision } else { 0.0 };
    Margins { floor, precision }
}
