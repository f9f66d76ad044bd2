//! One bad trial of a size, and what it may not rule out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::super::made_up::{BODY, MadeUp, workload};
use super::{SLO, by_cpus};

/// A search over one pool, in which a single size is the largest of everything.
fn one_pool<'a>(app: &'a str, load: &'a str) -> Vec<&'a str> {
    let words = ["size", app, "--runtimes", "php-cli-server", "--load", load, "--seed", "1", "--duration", "10s"];
    let limits = ["--cpus", "0.25,0.5,1", "--memory", "128Mi,256Mi", "--pools", "4", "--slo", SLO, "--json", "-"];
    [&words[..], &limits].concat()
}

/// A machine on which the first so many trials of the largest size are otherwise.
fn first_trials_are(count: usize, bad: impl Fn(&FakeLaunch<'_>) -> FakeLifetime + Send + Sync + 'static) -> MadeUp {
    let largest = Arc::new(AtomicUsize::new(0));
    MadeUp::new(move |launch| {
        let limits = launch.terms.total;
        let is_largest = limits.cpus.millis() == 1000 && limits.memory.mib() > 200.0;
        if is_largest && largest.fetch_add(1, Ordering::Relaxed) < count { bad(launch) } else { by_cpus(launch) }
    })
}

#[test]
fn a_size_that_fails_or_is_slow_once_is_tried_again_before_it_rules_out_others() {
    let app = workload("fatal");
    let in_use = |_: &FakeLaunch<'_>| FakeLifetime {
        launch_problem: Some("php-cli-server: the address is in use".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    };
    let slow = |_: &FakeLaunch<'_>| FakeLifetime { cpus: 0.2, ..FakeLifetime::serving(BODY, 20.0) };
    for (name, machine) in [("it fails", first_trials_are(1, in_use)), ("it is slow", first_trials_are(1, slow))] {
        let said = machine.run(&one_pool(&app, "open:120"));
        assert_eq!(said.code, 0, "{name}: {said:?}");
        let found = said.json();
        assert_eq!(found["choice"]["size"]["cpus"], 0.5, "{name}: {found}");
        assert_eq!(said.stderr.matches("once more").count(), 1, "{name}: {}", said.stderr);
    }
    // Twice is no accident of one deployment: with one pool everything is smaller than that size.
    let machine = first_trials_are(2, in_use);
    let said = machine.run(&one_pool(&app, "open:120"));
    let found = said.json();
    assert_eq!((said.code, &found["choice"]), (5, &serde_json::Value::Null), "{said:?}");
    assert_eq!((&found["trials"], &found["given_up"]["smaller"]), (&2.into(), &5.into()), "{found}");
    assert!(found["conclusion"].as_str().unwrap().contains("the address is in use"), "{found}");
}

#[test]
fn rounds_that_decide_nothing_are_told_as_such() {
    let app = workload("fatal");
    for (budget, outcome) in [("3m", "not clear after 4 rounds"), ("4m", "not clear after 4 to 8 rounds")] {
        // In every third lifetime requests queue, for less long than they may.
        let launches = AtomicUsize::new(0);
        let machine = MadeUp::new(move |launch| {
            let is_slow = launches.fetch_add(1, Ordering::Relaxed) % 3 == 2;
            let slow = FakeLifetime { cpus: 0.2, ..FakeLifetime::serving(BODY, 142.5) };
            if is_slow { slow } else { by_cpus(launch) }
        });
        let said = machine.run(&[&one_pool(&app, "open:120")[..], &["--budget", budget]].concat());
        let found = said.json();
        assert_eq!((said.code, &found["choice"]), (1, &serde_json::Value::Null), "{budget}: {said:?}");
        let tried = found["tried"].as_array().unwrap();
        let with_rounds: Vec<_> = tried.iter().filter(|size| size["blocks"] != 0).collect();
        assert_eq!(with_rounds.iter().map(|size| &size["outcome"]).collect::<Vec<_>>(), [outcome], "{budget}: {found}");
    }
}
