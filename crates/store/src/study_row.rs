//! What is told of a study without its records.

use jiff::Timestamp;
use stampede_core::{CaseId, Revision, Rounds, StudyId, StudyKind, WorkloadId};

/// A study in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyRow {
    /// Its name.
    pub id: StudyId,
    /// What it asks.
    pub kind: StudyKind,
    /// What is served.
    pub workload: WorkloadId,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was finished; absent while it runs and after it was interrupted.
    pub finished_at: Option<Timestamp>,
    /// How many blocks were planned.
    pub rounds: Rounds,
    /// What is compared.
    pub cases: Vec<CaseId>,
    /// Which states of the application were measured, each once; none where that was not told.
    pub revisions: Vec<Revision>,
    /// How many trials are stored.
    pub trials: u32,
    /// When it came from another store; absent for what was measured with this one.
    pub imported_at: Option<Timestamp>,
}

/// How far a study is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyState {
    /// How many trials are stored.
    pub trials: u32,
    /// Whether it came to its end.
    pub is_finished: bool,
}
