//! Runs a short-lived program of the machine (a builder, a version probe) and keeps what it prints.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;
use tokio::process::Command;

/// How a program ended and what it printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    /// All of it, standard output first.
    pub(crate) fn all(&self) -> Vec<u8> {
        [self.stdout.as_slice(), &self.stderr].concat()
    }
}

/// A version probe: no input, and messages in English.
pub(crate) async fn probe<S: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = S>,
) -> Result<String, OutputError> {
    const LIMIT: Duration = Duration::from_secs(5);
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C");
    let output = collect(command, LIMIT).await?;
    match output.status.signal() {
        None => Ok(String::from_utf8_lossy(&output.all()).into_owned()),
        Some(signal) => Err(OutputError::Crashed(signal)),
    }
}

/// Runs a program to its end. When it takes too long, or the future is dropped, it is killed with its process group.
pub(crate) async fn collect(mut command: Command, limit: Duration) -> Result<Output, OutputError> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let guard = GroupGuard(group);
    match tokio::time::timeout(limit, child.wait_with_output()).await {
        Ok(output) => {
            // It has been reaped: its number may belong to another one by now.
            std::mem::forget(guard);
            let std::process::Output { status, stdout, stderr } = output?;
            Ok(Output { status, stdout, stderr })
        }
        Err(_) => Err(OutputError::TooLong(limit)),
    }
}

/// Kills a process group when it is dropped.
struct GroupGuard(Option<Pid>);

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Why a program's output is not there.
#[derive(Debug, Error)]
pub(crate) enum OutputError {
    #[error("it cannot be run")]
    Run(#[from] io::Error),
    #[error("it crashes (signal {0})")]
    Crashed(i32),
    #[error("it took longer than {} s", .0.as_secs())]
    TooLong(Duration),
}
