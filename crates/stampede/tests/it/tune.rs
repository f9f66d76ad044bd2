//! `stampede tune` from end to end, on a real server.

use std::fs;

use serde_json::Value;

use crate::stage::{Stage, have};

#[test]
fn what_cannot_be_searched_is_told() {
    let stage = Stage::new();
    for (args, problem) in [
        (&["ngnix-fpm"][..], "ngnix-fpm is not a runtime; did you mean nginx-fpm?"),
        (&["nginx-fpm", "--budget", "1m"], "--budget 1m is too small"),
        (&["nginx-fpm", "--objective", "speed"], "--objective speed is not known; use throughput, memory, cost"),
        (&["nginx-fpm", "--objective", "memory"], "--objective memory is best where nothing is served well"),
        (&["nginx-fpm", "--load", "open:50"], "--load open:50 says how many requests there are"),
        (&["nginx-fpm", "--set", "nginx-fpm.pm.max_spare_servers=3"], "pm = static does not have pm.max_spare_servers"),
        (&["nginx-fpm", "--slo", "fast"], "--slo fast is not a term"),
        (&["php-cli-server", "--set", "php-cli-server.PHP_CLI_SERVER_WORKERS=2"], "nothing is left to search"),
    ] {
        let said = stage.run(&[&["tune"], args, &["mix"]].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(problem), "{args:?}: {}", said.stderr);
    }
    for (args, problem) in [
        (&["--steps", "1"][..], "--steps 1 is not a number from 2 to 100"),
        (&["--steps", "5", "--ini", "opcache"], "--ini opcache is not NAME=VALUE"),
        (&["--steps", "5", "--or", "swole"], "--runtimes swole is not a runtime; did you mean swoole?"),
        (&["--steps", "5", "--metric", "fast"], "--metric fast is not the name of a metric"),
        (&["--steps", "5", "--budget", "5m"], "cannot be used with"),
        (&["--or", "swoole"], "--steps <N>"),
        (&["--steps", "5", "--against", "rinha"], "--against rinha names no row"),
        (&["--steps", "5", "--against", "rinah/go"], "experiment rinah is not known; did you mean rinha?"),
        (&["--steps", "5", "--against", "rinha/task-wokers"], "is not in rinha; did you mean task-workers?"),
        (
            &["--steps", "5", "--against", "rinha/go"],
            "--against rinha/go serves rinha, and this is mix; name a row of mix",
        ),
        (&["--steps", "5", "--against", "gcp-markdown/php-function"], "is a service whose instances come and go"),
        (&["--steps", "5", "--against", "none.yaml/go"], "none.yaml cannot be read"),
    ] {
        let said = stage.run(&[&["tune", "nginx-fpm", "mix"], args].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(problem), "{args:?}: {}", said.stderr);
    }
}

/// An experiment with deployments that no step can be held against.
const OTHERS: &str = "title: What is served elsewhere
source: Here
scale: 1
rounds: 3
tables:
  - id: elsewhere
    title: Elsewhere
    workload: hello
    warm_up: 1s
    case: {runtime: nginx-fpm}
    columns: [{metric: throughput_rps, unit: req/s}]
    baseline: go
    rows:
      - {id: large, title: On a larger machine, case: {replicas: 2, balancer: nginx, share: {replica: '0.4,128Mi'}}}
      - {id: symfony, title: Through a framework, case: {app: symfony}}
      - {id: go, title: Another language, case: {runtime: go}}
";

#[test]
fn what_a_step_cannot_be_held_against_is_told_before_the_first() {
    let stage = Stage::new();
    fs::write(stage.home().join("others.yaml"), OTHERS).unwrap();
    for (row, problem) in [
        (
            "large",
            "gives out 0.8 of 0.5 CPUs, and one part without a share needs some; raise --cpus, or lower the shares",
        ),
        ("symfony", "serves the application symfony, and this is plain; name a row of plain"),
        ("go", "is served by none of these runtimes; name its runtime in --or"),
    ] {
        let row = format!("others.yaml/{row}");
        let args =
            ["tune", "nginx-fpm", "hello", "--cpus", "0.5", "--memory", "512Mi", "--steps", "3", "--against", &row];
        let said = stage.run_in(stage.home(), &args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{row}: {}", said.stderr);
        assert!(said.stderr.contains(problem) && said.stderr.contains(&row), "{row}: {}", said.stderr);
    }
}

#[test]
fn a_deployment_is_made_better_step_by_step_and_each_says_why() {
    if !have("a_deployment_is_made_better_step_by_step_and_each_says_why", &["php", "nginx"]) {
        return;
    }
    let stage = Stage::alone();
    let climb = |rest: &[&str]| {
        let args = [
            "tune",
            "php-cli-server",
            "markdown",
            "--steps",
            "3",
            "--or",
            "nginx-fpm",
            "--ini",
            "opcache.enable=0",
            "--ini",
            "opcache.enable_cli=0",
            "--set",
            "php-cli-server.PHP_CLI_SERVER_WORKERS=2",
            "--load",
            "closed:8",
            "--duration",
            "600ms",
            "--cpus",
            "1",
            "--memory",
            "512Mi",
            "--replicas",
            "2",
            "--balancer",
            "nginx",
            "--share",
            "replica=0.1,128Mi",
            "--share",
            "balancer=0.6,128Mi",
            "--json",
            "-",
        ];
        stage.run(&[&args[..], rest].concat())
    };
    let said = climb(&[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let steps = found["steps"].as_array().unwrap();
    let told = |of: &str| steps.iter().map(|step| step[of].as_str().unwrap_or_default()).collect::<Vec<_>>();
    let changes = told("change");
    // What each request does in vain is mended first, then what a part lacks that another leaves idle.
    assert_eq!((changes.len(), &changes[..2]), (3, &["", "opcode cache off -> on"][..]), "{found}");
    assert!(changes[2].starts_with("replica 0.1 -> 0."), "{found}");
    assert!(told("reason")[1].contains("every request compiles its scripts again"), "{found}");
    assert!(told("reason")[2].contains("replica used") && told("reason")[2].contains("which ran out in"), "{found}");
    assert!(steps.iter().all(|step| step["kept"] == true), "{found}");
    let figure = |place: usize| steps[place]["figure"].as_f64().unwrap();
    assert!(figure(2) > 2.0 * figure(0), "{found}");
    let judged = |one: &str, other: &str| {
        let verdicts = found["held"]["verdicts"].as_array().unwrap();
        let pair = [(one, other), (other, one)];
        let is_pair = |verdict: &&Value| pair.iter().any(|(a, b)| verdict["a"] == *a && verdict["b"] == *b);
        verdicts.iter().find(is_pair).map(|verdict| verdict["verdict"].as_str().unwrap_or_default().to_owned())
    };
    let direct = judged("last", "first");
    assert!(["faster", "slower"].map(|word| Some(word.to_owned())).contains(&direct), "{found}");
    assert!(found["held"]["verdicts_by_p99"].is_array(), "{found}");
    let conclusion = found["conclusion"].as_str().unwrap();
    for part in ["2 of 2 changes improved it", "beside first, the last has"] {
        assert!(conclusion.contains(part), "{part}: {found}");
    }
    for part in ["opcache.enable=1", "which ran out in", "step 3: replica 0.1 -> 0."] {
        assert!(said.stderr.contains(part) || found["state"].to_string().contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();

    // What came to its end is shown again, and nothing is measured.
    let again = climb(&["--resume"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let shown: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&shown["steps"], &shown["held"]), (&found["steps"], &found["held"]));
}
