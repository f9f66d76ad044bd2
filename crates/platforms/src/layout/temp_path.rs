//! A file or folder that is being made beside its place: whatever becomes of its maker, nothing half-made is left.

use std::fs;
use std::path::{Path, PathBuf};

/// It is removed when this is dropped, unless it was moved to its place before.
pub(crate) struct TempPath(PathBuf);

impl TempPath {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_err() {
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_moved_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, moves) in [("file", false), ("folder", false), ("moved", true), ("never made", false)] {
            let temp = TempPath::new(path(name));
            match name {
                "file" | "moved" => fs::write(temp.path(), "").unwrap(),
                "folder" => fs::create_dir_all(temp.path().join("inner")).unwrap(),
                _ => {}
            }
            if moves {
                fs::rename(temp.path(), path("kept")).unwrap();
            }
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"]);
    }
}
