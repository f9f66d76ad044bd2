//! Estimators, intervals and decisions: numbers in, numbers out.
//!
//! Nothing here knows what its numbers measure. A replicate is one number of the slice that is handed in; that replicates
//! are independent (trials, never requests of one trial) is the caller's care. Randomness is a seed. What the methods
//! do on simulated data stands in `docs/statistics.md`.
//!
//! - Within a trial: [`steady_state`], [`mann_kendall`], [`BatchMeans`].
//! - Between trials: [`BlockRatios`], [`Quantile::ratios`].
//! - Verdicts: [`decide`], [`noise_floor`], [`power`], [`blocks_to_decide`].
//! - Looking early, at many pairs: [`repeated_interval`], [`sequential_holm`].
//! - Ranking: [`compare_with_best`], [`rank_sets`].

mod batch;
mod best;
mod blocks;
mod change;
mod decision;
mod equivalence;
mod interval;
mod normal;
mod order;
mod percentile;
mod power;
mod quadratic;
mod random;
mod rank;
mod sequential;
mod spending;
mod steady;
mod student;
mod trend;

pub use batch::BatchMeans;
pub use best::{AgainstBest, BestError, compare_with_best, dunnett_quantile};
pub use blocks::BlockRatios;
pub use change::{ChangeError, Noise, change_penalty, change_points};
pub use decision::{Decision, Extent, Margins, decide};
pub use equivalence::{equivalent_within, noise_floor};
pub use interval::{Interval, IntervalError, mean, mean_interval, ratio_interval};
pub use order::{median, median_absolute_deviation};
pub use percentile::{PercentileError, Quantile, TrialPercentile};
pub use power::{blocks_to_decide, equivalence_power, minimal_detectable_effect, power};
pub use random::SplitMix64;
pub use rank::{holm, rank_sets};
pub use sequential::{Hypothesis, Judgement, nominal_error, repeated_interval, sequential_holm};
pub use spending::{Look, MOST_LOOKS, SequentialError, boundaries};
pub use steady::{Segment, SteadyError, SteadyRule, SteadyState, steady_state};
pub use student::Confidence;
pub use trend::{Trend, TrendError, mann_kendall};
