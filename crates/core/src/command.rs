//! A command that serves by itself: any program that listens on the port in its environment variable `PORT`.

use crate::{GracefulStop, Replacement, TunableKind};

/// What is run, how it is built, started, set and stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, never empty; run in the copy of the application. A program without a slash is
    /// looked for on the search path; `@{built}` is what the build made.
    pub run: Vec<String>,
    /// What is run in the application's folder to make one file, named as `@{output}` among its arguments.
    pub build: Option<Vec<String>>,
    /// Texts that are replaced in the copy of the application, which put address and number of workers into its own files.
    pub replacements: Vec<Replacement>,
    /// When it counts as started.
    pub ready: CommandReady,
    /// How it is stopped.
    pub stop: GracefulStop,
    /// Its settings.
    pub tunables: Vec<CommandTunable>,
}

/// When a command counts as started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandReady {
    /// When something listens on its port.
    Port,
    /// When it answers a request.
    Request,
}

/// A setting of a command: an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTunable {
    /// The variable.
    pub name: String,
    /// What values it takes.
    pub values: CommandValues,
    /// Its value unless one is given; one of the values that it takes.
    pub default: String,
}

/// The values that a command's setting takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandValues {
    /// A whole number within bounds, both included.
    Count {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// One of these words.
    Choice(Vec<String>),
}

impl CommandValues {
    /// Checks one value as text.
    ///
    /// # Errors
    ///
    /// What is wrong, as the end of a sentence that begins with the value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        match self {
            Self::Count { min, max } => TunableKind::Count { min: *min, max: *max }.check(value),
            Self::Choice(words) if words.iter().any(|word| word == value) => Ok(()),
            Self::Choice(words) => Err(format!("is not one of {}", words.join(", "))),
        }
    }
}
