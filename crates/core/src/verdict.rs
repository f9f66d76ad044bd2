//! What a comparison of two cases says.

use serde::{Deserialize, Serialize};

use crate::{CaseId, Estimate};

/// The four things that can be said of case `a` against case `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    /// `a` is better than `b`.
    Faster,
    /// `a` is worse than `b`.
    Slower,
    /// The two differ by less than the precision.
    Equivalent,
    /// The data do not say.
    Undecided,
}

/// A comparison of two cases on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Key of the metric.
    pub metric: String,
    /// The case that is judged.
    pub a: CaseId,
    /// The case that it is compared with.
    pub b: CaseId,
    /// Metric of `a` over metric of `b`, paired by block, with its own 95 % interval.
    pub ratio: Estimate,
    /// What the ratio says, as one of all pairs of its study: a direction needs more than its own interval where there are many.
    pub verdict: VerdictWord,
    /// Faster or slower, but by less than the precision.
    pub slight: bool,
    /// Of an undecided pair: after how many blocks, those measured included, a verdict is likely, should the truth be as
    /// estimated. Absent where no number of blocks that anybody would wait for is.
    pub blocks_to_decide: Option<u32>,
}
