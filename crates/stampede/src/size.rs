//! `stampede size`: which deployment is the cheapest that holds an objective under a load?

pub(crate) mod args;

use stampede_conduct::{Ended, Exit, Failure, Host, ServiceSizing, Sizing};
use stampede_plan::{ServiceSizePlan, SizePlan};

use crate::size::args::SizeArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: SizeArgs, host: &dyn Host) -> Outcome {
    let SizeArgs { flags, study } = args;
    if flags.autoscale {
        let plan = ServiceSizePlan::read(&flags, host.size(), &BuiltIn);
        let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
        let mut sizing = ServiceSizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
        let ended = sizing.carry_out()??;
        return ended_by(ended, sizing.id(), || {
            stampede_answers::service_size(&sizing, &|answer| place.report.put(answer))
        });
    }
    let plan = SizePlan::read(&flags, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let mut sizing = Sizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
    let ended = sizing.carry_out()??;
    ended_by(ended, sizing.id(), || stampede_answers::size(&sizing, &|answer| place.report.put(answer)))
}

fn ended_by(ended: Ended, id: &str, report: impl FnOnce() -> Outcome) -> Outcome {
    match ended {
        Ended::Complete => report(),
        Ended::Interrupted => {
            screen::interrupted(id);
            Ok(Exit::Interrupted)
        }
    }
}
