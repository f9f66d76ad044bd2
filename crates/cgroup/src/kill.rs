//! Ends every process of a group.

use std::collections::HashSet;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::FileError;
use crate::group::{Group, PAUSE, V1Folders};
use crate::kernel_file::write;

impl Group {
    /// Kills every process of the group, also those that are forked meanwhile, and returns when none is left. Reaping
    /// them is their parent's task.
    ///
    /// The kernel does it at once where it has `cgroup.kill` (5.14). Otherwise the group is frozen, so that no process
    /// can fork away, each process is killed, and the group is thawed; until it is empty.
    ///
    /// # Errors
    ///
    /// When processes are left at the deadline, or the kernel's files cannot be used.
    pub fn kill_all(&self, deadline: Instant) -> Result<(), KillError> {
        // A process that has used up its quota dies only when it gets CPU time again. Where this fails it takes longer.
        let _ = self.lift_quota();
        loop {
            let left = self.processes()?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(KillError::Left(left));
            }
            self.kill_once(&left)?;
            thread::sleep(PAUSE);
        }
    }

    fn kill_once(&self, processes: &HashSet<Pid>) -> Result<(), FileError> {
        let kill_each = || {
            for pid in processes {
                // One that has ended meanwhile is no failure.
                let _ = kill_process(*pid, Signal::KILL);
            }
        };
        if let Some(file) = self.kill_file() {
            write(&file, "1")?;
            // A process that was stopped on its way into the group's folders may not be in the one that tracks.
            kill_each();
        } else if let Some(freezer) = self.freezer() {
            let Freezer { file, frozen, thawed } = freezer;
            write(&file, frozen)?;
            kill_each();
            write(&file, thawed)?;
        } else {
            kill_each();
        }
        Ok(())
    }

    fn freezer(&self) -> Option<Freezer> {
        let freezer = match self {
            Self::V1(V1Folders { freezer, .. }) => {
                Freezer { file: freezer.as_deref()?.join("freezer.state"), frozen: "FROZEN", thawed: "THAWED" }
            }
            Self::V2 { dir } => Freezer { file: dir.join("cgroup.freeze"), frozen: "1", thawed: "0" },
        };
        Some(freezer).filter(|freezer| freezer.file.exists())
    }

    /// `cgroup.kill` of the group, or of the version 2 group that tracks it.
    fn kill_file(&self) -> Option<PathBuf> {
        let dir = match self {
            Self::V1(V1Folders { tracking, .. }) => tracking.as_deref()?,
            Self::V2 { dir } => dir,
        };
        Some(dir.join("cgroup.kill")).filter(|file| file.exists())
    }
}

/// How a group is frozen: [version 1](https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html),
/// [version 2](https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files).
struct Freezer {
    file: PathBuf,
    frozen: &'static str,
    thawed: &'static str,
}

/// Why a group could not be emptied.
#[derive(Debug, Error)]
pub enum KillError {
    /// Processes are left.
    #[error("kill the processes of a control group: {} are left at the deadline: {}", .0.len(), list(.0))]
    Left(HashSet<Pid>),
    /// A file of the kernel could not be used.
    #[error("kill the processes of a control group")]
    File(#[from] FileError),
}

fn list(pids: &HashSet<Pid>) -> String {
    let pids: Vec<String> = pids.iter().map(|pid| pid.as_raw_pid().to_string()).collect();
    pids.join(", ")
}
