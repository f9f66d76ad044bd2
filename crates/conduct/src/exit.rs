//! How a command ends, and why it could not be done.

use std::error::Error;

use stampede_analysis::{CapacityFound, capacity};
use stampede_core::{Outcome, Study, StudyKind, Trial, with_causes};
use stampede_store::{StoreError, StoredStudy};

/// How Stampede ends: the numbers are part of the command line's contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
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

/// Why a command could not be done: the first line says what, the others how to mend it.
#[derive(Debug)]
pub struct Failure {
    /// How it ends.
    pub exit: Exit,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Failure {
    /// Something needed is missing or cannot be used.
    pub fn missing(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::Missing, message: with_causes(error.into().as_ref()) }
    }

    /// A stored study cannot be had: the command line is wrong where it names none, or more than one.
    #[must_use]
    pub fn unknown_or_missing(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => Self::usage(error),
            _ => Self::missing(error),
        }
    }

    /// The command line is wrong.
    pub fn usage(error: impl Into<Box<dyn Error>>) -> Self {
        Self { exit: Exit::Usage, message: with_causes(error.into().as_ref()) }
    }

    /// Both results, or the words of all that failed.
    ///
    /// # Errors
    ///
    /// When one of them failed, or both.
    pub fn both<A, B>(a: Result<A, Self>, b: Result<B, Self>) -> Result<(A, B), Self> {
        match (a, b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(Self { exit, message }), Err(other)) => {
                Err(Self { exit, message: format!("{message}\n{}", other.message) })
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        }
    }
}

/// How a study ends that came to its end, by what became of its trials, or by what it found where it asked for a rate.
#[must_use]
pub fn exit_of(study: Option<&Study>, trials: &[Trial]) -> Exit {
    if let Some(study) = study.filter(|study| study.kind == StudyKind::Capacity)
        && let Some(found) = capacity(study, trials).found
    {
        return match found {
            CapacityFound::Rate { .. } => Exit::Done,
            CapacityFound::Nothing { .. } => Exit::GateFailed,
            CapacityFound::BeyondGenerator { .. } => Exit::Invalid,
        };
    }
    // A change that does not work answers the question as well.
    let base = study.filter(|study| study.kind == StudyKind::Why).and_then(|study| study.cases.first());
    let counts = |trial: &&Trial| base.is_none_or(|base| base.id == trial.case);
    let any = |test: fn(&Outcome) -> bool| trials.iter().filter(counts).any(|trial| test(&trial.outcome));
    if any(|outcome| matches!(outcome, Outcome::Failed(_))) {
        Exit::TrialFailed
    } else if any(|outcome| matches!(outcome, Outcome::Invalid(_))) {
        Exit::Invalid
    } else {
        Exit::Done
    }
}

/// How a search ends that has an answer, by the studies that its answer rests on.
pub fn exit_of_all<'a>(studies: impl IntoIterator<Item = &'a StoredStudy>) -> Exit {
    let exits: Vec<Exit> =
        studies.into_iter().map(|StoredStudy { study, trials, .. }| exit_of(Some(study), trials)).collect();
    [Exit::TrialFailed, Exit::Invalid].into_iter().find(|exit| exits.contains(exit)).unwrap_or(Exit::Done)
}
