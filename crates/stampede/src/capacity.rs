//! `stampede capacity`: how many requests a second can a runtime take before its answers are no longer what they must be?

use stampede_analysis::{Found, capacity, least_capacity_time};
use stampede_conduct::{Bench, Deciding, Exit, Failure, Host, StudyRequest, exit_of};
use stampede_core::{Failures, Study, StudyKind, Trial};
use stampede_plan::{CompareFlags, SubjectFlag, read_capacity};

use crate::args::CapacityArgs;
use crate::catalogue::BuiltIn;
use crate::compare::{conclude, topology_flags};
use crate::show::Report;
use crate::{Outcome, folders};

pub(crate) fn run(args: Box<CapacityArgs>, host: &dyn Host) -> Outcome {
    let CapacityArgs {
        runtime,
        subject,
        slo,
        app,
        exchanges,
        php,
        set,
        cpus,
        memory,
        duration,
        warm_up,
        max_time,
        seed,
        ready_timeout,
        backend,
        no_sampling,
        resume,
        no_wait,
        topology,
        output,
        store,
        quiet,
    } = *args;
    let flags = CompareFlags {
        subject: subject.map_or(SubjectFlag::Nothing, SubjectFlag::Named),
        app,
        exchanges,
        php,
        cpus,
        memory,
        duration,
        warm_up,
        max_time,
        seed,
        ready_timeout,
        set,
        no_sampling,
        slo,
        topology: topology_flags(topology),
        ..CompareFlags::default()
    };
    let plan = read_capacity(&runtime, &flags, least_capacity_time, host.size(), &BuiltIn);
    let (plan, report) = Failure::both(plan.map_err(Failure::usage), Report::new(output))?;
    let request = StudyRequest {
        plan: &plan,
        beside: &[],
        id: None,
        kind: StudyKind::Capacity,
        deciding: Deciding::Metric(None),
        slo: plan.slo.clone(),
        failures: Failures::Faults,
        resume,
        backend: backend.chosen(),
    };
    let path = folders::store(&store)?;
    let (ended, mut record) = stampede_conduct::capacity(Bench { host, no_wait, quiet }, &path, &request)?;
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
