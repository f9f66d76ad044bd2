//! Files that an answer is written to: a format is a file of its own, and a line here.

use crate::answer::ReportAnswer;
use crate::{case_rows, csv, html, json, markdown};

/// A format of files.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The flag that names the file.
    pub flag: &'static str,
    /// What the flag does, for `--help`.
    pub help: &'static str,
    /// Writes an answer.
    pub write: fn(&ReportAnswer<'_>) -> String,
}

/// All of them, in the order of `--help`.
pub const FORMATS: &[Format] = &[json::FORMAT, markdown::FORMAT, html::FORMAT, csv::FORMAT, case_rows::FORMAT];
