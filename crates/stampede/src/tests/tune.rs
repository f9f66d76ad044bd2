//! `tune`: the search for settings.

use std::time::Duration;

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, workload};

fn tune<'a>(app: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["tune", "nginx-fpm", app, "--cpus", "0.5", "--memory", "256Mi", "--duration", "2s", "--seed", "3"];
    [&words[..], more].concat()
}

#[test]
fn settings_are_searched_within_their_budget_and_held_against_the_defaults() {
    let machine = MadeUp::new(|launch| FakeLifetime::serving(BODY, 500.0 + (launch.number * 13 % 17) as f64));
    let app = workload("fatal");
    let said = machine.run(&tune(&app, &["--budget", "10m", "--json", "-"]));
    assert!(matches!(said.code, 0 | 1), "{said:?}");
    assert!(machine.launches() > 20, "{}", machine.launches());
    // Nothing that it set made a difference.
    let conclusion = said.json()["conclusion"].as_str().unwrap_or_default().to_owned();
    assert!(conclusion.ends_with("keep the defaults."), "{conclusion}");
}

#[test]
fn a_search_that_is_interrupted_is_kept_and_resumed() {
    let serving = |launch: &stampede_testkit::FakeLaunch<'_>| {
        FakeLifetime::serving(BODY, 500.0 + (launch.number * 13 % 17) as f64)
    };
    let machine = MadeUp::new(serving).interrupted(&[(Duration::from_secs(100), false)]);
    let app = workload("fatal");
    let said = machine.run(&tune(&app, &["--budget", "10m"]));
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("what was measured is kept"), "{}", said.stderr);
    let before = machine.launches();
    let machine = machine.then(serving);
    let said = machine.run(&tune(&app, &["--budget", "10m", "--resume"]));
    assert!(matches!(said.code, 0 | 1), "{said:?}");
    assert!(machine.launches() > before);
}
