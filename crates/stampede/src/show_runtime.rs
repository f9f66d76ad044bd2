//! `stampede show runtime`: which settings a runtime would have, why, and the files that it would be run with.

use stampede_core::{Availability, Bytes, PlanError, Programs, RenderContext};
use stampede_plan::{MachineSize, RuntimeFlags, RuntimePlan};
use stampede_report::runtime::{RuntimeView, files, settings};

use crate::args::ShowRuntimeArgs;
use crate::catalogue::BuiltIn;
use crate::exit::{Exit, Failure};
use crate::{Outcome, screen};

pub(crate) fn run(args: &ShowRuntimeArgs) -> Outcome {
    let ShowRuntimeArgs { runtime, workload, app, cpus, memory, load, set, render } = args.clone();
    let flags = RuntimeFlags { runtime, workload, app, cpus, memory, load, set };
    let size = MachineSize {
        cpus: stampede_platforms::machine().cpus,
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        // Nothing is opened.
        connections: u32::MAX,
    };
    let RuntimePlan { candidate, limits, load } = RuntimePlan::read(&flags, size, &BuiltIn).map_err(Failure::usage)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let mut programs = Programs::new();
    let mut missing = Vec::new();
    let needs =
        [candidate.runtime.requires(&candidate.app), candidate.runtime.requires_for(&candidate.tuning)].concat();
    for need in needs {
        match executor.block_on(stampede_platforms::detect(&need)) {
            Availability::Found(found) => {
                if let Some(key) = need.key() {
                    programs.insert(key.to_owned(), found);
                }
            }
            Availability::Missing { what, install } => missing.push(format!("needs {what}: {install}")),
        }
    }
    let state = if missing.is_empty() { candidate.runtime.version(&programs) } else { missing.join("\n") };
    let view = RuntimeView { candidate: &candidate, limits: &limits, load: &load, state: &state };
    let shown = settings(&view, screen::width());
    screen::print(&shown)?;
    if !render {
        return Ok(Exit::Done);
    }
    if !missing.is_empty() {
        return Err(Failure::missing(format!("cannot render {}: {}", candidate.id, missing.join("\n  "))));
    }
    let context = RenderContext {
        app: &candidate.app,
        limits: &limits,
        load: &load,
        tuning: &candidate.tuning,
        programs: &programs,
    };
    let deployment = candidate.runtime.deployment(&context).map_err(|error: PlanError| Failure::missing(error))?;
    screen::print(&files(&deployment))?;
    Ok(Exit::Done)
}
