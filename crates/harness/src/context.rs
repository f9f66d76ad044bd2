//! What a trial is told beside its case.

use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Case, Failures, Protocol, Workload};
use stampede_seam::{Backend, LoadExchange, LoadSpec, Pause, Scenario};

use crate::prepare::Prepared;
use crate::ready::Front;
use crate::stop::Stop;

/// What all trials of a study share beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct TrialContext<'a> {
    /// What is served.
    pub workload: &'a Workload,
    /// What is sent as load in place of its exchanges.
    pub scenario: Option<&'a Arc<Scenario>>,
    /// How long a deployment may take to its first answer.
    pub ready_timeout: Duration,
    /// How long answers are waited for after the window.
    pub drain: Duration,
    /// How long a client waits for an answer before it gives the request up; without it, until the drain is over.
    pub timeout: Option<Duration>,
    /// What requests without the right answer say of a trial.
    pub failures: Failures,
    /// How the load engine reaches the kernel; the same in all trials, which could not be compared otherwise.
    pub backend: Backend,
    /// Whether deployments are sampled while they are measured.
    pub sampled: bool,
    /// How many samples a second are taken of the stacks of each thread of PHP meanwhile; none where they are not sampled.
    pub inside: Option<u32>,
    /// What is measured first in each block.
    pub yard_stick: Option<&'a YardStick>,
    /// What may ask the study to end with the block that it is in.
    pub stop: &'a Stop,
}

impl TrialContext<'_> {
    /// The load of a case in a block, at its front.
    pub(crate) fn load(
        &self,
        timing: &Timing,
        case: &Case,
        block: u32,
        front: &Front,
        exchanges: Vec<LoadExchange>,
    ) -> LoadSpec {
        LoadSpec {
            targets: vec![front.endpoint.clone()],
            protocol: Protocol::Http11,
            tls: front.tls.clone(),
            host: front.host(),
            exchanges,
            load: case.load.clone(),
            think: Pause::default(),
            scenario: None,
            warm_up: timing.warm_up,
            duration: timing.duration,
            requests: None,
            drain: self.drain,
            timeout: self.timeout,
            keep_alive: case.topology.keep_alive,
            seed: timing.seed.wrapping_add(u64::from(block)),
            shard: None,
            source: None,
            slices: true,
            cpus: case.pinning.generator.clone(),
            backend: self.backend,
        }
    }
}

/// The fixed server that is measured first in each block, and what it is asked.
#[derive(Clone, Debug)]
pub struct YardStick {
    /// How it is run.
    pub prepared: Prepared,
    /// What it is asked.
    pub workload: Workload,
    /// Length of its window.
    pub window: Duration,
}

/// Where a trial stands in its study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// From 1; 0 for a pilot.
    pub(crate) block: u32,
    /// From 1 within the block.
    pub(crate) position: u32,
}

/// How long load goes on, and what its randomness follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    /// The study's seed: in each block all cases meet the same random arrivals.
    pub(crate) seed: u64,
}
