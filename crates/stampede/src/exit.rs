//! Exit codes of this program.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

pub(crate) use stampede_conduct::{Exit, Failure};

/// The code of a command that only serves other Stampedes, which says on stderr why it ended.
pub(crate) fn of_served(command: &str, served: Result<(), impl Display>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "stampede {command}: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The code that stands for an end.
pub(crate) fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
