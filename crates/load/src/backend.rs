//! Whether the kernel lets itself be reached.

use std::io;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use stampede_seam::Backend;

use crate::epoll::Epoll;
use crate::io::Io;
use crate::uring::Uring;

/// Sets a backend up and gives it up again.
///
/// # Errors
///
/// When the kernel does not have it (`ENOSYS`, `EINVAL`), or does not permit it (`EPERM`).
pub fn try_out(backend: Backend) -> io::Result<()> {
    let abort = eventfd(0, EventfdFlags::CLOEXEC)?;
    let nothing = Arc::from([]);
    match backend {
        Backend::Epoll => Epoll::new(1, &nothing, &abort).map(drop)?,
        Backend::IoUring => Uring::new(1, &nothing, &abort).map(drop)?,
    }
    Ok(())
}
