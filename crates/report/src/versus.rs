//! How one case compares with another, whichever of the two a verdict is about.

use std::fmt;

use stampede_analysis::Analysis;
use stampede_core::{CaseId, VerdictWord};

use crate::quantity::{ratio, ratio_between};

/// A verdict as one of its cases sees it.
pub(crate) struct Versus {
    /// Its figure over the other's.
    pub(crate) times: f64,
    interval: Option<(f64, f64)>,
    blocks: u32,
    pub(crate) outcome: Outcome,
}

/// What a verdict says of the case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Better,
    Worse,
    Equivalent,
    Undecided,
}

impl Versus {
    /// Nothing where the two were not compared.
    pub(crate) fn of(analysis: &Analysis, case: &CaseId, other: &CaseId) -> Option<Self> {
        let pair = [(case, other), (other, case)];
        let verdict = analysis.verdicts.iter().find(|verdict| pair.contains(&(&verdict.a, &verdict.b)))?;
        let is_straight = verdict.a == *case;
        let (times, low, high) = (verdict.ratio.value, verdict.ratio.low, verdict.ratio.high);
        let interval = low.zip(high);
        Some(Self {
            times: if is_straight { times } else { times.recip() },
            interval: if is_straight { interval } else { interval.map(|(low, high)| (high.recip(), low.recip())) },
            blocks: verdict.ratio.n,
            outcome: match (verdict.verdict, is_straight) {
                (VerdictWord::Faster, true) | (VerdictWord::Slower, false) => Outcome::Better,
                (VerdictWord::Slower, true) | (VerdictWord::Faster, false) => Outcome::Worse,
                (VerdictWord::Equivalent, _) => Outcome::Equivalent,
                (VerdictWord::Undecided, _) => Outcome::Undecided,
            },
        })
    }

    /// The ratio and the ends of its interval, with as many digits as make sense.
    pub(crate) fn between(&self) -> Option<[String; 3]> {
        self.interval.map(|(low, high)| ratio_between(self.times, low, high))
    }

    /// ` (1.88 to 1.96, 4 blocks)`, or nothing.
    pub(crate) fn interval(&self) -> String {
        self.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {}, {} rounds)", ratio(low), ratio(high), self.blocks)
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        })
    }
}
