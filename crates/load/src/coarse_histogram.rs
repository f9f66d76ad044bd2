//! Latencies while load runs: counters that a load thread writes and anybody may read.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stampede_seam::RoughLatencies;
use stampede_seam::rough_latencies::{COUNTERS, place};

/// The counters of one thread.
#[derive(Debug)]
pub(crate) struct CoarseHistogram([AtomicU64; COUNTERS]);

impl CoarseHistogram {
    /// Counts one latency, in 20 instructions (callgrind, x86-64), whether anybody looks or not. Only the thread whose counters these are may: then no instruction has to be atomic as a whole.
    pub(crate) fn count(&self, latency: Duration) {
        if let Some(counter) = self.0.get(place(latency)) {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_to(&self, sum: &mut RoughLatencies) {
        sum.add(self.0.iter().map(|counter| counter.load(Ordering::Relaxed)));
    }
}

impl Default for CoarseHistogram {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_told_to_a_sixteenth() {
        for us in [8, 9, 100, 1_000, 1_234, 65_535, 65_536, 1_000_000, 3_600_000_000_u64] {
            let (counters, mut seen) = (CoarseHistogram::default(), RoughLatencies::new());
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
        let counters = CoarseHistogram::default();
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
