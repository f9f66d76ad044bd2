//! `why`: what holds a case back?

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, workload};

#[test]
fn what_raises_the_rate_is_what_holds_it_back() {
    // Half a processor gives 500 a second; three quarters give 750.
    let machine = MadeUp::new(|launch| {
        let cpus = f64::from(launch.terms.total.cpus.millis()) / 1000.0;
        FakeLifetime { cpus, ..FakeLifetime::serving(BODY, 1000.0 * cpus + (launch.number * 31 % 5) as f64) }
    });
    let app = workload("fatal");
    let compare = ["compare", &app, "--runtimes", "nginx-fpm", "--rounds", "3", "--duration", "5s", "--warm-up", "1s"];
    let said = machine.run(&[&compare[..], &["--cpus", "0.5", "--memory", "256Mi", "--no-yard-stick"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let before = machine.launches();
    let said = machine.run(&["why", "--from", &app]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before + 6);
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("CPU"), "{words}");
}

#[test]
fn nothing_is_asked_of_an_empty_store() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let said = machine.run(&["why"]);
    assert_eq!((said.code, machine.launches()), (2, 0), "{said:?}");
}
