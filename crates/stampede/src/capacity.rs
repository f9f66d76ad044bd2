//! `stampede capacity`: how many requests a second can a runtime take before its answers are no longer what they must be?

pub(crate) mod args;

use stampede_analysis::least_capacity_time;
use stampede_conduct::{Failure, Host, StudyRequest};
use stampede_core::StudyKind;
use stampede_plan::read_capacity;

use crate::capacity::args::CapacityArgs;
use crate::{Outcome, doctor};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<CapacityArgs>, host: &dyn Host) -> Outcome {
    let CapacityArgs { flags, backend, study } = *args;
    let plan = read_capacity(flags, least_capacity_time, host.size(), &BuiltIn);
    let (plan, place) = Failure::both(plan.map_err(Failure::usage), study.on(host))?;
    let request = StudyRequest {
        slo: plan.slo.clone(),
        resume: place.resume.clone(),
        backend: backend.backend.chosen(),
        ..StudyRequest::of(&plan, StudyKind::Capacity)
    };
    doctor::introduce(&place.store, place.bench.quiet);
    let (ended, mut record) = stampede_conduct::capacity(place.bench, &place.store, &request)?;
    place.conclude(ended, &mut record)
}
