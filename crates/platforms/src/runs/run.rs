//! What must be ended and removed of one run, whoever does it: the warden, Stampede, or a later `clean`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use stampede_cgroup::{Group, KillError, RemoveError};
use thiserror::Error;

use super::process_table::session_members;
use crate::docker::engine::Containers;
use crate::docker::error::DockerError;

/// How long the end of a run may take once its processes are killed.
pub(crate) const END_TIME: Duration = Duration::from_secs(10);

/// How long to wait before something is looked at again.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// One run; the text of its lease. Leases outlive the version that wrote them: unknown fields are no mistake here and below,
/// and a field that comes later must be one that may be missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) lease: PathBuf,
    /// Its control group, where one can be used.
    pub(crate) group: Option<Group>,
    /// The session of its warden, once that is started. Without a control group the run's processes are known by it.
    pub(crate) session: Option<Session>,
    /// Its containers and networks, where it has such.
    pub(crate) containers: Option<Containers>,
}

/// A session is known by its leader's number as long as the machine is not started anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) leader: i32,
    pub(crate) boot: String,
}

impl Session {
    /// The session that a process leads since this start of the machine.
    pub(crate) fn led_by(leader: u32) -> Self {
        Self { leader: leader.cast_signed(), boot: boot() }
    }

    /// Its members but the leader, which is this process or has ended.
    fn members(&self) -> io::Result<Vec<Pid>> {
        match Pid::from_raw(self.leader) {
            Some(leader) if self.boot == boot() => session_members(leader),
            _ => Ok(Vec::new()),
        }
    }
}

impl Run {
    /// Kills every process of the run and removes its control group, its folder and, last, its lease. What is gone
    /// already is no failure, so that this can be done again.
    ///
    /// `reap` is called whenever processes may have ended that are children of this process.
    pub(crate) fn end(&self, reap: impl FnMut()) -> Result<(), EndRunError> {
        self.end_processes(reap)?;
        self.remove_files()
    }

    /// Removes the folder and, last, the lease of a run whose processes have ended. It takes as long as there are files.
    pub(crate) fn remove_files(&self) -> Result<(), EndRunError> {
        let remove = |path: &PathBuf, removed: io::Result<()>| match removed {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(EndRunError::Files { path: path.clone(), source })
            }
            _ => Ok(()),
        };
        remove(&self.folder, fs::remove_dir_all(&self.folder))?;
        remove(&self.lease, fs::remove_file(&self.lease))
    }

    /// Kills every process of the run and removes its containers and its control group; its folder and lease stay.
    pub(crate) fn end_processes(&self, mut reap: impl FnMut()) -> Result<(), EndRunError> {
        let deadline = Instant::now() + END_TIME;
        if let Some(containers) = &self.containers {
            containers.remove(deadline)?;
        }
        match (&self.group, &self.session) {
            (Some(group), _) => {
                group.kill_all(deadline)?;
                reap();
                group.remove(deadline)?;
            }
            (None, Some(session)) => kill_session(session, deadline, &mut reap)?,
            (None, None) => {}
        }
        reap();
        Ok(())
    }
}

fn kill_session(session: &Session, deadline: Instant, reap: &mut impl FnMut()) -> Result<(), EndRunError> {
    loop {
        let members = session.members().map_err(EndRunError::ProcessTable)?;
        if members.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(EndRunError::Left(members.len()));
        }
        for pid in members {
            // One that has ended meanwhile is no failure.
            let _ = kill_process(pid, Signal::KILL);
        }
        reap();
        thread::sleep(PAUSE);
    }
}

/// The name of this start of the machine; empty where the kernel does not tell it.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Why a run could not be brought to its end.
#[derive(Debug, Error)]
pub(crate) enum EndRunError {
    #[error("end the run's processes")]
    Kill(#[from] KillError),
    #[error("end the run's processes: {0} are left at the deadline")]
    Left(usize),
    #[error("end the run's containers")]
    Containers(#[from] DockerError),
    #[error("read the table of processes")]
    ProcessTable(#[source] io::Error),
    #[error("remove what the run made")]
    Group(#[from] RemoveError),
    #[error("remove {}", path.display())]
    Files {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}
