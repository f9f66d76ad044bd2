//! A question, and the blocks of trials that answer it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BlockOrder, Case, CaseId, Groundwork, Machine, Slo, StudyId, WindowsFrom, WorkloadId};

/// Blocks that a size has at each look of its confirmation, the last of which ends it (docs/adr/0047).
pub const CONFIRMING_BLOCKS: [u32; 4] = [4, 8, 16, 32];

/// What a study asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyKind {
    /// Which case is fastest?
    Compare,
    /// By how much does one case seem to differ from itself here?
    Calibrate,
    /// Is the second case, a change, worse than the first by more than the precision?
    Gate,
    /// How many requests a second may come before answers are no longer what they must be? Its cases are one deployment under
    /// the loads that were found to be worth a trial, and join it one by one.
    Capacity,
    /// Which change to the first case, each of one limit alone, moves it most?
    Why,
    /// Which settings of one runtime are best? One race of a search.
    Tune,
    /// What does a service do whose instances are started and stopped as requests come?
    Scale,
    /// How long do answers take of each case under a load of its own? Nothing is compared.
    OwnRates,
}

impl fmt::Display for StudyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Compare => "compare",
            Self::Calibrate => "calibrate",
            Self::Gate => "gate",
            Self::Capacity => "capacity",
            Self::Why => "why",
            Self::Tune => "tune",
            Self::Scale => "scale",
            Self::OwnRates => "own-rates",
        })
    }
}

/// How many blocks a study has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    /// So many.
    Fixed(u32),
    /// As many as the verdicts take.
    Auto {
        /// From the launch of the first deployment, a pilot's included, to the end of the last trial.
        max_time: Duration,
    },
}

impl Rounds {
    /// A pilot that is watched for less sees no rest.
    pub const LEAST_PILOT: Duration = Duration::from_secs(8);

    /// How long each of so many pilots may be watched: a fifth of a study's time together, and enough in any case. Where rounds are
    /// a number, nothing bounds them.
    pub fn time_of_pilot(self, cases: usize) -> Option<Duration> {
        match self {
            Self::Fixed(_) => None,
            Self::Auto { max_time } => Some((max_time / 5 / cases.max(1) as u32).max(Self::LEAST_PILOT)),
        }
    }
}

/// How well the ratio of two cases is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorModel {
    /// By its own scatter from block to block alone: studies that were measured before the other model.
    OwnPair,
    /// By what all cases of its blocks show (ADR 33).
    AllCases,
}

/// A study as it was planned; its trials are kept beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its name in the store.
    pub id: StudyId,
    /// What it asks.
    pub kind: StudyKind,
    /// What is served.
    pub workload: WorkloadId,
    /// Seed of the order of cases in each block.
    pub seed: u64,
    /// How many blocks.
    pub rounds: Rounds,
    /// Differences below this share do not matter: 0.03 is 3 %. Of a gate: how much worse the change may be.
    pub precision: f64,
    /// How its errors are found. Part of the record, so that a study is judged later as it was.
    pub errors: ErrorModel,
    /// Key of the metric that ranks the cases and decides the verdicts, where it is not the one that follows from the load.
    pub metric: Option<String>,
    /// What answers must be, of a study that asks for it.
    pub slo: Option<Slo>,
    /// Load before the measuring window, of cases that had no pilot.
    pub warm_up: Duration,
    /// The measuring window.
    pub duration: Duration,
    /// How the cases of a block are measured.
    pub order: BlockOrder,
    /// When it was started.
    pub started_at: Timestamp,
    /// Version of Stampede.
    pub stampede_version: String,
    /// Where it ran.
    pub machine: Machine,
    /// What is compared.
    pub cases: Vec<Case>,
    /// What was found out before the first block.
    pub groundwork: Groundwork,
    /// When it was resumed after interruptions, oldest first.
    pub resumed_at: Vec<Timestamp>,
    /// When its time was over, where it ended for that. Its last look is then at the last block that is complete.
    pub time_over_at: Option<Timestamp>,
    /// From where on it was measured in windows, where it was to be measured in turns and they did not hold.
    pub windows_from: Option<WindowsFrom>,
    /// What its flags chose beside the workload.
    #[serde(default)]
    pub chosen: ChosenByFlags,
}

/// What flags choose over what the workload and the plan say: who measures a case of the study again needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChosenByFlags {
    /// Names of the requests that make up the load; none where the workload says which.
    pub exchanges: Vec<String>,
    /// Whether visitors keep their cookies, also where the workload does not say so.
    pub cookies: bool,
    /// The dump that the database begins each trial with, as it was named.
    pub database: Option<PathBuf>,
}

impl fmt::Display for ChosenByFlags {
    /// `the workload's own`, `update, with cookies, from shop.sql`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exchanges, cookies, database } = self;
        match &exchanges[..] {
            [] => f.write_str("the workload's own")?,
            exchanges => f.write_str(&exchanges.join(", "))?,
        }
        if *cookies {
            f.write_str(", with cookies")?;
        }
        database.iter().try_for_each(|dump| write!(f, ", from {}", dump.display()))
    }
}

impl Study {
    /// How the cases of a block are measured.
    pub fn order_of(&self, block: u32) -> BlockOrder {
        match &self.windows_from {
            Some(windows_from) if block >= windows_from.block => BlockOrder::Windows,
            _ => self.order,
        }
    }

    /// For how long a case is loaded before its window.
    pub fn warm_up_of(&self, case: &CaseId) -> Duration {
        self.groundwork.warm_ups.get(case).map_or(self.warm_up, |warm_up| warm_up.length)
    }
}
