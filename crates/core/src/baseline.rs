//! What was found out before the first block of a study, and limits what it may claim.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Carrier, CaseId, StudyId};

/// What was found out before the first block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Groundwork {
    /// How long each case that had a pilot is loaded before its window.
    pub warm_ups: BTreeMap<CaseId, WarmUp>,
    /// What differences on this machine must clear; absent where no calibration fits the study.
    pub floor: Option<NoiseFloor>,
    /// What was to be compared and could not be, in the words of the machine that measured.
    pub left_out: Vec<LeftOut>,
    /// Who drove the load, where that was not the process that measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<Carrier>,
    /// The node of a cluster that all cases ran on, where they ran in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The most memory that the pilot of each case needed, where that was counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peaks: BTreeMap<CaseId, Bytes>,
    /// Why the cases of a block are measured as they are, where that was left open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_why: Option<String>,
    /// Why windows are as long as they are, where pilots chose that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_why: Option<String>,
    /// In how large groups the cases of a block have their turns, where not all are up together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_together: Option<u32>,
}

/// A case that a comparison goes without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The case.
    pub case: CaseId,
    /// Why: `needs the PHP extension swoole`.
    pub reason: String,
    /// What mends it, where that is known.
    pub fix: Option<String>,
}

/// The length of a case's load before its window, and how it was fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// For how long it is loaded before the window.
    pub length: Duration,
    /// What its pilot trial showed.
    pub pilot: Pilot,
}

/// What a pilot trial showed: one that is loaded from its start until its rate, or under open load its response time, has come
/// to rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Pilot {
    /// It came to rest.
    Steady {
        /// After so much load.
        after: Duration,
        /// How long it was watched.
        watched: Duration,
    },
    /// It did not come to rest while it was watched.
    Unsteady {
        /// How long it was watched.
        watched: Duration,
    },
    /// It could not be told.
    Untold {
        /// Why, as a sentence without its subject.
        why: String,
    },
}

/// What a calibration says of the machine: by how much two identical cases may seem to differ in every block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// The calibration, a study of one case against itself.
    pub calibration: StudyId,
    /// By key of the metric.
    pub metrics: BTreeMap<String, Floor>,
}

/// The floor of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Differences up to this share are not told from the machine's bias.
    pub share: f64,
    /// The standard deviation of the logarithm of a block's ratio.
    pub deviation: f64,
    /// How many pairs it is from.
    pub pairs: u32,
}
