//! `--generators`: agents that drive the load in place of this process.

use std::sync::Arc;
use std::{env, fs};

use stampede_conduct::{Failure, Notices};
use stampede_core::{Carrier, Load};
use stampede_generators::{CarriedStream, Generators};
use stampede_load::Backend;
use stampede_priority::Precedence;
use stampede_seam::Vantage;

/// A number that the kernel gives to each of its starts (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What generators are asked to drive.
pub struct Demand<'a> {
    /// What others who wait for the lock of a generator's machine are told.
    pub purpose: &'a str,
    /// Loads that are driven at once.
    pub loads: Vec<&'a Load>,
    /// Processors of this machine that are meant for it.
    pub cpus: &'a [u32],
    /// How they reach the kernel.
    pub backend: Backend,
}

/// The vantage of this process, `here`, which has loads driven by these generators where there are some; `pods` are the
/// streams of those in a cluster. They go before other programs where this thread does.
///
/// # Errors
///
/// When one of them cannot be had.
pub async fn vantage(
    here: Arc<dyn Vantage>,
    carriers: &[Carrier],
    pods: Vec<CarriedStream>,
    demand: Demand<'_>,
    (notices, quiet): (&dyn Notices, bool),
) -> Result<Arc<dyn Vantage>, Failure> {
    let Demand { purpose, loads, cpus, backend } = demand;
    let note = |text: &str| {
        if !quiet {
            notices.note(text);
        }
    };
    if carriers.is_empty() {
        return Ok(here);
    }
    let generators = start(here, carriers, pods, purpose).await?;
    if let Some((name, reason)) = generators.io_uring_refused() {
        note(&format!("backend epoll: generator {name} cannot use io_uring: {reason}"));
    }
    let mut sum = Some(0.0);
    for (name, most) in generators.measure_most(cpus, backend).await {
        sum = sum.zip(most.as_ref().ok()).map(|(sum, most)| sum + most);
        match most {
            Ok(most) => note(&format!("generator {name} can send {most:.0} requests a second at most")),
            Err(problem) => notices.note(&format!("how much generator {name} can send is not known: {problem}")),
        }
    }
    let asked: f64 = loads.into_iter().map(highest_rate).sum();
    if let Some(sum) = sum.filter(|sum| asked > *sum) {
        notices.warning(&format!(
            "the load is {asked:.0} requests a second, and the generators can send {sum:.0} at most"
        ));
        notices.note("  add generators, give them more CPUs, or lower the rate");
    }
    Ok(generators)
}

async fn start(
    here: Arc<dyn Vantage>,
    carriers: &[Carrier],
    pods: Vec<CarriedStream>,
    purpose: &str,
) -> Result<Arc<Generators>, Failure> {
    let program = env::current_exe().map_err(Failure::missing)?;
    let go_first = Precedence::here().goes_first();
    let started = Generators::start(here, carriers, &program, pods, purpose, boot(), go_first).await;
    started.map_err(Failure::missing)
}

/// The same again by pods alone, whose agents were lost and whose streams these are; nobody is told.
///
/// # Errors
///
/// When one of them cannot be had.
pub async fn again(
    here: Arc<dyn Vantage>,
    carriers: &[Carrier],
    pods: Vec<CarriedStream>,
    cpus: &[u32],
) -> Result<Arc<dyn Vantage>, Failure> {
    let generators = start(here, carriers, pods, "").await?;
    // Loads are compared with what they can send.
    generators.measure_most(cpus, Backend::Epoll).await;
    Ok(generators)
}

/// What the start of this machine's kernel is known by.
#[must_use]
pub fn boot() -> String {
    fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned()
}

/// Requests a second that a load has due at most; none where it waits for answers.
fn highest_rate(load: &Load) -> f64 {
    match load {
        Load::Closed { .. } | Load::Ramped { .. } => 0.0,
        Load::Open { schedule, .. } => schedule.highest_rate().per_second(),
    }
}
