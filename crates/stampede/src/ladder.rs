//! `stampede tune --steps`: a deployment that is made better one change at a time, each by what the records before it say.

use stampede_analysis::{Metric, analyse, metric, objective_metric};
use stampede_conduct::{Beside, Ended, Exit, Failure, Host, Ladder, exit_of_all, read_metric};
use stampede_core::{Objective, Study};
use stampede_plan::{LadderFlags, LadderPlan, MachineSize, Rung, TuneFlags, read_row};
use stampede_report::ladder::LadderView;
use stampede_report::{ReportAnswer, StudyView};
use stampede_store::StoredStudy;

use crate::flags::StudyArgs;
use crate::study_place::Report;
use crate::{Outcome, reproduce, screen};
use stampede_catalogue::BuiltIn;

/// What decides between deployments that answer as much, by its key.
const P99: &str = "response_p99_us";

pub(crate) fn run(
    tune: &TuneFlags,
    flags: &LadderFlags,
    key: Option<String>,
    study: StudyArgs,
    host: &dyn Host,
) -> Outcome {
    let plan = LadderPlan::read(tune, flags, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let key = read_metric(key)?.unwrap_or_else(|| objective_metric(Objective::Throughput).to_owned());
    let Some(metric) = metric(&key) else { return Err(Failure::usage(format!("--metric {key} is not known"))) };
    let beside = flags.against.as_ref().map(|against| beside(against, &plan, host.size())).transpose()?;
    let mut ladder = Ladder::begin(place.bench, plan, metric, beside, place.store, place.resume.as_ref())?;
    match ladder.carry_out()?? {
        Ended::Complete => conclude(&ladder, metric, &place.report),
        Ended::Interrupted => {
            screen::interrupted(ladder.id());
            Ok(Exit::Interrupted)
        }
    }
}

/// A row of an experiment: `rinha/task-workers`.
fn beside(asked: &str, plan: &LadderPlan, machine: MachineSize) -> Result<Beside, Failure> {
    let Some((experiment, row)) = asked.rsplit_once('/') else {
        return Err(Failure::usage(format!("--against {asked} names no row: --against rinha/task-workers")));
    };
    let (name, known) = reproduce::experiments(experiment.to_owned())?;
    let row = read_row(&name, row, &known, machine, &BuiltIn);
    let rung = row.and_then(|row| plan.of_plan(asked, &row)).map_err(Failure::usage)?;
    Ok(Beside { name: asked.to_owned(), rung })
}

fn conclude(ladder: &Ladder<'_>, metric: &'static Metric, report: &Report) -> Outcome {
    let Some(best) = ladder.best() else { return Ok(Exit::TrialFailed) };
    let state = state(best);
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
    report.put(&ReportAnswer::Ladder(&view, &views))?;
    Ok(exit_of_all(ladder.held()))
}

/// What a deployment has, a line each.
fn state(rung: &Rung) -> Vec<String> {
    let Rung { runtime, given, ini, topology } = rung;
    let settings: Vec<String> =
        given.iter().map(|(name, setting)| format!("--set {runtime}.{name}={}", setting.value)).collect();
    let ini: Vec<String> = ini.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut lines = vec![runtime.to_string()];
    lines.extend((!settings.is_empty()).then(|| settings.join(" ")));
    lines.extend((!ini.is_empty()).then(|| format!("php.ini: {}", ini.join(", "))));
    lines.extend((!topology.is_default()).then(|| topology.to_string()));
    lines
}
