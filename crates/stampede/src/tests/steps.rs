//! `tune --steps`: what is changed next, what is kept, and how it ends.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, Said, workload};

const STEPS: [&str; 12] = [
    "tune",
    "php-cli-server",
    "--steps",
    "3",
    "--ini",
    "opcache.enable=0",
    "--ini",
    "opcache.enable_cli=0",
    "--load",
    "closed:4",
    "--seed",
    "1",
];

fn climb(machine: &MadeUp, more: &[&str]) -> Said {
    let app = workload("fatal");
    let limits = ["--cpus", "0.5", "--memory", "256Mi", "--duration", "2s", "--json", "-"];
    machine.run(&[&STEPS[..2], &[app.as_str()], &STEPS[2..], &limits, more].concat())
}

/// Three times as fast with an opcode cache.
fn by_cache(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let text = format!("{:?}", launch.deployment);
    let is_off = ["opcache.enable_cli = 0", "opcache.enable_cli=0"].iter().any(|off| text.contains(off));
    FakeLifetime::serving(BODY, if is_off { 100.0 } else { 300.0 } + (launch.number * 13 % 5) as f64)
}

fn told(found: &Value, of: &str) -> Vec<String> {
    let steps = found["steps"].as_array().unwrap();
    steps.iter().map(|step| step[of].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_records_point_to_is_changed_first_kept_and_compared_with_the_first() {
    let machine = MadeUp::new(by_cache);
    let said = climb(&machine, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    assert_eq!(told(&found, "change")[..2], ["", "opcode cache off -> on"], "{found}");
    assert!(told(&found, "reason")[1].contains("every request compiles its scripts"), "{found}");
    assert_eq!((&found["steps"][0]["kept"], &found["steps"][1]["kept"]), (&true.into(), &true.into()), "{found}");
    assert!(found["steps"][1]["figure"].as_f64() > found["steps"][0]["figure"].as_f64().map(|rate| 2.0 * rate));
    // What gains nothing is tried and not kept.
    assert!(found["steps"].as_array().unwrap().iter().skip(2).all(|step| step["kept"] == false), "{found}");
    let verdicts = found["held"]["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 1, "{found}");
    assert!(found["conclusion"].as_str().unwrap().contains("beside first, the last has"), "{found}");

    let before = machine.launches();
    let again = climb(&machine, &["--resume"]);
    assert_eq!((again.code, machine.launches()), (0, before), "{again:?}");
    assert_eq!((&again.json()["steps"], &again.json()["held"]), (&found["steps"], &found["held"]));
}

/// A row of an experiment has no part in the steps, and is measured in each block of the comparison at the end.
#[test]
fn the_last_is_compared_with_a_row_of_an_experiment_too() {
    let machine = MadeUp::new(by_cache);
    let experiment = machine.path("own.yaml");
    let text = format!(
        "title: What is served today\nsource: Here\nscale: 1\nrounds: 3\ntables:\n  - id: today\n    title: Today\n    \
         workload: {}\n    warm_up: 1s\n    case: {{runtime: nginx-fpm}}\n    columns: [{{metric: throughput_rps, unit: \
         req/s}}]\n    baseline: two\n    rows:\n      - {{id: two, title: Two workers, case: {{set: {{pm.max_children: 2}}}}}}\n",
        workload("fatal")
    );
    fs::write(&experiment, text).unwrap();
    let row = format!("{}/two", experiment.display());
    let said = climb(&machine, &["--or", "nginx-fpm", "--against", &row]);
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    let verdicts = found["held"]["verdicts"].as_array().unwrap();
    for pair in [["last", "first"], ["last", &row], ["first", &row]] {
        let is_pair = |verdict: &&Value| pair.iter().all(|one| verdict["a"] == **one || verdict["b"] == **one);
        let ratio = verdicts.iter().find(is_pair).map(|verdict| &verdict["ratio"]["n"]);
        assert_eq!(ratio, Some(&3.into()), "{pair:?}: {found}");
    }
    for part in ["beside first, the last has".to_owned(), format!("beside {row}, the last has")] {
        assert!(found["conclusion"].as_str().unwrap().contains(&part), "{part}: {found}");
    }
}

#[test]
fn steps_that_are_interrupted_are_kept_and_resumed() {
    let machine = MadeUp::new(by_cache).interrupted(&[(Duration::from_secs(6), false)]);
    let said = climb(&machine, &[]);
    assert_eq!((said.code, said.stdout.as_str()), (130, ""), "{said:?}");
    assert!(said.words().contains("the same command with --resume"), "{}", said.stderr);
    let before = machine.launches();
    let machine = machine.then(by_cache);
    let said = climb(&machine, &["--resume"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before);
    assert_eq!(told(&said.json(), "change")[1], "opcode cache off -> on");
}

#[test]
fn what_was_given_and_cannot_be_measured_is_no_first_step() {
    let machine = MadeUp::new(|_| FakeLifetime {
        launch_problem: Some("no such program".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    });
    let said = climb(&machine, &[]);
    assert_eq!((said.code, said.stdout.as_str()), (5, ""), "{said:?}");
    assert!(said.words().contains("the given configuration could not be measured"), "{}", said.stderr);
    assert_eq!(machine.launches(), 1);
}
