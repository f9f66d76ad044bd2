//! Parts with budgets of their own, units that come back, folders that are made once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use stampede_core::{
    AddressId, BuildStep, Bytes, Cpus, Limit, Limits, Makes, MeterSource, Part, Ready, Restart, RunFile, Terms, UnitId,
};
use stampede_seam::{ASK_TIME, Platform};

use crate::Test;
use crate::bench::{Bench, LIMITS, block_on, has_cgroups, kill, php_server, processes, program, shell, wait_until};

pub(crate) const TESTS: &[Test] = &[
    ("parts_are_held_to_their_shares_and_counted_apart", shares),
    ("a_unit_that_fails_is_started_again_and_counted", comes_back),
    ("a_server_that_is_killed_is_started_again_at_its_address", server_comes_back),
    ("a_loop_of_restarts_is_found_and_shown", restart_loop),
    ("a_folder_is_made_once_and_each_run_gets_a_copy", folder_copied),
    ("a_program_says_when_a_unit_is_ready", ready_by_program),
];

fn part(name: &str, share: Option<Limits>, units: &[&str], restart: Restart) -> Part {
    let units = units.iter().map(|unit| UnitId::new(*unit)).collect();
    Part { name: name.to_owned(), share, units, restart, read_back: None }
}

fn shares() {
    if !has_cgroups("parts_are_held_to_their_shares_and_counted_apart") {
        return;
    }
    let bench = Bench::new();
    let busy = "echo up; while :; do :; done";
    let deployment = bench.deployment(vec![shell("a", busy), shell("b", busy)]);
    let share = Limits { cpus: Cpus::from_millis(100), memory: Bytes::from_mib(16) };
    let parts = vec![part("small", Some(share), &["a"], Restart::Never), part("rest", None, &["b"], Restart::Never)];
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms { total: LIMITS, parts }).await.unwrap();
        for (name, limits) in [("small", share), ("rest", LIMITS)] {
            let enforced = running.enforced_on(name).unwrap();
            assert!(enforced.fulfil(&limits), "{name}: {enforced:?}");
            assert_eq!(enforced.cpus, Limit::AtMost(limits.cpus));
        }
        assert!(running.enforced().unwrap().fulfil(&LIMITS));
        let meters = running.part_meters();
        let names: Vec<&str> = meters.iter().map(|part| part.part.as_str()).collect();
        assert_eq!(names, ["small", "rest"]);
        let used = |index: usize| match &meters[index].meters[..] {
            [MeterSource::CgroupV1 { cpu, cpuacct, memory }] => {
                stampede_cgroup::read_v1(cpu, cpuacct, memory).unwrap().cpu
            }
            [MeterSource::CgroupV2 { dir }] => stampede_cgroup::read_v2(dir).unwrap().cpu,
            other => panic!("{other:?}"),
        };
        wait_until("the parts do not work", || {
            let both = (used(0), used(1));
            if both.0 > Duration::from_millis(50) && both.1 > both.0 { Ok(()) } else { Err(both) }
        });
        // What is forked stays in the part.
        let pid = processes().into_iter().find(|process| process.command.contains("echo up")).unwrap().pid;
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        assert!(groups.lines().any(|line| line.ends_with("/small") || line.ends_with("/rest")), "{groups}");
        running.stop().await.unwrap();
    });
    bench.assert_nothing_left();
}

fn comes_back() {
    let bench = Bench::new();
    let mut unit =
        shell("moody", "echo start >> data/starts; [ $(wc -l < data/starts) -gt 2 ] && exec sleep 1000; exit 7");
    unit.folders = vec!["data".into()];
    let deployment = bench.deployment(vec![unit]);
    let parts = vec![part("moody", None, &["moody"], Restart::OnFailure)];
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms { total: LIMITS, parts }).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while running.restarts().len() < 2 {
            assert!(Instant::now() < deadline, "{:?}", running.restarts());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let restarts = running.restarts();
        assert!(restarts.iter().all(|restart| restart.how == "status 7"), "{restarts:?}");
        assert!(restarts[1].after > restarts[0].after, "{restarts:?}");
        let started = wait_until("it does not start", || {
            let starts = fs::read_to_string(bench.run().join("data/starts")).unwrap_or_default().lines().count();
            if starts == 3 { Ok(starts) } else { Err(starts) }
        });
        assert_eq!(started, 3);
        let report = running.stop().await.unwrap();
        assert_eq!(report.units[0].how, "signal 15 (SIGTERM)");
    });
    bench.assert_nothing_left();
}

fn server_comes_back() {
    if !crate::bench::has_php("a_server_that_is_killed_is_started_again_at_its_address") {
        return;
    }
    let bench = Bench::new();
    let deployment = bench.deployment(vec![php_server()]);
    let parts = vec![part("php", None, &["php"], Restart::OnFailure)];
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms { total: LIMITS, parts }).await.unwrap();
        let front = running.front().to_string();
        let command = format!("-S {front}");
        // The first process; its workers are its children.
        let mut found: Vec<_> = processes().into_iter().filter(|process| process.command.contains(&command)).collect();
        found.sort_by_key(|process| process.pid);
        let first = found.first().unwrap().pid;
        kill(first);
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let others = processes();
            let alive = others.iter().filter(|process| process.command.contains(&command)).count();
            if running.restarts().len() == 1 && alive == 4 && tokio::net::TcpStream::connect(&front).await.is_ok() {
                break;
            }
            assert!(Instant::now() < deadline, "{:?}, {alive} processes", running.restarts());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(running.restarts()[0].how, "signal 9 (SIGKILL)");
        running.stop().await.unwrap();
    });
    bench.assert_nothing_left();
}

fn restart_loop() {
    let bench = Bench::new();
    let mut unit = shell("worker", "echo cannot find the handler; exit 3");
    unit.ready = Ready::Port(AddressId::new("front"));
    let deployment = bench.deployment(vec![unit]);
    let parts = vec![part("worker", None, &["worker"], Restart::OnFailure)];
    let began = Instant::now();
    let terms = Terms { total: LIMITS, parts };
    let error = block_on(async { bench.platform().launch(&deployment, &terms).await.err().unwrap().to_string() });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(error.starts_with("start worker: it ended with status 3, for the 4th time within "), "{error}");
    assert!(
        error.contains("it would be a loop of restarts; its log ends:\n4 times: cannot find the handler"),
        "{error}"
    );
    bench.assert_nothing_left();
}

fn folder_copied() {
    let bench = Bench::new();
    let script =
        "umask 077; mkdir @{output} @{output}/sub && id -u > @{output}/sub/who && cat word >> @{output}/sub/who";
    let mut unit = shell("keeper", "cat data/sub/who; echo changed >> data/sub/who; echo done; exec sleep 1000");
    unit.build = Some(BuildStep {
        program: program("/bin/sh", &["-c", script]),
        files: vec![RunFile { path: "word".into(), text: "password\n".to_owned() }],
        output: "data".into(),
        makes: Makes::Folder,
        toolchain: "1".to_owned(),
    });
    let deployment = bench.deployment(vec![unit]);
    let templates = bench.state_dir().join("t");
    block_on(async {
        let platform = bench.platform();
        for _ in 0..2 {
            let running = platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
            let lines = wait_until("the script is not done", || {
                let lines = running.logs(&UnitId::new("keeper")).lines;
                if lines.last().is_some_and(|line| line == "done") { Ok(lines) } else { Err(lines) }
            });
            // Made by the user that owns the copy, and never with the changes of the run before.
            let root = rustix::process::geteuid().is_root();
            assert_ne!(lines[0], "0", "{lines:?}");
            assert_eq!(lines[1..], ["password", "done"], "{lines:?}");
            if root {
                let kept: Vec<_> = fs::read_dir(&templates).unwrap().map(|entry| entry.unwrap().path()).collect();
                assert_eq!(kept.len(), 1, "{kept:?}");
                assert_eq!(fs::metadata(kept[0].join("sub/who")).unwrap().uid(), 0);
            }
            running.stop().await.unwrap();
        }
    });
    fs::remove_dir_all(&templates).unwrap();
    bench.assert_nothing_left();
}

fn ready_by_program() {
    let bench = Bench::new();
    let mut unit = shell("slow", "sleep 0.3; echo yes > data/up; exec sleep 1000");
    unit.folders = vec!["data".into()];
    unit.ready = Ready::Program(program("/bin/grep", &["-q", "yes", "@{run}/data/up"]));
    let mut never = unit.clone();
    let deployment = bench.deployment(vec![unit]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        assert!(running.vantage().now().since(running.started()) >= Duration::from_millis(300));
        let said = running.ask(&program("/bin/cat", &["@{run}/data/up"]), ASK_TIME).await;
        assert_eq!(said.as_deref(), Ok("yes\n"));
        let warns = program("/bin/sh", &["-c", "echo rows; echo 'warning: none' >&2"]);
        assert_eq!(running.ask(&warns, ASK_TIME).await.as_deref(), Ok("rows\n"));
        let long = running.ask(&program("/bin/sleep", &["60"]), Duration::from_millis(50)).await;
        assert!(long.unwrap_err().starts_with("it took longer"));
        let refused = running.ask(&program("/bin/cat", &["@{run}/nothing"]), ASK_TIME).await.unwrap_err();
        assert!(refused.starts_with("exit status: 1: "), "{refused}");
        running.stop().await.unwrap();
        never.program = program("/bin/sh", &["-c", "echo no license; exit 5"]);
        let error = bench.platform().launch(&bench.deployment(vec![never]), &Terms::of(LIMITS)).await.err().unwrap();
        assert_eq!(error.to_string(), "start slow: it ended with status 5; its log ends:\nno license");
    });
    bench.assert_nothing_left();
}
