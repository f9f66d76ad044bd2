//! When a pilot trial has come to rest, and what warm-up follows.

use std::time::Duration;

use stampede_core::{Latencies, Load, Pilot, WarmUp};
use stampede_stats::{SteadyError, SteadyRule, SteadyState, steady_state};

/// A pilot is watched no longer than this.
pub const MOST_PILOT: Duration = Duration::from_secs(30);

/// No case is loaded for less before its window: connections are opened in it, and one pilot is one lifetime of many.
pub const LEAST_WARM_UP: Duration = Duration::from_secs(1);

/// Where no rest was found, no case is loaded for longer.
const MOST_WARM_UP: Duration = Duration::from_secs(10);

/// A bin is a whole number of quota periods, so that each holds as much run and stall as the next.
const PERIOD: Duration = Duration::from_millis(100);

/// Shorter bins say more about single stalls than about the level.
const LEAST_PERIODS: u32 = 5;

/// Fewer requests do not tell the level of a bin.
const LEAST_REQUESTS: f64 = 100.0;

/// Levels within 2 % are one, and rest must last for 16 bins.
const RULE: SteadyRule = SteadyRule { tolerance: 0.02, least: 16 };

/// What was seen of a pilot so far: under a closed load the rate of right answers; under an open one, whose rate is given, the
/// median response time.
#[derive(Debug)]
pub enum PilotWatch {
    /// Of a closed load.
    Rate {
        /// How many right answers there were at which time from the start of the load.
        counts: Vec<(Duration, u64)>,
    },
    /// Of an open load.
    Response {
        /// The response times of each second.
        seconds: Vec<Latencies>,
    },
}

impl PilotWatch {
    /// Nothing seen yet.
    pub fn new(load: &Load) -> Self {
        match load {
            Load::Closed { .. } | Load::Ramped { .. } => Self::Rate { counts: vec![(Duration::ZERO, 0)] },
            Load::Open { .. } => Self::Response { seconds: Vec::new() },
        }
    }

    /// Whether it has come to rest, so that there is nothing more to see.
    pub fn is_over(&self) -> bool {
        let (_, bins) = self.bins();
        bins.len() >= RULE.least && steady_state(&bins, &RULE).is_ok_and(|state| state.warm_up.is_some())
    }

    /// The warm-up that follows when no more is to be seen.
    pub fn conclude(&self) -> WarmUp {
        let (each, bins) = self.bins();
        let watched = each * bins.len() as u32;
        match steady_state(&bins, &RULE) {
            Ok(SteadyState { warm_up: Some(bin), .. }) => {
                let after = each * bin as u32;
                WarmUp { length: after.max(LEAST_WARM_UP), pilot: Pilot::Steady { after, watched } }
            }
            Ok(SteadyState { segments, warm_up: None }) => {
                let last = segments.last().map_or(0, |segment| segment.bins.start);
                let length = (each * last as u32).clamp(LEAST_WARM_UP, MOST_WARM_UP);
                WarmUp { length, pilot: Pilot::Unsteady { watched } }
            }
            Err(SteadyError::TooFew { n }) => untold(format!(
                "gave {n} bins of {LEAST_REQUESTS} requests or more in {} s, too few to find a steady level",
                watched.as_secs_f64()
            )),
            Err(error) => untold(format!("could not be judged: {error}")),
        }
    }

    /// The length of a bin and the levels of those at rest; none where it did not come to rest.
    pub fn at_rest(&self) -> (Duration, Vec<f64>) {
        let (each, mut bins) = self.bins();
        let rest = steady_state(&bins, &RULE).ok().and_then(|state| state.warm_up).unwrap_or(bins.len());
        (each, bins.split_off(rest))
    }

    /// The length of a bin, and the level of each that is complete.
    fn bins(&self) -> (Duration, Vec<f64>) {
        match self {
            Self::Rate { counts } => rates(counts),
            Self::Response { seconds } => medians(seconds),
        }
    }
}

/// The warm-up of a case whose pilot tells nothing.
pub fn untold(why: String) -> WarmUp {
    WarmUp { length: LEAST_WARM_UP, pilot: Pilot::Untold { why } }
}

fn rates(counts: &[(Duration, u64)]) -> (Duration, Vec<f64>) {
    let (end, total) = counts.last().copied().unwrap_or_default();
    let per_period = total as f64 / end.as_secs_f64() * PERIOD.as_secs_f64();
    let least = PERIOD * LEAST_PERIODS;
    if per_period <= 0.0 || !per_period.is_finite() {
        return (least, Vec::new());
    }
    let periods = (LEAST_REQUESTS / per_period).ceil().clamp(f64::from(LEAST_PERIODS), f64::from(u32::MAX));
    let each = PERIOD.saturating_mul(periods as u32);
    let bins = (end.as_nanos() / each.as_nanos()) as u32;
    let edges: Vec<f64> = (0..=bins).map(|bin| count_at(counts, each * bin)).collect();
    (each, edges.windows(2).map(|edge| (edge[1] - edge[0]) / each.as_secs_f64()).collect())
}

/// The count at a time between two at which it is known, on the line between them.
fn count_at(counts: &[(Duration, u64)], at: Duration) -> f64 {
    let after = counts.partition_point(|(time, _)| *time < at).min(counts.len() - 1);
    let (later, most) = counts[after];
    let (earlier, least) = counts[after.saturating_sub(1)];
    let span = later.saturating_sub(earlier).as_secs_f64();
    let share = if span > 0.0 { at.saturating_sub(earlier).as_secs_f64() / span } else { 1.0 };
    least as f64 + (most - least) as f64 * share
}

fn medians(seconds: &[Latencies]) -> (Duration, Vec<f64>) {
    let total: u64 = seconds.iter().map(Latencies::count).sum();
    let second = Duration::from_secs(1);
    if total == 0 {
        return (second, Vec::new());
    }
    let many = (LEAST_REQUESTS * seconds.len() as f64 / total as f64).ceil().max(1.0) as usize;
    let median = |seconds: &[Latencies]| {
        let mut merged = Latencies::coarse();
        seconds.iter().for_each(|second| merged.merge(second));
        merged.quantile(0.5).as_secs_f64()
    };
    (second * many as u32, seconds.chunks_exact(many).map(median).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A closed load, seen every 100 ms or a little later, at this rate at that second.
    fn closed(seconds: u32, rate: impl Fn(f64) -> f64) -> PilotWatch {
        let mut watch = PilotWatch::new(&Load::Closed { connections: 16 });
        let PilotWatch::Rate { counts } = &mut watch else { unreachable!() };
        let mut total = 0.0;
        for ms in 0..seconds * 1_000 {
            // With a ripple of 0.2 %.
            let ripple = 1.0 + 0.002 * (f64::from(ms / 100 * 7 % 5) - 2.0) / 2.0;
            total += rate(f64::from(ms) / 1e3) * ripple / 1e3;
            if ms % 102 == 101 || ms + 1 == seconds * 1_000 {
                counts.push((Duration::from_millis(u64::from(ms) + 1), total as u64));
            }
        }
        watch
    }

    #[test]
    fn the_warm_up_ends_where_the_last_level_begins() {
        for (name, watch, length, after) in [
            ("steady from the start", closed(9, |_| 1_000.0), 1_000, 0),
            ("slow for 4 s", closed(20, |at| if at < 4.0 { 500.0 } else { 1_000.0 }), 4_000, 4_000),
            ("slow for half a second", closed(12, |at| if at < 0.5 { 100.0 } else { 1_000.0 }), 1_000, 500),
        ] {
            assert!(watch.is_over(), "{name}");
            let WarmUp { length: found, pilot } = watch.conclude();
            // A change between two looks may fall into one bin or the next.
            let near = |time: Duration, expected: u64| (expected..=expected + 500).contains(&(time.as_millis() as u64));
            assert!(near(found, length), "{name}: {found:?}");
            assert!(matches!(pilot, Pilot::Steady { after: at, .. } if near(at, after)), "{name}: {pilot:?}");
        }
    }

    #[test]
    fn what_never_rests_says_so_and_its_warm_up_is_bounded() {
        let stairs = closed(30, |at| 1_000.0 + 100.0 * (at / 4.0).floor());
        assert!(!stairs.is_over());
        let WarmUp { length, pilot } = stairs.conclude();
        assert_eq!((length, pilot), (MOST_WARM_UP, Pilot::Unsteady { watched: Duration::from_secs(30) }));
        assert!(!closed(7, |_| 1_000.0).is_over(), "14 bins");
    }

    #[test]
    fn a_bin_holds_a_hundred_requests_and_whole_periods() {
        for (rate, each) in [(10_000.0, 500), (200.0, 500), (150.0, 700), (20.0, 5_000)] {
            let (found, bins) = closed(30, |_| rate).bins();
            assert!(found.as_millis().abs_diff(each) <= 100, "{rate}: {found:?}");
            assert!(bins.iter().all(|bin| (bin / rate - 1.0).abs() < 0.05), "{rate}: {bins:?}");
        }
        let WarmUp { length, pilot } = closed(30, |_| 20.0).conclude();
        assert_eq!(length, LEAST_WARM_UP);
        assert!(matches!(&pilot, Pilot::Untold { why } if why.starts_with("gave 5 bins of 100")), "{pilot:?}");
        assert!(matches!(closed(30, |_| 0.0).conclude().pilot, Pilot::Untold { .. }));
        assert!(matches!(closed(0, |_| 0.0).conclude().pilot, Pilot::Untold { .. }));
    }

    #[test]
    fn an_open_load_rests_when_its_response_times_do() {
        let open = |requests: u64, response_us: fn(usize) -> u64| {
            let mut watch = PilotWatch::new(&"open:500".parse().unwrap());
            let PilotWatch::Response { seconds } = &mut watch else { unreachable!() };
            for second in 0..24 {
                let mut latencies = Latencies::coarse();
                (0..requests).for_each(|i| latencies.record_ns(1_000 * (response_us(second) + i % 3)));
                seconds.push(latencies);
            }
            watch
        };
        let slow = open(500, |second| if second < 3 { 20_000 } else { 5_000 });
        assert!(slow.is_over());
        assert_eq!(slow.conclude().length, Duration::from_secs(3));
        assert_eq!(open(40, |_| 5_000).bins().0, Duration::from_secs(3));
    }
}
