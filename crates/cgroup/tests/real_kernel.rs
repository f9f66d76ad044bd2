//! The same on this machine's kernel; needs the right to make control groups.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::Write;
use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stampede_cgroup::{Bound, CpuQuota, Group, GroupCounters, GroupLimits, Hierarchy, InForce, QUOTA_PERIOD};

/// A group of a test. When the test fails, what runs in it is killed all the same.
struct Made(Group);

impl Deref for Made {
    type Target = Group;

    fn deref(&self) -> &Group {
        &self.0
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        let _ = self.kill_all(deadline);
        let _ = self.remove(deadline);
    }
}

/// A group of this test, or nothing (said loudly) where none can be made.
fn make(name: &str) -> Option<Made> {
    let hierarchy = match Hierarchy::detect(Path::new("/")) {
        Ok(hierarchy) => hierarchy,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "SKIP {name}: needs control groups: {error}; {}", error.advice());
            return None;
        }
    };
    let group = hierarchy.group(&format!("{:x}-test-{name}", std::process::id()));
    hierarchy.create(&group).unwrap();
    Some(Made(group))
}

/// Runs a shell script in the group.
fn spawn(group: &Group, script: &str) -> Child {
    let group = group.clone();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null());
    let join = move || group.add_process(getpid()).map_err(std::io::Error::other);
    // SAFETY: the closure opens and writes files; it takes no lock that another thread may hold but the allocator's,
    // which the C library makes usable after fork.
    unsafe { command.pre_exec(join) };
    command.spawn().unwrap()
}

fn counters(group: &Group) -> GroupCounters {
    group.read_counters().unwrap()
}

fn end(group: &Group, mut child: Child) {
    let deadline = Instant::now() + Duration::from_secs(10);
    group.kill_all(deadline).unwrap();
    child.wait().unwrap();
    group.remove(deadline).unwrap();
    assert!(!group.exists(), "{group:?}");
}

#[test]
fn limits_are_read_back_and_a_busy_loop_is_held_to_its_quota() {
    let Some(group) = make("quota") else { return };
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(20), memory: 64 << 20, cpus: vec![0] }).unwrap();
    assert_eq!(
        group.read_limits().unwrap(),
        InForce {
            cpu: Bound::AtMost(CpuQuota { runtime: Duration::from_millis(20), period: Duration::from_millis(100) }),
            memory: Bound::AtMost(64 << 20),
        }
    );
    let child = spawn(&group, "while :; do :; done");
    // Whole periods are counted rather than wall time, so that a busy machine does not fail the test.
    let deadline = Instant::now() + Duration::from_secs(30);
    let first = loop {
        let now = counters(&group);
        if now.periods > 2 {
            break now;
        }
        assert!(Instant::now() < deadline, "{now:?}");
        std::thread::yield_now();
    };
    let last = loop {
        let now = counters(&group);
        // On a busy machine it may take many periods until it gets as far as its quota for once.
        if now.periods >= first.periods + 30 && now.throttled_periods > first.throttled_periods {
            break now;
        }
        assert!(Instant::now() < deadline, "{now:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    let periods = (last.periods - first.periods) as f64;
    let used = (last.cpu - first.cpu).as_secs_f64();
    let share = used / (periods * 0.1);
    let _ = writeln!(std::io::stderr(), "{share:.4} CPUs used over {periods} periods: {last:?}");
    assert!(share < 0.22, "{share} {first:?} {last:?}");
    let throttled = (last.throttled_periods - first.throttled_periods) as f64;
    if throttled >= 0.9 * periods {
        assert!(share > 0.18, "{share} {first:?} {last:?}");
    }
    assert!(last.throttled > first.throttled, "{first:?} {last:?}");
    assert!(last.anonymous > 0 && last.kernel > 0, "{last:?}");
    end(&group, child);
}

#[test]
fn processes_that_fork_and_ignore_signals_are_all_killed() {
    let Some(group) = make("kill") else { return };
    let child =
        spawn(&group, "trap '' TERM INT HUP; for i in 1 2 3 4 5; do (while :; do sleep 0.01; done) & done; wait");
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let processes = group.processes().unwrap();
        if processes.len() > 5 {
            assert!(processes.contains(&Pid::from_child(&child)));
            break;
        }
        assert!(Instant::now() < deadline, "{processes:?}");
        std::thread::yield_now();
    }
    end(&group, child);
}

#[test]
fn without_a_kill_file_a_group_is_frozen_and_killed() {
    let Some(group) = make("freeze") else { return };
    let Group::V1(mut folders) = group.clone() else {
        let _ = writeln!(std::io::stderr(), "SKIP freeze: needs control groups version 1");
        return;
    };
    if let Some(tracking) = folders.tracking.take() {
        std::fs::remove_dir(&tracking).unwrap();
        let _ = std::fs::remove_dir(tracking.parent().unwrap());
    }
    let group = Made(Group::V1(folders));
    let child = spawn(&group, "while :; do sleep 0.01 & done");
    end(&group, child);
}

#[test]
fn a_process_killed_for_memory_is_counted() {
    let Some(group) = make("oom") else { return };
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(100), memory: 8 << 20, cpus: vec![0] }).unwrap();
    let mut child = spawn(&group, "x=0123456789abcdef; while :; do x=$x$x; done");
    let deadline = Instant::now() + Duration::from_secs(20);
    while counters(&group).oom_kills == 0 {
        assert!(Instant::now() < deadline, "{:?}", counters(&group));
        assert!(child.try_wait().unwrap().is_none_or(|status| !status.success()));
        std::thread::yield_now();
    }
    end(&group, child);
}

#[test]
fn removing_a_group_that_is_gone_is_no_failure() {
    let Some(group) = make("gone") else { return };
    group.remove(Instant::now()).unwrap();
    group.remove(Instant::now()).unwrap();
    group.kill_all(Instant::now()).unwrap();
    assert!(!group.exists());
}

#[test]
fn groups_below_are_held_to_their_share_and_end_with_the_group() {
    let Some(group) = make("shares") else { return };
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(60), memory: 128 << 20, cpus: vec![0] }).unwrap();
    let small = group.create_child("small").unwrap();
    small.set_limits(&GroupLimits { runtime: Duration::from_millis(20), memory: 64 << 20, cpus: vec![0] }).unwrap();
    let free = group.create_child("free").unwrap();

    let quota = |millis| Bound::AtMost(CpuQuota { runtime: Duration::from_millis(millis), period: QUOTA_PERIOD });
    for (held, cpu, memory) in [(&*group, 60, 128), (&small, 20, 64), (&free, 60, 128)] {
        assert_eq!(held.read_limits().unwrap(), InForce { cpu: quota(cpu), memory: Bound::AtMost(memory << 20) });
    }
    let mut busy = [spawn(&small, "while :; do :; done"), spawn(&free, "while :; do :; done")];
    let cpu = |group: &Group| counters(group).cpu;
    let until = |done: &dyn Fn(&GroupCounters) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let now = counters(&small);
            if done(&now) {
                return now;
            }
            assert!(Instant::now() < deadline, "{now:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let first = until(&|now| now.throttled_periods >= 1);
    let last = until(&|now| now.periods >= first.periods + 15);
    // What is used meanwhile lies between two readings.
    let (before, all, after) = (cpu(&small) + cpu(&free), cpu(&group), cpu(&small) + cpu(&free));
    let (throttled, processes) = (counters(&small).throttled_periods, group.processes().unwrap().len());

    let deadline = Instant::now() + Duration::from_secs(10);
    group.kill_all(deadline).unwrap();
    for child in &mut busy {
        child.wait().unwrap();
    }
    group.remove(deadline).unwrap();
    assert!(!group.exists() && !small.exists() && !free.exists());
    assert!(throttled >= 2, "{throttled}");
    // A reading falls somewhere into a period, and processors keep a slice of 5 ms of the quota.
    let periods = u32::try_from(last.periods - first.periods).unwrap() + 1;
    let (used, most) = (last.cpu - first.cpu, Duration::from_millis(25) * periods);
    assert!(periods > 15 && used <= most, "{used:?} in {periods} periods of 20 ms");
    assert_eq!(processes, 2);
    assert!((before..=after).contains(&all), "{before:?} {all:?} {after:?}");
}

#[test]
fn a_memory_kill_below_counts_in_the_group_above() {
    let Some(group) = make("kills") else { return };
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(100), memory: 128 << 20, cpus: vec![0] }).unwrap();
    let part = group.create_child("part").unwrap();
    part.set_limits(&GroupLimits { runtime: Duration::from_millis(100), memory: 8 << 20, cpus: vec![0] }).unwrap();
    let mut greedy = spawn(&part, "x=0123456789abcdef; while :; do x=$x$x; done");
    greedy.wait().unwrap();
    assert_eq!((counters(&part).oom_kills, counters(&group).oom_kills), (1, 1));
    group.remove(Instant::now() + Duration::from_secs(10)).unwrap();
    assert!(!group.exists());
}

/// A busy loop beside the groups of runs, on one processor. Killed when it is dropped.
struct Neighbour(Child);

impl Neighbour {
    fn start(cpu: u32) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        let pin = move || {
            let mut set = CpuSet::new();
            set.set(cpu as usize);
            Ok(sched_setaffinity(None, &set)?)
        };
        // SAFETY: the closure makes one system call.
        unsafe { command.pre_exec(pin) };
        Self(command.spawn().unwrap())
    }

    /// The processor time that it had, [in ns](https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat).
    fn cpu(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).unwrap();
        Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Of five busy loops on one processor each would get a fifth.
#[test]
fn neighbours_wait_until_a_group_has_what_its_quota_grants() {
    let Some(group) = make("weight") else { return };
    group.weigh().unwrap();
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..).find(|cpu| allowed.is_set(*cpu as usize)).unwrap();
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(50), memory: 64 << 20, cpus: vec![cpu] }).unwrap();
    let neighbours: Vec<_> = (0..4).map(|_| Neighbour::start(cpu)).collect();
    let child = spawn(&group, "while :; do :; done");
    let times = || (counters(&group).cpu, neighbours.iter().map(Neighbour::cpu).sum::<Duration>());
    let deadline = Instant::now() + Duration::from_secs(30);
    let (own, others) = loop {
        let (own, others) = times();
        if own + others > Duration::from_secs(1) {
            break (own, others);
        }
        assert!(Instant::now() < deadline, "{own:?} {others:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    let share = own.as_secs_f64() / (own + others).as_secs_f64();
    let _ = writeln!(std::io::stderr(), "{:.1} % of the processor, of 50 % that the quota grants", 100.0 * share);
    drop(neighbours);
    end(&group, child);
    // What others do on the machine takes from both alike.
    assert!(share > 0.4, "{share}");
}

/// Waits until counters are so.
fn wait_for(group: &Group, what: &str, holds: impl Fn(&GroupCounters) -> bool) -> GroupCounters {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let now = counters(group);
        if holds(&now) {
            return now;
        }
        assert!(Instant::now() < deadline, "{what}: {now:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A file of twice the memory is read again and again: each page was taken back when it is needed.
#[test]
fn pages_that_are_taken_back_and_read_again_are_counted() {
    let Some(group) = make("refault") else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(500), memory: 24 << 20, cpus: vec![0] }).unwrap();
    let file = folder.path().join("pages").display().to_string();
    let child = spawn(
        &group,
        &format!("head -c 48000000 /dev/zero > {file}; sync {file}; while :; do cat {file} > /dev/null; done"),
    );
    let seen = wait_for(&group, "refaults", |now| now.file_refaults.is_none_or(|pages| pages > 1_000));
    if seen.file_refaults.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIP refaults: this kernel does not count them by control group");
    }
    assert!(seen.limit_hits.is_none_or(|hits| hits > 0), "{seen:?}");
    assert_eq!(seen.oom_kills, 0, "{seen:?}");
    end(&group, child);
}

#[test]
fn memory_in_swap_is_told() {
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().count() < 2 {
        let _ = writeln!(std::io::stderr(), "SKIP memory_in_swap_is_told: this machine has no swap");
        return;
    }
    let Some(group) = make("swap") else { return };
    group.set_limits(&GroupLimits { runtime: Duration::from_millis(100), memory: 16 << 20, cpus: vec![0] }).unwrap();
    // Stampede grants none.
    let (folder, file, unlimited) = match &*group {
        Group::V1(folders) => (&folders.memory, "memory.memsw.limit_in_bytes", "-1"),
        Group::V2 { dir } => (dir, "memory.swap.max", "max"),
    };
    std::fs::write(folder.join(file), unlimited).unwrap();
    let child = spawn(&group, "text=$(head -c 40000000 /dev/zero | tr '\\0' x); while :; do sleep 1; done");
    let seen = wait_for(&group, "swap", |now| now.swap.is_none_or(|bytes| bytes > 8 << 20));
    if seen.swap.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIP memory_in_swap_is_told: this kernel does not account for swap");
    }
    end(&group, child);
}
