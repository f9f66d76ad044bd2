//! Where Stampede keeps things, as the XDG Base Directory Specification has it.

use std::env;
use std::path::PathBuf;

use stampede_catalogue::{cache_folder, own_folder};

use crate::args::StoreArgs;
use crate::exit::Failure;

/// Kept builds and unpacked workloads; can be removed at any time.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    cache_folder().map_err(Failure::missing)
}

/// Runs and leases of this user. `STAMPEDE_STATE` names another folder, with a short path and on a disk.
pub(crate) fn state() -> PathBuf {
    env::var_os("STAMPEDE_STATE").map_or_else(stampede_platforms::default_state_dir, PathBuf::from)
}

/// The store of studies.
pub(crate) fn store(args: &StoreArgs) -> Result<PathBuf, Failure> {
    if let Some(named) = args.store.clone().or_else(|| env::var_os("STAMPEDE_STORE").map(PathBuf::from)) {
        return Ok(named);
    }
    Ok(own_folder("XDG_DATA_HOME", ".local/share").map_err(Failure::missing)?.join("studies.db"))
}
