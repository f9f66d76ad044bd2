//! Whether a control group can be made here that holds to its limits.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::getpid;
use stampede_cgroup::{Bound, DetectError, Group, GroupLimits, Hierarchy, QUOTA_PERIOD};
use stampede_core::{Finding, Severity, with_causes};

use super::{fine, found};
use crate::available_cpus;

/// Half a CPU and 64 MiB.
const MEMORY: u64 = 64 << 20;

/// Removing an empty group takes the kernel a moment.
const REMOVE_TIME: Duration = Duration::from_secs(2);

/// What came of the attempt.
pub(super) enum Attempt {
    /// The kernel holds the group to what was asked, by this version of control groups.
    Held(u32),
    /// There are no control groups that can be used.
    Unusable(DetectError),
    /// The kernel refused, or holds the group to something else.
    Refused(String),
}

/// Makes a group, limits it, reads the limits back and removes it.
pub(super) fn read() -> Attempt {
    let hierarchy = match Hierarchy::detect(Path::new("/")) {
        Ok(hierarchy) => hierarchy,
        Err(error) => return Attempt::Unusable(error),
    };
    let group = hierarchy.group(&format!("doctor-{}", getpid().as_raw_pid()));
    let held = hierarchy.create(&group).map_err(|error| with_causes(&error)).and_then(|()| held(&group));
    let removed = group.remove(Instant::now() + REMOVE_TIME).map_err(|error| with_causes(&error));
    match held.and(removed) {
        Ok(()) => Attempt::Held(if matches!(hierarchy, Hierarchy::V1(_)) { 1 } else { 2 }),
        Err(problem) => Attempt::Refused(problem),
    }
}

fn held(group: &Group) -> Result<(), String> {
    let limits = GroupLimits { runtime: QUOTA_PERIOD / 2, memory: MEMORY, cpus: available_cpus() };
    group.set_limits(&limits).map_err(|error| with_causes(&error))?;
    let in_force = group.read_limits().map_err(|error| with_causes(&error))?;
    let cpu = matches!(in_force.cpu, Bound::AtMost(quota) if quota.runtime * 2 == quota.period);
    let memory = matches!(in_force.memory, Bound::AtMost(bytes) if bytes == MEMORY);
    if cpu && memory {
        Ok(())
    } else {
        Err(format!("half a CPU and 64 MiB were requested, and the kernel reports {in_force:?}"))
    }
}

pub(super) fn judge(attempt: Attempt) -> Finding {
    const ID: &str = "limits";
    match attempt {
        Attempt::Held(version) => fine(ID, format!("CPU and memory limits work (cgroup v{version}; tested)")),
        Attempt::Unusable(error) => {
            let text = format!("CPU and memory cannot be limited: {}", with_causes(&error));
            found(ID, Severity::Error, text, error.advice())
        }
        Attempt::Refused(problem) => found(
            ID,
            Severity::Error,
            format!("CPU and memory cannot be limited: {problem}"),
            "run it as root, or as a user to whom systemd delegates control groups",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_limit_cannot_measure() {
        for (attempt, severity) in [
            (Attempt::Held(2), Severity::Info),
            (Attempt::Unusable(DetectError::NotMounted), Severity::Error),
            (Attempt::Refused("write cpu.max: permission denied".to_owned()), Severity::Error),
        ] {
            assert_eq!(judge(attempt).severity, severity);
        }
    }
}
