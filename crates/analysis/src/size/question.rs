//! What a size must hold.

use super::grid::{SizeCell, SizeOutcome, SizeRole};

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
    /// By runtime, after how many requests it replaces a worker; 0, or absent, where it never does.
    pub recycles: Vec<u64>,
}

impl SizeQuestion {
    /// Requests a second with the headroom.
    pub fn sized_rate(&self) -> f64 {
        self.rate * (1.0 + self.headroom)
    }

    /// Requests a second that a replica of a size must take: those of the side where it has least room.
    pub(super) fn rate_of(&self, cell: &SizeCell) -> f64 {
        match cell.hardest(self.headroom) {
            SizeRole::Gone => self.rate / f64::from(cell.replicas.saturating_sub(cell.spare).max(1)),
            _ => self.sized_rate() / f64::from(cell.replicas.max(1)),
        }
    }

    /// Whether a trial of this role is one where a size has least room.
    pub(super) fn is_hardest(&self, cell: &SizeCell, role: SizeRole) -> bool {
        role == SizeRole::Search || role == cell.hardest(self.headroom)
    }

    /// Whether a trial of a search held the objective.
    #[must_use]
    pub fn is_held(&self, outcome: &SizeOutcome) -> bool {
        outcome.figures().is_some_and(|figures| {
            let errors = figures.failed as f64 / (figures.requests as f64).max(1.0);
            figures.times < 1.0 && self.errors.is_none_or(|allowed| errors < allowed)
        })
    }
}
