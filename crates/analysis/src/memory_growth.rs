//! How memory grows within a window, by time and by request, and whether it levels off.

use std::time::Duration;

use stampede_core::{Gauge, Measurement, Series, SeriesSource};
use stampede_stats::{Confidence, Interval, Trend, mann_kendall, median};

/// Less growth of memory within a window is not worth a word.
const NOTABLE: f64 = 0.02;

/// Growth is reported when chance would make a trend this strong in fewer windows than this.
const CHANCE: f64 = 0.001;

/// So many samples of a window tell whether it grew.
const SAMPLES: usize = 200;

/// In shorter windows a server that has just started is still taking its memory.
const LEAST_WINDOW: Duration = Duration::from_secs(5);

/// Growth that goes on is in a window's second half at least this share of what it is in the first, and from each quarter to the
/// next at least that share of the mean: what came at once does not go on.
const GOES_ON: f64 = 0.5;
const EACH_QUARTER: f64 = 0.2;

/// By how much the memory that programs keep grew in a window: anonymous and shared. What the kernel has is no part of it: with each file
/// that is made (a session) it remembers its name and place, and gives that up when memory is short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryGrowth {
    /// In bytes, by the slope of Theil and Sen.
    pub bytes: f64,
    /// As a share of the median.
    pub share: f64,
    /// For each request that was answered, in bytes, with the 95 % interval of that slope.
    pub each: Interval,
    /// Whether it is worth a word: by 2 % or more, and a trend that chance makes in fewer than one of 1,000 windows.
    pub is_notable: bool,
    /// Whether it did not level off: the second half of the window grew as surely, and at least half as much as the first, and each
    /// quarter added its part.
    pub goes_on: bool,
    /// The length of the window.
    pub window: Duration,
}

impl MemoryGrowth {
    /// That of a window; nothing where memory was not sampled, or too rarely.
    #[must_use]
    pub fn of(measured: &Measurement) -> Option<Self> {
        let sampling = measured.sampling.as_ref()?;
        let group = sampling.series.iter().find(|series| series.source == SeriesSource::Group)?;
        let memory = kept(group);
        let step = memory.len().div_ceil(SAMPLES).max(1);
        let memory: Vec<f64> = memory.into_iter().step_by(step).collect();
        let trend = mann_kendall(&memory, Confidence::P95).ok()?;
        let whole = |slope: f64| slope * (memory.len() - 1) as f64;
        let bytes = whole(trend.slope.value);
        let share = bytes / median(&memory).filter(|level| *level > 0.0)?;
        let requests = (measured.requests.ok + measured.requests.failed) as f64;
        let each = |slope: f64| if requests > 0.0 { whole(slope) / requests } else { 0.0 };
        let Interval { value, low, high } = trend.slope;
        Some(Self {
            bytes,
            share,
            each: Interval { value: each(value), low: each(low), high: each(high) },
            is_notable: rises(&trend) && share >= NOTABLE,
            goes_on: goes_on(&memory),
            window: measured.window,
        })
    }

    /// Whether it is long enough for what it says: in windows of less than 5 s a server still takes its memory.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.window >= LEAST_WINDOW
    }
}

fn rises(trend: &Trend) -> bool {
    trend.tau > 0.0 && trend.p_value < CHANCE
}

fn goes_on(memory: &[f64]) -> bool {
    let (first, second) = memory.split_at(memory.len() / 2);
    let [Ok(first), Ok(second)] = [first, second].map(|half| mann_kendall(half, Confidence::P95)) else { return false };
    let quarters: Vec<f64> = memory.chunks(memory.len().div_ceil(4)).filter_map(median).collect();
    let added: Vec<f64> = quarters.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)).collect();
    let mean = added.iter().sum::<f64>() / added.len().max(1) as f64;
    rises(&second)
        && second.slope.value >= GOES_ON * first.slope.value
        && added.iter().all(|added| *added >= EACH_QUARTER * mean)
}

/// Anonymous and shared memory of each sample that tells both.
fn kept(group: &Series) -> Vec<f64> {
    let column = |gauge| group.columns.get(&gauge);
    let [Some(anonymous), Some(shared)] = [Gauge::AnonymousBytes, Gauge::SharedBytes].map(column) else {
        return Vec::new();
    };
    anonymous.iter().zip(shared).filter_map(|(a, s)| Some((*a)? as f64 + (*s)? as f64)).collect()
}

#[cfg(test)]
mod tests {
    use stampede_core::Sampling;

    use super::*;
    use crate::samples;

    /// 10 s with ten samples each, of 10,000 requests.
    fn growth(level: impl Fn(u64) -> u64) -> MemoryGrowth {
        growth_beside(level, |_| 0)
    }

    /// The same with this much of the kernel's.
    fn growth_beside(level: impl Fn(u64) -> u64, kernel: impl Fn(u64) -> u64) -> MemoryGrowth {
        let mut group = Series::new(SeriesSource::Group);
        for tick in 0..100 {
            let figures = [
                (Gauge::AnonymousBytes, level(tick)),
                (Gauge::SharedBytes, 1 << 20),
                (Gauge::KernelBytes, kernel(tick)),
            ];
            group.push(Duration::from_millis(100 * tick), &figures);
        }
        let mut measured = samples::measured("a", 1, 2_000.0).measurement.unwrap();
        measured.sampling = Some(Sampling { series: vec![group], ..Sampling::default() });
        MemoryGrowth::of(&measured).unwrap()
    }

    #[test]
    fn what_grows_with_each_request_goes_on_and_what_fills_up_does_not() {
        let start = 20 << 20;
        let leak = growth(|tick| start + tick * 100_000 + tick % 3 * 4_096);
        assert!(leak.is_notable && leak.goes_on && leak.is_long(), "{leak:?}");
        assert!((leak.each.value / (99.0 * 100_000.0 / 10_000.0) - 1.0).abs() < 0.01, "{leak:?}");
        assert!(leak.each.low <= leak.each.value && leak.each.value <= leak.each.high, "{leak:?}");
        // A session of each request: 1.5 KiB of the kernel's for its file.
        let sessions = growth_beside(|tick| start + tick % 3 * 4_096, |tick| tick * 150_000);
        assert!(!sessions.is_notable && !sessions.goes_on, "{sessions:?}");
        // Workers that take their memory with their first requests, and a cache that fills: 63 % after 2 s.
        let fills = growth(|tick| start + (8e6 * (1.0 - (-(tick as f64) / 20.0).exp())) as u64);
        assert!(fills.is_notable && !fills.goes_on, "{fills:?}");
        // Garbage that is collected every 5 s.
        let saw = growth(|tick| start + tick % 50 * 100_000);
        assert!(!saw.is_notable || !saw.goes_on, "{saw:?}");
        for at in [20, 50, 80] {
            let step = growth(|tick| start + if tick < at { 0 } else { 4 << 20 });
            assert!(!step.goes_on, "at {at}: {step:?}");
        }
        let level = growth(|tick| start + tick % 3 * 4_096);
        assert!(!level.is_notable && !level.goes_on, "{level:?}");
    }
}
