//! What answers must be for a service to be good enough.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::as_text::as_text;
use crate::short_time;

/// A service level objective: terms that must all hold.
///
/// Written as terms separated by commas, each a response time or the share of errors with what it must be below:
/// `p99<100ms,errors<0.1%`. No two terms are about the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slo {
    terms: Vec<SloTerm>,
}

/// What ended in a second of the window, beside an objective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SloSecond {
    /// Requests that came to an end, whatever that was.
    pub ended: u64,
    /// How many of them were beyond each term, in the terms' order.
    pub beyond: Vec<u64>,
}

/// One thing that must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SloTerm {
    /// So many of all response times are below a limit. They count from when a request was due.
    Response {
        /// How many of them.
        percentile: Percentile,
        /// The limit.
        below: Duration,
    },
    /// The share of all requests that have no right answer is below a limit.
    Errors {
        /// The limit, above 0 and below 1.
        below: f64,
    },
}

/// The share of response times that a term is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Percentile {
    /// Half of them.
    P50,
    /// 90 of 100.
    P90,
    /// 95 of 100.
    P95,
    /// 99 of 100.
    P99,
    /// 999 of 1000.
    P999,
}

impl Percentile {
    /// All, the lowest first.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    /// Its name: `p99.9`.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// The share of response times that may be beyond it: 0.01 of p99.
    pub fn beyond(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.1,
            Self::P95 => 0.05,
            Self::P99 => 0.01,
            Self::P999 => 0.001,
        }
    }
}

/// What the share of errors is called.
const ERRORS: &str = "errors";

/// No response time is asked to be below less, which no clock would tell from more, or more, which is no service.
const RESPONSES: (Duration, Duration) = (Duration::from_micros(10), Duration::from_secs(3600));

impl Slo {
    /// An objective of these terms.
    ///
    /// # Errors
    ///
    /// When there is none, or two are about the same thing.
    pub fn new(terms: Vec<SloTerm>) -> Result<Self, ParseSloError> {
        if terms.is_empty() {
            return Err(ParseSloError::Nothing);
        }
        let twice = |(place, term): (usize, &SloTerm)| terms[..place].iter().any(|other| other.name() == term.name());
        match terms.iter().enumerate().any(twice) {
            true => Err(ParseSloError::Twice),
            false => Ok(Self { terms }),
        }
    }

    /// What must hold, in the order in which it was written.
    pub fn terms(&self) -> &[SloTerm] {
        &self.terms
    }
}

impl SloTerm {
    /// What it is about: `p99`, or `errors`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Response { percentile, .. } => percentile.name(),
            Self::Errors { .. } => ERRORS,
        }
    }

    /// The share of all requests that may be beyond what it asks for.
    pub fn beyond(&self) -> f64 {
        match self {
            Self::Response { percentile, .. } => percentile.beyond(),
            Self::Errors { below } => *below,
        }
    }

    /// A term about what this names, with this limit.
    ///
    /// # Errors
    ///
    /// When either is none.
    pub fn read(name: &str, limit: &str) -> Result<Self, ParseSloError> {
        if name == ERRORS {
            let share = match limit.strip_suffix('%') {
                Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
                None => limit.parse(),
            };
            return match share {
                Ok(below) if below > 0.0 && below < 1.0 => Ok(Self::Errors { below }),
                _ => Err(ParseSloError::Share),
            };
        }
        let percentile = Percentile::ALL.into_iter().find(|percentile| percentile.name() == name);
        let percentile = percentile.ok_or(ParseSloError::Name)?;
        match humantime::parse_duration(limit) {
            Ok(below) if (RESPONSES.0..=RESPONSES.1).contains(&below) => Ok(Self::Response { percentile, below }),
            _ => Err(ParseSloError::Time),
        }
    }
}

impl fmt::Display for SloTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { percentile, below } => {
                write!(f, "{}<{}", percentile.name(), short_time(*below))
            }
            // Rounded to what a share in per cent that was typed cannot lose.
            Self::Errors { below } => write!(f, "{ERRORS}<{}%", (below * 1e11).round() / 1e9),
        }
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.terms.iter().map(SloTerm::to_string).collect::<Vec<_>>().join(","))
    }
}

/// Why an objective could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParseSloError {
    /// There is no term.
    #[error("has no term such as p99<100ms or errors<0.1%")]
    Nothing,
    /// Two terms are about the same thing.
    #[error("has two terms about the same thing")]
    Twice,
    /// It is not a name, a < and a limit.
    #[error("is not a term such as p99<100ms or errors<0.1%")]
    Term,
    /// Nothing has this name.
    #[error("does not begin with p50, p90, p95, p99, p99.9 or errors")]
    Name,
    /// The limit of a response time is none.
    #[error("does not end with a time from 10us to 1h, such as 100ms")]
    Time,
    /// The limit of the errors is none.
    #[error("does not end with a share above 0 and below 100%, such as 0.1%")]
    Share,
}

impl FromStr for SloTerm {
    type Err = ParseSloError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, limit) = text.split_once('<').ok_or(ParseSloError::Term)?;
        Self::read(name.trim(), limit.trim())
    }
}

impl FromStr for Slo {
    type Err = ParseSloError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

as_text!(Slo);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_prints_as_it_is_written() {
        for text in ["p99<100ms", "p99<100ms,errors<0.1%", "p50<1s500ms,p99.9<2s", "errors<33.3%", "p95<250us"] {
            let slo: Slo = text.parse().unwrap();
            assert_eq!(slo.to_string(), text);
            let stored = serde_json::to_string(&slo).unwrap();
            assert_eq!(serde_json::from_str::<Slo>(&stored).unwrap(), slo, "{stored}");
        }
        let slo: Slo = " p99 < 0.1s".replace("0.1s", "100 ms").parse().unwrap();
        assert_eq!(slo.to_string(), "p99<100ms");
        assert_eq!("errors<0.001".parse::<Slo>().unwrap().to_string(), "errors<0.1%");
    }

    #[test]
    fn what_is_no_objective_says_why() {
        use ParseSloError as E;
        for (text, error) in [
            ("", E::Term),
            ("p99", E::Term),
            ("p99=100ms", E::Term),
            ("p98<100ms", E::Name),
            ("latency<100ms", E::Name),
            ("p99<100", E::Time),
            ("p99<0ms", E::Time),
            ("p99<2h", E::Time),
            ("errors<0%", E::Share),
            ("errors<100%", E::Share),
            ("errors<few", E::Share),
            ("p99<1s,", E::Term),
            ("p99<1s,p99<2s", E::Twice),
        ] {
            assert_eq!(text.parse::<Slo>(), Err(error), "{text}");
        }
        assert_eq!(Slo::new(Vec::new()), Err(E::Nothing));
    }
}
