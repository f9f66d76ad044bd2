//! `--generators`: agents that drive the load in place of this process.

use std::env;
use std::sync::Arc;

use stampede_core::Carrier;
use stampede_generators::Generators;
use stampede_seam::Vantage;
use stampede_vantage::Here;

use crate::exit::Failure;
use crate::{agent, screen};

/// The vantage of this process, which has loads driven by these generators where there are some. `purpose` is what others who wait for
/// the lock of a generator's machine are told.
pub(crate) async fn vantage(carriers: &[Carrier], purpose: &str, quiet: bool) -> Result<Arc<dyn Vantage>, Failure> {
    let here = Here::new();
    if carriers.is_empty() {
        return Ok(here);
    }
    let program = env::current_exe().map_err(Failure::missing)?;
    let started = Generators::start(here, carriers, &program, purpose, agent::boot()).await;
    let generators = started.map_err(Failure::missing)?;
    if let Some((name, reason)) = generators.io_uring_refused().filter(|_| !quiet) {
        screen::note(&format!("backend epoll: io-uring is refused at generator {name}: {reason}"));
    }
    Ok(generators)
}
