//! Values of a flag that are too many for its help: `--price help` prints them all.

use std::ffi::OsStr;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// What is typed in place of a value to see all of them.
const ASKS: [&str; 2] = ["help", "list"];

/// Reads a flag's value as text. `help` and `list` ask for this list, which ends the command as help does: see [`listed`].
#[derive(Clone, Copy, Debug)]
pub struct OrList(pub fn() -> String);

impl TypedValueParser for OrList {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        if ASKS.iter().any(|word| value == *word) {
            let mut asked = Error::new(ErrorKind::DisplayHelp).with_cmd(command);
            asked.insert(ContextKind::Custom, ContextValue::String((self.0)()));
            return Err(asked);
        }
        StringValueParser::new().parse_ref(command, arg, value)
    }
}

/// The list that a command line asked for, if that is what came of it.
#[must_use]
pub fn listed(error: &Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::Custom)) {
        (ErrorKind::DisplayHelp, Some(ContextValue::String(list))) => Some(list),
        _ => None,
    }
}
