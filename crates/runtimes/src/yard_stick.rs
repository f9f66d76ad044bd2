//! The yard-stick: a fixed server, a part of Stampede's own program, that tells how fast the machine is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stampede_core::{BuildStep, Deployment, GracefulStop, Makes, Program, Ready, StopSignal, Unit, UnitId};

use crate::front;

const ID: &str = "yard-stick";
const PROGRAM: &str = "yard-stick/stampede";

/// The deployment of the yard-stick: `program`, of this `version`, run with `args` and the address to listen on. It is copied,
/// since units run as a user who may not get to where it is installed. `app` is a folder with nothing in it.
pub fn yard_stick(program: &Path, version: &str, args: &[&str], app: &Path) -> Deployment {
    let build = BuildStep {
        program: Program {
            path: "cp".to_owned(),
            args: vec![program.display().to_string(), "@{output}".to_owned()],
            env: BTreeMap::new(),
        },
        files: Vec::new(),
        output: PathBuf::from(PROGRAM),
        makes: Makes::Program,
        toolchain: version.to_owned(),
    };
    let args = args.iter().map(|arg| (*arg).to_owned()).chain(["@{front}".to_owned()]);
    Deployment {
        addresses: vec![front::address()],
        front: front::id(),
        app: app.to_owned(),
        container: None,
        image: None,
        preparation: None,
        probe: None,
        units: vec![Unit {
            id: UnitId::new(ID),
            build: Some(build),
            files: Vec::new(),
            folders: Vec::new(),
            check: None,
            program: Program { path: format!("@{{run}}/{PROGRAM}"), args: args.collect(), env: BTreeMap::new() },
            logs: Vec::new(),
            statuses: Vec::new(),
            ready: Ready::Request,
            stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) },
        }],
    }
}
