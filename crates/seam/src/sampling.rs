//! What is sampled beside a measurement.

use serde::{Deserialize, Serialize};
use stampede_core::{AddressId, Cpus, Endpoint, Fut, Limit, MeterSource, Sampling, UnitStatus};
use thiserror::Error;

/// What is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTargets {
    /// What the deployment may use: the less it is, the more rarely its units are asked.
    pub cpus: Limit<Cpus>,
    /// The deployment's counters.
    pub meters: Vec<MeterSource>,
    /// Where connections queue.
    pub listeners: Vec<(AddressId, Endpoint)>,
    /// What units report of themselves.
    pub statuses: Vec<UnitStatus>,
}

/// Samples until its window closes. Dropped before, it ends by itself with the next sample.
pub trait SamplerHandle: Send {
    /// How many connections waited to be accepted at the last sample, all of the deployment's queues together; nothing before the
    /// first, and where the kernel does not tell.
    fn queue(&self) -> Option<u64>;

    /// What was sampled until now, in a window that is cut short; waits for samples that are being taken.
    fn cut(self: Box<Self>) -> Fut<'static, Sampling>;

    /// What was sampled; waits for the end of the window, and for samples that are being taken.
    fn finish(self: Box<Self>) -> Fut<'static, Sampling>;
}

/// Sampling could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("start to sample: {0}")]
pub struct SamplingError(pub String);
