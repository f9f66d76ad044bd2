//! Stored records to summaries, verdicts and findings.
//!
//! Pure: the same study and trials give the same analysis, so that any report can be made again later. It knows no
//! runtime by name, and neither how records are kept nor how figures are printed.

mod activity;
mod analysis;
mod capacity;
mod change;
mod course;
mod drift;
mod family;
mod level;
mod metric;
mod noise;
mod pace;
mod pilot;
mod record;
mod replication;
mod rules;
mod standing;
mod tune;
mod verdicts;
mod why;

#[cfg(test)]
mod samples;

pub use activity::{Activity, UnitActivity};
pub use analysis::{Analysis, CaseSummary, analyse, findings};
pub use capacity::{
    CONFIRMATION, Capacity, CapacityStep, CurvePoint, Found, MOST_PROBES, ProbeEnd, ProbeSummary, ProbeWatch, capacity,
    capacity_step, least_capacity_time,
};
pub use change::{Change, ChangeError, Loss, Outcome, between_studies, losses, of_gate};
pub use course::{Course, course};
pub use drift::{Drift, drift};
pub use family::ERROR;
pub use level::{LevelChange, level_changes};
pub use metric::{Better, METRICS, Metric, PER_VCPU_SECOND, Unit, metric, percentile, primary};
pub use noise::{BUSY, calibrates, noise_floor, within_budget};
pub use pace::{measured_for, took};
pub use pilot::{LEAST_WARM_UP, MOST_PILOT, PilotWatch, untold};
pub use replication::{
    Cause, CheckedClaim, NEAR, OurFigure, Ratios, ReplicatedPair, ReplicatedRow, Replication, Standing, TableRun,
    check, replicate,
};
pub use rules::Bottleneck;
pub use stampede_stats::{UslFit, median};
pub use tune::{
    FIRST, Knob, LAST, LadderStep, Move, Point, Proposal, RaceScores, Reached, Room, Search, Shortfall, Space, Tried,
    best, is_miss, objective_metric, proposals, score, shortfalls,
};
pub use verdicts::{MIN_BLOCKS, hides_precision};
pub use why::{Effect, Explained, Explanation, Intervention, Lever, Test, explain, interventions, php_settings};
