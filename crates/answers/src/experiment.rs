//! A published experiment that was run again.

use stampede_analysis::{CheckedClaim, TableRun, replicate};
use stampede_conduct::{Exit, Experiment, Failure};
use stampede_core::Outcome;
use stampede_plan::ReproducePlan;
use stampede_report::replication::{ReplicatedTable, ReplicationView};
use stampede_report::{ReportAnswer, StudyView};

use crate::WriteAnswer;

/// What an experiment came to, as far as it went; nothing is written of one that has not begun.
///
/// # Errors
///
/// When a report cannot be written.
pub fn experiment(experiment: &Experiment<'_>, write: WriteAnswer<'_>) -> Result<Exit, Failure> {
    if experiment.tables().iter().all(|table| table.record.is_none()) {
        return Ok(Exit::TrialFailed);
    }
    let analyses = experiment.analyses();
    let runs: Vec<TableRun<'_>> = experiment.runs(&analyses);
    let publication = &experiment.plan().publication;
    let claims: Vec<CheckedClaim<'_>> = experiment.claims(&runs);
    let tables: Vec<ReplicatedTable<'_>> =
        runs.iter().map(|run| ReplicatedTable { run: *run, replication: replicate(run) }).collect();
    let ReproducePlan { scale, rate_scale, .. } = *experiment.plan();
    let view = ReplicationView { publication, scale, rate_scale, tables: &tables, claims: &claims };
    let studies = experiment.tables().iter().zip(&analyses).filter_map(|(table, analysis)| {
        let (record, analysis) = (table.record.as_ref()?, analysis.as_ref()?);
        Some(StudyView {
            study: record.study()?,
            finished_at: table.finished_at,
            trials: record.trials(),
            yard_stick: record.yard_stick(),
            analysis,
            open_part: None,
        })
    });
    let studies: Vec<StudyView<'_>> = studies.collect();
    write(&ReportAnswer::Replication(&view, &studies))?;
    let is_measured = runs.iter().flat_map(|run| run.trials).any(|trial| trial.outcome == Outcome::Measured);
    Ok(if is_measured { Exit::Done } else { Exit::TrialFailed })
}
