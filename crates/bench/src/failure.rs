//! Why there is no table.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::args::ArgsError;
use crate::blocks::BlocksError;
use crate::burner::BurnError;
use crate::capacity::CapacitiesError;
use crate::compare::CompareError;
use crate::findings::FindingsError;
use crate::floor::FloorError;
use crate::nginx::NginxError;
use crate::process::ProcessError;
use crate::proof::ProofError;
use crate::published::PublishedError;
use crate::real::RealError;
use crate::recording::RecordingError;
use crate::sampling::SamplingError;
use crate::server::{CountError, ServeError};
use crate::tuning::ReplayError;
use crate::tuning::recorder::GridRecordingError;
use crate::turns::TurnsError;
use crate::validation::ValidationError;

/// Why there is no table.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Args(#[from] ArgsError),
    #[error(
        "this needs two processors, one for the server and one for the client; this machine, or what may be used \
             of it (see taskset -p), has {0}"
    )]
    Processors(usize),
    #[error("there is no {}: build it with cargo build --release -p stampede, or say --stampede FILE", .0.display())]
    NoStampede(PathBuf),
    #[error("prepare the run")]
    Prepare(#[source] io::Error),
    #[error("write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{0}: the floor and the server must agree")]
    Disagreement(String),
    #[error("{0} connections stayed open at the server after their client had ended")]
    Unsettled(u64),
    #[error("serve")]
    Serve(#[from] ServeError),
    #[error("run the floor")]
    Floor(#[from] FloorError),
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Nginx(#[from] NginxError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    #[error(transparent)]
    Capacities(#[from] CapacitiesError),
    #[error(transparent)]
    Proof(#[from] ProofError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error(transparent)]
    Grid(#[from] GridRecordingError),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Real(#[from] RealError),
    #[error(transparent)]
    Validation(#[from] ValidationError),
    #[error(transparent)]
    Published(#[from] PublishedError),
    #[error(transparent)]
    Turns(#[from] TurnsError),
    #[error(transparent)]
    Blocks(#[from] BlocksError),
    #[error(transparent)]
    Findings(#[from] FindingsError),
    #[error("burn")]
    Burn(#[from] BurnError),
}

impl Failure {
    /// The exit code, as Stampede's own: 2 usage, 3 something is missing, 4 not valid, 5 a run failed, 130 interrupted.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Args(_) => 2,
            Self::Grid(
                GridRecordingError::Compare(CompareError::NoStampede(_)) | GridRecordingError::Subject { .. },
            )
            | Self::Recording(RecordingError::Compare(CompareError::NoStampede(_)))
            | Self::Real(RealError::Compare(CompareError::NoStampede(_)))
            | Self::Validation(ValidationError::Compare(CompareError::NoStampede(_)))
            | Self::Published(PublishedError::Compare(CompareError::NoStampede(_)) | PublishedError::Fastest)
            | Self::Findings(FindingsError::Compare(CompareError::NoStampede(_)))
            | Self::Turns(TurnsError::Compare(CompareError::NoStampede(_)))
            | Self::Blocks(BlocksError::Compare(CompareError::NoStampede(_)))
            | Self::Processors(_)
            | Self::NoStampede(_)
            | Self::Prepare(_)
            | Self::Write { .. } => 3,
            Self::Disagreement(_) => 4,
            Self::Process(ProcessError::Interrupted) => 130,
            Self::Unsettled(_)
            | Self::Serve(_)
            | Self::Floor(_)
            | Self::Count(_)
            | Self::Nginx(_)
            | Self::Sampling(_)
            | Self::Capacities(_)
            | Self::Proof(_)
            | Self::Replay(_)
            | Self::Grid(_)
            | Self::Recording(_)
            | Self::Real(_)
            | Self::Validation(_)
            | Self::Published(_)
            | Self::Findings(_)
            | Self::Turns(_)
            | Self::Blocks(_)
            | Self::Burn(_)
            | Self::Process(_) => 5,
        }
    }
}
