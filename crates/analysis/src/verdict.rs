//! Which of a study's differences are shown, when enough was measured, and what a gate and a history say.
//!
//! Knows metrics and the records of cases. It neither looks for reasons nor says what a machine's own noise is.

pub(crate) mod adjusted_means;
mod change;
mod change_outcome;
mod change_points;
mod deployable;
mod judge;
mod margins;
mod multiple_comparisons;
mod recommendation;
mod stopping_rule;

pub use self::change::{Change, ChangeError, Loss, between_studies, losses, of_gate};
pub use self::change_outcome::ChangeOutcome;
pub use self::change_points::{LevelChange, level_changes};
pub use self::deployable::{DeployableError, deployable};
pub(crate) use self::judge::{Verdicts, against, contrast, judge, judge_together};
pub(crate) use self::margins::margins;
pub use self::margins::{MIN_BLOCKS, hides_precision};
pub use self::multiple_comparisons::ERROR;
pub(crate) use self::multiple_comparisons::Family;
pub(crate) use self::recommendation::recommend;
pub use self::recommendation::{Advice, Lead, Recommendation, TieBreaker, Unfit};
pub(crate) use self::stopping_rule::is_complete;
pub use self::stopping_rule::{Course, course, left_out, planned};
