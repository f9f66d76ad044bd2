//! `stampede scale`: how does a runtime behave when its instances start on demand?

pub(crate) mod args;

use stampede_conduct::{Failure, Host, scale};
use stampede_plan::ScalePlan;

use crate::compare::conclude;
use crate::scale::args::ScaleArgs;
use crate::show::Report;
use crate::{Outcome, folders, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<ScaleArgs>, host: &dyn Host) -> Outcome {
    let ScaleArgs { flags, resume, backend, output, store, bench } = *args;
    let plan = ScalePlan::read(flags, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, report) = Failure::both(plan, Report::new(output))?;
    plan.warnings.iter().for_each(|warning| screen::warning(warning));
    let path = folders::store(&store)?;
    let (ended, mut record) = scale(bench.on(host), &plan, &resume.resume, backend.backend.chosen(), &path)?;
    conclude(ended, &report, &mut record, &path, host)
}
