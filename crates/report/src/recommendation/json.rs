//! What to ship, and what was left out, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Advice, Recommendation, left_out};
use stampede_core::{CaseId, LeftOut, Outcome};

use super::{line, reason};
use crate::json::{WireEstimate, rounded};
use crate::{StudyView, places};

/// Which case to take.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireRecommendation<'a> {
    /// ship: the case; tie: any of the cases; undecided: one of them; only: there is no other; unfinished: ask again when the
    /// study is finished; none: nothing can be said.
    decision: &'static str,
    /// candidates: cases that can be shipped; all: no case is a candidate, or the study asks something else.
    among: &'static str,
    /// The one case.
    case: Option<&'a str>,
    /// All that it may be, the best first.
    cases: Vec<&'a str>,
    /// The case that the ratio compares with.
    next: Option<&'a str>,
    metric: &'static str,
    /// The figure of the first case over that of the next, at the level below.
    ratio: Option<WireEstimate>,
    /// The level of the interval: with it, those of all pairs hold together in 95 % of studies.
    level: Option<f64>,
    /// The mean peak of memory of the first case minus that of the next.
    memory_difference_bytes: Option<f64>,
    /// The first line of reports.
    reason: String,
    not_recommended: Vec<WireUnfit<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct WireUnfit<'a> {
    case: &'a str,
    reason: String,
}

/// A case that was to be compared and was not.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WireLeftOut {
    case: String,
    reason: String,
    fix: Option<String>,
}

impl<'a> WireRecommendation<'a> {
    pub(crate) fn of(view: &StudyView<'a>) -> Option<Self> {
        let recommendation = view.analysis.recommendation.as_ref()?;
        let Recommendation { of_candidates, advice, unfit, pairs: _ } = recommendation;
        let (decision, cases): (_, &[CaseId]) = match advice {
            Advice::Best { case, lead: _ } => ("ship", std::slice::from_ref(case)),
            Advice::Tie { cases, leads: _, breakers: _ } => ("tie", cases),
            Advice::Open { cases, leads: _, beside: _, behind: _ } => ("undecided", cases),
            Advice::Alone { case, lead: _ } => ("only", std::slice::from_ref(case)),
            Advice::Unfinished => ("unfinished", &[]),
            Advice::Contradiction | Advice::Unmeasured | Advice::AllUnfit => ("none", &[]),
        };
        let lead = advice.lead();
        let unfit = unfit.iter().map(|(case, why)| WireUnfit { case: case.as_str(), reason: reason(view, case, why) });
        Some(Self {
            decision,
            among: if *of_candidates { "candidates" } else { "all" },
            case: match cases {
                [only] => Some(only.as_str()),
                _ => None,
            },
            cases: cases.iter().map(CaseId::as_str).collect(),
            next: lead.map(|lead| lead.verdict.b.as_str()),
            metric: view.analysis.primary.key,
            ratio: lead.map(|lead| WireEstimate::of(&lead.verdict.ratio)),
            level: lead.map(|lead| rounded(lead.level)),
            memory_difference_bytes: lead.and_then(|lead| lead.memory).map(f64::round),
            reason: line(view, recommendation),
            not_recommended: unfit.collect(),
        })
    }
}

impl WireLeftOut {
    pub(crate) fn of(LeftOut { case, reason, fix }: &LeftOut) -> Self {
        Self { case: case.to_string(), reason: reason.clone(), fix: fix.clone() }
    }

    /// What could not run on the machine that measured, and what never served.
    pub(crate) fn all(view: &StudyView<'_>) -> Vec<Self> {
        let before = view.study.groundwork.left_out.iter().map(Self::of);
        let never_served = left_out(view.study, view.trials).into_iter().filter_map(|case| {
            let last = view.trials.iter().rfind(|trial| trial.case == case)?;
            let Outcome::Failed(reason) = &last.outcome else { return None };
            let reason = places::without_runs(reason);
            let (problem, fixes) = Outcome::problem_and_fixes(&reason);
            let fix = (!fixes.is_empty()).then(|| fixes.join("; "));
            Some(Self { case: case.to_string(), reason: problem.to_owned(), fix })
        });
        before.chain(never_served).collect()
    }
}
