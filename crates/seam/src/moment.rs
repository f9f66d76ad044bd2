//! Instants of a vantage's clock.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: the time since a vantage's clock began. Moments of two vantages have nothing to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(Duration);

impl Moment {
    /// The beginning of the clock.
    pub const START: Self = Self(Duration::ZERO);

    /// The moment so long after the beginning of the clock.
    pub const fn new(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The time since the beginning of the clock.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// The time since another moment; zero where that is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}
