//! `stampede capacity`: how many requests a second can a runtime take before its answers are no longer what they must be?

use stampede_analysis::{Found, capacity, least_capacity_time};
use stampede_conduct::{Deciding, Exit, Failure, Host, StudyRequest, exit_of};
use stampede_core::{Failures, Study, StudyKind, Trial};
use stampede_plan::read_capacity;

use crate::args::CapacityArgs;
use crate::compare::conclude;
use crate::show::Report;
use crate::{Outcome, doctor, folders};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: Box<CapacityArgs>, host: &dyn Host) -> Outcome {
    let CapacityArgs { flags, backend, resume, output, store, bench } = *args;
    let plan = read_capacity(flags, least_capacity_time, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let request = StudyRequest {
        plan: &plan,
        beside: &[],
        id: None,
        kind: StudyKind::Capacity,
        deciding: Deciding::Metric(None),
        slo: plan.slo.clone(),
        failures: Failures::Faults,
        resume: resume.resume,
        backend: backend.backend.chosen(),
    };
    let path = folders::store(&store)?;
    doctor::introduce(&path, bench.quiet.quiet);
    let (ended, mut record) = stampede_conduct::capacity(bench.on(host), &path, &request)?;
    conclude(ended, &report, &mut record, &path, host)
}

/// How a study ends that asked for a capacity and came to its end.
pub(crate) fn exit(study: &Study, trials: &[Trial]) -> Exit {
    match capacity(study, trials).found {
        Some(Found::Rate { .. }) => Exit::Done,
        Some(Found::Nothing { .. }) => Exit::GateFailed,
        Some(Found::BeyondGenerator { .. }) => Exit::Invalid,
        None => exit_of(Some(study), trials),
    }
}
