//! A file that is written.

use std::path::PathBuf;

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Whether it is a program.
    pub executable: bool,
}

impl BundleFile {
    pub(crate) fn text(path: impl Into<PathBuf>, text: String) -> Self {
        Self { path: path.into(), text, executable: false }
    }

    pub(crate) fn program(path: impl Into<PathBuf>, text: String) -> Self {
        Self { executable: true, ..Self::text(path, text) }
    }
}
