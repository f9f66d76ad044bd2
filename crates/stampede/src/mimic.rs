//! `stampede hey`, `stampede ab`, `stampede wrk`: those tools' own options and layouts, on our load engine.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use stampede_conduct::{Bench, Host};
use stampede_drive::{SampleSink, Sampled, drive, exit_of, lay_out, targets};
use stampede_mimic::{CommandLine, Surroundings, Tool, ToolFile, ToolOutcome};

use crate::backend::BackendChoice;
use crate::exit::{Exit, Failure};
use crate::{Outcome, destination, screen, wrk};

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
    for (option, path) in layout.paths() {
        destination::writable(Path::new(path))
            .map_err(|error| Failure::usage(format!("{option} {path} cannot be written: {error}")))?;
    }
    let proxy: Vec<_> = run.extras.proxy.iter().cloned().collect();
    let targets = targets(&run.url, &proxy, run.allow_remote)?;
    let cpus = lay_out(&host.cpus(), run.threads);
    let quiet = run.quiet;
    let backend = BackendChoice::Auto.find(&cpus, quiet);
    let sink = run.extras.samples.map(|most| SampleSink::Memory { most });
    let spec = run.spec(targets, cpus.generator, backend);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let began = Timestamp::now().as_second();
    let (result, interrupted, sampled) =
        runtime.block_on(drive(spec, Bench { host, no_wait: false, quiet }, None, sink))?;
    let Sampled { kept: samples, count, failure: _ } = sampled.unwrap_or_default();
    if count.lost > 0 {
        screen::warning(&format!("{} requests are not among those that are written one by one", count.lost));
    }
    let outcome = ToolOutcome { result: &result, samples: &samples, began, time: &in_words };
    if layout.is_for_programs() {
        screen::print(&layout.text(&outcome))?;
        screen::note(layout.note(&result).trim_end());
    } else {
        screen::print(&layout.render(&result))?;
    }
    for ToolFile { path, text } in layout.files(&outcome) {
        destination::put_bytes(Path::new(&path), text.as_bytes())?;
    }
    Ok(exit_of(&result, interrupted))
}

/// A time as C's `ctime` writes it, in UTC.
fn in_words(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |at| at.strftime("%a %b %e %H:%M:%S %Y").to_string())
}
