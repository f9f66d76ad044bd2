//! How the load engine reaches the kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the engine reaches the kernel. What is measured means the same with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io-uring",
        })
    }
}
