//! A deployment that was made better one change at a time.

use stampede_analysis::{Metric, analyse};
use stampede_conduct::{Exit, Failure, Ladder, exit_of_all};
use stampede_core::{StoredStudy, Study};
use stampede_report::ladder::LadderView;
use stampede_report::{ReportAnswer, StudyView};

use crate::WriteAnswer;

/// What decides between deployments that answer as much, by its key.
const P99: &str = "response_p99_us";

/// What steps that a metric judges came to.
///
/// # Errors
///
/// When a report cannot be written.
pub fn ladder(ladder: &Ladder<'_>, metric: &'static Metric, write: WriteAnswer<'_>) -> Result<Exit, Failure> {
    let Some(best) = ladder.best() else { return Ok(Exit::TrialFailed) };
    let state = best.lines();
    let analyses: Vec<_> =
        ladder.measured().iter().chain(ladder.held()).map(|stored| analyse(&stored.study, &stored.trials)).collect();
    let views: Vec<StudyView<'_>> = ladder
        .measured()
        .iter()
        .chain(ladder.held())
        .zip(&analyses)
        .map(|(stored, analysis)| StudyView::of(stored, analysis))
        .collect();
    let held_by_p99 = ladder.held().map(|StoredStudy { study, trials, .. }| {
        analyse(&Study { metric: Some(P99.to_owned()), ..study.clone() }, trials)
    });
    let Some(last) = views.last() else { return Ok(Exit::TrialFailed) };
    let load = views.first().and_then(|view| Some(view.study.cases.first()?.whole_load())).unwrap_or_default();
    let view = LadderView {
        id: ladder.id(),
        workload: ladder.plan().plan.workload.id.as_str(),
        load: &load,
        limits: &ladder.plan().plan.limits,
        metric,
        steps: ladder.steps(),
        state: &state,
        beside: ladder.beside().map(|beside| beside.name.as_str()),
        held: ladder.held().map(|_| *last),
        held_by_p99: held_by_p99.as_ref(),
    };
    write(&ReportAnswer::Ladder(&view, &views))?;
    Ok(exit_of_all(ladder.held()))
}
