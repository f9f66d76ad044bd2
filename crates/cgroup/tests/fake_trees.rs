//! Detection, limits and counters on trees of plain files that look like the kernel's.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use stampede_cgroup::{Bound, CpuQuota, DetectError, Group, GroupLimits, Hierarchy, InForce, read_v1, read_v2};
use tempfile::TempDir;

/// A root folder with the given files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn mount(point: &str, root: &str, kind: &str, options: &str) -> String {
    format!("30 20 0:29 {root} {point} rw,relatime shared:1 - {kind} {kind} {options}\n")
}

const LIMITS: GroupLimits = GroupLimits { runtime: Duration::from_millis(50), memory: 64 << 20, cpus: Vec::new() };

#[test]
fn separate_v1_controllers_in_a_container_are_found_through_their_mounts_roots() {
    let mountinfo = [
        mount("/sys/fs/cgroup/cpu", "/docker/ab", "cgroup", "rw,cpu"),
        mount("/sys/fs/cgroup/cpuacct", "/docker/ab", "cgroup", "rw,cpuacct"),
        mount("/sys/fs/cgroup/memory", "/", "cgroup", "rw,memory"),
        mount("/sys/fs/cgroup/unified", "/", "cgroup2", "rw"),
    ]
    .concat();
    let root = tree(&[
        ("proc/self/mountinfo", &mountinfo),
        ("proc/self/cgroup", "4:memory:/m\n2:cpuacct:/docker/ab\n1:cpu:/docker/ab/c\n0::/\n"),
        ("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpuacct/cpuacct.usage", "0\n"),
        ("sys/fs/cgroup/memory/m/memory.stat", ""),
        ("sys/fs/cgroup/unified/cgroup.controllers", "\n"),
    ]);
    let hierarchy = Hierarchy::detect(root.path()).unwrap();
    let Group::V1(folders) = hierarchy.group("r1") else { panic!("{hierarchy:?}") };
    let at = |path: &str| root.path().join("sys/fs/cgroup").join(path);
    assert_eq!(folders.cpu, at("cpu/c/stampede/r1"));
    assert_eq!(folders.cpuacct, at("cpuacct/stampede/r1"));
    assert_eq!(folders.memory, at("memory/m/stampede/r1"));
    assert_eq!(folders.tracking, Some(at("unified/stampede/r1")));
    assert_eq!((folders.cpuset, folders.freezer), (None, None));
}

#[test]
fn the_group_of_another_process_is_found_where_this_one_sees_it() {
    let v1 = [
        mount("/sys/fs/cgroup/cpu,cpuacct", "/", "cgroup", "rw,cpu,cpuacct"),
        mount("/sys/fs/cgroup/memory", "/", "cgroup", "rw,memory"),
    ]
    .concat();
    let root = tree(&[
        ("proc/self/mountinfo", &v1),
        ("proc/self/cgroup", "2:memory:/\n1:cpu,cpuacct:/\n"),
        ("proc/77/cgroup", "2:memory:/docker/ab\n1:cpu,cpuacct:/docker/ab\n"),
    ]);
    let Group::V1(folders) = Group::of_process(root.path(), 77).unwrap() else { panic!("it is version 1") };
    assert_eq!(folders.memory, root.path().join("sys/fs/cgroup/memory/docker/ab"));
    assert_eq!(folders.cpu, root.path().join("sys/fs/cgroup/cpu,cpuacct/docker/ab"));
    assert!(Group::of_process(root.path(), 78).is_err());

    let scope = ("proc/77/cgroup", "0::/system.slice/docker-ab.scope\n");
    let root = v2_tree("/user", &[scope]);
    let dir = root.path().join("cg/system.slice/docker-ab.scope");
    assert_eq!(Group::of_process(root.path(), 77).unwrap(), Group::V2 { dir });
}

#[test]
fn a_v1_group_is_made_filled_limited_and_joined_also_where_controllers_share_a_folder() {
    let mountinfo = [
        mount("/sys/fs/cgroup/cpu,cpuacct", "/", "cgroup", "rw,cpu,cpuacct"),
        mount("/sys/fs/cgroup/memory", "/", "cgroup", "rw,memory"),
        mount("/sys/fs/cgroup/cpuset", "/", "cgroup", "rw,cpuset"),
    ]
    .concat();
    let root = tree(&[
        ("proc/self/mountinfo", &mountinfo),
        ("proc/self/cgroup", "3:memory:/\n2:cpu,cpuacct:/\n1:cpuset:/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/cpuset/cpuset.mems", "0\n"),
        ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"),
    ]);
    let hierarchy = Hierarchy::detect(root.path()).unwrap();
    let group = hierarchy.group("r1");
    hierarchy.create(&group).unwrap();
    group.weigh().unwrap();
    group.set_limits(&GroupLimits { cpus: vec![1, 3], ..LIMITS }).unwrap();
    group.add_process(rustix::process::getpid()).unwrap();

    let read = |path: &str| fs::read_to_string(root.path().join("sys/fs/cgroup").join(path));
    let own_pid = std::process::id().to_string();
    for (path, text) in [
        ("cpuset/stampede/cpuset.mems", "0"),
        ("cpuset/stampede/cpuset.cpus", "0-3"),
        ("cpuset/stampede/r1/cpuset.mems", "0"),
        ("cpuset/stampede/r1/cpuset.cpus", "1,3"),
        ("cpu,cpuacct/stampede/cpu.shares", "262144"),
        ("cpu,cpuacct/stampede/r1/cpu.shares", "262144"),
        ("cpu,cpuacct/stampede/r1/cpu.cfs_period_us", "100000"),
        ("cpu,cpuacct/stampede/r1/cpu.cfs_quota_us", "50000"),
        ("memory/stampede/r1/memory.limit_in_bytes", "67108864"),
        ("memory/stampede/r1/memory.swappiness", "0"),
        ("memory/stampede/r1/cgroup.procs", &own_pid),
        ("cpu,cpuacct/stampede/r1/cgroup.procs", &own_pid),
        ("cpuset/stampede/r1/cgroup.procs", &own_pid),
    ] {
        assert_eq!(read(path).unwrap(), text, "{path}");
    }
    assert_eq!(group.processes().unwrap(), [rustix::process::getpid()].into());
    assert_eq!(
        group.read_limits().unwrap(),
        InForce {
            cpu: Bound::AtMost(CpuQuota { runtime: Duration::from_millis(50), period: Duration::from_millis(100) }),
            memory: Bound::AtMost(64 << 20),
        }
    );
    let error = hierarchy.create(&group).unwrap_err();
    assert!(error.to_string().starts_with("create /"), "{error}");
}

/// The files of a version 2 hierarchy, mounted at `/cg`, with the process in `group`.
fn v2_tree(group: &str, more: &[(&str, &str)]) -> TempDir {
    let mountinfo = mount("/cg", "/", "cgroup2", "rw");
    let own = format!("0::{group}\n");
    let mut files = vec![("proc/self/mountinfo", mountinfo.as_str()), ("proc/self/cgroup", own.as_str())];
    files.extend(more);
    tree(&files)
}

#[test]
fn a_v2_process_that_is_alone_moves_to_a_leaf_and_hands_controllers_down() {
    let own_pid = std::process::id().to_string();
    let root = v2_tree(
        "/s.scope",
        &[
            ("cg/s.scope/cgroup.controllers", "cpuset cpu io memory pids\n"),
            ("cg/s.scope/cgroup.type", "domain\n"),
            ("cg/s.scope/cgroup.subtree_control", "\n"),
            ("cg/s.scope/cgroup.procs", &own_pid),
            ("cg/s.scope/stampede/cgroup.controllers", "cpuset cpu memory\n"),
        ],
    );
    let read = |path: &str| fs::read_to_string(root.path().join("cg/s.scope").join(path));
    let hierarchy = Hierarchy::detect(root.path()).unwrap();
    hierarchy.settle().unwrap();
    // Before any group is made: coming under a cpuset makes the kernel forget where threads were pinned.
    assert_eq!(read("stampede-self/cgroup.procs").unwrap(), own_pid);
    assert_eq!(read("cgroup.subtree_control").unwrap(), "+cpuset +cpu +memory");
    assert!(!root.path().join("cg/s.scope/stampede/r1").exists());
    let group = hierarchy.group("r1");
    hierarchy.create(&group).unwrap();
    group.weigh().unwrap();
    group.set_limits(&LIMITS).unwrap();
    for (path, text) in [
        ("stampede-self/cgroup.procs", own_pid.as_str()),
        ("cgroup.subtree_control", "+cpuset +cpu +memory"),
        ("stampede/cgroup.subtree_control", "+cpuset +cpu +memory"),
        ("stampede/cpu.weight", "10000"),
        ("stampede/r1/cpu.weight", "10000"),
        ("stampede/r1/cpu.max", "50000 100000"),
        ("stampede/r1/memory.max", "67108864"),
    ] {
        assert_eq!(read(path).unwrap(), text, "{path}");
    }
}

#[test]
fn a_v2_process_in_its_leaf_uses_the_group_above_it_and_a_tighter_parent_is_what_is_in_force() {
    let root = v2_tree(
        "/s.scope/stampede-self",
        &[
            ("cg/s.scope/cgroup.controllers", "cpu memory\n"),
            ("cg/s.scope/cgroup.type", "domain\n"),
            ("cg/s.scope/cgroup.subtree_control", "cpu memory\n"),
            ("cg/s.scope/cpu.max", "20000 100000\n"),
            ("cg/s.scope/memory.max", "max\n"),
            ("cg/s.scope/stampede/cpu.max", "max 100000\n"),
            ("cg/s.scope/stampede/memory.max", "max\n"),
            ("cg/s.scope/stampede/r1/cpu.max", "50000 100000\n"),
            ("cg/s.scope/stampede/r1/memory.max", "67108864\n"),
        ],
    );
    let group = Hierarchy::detect(root.path()).unwrap().group("r1");
    assert_eq!(
        group.read_limits().unwrap(),
        InForce {
            cpu: Bound::AtMost(CpuQuota { runtime: Duration::from_millis(20), period: Duration::from_millis(100) }),
            memory: Bound::AtMost(64 << 20),
        }
    );
}

#[test]
fn an_unusable_hierarchy_says_why_and_what_helps() {
    let none = tree(&[("proc/self/mountinfo", ""), ("proc/self/cgroup", "")]);
    let error = Hierarchy::detect(none.path()).unwrap_err();
    assert!(matches!(error, DetectError::NotMounted) && !error.ends_with_delegation(), "{error}");

    let shared = v2_tree(
        "/session",
        &[
            ("cg/session/cgroup.controllers", "cpu memory\n"),
            ("cg/session/cgroup.type", "domain\n"),
            ("cg/session/cgroup.subtree_control", "\n"),
            ("cg/session/cgroup.procs", "1\n"),
        ],
    );
    let error = Hierarchy::detect(shared.path()).unwrap_err();
    assert!(matches!(error, DetectError::NotAlone(_)), "{error}");
    assert!(error.ends_with_delegation());
    assert!(error.advice().contains("systemd-run --scope -p \"Delegate=cpu memory\""));

    let bare = v2_tree("/", &[("cg/cgroup.controllers", "pids\n")]);
    let error = Hierarchy::detect(bare.path()).unwrap_err();
    assert!(error.to_string().ends_with("has no controller cpu"), "{error}");
}

#[test]
fn counters_of_both_versions_are_read() {
    let root = tree(&[
        ("cpu/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\n"),
        ("cpuacct/cpuacct.usage", "123456789\n"),
        (
            "memory/memory.stat",
            "cache 1\nrss 2\nworkingset_refault_file 1\ntotal_cache 900\ntotal_rss 300\ntotal_shmem 200\n\
             total_pgmajfault 3\ntotal_workingset_refault_anon 8\ntotal_workingset_refault_file 6\ntotal_swap 4096\n",
        ),
        ("memory/memory.kmem.usage_in_bytes", "50\n"),
        ("memory/memory.failcnt", "0\n"),
        ("memory/memory.memsw.failcnt", "5\n"),
        ("memory/part/memory.failcnt", "2\n"),
        ("memory/part/memory.oom_control", "oom_kill 0\n"),
        ("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ("v2/cpu.stat", "usage_usec 7\nuser_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n"),
        (
            "v2/memory.stat",
            "anon 300\nfile 900\nkernel 65\nslab_reclaimable 15\nshmem 200\npgmajfault 3\nworkingset_refault_file 6\n",
        ),
        ("v2/memory.swap.current", "4096\n"),
        ("v2/memory.events", "low 0\nmax 7\noom 3\noom_kill 2\n"),
        ("old/cpu.stat", "usage_usec 7\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
        (
            "old/memory.stat",
            "anon 1\nfile 1\nkernel_stack 16\nslab 8\nslab_reclaimable 3\nshmem 0\nworkingset_refault 9\n",
        ),
        ("old/memory.events", "oom_kill 0\n"),
    ]);
    let at = |name: &str| root.path().join(name);
    let v1 = read_v1(&at("cpu"), &at("cpuacct"), &at("memory")).unwrap();
    let v2 = read_v2(&at("v2")).unwrap();
    assert_eq!(v1.cpu, Duration::from_nanos(123_456_789));
    assert_eq!(v2.cpu, Duration::from_micros(7));
    for counters in [v1, v2] {
        assert_eq!((counters.periods, counters.throttled_periods), (10, 4));
        assert_eq!(counters.throttled, Duration::from_millis(5));
        assert_eq!((counters.anonymous, counters.shared), (300, 200));
        assert_eq!((counters.kernel, counters.cache), (50, 700));
        assert_eq!((counters.oom_kills, counters.major_faults), (2, 3));
        assert_eq!((counters.file_refaults, counters.limit_hits, counters.swap), (Some(6), Some(7), Some(4096)));
    }
    // What a kernel does not count is absent: 0 would say that there was none.
    let old = read_v2(&at("old")).unwrap();
    assert_eq!((old.kernel, old.file_refaults, old.limit_hits, old.swap), (21, Some(9), None, None));
}

#[test]
fn malformed_files_are_named_with_their_line() {
    let root = tree(&[
        ("cpu.stat", "usage_usec 7\nnr_periods many\nnr_throttled 4\n"),
        ("memory.stat", "anon 1\nfile 1\nkernel 1\nshmem 0\n"),
        ("memory.events", "oom_kill 0\n"),
        ("cpu.max", "sixty\n"),
        ("empty/memory.stat", ""),
        ("empty/cpu.stat", ""),
    ]);
    let end = |error: &dyn std::error::Error, text: &str| {
        assert!(error.to_string().ends_with(text), "{error}");
    };
    end(&read_v2(root.path()).unwrap_err(), "cpu.stat:2: \"many\" is not a whole number");
    let dir = root.path().to_owned();
    end(&Group::V2 { dir }.read_limits().unwrap_err(), "cpu.max:1: \"sixty\" is not a quota and its period");
    end(&read_v2(&root.path().join("empty")).unwrap_err(), "empty/memory.stat: there is no line shmem");
    end(&read_v2(Path::new("/nowhere")).unwrap_err(), "read /nowhere/cpu.stat");
}

#[test]
fn a_v2_group_hands_its_controllers_down_before_a_group_is_made_below() {
    let root = tree(&[("g/cgroup.controllers", "cpuset cpu io memory pids\n"), ("g/cgroup.procs", "")]);
    let group = Group::V2 { dir: root.path().join("g") };
    let child = group.create_child("replica-1").unwrap();
    assert_eq!(child, Group::V2 { dir: root.path().join("g/replica-1") });
    let handed = fs::read_to_string(root.path().join("g/cgroup.subtree_control")).unwrap();
    assert_eq!(handed, "+cpuset +cpu +memory");

    // A process below is one of the group's.
    fs::write(root.path().join("g/replica-1/cgroup.procs"), "4711\n").unwrap();
    assert_eq!(group.processes().unwrap().len(), 1);
    assert_eq!(child.processes().unwrap(), group.processes().unwrap());
}

#[test]
fn what_is_in_a_v2_group_makes_room_for_groups_below_it() {
    let root = tree(&[("g/cgroup.controllers", "cpu memory\n"), ("g/cgroup.procs", "4711\n")]);
    Group::V2 { dir: root.path().join("g") }.vacate("first").unwrap();
    // The kernel takes it as an order to move the process there.
    assert_eq!(fs::read_to_string(root.path().join("g/first/cgroup.procs")).unwrap(), "4711");
}

#[test]
fn a_container_s_control_groups_are_mounted_writable_and_others_need_root() {
    for (kind, part) in [
        (io::ErrorKind::ReadOnlyFilesystem, "-v /sys/fs/cgroup:/sys/fs/cgroup:rw"),
        (io::ErrorKind::PermissionDenied, "root"),
    ] {
        let path = PathBuf::from("/sys/fs/cgroup/cpu");
        for error in [
            DetectError::NotWritableV1 { path: path.clone(), source: kind.into() },
            DetectError::NotWritable { path: path.clone(), source: kind.into() },
        ] {
            assert!(error.advice().contains(part), "{error:?}: {}", error.advice());
        }
    }
}
