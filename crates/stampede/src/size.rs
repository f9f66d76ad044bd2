//! `stampede size`: which deployment is the cheapest that holds an objective under a load?

pub(crate) mod args;

use stampede_conduct::{Ended, Exit, Failure, Host, ServiceSizing, Sizing, service_size_outline, size_outline};
use stampede_plan::{ServiceSizePlan, SizePlan};
use stampede_report::terminal::fitted;

use crate::{Outcome, screen, size::args::SizeArgs};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(SizeArgs { flags, dry_run, study }: SizeArgs, host: &dyn Host) -> Outcome {
    if flags.autoscale {
        let plan = ServiceSizePlan::read(&flags, host.size(), &BuiltIn).map_err(Failure::usage);
        let (plan, place) = Failure::both(plan, study.on(host))?;
        if dry_run.dry_run {
            return screen::print(&fitted(&service_size_outline(&plan), screen::width())).map(|()| Exit::Done);
        }
        let mut sizing = ServiceSizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
        return match sizing.carry_out()?? {
            Ended::Complete => stampede_answers::service_size(&sizing, &|answer| place.report.put(answer)),
            Ended::Interrupted => Ok(screen::interrupted(sizing.id())),
        };
    }
    let plan = SizePlan::read(&flags, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, place) = Failure::both(plan, study.on(host))?;
    if dry_run.dry_run {
        return screen::print(&fitted(&size_outline(&plan), screen::width())).map(|()| Exit::Done);
    }
    let mut sizing = Sizing::begin(place.bench, plan, place.store, place.resume.as_ref())?;
    match sizing.carry_out()?? {
        Ended::Complete => stampede_answers::size(&sizing, &|answer| place.report.put(answer)),
        Ended::Interrupted => Ok(screen::interrupted(sizing.id())),
    }
}
