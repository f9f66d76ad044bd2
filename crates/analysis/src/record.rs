//! What a study holds about one case.

use stampede_core::{Case, Measurement, Outcome, Study, Trial};

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
