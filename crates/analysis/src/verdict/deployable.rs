//! Which case of a study is deployed.

use stampede_core::{Case, CaseId, CaseRole, Outcome, Study, StudyId, Trial};
use thiserror::Error;

use super::Recommendation;
use crate::analysis::analyse;

/// Why none is.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeployableError {
    /// None of the runtime.
    #[error("study {study} has no case of runtime {runtime}\n  it has {has}")]
    NoRuntime {
        /// The study.
        study: StudyId,
        /// The runtime.
        runtime: String,
        /// Its cases.
        has: String,
    },
    /// None of the name.
    #[error("study {study} has no case {case}\n  it has {has}")]
    NoCase {
        /// The study.
        study: StudyId,
        /// The name.
        case: String,
        /// Those that were meant.
        has: String,
    },
    /// What is not known to work is not deployed.
    #[error(
        "case {case} of study {study} was never measured{reason}\n  a case that was never measured is not exported; name another case"
    )]
    NeverMeasured {
        /// The study.
        study: StudyId,
        /// The case.
        case: CaseId,
        /// What became of its last trial, behind a colon.
        reason: String,
    },
    /// No case was ever measured.
    #[error("no case of study {0} was measured\n  name another study")]
    Nothing(StudyId),
}

/// The case of this name, or the one that the study recommends, or the best one that was measured; of a runtime, where one is named.
pub fn deployable<'a>(
    study: &'a Study,
    trials: &[Trial],
    name: Option<&str>,
    runtime: Option<&str>,
) -> Result<&'a Case, DeployableError> {
    let of_runtime = |case: &&Case| runtime.is_none_or(|runtime| case.runtime.as_str() == runtime);
    let names = |cases: &[&Case]| cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>().join(", ");
    let cases: Vec<&Case> = study.cases.iter().collect();
    let meant: Vec<&Case> = cases.iter().copied().filter(of_runtime).collect();
    if let (Some(runtime), []) = (runtime, &meant[..]) {
        let (study, runtime) = (study.id.clone(), runtime.to_owned());
        return Err(DeployableError::NoRuntime { study, runtime, has: names(&cases) });
    }
    let was_measured =
        |case: &Case| trials.iter().any(|trial| trial.case == case.id && trial.outcome == Outcome::Measured);
    let found = match name {
        Some(name) => meant.iter().copied().find(|case| case.id.as_str() == name),
        None => {
            let analysis = analyse(study, trials);
            let recommended = analysis.recommendation.as_ref().and_then(Recommendation::first);
            let ranked =
                analysis.cases.iter().filter_map(|best| meant.iter().copied().find(|case| case.id == best.case));
            let mut ranked: Vec<&Case> = ranked.filter(|case| was_measured(case)).collect();
            // What is recommended, then the other candidates, the best first, and what is there for something else last.
            ranked.sort_by_key(|case| (Some(&case.id) != recommended, case.role != CaseRole::Candidate));
            ranked.first().copied()
        }
    };
    match found {
        Some(case) if was_measured(case) => Ok(case),
        Some(case) => {
            let last = trials.iter().rev().find(|trial| trial.case == case.id).map(|trial| &trial.outcome);
            let reason = match last {
                Some(Outcome::Failed(reason) | Outcome::Invalid(reason)) => format!(": {reason}"),
                Some(Outcome::Measured) | None => String::new(),
            };
            Err(DeployableError::NeverMeasured { study: study.id.clone(), case: case.id.clone(), reason })
        }
        None => Err(match name {
            Some(name) => {
                let (study, case) = (study.id.clone(), name.to_owned());
                DeployableError::NoCase { study, case, has: names(&meant) }
            }
            None => DeployableError::Nothing(study.id.clone()),
        }),
    }
}
