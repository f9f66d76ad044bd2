//! Engines that run without root: from where they are used, and whether they hold containers to limits.
//!
//! Such an engine is root of a user namespace: the files that containers see and the networks that they are in belong there. So
//! Stampede runs there as well, where it can prepare the files and reach the containers' own addresses.
//! <https://docs.docker.com/engine/security/rootless/>

use std::fs;

use bollard::models::{SystemInfo, SystemInfoCgroupDriverEnum};
use rustix::process::geteuid;
use stampede_core::{Finding, Severity};

use super::error::DockerError;

/// Whether an engine holds its containers to limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// It does, and what is in force is read from their control groups.
    Limits,
    /// It cannot: nothing that is measured there decides anything.
    Nothing,
}

/// Whether this process is root of a user namespace of its own, as
/// [`uid_map`](https://man7.org/linux/man-pages/man7/user_namespaces.7.html) shows it.
pub(crate) fn is_root_of_a_namespace() -> bool {
    geteuid().is_root() && outside_number().is_some_and(|number| number != 0)
}

/// The number that root of this process's user namespace has outside of it.
pub(crate) fn outside_number() -> Option<u32> {
    outside(&fs::read_to_string("/proc/self/uid_map").ok()?)
}

/// The number that root of a user namespace has outside of it.
fn outside(uid_map: &str) -> Option<u32> {
    uid_map.lines().find_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (inside, outside) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        (inside == 0).then_some(outside)
    })
}

/// Whether an engine without root is used: from within its namespaces alone. On control groups of version 1, or without a share of
/// them that is its own, it holds nothing to limits. <https://docs.docker.com/engine/security/rootless/tips/#limiting-resources>
pub(crate) fn judge(info: &SystemInfo, is_podman: bool, is_within: bool) -> Result<Holding, DockerError> {
    if !is_within {
        let how = if is_podman {
            "podman unshare --rootless-netns stampede ..."
        } else {
            "nsenter --user --preserve-credentials --net --target $(cat $XDG_RUNTIME_DIR/docker.pid) stampede ..."
        };
        return Err(DockerError::Rootless(how));
    }
    let lacks = |has: Option<bool>| has == Some(false);
    let is_none = info.cgroup_driver == Some(SystemInfoCgroupDriverEnum::NONE);
    let is_held = !is_none && !lacks(info.cpu_cfs_quota) && !lacks(info.cpu_cfs_period) && !lacks(info.memory_limit);
    // Podman says of the kernel what it can, not of itself.
    let is_of_version_1 = info.cgroup_version.as_ref().is_some_and(|version| version.to_string() == "1");
    Ok(if is_held && !is_of_version_1 { Holding::Limits } else { Holding::Nothing })
}

/// What is said before the first trial where nothing is held to limits.
pub(crate) fn unheld() -> Finding {
    Finding {
        id: "limits-not-enforced".to_owned(),
        severity: Severity::Error,
        text: "the engine runs without root and without control groups of its own: it holds containers to no limits of CPU and memory"
            .to_owned(),
        evidence: std::collections::BTreeMap::new(),
        advice: "use an engine of root, or control groups of version 2 that systemd delegates to this user".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::SystemInfoCgroupVersionEnum;

    use super::*;

    #[test]
    fn root_of_a_namespace_is_another_user_outside() {
        for (map, number) in [
            ("         0          0 4294967295\n", Some(0)),
            ("         0       1001          1\n         1     100000      65536\n", Some(1001)),
            ("      1001       1001          1\n", None),
            ("", None),
        ] {
            assert_eq!(outside(map), number, "{map}");
        }
    }

    #[test]
    fn engines_without_root_are_used_from_within_and_hold_what_they_can() {
        let info = SystemInfo {
            cgroup_driver: Some(SystemInfoCgroupDriverEnum::SYSTEMD),
            cgroup_version: Some(SystemInfoCgroupVersionEnum::_2),
            ..Default::default()
        };
        let none = SystemInfo { cgroup_driver: Some(SystemInfoCgroupDriverEnum::NONE), ..info.clone() };
        let first = SystemInfo {
            cgroup_driver: Some(SystemInfoCgroupDriverEnum::CGROUPFS),
            cgroup_version: Some(SystemInfoCgroupVersionEnum::_1),
            ..Default::default()
        };
        let no_memory = SystemInfo { memory_limit: Some(false), ..info.clone() };
        for (what, info, holding) in [
            ("a share of version 2", info.clone(), Holding::Limits),
            ("no control groups", none, Holding::Nothing),
            ("version 1", first, Holding::Nothing),
            ("no controller of memory", no_memory, Holding::Nothing),
        ] {
            assert_eq!(judge(&info, false, true).unwrap(), holding, "{what}");
        }
        for (is_podman, how) in [(false, "nsenter --user"), (true, "podman unshare --rootless-netns")] {
            let refused = judge(&info, is_podman, false).unwrap_err().to_string();
            assert!(refused.contains(how), "{refused}");
        }
        assert_eq!((unheld().id.as_str(), unheld().severity), ("limits-not-enforced", Severity::Error));
    }
}
