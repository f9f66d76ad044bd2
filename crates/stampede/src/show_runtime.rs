//! `stampede show runtime`: which settings a runtime would have, why, and the files that it would be run with.

pub(crate) mod args;

use stampede_plan::RuntimePlan;
use stampede_report::runtime::{RuntimeView, files, settings};

use crate::exit::{Exit, Failure};
use crate::show_runtime::args::ShowRuntimeArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: &ShowRuntimeArgs) -> Outcome {
    let ShowRuntimeArgs { flags, render } = args;
    let plan = RuntimePlan::read(flags, stampede_machine::size_at_rest(), &BuiltIn).map_err(Failure::usage)?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let (state, deployment) = executor.block_on(stampede_machine::rendered(&plan));
    let RuntimePlan { candidate, limits, topology, load } = &plan;
    let view = RuntimeView { candidate, limits, topology, load, state: &state };
    screen::print(&settings(&view, screen::width()))?;
    if *render {
        screen::print(&files(&deployment?))?;
    }
    Ok(Exit::Done)
}
