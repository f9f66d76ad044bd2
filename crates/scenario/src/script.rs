//! A crowd made ready for one thread.

use std::ops::Range;
use std::sync::Arc;

use crate::capture::PreparedCapture;
use crate::check::PreparedCheck;
use crate::events::PreparedEvents;
use crate::feeder::Feeder;
use crate::scenario::{Flow, Scenario, Step};
use crate::share::{Beginner, Share, Tally};
use crate::template::{Slot, Template};

/// What the users of a crowd on one thread do. Steps are numbered through all flows of the crowd.
#[derive(Debug)]
pub struct Script {
    pub(crate) scenario: Arc<Scenario>,
    crowd: usize,
    pub(crate) host: String,
    pub(crate) keep_alive: bool,
    pub(crate) flows: Vec<PreparedFlow>,
    pub(crate) steps: Vec<PreparedStep>,
    pub(crate) share: Share,
}

#[derive(Debug)]
pub(crate) struct PreparedFlow {
    pub(crate) steps: Range<usize>,
    pub(crate) captures: usize,
    /// How many jars each user has; none where cookies are not kept.
    pub(crate) jars: usize,
    /// The feeders that give it a row.
    pub(crate) feeders: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct PreparedStep {
    pub(crate) step: Step,
    pub(crate) check: PreparedCheck,
    pub(crate) captures: Vec<PreparedCapture>,
    pub(crate) events: Option<PreparedEvents>,
}

impl Script {
    /// Makes crowd number `crowd` ready for thread `thread` of `threads`. `host` is the value of the `Host` header. Without
    /// `keep_alive` each request asks the server to close.
    pub fn new(
        scenario: Arc<Scenario>,
        crowd: usize,
        host: &str,
        keep_alive: bool,
        (thread, threads): (u64, u64),
        seed: u64,
    ) -> Option<Self> {
        let spec = scenario.crowds.get(crowd)?;
        let feeders = scenario.feeders.len();
        let (mut flows, mut steps) = (Vec::new(), Vec::new());
        for flow in &spec.flows {
            let begin = steps.len();
            steps.extend(flow.steps.iter().map(PreparedStep::new));
            flows.push(PreparedFlow {
                steps: begin..steps.len(),
                captures: flow.captures.len(),
                jars: if flow.cookies { flow.identities.max(1) as usize } else { 0 },
                feeders: feeders_of(flow),
            });
        }
        // The seed of each crowd is its own, or all of them would draw the same.
        let seed = seed.wrapping_add(crowd as u64);
        let share = Share::new(thread, threads, seed, feeders, spec);
        let host = host.to_owned();
        Some(Self { scenario: scenario.clone(), crowd, host, keep_alive, flows, steps, share })
    }

    /// What has happened.
    pub fn into_tally(self) -> Tally {
        self.share.tally
    }

    /// Whether one of its steps hears events.
    pub fn hears(&self) -> bool {
        self.steps.iter().any(|step| step.events.is_some())
    }

    /// Leaves out the next flow, which no user begins; returns its first step.
    pub fn skip(&mut self) -> Option<usize> {
        let crowd = self.scenario.crowds.get(self.crowd)?;
        let flow = self.share.next(crowd).flow;
        self.flows.get(flow).map(|flow| flow.steps.start)
    }

    pub(crate) fn feeders(&self) -> &[Feeder] {
        &self.scenario.feeders
    }

    /// The next user begins: takes its rows and returns its flow. `None` when a feeder has no more rows.
    pub(crate) fn begin(&mut self, rows: &mut [usize]) -> Option<Beginner> {
        let crowd = self.scenario.crowds.get(self.crowd)?;
        let beginner = self.share.next(crowd);
        let flow = self.flows.get(beginner.flow)?;
        if !self.share.take(&flow.feeders, &self.scenario.feeders, rows) {
            return None;
        }
        if let Some(tally) = self.share.tally.flows.get_mut(beginner.flow) {
            tally.begun += 1;
        }
        Some(beginner)
    }
}

impl PreparedStep {
    fn new(step: &Step) -> Self {
        let keeps_body =
            !step.shows.is_empty() || step.captures.iter().any(|capture| capture.source.needs_whole_body());
        Self {
            check: PreparedCheck::new(&step.check, keeps_body),
            captures: step.captures.iter().map(PreparedCapture::new).collect(),
            events: step.events.as_ref().map(PreparedEvents::new),
            step: step.clone(),
        }
    }
}

fn templates(step: &Step) -> impl Iterator<Item = &Template> {
    [&step.path, &step.body].into_iter().chain(&step.shows).chain(step.headers.iter().map(|(_, value)| value))
}

fn slots(step: &Step) -> impl Iterator<Item = Slot> {
    templates(step).flat_map(Template::slots)
}

fn feeders_of(flow: &Flow) -> Vec<usize> {
    let feeder = |slot| match slot {
        Slot::Column { feeder, .. } => Some(feeder),
        Slot::Capture(_) => None,
    };
    let mut feeders: Vec<_> = flow.steps.iter().flat_map(slots).filter_map(feeder).collect();
    feeders.sort_unstable();
    feeders.dedup();
    feeders
}
