//! A run's folder: a copy of the application, the rendered files, logs and sockets.
//!
//! The copy is the run's user's own: applications keep caches, logs and sessions in their folders. Nobody keeps what they
//! wrote: the next trial gets a new copy.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use super::owned::{FolderError, failed, hand_over, make_folder, make_folders, set_mode};
use super::{app_copy, template_folder};
use crate::machine::user::User;

/// What programs take for the user's own folder, relative to the run's: tools keep caches there.
pub(crate) const HOME: &str = "home";

/// Where unix sockets are, relative to the run's folder.
pub(crate) const SOCKETS: &str = "s";

/// A run's folder. Everything in it can be read by the run's user, who may write only where it is said, and by nobody else.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    user: Option<User>,
}

impl Folder {
    /// Makes the folder with its sub-folders for logs and sockets.
    pub(crate) fn create(path: &Path, user: Option<User>) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned(), user };
        make_folder(path)?;
        folder.close()?;
        make_folder(&path.join("logs"))?;
        Ok(folder)
    }

    /// Keeps all others out: an application may hold secrets.
    fn close(&self) -> Result<(), FolderError> {
        match self.user {
            Some(User { gid, .. }) => {
                chown(&self.path, None, Some(gid)).map_err(failed("change the group of", &self.path))?;
                set_mode(&self.path, 0o750)
            }
            None => set_mode(&self.path, 0o700),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the copy of the application is.
    pub(crate) fn app(&self) -> PathBuf {
        self.path.join("app")
    }

    /// Where a unix socket is.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.path.join(SOCKETS).join(format!("{name}.sock"))
    }

    /// Where a unit's standard output and error go.
    pub(crate) fn log(&self, unit: &str) -> PathBuf {
        self.path.join("logs").join(format!("{unit}.log"))
    }

    /// Copies the application for the run's user to do with as it likes.
    pub(crate) fn copy_app(&self, source: &Path) -> Result<(), FolderError> {
        app_copy::copy(source, &self.app(), self.user)
    }

    /// Writes a file that the run's user may read.
    pub(crate) fn write(&self, relative: &Path, text: &str) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::write(&path, text).map_err(failed("write", &path))?;
        set_mode(&path, 0o644)
    }

    /// Copies a program into the folder.
    pub(crate) fn install(&self, program: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::copy(program, &path).map_err(failed("write", &path))?;
        set_mode(&path, 0o755)
    }

    /// Puts a program that was copied already at a second place: one file, as the layers of container images are, so that
    /// its page cache counts once.
    pub(crate) fn share(&self, first: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        fs::hard_link(self.inside(first)?, &path).map_err(failed("write", &path))
    }

    /// Copies a folder that the run's user may write to.
    pub(crate) fn install_folder(&self, template: &Path, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        if let Some(parent) = path.parent() {
            make_folders(parent)?;
        }
        template_folder::copy(template, &path, self.user).map_err(failed("write", &path))
    }

    /// Makes a folder that the run's user may write to. Nothing is written there afterwards with more rights than the run's
    /// user has: it could have put a link in the way.
    pub(crate) fn make_writable(&self, relative: &Path) -> Result<(), FolderError> {
        let path = self.inside(relative)?;
        make_folders(&path)?;
        if let Some(User { uid, gid }) = self.user {
            chown(&path, Some(uid), Some(gid)).map_err(failed("change the owner of", &path))?;
        }
        Ok(())
    }

    /// Makes a folder, and all that the application brought along in it, the run's user's.
    pub(crate) fn hand_over(&self, relative: &Path) -> Result<(), FolderError> {
        self.make_writable(relative)?;
        match self.user {
            Some(user) => hand_over(&self.inside(relative)?, user),
            None => Ok(()),
        }
    }

    /// The place of a relative path that does not lead out.
    pub(crate) fn inside(&self, relative: &Path) -> Result<PathBuf, FolderError> {
        let stays = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if stays { Ok(self.path.join(relative)) } else { Err(FolderError::LeadsOut(relative.to_owned())) }
    }
}

/// Copies an application as it is copied into each run, as this user's own.
///
/// # Errors
///
/// When something cannot be read or written.
pub fn copy_app(source: &Path, target: &Path) -> Result<(), CopyError> {
    Ok(app_copy::copy(source, target, None)?)
}

/// Why an application could not be copied.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct CopyError(#[from] FolderError);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn an_application_is_copied_readable_with_its_inner_links() {
        let source = tempfile::tempdir().unwrap();
        let root = source.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("index.php"), "<?php").unwrap();
        fs::write(root.join("sub/run"), "#!").unwrap();
        set_mode(&root.join("index.php"), 0o600).unwrap();
        set_mode(&root.join("sub/run"), 0o700).unwrap();
        symlink("../index.php", root.join("sub/link")).unwrap();

        let target = tempfile::tempdir().unwrap();
        let folder = Folder::create(&target.path().join("r"), None).unwrap();
        folder.copy_app(root).unwrap();
        assert_eq!(mode(&folder.app().join("index.php")), 0o644);
        assert_eq!(mode(&folder.app().join("sub/run")), 0o755);
        assert_eq!(fs::read_link(folder.app().join("sub/link")).unwrap(), Path::new("../index.php"));
    }

    #[test]
    fn what_leads_out_is_refused() {
        let target = tempfile::tempdir().unwrap();
        let folder = Folder::create(&target.path().join("r"), None).unwrap();
        for path in ["../x", "/x", "a/../../x"] {
            assert!(matches!(folder.write(Path::new(path), ""), Err(FolderError::LeadsOut(_))), "{path}");
        }
    }
}
