//! What is sampled beside a measurement.

use stampede_core::{Cpus, Limit, Running};
use stampede_load::RunningLoad;
use stampede_observe::{Sampler, Targets};

/// Samples a deployment, which may use so much, from when the load's window opens until it closes.
pub(crate) fn start(running: &dyn Running, cpus: Limit<Cpus>, load: &RunningLoad) -> std::io::Result<Sampler> {
    let targets = Targets {
        cpus,
        meters: running.meters(),
        listeners: running.listeners().to_vec(),
        statuses: running.statuses().to_vec(),
    };
    Sampler::start(targets, load.opens_at(), load.closes_at())
}
