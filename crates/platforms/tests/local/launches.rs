//! Launching, readiness, limits, logs, builds, and a stop in good order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use stampede_cgroup::GroupCounters;
use stampede_core::{
    AddressId, BuildStep, Bytes, EnforcedLimits, Limit, Limits, Makes, MeterSource, Program, Ready, RunFile, Terms,
    UnitId,
};
use stampede_seam::{LaunchError, Platform, Running};

use stampede_platforms::{LocalConfig, LocalPlatform, NewPlatformError};
use stampede_vantage::Here;

use crate::Test;
use crate::bench::{Bench, LIMITS, block_on, has_cgroups, has_php, php_server, program, shell, wait_until};

pub(crate) const TESTS: &[Test] = &[
    ("units_run_as_asked_and_stop_in_order", runs_as_asked),
    ("a_unit_that_ignores_its_stop_signal_is_killed", ignores_stop),
    ("limits_are_read_back_equal", limits_read_back),
    ("a_memory_kill_is_counted", memory_kill),
    ("a_limit_that_is_too_small_is_named", limit_too_small),
    ("a_state_folder_of_someone_else_is_refused", foreign_state_folder),
    ("php_server_with_workers_is_ready_and_ends", php_workers),
    ("a_unit_that_ends_at_once_fails_with_its_log", ends_at_once),
    ("a_program_that_is_missing_fails", missing_program),
    ("a_failing_check_stops_the_launch", failing_check),
    ("a_build_is_kept", build_kept),
    ("a_failing_build_shows_its_end", build_fails),
    ("a_unit_that_ends_is_told", exit_told),
];

fn error(result: Result<Box<dyn Running>, LaunchError>) -> LaunchError {
    result.err().expect("the launch must fail")
}

fn counters(running: &dyn Running) -> GroupCounters {
    match &running.meters()[..] {
        [MeterSource::CgroupV1 { cpu, cpuacct, memory }] => stampede_cgroup::read_v1(cpu, cpuacct, memory),
        [MeterSource::CgroupV2 { dir }] => stampede_cgroup::read_v2(dir),
        other => panic!("{other:?}"),
    }
    .unwrap()
}

fn runs_as_asked() {
    let bench = Bench::new();
    let script = "cat @{run}/conf/a.conf; env | sort; id -u; umask; pwd; cat @{app}/index.php; echo; \
        touch data/x && echo writable; \
        touch conf/x 2>/dev/null || echo read-only; echo done; exec sleep 1000";
    let mut first = shell("first", script);
    first.files = vec![RunFile { path: "conf/a.conf".into(), text: "listen @{front.host}:@{front.port}\n".into() }];
    first.folders = vec!["data".into()];
    first.program.env = [("A".to_owned(), "@{front}".to_owned())].into();
    first.check = Some(program("/bin/sh", &["-c", "test -f @{run}/conf/a.conf"]));
    let second = shell("second", "exec sleep 1000");
    let deployment = bench.deployment(vec![first, second]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        let front = running.front().to_string();
        let id = UnitId::new("first");
        let lines = wait_until("the script is not done", || {
            let lines = running.logs(&id).lines;
            let done = lines.last().is_some_and(|line| line == "done");
            if done { Ok(lines) } else { Err(lines) }
        });
        let root = rustix::process::geteuid().is_root();
        let text = lines.join("\n");
        assert_eq!(lines[0], format!("listen {front}"), "{text}");
        for line in [
            format!("A={front}"),
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            "0022".to_owned(),
            bench.run().display().to_string(),
            "<?php echo getmypid();".to_owned(),
            "writable".to_owned(),
        ] {
            assert!(lines.contains(&line), "{line}: {text}");
        }
        // The shell itself adds PWD and the like, but nothing is inherited from this process.
        assert!(!text.contains("CARGO"), "{text}");
        assert_eq!(lines.contains(&"read-only".to_owned()), root, "{text}");
        assert!(!lines.contains(&"0".to_owned()), "it runs as root: {text}");

        let report = running.stop().await.unwrap();
        let stops: Vec<_> =
            report.units.iter().map(|stop| (stop.unit.as_str(), stop.killed, stop.how.as_str())).collect();
        assert_eq!(stops, [("first", false, "signal 15 (SIGTERM)"), ("second", false, "signal 15 (SIGTERM)")]);
    });
    bench.assert_nothing_left();
}

fn ignores_stop() {
    let bench = Bench::new();
    let mut stubborn = shell("stubborn", "trap '' TERM; echo up; while :; do sleep 1000; done");
    stubborn.stop.grace = Duration::from_millis(200);
    let polite = shell("polite", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
    let deployment = bench.deployment(vec![stubborn, polite]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        for unit in running.units() {
            wait_until("the unit is not up", || match running.logs(&unit).lines {
                lines if lines.is_empty() => Err(unit.clone()),
                _ => Ok(()),
            });
        }
        let report = running.stop().await.unwrap();
        let [stubborn, polite] = &report.units[..] else { panic!("{report:?}") };
        assert!(stubborn.killed, "{report:?}");
        assert_eq!(stubborn.how, "signal 9 (SIGKILL)");
        assert!(stubborn.took >= Duration::from_millis(200), "{report:?}");
        assert!(!polite.killed, "{report:?}");
        assert_eq!(polite.how, "status 3");
    });
    bench.assert_nothing_left();
}

fn limits_read_back() {
    if !has_cgroups("limits_are_read_back_equal") {
        return;
    }
    let bench = Bench::new();
    let deployment = bench.deployment(vec![shell("busy", "while :; do :; done")]);
    block_on(async {
        let platform = bench.platform();
        assert_eq!(platform.preflight(&LIMITS).await, []);
        let running = platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        let enforced = running.enforced().unwrap();
        assert_eq!(
            enforced,
            EnforcedLimits {
                cpus: Limit::AtMost(LIMITS.cpus),
                period: Duration::from_millis(100),
                memory: Limit::AtMost(LIMITS.memory),
            }
        );
        assert!(enforced.fulfil(&LIMITS));
        let first = counters(&*running);
        let last = wait_until("no ten periods", || {
            let now = counters(&*running);
            if now.periods >= first.periods + 10 { Ok(now) } else { Err(now.periods) }
        });
        let granted = (last.periods - first.periods) as f64 * 0.05;
        let used = (last.cpu - first.cpu).as_secs_f64();
        // A busy machine may give it less; the first and the last period are cut.
        assert!(used > 0.0 && used < granted * 1.2, "{used} {granted}");
    });
    bench.assert_nothing_left();
}

fn memory_kill() {
    if !has_cgroups("a_memory_kill_is_counted") {
        return;
    }
    let bench = Bench::new();
    let script = "x=0123456789abcdef; while :; do x=$x$x; done";
    let deployment = bench.deployment(vec![shell("greedy", script)]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        let exit = running.exited().await;
        assert_eq!((exit.unit.as_str(), exit.how.as_str()), ("greedy", "signal 9 (SIGKILL)"));
        assert_eq!(counters(&*running).oom_kills, 1);
        let report = running.stop().await.unwrap();
        assert!(!report.units[0].killed, "{report:?}");
    });
    bench.assert_nothing_left();
}

fn limit_too_small() {
    if !has_cgroups("a_limit_that_is_too_small_is_named") {
        return;
    }
    let bench = Bench::new();
    let mut unit = shell("server", "x=0123456789abcdef; while :; do x=$x$x; done");
    unit.ready = Ready::Port(AddressId::new("front"));
    let deployment = bench.deployment(vec![unit]);
    let limits = Limits { memory: Bytes::from_mib(1), ..LIMITS };
    let error = block_on(async { error(bench.platform().launch(&deployment, &Terms::of(limits)).await) });
    let text = error.to_string();
    assert!(
        text.starts_with(
            "start server: it ended with signal 9 (SIGKILL); processes killed at the memory limit of 1Mi: "
        ),
        "{text}"
    );
    bench.assert_nothing_left();
}

fn foreign_state_folder() {
    let bench = Bench::new();
    let config = LocalConfig {
        warden: vec!["/bin/false".into()],
        state_dir: bench.state_dir(),
        cache_dir: bench.path("builds"),
        server_cpus: vec![0],
        listen: std::net::Ipv4Addr::LOCALHOST.into(),
        ready_timeout: Duration::from_secs(30),
        goes_first: false,
    };
    std::os::unix::fs::symlink("/tmp", bench.state_dir()).unwrap();
    let error = LocalPlatform::new(config.clone(), Here::new()).unwrap_err();
    assert!(matches!(error, NewPlatformError::NotOurs(_)), "{error}");

    fs::remove_file(bench.state_dir()).unwrap();
    fs::create_dir(bench.state_dir()).unwrap();
    fs::set_permissions(bench.state_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = LocalPlatform::new(config, Here::new()).unwrap_err();
    assert!(matches!(error, NewPlatformError::NotOurs(_)), "{error}");
}

fn php_workers() {
    if !has_php("php_server_with_workers_is_ready_and_ends") {
        return;
    }
    let bench = Bench::new();
    let deployment = bench.deployment(vec![php_server()]);
    block_on(async {
        let platform = bench.platform();
        let running = platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        if has_cgroups("php_server_with_workers_is_ready_and_ends: its workers are known") {
            wait_until("no workers are known", || {
                let forks = running.forks();
                if forks.is_empty() { Err("none") } else { Ok(()) }
            });
        }
        running.stop().await.unwrap();
        bench.assert_nothing_left();
        // Dropping does the same.
        drop(platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap());
    });
    bench.assert_nothing_left();
}

fn ends_at_once() {
    let bench = Bench::new();
    let mut unit = shell("broken", "echo it is broken >&2; exit 7");
    unit.ready = Ready::Port(AddressId::new("front"));
    let deployment = bench.deployment(vec![shell("before", "exec sleep 1000"), unit]);
    let error = block_on(async { error(bench.platform().launch(&deployment, &Terms::of(LIMITS)).await) });
    assert_eq!(error.to_string(), "start broken: it ended with status 7; its log ends:\nit is broken");
    bench.assert_nothing_left();
}

fn missing_program() {
    let bench = Bench::new();
    let mut unit = shell("absent", "");
    unit.program = program("@{run}/absent", &[]);
    let deployment = bench.deployment(vec![unit]);
    let error = block_on(async { error(bench.platform().launch(&deployment, &Terms::of(LIMITS)).await) });
    let text = error.to_string();
    assert!(text.starts_with("start absent: run /") && text.contains("No such file"), "{text}");
    bench.assert_nothing_left();
}

fn failing_check() {
    let bench = Bench::new();
    let mut unit = shell("server", "touch @{run}/data/started; exec sleep 1000");
    unit.check = Some(program("/bin/sh", &["-c", "echo line 3: unknown word; exit 1"]));
    let deployment = bench.deployment(vec![unit]);
    let error = block_on(async { error(bench.platform().launch(&deployment, &Terms::of(LIMITS)).await) });
    assert_eq!(
        error.to_string(),
        "check the configuration of server: it ended with status 1; its log ends:\nline 3: unknown word"
    );
    bench.assert_nothing_left();
}

/// A builder that notes each of its runs.
fn builder(bench: &Bench, script: &str) -> BuildStep {
    let script = format!("echo >> {}; {script}", bench.path("built").display());
    BuildStep {
        program: Program { path: "/bin/sh".to_owned(), args: vec!["-c".to_owned(), script], env: [].into() },
        files: Vec::new(),
        output: "bin/server".into(),
        makes: Makes::Program,
        toolchain: "1".to_owned(),
    }
}

fn build_kept() {
    let bench = Bench::new();
    let mut unit = shell("server", "");
    unit.build = Some(builder(&bench, "printf '#!/bin/sh\\necho built; exec sleep 1000' > @{output}"));
    unit.program = program("@{run}/bin/server", &[]);
    let deployment = bench.deployment(vec![unit]);
    block_on(async {
        let platform = bench.platform();
        for _ in 0..2 {
            let running = platform.launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
            let id = UnitId::new("server");
            wait_until("it does not run", || match running.logs(&id).lines {
                lines if lines == ["built"] => Ok(()),
                lines => Err(lines),
            });
            running.stop().await.unwrap();
        }
    });
    let builds = fs::read_to_string(bench.path("built")).unwrap();
    assert_eq!(builds.lines().count(), 1);
    assert_eq!(fs::read_dir(bench.path("builds")).unwrap().count(), 1);
    bench.assert_nothing_left();
}

fn build_fails() {
    let bench = Bench::new();
    let mut unit = shell("server", "");
    unit.build = Some(builder(&bench, "echo undefined: x >&2; exit 2"));
    let deployment = bench.deployment(vec![unit]);
    let error = block_on(async { error(bench.platform().launch(&deployment, &Terms::of(LIMITS)).await) });
    assert_eq!(error.to_string(), "build server: /bin/sh ended with exit status: 2; its log ends:\nundefined: x");
    assert_eq!(fs::read_dir(bench.path("builds")).unwrap().count(), 0);
    bench.assert_nothing_left();
}

fn exit_told() {
    let bench = Bench::new();
    let deployment = bench.deployment(vec![shell("stays", "exec sleep 1000"), shell("leaves", "exit 4")]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        let exit = running.exited().await;
        assert_eq!((exit.unit.as_str(), exit.how.as_str()), ("leaves", "status 4"));
        // It is still so for whoever asks later.
        assert_eq!(running.exited().await, exit);
    });
    bench.assert_nothing_left();
}
