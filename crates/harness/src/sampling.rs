//! What is sampled beside a measurement.

use stampede_core::Running;
use stampede_load::RunningLoad;
use stampede_observe::{Sampler, Targets};

/// Samples a deployment from when the load's window opens until it closes.
pub(crate) fn start(running: &dyn Running, load: &RunningLoad) -> std::io::Result<Sampler> {
    let targets = Targets {
        meters: running.meters(),
        listeners: running.listeners().to_vec(),
        statuses: running.statuses().to_vec(),
    };
    Sampler::start(targets, load.opens_at(), load.closes_at())
}
