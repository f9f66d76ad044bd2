//! A load and a sampler that run where the agent is.

use std::ops::Range;
use std::sync::Arc;

use stampede_core::{Endpoint, Fut, Sampling};
use stampede_seam::{LoadError, LoadHandle, LoadOutcome, LoadStatus, Moment, SamplerHandle};

use crate::line_error::LostAgent;
use crate::message::{AgentReply, AgentRequest};
use crate::shared::{SeenLoad, Shared};

/// Something that an agent runs. Dropping it has the agent end it, unless its result is there.
struct Running {
    shared: Arc<Shared>,
    number: u64,
    /// What ends it.
    end: Option<AgentRequest>,
}

impl Running {
    /// Asks for the result, and waits for it.
    async fn result(&mut self, request: &AgentRequest) -> Result<AgentReply, LostAgent> {
        let receiver = self.shared.wait_for(self.number);
        self.shared.send(self.number, request)?;
        let reply = self.shared.reply(receiver).await;
        self.end = None;
        reply
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // A lost agent ends it by itself.
            let _ = self.shared.send(self.number, &end);
        }
        let mut known = self.shared.known();
        known.loads.remove(&self.number);
        known.queues.remove(&self.number);
    }
}

pub(crate) struct AgentLoad {
    running: Running,
    /// The window that is expected until the agent has said when it is.
    expected: Range<Moment>,
}

impl AgentLoad {
    /// That of this number, which has been asked for.
    pub(crate) fn new(shared: Arc<Shared>, number: u64, expected: Range<Moment>) -> Self {
        let seen = SeenLoad { window: expected.clone(), view: LoadStatus::default(), problem: None };
        shared.known().loads.insert(number, seen);
        Self { running: Running { shared, number, end: Some(AgentRequest::DropLoad) }, expected }
    }
}

impl LoadHandle for AgentLoad {
    fn window(&self) -> Range<Moment> {
        let known = self.running.shared.known();
        known.loads.get(&self.running.number).map_or_else(|| self.expected.clone(), |load| load.window.clone())
    }

    fn look(&mut self) -> LoadStatus {
        let is_lost = self.running.shared.lost().is_some();
        let mut known = self.running.shared.known();
        let Some(load) = known.loads.get_mut(&self.running.number) else { return LoadStatus::default() };
        let slices = std::mem::take(&mut load.view.slices);
        let is_finished = load.view.is_finished || load.problem.is_some() || is_lost;
        LoadStatus { slices, is_finished, ..load.view.clone() }
    }

    fn set_targets(&mut self, targets: &[Endpoint]) {
        let _ = self.running.shared.send(self.running.number, &AgentRequest::SetTargets(targets.to_vec()));
    }

    fn cut(&mut self) {
        // Its loss is told by `finish`.
        let _ = self.running.shared.send(self.running.number, &AgentRequest::CutLoad);
    }

    fn finish(mut self: Box<Self>) -> Fut<'static, Result<LoadOutcome, LoadError>> {
        Box::pin(async move {
            let reply = self.running.result(&AgentRequest::FinishLoad).await;
            let lost = |lost: LostAgent| LoadError(lost.to_string());
            let reply = reply.map_err(lost)?;
            let seen = self.running.shared.known().loads.remove(&self.running.number);
            let (problem, mut slices) = seen.map_or_else(Default::default, |load| (load.problem, load.view.slices));
            if let Some(problem) = problem {
                return Err(problem);
            }
            let AgentReply::Finished(outcome) = reply else { return Err(lost(self.running.shared.unexpected())) };
            let mut outcome = (*outcome)?;
            slices.append(&mut outcome.result.slices);
            outcome.result.slices = slices;
            Ok(outcome)
        })
    }
}

pub(crate) struct AgentSampler {
    running: Running,
}

impl AgentSampler {
    /// That of this number, which has been asked for.
    pub(crate) fn new(shared: Arc<Shared>, number: u64) -> Self {
        shared.known().queues.insert(number, None);
        Self { running: Running { shared, number, end: Some(AgentRequest::DropSample) } }
    }

    fn end(mut self: Box<Self>, request: AgentRequest) -> Fut<'static, Sampling> {
        Box::pin(async move {
            match self.running.result(&request).await {
                Ok(AgentReply::Sampled(sampling)) => sampling,
                // The load beside it has the error.
                _ => Sampling::default(),
            }
        })
    }
}

impl SamplerHandle for AgentSampler {
    fn queue(&self) -> Option<u64> {
        self.running.shared.known().queues.get(&self.running.number).copied().flatten()
    }

    fn cut(self: Box<Self>) -> Fut<'static, Sampling> {
        self.end(AgentRequest::CutSample)
    }

    fn finish(self: Box<Self>) -> Fut<'static, Sampling> {
        self.end(AgentRequest::FinishSample)
    }
}
