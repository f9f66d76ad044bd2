//! Figures that other tools print and a result does not hold as such.

use std::time::Duration;

use stampede_core::{ErrorClass, Latencies, Load};
use stampede_seam::LoadResult;

/// Complete answers, whatever their status.
pub(crate) fn answered(result: &LoadResult) -> u64 {
    result.total.status.values().sum()
}

/// Failures without a complete answer.
pub(crate) fn lost(result: &LoadResult) -> impl Iterator<Item = (ErrorClass, u64)> {
    // What is not HTTP has no end that could be told.
    let is_answer = |class: ErrorClass| class.is_wrong() && class != ErrorClass::Malformed;
    result.total.errors.iter().map(|(class, count)| (*class, *count)).filter(move |(class, _)| !is_answer(*class))
}

/// Complete answers with a status in this range.
pub(crate) fn with_status(result: &LoadResult, range: std::ops::RangeInclusive<u16>) -> u64 {
    result.total.status.range(range).map(|(_, count)| count).sum()
}

/// From when a request was begun, and its connection opened where it needed one, to the end of its answer.
///
/// In a closed load that is the response time, as long as no request without an end stands in it at its age; otherwise it
/// is the service time, where opening is left out.
pub(crate) fn whole<'a>(load: &Load, result: &'a LoadResult) -> &'a Latencies {
    match load {
        Load::Closed { .. } | Load::Ramped { .. } if result.total.censored.count == 0 => &result.total.response,
        Load::Closed { .. } | Load::Ramped { .. } | Load::Open { .. } => &result.total.service,
    }
}

/// The latency of the given rank, from 1 for the smallest; zero when there is none.
pub(crate) fn at_rank(latencies: &Latencies, rank: u64) -> Duration {
    // The middle of the rank's share, so that rounding cannot reach another one.
    latencies.quantile((rank as f64 - 0.5) / latencies.count().max(1) as f64)
}

/// How many latencies are no larger.
pub(crate) fn at_most(latencies: &Latencies, bound: Duration) -> u64 {
    let (mut known, mut end) = (0, latencies.count());
    while known < end {
        let rank = known + (end - known).div_ceil(2);
        if at_rank(latencies, rank) <= bound {
            known = rank;
        } else {
            end = rank - 1;
        }
    }
    known
}

/// Steps of [`counts_us`] for each halving of what lies above.
const STEPS: u32 = 2000;

/// Latencies in microseconds with their counts: each by itself where there are up to some thousands, and in steps of a 4,000th of
/// all where there are more.
pub(crate) fn counts_us(latencies: &Latencies) -> Vec<(u64, u64)> {
    let mut known = 0;
    let steps = latencies.percentiles(STEPS).into_iter().filter_map(|(latency, _, up_to)| {
        let count = up_to - known;
        known = up_to;
        (count > 0).then(|| (u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), count))
    });
    steps.collect()
}

/// Mean, spread and ends, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) min: f64,
    pub(crate) mean: f64,
    /// The standard deviation of a sample: divided by one less than the count.
    pub(crate) stddev: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Moments {
    /// Of latencies that only some of `count` requests had, and that are 0 for the others.
    pub(crate) fn of(latencies: &Latencies, count: u64) -> Self {
        let had = latencies.count().min(count);
        if had == 0 {
            return Self::default();
        }
        let (n, zeros) = (count as f64, count - had);
        let (mean, stddev) = (latencies.mean_ns(), latencies.stddev_ns());
        let square_sum = had as f64 * (stddev * stddev + mean * mean);
        let mean = mean * had as f64 / n;
        let variance = (square_sum - n * mean * mean).max(0.0) / (n - 1.0).max(1.0);
        let ns = |duration: Duration| duration.as_nanos() as f64;
        let ranked = |rank: u64| if rank <= zeros { 0.0 } else { ns(at_rank(latencies, rank - zeros)) };
        Self {
            min: ranked(1),
            mean,
            stddev: variance.sqrt(),
            median: f64::midpoint(ranked(count.div_ceil(2)), ranked(count / 2 + 1)),
            max: ns(latencies.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::good;

    #[test]
    fn a_wrong_answer_is_complete() {
        let mut result = good();
        result.total.errors = ErrorClass::ALL.into_iter().map(|class| (class, 1)).collect();
        let lost: Vec<_> = lost(&result).map(|(class, _)| class).collect();
        for class in [ErrorClass::WrongStatus, ErrorClass::WrongHeader, ErrorClass::WrongBody] {
            assert!(!lost.contains(&class), "{class:?}");
        }
        assert_eq!(lost.len(), ErrorClass::ALL.len() - 3);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_sorted_list(
            mut ns in proptest::collection::vec(1_u64..10_000_000_000, 1..200),
            rank in 1_u64..200,
        ) {
            let mut latencies = Latencies::new();
            ns.iter().for_each(|ns| latencies.record_ns(*ns));
            ns.sort_unstable();
            let rank = rank.min(ns.len() as u64);
            let bound = at_rank(&latencies, rank);
            let exact = Duration::from_nanos(ns[usize::try_from(rank).unwrap() - 1]);
            prop_assert!(bound >= exact && bound.as_nanos() <= exact.as_nanos() * 1001 / 1000 + 1);
            let no_larger = ns.iter().filter(|ns| Duration::from_nanos(**ns) <= bound).count();
            prop_assert_eq!(at_most(&latencies, bound), no_larger as u64);
        }
    }

    fn latencies(millis: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        millis.iter().for_each(|millis| latencies.record_ns(millis * 1_000_000));
        latencies
    }

    #[test]
    fn ranks_and_counts_are_each_others_inverse() {
        let millis: Vec<u64> = (1..=1000).collect();
        let latencies = latencies(&millis);
        for millis in [1, 2, 3, 499, 500, 999, 1000] {
            let found = at_rank(&latencies, millis);
            let difference = found.as_secs_f64() * 1e3 - millis as f64;
            assert!((0.0..=millis as f64 / 1000.0).contains(&difference), "{millis} {found:?}");
            let count = at_most(&latencies, found);
            // Three digits: neighbours of large ones are one.
            assert!((millis..=millis + 1).contains(&count), "{millis} {count}");
        }
        assert_eq!(at_most(&latencies, Duration::ZERO), 0);
        assert_eq!(at_most(&latencies, Duration::MAX), 1000);
        assert_eq!((at_rank(&Latencies::new(), 1), at_most(&Latencies::new(), Duration::MAX)), (Duration::ZERO, 0));
    }

    #[test]
    fn moments_count_requests_that_had_none() {
        let near = |a: f64, millis: f64| (a / 1e6 - millis).abs() <= 0.001 * millis;
        // R: x <- c(1, 2, 4); sd(x)
        let all = Moments::of(&latencies(&[1, 2, 4]), 3);
        assert!(near(all.min, 1.0) && near(all.mean, 7.0 / 3.0) && near(all.median, 2.0), "{all:?}");
        assert!(near(all.stddev, 1.527525) && near(all.max, 4.0), "{all:?}");
        // R: x <- c(0, 0, 0, 1, 2, 4); sd(x)
        let some = Moments::of(&latencies(&[1, 2, 4]), 6);
        assert!(near(some.mean, 7.0 / 6.0) && near(some.median, 0.5) && near(some.stddev, 1.602082), "{some:?}");
        assert_eq!((some.min, Moments::of(&latencies(&[]), 3)), (0.0, Moments::default()));
        assert!(Moments::of(&latencies(&[5]), 1).stddev.abs() < 1.0);
    }
}
