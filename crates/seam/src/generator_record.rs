//! What is known of each generator that drove a part of a load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load_result::LoadResult;

/// What held up the process that drove a part of a load, within its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldUp {
    /// How long its load threads were ready to run and waited for a processor, summed over threads
    /// ([schedstat](https://docs.kernel.org/scheduler/sched-stats.html)).
    pub waited: Duration,
    /// How long its control group, or one above it, waited for the next period of its CPU quota.
    pub throttled: Duration,
    /// The longest time in which the whole process did nothing that it had to do.
    pub paused: Duration,
}

/// When a generator began, beside the moment that all were to begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSkew {
    /// Nanoseconds after that moment; before it where negative.
    pub ns: i64,
    /// By how much that is off at most: what is not known of its clock.
    pub bound: Duration,
}

impl StartSkew {
    /// How long after the first of several generators the last one began, and by how much that is off at most.
    pub fn between(generators: &[GeneratorRecord]) -> Option<(Duration, Duration)> {
        let starts = || generators.iter().filter_map(|generator| generator.start);
        let first = starts().min_by_key(|start| start.ns)?;
        let last = starts().max_by_key(|start| start.ns)?;
        Some((Duration::from_nanos(last.ns.abs_diff(first.ns)), first.bound + last.bound))
    }
}

/// A generator, and what came of its part of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorRecord {
    /// Its name.
    pub name: String,
    /// What it has measured; nothing of one that was lost.
    pub result: Option<LoadResult>,
    /// What held it up.
    pub held_up: Option<HeldUp>,
    /// When it began; nothing of one that sent nothing.
    pub start: Option<StartSkew>,
    /// Requests a second that it can offer at most, where that was measured before.
    pub most_rps: Option<f64>,
    /// Why its part of the load was not what it should be, each with its name and what to do.
    pub faults: Vec<String>,
}
