//! A crowd as all threads share it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Load, Population, Random};
use stampede_scenario::{Pause, Scenario, Script};
use stampede_seam::Shard;

use crate::arrivals::ArrivalPlan;
use crate::crowd::Crowd;
use crate::idle::Idle;
use crate::pacer::Pacer;
use crate::ramp::Ramp;
use crate::timeline::Timeline;

/// What all user classes of a load have in common.
#[derive(Clone, Debug)]
pub(crate) struct CrowdTerms {
    pub(crate) requests: Option<u64>,
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    pub(crate) seed: u64,
    pub(crate) shard: Option<Shard>,
    pub(crate) scenario: Option<Arc<Scenario>>,
    pub(crate) host: String,
    pub(crate) keep_alive: bool,
}

/// A crowd, for all threads of this shard. One with fewer connections than there are threads is on as many threads as it has
/// connections.
#[derive(Clone, Debug)]
pub(crate) struct CrowdPlan {
    /// Its number in the load.
    number: usize,
    terms: Arc<CrowdTerms>,
    pacing: Pacing,
    /// Its connections here; none where there are more shards than it has connections.
    pub(crate) connections: usize,
    /// Its connections in shards before this one.
    pub(crate) before: usize,
    /// This shard's place among those that have connections of it, and their count.
    shard: (usize, usize),
    /// Whether an open one uses all of them in turn, or opens them as they are needed.
    keeps_all: bool,
    /// Its steps among those of the load.
    steps: Range<usize>,
    /// [`Crowd::mix`].
    mix: Arc<[u32]>,
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
    /// Its place among the threads of all shards that have the crowd, and their count, if all had as many as this one.
    thread: u64,
    threads: u64,
    pub(crate) connections: usize,
}

impl CrowdPlan {
    /// One that follows a script of these steps.
    pub(crate) fn new(number: usize, load: &Load, think: Pause, steps: Range<usize>, terms: &Arc<CrowdTerms>) -> Self {
        let CrowdTerms { requests, warm_up, duration, .. } = **terms;
        let (connections, before, shard) = share(load.connections() as usize, terms.shard);
        let pacing = match load {
            Load::Closed { .. } => Pacing::Closed(None),
            Load::Ramped { connections } => Pacing::Closed(Some(connections.clone())),
            Load::Open { schedule, arrivals, .. } => {
                let seed = terms.seed_of(number);
                Pacing::Open(ArrivalPlan::new(schedule.clone(), *arrivals, warm_up, duration, requests, seed))
            }
        };
        let keeps_all = load.keeps_all();
        Self {
            number,
            terms: Arc::clone(terms),
            pacing,
            connections,
            before,
            shard,
            keeps_all,
            steps,
            mix: Arc::default(),
            think,
        }
    }

    /// One that sends these exchanges in turn.
    pub(crate) fn of_mix(load: &Load, think: Pause, mix: Vec<u32>, terms: &Arc<CrowdTerms>) -> Self {
        Self { mix: mix.into(), ..Self::new(0, load, think, 0..0, terms) }
    }

    /// The share of a thread, if it has one.
    pub(crate) fn of_thread(&self, thread: usize, threads: usize) -> Option<CrowdShare> {
        let (shard, shards) = self.shard;
        let threads = threads.min(self.connections);
        let connections = self.connections.checked_div(threads)? + usize::from(thread < self.connections % threads);
        (thread < threads).then(|| CrowdShare {
            plan: self.clone(),
            thread: (shard + shards * thread) as u64,
            threads: (shards * threads) as u64,
            connections,
        })
    }
}

impl CrowdShare {
    /// The same, whose users send only the step of this number.
    #[must_use]
    pub(crate) fn sending(self, step: usize) -> Self {
        Self { plan: CrowdPlan { steps: step..step + 1, ..self.plan }, ..self }
    }

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
        let CrowdPlan { number, terms, pacing, connections: _, before: _, shard: _, keeps_all, steps, mix, think } =
            plan;
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
        Crowd { number, pacer, script, steps, mix, think, random, users, idle, active, ran_out: false }
    }
}

/// The connections of a shard, those of shards before it, and its place among the shards that have any, with their count.
fn share(connections: usize, shard: Option<Shard>) -> (usize, usize, (usize, usize)) {
    let Some(Shard { index, of }) = shard else { return (connections, 0, (0, 1)) };
    let (index, of) = (index as usize, (of.get() as usize).min(connections));
    if index >= of {
        return (0, connections, (index, of));
    }
    let (each, more) = (connections / of, connections % of);
    (each + usize::from(index < more), index * each + index.min(more), (index, of))
}

impl CrowdTerms {
    /// The seed of each crowd is its own, or all of them would draw the same.
    fn seed_of(&self, crowd: usize) -> u64 {
        self.seed.wrapping_add(crowd as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Instant;

    use proptest::prelude::*;
    use stampede_core::Schedule;

    use super::*;

    fn shard(index: u32, of: u32) -> Option<Shard> {
        Some(Shard { index, of: NonZeroU32::new(of).unwrap() })
    }

    fn plan(load: &str, shard: Option<Shard>) -> CrowdPlan {
        let terms = CrowdTerms {
            requests: Some(1001),
            warm_up: Duration::from_millis(350),
            duration: Duration::from_secs(4),
            seed: 7,
            shard,
            scenario: None,
            host: String::new(),
            keep_alive: true,
        };
        CrowdPlan::new(0, &load.parse().unwrap(), Pause::default(), 0..1, &Arc::new(terms))
    }

    /// Numbers and due times of a shard on so many threads.
    fn arrivals(load: &str, shard: Option<Shard>, threads: usize, start: Instant) -> Vec<(u64, Instant)> {
        let crowd = plan(load, shard);
        let mut all = Vec::new();
        for share in (0..threads).filter_map(|thread| crowd.of_thread(thread, threads)) {
            let Pacing::Open(plan) = &share.plan.pacing else { panic!("{load}") };
            let mut arrivals = plan.of_thread(share.thread, share.threads, start);
            while let Some(arrival) = arrivals.next() {
                all.push((arrival.number, arrival.due));
                arrivals.take_due(arrival.due);
            }
        }
        all
    }

    #[test]
    fn due_times_of_shards_are_those_of_one() {
        let start = Instant::now();
        for load in [
            "open:500",
            "open:5..100/2s,7.5",
            "open:poisson:500",
            "open:poisson:0..90/3s@7",
            "open:3/1s,random:50/2s,7.5",
            "open:random:5..100/2s,random:9/30s",
            // Fewer connections than shards.
            "open:poisson:200@3",
        ] {
            let whole = arrivals(load, None, 1, start);
            assert!(whole.iter().map(|(number, _)| *number).eq(0..whole.len() as u64), "{load}");
            for of in [1, 2, 4, 7] {
                // Each shard has as many threads as it likes.
                let parts = (0..of).flat_map(|index| arrivals(load, shard(index, of), 1 + index as usize % 3, start));
                let mut parts: Vec<_> = parts.collect();
                parts.sort_unstable();
                assert_eq!(parts, whole, "{load} in {of}");
            }
        }
    }

    #[test]
    fn a_shard_without_connections_has_no_thread() {
        for (index, of) in [(3, 4), (4, 4), (9, 2)] {
            let crowd = plan("closed:3", shard(index, of));
            assert_eq!((crowd.connections, crowd.of_thread(0, 2).is_none()), (0, true), "{index} of {of}");
        }
    }

    proptest! {
        #[test]
        fn connections_and_requests_of_shards_add_up(
            connections in 1..200_u32,
            threads in prop::collection::vec(1..5_usize, 1..9),
        ) {
            let of = threads.len() as u32;
            let mut sums = (0, 0);
            let mut numbers = Vec::new();
            for (index, threads) in threads.iter().enumerate() {
                let crowd = plan(&format!("closed:{connections}"), shard(index as u32, of));
                prop_assert_eq!(crowd.before, sums.0);
                for share in (0..*threads).filter_map(|thread| crowd.of_thread(thread, *threads)) {
                    let CrowdShare { thread, threads, connections, .. } = share;
                    sums.0 += connections;
                    sums.1 += 1001 / threads + u64::from(thread < 1001 % threads);
                    // As ramps count their users.
                    numbers.extend((0..connections as u64).map(|number| thread + threads * number));
                }
            }
            numbers.sort_unstable();
            prop_assert_eq!(sums, (connections as usize, 1001));
            prop_assert!(numbers.into_iter().eq(0..u64::from(connections)));
        }

        #[test]
        fn any_schedule_is_split_exactly(
            stages in prop::collection::vec((0..40_u32, 0..40_u32, 1..1500_u32, any::<bool>()), 1..4),
            of in 1..9_u32,
        ) {
            let text: Vec<_> = stages.iter().map(|(from, to, ms, random)| {
                format!("{}{from}..{to}/{ms}ms", if *random { "random:" } else { "" })
            }).collect();
            let text = format!("{},0", text.join(","));
            if text.parse::<Schedule>().is_err() {
                return Ok(());
            }
            let (load, start) = (format!("open:{text}"), Instant::now());
            let mut parts: Vec<_> = (0..of).flat_map(|index| arrivals(&load, shard(index, of), 2, start)).collect();
            parts.sort_unstable();
            prop_assert_eq!(parts, arrivals(&load, None, 1, start));
        }
    }
}
