//! Where Stampede keeps things, as the XDG Base Directory Specification has it.

use std::env;
use std::path::PathBuf;

use stampede_catalogue::cache_folder;

use crate::exit::Failure;

/// Kept builds and unpacked workloads; can be removed at any time.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    cache_folder().map_err(Failure::missing)
}

/// Runs and leases of this user. `STAMPEDE_STATE` names another folder, with a short path and on a disk.
pub(crate) fn state() -> PathBuf {
    env::var_os("STAMPEDE_STATE").map_or_else(stampede_platforms::default_state_dir, PathBuf::from)
}
