//! Stops every process of a group where it is, and lets all go on.

use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use thiserror::Error;

use crate::FileError;
use crate::group::{Group, PAUSE, V1Folders};
use crate::kernel_file::{read, write};

impl Group {
    /// Freezes the group with all groups below it, and returns when no process of it runs any more. What they have opened stays
    /// open: connections are accepted by the kernel, and nobody answers.
    ///
    /// # Errors
    ///
    /// When this machine cannot freeze groups, something still runs at the deadline, or a file of the kernel cannot be used. The
    /// group is thawed then.
    pub fn freeze(&self, deadline: Instant) -> Result<(), FreezeError> {
        let freezer = self.freezer().ok_or(FreezeError::Unable)?;
        let frozen = self.wait_until_frozen(&freezer, deadline);
        if frozen.is_err() {
            let _ = write(&freezer.file, freezer.thawed);
        }
        frozen
    }

    fn wait_until_frozen(&self, freezer: &Freezer, deadline: Instant) -> Result<(), FreezeError> {
        loop {
            // Version 1 may have to be told again: it gives up on processes that forked meanwhile.
            write(&freezer.file, freezer.frozen)?;
            if read(&freezer.state)?.lines().any(|line| line.trim() == freezer.is_frozen) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(FreezeError::Late);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Lets every process of a frozen group go on.
    ///
    /// # Errors
    ///
    /// When this machine cannot freeze groups, or a file of the kernel cannot be used.
    pub fn thaw(&self) -> Result<(), FreezeError> {
        let freezer = self.freezer().ok_or(FreezeError::Unable)?;
        Ok(write(&freezer.file, freezer.thawed)?)
    }

    pub(crate) fn freezer(&self) -> Option<Freezer> {
        let freezer = match self {
            Self::V1(V1Folders { freezer, .. }) => {
                let file = freezer.as_deref()?.join("freezer.state");
                Freezer { state: file.clone(), file, frozen: "FROZEN", thawed: "THAWED", is_frozen: "FROZEN" }
            }
            Self::V2 { dir } => Freezer {
                file: dir.join("cgroup.freeze"),
                state: dir.join("cgroup.events"),
                frozen: "1",
                thawed: "0",
                is_frozen: "frozen 1",
            },
        };
        Some(freezer).filter(|freezer| freezer.file.exists())
    }
}

/// How a group is frozen: [version 1](https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html),
/// [version 2](https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files).
pub(crate) struct Freezer {
    pub(crate) file: PathBuf,
    pub(crate) frozen: &'static str,
    pub(crate) thawed: &'static str,
    /// Where the kernel says that nothing runs any more, and the line that says so.
    state: PathBuf,
    is_frozen: &'static str,
}

/// Why a group could not be frozen or thawed.
#[derive(Debug, Error)]
pub enum FreezeError {
    /// There is no freezer.
    #[error("freeze a control group: this machine has no freezer for it")]
    Unable,
    /// Something still ran.
    #[error("freeze a control group: a process still ran at the deadline")]
    Late,
    /// A file of the kernel could not be used.
    #[error("freeze a control group")]
    File(#[from] FileError),
}
