//! Two sequences side by side, in a time that is bounded.

use std::hash::Hash;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Aligns sequences until its time is over. Two long ones that have little in common would take the square of their length; what
/// is left then counts as different.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alignment {
    until: Instant,
}

impl Alignment {
    /// One that takes so long at most, all its sequences together.
    pub(crate) fn within(time: Duration) -> Self {
        Self { until: Instant::now() + time }
    }

    /// What is the same in both, and what is not, in order.
    pub(crate) fn of<T: Hash + Ord>(self, old: &[T], new: &[T]) -> Vec<DiffOp> {
        capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(self.until))
    }
}
