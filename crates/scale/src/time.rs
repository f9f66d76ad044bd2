//! Points in time that whoever drives the state machines passes in.

use std::time::Duration;

/// Nanoseconds since the platform came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// When the platform came up.
    pub const START: Self = Self(0);
    /// Later than all that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds since [`Time::START`].
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since [`Time::START`].
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since [`Time::START`].
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This much later; never later than [`Time::NEVER`].
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time that has passed since an earlier point; zero when that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
