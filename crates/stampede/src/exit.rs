//! Exit codes: part of the command line's contract.

use std::error::Error;
use std::process::ExitCode;

use stampede_core::with_causes;
use stampede_store::StoreError;

/// How Stampede ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// A gate failed: the change is worse than may pass; or no rate, or none of the settings that were tried, meets an objective.
    GateFailed = 1,
    /// The command line or a plan is wrong.
    Usage = 2,
    /// Something needed is missing on this machine, or cannot be used now.
    Missing = 3,
    /// The measurement is not valid: limits were not enforced, answers were wrong, or the generator could not send what it had to.
    Invalid = 4,
    /// A trial failed.
    TrialFailed = 5,
    /// Ended by a signal that asks to stop.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not be done: the first line says what, the others how to mend it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    /// Something needed is missing or cannot be used.
    pub(crate) fn missing(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::Missing, message: with_causes(error.into().as_ref()) }
    }

    /// A stored study cannot be had: the command line is wrong where it names none, or more than one.
    pub(crate) fn unknown_or_missing(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => Self::usage(error),
            _ => Self::missing(error),
        }
    }

    /// The command line is wrong.
    pub(crate) fn usage(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::Usage, message: with_causes(error.into().as_ref()) }
    }
}

impl Failure {
    /// Both results, or the words of all that failed.
    pub(crate) fn both<A, B>(a: Result<A, Self>, b: Result<B, Self>) -> Result<(A, B), Self> {
        match (a, b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(Self { exit, message }), Err(other)) => {
                Err(Self { exit, message: format!("{message}\n{}", other.message) })
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        }
    }
}
