//! Latencies while load runs, for whoever watches: to a sixteenth, in a few counters that a load thread writes and anybody
//! may read. What is measured does not come from here.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters for each doubling: neighbours are an eighth apart.
const STEPS: u64 = 8;
/// From 1 us to 2^32 us, more than an hour.
const COUNTERS: usize = 32 * STEPS as usize;

/// How many requests took how long, warm-up included, from when they were due to the end of their answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoughLatencies([u64; COUNTERS]);

impl RoughLatencies {
    /// None at all.
    pub fn new() -> Self {
        Self([0; COUNTERS])
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

/// The counters of one thread.
#[derive(Debug)]
pub(crate) struct RoughCounters([AtomicU64; COUNTERS]);

impl RoughCounters {
    /// Counts one latency, in 20 instructions (callgrind, x86-64), whether anybody looks or not. Only the thread whose counters these are may: then no instruction has to be atomic as a whole.
    pub(crate) fn count(&self, latency: Duration) {
        if let Some(counter) = self.0.get(place(latency)) {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_to(&self, sum: &mut RoughLatencies) {
        for (sum, counter) in sum.0.iter_mut().zip(&self.0) {
            *sum += counter.load(Ordering::Relaxed);
        }
    }
}

impl Default for RoughCounters {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }
}

fn place(latency: Duration) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_told_to_a_sixteenth() {
        for us in [8, 9, 100, 1_000, 1_234, 65_535, 65_536, 1_000_000, 3_600_000_000_u64] {
            let (counters, mut seen) = (RoughCounters::default(), RoughLatencies::new());
            counters.count(Duration::from_micros(us));
            counters.add_to(&mut seen);
            let told = seen.quantile(0.99).unwrap().as_secs_f64() * 1e6;
            assert!((told / us as f64 - 1.0).abs() <= 1.0 / 16.0, "{us} us: {told}");
        }
        for extreme in [Duration::ZERO, Duration::MAX] {
            assert!(place(extreme) < COUNTERS);
        }
    }

    #[test]
    fn quantiles_are_of_what_came_since() {
        let counters = RoughCounters::default();
        let look = || {
            let mut seen = RoughLatencies::new();
            counters.add_to(&mut seen);
            seen
        };
        assert_eq!(look().quantile(0.5), None);
        (0..90).for_each(|_| counters.count(Duration::from_millis(1)));
        (0..10).for_each(|_| counters.count(Duration::from_millis(100)));
        let first = look();
        let near = |told: Option<Duration>, ms: f64| (told.unwrap().as_secs_f64() * 1e3 / ms - 1.0).abs() <= 1.0 / 16.0;
        assert!(near(first.quantile(0.9), 1.0) && near(first.quantile(0.91), 100.0) && near(first.quantile(0.0), 1.0));
        counters.count(Duration::from_millis(10));
        assert!(near(look().since(&first).quantile(0.99), 10.0));
        assert_eq!(look().since(&look()).quantile(0.99), None);
    }
}
