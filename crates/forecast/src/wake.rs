//! What it costs a request that its instance had nothing to do before.

use std::time::Duration;

/// What was measured after so long a time without any request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// The typical time without any request.
    pub idle: Duration,
    /// CPU time that the next request takes beside its work.
    pub cpu: Duration,
    /// Time off the CPU that it takes beside.
    pub wait: Duration,
}

/// How an instance that was idle is slower: its processor slept, its caches were given to others, its process has to be woken.
/// On a line over the logarithm of the time between what was measured, and level beyond.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wake {
    /// Logarithm of nanoseconds, CPU and other nanoseconds; the shortest time first.
    points: Vec<(f64, f64, f64)>,
}

impl Wake {
    /// From what was measured, in any order.
    pub fn new(measured: &[Waking]) -> Self {
        let ns = |time: Duration| time.as_nanos() as f64;
        let point = |waking: &Waking| (ns(waking.idle).max(1.0).ln(), ns(waking.cpu), ns(waking.wait));
        let mut points: Vec<_> = measured.iter().map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { points }
    }

    /// CPU and other nanoseconds of a request that comes after so many nanoseconds without any.
    pub(crate) fn after(&self, idle: u64) -> (f64, f64) {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return (0.0, 0.0) };
        let place = (idle.max(1) as f64).ln();
        let place = place.clamp(first.0, last.0);
        let after = self.points.partition_point(|point| point.0 <= place);
        let low = self.points[after.saturating_sub(1)];
        let Some(high) = self.points.get(after) else { return (last.1, last.2) };
        let share = (place - low.0) / (high.0 - low.0);
        (low.1 + (high.1 - low.1) * share, low.2 + (high.2 - low.2) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_what_was_measured_it_is_a_line_over_the_logarithm() {
        let at = |idle_us, cpu_us, wait_us| {
            let us = Duration::from_micros;
            Waking { idle: us(idle_us), cpu: us(cpu_us), wait: us(wait_us) }
        };
        let wake = Wake::new(&[at(10_000, 300, 60), at(100, 0, 0), at(1_000, 100, 20)]);
        for (idle_us, cpu_us, wait_us) in
            [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (316.227_766, 50.0, 10.0), (1_000.0, 100.0, 20.0), (1e9, 300.0, 60.0)]
        {
            let (cpu, wait) = wake.after((idle_us * 1e3) as u64);
            assert!((cpu / 1e3 - cpu_us).abs() < 0.01, "{idle_us}: {cpu}");
            assert!((wait / 1e3 - wait_us).abs() < 0.01, "{idle_us}: {wait}");
        }
        assert_eq!(Wake::default().after(1_000_000), (0.0, 0.0));
    }
}
