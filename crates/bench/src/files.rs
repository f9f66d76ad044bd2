//! Files that benchmarks keep and write: what long runs add to, so that they go on where they were left, and documents.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What is kept in a file of lines, each read by `read`; none where there is no file yet. Lines that begin with # are remarks,
/// and one that is `header` says what the others are.
pub(crate) fn lines<T>(path: &Path, header: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, FileError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|source| FileError::Read { path: path.to_owned(), source })?,
    };
    let is_kept = |text: &str| !text.starts_with('#') && text != header.trim_end();
    let lines = (1..).zip(text.lines()).filter(|(_, text)| is_kept(text));
    lines.map(|(line, text)| read(text).ok_or_else(|| FileError::Line { path: path.to_owned(), line })).collect()
}

/// Puts a text behind what a file holds, and on the disk; a new file begins with `head`.
pub(crate) fn append(path: &Path, head: &str, text: &str) -> Result<(), FileError> {
    let append = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let head = if path.exists() { "" } else { head };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{head}{text}").as_bytes())?;
        file.sync_all()
    };
    append().map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes a document.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    fs::write(path, text).map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes a document, to the standard output where no file is named.
pub(crate) fn write_or_print(path: Option<&Path>, text: &str) -> Result<(), FileError> {
    match path {
        Some(path) => write(path, text),
        None => print(text),
    }
}

/// Writes to the standard output.
pub(crate) fn print(text: &str) -> Result<(), FileError> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|source| FileError::Write { path: "the standard output".into(), source })
}

/// What is wrong with a file.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error("read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("read {}: line {line} is not what is kept there", path.display())]
    Line { path: PathBuf, line: usize },
    #[error("write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}
