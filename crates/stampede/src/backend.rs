//! `--backend`: how the load engine reaches the kernel.

use clap::ValueEnum;
use stampede_core::CpuLayout;
use stampede_load::{Backend, Calibration};

use crate::{folders, screen};

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

    /// The backend that is meant. Says on stderr why, when that has just been found out.
    pub(crate) fn find(self, cpus: &CpuLayout, quiet: bool) -> Backend {
        self.chosen().unwrap_or_else(|| better(cpus, quiet))
    }
}

/// The one that was asked for, or the better one. Beside other tasks, since finding out takes a while.
pub(crate) async fn find_aside(asked: Option<Backend>, cpus: &CpuLayout, quiet: bool) -> Backend {
    let cpus = cpus.clone();
    match tokio::task::spawn_blocking(move || asked.unwrap_or_else(|| better(&cpus, quiet))).await {
        Ok(backend) => backend,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

fn better(cpus: &CpuLayout, quiet: bool) -> Backend {
    let machine = stampede_platforms::machine();
    let machine = format!("{}; {}", machine.kernel, machine.cpu_model);
    let kept = folders::cache().ok().map(|folder| folder.join("backend"));
    let Calibration { backend, reason } = stampede_load::calibrate(&machine, cpus, kept.as_deref());
    if let Some(reason) = reason.filter(|_| !quiet) {
        screen::note(&format!("backend {backend}: {reason}"));
    }
    backend
}
