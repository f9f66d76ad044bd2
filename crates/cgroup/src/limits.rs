//! How much CPU time and memory a group may use: set, and read back.

use std::path::Path;
use std::time::Duration;

use crate::FileError;
use crate::group::{Group, V1Folders, with_those_below};
use crate::kernel_file::{malformed, number, read_if_present, read_number, write};

/// The period over which CPU time is granted: the kernel's default, which container platforms keep
/// ([CFS bandwidth control](https://docs.kernel.org/scheduler/sched-bwc.html)).
pub const QUOTA_PERIOD: Duration = Duration::from_millis(100);

/// From this many bytes on, a version 1 limit is none: the kernel's largest counter (`PAGE_COUNTER_MAX`) is the largest
/// `long` rounded down to a page, and the largest page is 64 KiB.
const V1_UNLIMITED: u64 = (i64::MAX as u64) - (64 << 10);

/// A bound that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound<T> {
    /// No bound is in force.
    Unlimited,
    /// At most this much.
    AtMost(T),
}

/// CPU time that is granted in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// How much CPU time.
    pub runtime: Duration,
    /// How often it is granted.
    pub period: Duration,
}

/// What a group shall be held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimits {
    /// CPU time in each [`QUOTA_PERIOD`]; the kernel takes no less than 1 ms.
    pub runtime: Duration,
    /// Bytes of memory, without swap.
    pub memory: u64,
    /// Processor numbers; used where there is a `cpuset` controller.
    pub cpus: Vec<u32>,
}

/// What the kernel holds a group to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// CPU time.
    pub cpu: Bound<CpuQuota>,
    /// Bytes of memory.
    pub memory: Bound<u64>,
}

impl CpuQuota {
    /// CPU time per wall time.
    fn share(&self) -> f64 {
        self.runtime.as_secs_f64() / self.period.as_secs_f64()
    }
}

impl Group {
    /// Sets the group's limits. Swap is not granted at all.
    ///
    /// # Errors
    ///
    /// When the kernel refuses a value: a quota under 1 ms or above a parent's, a processor that the parent lacks.
    pub fn set_limits(&self, limits: &GroupLimits) -> Result<(), FileError> {
        let GroupLimits { runtime, memory, cpus } = limits;
        let period = QUOTA_PERIOD.as_micros();
        let runtime = runtime.as_micros();
        let memory = memory.to_string();
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let cpus = cpus.join(",");
        match self {
            Self::V1(folders) => {
                write(&folders.cpu.join("cpu.cfs_period_us"), &period.to_string())?;
                write(&folders.cpu.join("cpu.cfs_quota_us"), &runtime.to_string())?;
                // https://docs.kernel.org/admin-guide/cgroup-v1/memory.html: memory and swap together may not be
                // limited to less than memory alone, so memory comes first.
                write(&folders.memory.join("memory.limit_in_bytes"), &memory)?;
                let with_swap = folders.memory.join("memory.memsw.limit_in_bytes");
                if with_swap.exists() {
                    write(&with_swap, &memory)?;
                } else {
                    write(&folders.memory.join("memory.swappiness"), "0")?;
                }
                if let Some(cpuset) = &folders.cpuset {
                    write(&cpuset.join("cpuset.cpus"), &cpus)?;
                }
            }
            Self::V2 { dir } => {
                // https://docs.kernel.org/admin-guide/cgroup-v2.html#controllers
                write(&dir.join("cpu.max"), &format!("{runtime} {period}"))?;
                write(&dir.join("memory.max"), &memory)?;
                // Kernels without swap accounting have neither the file nor the swap to be used.
                let swap = dir.join("memory.swap.max");
                if swap.exists() {
                    write(&swap, "0")?;
                }
                let cpuset = dir.join("cpuset.cpus");
                if cpuset.exists() {
                    write(&cpuset, &cpus)?;
                }
            }
        }
        Ok(())
    }

    /// Gives a group of [`Hierarchy::create`](crate::Hierarchy::create), and the one that all runs lie in, the largest weight there is:
    /// where programs beside it want more processor time than the machine has, the group gets what its quota grants, and they wait. The
    /// weight grants nothing above the quota.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn weigh(&self) -> Result<(), FileError> {
        // https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files: from 1 to 10000. In version 1 the largest that the
        // scheduler keeps is 2^18 (MAX_SHARES in kernel/sched/sched.h).
        let (folder, name, largest) = match self {
            Self::V1(folders) => (&folders.cpu, "cpu.shares", "262144"),
            Self::V2 { dir } => (dir, "cpu.weight", "10000"),
        };
        [folder.parent(), Some(folder)].into_iter().flatten().try_for_each(|group| write(&group.join(name), largest))
    }

    /// Takes the CPU quota off, also of the groups below, so that the end of the group does not have to wait for it.
    pub(crate) fn lift_quota(&self) -> Result<(), FileError> {
        let (folder, name, unlimited) = match self {
            Self::V1(folders) => (&folders.cpu, "cpu.cfs_quota_us", "-1"),
            Self::V2 { dir } => (dir, "cpu.max", "max"),
        };
        for file in with_those_below(folder).iter().map(|folder| folder.join(name)).filter(|file| file.exists()) {
            write(&file, unlimited)?;
        }
        Ok(())
    }

    /// Reads what is in force: the tightest of the group's own limits and those of the groups above it that can be seen,
    /// since a parent's limit holds for its children too.
    ///
    /// # Errors
    ///
    /// When the kernel's files cannot be read.
    pub fn read_limits(&self) -> Result<InForce, FileError> {
        Ok(match self {
            Self::V1(V1Folders { cpu, memory, .. }) => InForce {
                cpu: tightest(cpu, read_cpu_v1, CpuQuota::share)?,
                memory: tightest(memory, read_memory_v1, |bytes| *bytes as f64)?,
            },
            Self::V2 { dir } => InForce {
                cpu: tightest(dir, read_cpu_v2, CpuQuota::share)?,
                memory: tightest(dir, read_memory_v2, |bytes| *bytes as f64)?,
            },
        })
    }
}

/// The smallest of the bounds on the way from a group to the topmost group that has such a file.
fn tightest<T>(
    group: &Path,
    read: impl Fn(&Path) -> Result<Option<Bound<T>>, FileError>,
    size: impl Fn(&T) -> f64,
) -> Result<Bound<T>, FileError> {
    let mut tightest = Bound::Unlimited;
    for dir in group.ancestors() {
        let Some(bound) = read(dir)? else { break };
        tightest = match (tightest, bound) {
            (Bound::AtMost(inner), Bound::AtMost(outer)) if size(&outer) < size(&inner) => Bound::AtMost(outer),
            (Bound::Unlimited, outer) => outer,
            (inner, _) => inner,
        };
    }
    Ok(tightest)
}

fn read_cpu_v1(dir: &Path) -> Result<Option<Bound<CpuQuota>>, FileError> {
    let path = dir.join("cpu.cfs_quota_us");
    let Some(quota) = read_if_present(&path)? else {
        return Ok(None);
    };
    if quota.trim() == "-1" {
        return Ok(Some(Bound::Unlimited));
    }
    let runtime = Duration::from_micros(number(&path, 1, quota.trim())?);
    let path = dir.join("cpu.cfs_period_us");
    let period = read_number(&path)?;
    Ok(Some(Bound::AtMost(CpuQuota { runtime, period: Duration::from_micros(period) })))
}

fn read_memory_v1(dir: &Path) -> Result<Option<Bound<u64>>, FileError> {
    let path = dir.join("memory.limit_in_bytes");
    let Some(limit) = read_if_present(&path)? else {
        return Ok(None);
    };
    let bytes = number(&path, 1, limit.trim())?;
    Ok(Some(if bytes >= V1_UNLIMITED { Bound::Unlimited } else { Bound::AtMost(bytes) }))
}

fn read_cpu_v2(dir: &Path) -> Result<Option<Bound<CpuQuota>>, FileError> {
    let path = dir.join("cpu.max");
    let Some(text) = read_if_present(&path)? else {
        return Ok(None);
    };
    let text = text.trim();
    let (runtime, period) = text.split_once(' ').ok_or_else(|| malformed(&path, 1, text, "a quota and its period"))?;
    let period = Duration::from_micros(number(&path, 1, period)?);
    if runtime == "max" {
        return Ok(Some(Bound::Unlimited));
    }
    let runtime = Duration::from_micros(number(&path, 1, runtime)?);
    Ok(Some(Bound::AtMost(CpuQuota { runtime, period })))
}

fn read_memory_v2(dir: &Path) -> Result<Option<Bound<u64>>, FileError> {
    let path = dir.join("memory.max");
    let Some(text) = read_if_present(&path)? else {
        return Ok(None);
    };
    Ok(Some(match text.trim() {
        "max" => Bound::Unlimited,
        bytes => Bound::AtMost(number(&path, 1, bytes)?),
    }))
}
