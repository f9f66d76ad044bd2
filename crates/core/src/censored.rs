//! Latencies that are not known in full.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Requests that have no end: they timed out, or were unfinished when the load was over.
///
/// They enter a distribution of latencies at their age, since leaving out the slowest would make a server look faster. What
/// they would have become is only known to be more, so that some quantiles are lower bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Censored {
    /// How many.
    pub count: u64,
    /// The smallest of their ages, `None` when there is none.
    pub least: Option<Duration>,
}

impl Censored {
    /// Adds one of this age.
    pub fn add(&mut self, age: Duration) {
        self.merge(Self { count: 1, least: Some(age) });
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Self) {
        let Self { count, least } = other;
        self.count += count;
        self.least = self.least.into_iter().chain(least).min();
    }

    /// Whether a quantile of this size, read from the distribution that holds the ages, is only a lower bound: below the
    /// smallest age all latencies are known.
    pub fn bounds(&self, quantile: Duration) -> bool {
        self.least.is_some_and(|least| quantile >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_from_the_smallest_age_on_are_bounds() {
        let second = Duration::from_secs(1);
        let mut censored = Censored::default();
        assert!(!censored.bounds(Duration::MAX));
        censored.merge(Censored::default());
        for age in [3, 2, 4] {
            censored.add(age * second);
        }
        assert_eq!(censored, Censored { count: 3, least: Some(2 * second) });
        assert!(!censored.bounds(second));
        assert!(censored.bounds(2 * second) && censored.bounds(5 * second));
    }
}
