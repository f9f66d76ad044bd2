//! `reproduce`: which rows are measured, what is said of those that are not, and how it ends.

use std::fs;
use std::time::Duration;

use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, Said, runtime};

/// One table of two rows.
const EXPERIMENT: &str = "title: What is served today
source: Here
scale: 1
rounds: 3
tables:
  - id: today
    title: Today
    workload: fatal
    duration: 2s
    warm_up: 1s
    case: {load: 'closed:4', cpus: 0.5, memory: 256Mi, app: plain}
    columns: [{metric: throughput_rps, unit: req/s}]
    baseline: apache
    rows:
      - {id: apache, title: Apache, case: {runtime: apache-mod-php}, published: [700]}
      - {id: nginx, title: nginx and FPM, case: {runtime: nginx-fpm}, published: [1000]}
";

fn reproduce(machine: &MadeUp, more: &[&str]) -> Said {
    reproduce_of(machine, EXPERIMENT, more)
}

fn reproduce_of(machine: &MadeUp, experiment: &str, more: &[&str]) -> Said {
    let file = machine.path("own.yaml");
    fs::write(&file, experiment).unwrap();
    let workloads = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workloads");
    machine.run(&[&["reproduce", file.to_str().unwrap(), "--workloads", workloads, "--json", "-"], more].concat())
}

fn by_runtime(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let rate = if runtime(launch) == "php-fpm" { 2000.0 } else { 1000.0 };
    FakeLifetime::serving(BODY, rate + (launch.number * 13 % 5) as f64)
}

#[test]
fn each_row_is_measured_in_each_round_and_stands_beside_what_was_published() {
    let machine = MadeUp::new(by_runtime);
    let said = reproduce(&machine, &["--seed", "1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let json = said.json();
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    let row = |case: &str| rows.iter().find(|row| row["case"] == case).unwrap();
    assert_eq!(row("nginx")["figures"][0]["published_high"], 1000.0, "{json}");
    assert_eq!(row("nginx")["figures"][0]["ours"]["n"], 3, "{json}");
    assert_eq!(machine.launches(), 6);

    // The same again from what is stored.
    let study = json["tables"][0]["study"].as_str().unwrap();
    let again = reproduce(&machine, &["--studies", study]);
    assert_eq!((again.code, machine.launches()), (0, 6), "{again:?}");
    assert_eq!(again.json()["tables"][0]["rows"], json["tables"][0]["rows"]);
}

#[test]
fn what_was_measured_before_a_signal_is_reported() {
    let machine = MadeUp::new(by_runtime).interrupted(&[(Duration::from_secs(8), false)]);
    let said = reproduce(&machine, &[]);
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("interrupted; what was measured is kept"), "{}", said.stderr);
    assert!((1..6).contains(&machine.launches()), "{}", machine.launches());
    assert!(said.json()["tables"].is_array());
}

#[test]
fn a_run_that_was_interrupted_goes_on_where_it_was_left() {
    let table = EXPERIMENT.split_once("tables:\n").unwrap().1;
    let two =
        format!("{EXPERIMENT}{}", table.replace("id: today", "id: again").replace("duration: 2s", "duration: 3s"));
    let run = |machine: &MadeUp, more: &[&str]| reproduce_of(machine, &two, more);
    let none = run(&MadeUp::new(by_runtime), &["--resume"]);
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.words().contains("finds no run of own that was interrupted"), "{}", none.stderr);

    // In the first table, and in the second.
    for (seconds, least, most) in [(8, 1, 5), (35, 7, 11)] {
        let machine = MadeUp::new(by_runtime).interrupted(&[(Duration::from_secs(seconds), false)]);
        let said = run(&machine, &[]);
        assert_eq!(said.code, 130, "{said:?}");
        assert!(said.words().contains("with --resume continues"), "{}", said.stderr);
        let before = machine.launches();
        assert!((least..=most).contains(&before), "{seconds} s: {before}");
        let machine = machine.then(by_runtime);
        let other = run(&machine, &["--resume", "--seed", "5"]);
        assert_eq!((other.code, machine.launches()), (2, before), "{other:?}");
        let said = run(&machine, &["--resume"]);
        assert_eq!(said.code, 0, "{said:?}");
        let json = said.json();
        for table in json["tables"].as_array().unwrap() {
            let rows = table["rows"].as_array().unwrap();
            assert!(rows.iter().all(|row| row["figures"][0]["ours"]["n"] == 3), "{seconds} s: {json}");
        }
        // The round that was cut short is measured once more.
        assert!((12..=14).contains(&machine.launches()), "{seconds} s: {}", machine.launches());
        let over = run(&machine, &["--resume"]);
        assert_eq!(over.code, 2, "{over:?}");
    }
}

#[test]
fn where_no_trial_counts_it_ends_with_5() {
    let machine = MadeUp::new(|_| FakeLifetime {
        launch_problem: Some("no such program".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    });
    let said = reproduce(&machine, &[]);
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(machine.launches(), 4, "a row that fails ends no other, and is left out after two blocks");
}
