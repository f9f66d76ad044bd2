//! Files and folders that are a user's own, whatever the umask is.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::machine::user::User;

/// Makes all that is in a folder a user's own.
pub(super) fn hand_over(folder: &Path, user: User) -> Result<(), FolderError> {
    for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
        let path = entry.map_err(failed("read", folder))?.path();
        lchown(&path, Some(user.uid), Some(user.gid)).map_err(failed("change the owner of", &path))?;
        if path.is_dir() && !path.is_symlink() {
            hand_over(&path, user)?;
        }
    }
    Ok(())
}

/// Makes a file, folder or link a user's own.
pub(super) fn give(path: &Path, user: Option<User>) -> Result<(), FolderError> {
    let Some(User { uid, gid }) = user else { return Ok(()) };
    lchown(path, Some(uid), Some(gid)).map_err(failed("change the owner of", path))
}

/// Makes a folder that others may read, whatever the umask is.
pub(super) fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir(path).map_err(failed("make", path))?;
    set_mode(path, 0o755)
}

/// Makes a folder and those above it, as far as they do not exist.
pub(super) fn make_folders(path: &Path) -> Result<(), FolderError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_folders(parent)?;
    }
    make_folder(path)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), FolderError> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed("change the mode of", path))
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

/// Why a run's folder could not be filled.
#[derive(Debug, Error)]
pub(crate) enum FolderError {
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("place {}: it leads out of the run's folder", .0.display())]
    LeadsOut(PathBuf),
}
