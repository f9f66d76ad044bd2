//! `gate`: did a change make it slower?

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp};

fn gate<'a>(base: &'a str, head: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["gate", base, head, "--runtime", "nginx-fpm", "--cpus", "0.5", "--memory", "256Mi"];
    [&words[..], &["--duration", "5s", "--warm-up", "1s", "--seed", "3"], more].concat()
}

#[test]
fn two_sides_that_are_alike_pass() {
    let machine = MadeUp::new(|launch| FakeLifetime::serving(BODY, 1000.0 + (launch.number * 29 % 7) as f64));
    let [base, head] = ["base", "head"].map(|name| machine.application(name).display().to_string());
    let said = machine.run(&gate(&base, &head, &[]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() >= 6);
}

#[test]
fn a_side_that_fails_is_an_error_of_its_own() {
    let machine = MadeUp::new(|launch| FakeLifetime {
        launch_problem: (launch.number > 2 && launch.number % 2 == 0).then(|| "no".to_owned()),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let [base, head] = ["base", "head"].map(|name| machine.application(name).display().to_string());
    let said = machine.run(&gate(&base, &head, &["--rounds", "3"]));
    assert_eq!(said.code, 5, "{said:?}");
}
