//! Several programs under one supervisord, as container images that hold a web server and PHP-FPM run them.
//! <https://supervisord.org/configuration.html>

use std::path::PathBuf;
use std::time::Duration;

use minijinja::{Value, context};
use stampede_core::{GracefulStop, PlanError, Program, Requirement, RunFile, StopSignal, Unit};

use crate::lookup::Lookup;
use crate::service;
use crate::template::{Template, template};

/// The name under which it is looked up, and of its unit.
pub(crate) const SUPERVISORD: &str = "supervisord";

const CONF: Template = template!("nginx-fpm/supervisord.conf.j2");

/// What supervisord itself takes beside its programs when it stops.
const OWN_TIME: Duration = Duration::from_secs(2);

pub(crate) fn requirement() -> Requirement {
    // It prints nothing but its version.
    service::needs(&[SUPERVISORD], "", "supervisor", "https://supervisord.org/installing.html")
}

/// One unit that runs others, in the order of their start. All get the environment of each.
pub(crate) fn over(units: Vec<Unit>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let programs: Vec<Value> = units
        .iter()
        .map(|unit| {
            let command = words(&unit.program, double_quoted).join(" ").replace('%', "%%");
            let grace_seconds = unit.stop.grace.as_secs();
            context! { name => unit.id.as_str(), command, signal => unit.stop.signal.name(), grace_seconds }
        })
        .collect();
    let mut file = RunFile { path: PathBuf::from("supervisord/supervisord.conf"), text: String::new() };
    file.text = CONF.fill(context! { programs })?;
    let checks: Vec<String> = units
        .iter()
        .filter_map(|unit| unit.check.as_ref())
        .map(|check| words(check, single_quoted).join(" "))
        .collect();
    let env: std::collections::BTreeMap<String, String> =
        units.iter().flat_map(|unit| unit.program.env.clone()).collect();
    let logs = units.iter().map(|unit| PathBuf::from(format!("supervisord/{}.log", unit.id)));
    let grace = units.iter().map(|unit| unit.stop.grace).sum::<Duration>() + OWN_TIME;
    let args = ["-n", "-c", "@{run}/supervisord/supervisord.conf"];
    let program = Program::new(lookup.path(SUPERVISORD)?, &args, env.clone());
    Ok(Unit {
        files: units.iter().flat_map(|unit| unit.files.clone()).chain([file]).collect(),
        folders: units.iter().flat_map(|unit| unit.folders.clone()).chain([PathBuf::from(SUPERVISORD)]).collect(),
        check: Some(Program::new("/bin/sh", &["-c", &checks.join(" && ")], env)),
        logs: units.iter().flat_map(|unit| unit.logs.clone()).chain(logs).collect(),
        statuses: units.iter().flat_map(|unit| unit.statuses.clone()).collect(),
        ..Unit::new(SUPERVISORD, program, GracefulStop { signal: StopSignal::Term, grace })
    })
}

fn words(program: &Program, quoted: fn(&str) -> String) -> Vec<String> {
    std::iter::once(&program.path).chain(&program.args).map(|word| quoted(word)).collect()
}

/// A word for a shell.
fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word of a `command`, which Python's `shlex` splits.
fn double_quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
