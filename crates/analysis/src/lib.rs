//! Stored records to summaries, verdicts and findings.
//!
//! Pure: the same study and trials give the same analysis, so that any report can be made again later. It knows no
//! runtime by name, and neither how records are kept nor how figures are printed.

mod activity;
mod analysis;
mod baseline;
mod capacity;
mod case_summary;
mod inside;
mod memory_growth;
mod metric;
mod nested;
mod open_part;
mod pace;
mod record;
mod replication;
mod rules;
mod size;
mod tune;
mod verdict;
mod why;
mod worker_memory;

#[cfg(test)]
mod samples;

pub use activity::{Activity, UnitActivity};
pub use analysis::{Analysis, analyse, analyse_parts, findings};
pub use baseline::{
    BUSY, Drift, LEAST_WARM_UP, LifetimeCost, MOST_PILOT, PilotWatch, calibrates, drift, noise_floor, untold, window,
    within_budget,
};
pub use capacity::{
    CONFIRMATION, Capacity, CapacityFound, CapacityStep, CurvePoint, MOST_PROBES, ProbeEnd, ProbeSummary, ProbeWatch,
    capacity, capacity_step, least_capacity_time,
};
pub use case_summary::CaseSummary;
pub use inside::{
    FlameNode, FlameTree, FunctionTime, InsideProfile, InsideSubject, NativeTime, PartTime, TimePart, WaitTime,
};
pub use memory_growth::MemoryGrowth;
pub use metric::{Better, METRICS, Metric, MetricUnit, PER_VCPU_SECOND, metric, percentile, primary};
pub use nested::TurnScatter;
pub use open_part::{OpenPartAnalysis, OpenRates, open_load};
pub use pace::{measured_for, time_left, took};
pub use replication::{
    CheckedClaim, NEAR, OurFigure, PossibleCause, Ratios, ReplicatedPair, ReplicatedRow, Replication,
    ReplicationVerdict, TableRun, check, replicate,
};
pub use rules::{Bottleneck, SEEN_INSIDE, SESSION_LOCK, taken_by_others};
pub use size::{
    Confirmation, FIRST_BLOCKS, Hopeless, MOST_BLOCKS, ServiceCell, ServiceFate, ServiceFound, ServiceQuestion,
    ServiceStep, SizeCell, SizeChoice, SizeFate, SizeFigures, SizeFound, SizeGrid, SizeGrowth, SizeOutcome,
    SizeQuestion, SizeReading, SizeRole, SizeSides, SizeStage, SizeStep, SizeStop, SizeVerdict, service_found,
    service_step, service_window, size_found, size_step,
};
pub use stampede_stats::{Interval, NestedVariances, UslFit, Variance, median};
pub use tune::{
    FIRST, Knob, LAST, LadderStep, Move, Point, Proposal, RaceScores, Reached, Room, Search, Shortfall, Space, Tried,
    best, is_miss, missed, objective_metric, proposals, score, shortfalls,
};
pub use verdict::{
    Advice, Change, ChangeError, ChangeOutcome, Course, DeployableError, ERROR, Lead, LevelChange, Loss, MIN_BLOCKS,
    Recommendation, TieBreaker, Unfit, between_studies, course, deployable, hides_precision, left_out, level_changes,
    losses, of_gate, planned,
};
pub use why::{Effect, Explained, Explanation, Intervention, Lever, Test, explain, interventions, php_settings};
pub use worker_memory::{MEMORY_MARGIN, WorkerMemory};
