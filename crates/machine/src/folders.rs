//! Where Stampede keeps things, as the XDG Base Directory Specification has it.

use std::env;
use std::path::PathBuf;

use stampede_conduct::Failure;

/// Kept builds and unpacked workloads; can be removed at any time.
///
/// # Errors
///
/// When neither the user's cache nor home is known.
pub fn cache_folder() -> Result<PathBuf, Failure> {
    stampede_catalogue::cache_folder().map_err(Failure::missing)
}

/// Runs and leases of this user. `STAMPEDE_STATE` names another folder, with a short path and on a disk.
#[must_use]
pub fn state_folder() -> PathBuf {
    env::var_os("STAMPEDE_STATE").map_or_else(stampede_platforms::default_state_dir, PathBuf::from)
}
