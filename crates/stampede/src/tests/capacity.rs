//! `capacity`: the search for the highest rate.

use std::time::Duration;

use stampede_core::Load;
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, workload};

fn search<'a>(app: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["capacity", "nginx-fpm", app, "--cpus", "0.5", "--memory", "256Mi", "--seed", "3"];
    [&words[..], more].concat()
}

#[test]
fn an_objective_that_nothing_meets_ends_with_exit_code_1() {
    let machine =
        MadeUp::new(|_| FakeLifetime { latency: Duration::from_millis(50), ..FakeLifetime::serving(BODY, 400.0) });
    let app = workload("fatal");
    let said = machine.run(&search(&app, &["--slo", "p50<10ms"]));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(machine.launches() > 1);
}

#[test]
fn a_search_that_is_interrupted_goes_on_with_what_it_has() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 400.0)).interrupted(&[(Duration::from_secs(40), false)]);
    let app = workload("fatal");
    let said = machine.run(&search(&app, &["--slo", "p99<100ms"]));
    assert_eq!(said.code, 130, "{said:?}");
    let before = machine.launches();
    let machine = machine.then(|_| FakeLifetime::serving(BODY, 400.0));
    let said = machine.run(&search(&app, &["--slo", "p99<100ms", "--resume", "--json", "-"]));
    assert!(matches!(said.code, 0 | 4), "{said:?}");
    let trials = said.json()["probes"].as_array().map_or(0, Vec::len);
    assert!(before > 1 && machine.launches() > before, "{before} {} {trials}", machine.launches());
    let other = machine.run(&search(&app, &["--slo", "p99<200ms", "--resume"]));
    assert_eq!(other.code, 2, "{other:?}");
}

/// A server that takes 400 a second: above that requests wait, and what does not get its turn is late.
#[test]
fn a_deployment_is_started_for_each_probe() {
    let machine = MadeUp::new(|launch| {
        assert!(launch.terms.total.cpus.millis() == 500);
        FakeLifetime::serving(BODY, 400.0)
    });
    let app = workload("fatal");
    let said = machine.run(&search(&app, &["--slo", "p99<100ms", "--json", "-"]));
    let stops = machine.log().iter().filter(|line| line.starts_with("stop")).count();
    assert_eq!(stops, machine.launches(), "{said:?}");
    let _: Load = "open:10".parse().unwrap();
}
