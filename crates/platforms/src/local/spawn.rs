//! Starts one program of a run: in its control group, on its processors, as its user. Done by the warden, which has a
//! single thread, so that the forked child may do anything before it becomes the program.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit, umask};
use rustix::thread::{CpuSet, Gid, Uid, sched_setaffinity, set_thread_gid, set_thread_groups, set_thread_uid};
use stampede_cgroup::Group;

use crate::machine::user::User;
use crate::units;

/// What all programs of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) group: Option<Group>,
    pub(crate) user: Option<User>,
    pub(crate) cpus: Vec<u32>,
}

impl Surroundings {
    /// The same in a part's own group.
    pub(crate) fn within(&self, part: Option<&str>) -> Self {
        let group = match (&self.group, part) {
            (Some(group), Some(part)) => Some(group.child(part)),
            (group, _) => group.clone(),
        };
        Self { group, ..self.clone() }
    }

    /// Starts a program in a process group of its own and returns its number.
    ///
    /// # Errors
    ///
    /// When its log cannot be opened, the control group cannot be joined or the program cannot be run.
    pub(crate) fn spawn(&self, command: &units::Command) -> io::Result<Pid> {
        let log = File::options().create(true).append(true).open(&command.log)?;
        let mut child = Command::new(&command.path);
        child
            .args(&command.args)
            .env_clear()
            .envs(&command.env)
            .current_dir(&command.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        let surroundings = self.clone();
        // SAFETY: the warden has one thread, so no lock can be held by another one when it forks.
        unsafe { child.pre_exec(move || surroundings.enter()) };
        // The warden reaps all its children at one place; the handle is not needed for it.
        Ok(Pid::from_child(&child.spawn()?))
    }

    /// Makes the calling process one of the run. The control group comes first: joining it needs the privileges that are
    /// dropped last.
    fn enter(&self) -> io::Result<()> {
        let Self { group, user, cpus } = self;
        if let Some(group) = group {
            // Only a number gets from here to the parent; the log, already open, takes the words.
            group.add_process(getpid()).map_err(|error| {
                eprintln!("{}", stampede_core::with_causes(&error));
                io::Error::from_raw_os_error(libc::EPERM)
            })?;
        }
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.set(*cpu as usize);
        }
        // Also where a cpuset holds the group: the processors that the parent was pinned to are inherited.
        sched_setaffinity(None, &set)?;
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
        umask(Mode::WGRP | Mode::WOTH);
        reset_signals();
        if let Some(User { uid, gid }) = user {
            set_thread_groups(&[])?;
            set_thread_gid(Gid::from_raw(*gid))?;
            set_thread_uid(Uid::from_raw(*uid))?;
        }
        Ok(())
    }
}

/// Ignored signals stay ignored in a new program, and a shell lets its background jobs ignore some.
fn reset_signals() {
    const LAST_SIGNAL: i32 = 64;
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: no handler is set, only the default action. Signals that have no other action refuse it.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
