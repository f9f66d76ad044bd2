//! The time that a study has: no block begins that would not fit, and what has begun when it is over is not completed.

use std::time::Duration;

use stampede_analysis::time_left;
use stampede_core::{Study, Trial};
use stampede_seam::{Moment, Vantage};

/// Until when a study may measure.
pub(crate) struct TimeLimit<'a> {
    vantage: &'a dyn Vantage,
    /// None of a study whose rounds are a number.
    until: Option<Moment>,
    /// The most that a trial has taken so far, with its part of what comes before and after the trials of a block.
    each: Duration,
}

impl<'a> TimeLimit<'a> {
    /// That of a study which goes on now, after these trials.
    pub(crate) fn of(study: &Study, trials: &[Trial], vantage: &'a dyn Vantage) -> Self {
        let until = time_left(study, trials, vantage.timestamp()).map(|left| vantage.now() + left);
        let warm_up = study.cases.iter().map(|case| study.warm_up_of(&case.id)).min().unwrap_or(study.warm_up);
        Self { vantage, until, each: warm_up + study.duration }
    }

    /// Whether a block of so many trials may end in time; before the first block, by what they load for.
    pub(crate) fn has_room_for(&self, trials: usize) -> bool {
        self.until.is_none_or(|until| self.vantage.now() + self.each * trials as u32 <= until)
    }

    /// Measures a block of so many trials. `None` when the time is over before that: what was under way is dropped.
    pub(crate) async fn within<T>(&mut self, trials: usize, block: impl Future<Output = T>) -> Option<T> {
        let Some(until) = self.until else { return Some(block.await) };
        let began = self.vantage.now();
        let measured = tokio::select! {
            measured = block => Some(measured),
            () = self.vantage.sleep_until(until) => None,
        };
        self.each = self.each.max(self.vantage.now().since(began) / trials.max(1) as u32);
        measured
    }
}
