//! A program that is started again in a scope, with a `systemd-run` that only writes down how it was called.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use stampede_platforms::scope;
use tempfile::TempDir;

use crate::Test;

pub(crate) const TESTS: &[Test] = &[
    ("a_program_is_started_again_in_a_scope_once_with_its_arguments", started_again),
    ("without_a_scope_the_program_goes_on_and_says_why", refused),
];

/// The body of `__scope ROOT ARGS`: enters a scope, then tells what it is.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if let Err(error) = scope::enter(Path::new(&args[0])) {
        println!("{error}");
    }
    println!("process {} {:?}", std::process::id(), &args[1..]);
    ExitCode::from(7)
}

/// Where the machine's files are those of a login session under systemd, and `systemd-run` does what the script says.
fn machine(systemd_run: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/self/mountinfo", "30 20 0:29 / /cg rw,relatime - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/session-1.scope\n"),
        ("cg/session-1.scope/cgroup.controllers", "cpu memory\n"),
        ("cg/session-1.scope/cgroup.type", "domain\n"),
        ("cg/session-1.scope/cgroup.subtree_control", "\n"),
        ("cg/session-1.scope/cgroup.procs", "1\n"),
        ("run/systemd/system/unit", ""),
        ("bin/systemd-run", systemd_run),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let program = root.path().join("bin/systemd-run");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    root
}

fn enter(root: &Path, args: &[&str]) -> (u32, Output) {
    let path =
        [root.join("bin").as_os_str(), std::env::var_os("PATH").unwrap_or_default().as_os_str()].join(OsStr::new(":"));
    let child = Command::new(std::env::current_exe().unwrap())
        .arg("__scope")
        .arg(root)
        .args(args)
        .env("PATH", path)
        .env("CALLS", root.join("calls"))
        .env_remove("STAMPEDE_SCOPE")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    (child.id(), child.wait_with_output().unwrap())
}

fn started_again() {
    let script = "#!/bin/sh\necho \"$*\" >> $CALLS\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";
    let root = machine(script);
    let (process, output) = enter(root.path(), &["a b", "", "--c=$HOME", "--"]);
    // The group is not better than before: a second try would be the begin of a loop.
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("process {process} [\"a b\", \"\", \"--c=$HOME\", \"--\"]\n"));
    assert_eq!(output.status.code(), Some(7));
    let calls = fs::read_to_string(root.path().join("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for (call, end) in calls.iter().zip([" true", " a b  --c=$HOME --"]) {
        assert!(
            call.contains("--scope --quiet --collect -p Delegate=cpu memory -p CPUWeight=10000 -- ")
                && call.ends_with(end),
            "{calls:?}"
        );
    }
}

fn refused() {
    let root = machine("#!/bin/sh\necho Failed to connect to bus >&2\nexit 1\n");
    let (process, output) = enter(root.path(), &["a"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!("ask systemd for a control group: Failed to connect to bus\nprocess {process} [\"a\"]\n");
    assert_eq!(said, expected);
}
