//! A study as it is kept.

use jiff::Timestamp;

use crate::{Study, Trial, YardStickReading};

/// A study with all that is stored of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredStudy {
    /// The study.
    pub study: Study,
    /// When it was finished; absent while it runs and after it was interrupted.
    pub finished_at: Option<Timestamp>,
    /// Its trials in the order in which they were run.
    pub trials: Vec<Trial>,
    /// What its reference server gave, in the order in which it was read.
    pub yard_stick: Vec<YardStickReading>,
}
