//! The folder of runs and leases: this user's alone.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use thiserror::Error;

use crate::docker::rootless;

/// The folder for runs and leases of this user: on a disk, since page cache and memory would be the same thing elsewhere;
/// with a short path, since sockets lie in it; and not in a home folder, since other users' servers must read it.
pub fn default_state_dir() -> PathBuf {
    // Root of a user namespace is another user outside, whose folder this is not: its files have other owners.
    let outside = if rootless::is_root_of_a_namespace() { rootless::outside_number() } else { None };
    PathBuf::from(match outside {
        Some(user) => format!("/var/tmp/stampede-{user}-rootless"),
        None => format!("/var/tmp/stampede-{}", geteuid().as_raw()),
    })
}

/// Makes a folder that only this user may change, or sees that an existing one is such: it lies where every user may make
/// folders.
pub(crate) fn own_folder(path: &Path) -> Result<(), NewPlatformError> {
    let failed = |source: io::Error| NewPlatformError::Folder { path: path.to_owned(), source };
    match fs::DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => {
            // Servers run as another user and must get in whatever the umask is.
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    if is_ours(path).map_err(failed)? { Ok(()) } else { Err(NewPlatformError::NotOurs(path.to_owned())) }
}

/// Whether a path is a folder that this user owns and only this user may change.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

/// Why the platform cannot be used.
#[derive(Debug, Error)]
pub enum NewPlatformError {
    /// The state folder cannot be made.
    #[error("make the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Someone else could put files there.
    #[error("use {}: it is not a folder that this user owns and only this user may change", .0.display())]
    NotOurs(PathBuf),
}
