//! How many users a closed load has, and when: a closed form that reads no clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::as_text::as_text;
use crate::schedule::scaled;
use crate::short_time;

/// A number of users, or connections, that stays or changes linearly in stages one after the other, and is then held.
///
/// Written as stages separated by commas, as a [`Schedule`](crate::Schedule) is: `N/TIME` stays at a number and
/// `N..N/TIME` changes from one to the other, as in `1..100/60s,100/30s,100..0/10s`; the last stage may be a lone `N`, which
/// is held. Where the last stage has a time, its last number is held after it. All stages together take a day at most.
///
/// User `k` (from 1) is there whenever the line is at `k` or above: the first one of `1..100/60s` from the beginning, the
/// hundredth from 60 s on; of `100..0/10s`, the hundredth leaves at once, and the first after 9.9 s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Population {
    stages: Vec<Stage>,
    held: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    from: u32,
    to: u32,
    length: Duration,
}

/// All stages together take at most a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// An instant from the beginning, in nanoseconds.
type Nanos = i128;

impl Population {
    /// The same with all times multiplied with `time`.
    ///
    /// # Errors
    ///
    /// When a stage takes no time any more, or all together more than a day.
    pub fn scaled(&self, time: f64) -> Result<Self, ParsePopulationError> {
        let stage = |stage: &Stage| {
            let length = scaled(stage.length, time).ok_or(ParsePopulationError::Time)?;
            Ok(Stage { length, ..*stage })
        };
        let scaled = Self { stages: self.stages.iter().map(stage).collect::<Result<_, _>>()?, held: self.held };
        if scaled.length() > LONGEST { Err(ParsePopulationError::TooLong) } else { Ok(scaled) }
    }

    /// The most users that are there at once.
    pub fn most(&self) -> u32 {
        self.stages.iter().flat_map(|stage| [stage.from, stage.to]).max().unwrap_or(0).max(self.held)
    }

    /// The number that is held after the stages.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// The number at the end of the last stage.
    pub fn last(&self) -> u32 {
        self.stages.last().map_or(self.held, |stage| stage.to)
    }

    /// How long the stages take together.
    pub fn length(&self) -> Duration {
        self.stages.iter().map(|stage| stage.length).sum()
    }

    /// The first instant, from `from` on, at which user `user` (from 0) is there; `None` when there is none. Times are from
    /// the beginning.
    pub fn joins(&self, user: u32, from: Duration) -> Option<Duration> {
        self.first(user, from, true)
    }

    /// The first instant, from `from` on, at which user `user` (from 0) is not there; `None` when there is none.
    pub fn leaves(&self, user: u32, from: Duration) -> Option<Duration> {
        self.first(user, from, false)
    }

    /// The first instant, from `from` on, at which a user is there, or is not.
    fn first(&self, user: u32, from: Duration, there: bool) -> Option<Duration> {
        let mut begins = Duration::ZERO;
        for stage in &self.stages {
            let ends = begins + stage.length;
            if from < ends
                && let Some(ns) = stage.first(user, from.saturating_sub(begins), there)
            {
                return Some(begins + ns);
            }
            begins = ends;
        }
        ((user < self.held) == there).then(|| from.max(begins))
    }
}

impl Stage {
    /// As [`Population::first`], from the beginning of the stage and within it.
    fn first(self, user: u32, from: Duration, there: bool) -> Option<Duration> {
        let (start, end, level) = (Nanos::from(self.from), Nanos::from(self.to), Nanos::from(user) + 1);
        let (length, from) = (self.length.as_nanos() as Nanos, from.as_nanos() as Nanos);
        let is_there = start * length + (end - start) * from >= level * length;
        let at = if is_there == there {
            from
        } else if there && end > start {
            // The line reaches the level, rounded up to the nanosecond.
            ((level - start) * length + (end - start - 1)) / (end - start)
        } else if !there && end < start {
            // It is there for the last time, and a nanosecond later no more.
            (start - level) * length / (start - end) + 1
        } else {
            return None;
        };
        let at = (at < length).then_some(at)?;
        u64::try_from(at).ok().map(Duration::from_nanos)
    }
}

impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for Stage { from, to, length } in &self.stages {
            let ramp = if from == to { String::new() } else { format!("..{to}") };
            write!(f, "{comma}{from}{ramp}/{}", short_time(*length))?;
            comma = ",";
        }
        if self.stages.is_empty() || self.last() != self.held { write!(f, "{comma}{}", self.held) } else { Ok(()) }
    }
}

impl FromStr for Population {
    type Err = ParsePopulationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| ParsePopulationError::Number);
        let mut stages: Vec<Stage> = Vec::new();
        let mut held = None;
        for text in text.split(',') {
            if held.is_some() {
                return Err(ParsePopulationError::EndlessStage);
            }
            let (numbers, length) = match text.split_once('/') {
                Some((numbers, length)) => (numbers, Some(length)),
                None => (text, None),
            };
            let (from, to) = numbers.split_once("..").unwrap_or((numbers, numbers));
            let (from, to) = (number(from)?, number(to)?);
            match length.map(humantime::parse_duration) {
                Some(Ok(length)) if !length.is_zero() => stages.push(Stage { from, to, length }),
                Some(_) => return Err(ParsePopulationError::Time),
                None if from != to => return Err(ParsePopulationError::EndlessRamp),
                None => held = Some(from),
            }
        }
        let held = held.or_else(|| stages.last().map(|stage| stage.to)).ok_or(ParsePopulationError::Number)?;
        let all = stages.iter().try_fold(Duration::ZERO, |sum, stage| sum.checked_add(stage.length));
        let population = Self { stages, held };
        match (all, population.most()) {
            (None, _) => Err(ParsePopulationError::TooLong),
            (Some(all), _) if all > LONGEST => Err(ParsePopulationError::TooLong),
            (_, 0) => Err(ParsePopulationError::Nobody),
            _ => Ok(population),
        }
    }
}

as_text!(Population);

/// Why a number of users could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParsePopulationError {
    /// A number is not one.
    #[error("has no number of connections such as closed:16 or closed:1..100/60s")]
    Number,
    /// A time is not one, or nothing.
    #[error("has a stage whose time is not one such as 10s or 1m30s")]
    Time,
    /// A ramp has no time.
    #[error("has a ramp without a time: write 1..100/60s")]
    EndlessRamp,
    /// A stage without a time is not the last.
    #[error("has a stage without a time before another: write 1..100/60s,100")]
    EndlessStage,
    /// The stages take too long.
    #[error("has stages that take more than a day together")]
    TooLong,
    /// All numbers are 0.
    #[error("never has a connection: all its numbers are 0")]
    Nobody,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn users_come_and_go_when_the_line_passes_their_number() {
        let ns = Duration::from_nanos(1);
        for (text, user, from, joins, leaves) in [
            ("1..100/60s", 0, 0, Some(Duration::ZERO), None),
            ("1..100/99s", 1, 0, Some(1000 * MS), Some(Duration::ZERO)),
            ("1..100/99s", 98, 0, Some(98_000 * MS), Some(Duration::ZERO)),
            ("1..100/99s", 99, 0, Some(99_000 * MS), Some(Duration::ZERO)),
            ("1..100/99s,50", 99, 0, None, Some(Duration::ZERO)),
            ("100..0/10s", 99, 0, Some(Duration::ZERO), Some(ns)),
            ("100..0/10s", 0, 0, Some(Duration::ZERO), Some(9900 * MS + ns)),
            ("0..4/4s,4..0/4s", 2, 0, Some(3000 * MS), Some(Duration::ZERO)),
            ("0..4/4s,4..0/4s", 2, 3500, Some(3500 * MS), Some(5000 * MS + ns)),
            ("0..4/4s,4..0/4s", 2, 5500, None, Some(5500 * MS)),
            ("2/1s,0/1s,2", 1, 0, Some(Duration::ZERO), Some(1000 * MS)),
            ("2/1s,0/1s,2", 1, 1500, Some(2000 * MS), Some(1500 * MS)),
            // A third of a nanosecond is rounded up.
            ("0..3/1s", 0, 0, Some(Duration::from_nanos(333_333_334)), Some(Duration::ZERO)),
        ] {
            let population: Population = text.parse().unwrap();
            let from = from * MS;
            assert_eq!((population.joins(user, from), population.leaves(user, from)), (joins, leaves), "{text} {user}");
        }
    }

    #[test]
    fn it_prints_as_it_is_written() {
        for text in ["1..100/1m", "1..100/1m,100/30s", "1..100/1m,50", "16/10s", "0..4/4s,4..0/4s"] {
            let population: Population = text.parse().unwrap();
            assert_eq!(population.to_string(), text);
        }
        let population: Population = "1..100/60s,7..3/30s,5".parse().unwrap();
        assert_eq!((population.most(), population.length()), (100, Duration::from_secs(90)));
        assert_eq!((population.last(), population.held()), (3, 5));
    }

    proptest! {
        /// The definition, at any instant: user `k` is there when the line, in exact numbers, is at `k` or above.
        #[test]
        fn a_user_is_there_exactly_when_the_line_is_at_its_number(
            stages in prop::collection::vec((0..9_u32, 0..9_u32, 1..50_u64), 1..5),
            held in 0..9_u32,
            user in 0..9_u32,
            at in 0..200_u64,
        ) {
            let text: Vec<_> = stages.iter().map(|(from, to, ns)| format!("{from}..{to}/{ns}ns")).collect();
            let Ok(population) = format!("{},{held}", text.join(",")).parse::<Population>() else { return Ok(()) };
            let mut begins = 0;
            let mut there = user < held;
            for (from, to, ns) in stages {
                if (begins..begins + ns).contains(&at) {
                    let line = f64::from(from) + (f64::from(to) - f64::from(from)) * (at - begins) as f64 / ns as f64;
                    there = line + 1e-9 >= f64::from(user + 1);
                    break;
                }
                begins += ns;
            }
            let at = Duration::from_nanos(at);
            prop_assert_eq!(population.joins(user, at) == Some(at), there);
            prop_assert_eq!(population.leaves(user, at) == Some(at), !there);
            // Up to the next change nothing changes.
            let next = if there { population.leaves(user, at) } else { population.joins(user, at) };
            if let Some(before) = next.map(|next| next - Duration::from_nanos(1)).filter(|before| *before > at) {
                prop_assert_eq!(population.joins(user, before) == Some(before), there);
            }
        }
    }
}
