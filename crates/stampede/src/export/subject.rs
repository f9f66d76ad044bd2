//! What is exported: a runtime as the command line sets it, or a case of a stored study.

use stampede_analysis::{Recommendation, analyse};
use stampede_core::{Candidate, Case, CaseRole, Outcome, ScaledService, Study, Trial};
use stampede_plan::{CompareFlags, ComparePlan, MachineSize, RetrialFlags, RetrialPlan};
use stampede_store::StoredStudy;

use super::args::ExportArgs;
use crate::catalogue::BuiltIn;
use crate::exit::Failure;
use crate::show;

/// A plan, and the case that it repeats.
pub(super) struct Subject {
    pub(super) plan: ComparePlan,
    pub(super) measured: Option<Measured>,
}

/// A case that was measured.
pub(super) struct Measured {
    pub(super) study: Study,
    pub(super) case: Case,
    /// Where the case is an instance of an autoscaled service.
    pub(super) service: Option<ScaledService>,
}

impl Subject {
    /// The only candidate, or the one of this name where there are several; a study's case has been chosen already.
    pub(super) fn candidate(&self, name: Option<&str>) -> Result<&Candidate, Failure> {
        let candidates = &self.plan.candidates;
        let name = name.filter(|_| self.measured.is_none());
        let is_meant = |candidate: &&Candidate| name.is_none_or(|name| candidate.id.as_str() == name);
        match &candidates.iter().filter(is_meant).collect::<Vec<_>>()[..] {
            [candidate] => Ok(candidate),
            _ => {
                let names: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
                Err(Failure::usage(format!(
                    "one case is exported\n  name one of {} with --case, or one runtime",
                    names.join(", ")
                )))
            }
        }
    }
}

pub(super) fn read(args: &ExportArgs, machine: MachineSize) -> Result<Subject, Failure> {
    let ExportArgs { runtime, subject, study, case, app, php, deployment, load, store, .. } = args;
    let Some(name) = study else {
        let Some(runtime) = runtime else {
            return Err(Failure::usage(
                "it is not said what is exported\n  name a runtime and what it serves, or a study with --study",
            ));
        };
        let flags = CompareFlags {
            subject: subject.clone(),
            app: app.clone(),
            php: php.clone(),
            runtimes: Some(runtime.clone()),
            deployment: deployment.clone(),
            load: load.clone(),
            ..CompareFlags::default()
        };
        let plan = ComparePlan::read(&flags, machine, &BuiltIn).map_err(Failure::usage)?;
        return Ok(Subject { plan, measured: None });
    };
    let StoredStudy { study, trials, .. } = show::load(store, name)?;
    let case = choose(&study, &trials, case.as_deref(), runtime.as_deref())?.clone();
    let flags = RetrialFlags { from: subject.subject.clone(), index: subject.index.clone(), ..RetrialFlags::default() };
    let RetrialPlan { base, .. } =
        RetrialPlan::read(&flags, (&study, &case), &[], machine, &BuiltIn).map_err(Failure::usage)?;
    let measured = trials.iter().rev().find(|trial| trial.case == case.id && trial.outcome == Outcome::Measured);
    let service = measured.and_then(|trial| Some(trial.scale.as_ref()?.service.clone()));
    Ok(Subject { plan: base, measured: Some(Measured { study, case, service }) })
}

/// The case of this name, or the one that the study recommends, or the best one that was measured; of a runtime, where one is named.
fn choose<'a>(
    study: &'a Study,
    trials: &[Trial],
    name: Option<&str>,
    runtime: Option<&str>,
) -> Result<&'a Case, Failure> {
    let of_runtime = |case: &&Case| runtime.is_none_or(|runtime| case.runtime.as_str() == runtime);
    let names = |cases: &[&Case]| cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>().join(", ");
    let cases: Vec<&Case> = study.cases.iter().collect();
    let meant: Vec<&Case> = cases.iter().copied().filter(of_runtime).collect();
    if let (Some(runtime), []) = (runtime, &meant[..]) {
        return Err(Failure::usage(format!(
            "study {} has no case of runtime {runtime}\n  it has {}",
            study.id,
            names(&cases)
        )));
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
            Err(Failure::usage(format!(
                "case {} of study {} was never measured{reason}\n  what is not known to work is not exported; name another \
                 case",
                case.id, study.id
            )))
        }
        None => Err(Failure::usage(match name {
            Some(name) => format!("study {} has no case {name}\n  it has {}", study.id, names(&meant)),
            None => format!("no case of study {} was measured\n  name another study", study.id),
        })),
    }
}
