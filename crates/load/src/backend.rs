//! How the engine reaches the kernel.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

use crate::epoll::Epoll;
use crate::io::Io;
use crate::uring::Uring;

/// How the engine reaches the kernel. What is measured means the same with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Waits until sockets are ready, and reads and sends with a system call each (epoll(7)).
    Epoll,
    /// Has the kernel read and send in one system call for many connections (io_uring(7)). Needs Linux 6.1, and is often not
    /// permitted in containers.
    IoUring,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Epoll, Self::IoUring];

    /// Sets one up and gives it up again.
    ///
    /// # Errors
    ///
    /// When the kernel does not have it (`ENOSYS`, `EINVAL`), or does not permit it (`EPERM`).
    pub fn try_out(self) -> io::Result<()> {
        let abort = eventfd(0, EventfdFlags::CLOEXEC)?;
        let nothing = Arc::from([]);
        match self {
            Self::Epoll => Epoll::new(1, &nothing, &abort).map(drop)?,
            Self::IoUring => Uring::new(1, &nothing, &abort).map(drop)?,
        }
        Ok(())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io-uring",
        })
    }
}
