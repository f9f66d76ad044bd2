//! When samples are taken.

use std::time::Duration;

use stampede_stats::SplitMix64;

/// Instants at a rate, each at random within its own stretch of time, so that nothing in a program that repeats itself is in
/// step with them. The same seed gives the same ones.
#[derive(Clone, Debug)]
pub struct JitteredInstants {
    random: SplitMix64,
    period: Duration,
    stretch: u32,
}

impl JitteredInstants {
    /// So many instants a second, which is not 0.
    pub fn new(seed: u64, per_second: u32) -> Self {
        Self { random: SplitMix64::new(seed), period: period(per_second), stretch: 0 }
    }

    /// Whether an instant is over by more than a period: what is seen now belongs to later ones, or to no time of the window.
    pub fn is_missed(instant: Duration, now: Duration, per_second: u32) -> bool {
        now.saturating_sub(instant) > period(per_second)
    }
}

fn period(per_second: u32) -> Duration {
    Duration::from_secs(1) / per_second.max(1)
}

impl Iterator for JitteredInstants {
    type Item = Duration;

    /// The next, counted from the beginning.
    fn next(&mut self) -> Option<Duration> {
        let within = self.random.index(usize::try_from(self.period.as_nanos()).unwrap_or(usize::MAX)) as u64;
        let instant = self.period * self.stretch + Duration::from_nanos(within);
        self.stretch = self.stretch.checked_add(1)?;
        Some(instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_has_one_instant_and_seeds_repeat_them() {
        let instants: Vec<_> = JitteredInstants::new(7, 99).take(990).collect();
        let period = Duration::from_secs(1) / 99;
        for (index, instant) in (0..).zip(&instants) {
            assert!((period * index..period * (index + 1)).contains(instant), "{index}: {instant:?}");
        }
        assert_eq!(instants, JitteredInstants::new(7, 99).take(990).collect::<Vec<_>>());
        assert_ne!(instants, JitteredInstants::new(8, 99).take(990).collect::<Vec<_>>());
        // The mean of 990 uniform numbers is 1/2 give or take 0.01 (a standard error).
        let within: f64 = (0..).zip(&instants).map(|(i, at)| (*at - period * i).div_duration_f64(period)).sum();
        assert!((within / 990.0 - 0.5).abs() < 0.04, "{within}");
    }

    #[test]
    fn an_instant_that_is_over_has_no_sample() {
        let ms = Duration::from_millis;
        for (instant, now, expected) in [(100, 99, false), (100, 100, false), (100, 109, false), (100, 112, true)] {
            let is_missed = JitteredInstants::is_missed(ms(instant), ms(now), 99);
            assert_eq!(is_missed, expected, "{instant} ms at {now} ms");
        }
    }
}
