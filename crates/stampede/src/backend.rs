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
    /// The backend that is meant. Says on stderr why, when that has just been found out.
    pub(crate) fn find(self, cpus: &CpuLayout, quiet: bool) -> Backend {
        match self {
            Self::Auto => better(cpus, quiet),
            Self::Epoll => Backend::Epoll,
            Self::IoUring => Backend::IoUring,
        }
    }

    /// The same beside other tasks, since finding out takes a while.
    pub(crate) async fn find_aside(self, cpus: &CpuLayout, quiet: bool) -> Backend {
        let cpus = cpus.clone();
        match tokio::task::spawn_blocking(move || self.find(&cpus, quiet)).await {
            Ok(backend) => backend,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
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
