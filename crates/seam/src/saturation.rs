//! Whether the generator itself was measured in place of the server.
//!
//! CPU time does not tell: a generator that spins before due times is busy and punctual, and one that shares its processor
//! is idle and late. What tells is how late it begins requests, and whether its accounts agree.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::Latencies;
use thiserror::Error;

/// The generator's own delay may be this share of a response-time quantile at the same rank.
const MOST_OF_RESPONSE: f64 = 0.25;

/// Half of all requests may always be begun this late: a wake-up and a batch of events take that long.
const TOLERATED_P50: Duration = Duration::from_micros(50);

/// One request in a hundred may always be begun this late: a busy machine takes its time to run a thread again.
const TOLERATED_P99: Duration = Duration::from_millis(1);

/// A quantile is looked at when this many requests exceed it.
const EXCEEDANCES: f64 = 10.0;

/// The two sides of Little's law may differ by this share. Looks at wake-ups are coarse where a busy machine holds up the
/// thread between two of them (0.94 to 1.01 was seen); an account that loses requests is off by more.
const MOST_DISAGREEMENT: f64 = 0.2;

/// With less time in flight than this the law is too coarse: edges of a wake-up weigh too much.
const LEAST_TIME_IN_FLIGHT: Duration = Duration::from_millis(100);

/// Little's law over the window: what is in flight on average is the rate of requests times their mean time in flight.
///
/// Both sides are counted apart, one by looking at the connections whenever the engine wakes up, the other by adding up the
/// requests when they end; time outside of the window does not count. Where they differ, requests were lost from an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// Time that connections were seen with a request in flight, summed over connections.
    pub seen: Duration,
    /// Time that requests were in flight, summed over requests.
    pub summed: Duration,
}

impl LittlesLaw {
    /// The requests in flight on average, over a window of this length.
    pub fn in_flight(&self, window: Duration) -> f64 {
        self.seen.as_secs_f64() / window.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// What was seen over what was summed; 1 when the law holds, `None` when too little was in flight.
    pub fn ratio(&self) -> Option<f64> {
        (self.summed >= LEAST_TIME_IN_FLIGHT).then(|| self.seen.as_secs_f64() / self.summed.as_secs_f64())
    }
}

/// Why the figures say too much about the generator.
#[derive(Clone, Copy, Debug, Error, PartialEq, Serialize, Deserialize)]
pub enum Saturation {
    /// Requests were begun too late.
    #[error(
        "the generator began requests late: {} of its own delay at p{percentile} beside a response time of {}",
        micros(*lateness),
        micros(*response)
    )]
    Late {
        /// The percentile, 50 or 99.
        percentile: u8,
        /// How late requests were begun there.
        lateness: Duration,
        /// The response time there.
        response: Duration,
    },
    /// The two sides of Little's law differ.
    #[error(
        "the generator's accounts disagree: it saw {ratio:.2} times the time in flight that its requests add up to"
    )]
    Accounts {
        /// [`LittlesLaw::ratio`].
        ratio: f64,
    },
}

impl Saturation {
    /// Looks for the first reason, if there is one.
    pub fn find(lateness: &Latencies, response: &Latencies, littles_law: &LittlesLaw) -> Option<Self> {
        let late = [(50, 0.50, TOLERATED_P50), (99, 0.99, TOLERATED_P99)].into_iter().find_map(
            |(percentile, q, tolerated)| {
                // Where nothing was answered the delay takes part in no figure.
                let known = response.count() > 0 && lateness.count() as f64 * (1.0 - q) >= EXCEEDANCES;
                let (late, answered) = (lateness.quantile(q), response.quantile(q));
                (known && late > tolerated && late > answered.mul_f64(MOST_OF_RESPONSE)).then_some(Self::Late {
                    percentile,
                    lateness: late,
                    response: answered,
                })
            },
        );
        late.or_else(|| {
            let ratio = littles_law.ratio()?;
            ((ratio - 1.0).abs() > MOST_DISAGREEMENT).then_some(Self::Accounts { ratio })
        })
    }
}

fn micros(duration: Duration) -> String {
    format!("{:.0} us", duration.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(micros: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        for micros in micros {
            (0..1000).for_each(|_| latencies.record_ns(micros * 1000));
        }
        latencies
    }

    #[test]
    fn late_requests_count_where_they_are_a_good_part_of_the_response_time() {
        let holds = LittlesLaw { seen: Duration::from_secs(1), summed: Duration::from_secs(1) };
        let percentile = |lateness: &[u64], response: &[u64]| match Saturation::find(
            &latencies(lateness),
            &latencies(response),
            &holds,
        ) {
            Some(Saturation::Late { percentile, .. }) => Some(percentile),
            other => {
                assert_eq!(other, None);
                None
            }
        };
        assert_eq!(percentile(&[], &[]), None);
        assert_eq!(percentile(&[40], &[50]), None);
        assert_eq!(percentile(&[60], &[100]), Some(50));
        assert_eq!(percentile(&[60], &[10_000]), None);
        assert_eq!(percentile(&[1, 1, 900], &[100, 100, 1000]), None);
        assert_eq!(percentile(&[1, 1, 5000], &[100, 100, 5100]), Some(99));
        let late = Saturation::find(&latencies(&[60]), &latencies(&[100]), &holds).unwrap().to_string();
        assert_eq!(
            late,
            "the generator began requests late: 60 us of its own delay at p50 beside a response time of 100 us"
        );
    }

    #[test]
    fn accounts_that_disagree_are_found() {
        let ms = Duration::from_millis(1);
        let find = |seen, summed| {
            let law = LittlesLaw { seen: seen * ms, summed: summed * ms };
            Saturation::find(&latencies(&[]), &latencies(&[]), &law)
        };
        assert_eq!(find(1000, 1040), None);
        assert_eq!(find(1000, 500), Some(Saturation::Accounts { ratio: 2.0 }));
        assert_eq!(find(10, 20), None);
    }
}
