//! Estimators, intervals and decisions: numbers in, numbers out.
//!
//! Nothing here knows what its numbers measure. A replicate is one number of the slice that is handed in; that replicates
//! are independent (trials, never requests of one trial) is the caller's care.

mod equivalence;
mod interval;
mod student;

pub use equivalence::equivalent_within;
pub use interval::{Interval, IntervalError, mean, mean_interval, ratio_interval};
pub use student::Confidence;
