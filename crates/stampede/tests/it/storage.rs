//! A store that cannot be used is told before anything is measured; one that fills up loses nothing that was measured.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use crate::stage::{Stage, have, workload};

/// A study with something in every record.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/data/version-15.stampede-study");

const SHORT: [&str; 14] = [
    "--runtimes",
    "php-cli-server",
    "--cpus",
    "0.5",
    "--memory",
    "64Mi",
    "--duration",
    "300ms",
    "--warm-up",
    "0",
    "--load",
    "closed:2",
    "--quiet",
    "--no-wait",
];

#[test]
fn a_read_only_store_is_told_before_anything_is_measured() {
    let stage = Stage::new();
    let slow = workload("slow");
    let said = stage.run(&[&["compare", slow.as_str(), "--store", "/proc/stampede.db"], &SHORT[..]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("/proc/stampede.db"), "{}", said.stderr);
}

#[test]
fn a_store_of_a_newer_version_is_not_touched() {
    if !have("a_store_of_a_newer_version_is_not_touched", &["sqlite3"]) {
        return;
    }
    let stage = Stage::new();
    assert_eq!(stage.run(&["import-study", FILE]).code, Some(0));
    let path = stage.store();
    let slow = workload("slow");
    let newer = Command::new("sqlite3").arg(&path).arg("PRAGMA user_version = 999;").status().unwrap();
    assert!(newer.success());
    let before = fs::read(&path).unwrap();
    for args in [vec!["compare", slow.as_str()], vec!["list", "studies"], vec!["show", "latest"]] {
        let said = stage.run(&args);
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(said.stderr.contains("999") && said.stderr.contains("update Stampede"), "{}", said.stderr);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_that_is_full_still_lets_the_table_be_printed() {
    if !have("a_store_that_is_full_still_lets_the_table_be_printed", &["php", "unshare"]) {
        return;
    }
    let namespace = Command::new("unshare").args(["--mount", "true"]).output().unwrap();
    if !namespace.status.success() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIP a_store_that_is_full_still_lets_the_table_be_printed: needs a mount namespace"
        );
        return;
    }
    let stage = Stage::new();
    let full = stage.home().join("full");
    fs::create_dir(&full).unwrap();
    let slow = workload("slow");
    // A file system of its own, in a mount namespace of its own, that holds the empty store but not a trial.
    let script = "mount -t tmpfs -o size=224k none \"$0\" && exec \"$@\"";
    let inner = stage.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&full).arg(inner.get_program()).args(["compare", &slow]);
    command.args(SHORT).arg("--rounds=200").arg("--store").arg(full.join("studies.db"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = stage.output(&mut command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{stdout}{stderr}");
    assert!(stderr.contains("full"), "{stderr}");
    assert!(stdout.contains("php-cli-server"), "{stdout}");
    stage.assert_nothing_left();
}
