//! Requests, and how often each was seen.

use std::collections::HashMap;

use stampede_core::Request;

/// A request of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedRequest {
    /// What is sent.
    pub request: Request,
    /// How often it was seen.
    pub count: u64,
}

/// Requests and how often each was seen, the most frequent first; of equal ones that which came first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// The requests.
    pub requests: Vec<MixedRequest>,
}

impl Mix {
    /// Of requests without headers and body, by method and target.
    pub(crate) fn counted(counts: HashMap<(String, String), (u64, usize)>) -> Self {
        let mut counted: Vec<_> = counts.into_iter().collect();
        counted.sort_unstable_by_key(|(_, (count, place))| (std::cmp::Reverse(*count), *place));
        let requests = counted.into_iter().map(|((method, path), (count, _))| MixedRequest {
            request: Request { method, path, headers: Default::default(), body: Vec::new() },
            count,
        });
        Self { requests: requests.collect() }
    }

    /// How often all of them together were seen.
    pub fn total(&self) -> u64 {
        self.requests.iter().map(|mixed| mixed.count).sum()
    }

    /// The `most` most frequent ones, and which share of all that is.
    pub fn most_frequent(mut self, most: usize) -> (Self, f64) {
        let total = self.total();
        self.requests.truncate(most);
        let share = if total == 0 { 1.0 } else { self.total() as f64 / total as f64 };
        (self, share)
    }
}
