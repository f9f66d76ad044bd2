//! What a group has used, and the memory that it uses now.

use std::path::Path;
use std::time::Duration;

use crate::FileError;
use crate::group::{Group, with_those_below};
use crate::kernel_file::{Keyed, read_number};

/// Counters of a group at one instant; each counts from the group's making.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// CPU time used.
    pub cpu: Duration,
    /// Quota periods in which something ran.
    pub periods: u64,
    /// Quota periods in which the quota ran out.
    pub throttled_periods: u64,
    /// Time that runnable threads waited for the next period, summed over processors.
    pub throttled: Duration,
    /// Bytes of anonymous memory.
    pub anonymous: u64,
    /// Bytes of shared memory and of files in memory.
    pub shared: u64,
    /// Bytes of kernel memory: stacks, page tables, slabs.
    pub kernel: u64,
    /// Bytes of page cache, without shared memory.
    pub cache: u64,
    /// Processes that the kernel killed because a memory limit was reached.
    pub oom_kills: u64,
    /// Pages that had to be read from a disk before a process could go on, from files or from swap.
    pub major_faults: u64,
}

impl Group {
    /// Reads what the group has used.
    ///
    /// # Errors
    ///
    /// As [`read_v1`] and [`read_v2`].
    pub fn read_counters(&self) -> Result<GroupCounters, FileError> {
        match self {
            Self::V1(folders) => read_v1(&folders.cpu, &folders.cpuacct, &folders.memory),
            Self::V2 { dir } => read_v2(dir),
        }
    }
}

/// Reads a version 1 group: `cpu.stat`
/// ([CFS bandwidth control](https://docs.kernel.org/scheduler/sched-bwc.html#statistics)), `cpuacct.usage`
/// ([CPU accounting](https://docs.kernel.org/admin-guide/cgroup-v1/cpuacct.html)), `memory.stat`,
/// `memory.kmem.usage_in_bytes` and `memory.oom_control`
/// ([memory](https://docs.kernel.org/admin-guide/cgroup-v1/memory.html)).
///
/// # Errors
///
/// When a file cannot be read or is not as documented. What older kernels lack (`total_shmem`, kernel memory,
/// `oom_kill`, `total_pgmajfault`) counts as 0.
pub fn read_v1(cpu: &Path, cpuacct: &Path, memory: &Path) -> Result<GroupCounters, FileError> {
    let bandwidth = Keyed::read(cpu.join("cpu.stat"))?;
    let stat = Keyed::read(memory.join("memory.stat"))?;
    let shared = stat.get("total_shmem")?.unwrap_or(0);
    let kernel = memory.join("memory.kmem.usage_in_bytes");
    Ok(GroupCounters {
        cpu: Duration::from_nanos(read_number(&cpuacct.join("cpuacct.usage"))?),
        periods: bandwidth.require("nr_periods")?,
        throttled_periods: bandwidth.require("nr_throttled")?,
        throttled: Duration::from_nanos(bandwidth.require("throttled_time")?),
        anonymous: stat.require("total_rss")?,
        shared,
        kernel: if kernel.exists() { read_number(&kernel)? } else { 0 },
        // "cache" counts pages of tmpfs and shared memory too.
        cache: stat.require("total_cache")?.saturating_sub(shared),
        // Unlike the other counters it does not count those of the groups below.
        oom_kills: with_those_below(memory).iter().try_fold(0, |sum, dir| {
            Ok(sum + Keyed::read(dir.join("memory.oom_control"))?.get("oom_kill")?.unwrap_or(0))
        })?,
        major_faults: stat.get("total_pgmajfault")?.unwrap_or(0),
    })
}

/// Reads a version 2 group: `cpu.stat`, `memory.stat` and `memory.events`
/// ([cgroup v2](https://docs.kernel.org/admin-guide/cgroup-v2.html#controllers)).
///
/// # Errors
///
/// When a file cannot be read or is not as documented.
pub fn read_v2(dir: &Path) -> Result<GroupCounters, FileError> {
    let cpu = Keyed::read(dir.join("cpu.stat"))?;
    let stat = Keyed::read(dir.join("memory.stat"))?;
    let shared = stat.require("shmem")?;
    // Kernels before 5.18 have no sum of kernel memory; these are its large parts.
    let kernel = match stat.get("kernel")? {
        Some(kernel) => kernel,
        None => ["kernel_stack", "pagetables", "percpu", "slab"]
            .iter()
            .try_fold(0, |sum, part| Ok(sum + stat.get(part)?.unwrap_or(0)))?,
    };
    Ok(GroupCounters {
        cpu: Duration::from_micros(cpu.require("usage_usec")?),
        periods: cpu.require("nr_periods")?,
        throttled_periods: cpu.require("nr_throttled")?,
        throttled: Duration::from_micros(cpu.require("throttled_usec")?),
        anonymous: stat.require("anon")?,
        shared,
        kernel,
        cache: stat.require("file")?.saturating_sub(shared),
        oom_kills: Keyed::read(dir.join("memory.events"))?.require("oom_kill")?,
        major_faults: stat.get("pgmajfault")?.unwrap_or(0),
    })
}

/// How long the quota of a process's group, or of one above it, has held it up so far: the most of them. Nothing where no quota
/// is seen from here. `root` is the root of the file system, `/` outside tests.
pub fn throttled(root: &Path, pid: u32) -> Option<Duration> {
    let folder = match Group::of_process(root, pid).ok()? {
        Group::V1(folders) => folders.cpu,
        Group::V2 { dir } => dir,
    };
    let stats = folder.ancestors().map_while(|folder| Keyed::read(folder.join("cpu.stat")).ok());
    let time = |stat: Keyed| match stat.get("throttled_time") {
        Ok(Some(ns)) => Some(Duration::from_nanos(ns)),
        _ => stat.get("throttled_usec").ok().flatten().map(Duration::from_micros),
    };
    stats.filter_map(time).max()
}
