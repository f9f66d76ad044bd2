//! The yard-stick: a fixed server, a part of Stampede's own program, that tells how fast the machine is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stampede_core::{BuildStep, Deployment, GracefulStop, Makes, Program, StopSignal, Unit};

use crate::front;

const ID: &str = "yard-stick";
const PROGRAM: &str = "yard-stick/stampede";

/// The deployment of the yard-stick: `program`, of this `version`, run with `args` and the address to listen on. It is copied,
/// since units run as a user who may not get to where it is installed. `app` is a folder with nothing in it.
pub fn yard_stick(program: &Path, version: &str, args: &[&str], app: &Path) -> Deployment {
    let build = BuildStep {
        program: Program::new("cp", &[&program.display().to_string(), "@{output}"], BTreeMap::new()),
        files: Vec::new(),
        output: PathBuf::from(PROGRAM),
        makes: Makes::Program,
        toolchain: version.to_owned(),
    };
    let program = Program::new(format!("@{{run}}/{PROGRAM}"), &[args, &["@{front}"]].concat(), BTreeMap::new());
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    front::deployment(app, vec![Unit { build: Some(build), ..Unit::new(ID, program, stop) }])
}
