//! hey, ab and wrk: their command lines, driven as those tools would.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use stampede_conduct::{Bench, Exit, Failure, Host};
use stampede_core::Endpoint;
use stampede_load::RedirectRules;
use stampede_mimic::{CommandLine, Layout, Surroundings, Tool, ToolFile, ToolOutcome, ToolRun};

use crate::address::{redirect_rules, targets};
use crate::here::{drive, lay_out};
use crate::samples::{SampleSink, Sampled};
use crate::tool_output::ToolOutput;
use crate::wrk;

/// Why there was no load, or no result, and what the tool ends with then.
#[derive(Debug)]
pub struct ToolFailure {
    /// The tool's exit code.
    pub code: u8,
    /// What is wrong, and what to do.
    pub message: String,
}

impl ToolFailure {
    fn of(tool: Tool) -> impl Fn(Failure) -> Self {
        move |Failure { exit, message }| {
            let code = if exit == Exit::Usage { tool.refusal() } else { tool.failure() };
            Self { code, message }
        }
    }

    /// There is no place that requests could go to.
    fn of_target(tool: Tool) -> impl Fn(Failure) -> Self {
        move |Failure { exit, message }| {
            let code = if exit == Exit::Usage { tool.refusal() } else { tool.unknown_host() };
            Self { code, message }
        }
    }
}

/// Does what the tool would do with a command line without its name, and returns the exit code that the tool would end with.
///
/// # Errors
///
/// When the command line has mistakes, or the load cannot be driven.
pub fn drive_tool(tool: Tool, args: &[String], host: &dyn Host, output: &dyn ToolOutput) -> Result<u8, ToolFailure> {
    let surroundings = Surroundings { machine: host.size(), read_file: &|path| fs::read(path) };
    let (run, layout) = match CommandLine::read(tool, args, surroundings) {
        Err(misuse) => return Err(ToolFailure { code: misuse.exit_code, message: misuse.to_string() }),
        Ok(CommandLine::Help(text, code)) => {
            output.print(&text).map_err(ToolFailure::of(tool))?;
            return Ok(code);
        }
        Ok(CommandLine::Run(run, layout)) => (*run, layout),
    };
    let proxy: Vec<_> = run.extras.proxy.iter().cloned().collect();
    let targets = targets(&run.url, &proxy, run.allow_remote).map_err(ToolFailure::of_target(tool))?;
    let driven = match tool {
        Tool::Wrk => wrk::run(run, layout, targets, host, output),
        Tool::Hey | Tool::Ab => measured(run, &layout, targets, host, output),
    };
    driven.map_err(ToolFailure::of(tool))
}

/// Drives the load of hey or ab.
fn measured(
    run: ToolRun,
    layout: &Layout,
    targets: Vec<Endpoint>,
    host: &dyn Host,
    output: &dyn ToolOutput,
) -> Result<u8, Failure> {
    for (option, path) in layout.paths() {
        output
            .writable(Path::new(path))
            .map_err(|error| Failure::usage(format!("{option} {path} cannot be written: {error}")))?;
    }
    let cpus = lay_out(&host.cpus(), run.threads);
    let bench = Bench { host, no_wait: false, quiet: run.quiet };
    let sink = run.extras.samples.map(|most| SampleSink::Memory { most });
    let follow = run
        .extras
        .follows_redirects
        .then(|| RedirectRules { by_proxy: run.extras.proxy.is_some(), ..redirect_rules(&run.url, run.allow_remote) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let (began, driven) = runtime.block_on(async {
        let backend = host.backend(None, &cpus, bench.quiet).await;
        let spec = run.spec(targets, cpus.generator, backend);
        (host.now().as_second(), drive(spec, bench, None, sink, follow).await)
    });
    let (result, interrupted, sampled) = driven?;
    let Sampled { kept: samples, count, failure: _ } = sampled.unwrap_or_default();
    if count.lost > 0 {
        bench.warning(&format!("{} requests are not among those that are written one by one", count.lost));
    }
    let outcome = ToolOutcome { result: &result, samples: &samples, began, time: &in_words };
    if layout.is_for_programs() {
        output.print(&layout.text(&outcome))?;
        host.notices().note(layout.note(&result).trim_end());
    } else {
        output.print(&layout.render(&result))?;
    }
    for ToolFile { path, text } in layout.files(&outcome) {
        output.put(Path::new(&path), &text)?;
    }
    Ok(layout.exit_code(&result, interrupted))
}

/// A time as C's `ctime` writes it, in UTC.
fn in_words(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |at| at.strftime("%a %b %e %H:%M:%S %Y").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_c_does() {
        // date -u -d @951782400 '+%a %b %e %H:%M:%S %Y'
        assert_eq!(in_words(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(in_words(i64::MAX), i64::MAX.to_string());
    }
}
