//! A search for settings.

use std::path::Path;

use stampede_analysis::{analyse, best, metric, objective_metric};
use stampede_conduct::{Exit, Failure, Tune, exit_of_all};
use stampede_report::tune::{self as page, Held, TuneView};
use stampede_report::{ReportAnswer, StudyView};

use crate::WriteAnswer;

/// What a search for settings came to, with the folder that its winner was written to.
///
/// # Errors
///
/// When a report cannot be written.
pub fn tune(tune: &Tune<'_>, out: Option<&Path>, write: WriteAnswer<'_>) -> Result<Exit, Failure> {
    let Some(winner) = best(tune.tried()) else { return Ok(Exit::TrialFailed) };
    let analyses: Vec<_> = tune.held().iter().map(|(_, held)| analyse(&held.study, &held.trials)).collect();
    let held: Vec<Held<'_>> = tune
        .held()
        .iter()
        .zip(&analyses)
        .map(|((share, stored), analysis)| Held { share: *share, view: StudyView::of(stored, analysis) })
        .collect();
    let key = objective_metric(tune.plan().objective);
    let Some(metric) = metric(key) else { return Ok(Exit::Done) };
    let documented = tune.documented();
    let view = TuneView {
        id: tune.id(),
        limits: &tune.plan().plan.limits,
        runtime: tune.plan().plan.candidates.first().map(|candidate| candidate.runtime.id()),
        workload: tune.plan().plan.workload.id.as_str(),
        load: &tune.plan().plan.load,
        objective: tune.plan().objective,
        slo: tune.plan().plan.slo.as_ref(),
        metric,
        space: tune.space(),
        tried: tune.tried(),
        winner,
        documented: documented.as_ref().map(|documented| documented.source),
        held: &held,
        out,
    };
    write(&ReportAnswer::Tune(&view))?;
    // A winner that misses the SLO is no success.
    if !page::missed(&held, tune.plan().plan.slo.as_ref()).is_empty() {
        return Ok(Exit::GateFailed);
    }
    Ok(exit_of_all(tune.held().iter().map(|(_, held)| held)))
}
