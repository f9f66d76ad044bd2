//! What load is driven at a deployment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ParsePopulationError, ParseScheduleError, Population, Schedule};

/// A load model. A closed and an open load ask different questions and never share a table.
///
/// Written as `closed:CONNECTIONS`, `closed:POPULATION` or `open:[poisson:]SCHEDULE[@CONNECTIONS]`, where a [`Schedule`] is a
/// rate such as `500`, a ramp such as `50..100/60s`, or stages such as `50/10s,50..100/60s`, and a [`Population`] the same
/// with numbers of connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Load {
    /// A fixed number of connections, each of which sends its next request when the previous answer is there.
    Closed {
        /// How many connections.
        connections: u32,
    },
    /// A number of connections that changes, each of which sends as those of a closed load do while it is there. One that
    /// has to go waits for the answer that it is due, and not for the rest of a flow.
    Ramped {
        /// How many, and when.
        connections: Population,
    },
    /// Requests are due at times of their own, whatever the server does. One that finds no free connection waits.
    Open {
        /// How many are expected to be due, and when.
        #[serde(rename = "rate")]
        schedule: Schedule,
        /// How they are spread around that.
        arrivals: Arrivals,
        /// The most connections that are open at once; [`Load::keeps_all`] says when they open.
        connections: u32,
    },
}

/// How the requests of an open load are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exactly when the schedule expects them.
    Uniform,
    /// At random with the schedule's rate, as requests of many people who know nothing of each other.
    Poisson,
}

impl Load {
    /// The most connections of an open load that does not say how many. At 50 ms an answer they carry 5,120 requests a
    /// second, and no server is refused them by its defaults.
    pub const OPEN_CONNECTIONS: u32 = 256;

    /// The same with the times of its stages multiplied with `time`, and the rates of an open load with `rate`. Numbers of
    /// connections stay.
    ///
    /// # Errors
    ///
    /// When that leaves a stage no time, or makes a rate too high or nothing.
    pub fn scaled(&self, time: f64, rate: f64) -> Result<Self, ParseLoadError> {
        Ok(match self {
            Self::Closed { connections } => Self::Closed { connections: *connections },
            Self::Ramped { connections } => Self::Ramped { connections: connections.scaled(time)? },
            Self::Open { schedule, arrivals, connections } => {
                Self::Open { schedule: schedule.scaled(time, rate)?, arrivals: *arrivals, connections: *connections }
            }
        })
    }

    /// The same with the connections of loads that are driven beside it: what a server has to be ready for.
    pub fn joined_by(&self, others: &[Self]) -> Self {
        let more: u32 = others.iter().map(Self::connections).sum();
        match self {
            load if more == 0 => load.clone(),
            Self::Closed { .. } | Self::Ramped { .. } => Self::Closed { connections: self.connections() + more },
            Self::Open { schedule, arrivals, connections } => {
                Self::Open { schedule: schedule.clone(), arrivals: *arrivals, connections: connections + more }
            }
        }
    }

    /// Whether an open load keeps all its connections and uses them in turn, as one does that gives their number. Of
    /// [`Load::OPEN_CONNECTIONS`], which is as good as no number, it opens those that it needs: a server that binds a
    /// worker to each connection would have no worker left otherwise.
    pub fn keeps_all(&self) -> bool {
        matches!(self, Self::Open { connections, .. } if *connections != Self::OPEN_CONNECTIONS)
    }

    /// The most connections that are open at once.
    pub fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections } | Self::Open { connections, .. } => *connections,
            Self::Ramped { connections } => connections.most(),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { connections } => write!(f, "closed:{connections}"),
            Self::Ramped { connections } => write!(f, "closed:{connections}"),
            Self::Open { schedule, arrivals, connections } => {
                let arrivals = match arrivals {
                    Arrivals::Uniform => "",
                    Arrivals::Poisson => "poisson:",
                };
                write!(f, "open:{arrivals}{schedule}")?;
                match *connections {
                    Self::OPEN_CONNECTIONS => Ok(()),
                    connections => write!(f, "@{connections}"),
                }
            }
        }
    }
}

/// Why a load could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParseLoadError {
    /// It is neither closed nor open.
    #[error(
        "is not a load such as closed:16 (16 connections, each with one request in flight) or open:500 (500 requests a second)"
    )]
    Model,
    /// The number of connections is not one.
    #[error("has no number of connections such as closed:16 or open:500@64")]
    Connections,
    /// The connections of a closed load are not such that change.
    #[error(transparent)]
    Population(#[from] ParsePopulationError),
    /// The schedule of an open load is not one.
    #[error(transparent)]
    Schedule(#[from] ParseScheduleError),
}

impl FromStr for Load {
    type Err = ParseLoadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let connections = |text: &str| match text.parse() {
            Ok(connections) if connections > 0 => Ok(connections),
            _ => Err(ParseLoadError::Connections),
        };
        match text.split_once(':') {
            Some(("closed", stages)) if stages.contains(['/', ',']) || stages.contains("..") => {
                Ok(Self::Ramped { connections: stages.parse()? })
            }
            Some(("closed", number)) => Ok(Self::Closed { connections: connections(number)? }),
            Some(("open", rest)) => {
                let (arrivals, rest) = match rest.strip_prefix("poisson:") {
                    Some(rest) => (Arrivals::Poisson, rest),
                    None => (Arrivals::Uniform, rest),
                };
                let (schedule, connections) = match rest.split_once('@') {
                    Some((schedule, number)) => (schedule, connections(number)?),
                    None => (rest, Self::OPEN_CONNECTIONS),
                };
                Ok(Self::Open { schedule: schedule.parse()?, arrivals, connections })
            }
            _ => Err(ParseLoadError::Model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_prints_as_it_is_written() {
        for text in [
            "closed:1",
            "closed:16",
            "closed:1..100/1m",
            "closed:1..100/1m,100/30s",
            "open:500",
            "open:0.5@1",
            "open:50..100/1m",
            "open:poisson:500",
            "open:poisson:50/10s,50..100/1m,20@64",
        ] {
            let load: Load = text.parse().unwrap();
            assert_eq!(load.to_string(), text);
            let stored = serde_json::to_string(&load).unwrap();
            assert_eq!(serde_json::from_str::<Load>(&stored).unwrap(), load, "{stored}");
        }
        assert_eq!("open:1@256".parse::<Load>().unwrap().to_string(), "open:1");
    }

    #[test]
    fn a_load_is_scaled_in_time_and_in_rate() {
        for (text, time, rate, scaled) in [
            ("closed:100", 0.1, 0.5, Some("closed:100")),
            ("closed:1..100/60s,100/30s", 0.1, 0.5, Some("closed:1..100/6s,100/3s")),
            ("open:500", 0.1, 0.5, Some("open:250")),
            ("open:2/10s,random:5/15s,6..600/180s", 0.1, 0.5, Some("open:1/1s,random:2.5/1s 500ms,3..300/18s")),
            ("open:poisson:50..100/60s@64", 0.2, 1.0, Some("open:poisson:50..100/12s@64")),
            ("open:1/10ms", 0.01, 1.0, None),
            ("open:1", 1.0, 0.0001, None),
            ("closed:1..5/10h", 3.0, 1.0, None),
        ] {
            let load: Load = text.parse().unwrap();
            let expected = scaled.map(|text| text.replace(' ', "").parse::<Load>().unwrap());
            assert_eq!(load.scaled(time, rate).ok(), expected, "{text}");
        }
    }

    #[test]
    fn an_open_load_keeps_the_connections_whose_number_it_gives() {
        for (load, keeps_all) in [
            ("open:500@16", true),
            ("open:poisson:50..100/60s@257", true),
            ("open:500", false),
            ("open:500@256", false),
            ("closed:16", false),
        ] {
            assert_eq!(load.parse::<Load>().unwrap().keeps_all(), keeps_all, "{load}");
        }
    }

    #[test]
    fn loads_that_are_driven_together_have_all_their_connections() {
        for (text, others, joined) in [
            ("open:5", &["open:2@10", "open:3@20"][..], "open:5@286"),
            ("closed:1..4/1s", &["closed:3"], "closed:7"),
            ("closed:1..4/1s", &[], "closed:1..4/1s"),
        ] {
            let load = |text: &str| text.parse::<Load>().unwrap();
            let others: Vec<Load> = others.iter().map(|other| load(other)).collect();
            assert_eq!(load(text).joined_by(&others), load(joined), "{text}");
        }
    }

    #[test]
    fn what_is_no_load_says_why() {
        use ParseLoadError as E;
        for (text, error) in [
            ("", E::Model),
            ("closed", E::Model),
            ("16", E::Model),
            ("opened:5", E::Model),
            ("closed:", E::Connections),
            ("closed:0", E::Connections),
            ("closed:-1", E::Connections),
            ("closed:1..100", E::Population(ParsePopulationError::EndlessRamp)),
            ("closed:1..100,5", E::Population(ParsePopulationError::EndlessRamp)),
            ("closed:5,100/5s", E::Population(ParsePopulationError::EndlessStage)),
            ("closed:1.5/5s", E::Population(ParsePopulationError::Number)),
            ("closed:5/0s", E::Population(ParsePopulationError::Time)),
            ("closed:5/25h", E::Population(ParsePopulationError::TooLong)),
            ("closed:0..0/5s", E::Population(ParsePopulationError::Nobody)),
            ("open:5@", E::Connections),
            ("open:5@0", E::Connections),
            ("open:", E::Schedule(ParseScheduleError::Rate)),
            ("open:poisson:", E::Schedule(ParseScheduleError::Rate)),
            ("open:0", E::Schedule(ParseScheduleError::Nothing)),
            ("open:5..6", E::Schedule(ParseScheduleError::EndlessRamp)),
        ] {
            assert_eq!(text.parse::<Load>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_stored_closed_load_reads_as_ever() {
        let stored = r#"{"model":"closed","connections":16}"#;
        assert_eq!(serde_json::from_str::<Load>(stored).unwrap(), Load::Closed { connections: 16 });
    }
}
