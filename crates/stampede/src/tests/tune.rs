//! `tune`: the search for settings.

use std::fs;
use std::time::Duration;

use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, workload};

fn tune<'a>(app: &'a str, cpus: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["tune", "php-cli-server", app, "--cpus", cpus, "--memory", "256Mi", "--load", "closed:4"];
    [&words[..], &["--duration", "2s", "--seed", "1", "--budget", "10m"], more].concat()
}

/// The more workers, the more answers, up to four; and some noise. By default there are three.
fn by_workers(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let env = &launch.deployment.units[0].program.env;
    let workers: f64 = env.get("PHP_CLI_SERVER_WORKERS").map_or(1.0, |workers| workers.parse().unwrap());
    FakeLifetime::serving(BODY, 100.0 * workers.min(4.0) + (launch.number * 13 % 5) as f64)
}

#[test]
fn settings_are_searched_compared_with_the_defaults_and_written() {
    let machine = MadeUp::new(by_workers);
    let app = workload("fatal");
    let [page, rows] = ["tune.html", "tune.csv"].map(|name| machine.path(name).display().to_string());
    // No answer is that fast: what is best is searched all the same, and reported not to be enough.
    let search = ["--slo", "p50<20us", "--json", "-"];
    let files = ["--html", &page, "--csv", &rows];
    let said = machine.run(&tune(&app, "0.5", &[&search[..], &files].concat()));
    assert_eq!(said.code, 1, "{said:?}");
    let found = said.json();
    assert_eq!(found["schema"], "stampede/tune/v1");
    assert_eq!(found["slo_missed"][0]["term"], "p50<20us", "{found}");
    assert!(found["conclusion"].as_str().unwrap().contains("No settings that were tried meet p50<20us"), "{found}");
    assert!(found["tried"].as_array().unwrap().len() >= 2, "{found}");
    assert_eq!(found["winner"]["PHP_CLI_SERVER_WORKERS"], "4", "{found}");
    let shares: Vec<f64> =
        found["held"].as_array().unwrap().iter().map(|held| held["load_share"].as_f64().unwrap()).collect();
    assert_eq!(shares, [1.0, 0.5, 1.2], "{found}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("No settings that were tried meet p50") && page.contains("</html>"), "{page}");
    let trials = 3 * (2 * shares.len() + usize::from(found["documented"].is_string()));
    let rows = fs::read_to_string(rows).unwrap();
    assert!(rows.lines().count() > trials, "{rows}");

    // A search that came to its end is shown again, and nothing is measured.
    let before = machine.launches();
    let again = machine.run(&tune(&app, "0.5", &[&search[..], &["--resume"]].concat()));
    assert_eq!((again.code, machine.launches()), (1, before), "{again:?}");
    let shown = again.json();
    for part in ["id", "tried", "winner", "held", "slo_missed"] {
        assert_eq!(shown[part], found[part]);
    }
    // With other limits it is another one.
    let other = machine.run(&tune(&app, "0.4", &["--resume"]));
    assert_eq!((other.code, other.stdout.as_str()), (2, ""), "{}", other.stderr);
    assert!(other.words().contains("CPUs: 0.5 then, 0.4 now"), "{}", other.stderr);
    let out = machine.application("taken");
    let taken = machine.run(&tune(&app, "0.5", &["--out", &out]));
    assert_eq!((taken.code, taken.stdout.as_str()), (2, ""));
    assert!(taken.words().contains("is not empty"), "{}", taken.stderr);
}

#[test]
fn the_best_number_of_workers_is_found() {
    let machine = MadeUp::new(by_workers);
    let app = workload("fatal");
    let said = machine.run(&tune(&app, "0.5", &["--json", "-"]));
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    assert_eq!(found["winner"]["PHP_CLI_SERVER_WORKERS"], "4", "{found}");
}

#[test]
fn a_search_that_is_interrupted_is_kept_and_resumed() {
    let machine = MadeUp::new(by_workers).interrupted(&[(Duration::from_secs(20), false)]);
    let app = workload("fatal");
    let said = machine.run(&tune(&app, "0.5", &[]));
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("what was measured is kept"), "{}", said.stderr);
    let before = machine.launches();
    let machine = machine.then(by_workers);
    let said = machine.run(&tune(&app, "0.5", &["--resume"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before);
}
