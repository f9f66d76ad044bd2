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
    /// How the stacks of its PHP are sampled, where they are.
    pub inside: Option<InsideTargets>,
}

/// How stacks of PHP are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideTargets {
    /// Samples a second of each thread.
    pub per_second: u32,
    /// Whether none is taken in half of the window's seconds, so that these show what it costs.
    pub rests: bool,
}

impl InsideTargets {
    /// Whether samples are taken in this second or turn, counted from 0, of those of which half have none: the first and the last of
    /// each four, so that a steady trend adds as much to the ones as to the others.
    #[must_use]
    pub const fn is_sampled(number: u64) -> bool {
        matches!(number % 4, 0 | 3)
    }
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
