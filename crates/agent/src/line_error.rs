//! Why a line ended.

use std::time::Duration;

use thiserror::Error;

use crate::preamble::Preamble;

/// Why the two sides do not hear each other any more, or never did.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// The stream ended.
    #[error("its output ended; look whether it was killed, or the connection to it was closed")]
    Ended,
    /// The stream ended within a frame or a message.
    #[error("its output ended within a message; look whether it was killed, or the connection to it was closed")]
    Truncated,
    /// Nothing came for so long.
    #[error(
        "nothing was heard of it for {0:?}; look whether its machine is stopped, overloaded, or not connected any more"
    )]
    Silent(Duration),
    /// What came is not what a side begins with.
    #[error("{}", not_stampede(came))]
    NotStampede {
        /// The beginning of it, as text.
        came: String,
    },
    /// The preamble ends as a terminal ends lines.
    #[error(
        "its output passes through a terminal, which changes bytes; run it without one (ssh -T, docker exec without -t)"
    )]
    Terminal,
    /// The two sides are not alike.
    #[error("it is {theirs}, but this is {ours}; install the same Stampede on both sides")]
    OtherVersion {
        /// What the other side is.
        theirs: Preamble,
        /// What this side is.
        ours: Preamble,
    },
    /// A frame is larger than frames are.
    #[error(
        "a frame of {length} bytes came, and frames have {most} at most; look whether something else writes to its output"
    )]
    FrameTooLarge {
        /// What its header says.
        length: u64,
        /// What is permitted.
        most: usize,
    },
    /// The parts of messages that are not complete take more than is permitted.
    #[error("messages of more than {most} bytes came; make the plan smaller (bodies, rows of feeders)")]
    MessageTooLarge {
        /// What is permitted.
        most: usize,
    },
    /// Too many messages are not complete.
    #[error("more than {most} messages came at once; look whether something else writes to its output")]
    TooManyMessages {
        /// What is permitted.
        most: usize,
    },
    /// A frame's header has no meaning.
    #[error("a frame came damaged; look whether something else writes to its output")]
    Damaged,
    /// A message has no meaning.
    #[error("a message cannot be read: {0}; install the same Stampede on both sides")]
    Unreadable(String),
    /// A message cannot be written.
    #[error("a message cannot be written: {0}")]
    Unwritable(String),
    /// The system refused to read or write.
    #[error("{0}; look whether it was killed, or the connection to it was closed")]
    Io(String),
    /// This side has ended the line.
    #[error("the line to it was closed here")]
    Closed,
}

fn not_stampede(came: &str) -> String {
    if came.is_empty() {
        return "it ended without a word; look whether Stampede is installed there and can be run".to_owned();
    }
    format!(
        "Stampede's agent did not begin; this came instead: {came:?}; look whether Stampede is installed there, and have the shell \
         print nothing before it"
    )
}

/// An agent that is not heard any more, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("agent {agent} is lost: {reason}")]
pub struct LostAgent {
    /// Its name.
    pub agent: String,
    /// Why.
    pub reason: LineError,
}
