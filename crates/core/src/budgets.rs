//! The terms under which a deployment runs: its budgets, which form a tree, and what happens when a unit ends.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{EnforcedLimits, Limits, MeterSource, Program, ResourceUse, Restart, UnitId};

/// Under what terms a platform runs a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What all units together may use.
    pub total: Limits,
    /// Parts with budgets below the total. Either none, or every unit is in one.
    pub parts: Vec<Part>,
}

impl Terms {
    /// One budget for everything, and no unit is started again.
    pub fn of(total: Limits) -> Self {
        Self { total, parts: Vec::new() }
    }

    /// The part that a unit is in.
    pub fn part_of(&self, unit: &UnitId) -> Option<&Part> {
        self.parts.iter().find(|part| part.units.contains(unit))
    }
}

/// Units that share a budget: the balancer, a replica, a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name, unique in the deployment, of letters, digits and `-`.
    pub name: String,
    /// What it may use of the total; without it, as much as the others leave.
    pub share: Option<Limits>,
    /// Its units.
    pub units: Vec<UnitId>,
    /// What happens when one of them ends by itself.
    pub restart: Restart,
    /// How its settings are read back once it runs.
    pub read_back: Option<ReadBack>,
}

/// Settings that are read back from a running service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// Prints a line for each setting: its name, its value and its unit (or nothing), with tabs between them.
    pub program: Program,
    /// What was asked for.
    pub asked: BTreeMap<String, String>,
}

/// Where the use of a part can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartMeters {
    /// The part.
    pub part: String,
    /// Where.
    pub meters: Vec<MeterSource>,
}

/// What became of a part in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// The part.
    pub part: String,
    /// Its units.
    pub units: Vec<UnitId>,
    /// What it was to be held to by itself.
    pub share: Option<Limits>,
    /// What the kernel held it to; its own share or, where that is more, the total.
    pub enforced: Option<EnforcedLimits>,
    /// What it used in the window.
    pub resources: Option<ResourceUse>,
    /// Requests of the window that were sent to it; absent where they were sent to what is before it, and in trials of before this was
    /// recorded.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Its units that were started again, oldest first.
    pub restarts: Vec<UnitRestart>,
    /// Its settings as they were read back.
    pub settings: BTreeMap<String, String>,
}

/// A unit that ended by itself and was started again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRestart {
    /// The unit.
    pub unit: UnitId,
    /// How it had ended: `signal 9 (SIGKILL)`.
    pub how: String,
    /// From when the first unit was started.
    pub after: Duration,
}
