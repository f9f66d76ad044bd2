//! Servers and applications that do not do what they should. Each is told with its cause, and nothing is left.

use serde_json::Value;

use crate::stage::{Said, Stage, have, have_extension, workload};

/// One short trial of a workload on each of these runtimes.
fn trials(stage: &Stage, name: &str, runtimes: &str, more: &[&str]) -> (Said, Vec<Value>) {
    let workload = workload(name);
    let mut args = vec![
        "compare",
        &workload,
        "--runtimes",
        runtimes,
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
        "--no-yard-stick",
        "--json",
        "-",
    ];
    args.extend(more);
    let said = stage.run(&args);
    stage.assert_nothing_left();
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let trials = study["cases"].as_array().unwrap().iter().map(|case| case["trials"][0].clone()).collect();
    (said, trials)
}

/// The web servers with PHP that are everywhere.
const SERVERS: &str = "nginx-fpm,apache-mod-php,php-cli-server";

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
    let (said, trials) = trials(&stage, "fatal", SERVERS, &[]);
    assert_eq!(trials.len(), 3, "{said:?}");
    for trial in trials {
        assert_failed(
            &said,
            &trial,
            &[
                "wrong answer to `home`",
                "500 Internal Server Error came",
                "body:",
                "log of",
                "undefined function no_such_function",
            ],
        );
    }
}

#[test]
fn a_setting_that_is_asked_for_and_not_in_effect_makes_the_trial_invalid() {
    if !have("a_setting_that_is_asked_for_and_not_in_effect", &["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let stage = Stage::new();
    let (said, trials) = trials(&stage, "meagre", SERVERS, &[]);
    assert_eq!((said.code, trials.len()), (Some(4), 3), "{said:?}");
    for trial in trials {
        assert_eq!(trial["outcome"], "invalid", "{said:?}");
        let reason = trial["reason"].as_str().unwrap();
        assert!(reason.contains("opcache.memory_consumption = 4 was asked for, and \"128\" is in effect"), "{reason}");
        assert_eq!((&trial["php"]["opcache"], &trial["php"]["jit"]), (&true.into(), &false.into()), "{trial}");
    }
}

/// What nginx and FPM answer rightly, a worker that keeps the application does not.
#[test]
fn the_request_that_changes_another_ones_answer_is_told_of_kept_workers_alone() {
    const TEST: &str = "the_request_that_changes_another_ones_answer_is_told_of_kept_workers_alone";
    if have(TEST, &["nginx", "php-fpm"]) {
        let (said, trials) = trials(&Stage::new(), "clingy", "nginx-fpm", &[]);
        assert_eq!((said.code, &trials[0]["outcome"]), (Some(0), &"measured".into()), "{trials:?}");
    }
    if have(TEST, &["frankenphp"]) {
        assert_leak("frankenphp", &["--set", "frankenphp.mode=worker", "--set", "frankenphp.worker.num=2"]);
    }
    if have_extension(TEST, "swoole") {
        assert_leak("swoole", &["--set", "swoole.worker_num=2"]);
    }
}

fn assert_leak(runtime: &str, more: &[&str]) {
    let (said, trials) = trials(&Stage::new(), "clingy", runtime, more);
    let told = "leaks state from one request into another: `cart` changes what `home` answers: the body differs";
    assert_failed(
        &said,
        &trials[0],
        &[told, "- 0 in your cart", "seen on 3 fresh deployments", "fix: reset at the end"],
    );
}
