//! `stampede tune`: which settings are best for this runtime under these limits?

pub(crate) mod args;

use std::path::Path;

use stampede_analysis::{analyse, best, metric, objective_metric};
use stampede_conduct::{Ended, Exit, Failure, Host, Tune, exit_of_all, space};
use stampede_plan::TunePlan;
use stampede_report::tune::{self as page, Held, TuneView};
use stampede_report::{ReportAnswer, StudyView};

use crate::study_place::Report;
use crate::study_place::StudyPlace;
use crate::tune::args::TuneArgs;
use crate::{Outcome, export, ladder, screen};
use stampede_catalogue::BuiltIn;

/// The flag that names the folder of the winner's files.
const OUT: &str = "--out";

pub(crate) fn run(args: TuneArgs, host: &dyn Host) -> Outcome {
    let TuneArgs { flags, steps, metric, out, study } = args;
    if steps.steps.is_some() {
        return ladder::run(&flags, &steps, metric.metric, study, host);
    }
    let plan = TunePlan::read(&flags, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let StudyPlace { resume, report, store, bench } = place;
    let space = space(&plan)?;
    if let Some(out) = &out {
        export::check(OUT, out, &plan.plan)?;
    }
    let mut tune = Tune::begin(bench, plan, space, store, resume.as_ref())?;
    let ended = tune.carry_out(async |tune| {
        let Some(out) = &out else { return Ok(()) };
        let Some((plan, study, case)) = tune.winner()? else { return Ok(()) };
        let next = export::config(OUT, out, &plan, study, case).await?;
        if !bench.quiet {
            screen::paragraph(next.trim_end(), 2);
        }
        Ok(())
    })?;
    match ended? {
        Ended::Complete => conclude(&tune, out.as_deref(), &report),
        Ended::Interrupted => {
            screen::interrupted(tune.id());
            Ok(Exit::Interrupted)
        }
    }
}

fn conclude(tune: &Tune<'_>, out: Option<&Path>, report: &Report) -> Outcome {
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
    report.put(&ReportAnswer::Tune(&view))?;
    // A winner that misses the SLO is no success.
    if !page::missed(&held, tune.plan().plan.slo.as_ref()).is_empty() {
        return Ok(Exit::GateFailed);
    }
    Ok(exit_of_all(tune.held().iter().map(|(_, held)| held)))
}
