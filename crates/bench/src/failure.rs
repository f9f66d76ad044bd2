//! Why there is no table.

use std::io;

use thiserror::Error;

use crate::compare::CompareError;
use crate::files::FileError;
use crate::process::ProcessError;

/// Why there is no table.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(
        "this needs two processors, one for the server and one for the client; this machine, or what may be used \
             of it (see taskset -p), has {0}"
    )]
    Processors(usize),
    #[error("prepare the run")]
    Prepare(#[source] io::Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// What it takes is not here.
    #[error("{0}")]
    Missing(String),
    /// What was measured, kept or printed is not what it should be.
    #[error("{0}")]
    Unusable(String),
    #[error("{0}: the floor and the server must agree")]
    Disagreement(String),
    #[error("{0} connections stayed open at the server after their client had ended")]
    Unsettled(u64),
    /// A step that the system did not let succeed.
    #[error("{0}")]
    Step(String, #[source] io::Error),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Failure {
    /// Of a step.
    pub(crate) fn step<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> Self {
        move |error| Self::Step(what.to_owned(), error.into())
    }

    /// Of what `stampede` prints.
    pub(crate) fn lacks(what: &str) -> Self {
        Self::Unusable(format!("read what stampede prints: it has not {what}"))
    }

    /// The exit code, as Stampede's own: 3 something is missing, 4 not valid, 5 a run failed, 130 interrupted; clap ends with 2.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Compare(CompareError::NoStampede(_) | CompareError::Prepare(_))
            | Self::Processors(_)
            | Self::Prepare(_)
            | Self::Missing(_)
            | Self::File(_) => 3,
            Self::Disagreement(_) => 4,
            Self::Process(ProcessError::Interrupted) => 130,
            Self::Compare(_) | Self::Unusable(_) | Self::Unsettled(_) | Self::Step(..) | Self::Process(_) => 5,
        }
    }
}
