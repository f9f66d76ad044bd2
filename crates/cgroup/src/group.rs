//! A group of processes, in one folder (version 2) or one folder a controller (version 1).

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::FileError;
use crate::hierarchy::{fill_cpuset, hand_down_controllers, make_folder};
use crate::kernel_file::{self, number, read_if_present, write};

/// How long to wait before the kernel is asked again.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// A group of processes. Plain data: another process can read it from a file and finish its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Version 1.
    V1(V1Folders),
    /// Version 2.
    V2 {
        /// Its folder.
        dir: PathBuf,
    },
}

/// The folders of a version 1 group, one for each controller; some can be the same folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct V1Folders {
    /// Folder in the `cpu` hierarchy.
    pub cpu: PathBuf,
    /// Folder in the `cpuacct` hierarchy.
    pub cpuacct: PathBuf,
    /// Folder in the `memory` hierarchy.
    pub memory: PathBuf,
    /// Folder in the `cpuset` hierarchy, where there is one.
    pub cpuset: Option<PathBuf>,
    /// Folder in the `freezer` hierarchy, where there is one.
    pub freezer: Option<PathBuf>,
    /// Folder in a unified hierarchy without controllers, where there is one: it can kill all processes at once.
    pub tracking: Option<PathBuf>,
}

impl V1Folders {
    /// The same folders, each changed.
    pub(crate) fn map(&self, change: impl Fn(&Path) -> PathBuf) -> Self {
        let change_some = |folder: &Option<PathBuf>| folder.as_deref().map(&change);
        let Self { cpu, cpuacct, memory, cpuset, freezer, tracking } = self;
        Self {
            cpu: change(cpu),
            cpuacct: change(cpuacct),
            memory: change(memory),
            cpuset: change_some(cpuset),
            freezer: change_some(freezer),
            tracking: change_some(tracking),
        }
    }
}

impl Group {
    /// The group of that name below this one. Makes nothing.
    pub fn child(&self, name: &str) -> Self {
        match self {
            Self::V1(folders) => Self::V1(folders.map(|dir| dir.join(name))),
            Self::V2 { dir } => Self::V2 { dir: dir.join(name) },
        }
    }

    /// Makes a group of [`Group::child`]. In version 2 this group can then hold no processes itself
    /// ([no internal process constraint](https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint)).
    ///
    /// # Errors
    ///
    /// When the group exists, or the kernel refuses.
    pub fn create_child(&self, name: &str) -> Result<Self, FileError> {
        if let Self::V2 { dir } = self {
            hand_down_controllers(dir)?;
        }
        let child = self.child(name);
        child.folders().iter().try_for_each(|folder| kernel_file::make_folder(folder))?;
        child.fill_cpuset()?;
        Ok(child)
    }

    /// Makes room for groups below one that someone else has made: in version 2, puts the processes that are in it into a child of
    /// this name, since a group that holds processes hands no controllers down. Does nothing in version 1.
    ///
    /// # Errors
    ///
    /// When the kernel refuses. Processes that come into the group meanwhile stay in it.
    pub fn vacate(&self, name: &str) -> Result<(), FileError> {
        let Self::V2 { dir } = self else {
            return Ok(());
        };
        let child = dir.join(name);
        make_folder(&child)?;
        let members = dir.join("cgroup.procs");
        for pid in read_if_present(&members)?.unwrap_or_default().lines() {
            write(&child.join("cgroup.procs"), pid)?;
        }
        Ok(())
    }

    /// The group's folders, each once. Tracking and freezer come first: a process is in them before it is limited.
    fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = match self {
            Self::V1(V1Folders { cpu, cpuacct, memory, cpuset, freezer, tracking }) => [tracking, freezer, cpuset]
                .into_iter()
                .flatten()
                .chain([memory, cpuacct, cpu])
                .map(PathBuf::as_path)
                .collect(),
            Self::V2 { dir } => vec![dir],
        };
        let mut seen = BTreeSet::new();
        folders.retain(|folder| seen.insert(*folder));
        folders
    }

    pub(crate) fn make_folders(&self) -> Result<(), FileError> {
        self.folders().iter().try_for_each(|folder| make_below_shared_parent(folder))
    }

    /// Makes the group one that processes can join, see [`fill_cpuset`].
    pub(crate) fn fill_cpuset(&self) -> Result<(), FileError> {
        match self {
            Self::V1(V1Folders { cpuset: Some(cpuset), .. }) => fill_cpuset(cpuset),
            _ => Ok(()),
        }
    }

    /// Puts a process, with all its threads, into the group.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the process can then be in some of the group's folders.
    pub fn add_process(&self, pid: Pid) -> Result<(), FileError> {
        self.folders().iter().try_for_each(|folder| write(&folder.join("cgroup.procs"), &pid.as_raw_pid().to_string()))
    }

    /// The processes in the group and those below it, without those that have ended and wait to be reaped. None when the group is gone.
    ///
    /// # Errors
    ///
    /// When the kernel's files cannot be read.
    pub fn processes(&self) -> Result<HashSet<Pid>, FileError> {
        let mut processes = HashSet::new();
        for folder in self.folders().into_iter().flat_map(with_those_below) {
            let path = folder.join("cgroup.procs");
            // A process outside this process's namespace is shown as 0, which is no process that could be signalled.
            for (line, text) in (1..).zip(read_if_present(&path)?.unwrap_or_default().lines()) {
                let raw = number(&path, line, text)?;
                processes.extend(i32::try_from(raw).ok().and_then(Pid::from_raw));
            }
        }
        Ok(processes)
    }

    /// Whether any folder of the group is there.
    pub fn exists(&self) -> bool {
        self.folders().iter().any(|folder| folder.exists())
    }

    /// Removes the group with those below it, and the groups above it that Stampede made if no other run uses them. Tries again until
    /// `deadline` while the kernel says that it is busy: processes that have ended leave it only when they are reaped.
    /// A group that is gone counts as removed.
    ///
    /// # Errors
    ///
    /// When processes are left in it at the deadline, or the kernel refuses.
    pub fn remove(&self, deadline: Instant) -> Result<(), RemoveError> {
        for folder in self.folders() {
            for below in with_those_below(folder).iter().rev() {
                remove_folder(below, deadline)?;
            }
            if let Some(parent) = folder.parent() {
                // Another run that is in it keeps it; the last one removes it.
                let _ = fs::remove_dir(parent);
            }
        }
        Ok(())
    }
}

/// The processes in the group of this folder and in those below, made by whomever; none where it is gone. Each comes with the name of the
/// group right below the folder that it is in, if it is in one. Those that are not seen from this process's namespace, which the kernel
/// shows as 0, are left out.
#[must_use]
pub fn members(folder: &Path) -> Vec<(Option<String>, u32)> {
    let of = |dir: PathBuf| -> Vec<(Option<String>, u32)> {
        let below = dir.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let below = below.map(|name| name.to_string_lossy().into_owned());
        let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|pid| pid.parse().ok()).map(|pid| (below.clone(), pid)).collect()
    };
    with_those_below(folder).into_iter().flat_map(of).filter(|(_, pid)| *pid > 0).collect()
}

/// A group's folder and those of the groups below it, each after the one that it is in. What is gone is left out.
pub(crate) fn with_those_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = all.get(next) {
        let below = fs::read_dir(folder).into_iter().flatten().flatten();
        let below: Vec<PathBuf> =
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect();
        all.extend(below);
        next += 1;
    }
    all
}

/// Makes a group's folder and the one above it, which the end of another run may remove at any time until it is used.
fn make_below_shared_parent(folder: &Path) -> Result<(), FileError> {
    const TRIES: u32 = 100;
    let mut tries = 0;
    loop {
        tries += 1;
        if let Some(parent) = folder.parent() {
            make_folder(parent)?;
        }
        match kernel_file::make_folder(folder) {
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound && tries < TRIES => {}
            made => return made,
        }
    }
}

fn remove_folder(folder: &Path, deadline: Instant) -> Result<(), RemoveError> {
    loop {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(PAUSE);
            }
            Err(source) => {
                return Err(RemoveError { folder: folder.to_owned(), source });
            }
        }
    }
}

/// Why a group could not be removed.
#[derive(Debug, Error)]
#[error("remove the control group {}", folder.display())]
pub struct RemoveError {
    /// The folder that stays.
    pub folder: PathBuf,
    /// The kernel's answer.
    #[source]
    pub source: io::Error,
}
