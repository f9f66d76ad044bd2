//! When most came.

use std::collections::HashMap;

use jiff::Timestamp;

/// The minute of a log with the most requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusyMinute {
    /// When it begins.
    pub at: Timestamp,
    /// Requests in it, those that are left out of the mix included.
    pub requests: u64,
}

impl BusyMinute {
    /// Requests a second in it.
    pub fn per_second(&self) -> f64 {
        self.requests as f64 / 60.0
    }
}

/// Requests of each minute.
#[derive(Debug, Default)]
pub(crate) struct Minutes {
    counts: HashMap<i64, u64>,
}

impl Minutes {
    pub(crate) fn count(&mut self, at: Timestamp) {
        *self.counts.entry(at.as_second().div_euclid(60)).or_default() += 1;
    }

    /// The first of those with the most.
    pub(crate) fn busiest(&self) -> Option<BusyMinute> {
        let (minute, requests) = self.counts.iter().max_by_key(|(minute, count)| (**count, -**minute))?;
        Some(BusyMinute { at: Timestamp::from_second(minute * 60).ok()?, requests: *requests })
    }
}
