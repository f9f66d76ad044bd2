//! One runtime: its settings with their reasons, and the files that it would be run with.

use std::fmt::Write;

use stampede_core::{
    AppKind, Candidate, CaseRole, CommandValues, Deployment, Limits, Load, Origin, ProcessModel, Program, Topology,
    TunableKind,
};

use crate::layout::wrap;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeView<'a> {
    /// The runtime with its settings.
    pub candidate: &'a Candidate,
    /// Under which limits for the whole.
    pub limits: &'a Limits,
    /// What stands around it.
    pub topology: &'a Topology,
    /// For which load.
    pub load: &'a Load,
    /// Its version, or what is missing and how to get it, a line each.
    pub state: &'a str,
}

/// Each setting with what it does, its value, why it has it, and where the manual explains it.
pub fn settings(view: &RuntimeView<'_>, width: usize) -> String {
    let RuntimeView { candidate, limits, topology, load, state } = view;
    let Candidate { id: _, runtime, role, app, php: _, tuning } = candidate;
    let model = match runtime.process_model() {
        ProcessModel::ProcessPerRequest => "the application starts afresh for each request",
        ProcessModel::LongLivedWorkers => "the application is started once, a worker answers one request at a time",
        ProcessModel::EventLoop => "the application is started once and answers many requests at the same time",
    };
    let mut text = format!("{}: {}\n", runtime.id(), runtime.title());
    let role = match role {
        CaseRole::Candidate => None,
        CaseRole::Reference => Some("a reference: it shows what is possible, and is never recommended"),
        CaseRole::NotForProduction => Some("not for production: it is never recommended"),
    };
    for line in state.lines().chain([model]).chain(role) {
        writeln_wrapped(&mut text, "  ", line, 2, width);
    }
    for line in runtime.status() {
        writeln_wrapped(&mut text, "  status: ", line, 10, width);
    }
    if runtime.status().is_empty() {
        writeln_wrapped(&mut text, "  status: ", "it reports none; the kernel's counters are sampled", 10, width);
    }
    let own = topology.replica_limits(limits);
    let of_all = if topology.is_single() {
        String::new()
    } else {
        writeln_wrapped(&mut text, "  topology: ", &topology.to_string(), 12, width);
        format!(" of {} CPUs, {}", limits.cpus, limits.memory)
    };
    let heading = format!("settings for {} CPUs, {}{of_all} and {load}:", own.cpus, own.memory);
    let _ = writeln!(text, "\n{heading}");
    for tunable in runtime.tunables() {
        let Some(setting) = tuning.iter().find(|(name, _)| *name == tunable.name).map(|(_, setting)| setting) else {
            let _ = writeln!(text, "\n{} (not in this mode)", tunable.name);
            writeln_wrapped(&mut text, "    ", tunable.summary, 4, width);
            continue;
        };
        let values = match tunable.kind {
            TunableKind::Count { min, max } => format!("{min} to {max}"),
            TunableKind::Choice(words) => words.join(", "),
        };
        let _ = writeln!(text, "\n{} = {}", tunable.name, setting.value);
        writeln_wrapped(&mut text, "    ", &format!("{} ({values})", tunable.summary), 4, width);
        writeln_wrapped(&mut text, "    ", &reason(&setting.origin), 4, width);
        let _ = writeln!(text, "    {}", tunable.manual);
    }
    if let AppKind::Command(command) = &app.kind {
        for own in &command.tunables {
            let Some((_, setting)) = tuning.iter().find(|(name, _)| *name == own.name) else { continue };
            let values = match &own.values {
                CommandValues::Count { min, max } => format!("{min} to {max}"),
                CommandValues::Choice(words) => words.join(", "),
            };
            let _ = writeln!(text, "\n{} = {}", own.name, setting.value);
            writeln_wrapped(&mut text, "    ", &format!("an environment variable of the command ({values})"), 4, width);
            writeln_wrapped(&mut text, "    ", &reason(&setting.origin), 4, width);
        }
    }
    text
}

fn reason(origin: &Origin) -> String {
    match origin {
        Origin::Default { reason } => format!("because: {reason}"),
        Origin::Given => "given".to_owned(),
    }
}

/// The files, arguments and environment of each unit, with the places that the platform fills in as `@{...}`.
pub fn files(deployment: &Deployment) -> String {
    let mut text = String::new();
    if let Some(preparation) = &deployment.preparation {
        let _ = writeln!(text, "\n=== before the start");
        for program in &preparation.programs {
            write_program(&mut text, "run", program);
        }
        for file in &preparation.files {
            let _ = write!(text, "--- {}\n{}", file.path.display(), file.text);
        }
    }
    for unit in &deployment.units {
        let _ = writeln!(text, "\n=== {}", unit.id);
        if let Some(build) = &unit.build {
            write_program(&mut text, "build", &build.program);
            for file in &build.files {
                let _ = write!(text, "--- {}\n{}", file.path.display(), file.text);
            }
        }
        write_program(&mut text, "run", &unit.program);
        for file in &unit.files {
            let _ = write!(text, "--- {}\n{}", file.path.display(), file.text);
        }
    }
    text
}

fn write_program(text: &mut String, what: &str, program: &Program) {
    let Program { path, args, env } = program;
    let _ = writeln!(text, "{what}: {path} {}", args.join(" "));
    for (name, value) in env {
        let _ = writeln!(text, "    {name}={value}");
    }
}

fn writeln_wrapped(text: &mut String, first: &str, words: &str, hang: usize, width: usize) {
    for line in wrap(first, words, hang, width) {
        let _ = writeln!(text, "{line}");
    }
}
