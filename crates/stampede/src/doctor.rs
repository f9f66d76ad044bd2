//! `stampede doctor`: is this machine fit to measure?

pub(crate) mod args;

use std::error::Error;
use std::io;
use std::path::Path;

use stampede_machine::{raise_open_files, writable};
use stampede_platforms::{docker, doctor, scope};
use stampede_report::doctor as report;
use stampede_store::Store;

use self::args::DoctorArgs;
use crate::destination::{is_stdout, put};
use crate::exit::{Exit, Failure};
use crate::{Outcome, list, screen};
use stampede_conduct::Host;

pub(crate) fn run(args: &DoctorArgs, host: &dyn Host) -> Outcome {
    let DoctorArgs { json, store } = args;
    if let Some(path) = json.as_deref().filter(|path| !is_stdout(path)) {
        writable(path)
            .map_err(|error| Failure::usage(format!("--json {} cannot be written: {error}", path.display())))?;
    }
    // What it fails for is found again, with advice.
    let _ = scope::enter(Path::new("/"));
    raise_open_files();
    let machine = host.machine();
    let mut findings = doctor::examine();
    findings.push(docker::examine());
    findings.push(report::runtimes(&list::installed()?));
    let known =
        Store::open_existing(&store.file()?).and_then(|store| stampede_conduct::calibrations_of(&store, &machine));
    findings.push(report::calibrated(known.as_deref().map_err(|error| error as &dyn Error)));
    if let Some(path) = json {
        put(path, &report::json(&machine, &findings))?;
    }
    if !json.as_deref().is_some_and(is_stdout) {
        screen::print(&report::terminal(&machine, &findings, screen::width(), screen::colour_on(&io::stdout())))?;
    }
    Ok(if report::is_fit(&findings) { Exit::Done } else { Exit::Missing })
}

/// Says in a line whether this machine can measure, to a person who measures with this store for the first time.
pub(crate) fn introduce(store: &Path, quiet: bool) {
    if quiet || store.exists() || !screen::is_terminal(&io::stderr()) {
        return;
    }
    // As in `run`.
    let _ = scope::enter(Path::new("/"));
    raise_open_files();
    screen::note(&format!("{} More: stampede doctor", report::line(&doctor::examine())));
}
