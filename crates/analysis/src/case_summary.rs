//! What the records say about one case.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use stampede_core::{CaseId, Estimate, Finding};

use crate::activity::Activity;
use crate::inside::InsideProfile;
use crate::rules::Bottleneck;

/// What the records say about one case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSummary {
    /// The case.
    pub case: CaseId,
    /// Means over its measured trials, by key of the metric, with t intervals at 95 %. A metric that some measured trial
    /// does not have is absent: a mean over the others would favour the case that answered more.
    pub summary: BTreeMap<&'static str, Estimate>,
    /// The ranks that it may have: from 1 + the number of cases that were shown to be better, to the number of all minus those
    /// that were shown to be worse. They hold for all cases at once in 95 % of studies. Cases that lack the primary metric
    /// in a trial that counts, or were never measured, have none and count among neither.
    pub ranks: Option<RangeInclusive<usize>>,
    /// Findings, most severe first.
    pub findings: Vec<Finding>,
    /// What probably limits its rate.
    pub bottleneck: Option<Bottleneck>,
    /// What its servers and the kernel said while it ran; absent where nothing was sampled.
    pub activity: Option<Activity>,
    /// Where PHP's time went; absent where its stacks were not sampled.
    pub inside: Option<Box<InsideProfile>>,
}
