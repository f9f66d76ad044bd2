//! `stampede tune --steps`: a deployment that is made better one change at a time, each by what the records before it say.

use stampede_analysis::{metric, objective_metric};
use stampede_conduct::{Beside, Ended, Failure, Host, Ladder, read_metric};
use stampede_core::Objective;
use stampede_plan::{LadderFlags, LadderPlan, MachineSize, TuneFlags, read_row};

use crate::flags::StudyArgs;
use crate::{Outcome, screen};
use stampede_catalogue::{BuiltIn, experiments};

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
        Ended::Complete => stampede_answers::ladder(&ladder, metric, &|answer| place.report.put(answer)),
        Ended::Interrupted => Ok(screen::interrupted(ladder.id())),
    }
}

/// A row of an experiment: `rinha/task-workers`.
fn beside(asked: &str, plan: &LadderPlan, machine: MachineSize) -> Result<Beside, Failure> {
    let Some((experiment, row)) = asked.rsplit_once('/') else {
        return Err(Failure::usage(format!("--against {asked} names no row: --against rinha/task-workers")));
    };
    let (name, known) = experiments(experiment.to_owned()).map_err(Failure::usage)?;
    let row = read_row(&name, row, &known, machine, &BuiltIn);
    let rung = row.and_then(|row| plan.of_plan(asked, &row)).map_err(Failure::usage)?;
    Ok(Beside { name: asked.to_owned(), rung })
}
