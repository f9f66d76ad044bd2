//! `stampede size`: which deployment is the cheapest that holds an objective under a load?

pub(crate) mod args;

use stampede_conduct::{Ended, Exit, Failure, Host, Sizing};
use stampede_plan::SizePlan;

use crate::size::args::SizeArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: SizeArgs, host: &dyn Host) -> Outcome {
    let SizeArgs { flags, study } = args;
    let plan = SizePlan::read(&flags, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let mut sizing = Sizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
    let ended = sizing.carry_out()?;
    match ended? {
        Ended::Complete => stampede_answers::size(&sizing, &|answer| place.report.put(answer)),
        Ended::Interrupted => {
            screen::interrupted(sizing.id());
            Ok(Exit::Interrupted)
        }
    }
}
