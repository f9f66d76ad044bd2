//! Memory of real servers: what each process has, memory that grows without end, and memory that is taken back and read again.

use std::io::Write;

use serde_json::Value;

use crate::stage::{Stage, have, have_extension, workload};

/// Until files are read again and again.
const LONG: [&str; 6] = ["--duration", "3s", "--warm-up", "2s", "--rounds", "1"];

/// Until each process has worked.
const SHORT: [&str; 6] = ["--duration", "3s", "--warm-up", "300ms", "--rounds", "1"];

/// A comparison under this much memory, as JSON.
fn compared(stage: &Stage, name: &str, memory: &str, length: &[&str], more: &[&str]) -> Value {
    let workload = workload(name);
    let mut args = vec!["compare", &workload, "--cpus", "0.5", "--memory", memory, "--load", "closed:4"];
    args.extend(["--no-yard-stick", "--json", "-"]);
    args.extend(length);
    args.extend(more);
    let said = stage.run(&args);
    stage.assert_nothing_left();
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// A finding of the first case.
fn found<'a>(study: &'a Value, id: &str) -> Option<&'a Value> {
    study["cases"][0]["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id)
}

/// A whole pool that reads more of files than its memory holds: nothing is killed, and pages are taken back that are needed again.
#[test]
fn memory_that_is_taken_back_and_read_again_is_named() {
    const TEST: &str = "memory_that_is_taken_back_and_read_again_is_named";
    if !have(TEST, &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let runtime = ["--runtimes", "nginx-fpm", "--set", "nginx-fpm.pm.max_children=4"];
    let small = compared(&stage, "thrashing", "64Mi", &LONG, &runtime);
    let group = &small["cases"][0]["trials"][0]["sampling"]["series"];
    let counts =
        group.as_array().is_some_and(|all| all.iter().any(|series| !series["columns"]["file_refaults"].is_null()));
    if !counts {
        let _ =
            writeln!(std::io::stderr(), "SKIP {TEST}: needs a kernel that counts workingset_refault by control group");
        return;
    }
    let finding = found(&small, "memory-pressure").unwrap_or_else(|| panic!("{small:#}"));
    assert!(
        finding["text"].as_str().unwrap().ends_with("the limit of 64Mi is too small for what is used of it."),
        "{finding}"
    );
    assert!(finding["evidence"]["refaults_per_request"].as_f64().unwrap() > 0.5, "{finding}");
    // Some kernels do not count them.
    assert!(finding["evidence"]["limit_hits"].as_f64().is_none_or(|hits| hits > 0.0), "{finding}");
    let enough = compared(&stage, "thrashing", "256Mi", &LONG, &runtime);
    assert_eq!(found(&enough, "memory-pressure"), None, "{enough:#}");
}

/// Each worker's own memory is far less than what is resident of it.
#[test]
fn workers_share_what_their_resident_memory_counts_for_each() {
    if !have("workers_share_what_their_resident_memory_counts_for_each", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let flags = ["--runtimes", "nginx-fpm", "--set", "nginx-fpm.pm.max_children=3"];
    let study = compared(&stage, "slow", "128Mi", &SHORT, &flags);
    let series = study["cases"][0]["trials"][0]["sampling"]["series"].as_array().unwrap();
    let workers: Vec<&Value> = series
        .iter()
        .filter(|series| {
            series["source"] == "process" && series["name"].as_str().unwrap().ends_with("php-fpm: pool app")
        })
        .collect();
    assert_eq!(workers.len(), 3, "{series:#?}");
    for worker in workers {
        let most = |column: &str| {
            worker["columns"][column].as_array().unwrap().iter().filter_map(Value::as_u64).max().unwrap()
        };
        let (private, resident) = (most("private_bytes"), most("resident_bytes"));
        assert!(private > 100 << 10 && 2 * private < resident, "{private} of {resident}: {worker}");
    }
}

/// Each replica's workers are seen, and told apart from the others' and from what is before them.
#[test]
fn workers_of_replicas_are_counted_in_each_of_them() {
    if !have("workers_of_replicas_are_counted_in_each_of_them", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let flags =
        ["--runtimes", "nginx-fpm", "--set", "nginx-fpm.pm.max_children=3", "--replicas", "2", "--balancer", "nginx"];
    let study = compared(&stage, "slow", "192Mi", &SHORT, &flags);
    let series = study["cases"][0]["trials"][0]["sampling"]["series"].as_array().unwrap();
    let named = |end: &str| {
        let names = series.iter().filter(|series| series["source"] == "process").filter_map(|one| one["name"].as_str());
        names.filter(|name| name.ends_with(end)).count()
    };
    let counts = ["replica-1 php-fpm: pool app", "replica-2 php-fpm: pool app", "balancer nginx: master process"];
    assert_eq!(counts.map(named), [3, 3, 1], "{series:#?}");
}

#[test]
fn a_worker_that_keeps_something_of_each_request_has_no_size() {
    const TEST: &str = "a_worker_that_keeps_something_of_each_request_has_no_size";
    if !have_extension(TEST, "swoole") {
        return;
    }
    let stage = Stage::new();
    let workload = workload("hoarding");
    let args = [
        "size",
        &workload,
        "--runtimes",
        "swoole",
        "--load",
        "open:poisson:40",
        "--slo",
        "p95<900ms,errors<5%",
        "--cpus",
        "0.5",
        "--memory",
        "192Mi,256Mi",
        "--pools",
        "8",
        "--duration",
        "10s",
        "--seed",
        "1",
        "--budget",
        "4m",
        "--json",
        "-",
    ];
    let said = stage.run(&args);
    stage.assert_nothing_left();
    assert_eq!(said.code, Some(1), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let memory = &found["memory"][0];
    assert_eq!((&memory["growth"], &found["choice"]), (&"endless".into(), &Value::Null), "{found:#}");
    // 32 KiB of each request and what the allocator adds.
    let each = memory["growth_bytes_per_1000_requests"]["value"].as_f64().unwrap() / 1_000.0;
    assert!((30_000.0..48_000.0).contains(&each), "{each}: {found:#}");
    assert!(found["conclusion"].as_str().unwrap().contains("and did not level off"), "{found:#}");
}
