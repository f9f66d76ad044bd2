//! Where Stampede keeps things, as the XDG Base Directory Specification has it.

use std::env;
use std::path::PathBuf;

use crate::args::StoreArgs;

/// Kept builds and unpacked workloads; can be removed at any time.
pub(crate) fn cache() -> PathBuf {
    base("XDG_CACHE_HOME", ".cache")
}

/// Runs and leases of this user. `STAMPEDE_STATE` names another folder, with a short path and on a disk.
pub(crate) fn state() -> PathBuf {
    env::var_os("STAMPEDE_STATE").map_or_else(stampede_platforms::default_state_dir, PathBuf::from)
}

/// The store of studies.
pub(crate) fn store(args: &StoreArgs) -> PathBuf {
    args.store
        .clone()
        .or_else(|| env::var_os("STAMPEDE_STORE").map(PathBuf::from))
        .unwrap_or_else(|| base("XDG_DATA_HOME", ".local/share").join("studies.db"))
}

fn base(variable: &str, below_home: &str) -> PathBuf {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    from(variable).or_else(|| Some(from("HOME")?.join(below_home))).unwrap_or_else(env::temp_dir).join("stampede")
}
