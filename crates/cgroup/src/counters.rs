//! What a group has used, and the memory that it uses now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::FileError;
use crate::group::{Group, with_those_below};
use crate::kernel_file::{Keyed, number, read_if_present, read_number};

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
    /// Bytes of kernel memory: stacks, page tables, slabs. Version 2 tells which of it is given up when memory is short (names and places
    /// of files), which is not in it.
    pub kernel: u64,
    /// Bytes of page cache, without shared memory.
    pub cache: u64,
    /// Processes that the kernel killed because a memory limit was reached.
    pub oom_kills: u64,
    /// Pages that had to be read from a disk before a process could go on, from files or from swap.
    pub major_faults: u64,
    /// Pages of files that were taken back for want of memory and read again; absent where the kernel does not count them.
    pub file_refaults: Option<u64>,
    /// How often a memory limit was reached, so that pages had to be taken back; absent where the kernel does not count that.
    pub limit_hits: Option<u64>,
    /// Bytes in swap; absent where the kernel does not account for swap.
    pub swap: Option<u64>,
}

/// The keys of pages of files that were taken back and read again: before Linux 5.9 those of anonymous memory are in the same sum.
const REFAULTS: [&str; 2] = ["workingset_refault_file", "workingset_refault"];

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
/// `memory.kmem.usage_in_bytes`, `memory.failcnt`, `memory.memsw.failcnt` and `memory.oom_control`
/// ([memory](https://docs.kernel.org/admin-guide/cgroup-v1/memory.html)).
///
/// # Errors
///
/// When a file cannot be read or is not as documented. What older kernels lack (`total_shmem`, kernel memory,
/// `oom_kill`, `total_pgmajfault`) counts as 0; what has no sense as 0 is absent.
pub fn read_v1(cpu: &Path, cpuacct: &Path, memory: &Path) -> Result<GroupCounters, FileError> {
    let bandwidth = Keyed::read(cpu.join("cpu.stat"))?;
    let stat = Keyed::read(memory.join("memory.stat"))?;
    let shared = stat.get("total_shmem")?.unwrap_or(0);
    let kernel = memory.join("memory.kmem.usage_in_bytes");
    let folders = with_those_below(memory);
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
        oom_kills: folders.iter().try_fold(0, |sum, dir| {
            Ok(sum + Keyed::read(dir.join("memory.oom_control"))?.get("oom_kill")?.unwrap_or(0))
        })?,
        major_faults: stat.get("total_pgmajfault")?.unwrap_or(0),
        file_refaults: first_of(&stat, &REFAULTS.map(|key| format!("total_{key}")))?,
        limit_hits: limit_hits_v1(&folders)?,
        swap: stat.get("total_swap")?,
    })
}

/// How often the limits of these groups were reached, that of memory with swap too: where both are the same, it is the one that is
/// reached. Absent before the first time: there are kernels (Linux 6.18 is one) that have the files and count nothing.
fn limit_hits_v1(folders: &[PathBuf]) -> Result<Option<u64>, FileError> {
    let mut hits = None;
    for path in folders.iter().flat_map(|dir| ["memory.failcnt", "memory.memsw.failcnt"].map(|name| dir.join(name))) {
        if let Some(text) = read_if_present(&path)? {
            *hits.get_or_insert(0) += number(&path, 1, text.trim())?;
        }
    }
    Ok(hits.filter(|hits| *hits > 0))
}

/// The number behind the first of these keys that the kernel has.
fn first_of(stat: &Keyed, keys: &[impl AsRef<str>]) -> Result<Option<u64>, FileError> {
    for key in keys {
        if let Some(value) = stat.get(key.as_ref())? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Reads a version 2 group: `cpu.stat`, `memory.stat`, `memory.events` and `memory.swap.current`
/// ([cgroup v2](https://docs.kernel.org/admin-guide/cgroup-v2.html#controllers)).
///
/// # Errors
///
/// When a file cannot be read or is not as documented.
pub fn read_v2(dir: &Path) -> Result<GroupCounters, FileError> {
    let cpu = Keyed::read(dir.join("cpu.stat"))?;
    let stat = Keyed::read(dir.join("memory.stat"))?;
    let shared = stat.require("shmem")?;
    // Kernels before 5.18 have no sum of kernel memory; these are its large parts. Names and places of files are given up when memory is
    // short, as page cache is.
    let given_up = stat.get("slab_reclaimable")?.unwrap_or(0);
    let kernel = match stat.get("kernel")? {
        Some(kernel) => kernel.saturating_sub(given_up),
        None => ["kernel_stack", "pagetables", "percpu", "slab"]
            .iter()
            .try_fold(0_u64, |sum, part| Ok(sum + stat.get(part)?.unwrap_or(0)))?
            .saturating_sub(given_up),
    };
    let events = Keyed::read(dir.join("memory.events"))?;
    let swap = dir.join("memory.swap.current");
    let swapped = read_if_present(&swap)?.map(|text| number(&swap, 1, text.trim())).transpose()?;
    Ok(GroupCounters {
        cpu: Duration::from_micros(cpu.require("usage_usec")?),
        periods: cpu.require("nr_periods")?,
        throttled_periods: cpu.require("nr_throttled")?,
        throttled: Duration::from_micros(cpu.require("throttled_usec")?),
        anonymous: stat.require("anon")?,
        shared,
        kernel,
        cache: stat.require("file")?.saturating_sub(shared),
        oom_kills: events.require("oom_kill")?,
        major_faults: stat.get("pgmajfault")?.unwrap_or(0),
        file_refaults: first_of(&stat, &REFAULTS)?,
        // Those of the groups below are in it, and `high` is a limit of others: Stampede sets none.
        limit_hits: events.get("max")?,
        swap: swapped,
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
