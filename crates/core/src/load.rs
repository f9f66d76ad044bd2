//! What load is driven at a deployment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A load model. A closed and an open load ask different questions and never share a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Load {
    /// A fixed number of connections, each of which sends its next request when the previous answer is there.
    Closed {
        /// How many connections.
        connections: u32,
    },
}

impl Load {
    /// The most connections that are open at once.
    pub fn connections(&self) -> u32 {
        match self {
            Self::Closed { connections } => *connections,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { connections } => write!(f, "closed:{connections}"),
        }
    }
}

/// Why a load could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("is not a load such as closed:16 (16 connections, each with one request in flight)")]
pub struct ParseLoadError;

impl FromStr for Load {
    type Err = ParseLoadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let connections = text.strip_prefix("closed:").ok_or(ParseLoadError)?;
        match connections.parse() {
            Ok(connections) if connections > 0 => Ok(Self::Closed { connections }),
            _ => Err(ParseLoadError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_prints_as_it_is_written() {
        for text in ["closed:1", "closed:16"] {
            assert_eq!(text.parse::<Load>().unwrap().to_string(), text);
        }
        for text in ["", "closed", "closed:", "closed:0", "closed:-1", "16", "open:"] {
            assert_eq!(text.parse::<Load>(), Err(ParseLoadError), "{text}");
        }
    }
}
