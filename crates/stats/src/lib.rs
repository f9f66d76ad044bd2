//! Estimators, intervals and decisions: numbers in, numbers out.
//!
//! Nothing here knows what its numbers measure. A replicate is one number of the slice that is handed in; that replicates
//! are independent (trials, never requests of one trial) is the caller's care. Randomness is a seed. What the methods
//! do on simulated data stands in `docs/statistics.md`.
//!
//! - Within a trial: [`steady_state`], [`mann_kendall`], [`BatchMeans`].
//! - Between trials: [`BlockRatios`]; where blocks measured others beside a pair: [`pair_spread`]; of trials that share no blocks:
//!   [`difference_interval`].
//! - Of turns within trials: [`NestedVariances`].
//! - Of requests in one trial: [`BurstyShare`]; of throughput at several concurrencies: [`UslFit`].
//! - Verdicts: [`decide`], [`noise_floor`], [`power`], [`blocks_to_decide`].
//! - Racing: [`least_significant_difference`]; what to try next: [`GaussianProcess`], [`expected_improvement`].
//! - Looking early, at many pairs: [`repeated_interval`], [`step_down`], [`rank_sets`].

mod anova;
mod batch;
mod blocks;
mod change;
mod decision;
mod equivalence;
mod gaussian;
mod interval;
mod nested;
mod normal;
mod order;
mod pair_spread;
mod power;
mod quadratic;
mod random;
mod rank;
mod sequential;
mod share;
mod spending;
mod steady;
mod student;
mod trend;
mod usl;

pub use anova::least_significant_difference;
pub use batch::BatchMeans;
pub use blocks::{BlockRatios, MANY_BLOCKS};
pub use change::{ChangePointError, Noise, change_penalty, change_points};
pub use decision::{Decision, Extent, Margins, decide};
pub use equivalence::noise_floor;
pub use gaussian::{GaussianProcess, expected_improvement};
pub use interval::{Interval, IntervalError, difference_interval, mean, mean_interval};
pub use nested::{NestedVariances, Variance};
pub use normal::above as normal_above;
pub use order::{median, median_absolute_deviation};
pub use pair_spread::{PairSpread, pair_spread};
pub use power::{blocks_to_decide, detectable_effect, minimal_detectable_effect, power};
pub use random::SplitMix64;
pub use rank::rank_sets;
pub use sequential::{nominal_error, repeated_interval, step_down};
pub use share::{BurstyShare, share_of_none};
pub use spending::{InterimLook, MOST_LOOKS, SequentialError, Spending, boundaries};
pub use steady::{Segment, SteadyError, SteadyRule, SteadyState, steady_state};
pub use student::{Confidence, t_quantile_above};
pub use trend::{Trend, TrendError, mann_kendall};
pub use usl::{Usl, UslFit};
