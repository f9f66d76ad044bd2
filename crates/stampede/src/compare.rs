//! `stampede compare`: which runtime is fastest under these limits, and how sure are we?

pub(crate) mod args;

use stampede_conduct::{Deciding, Exit, Failure, Host, StudyRequest, carry_out, compare_with_open_part, read_metric};
use stampede_core::StudyKind;
use stampede_plan::{ComparePlan, PlatformChoice};

use crate::compare::args::CompareArgs;
use crate::{Outcome, doctor, list, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<CompareArgs>, host: &dyn Host) -> Outcome {
    let CompareArgs { flags, at, metric, dry_run, backend, study } = *args;
    let plan = ComparePlan::read_with_open_part(&flags, &at, host.size(), &BuiltIn).map_err(Failure::usage);
    let (plan, place) = Failure::both(plan, study.on(host))?;
    let metric = read_metric(metric.metric)?;
    if dry_run.dry_run {
        let is_here = plan.platform == PlatformChoice::Local;
        let lacking = if is_here { list::lacking(&plan.candidates)? } else { Vec::new() };
        return screen::print(&plan.outline(&lacking)).map(|()| Exit::Done);
    }
    let kind = if plan.calibrate { StudyKind::Calibrate } else { StudyKind::Compare };
    let request = StudyRequest {
        deciding: Deciding::InWindow(metric),
        slo: plan.slo.clone(),
        resume: place.resume.clone(),
        backend: backend.backend.chosen(),
        ..StudyRequest::of(&plan, kind)
    };
    doctor::introduce(&place.store, place.bench.quiet);
    let (ended, mut record) = match plan.at {
        Some(share) => compare_with_open_part(place.bench, &place.store, &request, share)?,
        None => carry_out(place.bench, &place.store, &request)?,
    };
    place.conclude(ended, &mut record)
}
