//! Pages for a browser, charts and CSV, of a study that was measured here.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use crate::stage::{Stage, have, workload};

#[test]
fn a_study_is_reported_in_every_form_and_a_full_disk_leaves_what_was_there() {
    const NAME: &str = "a_study_is_reported_in_every_form_and_a_full_disk_leaves_what_was_there";
    if !have(NAME, &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (page, csv) = (stage.home().join("page.html"), stage.home().join("trials.csv"));
    let slow = workload("slow");
    let flags =
        "--runtimes php-cli-server --cpus 0.5 --memory 64Mi --duration 300ms --warm-up 0 --load closed:2 --rounds 2";
    let mut args = vec!["compare", slow.as_str(), "--quiet", "--no-wait"];
    args.extend(flags.split(' '));
    args.extend(["--html", page.to_str().unwrap(), "--csv", csv.to_str().unwrap()]);
    let said = stage.run(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let written = fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.contains("php-cli-server"), "{written}");
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 3);

    let again = stage.run(&["report", "latest", "-o", "-"]);
    assert_eq!((again.code, again.stdout.starts_with("<!doctype html>")), (Some(0), true), "{}", again.stderr);
    let chart = stage.run(&["report", "--svg", "-"]);
    assert!(chart.stdout.starts_with("<svg") && chart.stdout.contains("<circle"), "{}", chart.stdout);
    let unknown = stage.run(&["report", "1999"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);

    if !Command::new("unshare").args(["--mount", "true"]).output().unwrap().status.success() {
        let _ = writeln!(std::io::stderr(), "SKIP {NAME}: the full disk needs a mount namespace");
        return;
    }
    let full = stage.home().join("full");
    fs::create_dir(&full).unwrap();
    let inner = stage.command(&[]);
    // A file system of its own that holds the old report and not the new one beside it.
    let script = "mount -t tmpfs -o size=16k none \"$0\" && echo old > \"$0/page.html\" && \
                  { \"$@\"; code=$?; cat \"$0/page.html\"; ls -A \"$0\"; exit $code; }";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&full).arg(inner.get_program());
    command.args(["report", "-o"]).arg(full.join("page.html"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!((said.status.code(), stdout.as_ref()), (Some(3), "old\npage.html\n"), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("No space left on device"), "{stderr}");
}
