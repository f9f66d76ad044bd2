//! What was conducted, as the [`ReportAnswer`](stampede_report::ReportAnswer) that reports are made of: a function a question. Whoever
//! calls is given the answer, and returns what comes of writing it; the functions return how the command ends.
//!
//! Nothing is measured, laid out or written here.

mod experiment;
mod ladder;
mod size;
mod study;
mod tune;

pub use experiment::experiment;
pub use ladder::ladder;
pub use size::{service_size, size};
pub use study::study;
pub use tune::tune;

use stampede_conduct::Failure;
use stampede_report::ReportAnswer;

/// Writes reports on an answer.
pub type WriteAnswer<'a> = &'a dyn Fn(&ReportAnswer<'_>) -> Result<(), Failure>;
