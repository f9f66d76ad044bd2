//! `stampede hey`, `stampede ab`, `stampede wrk`: those tools' own options and layouts, on our load engine.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use stampede_conduct::{Bench, Host};
use stampede_core::Endpoint;
use stampede_drive::{SampleSink, Sampled, drive, lay_out, redirect_rules, targets};
use stampede_load::RedirectRules;
use stampede_mimic::{CommandLine, Layout, Surroundings, Tool, ToolFile, ToolOutcome, ToolRun};

use crate::backend::BackendChoice;
use crate::exit::{Exit, Failure};
use crate::{destination, screen, wrk};

/// Does what the tool would do, and ends as it would.
pub(crate) fn end(tool: Tool, args: &[String], host: &dyn Host) -> ExitCode {
    ExitCode::from(run(tool, args, host).unwrap_or_else(|Ending { code, message }| {
        message.lines().for_each(screen::error);
        code
    }))
}

/// Why there was no load, or no result, and what the tool ends with then.
pub(crate) struct Ending {
    code: u8,
    message: String,
}

impl Ending {
    pub(crate) fn of(tool: Tool) -> impl Fn(Failure) -> Self {
        move |Failure { exit, message }| {
            let code = if exit == Exit::Usage { tool.refusal() } else { tool.failure() };
            Self { code, message }
        }
    }

    /// There is no place that requests could go to.
    pub(crate) fn of_target(tool: Tool) -> impl Fn(Failure) -> Self {
        move |Failure { exit, message }| {
            let code = if exit == Exit::Usage { tool.refusal() } else { tool.unknown_host() };
            Self { code, message }
        }
    }
}

fn run(tool: Tool, args: &[String], host: &dyn Host) -> Result<u8, Ending> {
    let surroundings = Surroundings { machine: host.size(), read_file: &|path| fs::read(path) };
    let (run, layout) = match CommandLine::read(tool, args, surroundings) {
        Err(misuse) => return Err(Ending { code: misuse.exit_code, message: misuse.to_string() }),
        Ok(CommandLine::Help(text, code)) => {
            screen::print(&text).map_err(Ending::of(tool))?;
            return Ok(code);
        }
        Ok(CommandLine::Run(run, layout)) => (*run, layout),
    };
    let proxy: Vec<_> = run.extras.proxy.iter().cloned().collect();
    let targets = targets(&run.url, &proxy, run.allow_remote).map_err(Ending::of_target(tool))?;
    let driven =
        if tool == Tool::Wrk { wrk::run(run, layout, targets, host) } else { measured(run, &layout, targets, host) };
    driven.map_err(Ending::of(tool))
}

/// Drives the load of hey or ab.
fn measured(run: ToolRun, layout: &Layout, targets: Vec<Endpoint>, host: &dyn Host) -> Result<u8, Failure> {
    for (option, path) in layout.paths() {
        destination::writable(Path::new(path))
            .map_err(|error| Failure::usage(format!("{option} {path} cannot be written: {error}")))?;
    }
    let cpus = lay_out(&host.cpus(), run.threads);
    let quiet = run.quiet;
    let backend = BackendChoice::Auto.find(&cpus, quiet);
    let sink = run.extras.samples.map(|most| SampleSink::Memory { most });
    let follow = run
        .extras
        .follows_redirects
        .then(|| RedirectRules { by_proxy: run.extras.proxy.is_some(), ..redirect_rules(&run.url, run.allow_remote) });
    let spec = run.spec(targets, cpus.generator, backend);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let began = Timestamp::now().as_second();
    let bench = Bench { host, no_wait: false, quiet };
    let (result, interrupted, sampled) = runtime.block_on(drive(spec, bench, None, sink, follow))?;
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
    Ok(layout.exit_code(&result, interrupted))
}

/// A time as C's `ctime` writes it, in UTC.
fn in_words(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |at| at.strftime("%a %b %e %H:%M:%S %Y").to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use stampede_core::Bytes;
    use stampede_plan::{LoadPlan, MachineSize};

    use super::*;
    use crate::args::{Args, Asked};

    /// Each option that is not done, and what is not done of others.
    #[test]
    fn what_is_not_done_names_a_command_that_is_taken() {
        let machine = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };
        let surroundings = Surroundings { machine, read_file: &|_| Ok(b"abc".to_vec()) };
        for (tool, line) in [
            (Tool::Hey, "-x http://p:3128 -c 3 -z 5s -H X-A:b -a u:p https://h/a?b=c&d"),
            (Tool::Hey, "-x http://p:3128 -q 10 -m POST -D body.json -h2 -host other https://h/"),
            (Tool::Hey, "-x http://p:3128 -n 300 -disable-keepalive -disable-redirects -d it's https://h/"),
            (Tool::Ab, "-b 4096 -n 100 -c 10 -k http://h/"),
            (Tool::Ab, "-b 4096 -t 10 -i -H Host:x -C a=b -A u:p -B 127.0.0.2 http://h/"),
            (Tool::Ab, "-b 4096 -X p:3128 -u body -T a/b http://h/"),
            (Tool::Ab, "-v 2 -m DELETE -s 5 http://h/"),
            (Tool::Ab, "-X p:3128 -E cert.pem https://h/"),
            (Tool::Ab, "-f TLS1.1 -p body https://h/"),
            (Tool::Ab, "-f SSL3 https://h/"),
        ] {
            let args: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let said = CommandLine::read(tool, &args, surroundings).unwrap_err().to_string();
            let (_, command) = said.split_once("or without it: ").unwrap_or_else(|| panic!("{line}: {said}"));
            let words = shlex::split(command).unwrap();
            let parsed = Args::try_parse_from(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
            let Some(Asked::Load(load)) = parsed.command else { panic!("{command}") };
            LoadPlan::read(&load.flags, b"abc".to_vec(), machine).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
    }
}
