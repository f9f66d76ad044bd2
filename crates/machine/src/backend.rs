//! How the load engine reaches the kernel on this machine.

use stampede_core::CpuLayout;
use stampede_load::{Backend, BackendCalibration};

use crate::folders::cache_folder;
use crate::onlooker::Onlooker;

/// The one that was asked for, or the better one, with the reason where that has just been found out. Beside other tasks, since finding
/// out takes a while.
pub(crate) async fn find(asked: Option<Backend>, cpus: &CpuLayout, onlooker: Onlooker<'_>) -> Backend {
    if let Some(backend) = asked {
        return backend;
    }
    let cpus = cpus.clone();
    let BackendCalibration { backend, reason } = match tokio::task::spawn_blocking(move || better(&cpus)).await {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    };
    if let Some(reason) = reason.filter(|_| !onlooker.quiet) {
        onlooker.notices.note(&format!("the load generator uses {backend}: {reason}"));
    }
    backend
}

fn better(cpus: &CpuLayout) -> BackendCalibration {
    let machine = stampede_platforms::machine();
    let machine = format!("{}; {}", machine.kernel, machine.cpu_model);
    let kept = cache_folder().ok().map(|folder| folder.join("backend"));
    stampede_load::calibrate(&machine, cpus, kept.as_deref())
}
