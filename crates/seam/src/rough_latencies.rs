//! Latencies while load runs, for whoever watches: to a sixteenth, in a few counters. What is measured does not come from here.

use std::array;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counters for each doubling: neighbours are an eighth apart.
const STEPS: u64 = 8;
/// How many counters there are: from 1 us to 2^32 us, more than an hour.
pub const COUNTERS: usize = 32 * STEPS as usize;

/// How many requests took how long, warm-up included, from when they were due to the end of their answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoughLatencies(#[serde(with = "counters")] [u64; COUNTERS]);

/// Serde knows no array of this length.
mod counters {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use super::COUNTERS;

    pub(super) fn serialize<S: Serializer>(counters: &[u64; COUNTERS], serializer: S) -> Result<S::Ok, S::Error> {
        counters.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; COUNTERS], D::Error> {
        let counters = Vec::<u64>::deserialize(deserializer)?;
        let length = counters.len();
        counters.try_into().map_err(|_| de::Error::invalid_length(length, &"as many counters as there are"))
    }
}

impl RoughLatencies {
    /// None at all.
    pub fn new() -> Self {
        Self([0; COUNTERS])
    }

    /// Adds counters of this number and spacing, as a thread has them.
    pub fn add(&mut self, counters: impl IntoIterator<Item = u64>) {
        self.0.iter_mut().zip(counters).for_each(|(sum, more)| *sum += more);
    }

    /// Adds those of another generator.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.0);
    }

    /// What came since an earlier look.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(array::from_fn(|place| self.0[place].saturating_sub(earlier.0[place])))
    }

    /// The latency that a share `q` (0 to 1) of all do not exceed, give or take a sixteenth; none where there is none.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().sum();
        let wanted = ((q.clamp(0.0, 1.0) * all as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        place.map(middle)
    }
}

impl Default for RoughLatencies {
    fn default() -> Self {
        Self::new()
    }
}

/// Which of the [`COUNTERS`] counts a latency.
pub fn place(latency: Duration) -> usize {
    let us = latency.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(latency.subsec_micros()));
    let us = us.clamp(1, u64::from(u32::MAX));
    let doublings = u64::from(us.ilog2());
    // The three digits after the first, in binary.
    let step = (us << 3 >> doublings) & (STEPS - 1);
    (doublings * STEPS + step) as usize
}

fn middle(place: usize) -> Duration {
    let (doublings, step) = (place as u64 / STEPS, place as u64 % STEPS);
    let us = (STEPS as f64 + step as f64 + 0.5) / STEPS as f64 * (1_u64 << doublings) as f64;
    Duration::from_secs_f64(us / 1e6)
}
