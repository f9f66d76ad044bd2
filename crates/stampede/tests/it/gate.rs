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

/// A workload that is loaded with a scenario, and whose database is made by this SQL.
fn write_workload(folder: &Path, scenario: &str, sql: Option<&str>) {
    write_app(&folder.join("app"), 1, "hello");
    let services = sql.map_or("", |sql| {
        fs::write(folder.join("schema.sql"), sql).unwrap();
        "services: {postgres: {init: schema.sql}}\n"
    });
    let workload = "title: A shop\napps: [{kind: front-controller, dir: app, index: index.php}]\nscenario: scenario.yaml\n\
         requests: [{name: a, path: /, expect: {status: 200, body: hello}}]\n";
    fs::write(folder.join("workload.yaml"), format!("{workload}{services}")).unwrap();
    fs::write(folder.join("scenario.yaml"), format!("crowds: [{scenario}]\n")).unwrap();
}

const CROWD: &str = "{load: closed:2, requests: [{name: home, path: /}]}";

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
        (
            "no repository",
            path,
            vec!["main", "one"],
            2,
            vec!["main is neither a folder nor a git revision", "not in a git repository"],
        ),
        (
            "unknown revision",
            repository.path(),
            vec!["mian", "."],
            2,
            vec!["mian is neither a folder nor a revision", "git branch --all"],
        ),
        ("an option", repository.path(), vec!["git:--all", "."], 2, vec!["nor a revision of this git repository"]),
        ("nothing in a folder", path, vec!["one", "empty"], 2, vec!["holds no known application"]),
        (
            "one stored, one not",
            path,
            vec!["study:latest", "one"],
            2,
            vec!["can only be compared with another stored study"],
        ),
        ("no such study", path, vec!["study:latest", "study:x"], 2, vec!["stud"]),
        (
            "flags for what is stored",
            path,
            vec!["study:a", "study:b", "--cpus", "1"],
            2,
            vec!["--cpus is for measuring"],
        ),
        (
            "metric",
            path,
            vec!["one", "one", "--metric", "throttled_share"],
            2,
            vec!["--metric throttled_share", "--metric help lists all"],
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
            "a report and annotations on stdout",
            path,
            vec!["one", "one", "--junit", "-", "--github"],
            2,
            vec!["--junit - and --github both go to stdout; give --junit a file"],
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
    assert!(said.stderr.contains("no runtime can serve both versions"), "{}", said.stderr);
}

/// In a folder of a repository a revision is that folder as it was: here one of a Go program, which PHP has replaced since.
#[test]
fn sides_within_a_repository_are_read_in_the_folder_of_each_revision() {
    let stage = Stage::new();
    let repository = tempfile::tempdir().unwrap();
    let (path, shop) = (repository.path(), repository.path().join("shop"));
    git(path, &["init", "--quiet"]);
    write_app(path, 1, "hello");
    fs::create_dir(&shop).unwrap();
    fs::write(shop.join("go.mod"), "module hello\n").unwrap();
    fs::write(shop.join("main.go"), "package main\nfunc main() {}\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "--message", "all"]);
    fs::remove_file(shop.join("go.mod")).unwrap();
    fs::remove_file(shop.join("main.go")).unwrap();
    write_app(&shop, 1, "hello");
    let said = stage.run_in(&shop, &["gate", "HEAD", "."]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("no runtime can serve both versions"), "{}", said.stderr);
}

#[test]
fn sides_that_are_asked_something_else_are_told() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let two = format!("{CROWD}, {{load: closed:1, requests: [{{name: search, path: '/?q'}}]}}");
    let table = Some("CREATE TABLE t (a int);");
    for (name, scenario, sql) in [
        ("one", CROWD, None),
        ("more", "{load: closed:3, requests: [{name: home, path: /}]}", None),
        ("crowds", &two, None),
        ("other", "{load: closed:2, requests: [{name: home, path: '/?page=2'}]}", None),
        ("table", CROWD, table),
        ("wide-table", CROWD, Some("CREATE TABLE t (a int, b int);")),
    ] {
        write_workload(&folder.path().join(name), scenario, sql);
    }
    write_app(&folder.path().join("plain"), 1, "hello");
    write_app(&folder.path().join("in-containers"), 1, "hello");
    fs::write(folder.path().join("in-containers/stampede.yaml"), "app: {dir: .}\nplatform: docker\n").unwrap();
    for (base, head, what) in [
        ("one", "more", "load"),
        ("one", "crowds", "load"),
        ("one", "other", "scenario"),
        ("one", "plain", "load"),
        ("table", "wide-table", "content of services"),
        ("plain", "in-containers", "platform"),
    ] {
        let said = stage.run_in(folder.path(), &["gate", base, head]);
        assert_eq!(said.code, Some(2), "{base} {head}: {said:?}");
        assert!(
            said.stderr.contains(&format!("the plans of the two versions differ in their {what}")),
            "{base} {head}: {}",
            said.stderr
        );
    }
}

#[test]
fn a_revision_that_costs_much_fails() {
    let name = "a_revision_that_costs_much_fails";
    if !have(name, &["php8", "git"]) {
        return;
    }
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    fs::create_dir(&shop).unwrap();
    git(&shop, &["init", "--quiet"]);
    for (steps, message) in [(40, "quick"), (160, "slow")] {
        write_app(&shop, steps, "hello");
        git(&shop, &["add", "."]);
        git(&shop, &["commit", "--quiet", "--message", message]);
    }
    let temporary = tempfile::tempdir().unwrap();
    let place = [("TMPDIR", temporary.path().to_str().unwrap())];
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
    let said = stage.run_in_with(&shop, &place, &[&["gate"], &args[..], &SHORT[..]].concat());
    assert_eq!(said.code, Some(1), "{said:?}");
    for part in ["Failed: HEAD is more than 5 % worse than HEAD~1", "::error title=stampede gate::head: failed"] {
        assert!(said.words().contains(part), "{part}\n{}", said.stdout);
    }
    assert!(fs::read_to_string(shop.join("gate.xml")).unwrap().contains("<failure message=\"failed: "));
    assert!(fs::read_to_string(shop.join("comment.md")).unwrap().starts_with("### Performance: failed\n"));
    let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let trees = Command::new("git").arg("-C").arg(&shop).args(["worktree", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&trees.stdout).lines().count(), 1, "{trees:?}");

    // A whole repository bears its name.
    let said = stage.run(&["list", "studies"]);
    assert!(said.stdout.contains("gate shop"), "{}", said.stdout);
    stage.assert_nothing_left();
}
