//! The end of a run when Stampede, the warden, both or a server's master are killed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use stampede_core::{Terms, UnitId};
use stampede_platforms::clean;
use stampede_seam::Platform;

use crate::Test;
use crate::bench::{Bench, LIMITS, block_on, has, has_php, kill, php_server, processes, shell, wait_until, warden_of};
use crate::hold::Holder;

pub(crate) const TESTS: &[Test] = &[
    ("the_warden_is_killed_and_stampede_ends_the_run", warden_killed),
    ("the_warden_is_killed_before_stop", warden_killed_before_stop),
    ("stampede_is_killed_and_the_warden_ends_the_run", stampede_killed),
    ("both_are_killed_and_clean_ends_the_run", both_killed),
    ("a_killed_master_of_php_leaves_no_worker", php_master_killed),
    ("without_control_groups_everything_ends_too", unprivileged),
];

fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

const STUBBORN: &str = "trap '' TERM INT; (trap '' TERM; sleep 1000; : @{run}) & echo up; \
    while :; do sleep 1000; : @{run}; done";

fn warden_killed() {
    let bench = Bench::new();
    let deployment = bench.deployment(vec![shell("stubborn", STUBBORN)]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        kill(warden_of(std::process::id()));
        assert_eq!(running.exited().await.unit, UnitId::new("warden"));
    });
    bench.assert_nothing_left();
}

fn warden_killed_before_stop() {
    let bench = Bench::new();
    let deployment = bench.deployment(vec![shell("stubborn", STUBBORN)]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        kill(warden_of(std::process::id()));
        let error = running.stop().await.unwrap_err();
        assert!(error.to_string().contains("warden"), "{error}");
    });
    bench.assert_nothing_left();
}

fn stampede_killed() {
    let bench = Bench::new();
    let mut holder = Holder::start(&own_program(), &bench.path(""), None);
    kill(holder.process.id());
    holder.process.wait().unwrap();
    bench.assert_nothing_left();
}

fn both_killed() {
    let bench = Bench::new();
    let mut holder = Holder::start(&own_program(), &bench.path(""), None);
    let warden = warden_of(holder.process.id());

    let alive = clean(&bench.state_dir());
    assert_eq!((alive.alive, alive.done.len()), (1, 0), "{alive:?}");

    // The warden first: what it leaves comes to Stampede, which is killed too.
    kill(warden);
    kill(holder.process.id());
    holder.process.wait().unwrap();
    let report = wait_until("the lease is locked", || {
        let report = clean(&bench.state_dir());
        if report.alive == 0 { Ok(report) } else { Err(report) }
    });
    assert_eq!((report.done.len(), report.problems.len()), (1, 0), "{report:?}");
    bench.assert_nothing_left();
    assert_eq!(clean(&bench.state_dir()), Default::default());
}

fn php_master_killed() {
    if !has_php("a_killed_master_of_php_leaves_no_worker") {
        return;
    }
    let bench = Bench::new();
    let deployment = bench.deployment(vec![php_server()]);
    block_on(async {
        let running = bench.platform().launch(&deployment, &Terms::of(LIMITS)).await.unwrap();
        let app = bench.run().join("app").display().to_string();
        let servers = wait_until("not a master and three workers", || {
            let servers: Vec<_> = processes().into_iter().filter(|process| process.command.contains(&app)).collect();
            if servers.len() == 4 { Ok(servers) } else { Err(servers.len()) }
        });
        let warden = warden_of(std::process::id());
        let master = servers.iter().find(|server| server.parent == warden);
        kill(master.unwrap().pid);
        let exit = running.exited().await;
        assert_eq!(exit.how, "signal 9 (SIGKILL)");
        assert!(processes().iter().any(|process| process.command.contains(&app)));
        running.stop().await.unwrap();
    });
    bench.assert_nothing_left();
}

/// A user that may make no control groups starts runs of which each party is killed in turn.
fn unprivileged() {
    const NOBODY: u32 = 65_534;
    let root = rustix::process::geteuid().is_root();
    if !has("without_control_groups_everything_ends_too", "root", root) {
        return;
    }
    let start = |bench: &Bench| {
        let program = bench.path("program");
        fs::copy(own_program(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        chown(bench.path(""), Some(NOBODY), Some(NOBODY)).unwrap();
        Holder::start(&program, Path::new(&bench.path("")), Some(NOBODY))
    };

    let bench = Bench::new();
    let limits = start(&bench).end();
    assert!(limits.contains("cpus: Unlimited"), "{limits}");
    bench.assert_nothing_left();

    let bench = Bench::new();
    let mut holder = start(&bench);
    kill(holder.process.id());
    holder.process.wait().unwrap();
    bench.assert_nothing_left();

    let bench = Bench::new();
    let holder = start(&bench);
    kill(warden_of(holder.process.id()));
    holder.end();
    bench.assert_nothing_left();

    let bench = Bench::new();
    let mut holder = start(&bench);
    kill(warden_of(holder.process.id()));
    kill(holder.process.id());
    holder.process.wait().unwrap();
    // A lease is an order to kill and remove: root does not take one from another user.
    let refused = clean(&bench.state_dir());
    assert!(refused.done.is_empty() && refused.problems[0].contains("only this user may change"), "{refused:?}");
    chown(bench.state_dir(), Some(0), Some(0)).unwrap();
    wait_until("clean does not end the run", || {
        let report = clean(&bench.state_dir());
        if report.done.len() == 1 { Ok(()) } else { Err(report) }
    });
    bench.assert_nothing_left();
}
