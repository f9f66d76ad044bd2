//! What is kept as it comes, so that a long run goes on where it was left: JSON, a value a line.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::files::{self, FileError};

/// All values; none where there is no file yet.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, FileError> {
    files::lines(path, "", |line| serde_json::from_str(line).ok())
}

/// Puts values behind those that are there, and on the disk.
pub(crate) fn append<T: Serialize>(path: &Path, values: &[T]) -> Result<(), Failure> {
    let line = |value| {
        serde_json::to_string(value).map(|text| {
            text + "
"
        })
    };
    let lines: Result<String, _> = values.iter().map(line).collect();
    let lines = lines.map_err(|error| Failure::Unusable(format!("keep what was measured: {error}")))?;
    Ok(files::append(path, "", &lines)?)
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
        assert!(matches!(read::<u32>(&path), Err(FileError::Line { line: 4, .. })));
    }
}
