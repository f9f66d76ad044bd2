//! What the kernel tells of the control group that holds a run.

use std::collections::BTreeSet;
use std::time::Duration;

use stampede_cgroup::{Bound, FileError, Group, QUOTA_PERIOD, V1Folders};
use stampede_core::{Bytes, Cpus, EnforcedLimits, Limit, Limits, MeterSource, Part, Topology, with_causes};
use stampede_seam::ReadBackError;

use super::process_table;
use crate::log_tail::with_log;

/// A problem with what explains it: processes killed for memory, and the end of the log.
pub(crate) fn explain(group: Option<&Group>, problem: &str, log: &[String]) -> String {
    let counters = group.and_then(|group| group.read_counters().ok());
    match counters.map_or(0, |counters| counters.oom_kills) {
        0 => with_log(problem, log),
        kills => {
            let limit = match enforced(group).map(|enforced| enforced.memory) {
                Ok(Limit::AtMost(bytes)) => format!(" of {bytes}"),
                _ => String::new(),
            };
            with_log(&format!("{problem}; processes killed at the memory limit{limit}: {kills}"), log)
        }
    }
}

pub(crate) fn source(group: &Group) -> MeterSource {
    match group.clone() {
        Group::V1(V1Folders { cpu, cpuacct, memory, cpuset: _, freezer: _, tracking: _ }) => {
            MeterSource::CgroupV1 { cpu, cpuacct, memory }
        }
        Group::V2 { dir } => MeterSource::CgroupV2 { dir },
    }
}

/// Limits as a group is told them.
pub(crate) fn told(limits: &Limits, cpus: &[u32]) -> stampede_cgroup::GroupLimits {
    let Limits { cpus: share, memory } = limits;
    stampede_cgroup::GroupLimits { runtime: share.quota(QUOTA_PERIOD), memory: memory.get(), cpus: cpus.to_vec() }
}

/// Makes the groups of the parts below that of the run, which is limited already.
pub(crate) fn divide(group: &Group, parts: &[Part], cpus: &[u32]) -> Result<(), FileError> {
    for part in parts {
        let below = group.create_child(&part.name)?;
        if let Some(share) = &part.share {
            below.set_limits(&told(share, cpus))?;
        }
    }
    Ok(())
}

/// What the kernel holds a group to; nothing where there is none.
pub(crate) fn enforced(group: Option<&Group>) -> Result<EnforcedLimits, ReadBackError> {
    let Some(group) = group else {
        return Ok(EnforcedLimits { cpus: Limit::Unlimited, period: Duration::ZERO, memory: Limit::Unlimited });
    };
    let in_force = group.read_limits().map_err(|error| ReadBackError(with_causes(&error)))?;
    let (cpus, period) = match in_force.cpu {
        Bound::Unlimited => (Limit::Unlimited, Duration::ZERO),
        Bound::AtMost(quota) => {
            let cores = quota.runtime.as_secs_f64() / quota.period.as_secs_f64();
            let cpus = Cpus::from_millis((cores * 1000.0).round() as u32);
            (Limit::AtMost(cpus), quota.period)
        }
    };
    let memory = match in_force.memory {
        Bound::Unlimited => Limit::Unlimited,
        Bound::AtMost(bytes) => Limit::AtMost(Bytes::new(bytes)),
    };
    Ok(EnforcedLimits { cpus, period, memory })
}

/// The processes of a run, or where it has parts, of its replicas, that are children of processes of the same program.
pub(crate) fn forks(group: Option<&Group>, parts: &[String]) -> BTreeSet<u32> {
    let Some(group) = group else { return BTreeSet::new() };
    let replicas = parts.iter().filter(|part| Topology::is_replica(part)).map(|part| group.child(part));
    let of_server: Vec<Group> = if parts.is_empty() { vec![group.clone()] } else { replicas.collect() };
    let members = of_server.iter().flat_map(|group| group.processes().unwrap_or_default());
    let forks = members.filter(|pid| process_table::is_fork(*pid));
    forks.map(|pid| pid.as_raw_pid().cast_unsigned()).collect()
}
