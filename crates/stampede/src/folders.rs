//! Where Stampede keeps things, as the XDG Base Directory Specification has it.

use std::env;
use std::path::PathBuf;

use crate::args::StoreArgs;
use crate::exit::Failure;

/// Kept builds and unpacked workloads; can be removed at any time.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    base("XDG_CACHE_HOME", ".cache")
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
    Ok(base("XDG_DATA_HOME", ".local/share")?.join("studies.db"))
}

/// There is no fallback to a folder that other users could have made before us.
fn base(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    from(variable)
        .or_else(|| Some(from("HOME")?.join(below_home)))
        .map(|folder| folder.join("stampede"))
        .ok_or_else(|| Failure::missing(format!("neither HOME nor {variable} is set; set one of them")))
}
