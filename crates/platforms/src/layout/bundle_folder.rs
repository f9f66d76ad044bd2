//! The folder that is written: whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};

use stampede_core::BuildStep;
use stampede_export::{Bundle, BundleFile};
use thiserror::Error;

use super::app_copy::{ReplaceError, replace};
use super::folder::{CopyError, copy_app};

/// Why a bundle cannot be in a folder.
#[derive(Debug, Error)]
pub enum BundleFolderError {
    /// It cannot be looked at.
    #[error("{}", .path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something would be lost.
    #[error("{} is not empty\n  name a folder that is not there yet", .0.display())]
    NotEmpty(PathBuf),
    /// One would be copied into itself.
    #[error("{} and the application {} lie one in the other\n  name a folder beside the application", .path.display(), .app.display())]
    Nested {
        /// The folder.
        path: PathBuf,
        /// The application.
        app: PathBuf,
    },
}

/// Why a bundle was not written.
#[derive(Debug, Error)]
pub enum BundleWriteError {
    /// A file could not be.
    #[error("cannot write {}", .path.display())]
    Write {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The application could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Its copy could not be changed.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

/// A folder that may be written.
pub struct BundleFolder {
    /// Absolute.
    path: PathBuf,
}

impl BundleFolder {
    /// Sees that nothing is lost by it, unless by `force`.
    pub fn new(path: &Path, force: bool) -> Result<Self, BundleFolderError> {
        let problem = |source| BundleFolderError::Unreadable { path: path.to_owned(), source };
        match fs::read_dir(path).map(|entries| entries.count()) {
            Ok(1..) if !force => return Err(BundleFolderError::NotEmpty(path.to_owned())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(problem(error)),
            Ok(_) | Err(_) => {}
        }
        // What is there is known by its real path; what is not, by that of the nearest folder that is.
        let whole = absolute(path).map_err(problem)?;
        let there = whole.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        let real = fs::canonicalize(there).map_err(problem)?;
        let rest = whole.strip_prefix(there).unwrap_or(Path::new(""));
        Ok(Self { path: if rest == Path::new("") { real } else { real.join(rest) } })
    }

    /// Where it is: absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// That neither is the application within it nor it within the application, which is copied.
    pub fn apart_from(&self, app: &Path) -> Result<(), BundleFolderError> {
        let real = fs::canonicalize(app);
        let app = real.map_err(|source| BundleFolderError::Unreadable { path: app.to_owned(), source })?;
        if self.path.starts_with(&app) || app.starts_with(&self.path) {
            return Err(BundleFolderError::Nested { path: self.path.clone(), app });
        }
        Ok(())
    }

    /// Writes files, a copy of the application and what was built, beside the folder or below it first and then into it.
    pub fn fill(&self, bundle: &Bundle, app: &Path, built: &[(&BuildStep, PathBuf)]) -> Result<(), BundleWriteError> {
        let failed = |source| BundleWriteError::Write { path: self.path.clone(), source };
        let parent =
            if self.path.is_dir() { self.path.as_path() } else { self.path.parent().unwrap_or(Path::new("/")) };
        fs::create_dir_all(parent).map_err(failed)?;
        let beside = tempfile::Builder::new().prefix(".stampede-").tempdir_in(parent).map_err(failed)?;
        // Other users' servers must get in.
        fs::set_permissions(beside.path(), fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let copy = beside.path().join(&bundle.app);
        copy.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        copy_app(app, &copy)?;
        for replacement in &bundle.replacements {
            replace(&copy, replacement)?;
        }
        for BundleFile { path, text, executable } in &bundle.files {
            put(&beside.path().join(path), text.as_bytes(), *executable).map_err(failed)?;
        }
        for (step, result) in built {
            let path = beside.path().join(&bundle.run).join(&step.output);
            put(&path, &fs::read(result).map_err(failed)?, true).map_err(failed)?;
        }
        self.take(&beside.keep()).map_err(failed)
    }

    /// Moves everything from a folder into this one, in place of what has the same name.
    fn take(&self, from: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = self.path.join(entry.file_name());
            match fs::symlink_metadata(&to) {
                Ok(old) if old.is_dir() => fs::remove_dir_all(&to)?,
                Ok(_) => fs::remove_file(&to)?,
                Err(_) => {}
            }
            fs::rename(entry.path(), to)?;
        }
        fs::remove_dir(from)
    }
}

fn put(path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}
