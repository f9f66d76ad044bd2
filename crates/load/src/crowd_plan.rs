//! A crowd as all threads share it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Load, Population, Random};
use stampede_scenario::{Pause, Scenario, Script};

use crate::arrivals::ArrivalPlan;
use crate::crowd::Crowd;
use crate::idle::Idle;
use crate::pacer::Pacer;
use crate::ramp::Ramp;
use crate::timeline::Timeline;

/// What all crowds of a load have in common.
#[derive(Clone, Debug)]
pub(crate) struct CrowdTerms {
    pub(crate) requests: Option<u64>,
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    pub(crate) seed: u64,
    pub(crate) scenario: Option<Arc<Scenario>>,
    pub(crate) host: String,
    pub(crate) keep_alive: bool,
}

/// A crowd, for all threads. One with fewer connections than there are threads is on as many threads as it has connections.
#[derive(Clone, Debug)]
pub(crate) struct CrowdPlan {
    /// Its number in the load.
    number: usize,
    terms: Arc<CrowdTerms>,
    pacing: Pacing,
    pub(crate) connections: usize,
    /// Whether an open one uses all of them in turn, or opens them as they are needed.
    keeps_all: bool,
    /// Its steps among those of the load.
    steps: Range<usize>,
    think: Pause,
}

#[derive(Clone, Debug)]
enum Pacing {
    Closed(Option<Population>),
    Open(ArrivalPlan),
}

/// A thread's share of a crowd.
#[derive(Debug)]
pub(crate) struct CrowdShare {
    plan: CrowdPlan,
    /// Its place among the threads that have the crowd, and their count.
    thread: u64,
    threads: u64,
    pub(crate) connections: usize,
}

impl CrowdPlan {
    pub(crate) fn new(number: usize, load: &Load, think: Pause, steps: Range<usize>, terms: &Arc<CrowdTerms>) -> Self {
        let CrowdTerms { requests, warm_up, duration, .. } = **terms;
        let connections = load.connections() as usize;
        let pacing = match load {
            Load::Closed { .. } => Pacing::Closed(None),
            Load::Ramped { connections } => Pacing::Closed(Some(connections.clone())),
            Load::Open { schedule, arrivals, .. } => {
                let seed = terms.seed_of(number);
                Pacing::Open(ArrivalPlan::new(schedule.clone(), *arrivals, warm_up, duration, requests, seed))
            }
        };
        Self { number, terms: Arc::clone(terms), pacing, connections, keeps_all: load.keeps_all(), steps, think }
    }

    /// The share of a thread, if it has one.
    pub(crate) fn of_thread(&self, thread: usize, threads: usize) -> Option<CrowdShare> {
        let threads = threads.min(self.connections);
        let connections = self.connections.checked_div(threads)? + usize::from(thread < self.connections % threads);
        (thread < threads).then(|| CrowdShare {
            plan: self.clone(),
            thread: thread as u64,
            threads: threads as u64,
            connections,
        })
    }
}

impl CrowdShare {
    /// The one with so many users, the first of whom has this number on the thread. Its connections go to so many targets,
    /// that of each user to the one that `target_of` tells.
    pub(crate) fn begin(
        self,
        (first, users): (usize, usize),
        timeline: &Timeline,
        targets: usize,
        target_of: impl Fn(usize) -> usize,
    ) -> Crowd {
        let Self { plan, thread, threads, connections } = self;
        let CrowdPlan { number, terms, pacing, connections: _, keeps_all, steps, think } = plan;
        let seed = terms.seed_of(number);
        let sharers = users.checked_div(connections).unwrap_or(1);
        let (pacer, active) = match pacing {
            Pacing::Closed(population) => {
                let left = match terms.requests {
                    None => u64::MAX,
                    Some(requests) => requests / threads + u64::from(thread < requests % threads),
                };
                let ramp = population
                    .map(|population| Ramp::new(population, timeline.opens_at, (first, sharers), (thread, threads)));
                (Pacer::Closed { left, ramp: ramp.map(Box::new) }, users)
            }
            Pacing::Open(plan) => (Pacer::Open(Box::new(plan.of_thread(thread, threads, timeline.starts_at))), 0),
        };
        let idle = match pacer {
            Pacer::Closed { .. } => Idle::default(),
            Pacer::Open(_) => {
                // Threads begin at different targets.
                let turn = thread as usize * targets / threads as usize;
                Idle::new(first..first + users, sharers, keeps_all, (targets, turn), target_of)
            }
        };
        let script = terms.scenario.as_ref().and_then(|scenario| {
            Script::new(Arc::clone(scenario), number, &terms.host, terms.keep_alive, (thread, threads), terms.seed)
        });
        // Threads think for themselves.
        let random = Random(Random(seed ^ thread << 32).draw());
        Crowd { number, pacer, script, steps, think, random, users, idle, active, ran_out: false }
    }
}

impl CrowdTerms {
    /// The seed of each crowd is its own, or all of them would draw the same.
    fn seed_of(&self, crowd: usize) -> u64 {
        self.seed.wrapping_add(crowd as u64)
    }
}
