//! The plan file: what is said of a wrong one.

use std::fs;

use crate::stage::Stage;
use insta::assert_snapshot;
use serde_json::Value;

/// What is said of a plan in the current folder, beside these flags.
fn said(stage: &Stage, plan: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stampede.yaml"), plan).unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("index.php"), "<?php").unwrap();
    let said = stage.run_in(folder.path(), &[&["compare"], flags].concat());
    format!("exit code: {}\n{}{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
}

#[test]
fn mistakes_of_a_plan_are_told_with_place_key_and_fix() {
    let stage = Stage::new();
    let rows: [(&str, &str, &[&str]); 13] = [
        ("keys and types", "workload: markdown\nlimit: {cpus: 1}\ncases: [{runtime: go, sets: {}}]\nload: 16\n", &[]),
        (
            "values",
            "workload: markdwon\nlimits: {cpus: 0, memory: 1Mi}\nload: {model: open, rate: 5..6}\n\
             study: {rounds: 0, duration: 1ms, warm_up: soon, seed: -1, ready_timeout: 9999d}\nplatform: moon\n",
            &[],
        ),
        (
            "values in the file and by flags, which count instead of the file's",
            "workload: markdown\nlimits: {cpus: 0, memory: 1Mi}\nload: opn:5\n",
            &["--cpus", "0", "--load", "closed:0", "--set", "nginx-fpm.pm=never"],
        ),
        ("runtimes", "workload: markdown\nruntimes: [ngnix-fpm, go, go, custom, 7]\n", &[]),
        (
            "cases and their settings",
            "workload: markdown\ncases:\n\
             - {id: a, runtime: nginx-fpm, set: {pm.max_children: 0, pm.max_childern: 3}}\n\
             - {id: a, runtime: nginx-fpm, set: {pm: dynamic, pm.max_children: 2, pm.min_spare_servers: 5}}\n\
             - {id: two words, runtime: fpm}\n\
             - {runtime: custom}\n",
            &[],
        ),
        ("runtimes beside cases", "workload: markdown\nruntimes: [go]\ncases: [{runtime: go}]\n", &[]),
        ("none of either", "workload: markdown\nruntimes: []\n", &[]),
        ("a workload beside an app", "workload: markdown\napp: {dir: .}\n", &[]),
        ("neither", "limits: {cpus: 1}\n", &[]),
        (
            "an app",
            "app:\n  dir: .\n  kind: psr-15-handler\n  index: index.php\n  prepare: [[]]\n  requests:\n  - {path: x}\n  \
             - {path: x, expect: {status: 99, body: a, body_file: b, mask: c}}\n",
            &[],
        ),
        (
            "a topology, apps and builds of PHP",
            "workload: markdown\napps: [own]\nphp: ['8.2', eight, 8.2]\ntopology:\n  replicas: 2\n  services:\n    \
             postgres: {cpus: 0.35, set: {port: 1}}\n  share: {balancer: {cpus: 0.1, memory: 64Mi}}\n",
            &["--client-rtt", "1h", "--set", "postgres.Max=1"],
        ),
        ("an app of a folder that is none", "app: {dir: nowhere}\n", &[]),
        ("an app of a folder that holds nothing", "app: {dir: empty}\n", &[]),
    ];
    let told: String = rows
        .iter()
        .map(|(what, plan, flags)| {
            format!("=== {what}\n{plan}--- {}\n{}\n", flags.join(" "), said(&stage, plan, flags))
        })
        .collect();
    assert_snapshot!("plan_mistakes", told);
}

#[test]
fn without_a_plan_the_way_to_one_is_told() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let said = stage.run_in(folder.path(), &["compare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("write a plan with stampede init"), "{}", said.stderr);
    let said = stage.run_in(folder.path(), &["compare", "."]);
    assert!(said.stderr.contains("holds no known application"), "{}", said.stderr);
}

#[test]
fn schemas_are_printed() {
    for (command, key) in [(&["show", "schema"][..], "cases"), (&["show", "schema", "workload"], "requests")] {
        let said = Stage::new().run(command);
        assert_eq!(said.code, Some(0), "{said:?}");
        let schema: Value = serde_json::from_str(&said.stdout).unwrap();
        assert!(schema["properties"][key].is_object(), "{schema}");
    }
}
