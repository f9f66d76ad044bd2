//! `stampede hey`, `stampede ab`, `stampede wrk`: those tools' own options and layouts, on our load engine.

use std::fs;

use stampede_conduct::Host;
use stampede_mimic::{CommandLine, Surroundings, Tool};

use crate::backend::BackendChoice;
use crate::exit::{Exit, Failure};
use crate::{Outcome, load, screen, wrk};

pub(crate) fn run(tool: Tool, args: &[String], host: &dyn Host) -> Outcome {
    let surroundings = Surroundings { machine: host.size(), read_file: &|path| fs::read(path) };
    let (run, layout) = match CommandLine::read(tool, args, surroundings).map_err(Failure::usage)? {
        CommandLine::Help(text) => {
            screen::print(&text)?;
            return Ok(Exit::Done);
        }
        CommandLine::Run(run, layout) => (run, layout),
    };
    if tool == Tool::Wrk {
        return wrk::run(*run, layout, host);
    }
    let targets = load::targets(&run.url, &[], run.allow_remote)?;
    let cpus = load::lay_out(&host.cpus(), run.threads);
    let quiet = run.quiet;
    let backend = BackendChoice::Auto.find(&cpus, quiet);
    let spec = run.spec(targets, cpus.generator, backend);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let (result, interrupted) = runtime.block_on(load::drive(spec, quiet, None))?;
    screen::print(&layout.render(&result))?;
    Ok(load::exit_of(&result, interrupted))
}
