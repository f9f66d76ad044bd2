//! Child processes: pinned to a processor, waited for with a deadline, and gone when their handle is dropped.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use thiserror::Error;

use crate::interruption::Interruption;

/// How often a run looks around while it waits.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// The most that is kept of what a program prints.
const MOST_OUTPUT: u64 = 4 << 20;

/// A child process. Dropping it kills it, with what it has started, and reaps it.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    pid: Pid,
    handle: OwnedFd,
    reaped: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Processor time of the process and of the children that it has waited for, user and system.
    pub(crate) cpu: Duration,
}

/// A process that has ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Why a program said nothing useful: how it ended, and its first words about that.
    pub(crate) fn reason(&self) -> String {
        let words = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("{}: {}", self.ended.status, words.trim().trim_start_matches("error: "))
    }

    /// The first line that it printed, wherever.
    pub(crate) fn first_line(&self) -> &str {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }
}

impl Process {
    /// Starts a program on one processor; the kernel kills it should this process die (`PR_SET_PDEATHSIG`).
    pub(crate) fn spawn(name: &'static str, mut command: Command, cpu: usize) -> Result<Self, ProcessError> {
        let mut cpus = CpuSet::new();
        cpus.set(cpu);
        // In a group of its own: Ctrl-C is for this process alone, which then ends all others.
        command.process_group(0);
        ends_with_this(&mut command, Signal::KILL);
        // SAFETY: between fork and exec this makes one system call and touches no memory but its arguments.
        unsafe {
            command.pre_exec(move || Ok(sched_setaffinity(None, &cpus)?));
        }
        let child = command.spawn().map_err(|source| ProcessError::Start { name, source })?;
        let watched = Pid::from_raw(child.id().cast_signed())
            .ok_or(Errno::SRCH)
            .and_then(|pid| Ok((pid, pidfd_open(pid, PidfdFlags::empty())?)));
        match watched {
            Ok((pid, handle)) => Ok(Self { name, child, pid, handle, reaped: false }),
            Err(errno) => {
                let mut child = child;
                // It has just been started by this process and nobody else reaps it.
                let _ = child.kill().and_then(|()| child.wait());
                Err(ProcessError::Watch { name, source: errno })
            }
        }
    }

    /// Runs a program to its end. `look` is called now and then with its pid.
    pub(crate) fn run(
        name: &'static str,
        mut command: Command,
        cpu: usize,
        patience: Duration,
        interruption: &Interruption,
        look: impl FnMut(Pid) -> Result<(), ProcessError>,
    ) -> Result<Finished, ProcessError> {
        let temporary = || tempfile::tempfile().map_err(|source| ProcessError::Output { name, source });
        let duplicate = |file: &File| file.try_clone().map_err(|source| ProcessError::Output { name, source });
        let (stdout, stderr) = (temporary()?, temporary()?);
        command.stdin(Stdio::null()).stdout(duplicate(&stdout)?).stderr(duplicate(&stderr)?);
        let mut process = Self::spawn(name, command, cpu)?;
        let ended = process.wait(patience, interruption, look)?;
        let read = |file| read_back(file).map_err(|source| ProcessError::Output { name, source });
        Ok(Finished { ended, stdout: read(stdout)?, stderr: read(stderr)? })
    }

    /// Its stdin and stdout, the first time that they are asked for, where they are pipes.
    pub(crate) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&self) -> bool {
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(0))
    }

    fn wait(
        &mut self,
        patience: Duration,
        interruption: &Interruption,
        mut look: impl FnMut(Pid) -> Result<(), ProcessError>,
    ) -> Result<Ended, ProcessError> {
        let deadline = Instant::now() + patience;
        loop {
            if interruption.asked() {
                return Err(ProcessError::Interrupted);
            }
            let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
            match poll(&mut watched, Some(&TICK)) {
                Ok(0) | Err(Errno::INTR) => look(self.pid)?,
                Ok(_) => return self.reap(),
                Err(source) => return Err(ProcessError::Watch { name: self.name, source }),
            }
            if Instant::now() >= deadline {
                return Err(ProcessError::Hung { name: self.name, patience });
            }
        }
    }

    fn reap(&mut self) -> Result<Ended, ProcessError> {
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both places are valid for writing what wait4 writes; the pid is a child that nobody has reaped.
        let pid = unsafe { libc::wait4(self.pid.as_raw_pid(), &raw mut status, 0, usage.as_mut_ptr()) };
        if pid != self.pid.as_raw_pid() {
            let source = io::Error::last_os_error();
            return Err(ProcessError::Output { name: self.name, source });
        }
        self.reaped = true;
        // SAFETY: a record of integers, all zero before the kernel wrote to it.
        let usage = unsafe { usage.assume_init() };
        let cpu = duration(usage.ru_utime) + duration(usage.ru_stime);
        Ok(Ended { status: ExitStatus::from_raw(status), cpu })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            // It leads its group, and its pid cannot be another's before it is reaped. Killed, it ends within moments.
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Has the kernel send a program a signal when the thread that starts it is gone, as after `kill` of this process (`PR_SET_PDEATHSIG`).
pub(crate) fn ends_with_this(command: &mut Command, signal: Signal) {
    // SAFETY: between fork and exec this makes one system call and touches no memory but its arguments.
    unsafe {
        command.pre_exec(move || Ok(set_parent_process_death_signal(Some(signal))?));
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
}

fn read_back(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why a process did not run to its end.
#[derive(Debug, Error)]
pub(crate) enum ProcessError {
    #[error("start {name}")]
    Start {
        name: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("watch {name}")]
    Watch {
        name: &'static str,
        #[source]
        source: Errno,
    },
    #[error("keep what {name} prints")]
    Output {
        name: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("{name} did not end within {patience:?} and was killed")]
    Hung { name: &'static str, patience: Duration },
    #[error("look at {what} of {name}")]
    Look {
        name: &'static str,
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("interrupted")]
    Interrupted,
}
