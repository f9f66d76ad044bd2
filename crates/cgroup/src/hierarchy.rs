//! Which hierarchies can be used here, and this process's own place in them.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use thiserror::Error;

use crate::FileError;
use crate::group::{Group, V1Folders};
use crate::kernel_file::{self, read, read_if_present, write};
use crate::mount::{Membership, Mount, Version, parse_membership, parse_mountinfo};

/// The group into which this process moves itself where the rule "no internal processes" forbids it to stay.
const SELF: &str = "stampede-self";

/// The group in which all runs lie, below this process's own group.
const RUNS: &str = "stampede";

/// A usable hierarchy, as seen from this process's own group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// Version 1 controllers: the folders of this process's own group.
    V1(V1Folders),
    /// The unified hierarchy.
    V2 {
        /// The group below which runs are made.
        base: PathBuf,
        /// What this process has to do with it.
        place: Place,
    },
}

/// How this process stands to the version 2 group below which it makes runs. A group other than the topmost cannot hold
/// processes and hand controllers down at the same time
/// ([no internal process constraint](https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The group is the topmost one, which is free of that rule.
    Top,
    /// This process is alone in it and can move to a leaf.
    Alone,
    /// This process is in a leaf below it already.
    Leaf,
}

impl Hierarchy {
    /// Finds what can be used: version 1 where its controllers `cpu`, `cpuacct` and `memory` are mounted, otherwise
    /// version 2. Changes nothing. `root` is the root of the file system, `/` outside tests.
    ///
    /// # Errors
    ///
    /// When nothing is usable, with what to do about it, or the kernel's files cannot be read.
    pub fn detect(root: &Path) -> Result<Self, DetectError> {
        let own = Own::of(root, "self")?;
        let controllers = (own.controller("cpu"), own.controller("cpuacct"), own.controller("memory"));
        if let (Some(cpu), Some(cpuacct), Some(memory)) = controllers {
            for folder in [&cpu, &cpuacct, &memory] {
                check_writable(folder)
                    .map_err(|source| DetectError::NotWritableV1 { path: folder.to_owned(), source })?;
            }
            return Ok(Self::V1(V1Folders {
                cpu,
                cpuacct,
                memory,
                cpuset: own.controller("cpuset").filter(|dir| is_writable(dir)),
                freezer: own.controller("freezer").filter(|dir| is_writable(dir)),
                tracking: own.unified().filter(|dir| is_writable(dir)),
            }));
        }
        match own.unified() {
            Some(folder) => detect_v2(&folder),
            None => Err(DetectError::NotMounted),
        }
    }

    /// The group of that name. Makes nothing, so that the name can be noted down before the group exists.
    pub fn group(&self, name: &str) -> Group {
        match self {
            Self::V1(own) => Group::V1(own.map(|dir| dir.join(RUNS).join(name))),
            Self::V2 { base, .. } => Group::V2 { dir: base.join(RUNS).join(name) },
        }
    }

    /// Makes room for groups: in version 2, moves the calling process into a leaf of its own where it must
    /// ([`Place::Alone`]) and hands controllers down. Its later children start in that leaf.
    ///
    /// Best called before the process has children, since those that it has by then stay where they are and it is no longer
    /// alone; and before it pins its threads: the kernel may forget that (Linux 6.1 does) when they come under a `cpuset`.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn settle(&self) -> Result<(), FileError> {
        let Self::V2 { base, place } = self else {
            return Ok(());
        };
        if *place == Place::Alone {
            make_folder(&base.join(SELF))?;
            write(&base.join(SELF).join("cgroup.procs"), &std::process::id().to_string())?;
        }
        hand_down_controllers(base)
    }

    /// Makes a group of [`Hierarchy::group`] with the groups above it, after [`Hierarchy::settle`].
    ///
    /// # Errors
    ///
    /// When the group exists, or the kernel refuses.
    pub fn create(&self, group: &Group) -> Result<(), FileError> {
        self.settle()?;
        group.make_folders()?;
        // Only now, since the last run of another Stampede may remove the group above until this one is in it.
        match self {
            Self::V1(own) => {
                if let Some(cpuset) = &own.cpuset {
                    fill_cpuset(&cpuset.join(RUNS))?;
                    group.fill_cpuset()?;
                }
            }
            Self::V2 { base, .. } => hand_down_controllers(&base.join(RUNS))?,
        }
        Ok(())
    }
}

impl Group {
    /// The group that a process is in, made by someone else: to be read. In version 1 the folders of its controllers may lie at
    /// different places. `root` is the root of the file system, `/` outside tests.
    ///
    /// # Errors
    ///
    /// When the process is gone, or its groups are not seen from here.
    pub fn of_process(root: &Path, pid: u32) -> Result<Self, DetectError> {
        let own = Own::of(root, &pid.to_string())?;
        let controllers = (own.controller("cpu"), own.controller("cpuacct"), own.controller("memory"));
        let group = match controllers {
            (Some(cpu), Some(cpuacct), Some(memory)) => Self::V1(V1Folders {
                cpu,
                cpuacct,
                memory,
                cpuset: own.controller("cpuset"),
                freezer: own.controller("freezer"),
                tracking: own.unified(),
            }),
            _ => Self::V2 { dir: own.unified().ok_or(DetectError::NotMounted)? },
        };
        Ok(group)
    }
}

/// The groups of a process.
struct Own {
    mounts: Vec<Mount>,
    memberships: Vec<Membership>,
}

impl Own {
    /// Those of a process by its name below `/proc`, in the hierarchies that this process sees.
    fn of(root: &Path, process: &str) -> Result<Self, DetectError> {
        let path = root.join("proc/self/mountinfo");
        let mut mounts = parse_mountinfo(&path, &read(&path)?)?;
        for mount in &mut mounts {
            mount.point = root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
        }
        let path = root.join("proc").join(process).join("cgroup");
        Ok(Self { mounts, memberships: parse_membership(&path, &read(&path)?)? })
    }

    /// The folder of the process's group in the version 1 hierarchy of a controller.
    fn controller(&self, name: &str) -> Option<PathBuf> {
        self.folder(|version| match version {
            Version::V1(controllers) => controllers.iter().any(|controller| controller == name),
            Version::V2 => false,
        })
    }

    /// The folder of the process's group in the unified hierarchy.
    fn unified(&self) -> Option<PathBuf> {
        self.folder(|version| *version == Version::V2)
    }

    fn folder(&self, is_it: impl Fn(&Version) -> bool) -> Option<PathBuf> {
        let own = self.memberships.iter().find(|own| is_it(&own.version))?;
        self.mounts.iter().filter(|mount| is_it(&mount.version)).find_map(|mount| mount.folder(&own.group))
    }
}

fn detect_v2(own: &Path) -> Result<Hierarchy, DetectError> {
    let (base, leaf) = match own.parent() {
        Some(parent) if own.ends_with(SELF) => (parent, true),
        _ => (own, false),
    };
    let available = read(&base.join("cgroup.controllers"))?;
    for controller in ["cpu", "memory"] {
        if !available.split_whitespace().any(|name| name == controller) {
            return Err(DetectError::NoController { controller, folder: base.to_owned() });
        }
    }
    for path in [base.to_owned(), base.join("cgroup.subtree_control")] {
        check_writable(&path).map_err(|source| DetectError::NotWritable { path, source })?;
    }
    // "cgroup.type ... exists on non-root cgroups" (the kernel's cgroup-v2 document, Core Interface Files).
    let place = if leaf {
        Place::Leaf
    } else if !base.join("cgroup.type").exists() {
        Place::Top
    } else {
        let members = read(&base.join("cgroup.procs"))?;
        let me = std::process::id().to_string();
        if !members.lines().all(|member| member == me) {
            return Err(DetectError::NotAlone(base.to_owned()));
        }
        Place::Alone
    };
    Ok(Hierarchy::V2 { base: base.to_owned(), place })
}

/// Lets the children of a version 2 group use the controllers that the group has and runs need.
pub(crate) fn hand_down_controllers(dir: &Path) -> Result<(), FileError> {
    let available = read(&dir.join("cgroup.controllers"))?;
    let wanted: Vec<String> = available
        .split_whitespace()
        .filter(|name| ["cpu", "memory", "cpuset"].contains(name))
        .map(|name| format!("+{name}"))
        .collect();
    write(&dir.join("cgroup.subtree_control"), &wanted.join(" "))
}

/// Makes a folder that may exist.
pub(crate) fn make_folder(dir: &Path) -> Result<(), FileError> {
    match kernel_file::make_folder(dir) {
        Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Gives a version 1 `cpuset` group its parent's memory nodes and processors where it has none: a process can join only a
/// group that has both
/// ([cpusets](https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html#usage-examples-and-syntax)).
pub(crate) fn fill_cpuset(dir: &Path) -> Result<(), FileError> {
    let Some(parent) = dir.parent() else {
        return Ok(());
    };
    for name in ["cpuset.mems", "cpuset.cpus"] {
        let present = read_if_present(&dir.join(name))?.unwrap_or_default();
        if present.trim().is_empty() {
            write(&dir.join(name), read(&parent.join(name))?.trim())?;
        }
    }
    Ok(())
}

fn is_writable(path: &Path) -> bool {
    check_writable(path).is_ok()
}

fn check_writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

/// Why no hierarchy can be used.
#[derive(Debug, Error)]
pub enum DetectError {
    /// No control groups are mounted, or none that hold this process.
    #[error("find control groups: none are mounted that hold this process")]
    NotMounted,
    /// Version 1 controllers belong to someone else.
    #[error("use the control group at {}", path.display())]
    NotWritableV1 {
        /// The folder.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The group in the unified hierarchy belongs to someone else.
    #[error("use the control group at {}", path.display())]
    NotWritable {
        /// The folder or file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The unified hierarchy does not offer a controller to this process's group.
    #[error("use the control group {}: it has no controller {controller}", folder.display())]
    NoController {
        /// The controller.
        controller: &'static str,
        /// The group.
        folder: PathBuf,
    },
    /// Other processes are in the group, and they are not ours to move.
    #[error("use the control group {}: other processes are in it too", .0.display())]
    NotAlone(PathBuf),
    /// A file of the kernel could not be read.
    #[error("find control groups")]
    File(#[from] FileError),
}

impl DetectError {
    /// Whether a group that is delegated to this process would do: one in version 2 with this process alone in it.
    pub fn ends_with_delegation(&self) -> bool {
        match self {
            Self::NotWritable { .. } | Self::NoController { .. } | Self::NotAlone(_) => true,
            Self::NotMounted | Self::NotWritableV1 { .. } | Self::File(_) => false,
        }
    }

    /// Whether rights are what is missing: root could limit what it starts here.
    pub fn ends_with_root(&self) -> bool {
        match self {
            Self::NotWritableV1 { source, .. } | Self::NotWritable { source, .. } => {
                source.kind() != io::ErrorKind::ReadOnlyFilesystem
            }
            Self::NoController { .. } | Self::NotAlone(_) => true,
            Self::NotMounted | Self::File(_) => false,
        }
    }

    /// What the user can do to have limits enforced.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotMounted | Self::File(_) => "mount control groups, or use a machine that has them",
            // As engines mount them for containers: root's rights are of no use there.
            Self::NotWritableV1 { source, .. } | Self::NotWritable { source, .. }
                if source.kind() == io::ErrorKind::ReadOnlyFilesystem =>
            {
                "run it outside of this container, or mount the control groups writable there: `docker run -v \
                 /sys/fs/cgroup:/sys/fs/cgroup:rw`, in CI as an option of the job's container"
            }
            Self::NotWritableV1 { .. } => "run it as root",
            Self::NotWritable { .. } | Self::NotAlone(_) => {
                "run it under `systemd-run --scope -p \"Delegate=cpu memory\"` (with --user when you are not root), or as root"
            }
            Self::NoController { .. } => {
                "run it as root, or let root give the controller to users: `systemctl edit user@.service` with \
                 `[Service]` and `Delegate=yes`, then log in anew"
            }
        }
    }
}
