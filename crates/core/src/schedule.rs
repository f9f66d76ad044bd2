//! When the requests of an open load are due: a closed form that reads no clock.
//!
//! A [`Schedule`] is a row of stages. Within a stage the rate stays or changes linearly, so the number of arrivals that
//! are expected up to a time is a polynomial of second degree in it, with rational coefficients. It is computed in whole
//! numbers, so that neither a ramp nor a long run loses or shifts an arrival.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::as_text::as_text;
use crate::short_time;

/// Requests per second, exact to a thousandth, from 0 to [`Rate::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    millis: u64,
}

impl Rate {
    /// A million requests a second: more than one generator sends, and small enough for exact sums over a day.
    pub const MOST: Self = Self { millis: 1_000_000_000 };

    /// Requests per second.
    pub fn per_second(self) -> f64 {
        self.millis as f64 / 1e3
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.per_second())
    }
}

impl FromStr for Rate {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > 3 {
            return Err(ParseScheduleError::Rate);
        }
        let millis = whole
            .parse::<u64>()
            .ok()
            .zip(format!("{part:0<3}").parse::<u64>().ok())
            .and_then(|(whole, part)| whole.checked_mul(1000)?.checked_add(part));
        match millis {
            Some(millis) if millis <= Self::MOST.millis => Ok(Self { millis }),
            _ => Err(ParseScheduleError::Rate),
        }
    }
}

/// A part of a schedule in which the rate stays or changes linearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The rate at its beginning.
    pub from: Rate,
    /// The rate at its end.
    pub to: Rate,
    /// How long it takes.
    pub length: Duration,
    /// Whether each of its arrivals is due at a random instant of it, independent of the others, instead of when it is
    /// expected. Their number is the same.
    pub random: bool,
}

/// Stages one after the other, and then a rate that is held for as long as the load lasts.
///
/// Written as stages separated by commas: `RATE/TIME` stays at a rate and `RATE..RATE/TIME` changes from one to the other,
/// as in `50/10s,50..100/60s`; the last stage may be a lone `RATE`, which is held. Where the last stage has a time, its
/// last rate is held after it. `random:` before a stage with a time, as in `2/10s,random:5/15s,10`, makes its arrivals
/// random: exactly as many as without it, here 75, each at an instant of its own. Rates are requests per second with at
/// most three decimals; times have a unit, as in `500ms`, `90s`, `1m30s` or `2h`. All stages together take a day at most.
///
/// Arrival `n` (from 0) is due when as many arrivals as `n` are expected, so the first is due at once, the arrivals before
/// a time `t` are [`Schedule::count_before`] that, and a stage from 6/s to 600/s over 180 s has exactly 54,540. Arrivals of
/// a random stage are due between its ends; [`Schedule::random_stage`] says where to draw them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule {
    stages: Vec<Stage>,
    held: Rate,
    /// Where each stage begins, and the held rate as the last.
    begins: Vec<Begin>,
}

/// The beginning of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Begin {
    ns: u64,
    position: Position,
}

/// A number of expected arrivals, in parts of [`Schedule::ARRIVAL`].
pub type Position = u128;

/// All stages together take at most a day: with [`Rate::MOST`], products of two times and a rate fit 128 bits.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Schedule {
    /// One arrival. Thousandths of requests a second, times nanoseconds, times the two of the mean of two rates: with this
    /// divisor every stage begins at a whole number.
    pub const ARRIVAL: Position = 2_000_000_000_000;

    /// Stages, and the rate that is held after them.
    ///
    /// # Errors
    ///
    /// When the stages take more than a day, or nothing is ever due.
    pub fn new(stages: Vec<Stage>, held: Rate) -> Result<Self, ParseScheduleError> {
        let mut begins = vec![Begin { ns: 0, position: 0 }];
        let mut begin = Begin { ns: 0, position: 0 };
        for Stage { from, to, length, random: _ } in &stages {
            if *length > LONGEST {
                return Err(ParseScheduleError::TooLong);
            }
            let ns = length.as_nanos() as u64;
            begin.ns += ns;
            if u128::from(begin.ns) > LONGEST.as_nanos() {
                return Err(ParseScheduleError::TooLong);
            }
            begin.position += Position::from(from.millis + to.millis) * Position::from(ns);
            begins.push(begin);
        }
        if begin.position == 0 && held.millis == 0 {
            return Err(ParseScheduleError::Nothing);
        }
        Ok(Self { stages, held, begins })
    }

    /// A rate that never changes.
    ///
    /// # Errors
    ///
    /// When it is 0.
    pub fn constant(rate: Rate) -> Result<Self, ParseScheduleError> {
        Self::new(Vec::new(), rate)
    }

    /// The same with all times multiplied with `time` and all rates with `rate`; rates are rounded to a thousandth.
    ///
    /// # Errors
    ///
    /// When a stage takes no time any more or too much, a rate is too high, or nothing is ever due.
    pub fn scaled(&self, time: f64, rate: f64) -> Result<Self, ParseScheduleError> {
        let rated = |of: Rate| match (of.millis as f64 * rate).round() {
            millis if (0.0..=Rate::MOST.millis as f64).contains(&millis) => Ok(Rate { millis: millis as u64 }),
            _ => Err(ParseScheduleError::Rate),
        };
        let stage = |stage: &Stage| {
            let length = scaled(stage.length, time).ok_or(ParseScheduleError::Time)?;
            Ok(Stage { from: rated(stage.from)?, to: rated(stage.to)?, length, random: stage.random })
        };
        Self::new(self.stages.iter().map(stage).collect::<Result<_, _>>()?, rated(self.held)?)
    }

    /// The stages before the held rate.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The rate after the stages.
    pub fn held_rate(&self) -> Rate {
        self.held
    }

    /// The rate with which it begins.
    pub fn first_rate(&self) -> Rate {
        self.stages.first().map_or(self.held, |stage| stage.from)
    }

    /// The highest rate of all its length.
    pub fn highest_rate(&self) -> Rate {
        self.stages.iter().flat_map(|stage| [stage.from, stage.to]).fold(self.held, Rate::max)
    }

    /// How long the stages take together; zero when there is only a held rate.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.begins.last().map_or(0, |begin| begin.ns))
    }

    /// How many arrivals are due before a time from the beginning.
    pub fn count_before(&self, time: Duration) -> u64 {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let index = self.begins.partition_point(|begin| begin.ns <= ns).saturating_sub(1);
        let Some(Begin { ns: begins_at, position }) = self.begins.get(index) else {
            return 0;
        };
        let curve = self.curve(index);
        let count = (position + curve.position_rounded_up(ns - begins_at)).div_ceil(Self::ARRIVAL);
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// When arrival `n` (from 0) is due, from the beginning, rounded down to a nanosecond; `None` when it never is.
    pub fn due(&self, n: u64) -> Option<Duration> {
        self.due_at(Position::from(n) * Self::ARRIVAL)
    }

    /// When this many arrivals are expected, rounded down to a nanosecond: the last such time, so that nothing is due in
    /// the middle of a pause. `None` when the number is never passed.
    pub fn due_at(&self, position: Position) -> Option<Duration> {
        let index = self.begins.partition_point(|begin| begin.position <= position).checked_sub(1)?;
        let begin = self.begins.get(index)?;
        let ns = self.curve(index).last_at(position - begin.position)?;
        Some(Duration::from_nanos(begin.ns.saturating_add(ns)))
    }

    /// The arrivals of the random stage that arrival `n` belongs to, and the positions among which each of them is drawn,
    /// uniformly; [`Schedule::due_at`] of a position is then its time. `None` when the stage is not random.
    pub fn random_stage(&self, n: u64) -> Option<(Range<u64>, Range<Position>)> {
        let position = Position::from(n) * Self::ARRIVAL;
        let index = self.begins.partition_point(|begin| begin.position <= position).checked_sub(1)?;
        let begin = self.stages.get(index).filter(|stage| stage.random).and(self.begins.get(index))?.position;
        let end = self.begins.get(index + 1)?.position;
        let number = |position: Position| u64::try_from(position.div_ceil(Self::ARRIVAL)).unwrap_or(u64::MAX);
        Some((number(begin)..number(end), begin..end))
    }

    fn curve(&self, index: usize) -> Curve {
        match self.stages.get(index) {
            Some(Stage { from, to, length, random: _ }) => {
                Curve { from: from.millis, to: to.millis, length: length.as_nanos() as u64 }
            }
            None => Curve { from: self.held.millis, to: self.held.millis, length: 1 },
        }
    }
}

/// A length of time multiplied with a factor, to the millisecond; none where nothing is left, or more than there is.
pub(crate) fn scaled(length: Duration, factor: f64) -> Option<Duration> {
    let millis = (length.as_secs_f64() * factor * 1e3).round();
    (1.0..=LONGEST.as_millis() as f64).contains(&millis).then(|| Duration::from_millis(millis as u64))
}

/// How positions grow within a stage: `2 from t + (to - from) t^2 / length` after `t` nanoseconds.
#[derive(Clone, Copy)]
struct Curve {
    from: u64,
    to: u64,
    length: u64,
}

impl Curve {
    fn position_rounded_up(&self, ns: u64) -> Position {
        if self.from == self.to {
            return 2 * Position::from(self.from) * Position::from(ns);
        }
        let length = i128::from(self.length);
        let scaled = self.scaled(i128::from(ns));
        Position::try_from((scaled + length - 1) / length).unwrap_or(0)
    }

    /// The last nanosecond at which the position is not yet above this one.
    fn last_at(&self, position: Position) -> Option<u64> {
        if self.from == self.to {
            return u64::try_from(position.checked_div(2 * Position::from(self.from))?).ok();
        }
        // The roots of the polynomial in the form that cancels least; what floating point leaves off is then settled.
        let (from, slope) = (self.from as f64, (self.to as f64 - self.from as f64) / self.length as f64);
        let near = position as f64 / (from + (from * from + slope * position as f64).max(0.0).sqrt());
        let target = i128::try_from(position).ok()?.checked_mul(i128::from(self.length))?;
        let last = settle(near as i128, i128::from(self.length), |ns| self.scaled(ns) <= target);
        u64::try_from(last).ok()
    }

    /// The position times the length, which is a whole number.
    fn scaled(&self, ns: i128) -> i128 {
        2 * i128::from(self.from) * ns * i128::from(self.length)
            + (i128::from(self.to) - i128::from(self.from)) * ns * ns
    }
}

/// The last number from 0 to `most` for which something holds that holds up to there, found quickly from one `near` by.
/// It must hold for 0.
fn settle(near: i128, most: i128, holds: impl Fn(i128) -> bool) -> i128 {
    let mut low = near.clamp(0, most);
    let mut step = 1;
    while low > 0 && !holds(low) {
        low = (low - step).max(0);
        step *= 2;
    }
    step = 1;
    let mut high = low + step;
    while high <= most && holds(high) {
        low = high;
        step *= 2;
        high += step;
    }
    high = high.min(most + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for Stage { from, to, length, random } in &self.stages {
            let random = if *random { "random:" } else { "" };
            let ramp = if from == to { String::new() } else { format!("..{to}") };
            write!(f, "{comma}{random}{from}{ramp}/{}", short_time(*length))?;
            comma = ",";
        }
        match self.stages.last() {
            Some(last) if last.to == self.held => Ok(()),
            _ => write!(f, "{comma}{}", self.held),
        }
    }
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut stages: Vec<Stage> = Vec::new();
        let mut stages_text = text.split(',').peekable();
        while let Some(stage) = stages_text.next() {
            let (stage, random) = match stage.strip_prefix("random:") {
                Some(stage) => (stage, true),
                None => (stage, false),
            };
            let (rates, length) = match stage.split_once('/') {
                Some((rates, length)) => (rates, Some(length)),
                None => (stage, None),
            };
            let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
            let (from, to): (Rate, Rate) = (from.parse()?, to.parse()?);
            match length {
                Some(length) => {
                    let length = humantime::parse_duration(length).map_err(|_| ParseScheduleError::Time)?;
                    if length.is_zero() {
                        return Err(ParseScheduleError::Time);
                    }
                    stages.push(Stage { from, to, length, random });
                }
                None if random => return Err(ParseScheduleError::EndlessRandom),
                None if from != to => return Err(ParseScheduleError::EndlessRamp),
                None if stages_text.peek().is_some() => return Err(ParseScheduleError::EndlessStage),
                None => return Self::new(stages, from),
            }
        }
        let held = stages.last().ok_or(ParseScheduleError::Rate)?.to;
        Self::new(stages, held)
    }
}

as_text!(Schedule);

/// Why a schedule could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParseScheduleError {
    /// A rate is not a number, or too high.
    #[error("has a rate that is not a number of requests a second from 0 to 1000000 with at most three decimals")]
    Rate,
    /// A time is not one, or nothing.
    #[error("has a stage whose time is not one such as 10s or 1m30s")]
    Time,
    /// A ramp has no time.
    #[error("has a ramp without a time: write 50..100/60s")]
    EndlessRamp,
    /// Random arrivals have no time among whose instants they could be drawn.
    #[error("has random arrivals without a time: write random:5/15s")]
    EndlessRandom,
    /// A stage without a time is not the last.
    #[error("has a stage without a time before another: write 50/10s,100")]
    EndlessStage,
    /// The stages take too long.
    #[error("has stages that take more than a day together")]
    TooLong,
    /// All rates are 0.
    #[error("never has a request: all its rates are 0")]
    Nothing,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(text: &str) -> Schedule {
        text.parse().unwrap()
    }

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn arrivals_are_counted_exactly() {
        for (text, seconds, count) in [
            ("500", 10.0, 5000),
            ("500", 0.0, 0),
            ("0.001", 1000.0, 1),
            ("0.001", 1000.1, 2),
            ("3", 1.0, 3),
            ("3", 1.000_000_001, 4),
            ("6..600/180s", 180.0, 54_540),
            ("2/10s,5/15s,6..600/180s", 205.0, 54_635),
            ("2/10s,random:5/15s,6..600/180s", 205.0, 54_635),
            ("2/25s,6..100/180s", 205.0, 9_590),
            ("2/25s,6..40/180s", 205.0, 4_190),
            ("0..100/10s", 10.0, 500),
            ("100..0/10s", 10.0, 500),
            ("100..0/10s", 1000.0, 500),
            ("50..100/60s", 61.0, 4_600),
            ("10/1s,0/1s,10", 1.5, 10),
            ("10/1s,0/1s,10", 3.0, 20),
            // Half an arrival of each stage makes one.
            ("0.5/1s,0.5/1s", 2.0, 1),
            ("1000000/24h", 86_400.0, 86_400_000_000),
            ("0..1000000/24h", 86_400.0, 43_200_000_000),
        ] {
            assert_eq!(schedule(text).count_before(secs(seconds)), count, "{text} before {seconds} s");
        }
    }

    #[test]
    fn arrivals_are_due_when_they_are_expected() {
        for (text, n, seconds) in [
            ("500", 0, Some(0.0)),
            ("500", 5000, Some(10.0)),
            ("3", 1, Some(0.333_333_333)),
            ("6..600/180s", 54_540, Some(180.0)),
            // 100 t - 5 t^2 = 375 at t = 5.
            ("100..0/10s", 375, Some(5.0)),
            ("100..0/10s", 499, Some(9.552_786_404)),
            ("100..0/10s", 500, None),
            // 5 t^2 = 125.
            ("0..100/10s", 125, Some(5.0)),
            // Nothing is due in the pause, not even at its beginning.
            ("10/1s,0/1s,10", 9, Some(0.9)),
            ("10/1s,0/1s,10", 10, Some(2.0)),
            ("0/5s,1", 0, Some(5.0)),
        ] {
            assert_eq!(schedule(text).due(n), seconds.map(secs), "{text}: {n}");
        }
    }

    #[test]
    fn a_random_stage_tells_its_arrivals_and_where_they_are_drawn() {
        let second = Schedule::ARRIVAL;
        for (text, n, numbers, positions) in [
            ("2/10s,random:5/15s,6", 19, None, 0..0),
            ("2/10s,random:5/15s,6", 20, Some(20..95), 20 * second..95 * second),
            ("2/10s,random:5/15s,6", 94, Some(20..95), 20 * second..95 * second),
            ("2/10s,random:5/15s,6", 95, None, 0..0),
            // Arrivals 1 and 2 are expected after 0.5 and before 2.75.
            ("0.5/1s,random:2.25/1s,1", 2, Some(1..3), second / 2..second * 11 / 4),
            ("random:0..4/1s,1", 0, Some(0..2), 0..2 * second),
        ] {
            let expected = numbers.map(|numbers| (numbers, positions));
            assert_eq!(schedule(text).random_stage(n), expected, "{text}: {n}");
        }
    }

    #[test]
    fn a_schedule_prints_as_it_is_written() {
        for text in [
            "500",
            "0.5",
            "50/10s,50..100/1m",
            "2/10s,5/15s,6..600/3m",
            "2/10s,random:5/15s,random:6..600/3m",
            "10/1s,0/1s,10",
            "100..0/1m 30s",
            "1/500ms",
        ] {
            assert_eq!(schedule(&text.replace(' ', "")).to_string(), text.replace(' ', ""));
        }
        assert_eq!(schedule("50..100/60s,100"), schedule("50..100/60s"));
        assert_eq!(schedule("1.50").to_string(), "1.5");
    }

    #[test]
    fn what_is_no_schedule_says_why() {
        use ParseScheduleError as E;
        for (text, error) in [
            ("", E::Rate),
            ("x", E::Rate),
            ("-1", E::Rate),
            ("1e3", E::Rate),
            ("1.2345", E::Rate),
            (".5", E::Rate),
            ("1000001", E::Rate),
            ("99999999999999999999", E::Rate),
            ("5/", E::Time),
            ("5/10", E::Time),
            ("5/0s", E::Time),
            ("1..2", E::EndlessRamp),
            ("random:5", E::EndlessRandom),
            ("random:", E::Rate),
            ("random:random:5/1s", E::Rate),
            ("1,2/1s", E::EndlessStage),
            ("1/25h", E::TooLong),
            ("1/20h,1/20h", E::TooLong),
            ("0", E::Nothing),
            ("0/10s,0", E::Nothing),
        ] {
            assert_eq!(text.parse::<Schedule>(), Err(error), "{text}");
        }
    }

    fn stages() -> impl Strategy<Value = Schedule> {
        let rate = prop_oneof![0..5_u64, 0..2_000_000_u64, 0..=Rate::MOST.millis].prop_map(|millis| Rate { millis });
        let length = prop_oneof![1..1000_u64, 1..100_000_000_000_u64, 1..14_000_000_000_000_u64];
        let stage =
            (rate.clone(), rate.clone(), length, any::<[bool; 2]>()).prop_map(|(from, to, ns, [flat, random])| Stage {
                from,
                to: if flat { from } else { to },
                length: Duration::from_nanos(ns),
                random,
            });
        (prop::collection::vec(stage, 0..6), rate)
            .prop_filter_map("something is due", |(stages, held)| Schedule::new(stages, held).ok())
    }

    proptest! {
        #[test]
        fn an_arrival_is_due_where_the_count_passes_it(schedule in stages(), share in 0.0..1.2_f64) {
            let total = schedule.count_before(schedule.length()).max(1000);
            let n = (total as f64 * share) as u64;
            let Some(due) = schedule.due(n) else { return Ok(()) };
            prop_assert!(schedule.count_before(due) <= n);
            prop_assert!(schedule.count_before(due + Duration::from_nanos(1)) > n);
            if let Some(next) = schedule.due(n + 1) {
                prop_assert!(next >= due);
            }
        }

        #[test]
        fn the_count_grows_and_nothing_is_left_out(schedule in stages(), ns in 0..80_000_000_000_000_u64, more in 0..1_000_000_000_u64) {
            let (early, late) = (Duration::from_nanos(ns), Duration::from_nanos(ns + more));
            let count = schedule.count_before(early);
            prop_assert!(schedule.count_before(late) >= count);
            if count > 0 {
                prop_assert!(schedule.due(count - 1).is_some_and(|due| due < early));
            }
            prop_assert!(schedule.due(count).is_none_or(|due| due >= early));
        }

        #[test]
        fn a_random_stage_has_the_arrivals_that_are_expected_in_it(schedule in stages()) {
            let mut begin = Duration::ZERO;
            for stage in schedule.stages() {
                let (first, end) = (schedule.count_before(begin), schedule.count_before(begin + stage.length));
                for n in [first, first + (end - first) / 2, end.max(1) - 1] {
                    let numbers = schedule.random_stage(n).map(|(numbers, _)| numbers);
                    if (first..end).contains(&n) {
                        prop_assert_eq!(numbers, stage.random.then_some(first..end));
                    }
                }
                begin += stage.length;
            }
        }

        #[test]
        fn text_reads_back(schedule in stages()) {
            prop_assert_eq!(schedule.to_string().parse::<Schedule>().unwrap(), schedule);
        }
    }
}
