//! `--backend`: how the load engine reaches the kernel.

use clap::ValueEnum;
use stampede_load::Backend;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// What costs less on this machine, found by a short trial the first time.
    #[default]
    Auto,
    Epoll,
    IoUring,
}

impl BackendChoice {
    /// The backend that was named, if one was.
    pub(crate) fn chosen(self) -> Option<Backend> {
        match self {
            Self::Auto => None,
            Self::Epoll => Some(Backend::Epoll),
            Self::IoUring => Some(Backend::IoUring),
        }
    }
}
