//! A log in its own times.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::busy_minute::Minutes;

/// The most minutes that are played: an hour.
const MOST: usize = 60;

/// Pages of each minute of a log, from the first to the last with any; of a longer log those of the hour with the most.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// When the first minute begins.
    pub at: Timestamp,
    /// Pages of each.
    pub minutes: Vec<u64>,
}

impl Replay {
    /// Nothing of a log without times.
    pub(crate) fn of(minutes: &Minutes) -> Option<Self> {
        let (first, counts) = minutes.in_order()?;
        // Of hours with the same number of pages the first.
        let sum = |from: &usize| counts.iter().skip(*from).take(MOST).sum::<u64>();
        let from = (0..counts.len().saturating_sub(MOST) + 1).rev().max_by_key(sum)?;
        let minutes = counts.into_iter().skip(from).take(MOST).collect();
        let at = Timestamp::from_second((first + i64::try_from(from).ok()?) * 60).ok()?;
        Some(Self { at, minutes })
    }

    /// The open load that sends as many in each minute, so many times faster: `open:1.5/30000ms,2/30000ms`. Rates are in thousandths of a
    /// request a second, which is less than 0.04 requests in a minute.
    pub fn load(&self, speed: f64) -> String {
        let milliseconds = (60_000.0 / speed).round().max(1.0);
        let mut load = "open:".to_owned();
        for (place, count) in self.minutes.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let rate = (*count as f64 * 1e6 / milliseconds).round() / 1e3;
            let _ = write!(load, "{comma}{rate}/{milliseconds}ms");
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Load;

    use super::*;

    fn minutes(counts: &[u64]) -> Minutes {
        let mut minutes = Minutes::default();
        for (minute, count) in (0..).zip(counts) {
            (0..*count).for_each(|_| minutes.count(Timestamp::from_second(6_000 + 60 * minute + 7).unwrap()));
        }
        minutes
    }

    #[test]
    fn a_load_has_the_rate_of_each_minute() {
        for (counts, speed) in
            [(vec![90, 0, 120, 1], 2.0), (vec![1000, 999, 1], 1.0), (vec![7, 333], 0.5), (vec![60_001], 3.0)]
        {
            let replay = Replay::of(&minutes(&counts)).unwrap();
            let load = replay.load(speed);
            let Ok(Load::Open { schedule, .. }) = load.parse::<Load>() else { panic!("{load}") };
            let minute = Duration::from_secs_f64(60.0 / speed);
            let mut before = 0;
            for (place, count) in (1..).zip(&counts) {
                let now = schedule.count_before(minute * place);
                assert!((now - before).abs_diff(*count) as f64 <= 1.0 + *count as f64 * 0.001, "{load} minute {place}");
                before = now;
            }
            assert_eq!(schedule.length(), minute * counts.len() as u32, "{load}");
            assert_eq!(schedule.stages().last().unwrap().to, schedule.held_rate(), "nothing is sent after it");
        }
        assert_eq!(Replay::of(&minutes(&[90, 120])).unwrap().load(2.0), "open:3/30000ms,4/30000ms");
        assert_eq!(Replay::of(&Minutes::default()), None);
    }

    #[test]
    fn of_a_long_log_the_busiest_hour_is_played() {
        let counts: Vec<u64> = (0..200).map(|minute| if (90..150).contains(&minute) { 5 } else { 4 }).collect();
        let Replay { at, minutes: played } = Replay::of(&minutes(&counts)).unwrap();
        assert_eq!((at.as_second(), played), (6_000 + 90 * 60, vec![5; 60]));
    }
}
