//! The small text files through which the kernel is read and told; every error names the file, and the line if it has
//! one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<String, FileError> {
    fs::read_to_string(path).map_err(|source| FileError::Io { action: "read", path: path.to_owned(), source })
}

/// Reads a whole file that this kernel may not have.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<String>, FileError> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a value in one call, as the kernel wants it.
pub(crate) fn write(path: &Path, value: &str) -> Result<(), FileError> {
    fs::write(path, value).map_err(|source| FileError::Io { action: "write", path: path.to_owned(), source })
}

/// Makes a folder, which the kernel takes for a group.
pub(crate) fn make_folder(dir: &Path) -> Result<(), FileError> {
    fs::create_dir(dir).map_err(|source| FileError::Io { action: "create", path: dir.to_owned(), source })
}

/// Reads a file that holds one whole number.
pub(crate) fn read_number(path: &Path) -> Result<u64, FileError> {
    number(path, 1, read(path)?.trim())
}

/// Reads one whole number of a line.
pub(crate) fn number(path: &Path, line: usize, text: &str) -> Result<u64, FileError> {
    text.parse().map_err(|_| malformed(path, line, text, "a whole number"))
}

/// A line that is not what the kernel documents.
pub(crate) fn malformed(path: &Path, line: usize, text: &str, expected: &'static str) -> FileError {
    FileError::Malformed { path: path.to_owned(), line, text: text.to_owned(), expected }
}

/// A flat keyed file: `KEY VALUE` on each line.
pub(crate) struct Keyed {
    path: PathBuf,
    text: String,
}

impl Keyed {
    pub(crate) fn read(path: PathBuf) -> Result<Self, FileError> {
        let text = read(&path)?;
        Ok(Self { path, text })
    }

    /// The number behind a key that this kernel may not have.
    pub(crate) fn get(&self, key: &str) -> Result<Option<u64>, FileError> {
        for (line, text) in (1..).zip(self.text.lines()) {
            match text.split_once(' ') {
                Some((name, value)) if name == key => {
                    return number(&self.path, line, value.trim()).map(Some);
                }
                Some(_) => {}
                None => return Err(malformed(&self.path, line, text, "a key and its value")),
            }
        }
        Ok(None)
    }

    /// The number behind a key that every kernel has.
    pub(crate) fn require(&self, key: &'static str) -> Result<u64, FileError> {
        self.get(key)?.ok_or_else(|| FileError::NoKey { path: self.path.clone(), key })
    }
}

/// Why a file of the kernel could not be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It could not be opened, read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// `read`, `write`, `create` or `remove`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A line is not what the kernel documents.
    #[error("read {}:{line}: {text:?} is not {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What should.
        expected: &'static str,
    },
    /// A key is missing.
    #[error("read {}: there is no line {key}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
}
