//! The gate: folders, revisions and stored studies, and what stands in the way of each.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::{Stage, have};

/// A front controller that works for so many thousand steps.
fn write_app(folder: &Path, steps: u32, answer: &str) {
    fs::create_dir_all(folder).unwrap();
    let work = format!("for ($i = 0; $i < {steps}000; ++$i) {{ $x = ($x * 31 + $i) % 65521; }}");
    fs::write(folder.join("index.php"), format!("<?php\n$x = 1;\n{work}\necho '{answer}';\n")).unwrap();
}

fn git(folder: &Path, args: &[&str]) {
    let settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").arg("-C").arg(folder).args(settings).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

const SHORT: [&str; 6] = ["--runtime", "php-cli-server", "--duration", "500ms", "--warm-up", "100ms"];

#[test]
fn what_is_no_side_is_told_before_anything_is_measured() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_app(&path.join("one"), 1, "hello");
    fs::create_dir(path.join("empty")).unwrap();
    let repository = tempfile::tempdir().unwrap();
    git(repository.path(), &["init", "--quiet"]);
    write_app(repository.path(), 1, "hello");
    for (name, within, args, code, parts) in [
        ("no repository", path, vec!["main", "one"], 2, vec!["main is no folder here", "no git repository"]),
        (
            "unknown revision",
            repository.path(),
            vec!["mian", "."],
            2,
            vec!["mian is no folder here", "git branch --all"],
        ),
        ("an option", repository.path(), vec!["git:--all", "."], 2, vec!["no revision of this git repository"]),
        ("nothing in a folder", path, vec!["one", "empty"], 2, vec!["holds no application"]),
        ("one stored, one not", path, vec!["study:latest", "one"], 2, vec!["against another stored study"]),
        ("no such study", path, vec!["study:latest", "study:x"], 2, vec!["stud"]),
        (
            "flags for what is stored",
            path,
            vec!["study:a", "study:b", "--cpus", "1"],
            2,
            vec!["--cpus says how to measure"],
        ),
        (
            "metric",
            path,
            vec!["one", "one", "--metric", "throttled_share"],
            2,
            vec!["--metric throttled_share", "cpu_us"],
        ),
        ("threshold", path, vec!["one", "one", "--threshold", "0"], 2, vec!["--threshold 0", "lets no change pass"]),
        (
            "two reports on stdout",
            path,
            vec!["one", "one", "--junit", "-", "--markdown", "-"],
            2,
            vec!["both go to stdout"],
        ),
        (
            "a file that cannot be written",
            path,
            vec!["one", "one", "--junit", "no/such/folder.xml"],
            2,
            vec!["--junit no/such/folder.xml cannot be written"],
        ),
        ("runtimes", path, vec!["one", "one", "--runtime", "go"], 2, vec!["cannot serve one"]),
    ] {
        let said = stage.run_in(within, &[&["gate"], &args[..]].concat());
        assert_eq!(said.code, Some(code), "{name}: {said:?}");
        for part in parts {
            assert!(said.stderr.contains(part), "{name}: {part}\n{}", said.stderr);
        }
    }
}

#[test]
fn sides_that_one_runtime_cannot_serve_are_told() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    write_app(&folder.path().join("php"), 1, "hello");
    let go = folder.path().join("go");
    fs::create_dir(&go).unwrap();
    fs::write(go.join("go.mod"), "module hello\n").unwrap();
    fs::write(go.join("main.go"), "package main\nfunc main() {}\n").unwrap();
    let said = stage.run_in(folder.path(), &["gate", "php", "go"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("no runtime serves both sides"), "{}", said.stderr);
}

#[test]
fn a_change_that_costs_much_fails_and_one_that_costs_nothing_passes() {
    let name = "a_change_that_costs_much_fails_and_one_that_costs_nothing_passes";
    if !have(name, &["php8", "git"]) {
        return;
    }
    let stage = Stage::new();
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path();
    git(path, &["init", "--quiet"]);
    for (steps, message) in [(40, "quick"), (160, "slow")] {
        write_app(&path.join("shop"), steps, "hello");
        git(path, &["add", "."]);
        git(path, &["commit", "--quiet", "--message", message]);
    }
    let shop = path.join("shop");
    let args = [
        "HEAD~1",
        "HEAD",
        "--metric",
        "cpu_us_per_request",
        "--max-time",
        "40s",
        "--github",
        "--junit",
        "gate.xml",
        "--markdown",
        "comment.md",
    ];
    let said = stage.run_in(&shop, &[&["gate"], &args[..], &SHORT[..]].concat());
    assert_eq!(said.code, Some(1), "{said:?}");
    for part in ["Failed: HEAD is more than 5 % worse than HEAD~1", "::error title=stampede gate::head: failed"] {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
    assert!(fs::read_to_string(shop.join("gate.xml")).unwrap().contains("<failure message=\"failed: "));
    assert!(fs::read_to_string(shop.join("comment.md")).unwrap().starts_with("### Performance: failed\n"));
    let trees = Command::new("git").arg("-C").arg(path).args(["worktree", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&trees.stdout).lines().count(), 1, "{trees:?}");

    // The other way round it is faster, and that passes; here the folder stands for the slow revision.
    let args = ["shop", "HEAD~1", "--max-time", "40s", "--metric", "cpu_us_per_request"];
    let said = stage.run_in(path, &[&["gate"], &args[..1], &["git:HEAD~1"], &args[2..], &SHORT[..]].concat());
    // At the top of the repository the application is one folder further down.
    assert_eq!(said.code, Some(2), "{said:?}");
    let args = ["../shop", "HEAD~1", "--max-time", "40s", "--metric", "cpu_us_per_request"];
    let said = stage.run_in(&shop, &[&["gate"], &args[..], &SHORT[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("Passed: HEAD~1 is no more than 5 % worse than ../shop"), "{}", said.stdout);

    // What was measured is stored, and a stored study can be held against another.
    let said = stage.run(&["list", "studies"]);
    assert!(said.stdout.contains("gate shop"), "{}", said.stdout);
    let said = stage.run(&["gate", "study:latest", "study:latest", "--threshold", "50%"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    stage.assert_nothing_left();
}

#[test]
fn a_metric_that_a_trial_lacks_and_an_answer_that_changed_are_errors() {
    let name = "a_metric_that_a_trial_lacks_and_an_answer_that_changed_are_errors";
    if !have(name, &["php8"]) {
        return;
    }
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_app(&path.join("one"), 40, "hello");
    write_app(&path.join("other"), 40, "goodbye");
    let rounds = ["--rounds", "3"];
    let args = ["gate", "one", "one", "--metric", "response_p99_us"];
    let said = stage.run_in(path, &[&args[..], &rounds[..], &SHORT[..]].concat());
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.stderr.contains("has no p99 response time"), "{}", said.stderr);
    let said = stage.run_in(path, &[&["gate", "one", "other"], &rounds[..], &SHORT[..]].concat());
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(said.stderr.contains("head was never measured"), "{}", said.stderr);
}
