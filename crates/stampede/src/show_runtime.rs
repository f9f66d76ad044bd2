//! `stampede show runtime`: which settings a runtime would have, why, and the files that it would be run with.

pub(crate) mod args;

use std::collections::BTreeMap;

use stampede_core::{Bytes, Candidate, ComposeContext, Composer as _, Requirement};
use stampede_plan::{MachineSize, RuntimePlan};
use stampede_platforms::DetectedNeeds;
use stampede_report::runtime::{RuntimeView, files, settings};
use stampede_runtimes::Topologies;

use crate::exit::{Exit, Failure};
use crate::show_runtime::args::ShowRuntimeArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: &ShowRuntimeArgs) -> Outcome {
    let ShowRuntimeArgs { flags, render } = args;
    let size = MachineSize {
        cpus: stampede_platforms::machine().cpus,
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        // Nothing is opened.
        connections: u32::MAX,
    };
    let plan = RuntimePlan::read(flags, size, &BuiltIn).map_err(Failure::usage)?;
    let RuntimePlan { candidate, limits, topology, load } = &plan;
    let Candidate { runtime, app, tuning, .. } = candidate;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let find = |needs: Vec<Requirement>| executor.block_on(DetectedNeeds::here(&needs));
    let DetectedNeeds { programs, missing, .. } =
        find([runtime.requires(app), runtime.requires_for(app, tuning)].concat());
    let DetectedNeeds { programs: beside, missing: also, .. } = find(Topologies.requires(topology));
    let missing = [missing, also].concat();
    let state = if missing.is_empty() { runtime.version(&programs) } else { missing.join("\n") };
    let shown = settings(&RuntimeView { candidate, limits, topology, load, state: &state }, screen::width());
    screen::print(&shown)?;
    if !render {
        return Ok(Exit::Done);
    }
    if !missing.is_empty() {
        return Err(Failure::missing(format!("cannot render {}: {}", candidate.id, missing.join("\n  "))));
    }
    let certificate = topology.has_tls().then(stampede_platforms::self_made).transpose().map_err(Failure::missing)?;
    // What services hold is the workload's and no file of a runtime.
    let init = BTreeMap::new();
    let context =
        ComposeContext { topology, limits, load, programs: &beside, certificate: certificate.as_ref(), init: &init };
    let deployment = Topologies.deployment(candidate, &programs, &context).map_err(Failure::missing)?;
    screen::print(&files(&deployment))?;
    Ok(Exit::Done)
}
