//! How much work a request is.

use std::time::Duration;

use stampede_core::{Latencies, Random};

/// How requests differ from each other.
pub trait Shape: Sync {
    /// By how much the next request is more work than the median one.
    fn draw(&self, random: &mut Random) -> f64;

    /// The mean of what is drawn.
    fn mean(&self) -> f64;
}

/// A shape as it was measured: quantiles at equal distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    /// From the smallest to the largest, relative to the median.
    points: Vec<f64>,
    mean: f64,
}

impl Quantiles {
    /// So many that the last stretch holds one request of four thousand.
    const STRETCHES: usize = 4096;

    /// The shape of measured times; `None` when there are none.
    pub fn of(latencies: &Latencies) -> Option<Self> {
        let median = latencies.quantile(0.5).as_secs_f64();
        if latencies.count() == 0 || median <= 0.0 {
            return None;
        }
        // One pass over the histogram, at steps that are nowhere wider than a stretch.
        let mut steps = latencies.percentiles(Self::STRETCHES as u32 / 2).into_iter();
        let (mut value, mut seen) = (latencies.min(), 0);
        let mut points = vec![value.as_secs_f64() / median];
        for stretch in 1..=Self::STRETCHES as u64 {
            let rank = (latencies.count() * stretch).div_ceil(Self::STRETCHES as u64);
            while seen < rank
                && let Some(step) = steps.next()
            {
                (value, seen) = (step.0, step.2);
            }
            points.push(value.as_secs_f64() / median);
        }
        let mean = points.windows(2).map(|ends| f64::midpoint(ends[0], ends[1])).sum::<f64>() / Self::STRETCHES as f64;
        Some(Self { points, mean })
    }
}

impl Shape for Quantiles {
    fn draw(&self, random: &mut Random) -> f64 {
        let place = random.uniform() * Self::STRETCHES as f64;
        let index = (place as usize).min(Self::STRETCHES - 1);
        let (low, high) = (self.points[index], self.points[index + 1]);
        low + (high - low) * (place - index as f64)
    }

    fn mean(&self) -> f64 {
        self.mean
    }
}

/// The work of the median request: CPU, and time off the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// On the CPU while it is alone.
    pub cpu: Duration,
    /// Off the CPU, however much of it there is.
    pub wait: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_the_shape_that_was_measured() {
        let mut random = Random(1);
        let mut measured = Latencies::new();
        // Exponential times of 4 ms in the mean.
        (0..200_000).for_each(|_| measured.record_ns((random.exponential() * 4e6) as u64));
        let shape = Quantiles::of(&measured).unwrap();
        let median = measured.quantile(0.5).as_secs_f64();
        let mut drawn = Latencies::new();
        (0..200_000).for_each(|_| drawn.record_ns((shape.draw(&mut random) * median * 1e9) as u64));
        for q in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            let ratio = drawn.quantile(q).as_secs_f64() / measured.quantile(q).as_secs_f64();
            assert!((ratio - 1.0).abs() < 0.06, "{q}: {ratio}");
        }
        assert!((shape.mean() * median * 1e3 - 4.0).abs() < 0.05, "{}", shape.mean());
        assert!(Quantiles::of(&Latencies::new()).is_none());
    }
}
