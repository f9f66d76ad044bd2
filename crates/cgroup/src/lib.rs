//! Control groups: find the hierarchy, make a group in it, limit it, read its counters, kill and remove it.
//!
//! Both versions are spoken: [version 1] through its separate controllers, [version 2] through the unified hierarchy.
//! Where this process stands is read from `/proc/self/mountinfo` and `/proc/self/cgroup`; the root of the file system is
//! an argument, so that tests use trees of plain files. Nothing here knows what runs in a group or why.
//!
//! [version 1]: https://docs.kernel.org/admin-guide/cgroup-v1/cgroups.html
//! [version 2]: https://docs.kernel.org/admin-guide/cgroup-v2.html

mod counters;
mod group;
mod hierarchy;
mod kernel_file;
mod kill;
mod limits;
mod mount;

pub use counters::{GroupCounters, read_v1, read_v2, throttled};
pub use group::{Group, RemoveError, V1Folders, members};
pub use hierarchy::{DetectError, Hierarchy, Place};
pub use kernel_file::FileError;
pub use kill::KillError;
pub use limits::{Bound, CpuQuota, GroupLimits, InForce, QUOTA_PERIOD};
