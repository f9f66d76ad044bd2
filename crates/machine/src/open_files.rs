//! How many files, and so connections, this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// File descriptors that are not connections of the load.
pub(crate) const OWN_FILES: u32 = 128;

/// Raises the soft limit of open files to the hard one, and returns what is then allowed.
pub fn raise_open_files() -> u32 {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let allowed = if raised.is_ok() { limit.maximum } else { limit.current };
    allowed.map_or(u32::MAX, |files| u32::try_from(files).unwrap_or(u32::MAX))
}
