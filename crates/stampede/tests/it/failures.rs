//! Servers and applications that do not do what they should. Each is told with its cause, and nothing is left.

use serde_json::Value;

use crate::stage::{Said, Stage, have, have_extension, workload};

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
        "--no-yard-stick",
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

/// What nginx and FPM answer rightly, a worker that keeps the application does not.
#[test]
fn the_request_that_changes_another_ones_answer_is_told_of_kept_workers_alone() {
    const TEST: &str = "the_request_that_changes_another_ones_answer_is_told_of_kept_workers_alone";
    if have(TEST, &["nginx", "php-fpm"]) {
        let (said, trial) = trial(&Stage::new(), "clingy", "nginx-fpm", &[]);
        assert_eq!((said.code, &trial["outcome"]), (Some(0), &"measured".into()), "{trial}");
    }
    if have(TEST, &["frankenphp"]) {
        assert_leak("frankenphp", &["--set", "frankenphp.mode=worker", "--set", "frankenphp.worker.num=2"]);
    }
    if have_extension(TEST, "swoole") {
        assert_leak("swoole", &["--set", "swoole.worker_num=2"]);
    }
}

fn assert_leak(runtime: &str, more: &[&str]) {
    let (said, trial) = trial(&Stage::new(), "clingy", runtime, more);
    let told = "leaks state from one request into another: `cart` changes what `home` answers: the body differs";
    assert_failed(&said, &trial, &[told, "- 0 in your cart", "seen on 3 fresh deployments", "fix: reset at the end"]);
}
