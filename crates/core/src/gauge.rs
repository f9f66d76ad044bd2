//! What is sampled while a deployment runs.

use serde::{Deserialize, Serialize};

/// A figure that is sampled; its name says its unit. Counters count from the start of what tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// Workers that work on a request.
    BusyWorkers,
    /// Workers that wait for one.
    IdleWorkers,
    /// Workers that are bound to a connection and wait for its next request.
    KeptWorkers,
    /// All workers.
    TotalWorkers,
    /// Requests that wait for a worker.
    Queue,
    /// Requests that have come and are not yet answered.
    InFlight,
    /// Open connections.
    Connections,
    /// Counter: connections that were accepted.
    Accepted,
    /// Counter: requests.
    Requests,
    /// Counter: workers that were replaced.
    Restarts,
    /// Counter: how often the pool was to grow beyond its largest size.
    MaxChildrenReached,
    /// Resident memory of all workers together; pages that they share are counted for each.
    WorkerMemoryBytes,
    /// Counter: CPU time.
    CpuUs,
    /// Counter: quota periods in which something ran.
    Periods,
    /// Counter: quota periods in which the quota ran out.
    ThrottledPeriods,
    /// Counter: time that runnable threads waited for quota.
    ThrottledUs,
    /// Anonymous memory.
    AnonymousBytes,
    /// Shared memory and files in memory.
    SharedBytes,
    /// Kernel memory.
    KernelBytes,
    /// Page cache.
    CacheBytes,
    /// Counter: processes killed for memory.
    OomKills,
    /// Counter: pages that had to be read from a disk before a process could go on, from files or from swap.
    MajorFaults,
    /// Counter: pages of files that were taken back for want of memory and read again.
    FileRefaults,
    /// Counter: how often the memory limit was reached, so that pages had to be taken back.
    MemoryLimitHits,
    /// Memory in swap.
    SwapBytes,
    /// Counter: pages that were read from swap.
    SwapIns,
    /// Counter: pages that were written to swap.
    SwapOuts,
    /// Memory of one process that it shares with no other.
    PrivateBytes,
    /// All memory of one process, with what it shares (RSS).
    ResidentBytes,
    /// Counter: time in which some task waited for a processor.
    CpuPressureUs,
    /// Counter: time in which some task waited for memory.
    MemoryPressureUs,
    /// Counter: time in which some task waited for a disk.
    IoPressureUs,
    /// Connections that the kernel has made and no process has accepted yet.
    AcceptQueue,
    /// Counter: connections that the kernel refused because an accept queue was full.
    ListenOverflows,
    /// Counter: connections that the kernel refused for any reason.
    ListenDrops,
    /// Counter: time of all processors together in which they had nothing to do, or only what gives way to all else.
    IdleUs,
    /// Counter: processes and threads that were started.
    Forks,
    /// Counter: time of all processors together that a hypervisor gave to others while there was something to do.
    StolenUs,
    /// Queries that a database works on, or that wait in it.
    Queries,
    /// Of these, those that wait for a lock that another transaction holds.
    LockWaits,
    /// Of these, those that wait for the disk or the log.
    IoWaits,
    /// Transactions that are open and wait for their client.
    IdleTransactions,
    /// Requests that wait for the lock of a session's file.
    SessionLockWaits,
    /// Connections that the kernel lets wait to be accepted at one address: the backlog that the server asked for, no more than
    /// `net.core.somaxconn` ([listen(2)](https://man7.org/linux/man-pages/man2/listen.2.html)).
    AcceptQueueLimit,
    /// `net.core.somaxconn`, where the connections are accepted.
    LongestAcceptQueue,
    /// Connections that the kernel tracks for rules of a firewall or of containers.
    TrackedConnections,
    /// As many as it tracks at most: `net.netfilter.nf_conntrack_max`.
    TrackedConnectionsLimit,
    /// Counter: packets that were dropped since no more connections could be tracked, or none could that had an answer.
    TrackingDrops,
}

impl Gauge {
    /// Whether it counts, so that only its growth means something.
    pub fn is_counter(self) -> bool {
        matches!(
            self,
            Self::Accepted
                | Self::Requests
                | Self::Restarts
                | Self::MaxChildrenReached
                | Self::CpuUs
                | Self::Periods
                | Self::ThrottledPeriods
                | Self::ThrottledUs
                | Self::OomKills
                | Self::MajorFaults
                | Self::FileRefaults
                | Self::MemoryLimitHits
                | Self::SwapIns
                | Self::SwapOuts
                | Self::CpuPressureUs
                | Self::MemoryPressureUs
                | Self::IoPressureUs
                | Self::ListenOverflows
                | Self::ListenDrops
                | Self::IdleUs
                | Self::Forks
                | Self::StolenUs
                | Self::TrackingDrops
        )
    }
}
