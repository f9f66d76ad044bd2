//! Where a running deployment's use of resources can be read, and what is read there.

use std::ops::AddAssign;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where to read counters. Data of a running deployment; the `observe` crate decodes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeterSource {
    /// The folders of a version 1 control group, one for each controller.
    CgroupV1 {
        /// Folder in the `cpu` hierarchy.
        cpu: PathBuf,
        /// Folder in the `cpuacct` hierarchy.
        cpuacct: PathBuf,
        /// Folder in the `memory` hierarchy.
        memory: PathBuf,
    },
    /// The folder of a version 2 control group.
    CgroupV2 {
        /// The folder.
        dir: PathBuf,
    },
}

/// Counters of a deployment at one instant; each counts from the deployment's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// CPU time used.
    pub cpu: Duration,
    /// Quota periods in which something ran.
    pub periods: u64,
    /// Quota periods in which the quota ran out.
    pub throttled_periods: u64,
    /// Time that runnable threads waited for the next period, summed over processors.
    pub throttled: Duration,
    /// Memory in use now.
    pub memory: Memory,
    /// Processes that the kernel killed because the memory limit was reached.
    pub oom_kills: u64,
    /// Pages that had to be read from a disk before a process could go on, from files or from swap.
    pub major_faults: u64,
    /// Pages of files that were taken back for want of memory and read again; absent where the kernel does not count them.
    pub file_refaults: Option<u64>,
    /// How often the memory limit was reached, so that pages had to be taken back; absent where the kernel does not count that.
    pub limit_hits: Option<u64>,
    /// Bytes in swap now; absent where the kernel does not account for swap.
    pub swap: Option<u64>,
}

/// With those of another part of the deployment.
impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Self {
            cpu,
            periods,
            throttled_periods,
            throttled,
            memory: Memory { anonymous, shared, kernel, cache },
            oom_kills,
            major_faults,
            file_refaults,
            limit_hits,
            swap,
        } = other;
        // The sum of what is known.
        let known =
            |own: Option<u64>, other: Option<u64>| own.into_iter().chain(other).reduce(|own, other| own + other);
        self.cpu += cpu;
        self.periods += periods;
        self.throttled_periods += throttled_periods;
        self.throttled += throttled;
        self.memory.anonymous += anonymous;
        self.memory.shared += shared;
        self.memory.kernel += kernel;
        self.memory.cache += cache;
        self.oom_kills += oom_kills;
        self.major_faults += major_faults;
        self.file_refaults = known(self.file_refaults, file_refaults);
        self.limit_hits = known(self.limit_hits, limit_hits);
        self.swap = known(self.swap, swap);
    }
}

/// Memory in use, in bytes, by what the kernel can and cannot take back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Anonymous memory.
    pub anonymous: u64,
    /// Shared memory and files in memory (PHP's opcode cache is one).
    pub shared: u64,
    /// Kernel memory: stacks, sockets, page tables.
    pub kernel: u64,
    /// Page cache that the kernel can drop.
    pub cache: u64,
}

impl Memory {
    /// What the deployment needs: anonymous, shared and kernel memory, without page cache.
    pub fn needed(&self) -> u64 {
        self.anonymous + self.shared + self.kernel
    }
}
