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

    /// The number of the first minute since 1970 and the requests of each from there to the last; nothing of none, nor of more than a year.
    pub(crate) fn in_order(&self) -> Option<(i64, Vec<u64>)> {
        const YEAR: i64 = 366 * 24 * 60;
        let (first, last) = (*self.counts.keys().min()?, *self.counts.keys().max()?);
        let count = |minute| self.counts.get(&minute).copied().unwrap_or(0);
        (last - first < YEAR).then(|| (first, (first..=last).map(count).collect()))
    }

    /// The first of those with the most.
    pub(crate) fn busiest(&self) -> Option<BusyMinute> {
        let (minute, requests) = self.counts.iter().max_by_key(|(minute, count)| (**count, -**minute))?;
        Some(BusyMinute { at: Timestamp::from_second(minute * 60).ok()?, requests: *requests })
    }
}
