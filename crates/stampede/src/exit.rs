//! Exit codes of this program.

use std::process::ExitCode;

pub(crate) use stampede_conduct::{Exit, Failure};

/// The code that stands for an end.
pub(crate) fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
