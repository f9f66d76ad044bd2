//! What a study holds about one case.

use stampede_core::{Case, Estimate, Measurement, Outcome, Study, Trial};
use stampede_stats::{Confidence, mean, mean_interval};

use crate::metric::Metric;

/// A case with its trials.
pub(crate) struct Record<'a> {
    /// The study that it is part of.
    pub(crate) study: &'a Study,
    /// The case.
    pub(crate) case: &'a Case,
    /// All its trials, also those that failed.
    pub(crate) trials: Vec<&'a Trial>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(study: &'a Study, case: &'a Case, trials: &'a [Trial]) -> Self {
        Self { study, case, trials: trials.iter().filter(|trial| trial.case == case.id).collect() }
    }

    /// The trials that count.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(|trial| trial.outcome == Outcome::Measured)
    }

    /// What was measured, in all trials that came so far: also in those that turned out invalid.
    pub(crate) fn measurements(&self) -> impl Iterator<Item = &'a Measurement> {
        self.trials.iter().filter_map(|trial| trial.measurement.as_ref())
    }
}

/// The mean of a metric over the trials that count, with its interval; none where one of them lacks it.
pub(crate) fn estimate(metric: &Metric, record: &Record<'_>) -> Option<Estimate> {
    let values: Vec<f64> = record.measured().map(metric.reader).collect::<Option<_>>()?;
    let interval = mean_interval(&values, Confidence::P95).ok();
    Some(Estimate {
        value: mean(&values)?,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        n: values.len() as u32,
    })
}
