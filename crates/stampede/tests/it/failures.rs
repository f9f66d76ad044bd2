//! Servers and applications that do not do what they should. Each is told with its cause, and nothing is left.

use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::stage::{Said, Stage, have, workload};

/// One short trial of a workload on a runtime.
fn trial(stage: &Stage, name: &str, runtime: &str, more: &[&str]) -> (Said, Value) {
    let workload = workload(name);
    let mut args = vec![
        "compare",
        &workload,
        "--runtimes",
        runtime,
        "--cpus",
        "0.5",
        "--memory",
        "64Mi",
        "--duration",
        "1s",
        "--warm-up",
        "200ms",
        "--rounds",
        "1",
        "--load",
        "closed:4",
        "--json",
        "-",
    ];
    args.extend(more);
    let said = stage.run(&args);
    stage.assert_nothing_left();
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let trial = study["cases"][0]["trials"][0].clone();
    (said, trial)
}

fn assert_failed(said: &Said, trial: &Value, parts: &[&str]) {
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(trial["outcome"], "failed", "{trial}");
    let reason = trial["reason"].as_str().unwrap();
    for part in parts {
        assert!(reason.contains(part), "{part:?} is not in:\n{reason}");
    }
}

#[test]
fn a_fatal_error_is_shown_with_status_body_and_log() {
    if !have("a_fatal_error_is_shown_with_status_body_and_log", &["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let stage = Stage::new();
    for runtime in ["nginx-fpm", "apache-mod-php", "php-cli-server"] {
        let (said, trial) = trial(&stage, "fatal", runtime, &[]);
        assert_failed(
            &said,
            &trial,
            &["wrong answer to `home`", "status 500", "body:", "log of", "undefined function no_such_function"],
        );
    }
}

#[test]
fn a_worker_that_is_killed_for_memory_is_told_with_count_and_limit() {
    if !have("a_worker_that_is_killed_for_memory_is_told_with_count_and_limit", &["nginx", "php-fpm", "apache2", "php"])
    {
        return;
    }
    let stage = Stage::new();
    for runtime in ["nginx-fpm", "apache-mod-php", "php-cli-server"] {
        let (said, trial) = trial(&stage, "greedy", runtime, &[]);
        assert_failed(&said, &trial, &["`greedy`", "the kernel killed 1 process", "memory limit of 64Mi"]);
    }
}

#[test]
fn a_runtime_that_never_becomes_ready_is_told_with_its_last_state_and_log() {
    if !have("a_runtime_that_never_becomes_ready_is_told_with_its_last_state_and_log", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "stuck", "nginx-fpm", &["--ready-timeout", "1500ms"]);
    assert_failed(&said, &trial, &["not ready within 1.5s", "last state", "wait for the answer", "never comes"]);
}

#[test]
fn an_answer_that_is_checked_is_waited_for_as_long_as_the_first_one() {
    if !have("an_answer_that_is_checked_is_waited_for_as_long_as_the_first_one", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "halting", "nginx-fpm", &["--ready-timeout", "1500ms"]);
    assert_failed(&said, &trial, &["gave no answer to `never`", "nothing more came within 1.5s"]);
}

#[test]
fn a_server_that_ends_at_once_is_told_with_status_and_log() {
    if !have("a_server_that_ends_at_once_is_told_with_status_and_log", &["go"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "stillborn", "go", &[]);
    assert_failed(&said, &trial, &["status 7", "no heart"]);
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_after_its_grace_and_that_is_recorded() {
    if !have("a_server_that_ignores_sigterm_is_killed_after_its_grace_and_that_is_recorded", &["go"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "deaf", "go", &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(trial["outcome"], "measured", "{trial}");
    assert_eq!(trial["stops"][0]["killed"], true, "{trial}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = study["cases"][0]["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == "stop-killed"), "{findings:?}");
}

#[test]
fn wrong_answers_under_load_make_a_trial_invalid() {
    if !have("wrong_answers_under_load_make_a_trial_invalid", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "fickle", "nginx-fpm", &[]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert_eq!(trial["outcome"], "invalid", "{trial}");
    let reason = trial["reason"].as_str().unwrap();
    assert!(reason.contains("answers under load were wrong") && reason.contains("goodbye"), "{reason}");
    assert_eq!(trial["errors"]["wrong_body"], trial["requests"]["failed"], "{trial}");
}

#[test]
fn a_failed_case_does_not_stop_the_others() {
    if !have("a_failed_case_does_not_stop_the_others", &["php", "go"]) {
        return;
    }
    let stage = Stage::new();
    let said = stage.run(&[
        "compare",
        &workload("half"),
        "--runtimes",
        "go,php-cli-server",
        "--cpus",
        "0.5",
        "--memory",
        "64Mi",
        "--duration",
        "300ms",
        "--warm-up",
        "0",
        "--rounds",
        "2",
        "--load",
        "closed:2",
        "--json",
        "-",
    ]);
    stage.assert_nothing_left();
    assert_eq!(said.code, Some(5), "{said:?}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let outcomes = |id: &str| {
        let case = study["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap();
        case["trials"].as_array().unwrap().iter().map(|trial| trial["outcome"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes("php-cli-server"), ["measured", "measured"], "{study}");
    assert_eq!(outcomes("go"), ["failed", "failed"], "{study}");
}

#[test]
fn what_one_request_leaves_behind_for_the_next_is_found() {
    let stage = Stage::new();
    // The first is a Go program; the others keep PHP, where they are installed.
    for (runtime, programs) in [("go", &["go"][..]), ("frankenphp", &["frankenphp"]), ("swoole", &["php"])] {
        if !have("what_one_request_leaves_behind_for_the_next_is_found", programs) {
            continue;
        }
        if runtime == "swoole" && !has_extension("swoole") {
            let _ = writeln!(std::io::stderr(), "SKIP what_one_request_leaves_behind: needs the PHP extension swoole");
            continue;
        }
        let (said, trial) = trial(&stage, "leaky", runtime, &[]);
        assert_failed(&said, &trial, &["leaks from one request into another", "`nobody`", "Hello, Ada!"]);
    }
}

fn has_extension(name: &str) -> bool {
    let probe = Command::new("php").args(["-n", "-d", &format!("extension={name}"), "--ri", name]).output();
    probe.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("Version => "))
}

#[test]
fn workers_that_are_started_again_and_again_are_told_within_5_seconds_with_their_output() {
    if !have("workers_that_are_started_again_and_again", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trial) = trial(&stage, "restless", "custom", &["--ready-timeout", "5s"]);
    assert_failed(&said, &trial, &["starts its workers again and again", "no licence for a worker"]);
}

#[test]
fn a_setting_that_is_asked_for_and_not_in_effect_makes_the_trial_invalid() {
    if !have("a_setting_that_is_asked_for_and_not_in_effect", &["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let stage = Stage::new();
    for runtime in ["nginx-fpm", "apache-mod-php", "php-cli-server"] {
        let (said, trial) = trial(&stage, "meagre", runtime, &[]);
        assert_eq!((said.code, &trial["outcome"]), (Some(4), &"invalid".into()), "{said:?}");
        let reason = trial["reason"].as_str().unwrap();
        assert!(reason.contains("opcache.memory_consumption = 4 was asked for, and \"128\" is in effect"), "{reason}");
        assert_eq!((&trial["php"]["opcache"], &trial["php"]["jit"]), (&true.into(), &false.into()), "{trial}");
    }
}
