//! The harness as it is used: every client that is installed, an interruption, misuse.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const BENCH: &str = env!("CARGO_BIN_EXE_stampede-bench");

/// `stampede`, as the workspace's build leaves it beside this crate's program.
fn stampede(test: &str) -> Option<PathBuf> {
    let program = Path::new(BENCH).with_file_name("stampede");
    if !program.is_file() {
        skip(test, "the program stampede; cargo build -p stampede makes it");
        return None;
    }
    two_processors(test).then_some(program)
}

fn two_processors(test: &str) -> bool {
    let enough = thread::available_parallelism().unwrap().get() >= 2;
    if !enough {
        skip(test, "two processors");
    }
    enough
}

fn skip(test: &str, needs: &str) {
    // Whoever closed stderr does not want to read it.
    let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {needs}");
}

#[test]
fn a_quick_run_has_every_installed_client_answered_and_counted() {
    let Some(stampede) = stampede("a_quick_run_has_every_installed_client_answered_and_counted") else { return };
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("bench.md");
    let output = Command::new(BENCH)
        .args(["load", "--quick", "--only", "closed,http2,tls,open", "--connections", "4", "--stampede"])
        .args([&stampede, Path::new("--output"), &document])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    let document = fs::read_to_string(document).unwrap();
    let table = document.split_once("\n4 connections\n").unwrap().1.split("```").nth(1).unwrap();
    let client = |name: &str| {
        let row = table.lines().find(|line| line.starts_with(name));
        row.unwrap_or_else(|| panic!("{name} is not in the table:\n{document}\n{told}")).to_owned()
    };
    for name in ["floor", "stampede"] {
        let row = client(name);
        assert!(!row.contains(" - "), "{name} has no figures: {row}\n{told}");
    }
    for name in ["wrk", "hey", "ab", "h2load"] {
        if on_path(name) {
            client(name);
        } else {
            skip("a_quick_run_has_every_installed_client_answered_and_counted", name);
        }
    }
    for part in ["## HTTP/2", "## TLS", "open loop, stampede"] {
        assert!(document.contains(part), "{part} is missing:\n{document}");
    }
    assert!(!document.contains("it counted"), "a tool and the server disagree:\n{document}");
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn an_interruption_ends_everything_and_removes_the_folder() {
    if !two_processors("an_interruption_ends_everything_and_removes_the_folder") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Command::new(BENCH)
        .args(["load", "--duration", "60s", "--only", "closed", "--connections", "2", "--tools", "floor"])
        // Only the floor runs, so that any program does here.
        .args(["--stampede", BENCH])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&bench);
    let server_and_floor = poll(|| match children(pid) {
        children if children.len() == 2 => Ok(children),
        other => Err(format!("children {other:?}")),
    });
    kill_process(pid, Signal::INT).unwrap();
    let status = poll(|| bench.try_wait().unwrap().ok_or_else(|| format!("children {:?}", children(pid))));
    let mut told = String::new();
    bench.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(status.code(), Some(130), "{told}");
    assert_eq!(told, "stampede-bench: interrupted\n");
    for child in server_and_floor {
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "process {child} is left");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a folder is left");
}

/// The processes that a process has started, from its own list (proc_pid_children(5)).
fn children(pid: Pid) -> Vec<u32> {
    let pid = pid.as_raw_pid();
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// Looks until there is a value; the error is the last state, for the time-out.
fn poll<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match look() {
            Ok(seen) => return seen,
            Err(state) => assert!(Instant::now() < deadline, "waited in vain, last seen: {state}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn misuse_is_told_with_its_exit_code() {
    for (name, arguments, code, expected) in [
        ("unknown flag", &["load", "--fast"][..], 2, "error: unexpected argument '--fast'"),
        ("wrong value", &["load", "--rounds", "0"], 2, "error: invalid value '0' for '--rounds <N>'"),
        (
            "no program",
            &["load", "--stampede", "/nowhere/stampede"],
            3,
            "stampede-bench: there is no /nowhere/stampede",
        ),
    ] {
        let output = Command::new(BENCH).args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name}: {told}");
        assert!(told.starts_with(expected), "{name}: {told}");
    }
}
