//! `--generators`: agents that drive the load in place of this process.

use std::env;
use std::sync::Arc;

use stampede_core::{Carrier, Load};
use stampede_generators::{CarriedStream, Generators};
use stampede_load::Backend;
use stampede_priority::Precedence;
use stampede_seam::Vantage;
use stampede_vantage::Here;

use crate::exit::Failure;
use crate::{agent, screen};

/// What generators are asked to drive.
pub(crate) struct Demand<'a> {
    /// What others who wait for the lock of a generator's machine are told.
    pub(crate) purpose: &'a str,
    /// Loads that are driven at once.
    pub(crate) loads: Vec<&'a Load>,
    /// Processors of this machine that are meant for it.
    pub(crate) cpus: &'a [u32],
    pub(crate) backend: Backend,
}

/// The vantage of this process, which has loads driven by these generators where there are some; `pods` are the streams of those in a cluster. They go before other programs where
/// this thread does.
pub(crate) async fn vantage(
    carriers: &[Carrier],
    pods: Vec<CarriedStream>,
    demand: Demand<'_>,
    quiet: bool,
) -> Result<Arc<dyn Vantage>, Failure> {
    let Demand { purpose, loads, cpus, backend } = demand;
    let here = Here::new();
    if carriers.is_empty() {
        return Ok(here);
    }
    let program = env::current_exe().map_err(Failure::missing)?;
    let go_first = Precedence::here().goes_first();
    let started = Generators::start(here, carriers, &program, pods, purpose, agent::boot(), go_first).await;
    let generators = started.map_err(Failure::missing)?;
    if let Some((name, reason)) = generators.io_uring_refused().filter(|_| !quiet) {
        screen::note(&format!("backend epoll: io-uring is refused at generator {name}: {reason}"));
    }
    let mut sum = Some(0.0);
    for (name, most) in generators.measure_most(cpus, backend).await {
        sum = sum.zip(most.as_ref().ok()).map(|(sum, most)| sum + most);
        match most {
            Ok(most) if !quiet => {
                screen::note(&format!("generator {name} can send {most:.0} requests a second at most"))
            }
            Ok(_) => {}
            Err(problem) => screen::note(&format!("how much generator {name} can send is not known: {problem}")),
        }
    }
    let asked: f64 = loads.into_iter().map(highest_rate).sum();
    if let Some(sum) = sum.filter(|sum| asked > *sum) {
        screen::warning(&format!(
            "{asked:.0} requests a second are asked for, and the generators can send {sum:.0} at most"
        ));
        screen::note("  add generators or processors for them, or lower the rate");
    }
    Ok(generators)
}

/// Requests a second that a load has due at most; none where it waits for answers.
fn highest_rate(load: &Load) -> f64 {
    match load {
        Load::Closed { .. } | Load::Ramped { .. } => 0.0,
        Load::Open { schedule, .. } => schedule.highest_rate().per_second(),
    }
}
