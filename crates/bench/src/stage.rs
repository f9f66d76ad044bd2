//! Where everything runs: two processors, a folder, and the programs.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tempfile::TempDir;

use crate::compare;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::process::{Finished, Process};
use crate::progress;
use crate::tool;

/// How long a program may take for one request or for its version.
const SHORT: Duration = Duration::from_secs(20);

/// Where everything runs.
#[derive(Debug)]
pub(crate) struct Stage {
    /// This program.
    pub(crate) bench: PathBuf,
    /// The program under test.
    pub(crate) stampede: PathBuf,
    pub(crate) server_cpu: usize,
    pub(crate) client_cpu: usize,
    /// Processors that may be used.
    pub(crate) cpus: usize,
    /// Removed at the end.
    pub(crate) folder: TempDir,
    pub(crate) interruption: Interruption,
    pub(crate) rounds: u32,
    pub(crate) duration: Duration,
}

impl Stage {
    /// Puts servers, and this process, on the first processor that may be used, and clients on the last: `stampede load`
    /// does so itself, and on machines with two threads a core these two are seldom of one core.
    pub(crate) fn new(named: Option<PathBuf>, rounds: u32, duration: Duration) -> Result<Self, Failure> {
        let prepare = |errno: rustix::io::Errno| Failure::Prepare(errno.into());
        let allowed = sched_getaffinity(None).map_err(prepare)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let (Some(server_cpu), Some(client_cpu), 2..) = (cpus.first(), cpus.last(), cpus.len()) else {
            return Err(Failure::Processors(cpus.len()));
        };
        let mut own = CpuSet::new();
        own.set(*server_cpu);
        sched_setaffinity(None, &own).map_err(prepare)?;
        raise_open_files();
        let bench = env::current_exe().map_err(Failure::Prepare)?;
        let stampede = compare::program(named)?;
        Ok(Self {
            stampede: stampede.canonicalize().map_err(Failure::Prepare)?,
            bench,
            server_cpu: *server_cpu,
            client_cpu: *client_cpu,
            cpus: cpus.len(),
            folder: tempfile::Builder::new().prefix("stampede-bench-").tempdir().map_err(Failure::Prepare)?,
            interruption: Interruption::watch().map_err(Failure::Prepare)?,
            rounds,
            duration,
        })
    }

    /// Runs a program on the clients' processor for a moment.
    pub(crate) fn try_out(&self, name: &'static str, command: Command) -> Result<Finished, Failure> {
        Ok(Process::run(name, command, self.client_cpu, SHORT, &self.interruption, |_| Ok(()))?)
    }

    /// A command line's program with its arguments: this program and the one under test by their own paths, others as they
    /// are found.
    pub(crate) fn command(&self, line: &[String]) -> Command {
        let (program, arguments) = line.split_first().map_or(("", line), |(program, rest)| (program.as_str(), rest));
        let mut command = Command::new(match program {
            "stampede-bench" => self.bench.clone(),
            "stampede" => self.stampede.clone(),
            other => tool::find(other).unwrap_or_else(|| PathBuf::from(other)),
        });
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Says on stderr how far it is.
    pub(crate) fn tell(&self, line: &str) {
        progress::tell(line);
    }
}

/// Clients and servers inherit it. What the hard limit does not allow shows when they need it.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
