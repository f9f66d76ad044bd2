//! What a runtime asks a platform to run: a graph of units with symbolic addresses.
//!
//! A runtime picks no port and no folder. Its files, arguments and environment name places as `@{run}` (the run's
//! folder), `@{app}` (the copy of the application), `@{NAME}` (an address as `127.0.0.1:20001` or `/run/x.sock`),
//! `@{NAME.host}` and `@{NAME.port}`; the platform puts the real ones in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::{AddressId, Container, MakersImage, PhpAsked, StatusSource, UnitId};

/// A graph of units behind one front address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Addresses that the platform must bind to real ones.
    pub addresses: Vec<Address>,
    /// The address that takes the load.
    pub front: AddressId,
    /// The application's folder, copied into the run.
    pub app: PathBuf,
    /// The container that it is, where it is one of an image of its own: its one unit is then the container's first process.
    pub container: Option<Container>,
    /// The image of its runtime's makers, in which a platform of containers may run it.
    pub image: Option<MakersImage>,
    /// What is done to the copy of the application before anything is started.
    pub preparation: Option<Preparation>,
    /// How PHP is asked for the settings in force.
    pub probe: Option<PhpProbe>,
    /// Units in the order of their start; they are stopped in reverse.
    pub units: Vec<Unit>,
}

/// What is done to the copy of an application before anything is started, as its user and under the deployment's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Texts that are replaced in the copy of the application, before anything else.
    pub replacements: Vec<Replacement>,
    /// Files that are written into the run's folder.
    pub files: Vec<RunFile>,
    /// Folders that the application writes to, relative to the run's folder; made where they are not there.
    pub folders: Vec<PathBuf>,
    /// Run to their end, one after the other; when one fails, so does the launch.
    pub programs: Vec<Program>,
}

/// A text in a file of an application that is replaced in its copy: an address on which it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The file, relative to the application's folder.
    pub file: PathBuf,
    /// The text, which must be there; every occurrence is replaced.
    pub text: String,
    /// What stands in its place; may name places.
    pub with: String,
}

/// How PHP is asked for the settings in force, apart from the application and outside what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpProbe {
    /// Files that are written into the run's folder; their paths may name places.
    pub files: Vec<RunFile>,
    /// What they must be.
    pub asked: PhpAsked,
    /// Who answers.
    pub source: PhpProbeSource,
}

/// Who tells the settings in force. The answer is a [`PhpReadBack`](crate::PhpReadBack) as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhpProbeSource {
    /// A request to this path of an address that takes no load.
    Page {
        /// The address.
        address: AddressId,
        /// The path.
        path: String,
    },
    /// A file that each process of the pool writes when it starts; names places.
    File(String),
}

/// A symbolic address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its name in `@{...}`.
    pub id: AddressId,
    /// What it becomes.
    pub kind: AddressKind,
}

/// What a symbolic address becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// A free TCP port on a private address.
    Tcp,
    /// A unix socket in the run's folder.
    UnixSocket,
}

/// One process with its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub id: UnitId,
    /// What is built before the start, outside the limits.
    pub build: Option<BuildStep>,
    /// Files that are written into the run's folder.
    pub files: Vec<RunFile>,
    /// Empty folders that the unit's user may write to, relative to the run's folder.
    pub folders: Vec<PathBuf>,
    /// The program's own check of its configuration, run before the start.
    pub check: Option<Program>,
    /// What is run, in the foreground.
    pub program: Program,
    /// Log files beside its standard output, relative to the run's folder, or below `@{app}` those of the application, where `DATE` in a
    /// name stands for a date and `*` for anything.
    pub logs: Vec<PathBuf>,
    /// Where it, or what it runs, tells how it is doing.
    pub statuses: Vec<StatusSource>,
    /// When the next unit may be started.
    pub ready: Ready,
    /// How it is stopped.
    pub stop: GracefulStop,
}

impl Unit {
    /// A unit that writes nothing, tells nothing and has started when the first request is answered.
    pub fn new(id: impl Into<String>, program: Program, stop: GracefulStop) -> Self {
        Self {
            id: UnitId::new(id),
            build: None,
            files: Vec::new(),
            folders: Vec::new(),
            check: None,
            program,
            logs: Vec::new(),
            statuses: Vec::new(),
            ready: Ready::Request,
            stop,
        }
    }
}

/// A program with its arguments and environment. The environment is complete: nothing is inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program's path; may name places.
    pub path: String,
    /// Arguments after the program's name; may name places.
    pub args: Vec<String>,
    /// Environment; values may name places.
    pub env: BTreeMap<String, String>,
}

impl Program {
    /// A program with these arguments.
    pub fn new(path: impl Into<String>, args: &[&str], env: BTreeMap<String, String>) -> Self {
        Self { path: path.into(), args: args.iter().map(|arg| (*arg).to_owned()).collect(), env }
    }
}

/// A file of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// Relative to the run's folder.
    pub path: PathBuf,
    /// Its text; may name places.
    pub text: String,
}

/// Something that is made before a unit starts: a program from the application's folder, or a folder of its own. The result
/// is kept, by all that went into it, and put at `output`. Unlike other programs a builder inherits the caller's environment (home, proxies, caches), under
/// what its own says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildStep {
    /// What is run, in the application's folder or, where there are files, in theirs; `@{output}` is the file to write.
    pub program: Program,
    /// Files that the build needs beside the application, `@{app}`; they get a folder of their own.
    pub files: Vec<RunFile>,
    /// Where the result is put, relative to the run's folder.
    pub output: PathBuf,
    /// What the result is.
    pub makes: Makes,
    /// The builder's version; a part of the key under which the result is kept.
    pub toolchain: String,
}

/// What a build step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// A program, from the application's folder, as the user who started Stampede.
    Program,
    /// A folder that the unit writes to, such as an empty database, from nothing of the application and as the units'
    /// user: it is handed to each run as a copy.
    Folder,
}

/// When a unit counts as started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// When something listens on the address.
    Port(AddressId),
    /// When a real request through the front is answered; the harness sends it.
    Request,
    /// When a program ends with status 0; it is run again and again, outside the limits.
    Program(Program),
}

/// The signals that servers use to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Term,
    /// SIGQUIT.
    Quit,
    /// SIGINT.
    Int,
    /// SIGWINCH.
    Winch,
    /// SIGUSR1.
    Usr1,
}

impl StopSignal {
    /// Its name without `SIG`, as `kill` and supervisors take it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Quit => "QUIT",
            Self::Int => "INT",
            Self::Winch => "WINCH",
            Self::Usr1 => "USR1",
        }
    }
}

/// How a unit is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GracefulStop {
    /// The signal that asks for a graceful stop.
    pub signal: StopSignal,
    /// How long it may take; after that the unit is killed, and that is recorded.
    pub grace: Duration,
}

/// The real places behind a deployment's symbolic ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, String>);

impl Places {
    /// No places.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a name its place.
    pub fn insert(&mut self, name: impl Into<String>, place: impl Into<String>) {
        self.0.insert(name.into(), place.into());
    }

    /// Replaces every `@{name}` in a text.
    ///
    /// # Errors
    ///
    /// When a name has no place, or a brace is not closed.
    pub fn resolve(&self, text: &str) -> Result<String, UnknownPlace> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("@{") {
            let (name, after) = after.split_once('}').ok_or_else(|| UnknownPlace(after.to_owned()))?;
            let place = self.0.get(name).ok_or_else(|| UnknownPlace(name.to_owned()))?;
            resolved.push_str(before);
            resolved.push_str(place);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved)
    }
}

/// A text names a place that the deployment does not have.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("resolve @{{{0}}}: the deployment has no such place")]
pub struct UnknownPlace(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_put_in_and_unknown_ones_refused() {
        let mut places = Places::new();
        places.insert("run", "/r");
        places.insert("front.port", "20001");
        assert_eq!(places.resolve("a @{run}/x:@{front.port} $b {c}"), Ok("a /r/x:20001 $b {c}".to_owned()));
        assert_eq!(places.resolve("@{fpm}"), Err(UnknownPlace("fpm".to_owned())));
        assert_eq!(places.resolve("@{run"), Err(UnknownPlace("run".to_owned())));
    }
}
