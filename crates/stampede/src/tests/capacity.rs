//! `capacity`: the search for the highest rate.

use std::time::Duration;

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
    assert!(said.report().contains("meets the SLO at no rate"), "{}", said.stdout);
    assert!(said.report().contains("the best p50 was"), "{}", said.stdout);
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
    assert_eq!(said.code, 0, "{said:?}");
    assert!(before > 1 && machine.launches() > before, "{before} {}", machine.launches());
    assert_eq!(said.json()["study"]["resumed_at"].as_array().unwrap().len(), 1);
    let again = machine.run(&search(&app, &["--slo", "p99<100ms", "--resume"]));
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.words().contains("finds no interrupted search for a capacity"), "{}", again.stderr);
}

#[test]
fn a_search_is_not_resumed_as_another_one() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 400.0)).interrupted(&[(Duration::from_secs(40), false)]);
    let app = workload("fatal");
    assert_eq!(machine.run(&search(&app, &["--slo", "p99<100ms"])).code, 130);
    let before = machine.launches();
    for other in [&["--slo", "p99<200ms"][..], &["--slo", "p99<100ms", "--set", "nginx-fpm.pm.max_children=3"]] {
        let said = machine.run(&search(&app, &[other, &["--resume"]].concat()));
        assert_eq!((said.code, machine.launches()), (2, before), "{said:?}");
        assert!(said.words().contains("its settings differ"), "{}", said.stderr);
    }
}

/// A server that takes 400 a second: above that requests wait, longer and longer.
#[test]
fn the_rate_that_is_found_is_what_the_server_takes_and_each_probe_has_a_fresh_deployment() {
    let machine = MadeUp::new(|launch| {
        assert_eq!(launch.terms.total.cpus.millis(), 500);
        FakeLifetime::serving(BODY, 400.0)
    });
    let app = workload("fatal");
    let said = machine.run(&search(&app, &["--slo", "p99<100ms", "--json", "-"]));
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    let rate = found["rate_rps"].as_f64().unwrap();
    assert!((380.0..=405.0).contains(&rate), "{rate}");
    let cases = found["study"]["cases"].as_array().unwrap().iter();
    let trials: usize = cases.map(|case| case["trials"].as_array().unwrap().len()).sum();
    let stops = machine.log().iter().filter(|line| line.starts_with("stop")).count();
    assert_eq!((machine.launches(), stops), (trials, trials));
}
