//! The plan file: what is said of a wrong one, and that a right one does what it says.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::stage::{Stage, have};

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
    assert!(said.stderr.contains("run stampede init"), "{}", said.stderr);
    let said = stage.run_in(folder.path(), &["compare", "."]);
    assert!(said.stderr.contains("holds no application that is known by its files"), "{}", said.stderr);
}

#[test]
fn the_schema_is_printed() {
    let said = Stage::new().run(&["show", "schema"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let schema: Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(schema["properties"]["cases"].is_object(), "{schema}");
}

#[test]
fn cases_of_one_runtime_are_told_apart_and_flags_override_the_file() {
    if !have("cases_of_one_runtime_are_told_apart_and_flags_override_the_file", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let plan = "workload: markdown\n\
        cases:\n\
        - {id: two, runtime: php-cli-server, set: {PHP_CLI_SERVER_WORKERS: 2}}\n\
        - {id: four, runtime: php-cli-server, set: {PHP_CLI_SERVER_WORKERS: 4}}\n\
        limits: {cpus: 0.5, memory: 128Mi}\n\
        load: {model: closed, connections: 4}\n\
        study: {rounds: 1, duration: 10m, warm_up: 0, seed: 7}\n";
    fs::write(folder.path().join("p.yaml"), plan).unwrap();
    let flags = ["compare", "p.yaml", "--duration", "1s", "--memory", "96Mi", "--json", "-"];
    let said = stage.run_in(folder.path(), &flags);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((study["seed"].as_u64(), study["workload"].as_str()), (Some(7), Some("markdown")));
    for (id, workers) in [("two", "2"), ("four", "4")] {
        let case = study["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap();
        assert_eq!(case["runtime"], "php-cli-server");
        assert_eq!(case["tuning"]["PHP_CLI_SERVER_WORKERS"], workers);
        assert_eq!((&case["enforced"]["cpus"], &case["enforced"]["memory_bytes"]), (&0.5.into(), &(96 << 20).into()));
        assert_eq!(case["trials"].as_array().unwrap().len(), 1);
    }
    let verdicts = study["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    let shown = stage.run(&["show", "latest"]).stdout;
    for part in ["two", "four", "0.5 CPU and 96Mi"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let by_flag = [
        "compare",
        "p.yaml",
        "--duration",
        "1s",
        "--rounds",
        "1",
        "--set",
        "php-cli-server.PHP_CLI_SERVER_WORKERS=3",
        "--json",
        "-",
    ];
    let said = stage.run_in(folder.path(), &by_flag);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    for case in study["cases"].as_array().unwrap() {
        assert_eq!(case["tuning"]["PHP_CLI_SERVER_WORKERS"], "3", "{}", case["id"]);
    }
    stage.assert_nothing_left();
}

#[test]
fn a_topology_of_the_plan_is_served_and_flags_override_its_keys() {
    if !have("a_topology_of_the_plan_is_served_and_flags_override_its_keys", &["php", "nginx"]) {
        return;
    }
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    let plan = "workload: markdown\n\
        runtimes: [php-cli-server]\n\
        limits: {cpus: 1, memory: 384Mi}\n\
        topology:\n  replicas: 2\n  balancer: nginx\n  balance: least-connections\n  tls: true\n  \
        share: {replica: {cpus: 0.3, memory: 128Mi}, balancer: {cpus: 0.2, memory: 64Mi}}\n\
        load: closed:4\n\
        study: {rounds: 1, duration: 1s, warm_up: 0}\n";
    fs::write(folder.path().join("p.yaml"), plan).unwrap();
    let flags = ["compare", "p.yaml", "--balance", "round-robin", "--share", "balancer=0.25,96Mi", "--json", "-"];
    let said = stage.run_in(folder.path(), &flags);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let case = &study["cases"][0];
    let topology = &case["topology"];
    assert_eq!((&topology["replicas"], &topology["balancer"]["kind"]), (&2.into(), &"nginx".into()));
    assert_eq!((&topology["balancer"]["balance"], &topology["balancer"]["tls"]), (&"round-robin".into(), &true.into()));
    let held =
        |part: &Value| (part["part"].clone(), part["enforced_cpus"].clone(), part["enforced_memory_bytes"].clone());
    let parts: Vec<_> = case["trials"][0]["parts"].as_array().unwrap().iter().map(held).collect();
    let replica = |name: &str| (name.into(), 0.3.into(), (128 << 20).into());
    let balancer = ("balancer".into(), 0.25.into(), (96 << 20).into());
    assert_eq!(parts, [replica("replica-1"), replica("replica-2"), balancer]);
    stage.assert_nothing_left();
}
