//! What a size must hold.

use super::grid::SizeOutcome;

/// What is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeQuestion {
    /// Requests a second.
    pub rate: f64,
    /// By how much more of them it must hold, as a share.
    pub headroom: f64,
    /// The share of requests that may be beyond the limit of the response time.
    pub beyond: f64,
    /// That limit, in seconds.
    pub below: f64,
    /// The share of requests that may have no right answer, if the objective has that term.
    pub errors: Option<f64>,
    /// Sizes that are tried at most.
    pub most_cells: usize,
}

impl SizeQuestion {
    /// Requests a second with the headroom.
    pub fn sized_rate(&self) -> f64 {
        self.rate * (1.0 + self.headroom)
    }

    /// Whether a trial of a search held the objective.
    pub(super) fn is_held(&self, outcome: &SizeOutcome) -> bool {
        outcome.figures().is_some_and(|figures| {
            let errors = figures.failed as f64 / (figures.requests as f64).max(1.0);
            figures.times < 1.0 && self.errors.is_none_or(|allowed| errors < allowed)
        })
    }
}
