//! `stampede scale`: how does a runtime behave when its instances start on demand?

pub(crate) mod args;

use stampede_conduct::{Failure, Host, scale};
use stampede_plan::ScalePlan;

use crate::scale::args::ScaleArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<ScaleArgs>, host: &dyn Host) -> Outcome {
    let ScaleArgs { flags, backend, study } = *args;
    let plan = ScalePlan::read(flags, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, place) = Failure::both(plan, study.on(host))?;
    plan.warnings.iter().for_each(|warning| screen::warning(warning));
    let (ended, mut record) = scale(place.bench, &plan, &place.resume, backend.backend.chosen(), &place.store)?;
    place.conclude(ended, &mut record)
}
