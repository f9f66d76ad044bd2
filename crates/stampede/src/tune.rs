//! `stampede tune`: which settings are best for this runtime under these limits?

pub(crate) mod args;

use stampede_conduct::{Ended, Failure, Host, Tune, space};
use stampede_plan::TunePlan;

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
        Ended::Complete => stampede_answers::tune(&tune, out.as_deref(), &|answer| report.put(answer)),
        Ended::Interrupted => Ok(screen::interrupted(tune.id())),
    }
}
