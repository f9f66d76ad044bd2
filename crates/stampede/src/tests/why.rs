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
    let words = said.report();
    assert!(words.contains("Confirmed: the CPU quota holds nginx-fpm back."), "{words}");
    assert!(words.contains("CPU quota 0.5 -> 0.75"), "{words}");
    let again = machine.run(&["why", "--study", "latest", "--from", &app]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.words().contains("says why already"), "{}", again.stderr);
}

#[test]
fn nothing_is_asked_of_an_empty_store() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let said = machine.run(&["why"]);
    assert_eq!((said.code, machine.launches()), (2, 0), "{said:?}");
}

#[test]
fn what_cannot_be_asked_is_told_and_nothing_is_measured() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = workload("fatal");
    let compare = ["compare", &app, "--runtimes", "nginx-fpm", "--rounds", "1", "--duration", "5s", "--no-yard-stick"];
    assert_eq!(machine.run(&compare).code, 0);
    let before = machine.launches();
    for (args, problem) in [
        (&["goo"][..], "has no case goo"),
        (&["--from", "mix"], "--from mix is mix, and study"),
        (&["--from", &app, "--base-image", "debian:bookworm"], "--base-image debian:bookworm is for containers"),
        (&["--from", &app, "--max-time", "3s"], "--max-time 3s is too short"),
        (&["--study", "nothing"], "nothing"),
        (&["--from", &app, "--resume"], "finds no search for a cause that was interrupted"),
        (&["--from", &app, "--rounds", "2"], "--rounds 2 is too few: a verdict takes 3"),
    ] {
        let said = machine.run(&[&["why", "--duration", "2s"], args].concat());
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}: {}", said.stderr);
        assert!(said.words().contains(problem), "{args:?}: {}", said.stderr);
    }
    assert_eq!(machine.launches(), before);
}
