//! What is kept as it comes, so that a long run goes on where it was left: JSON, a value a line.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// All values; none where there is no file yet.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, JsonlError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|source| JsonlError::Read { path: path.to_owned(), source })?,
    };
    let value = |(line, text): (usize, &str)| {
        serde_json::from_str(text).map_err(|source| JsonlError::Line { path: path.to_owned(), line, source })
    };
    (1..).zip(text.lines()).map(value).collect()
}

/// Puts values behind those that are there, and on the disk.
pub(crate) fn append<T: Serialize>(path: &Path, values: &[T]) -> Result<(), JsonlError> {
    let write = || {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        for value in values {
            file.write_all(format!("{}\n", serde_json::to_string(value)?).as_bytes())?;
        }
        file.sync_all()
    };
    write().map_err(|source| JsonlError::Write { path: path.to_owned(), source })
}

/// Why lines are not kept, or not read.
#[derive(Debug, Error)]
pub(crate) enum JsonlError {
    #[error("read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("read {}: line {line} is not what is kept there", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        assert!(read::<u32>(&path).unwrap().is_empty());
        append(&path, &[1, 2]).unwrap();
        append(&path, &[3]).unwrap();
        assert_eq!(read::<u32>(&path).unwrap(), [1, 2, 3]);
        append(&path, &["four"]).unwrap();
        assert!(matches!(read::<u32>(&path), Err(JsonlError::Line { line: 4, .. })));
    }
}
