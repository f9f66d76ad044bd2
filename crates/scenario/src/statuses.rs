//! Which statuses are right.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A set of statuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// All statuses in any of these ranges.
    pub fn new(ranges: Vec<RangeInclusive<u16>>) -> Self {
        Self(ranges)
    }

    /// One status.
    pub fn only(status: u16) -> Self {
        Self(vec![status..=status])
    }

    /// Whether a status is one of them.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// The status, where there is but one.
    pub fn single(&self) -> Option<u16> {
        match self.0.as_slice() {
            [range] if range.start() == range.end() => Some(*range.start()),
            _ => None,
        }
    }
}
