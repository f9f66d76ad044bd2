//! `scale`: what is said of a service that never comes up, or later than requests wait for it.

use std::time::Duration;

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, always, workload};

#[test]
fn what_never_comes_up_fails_with_its_reason() {
    let machine = MadeUp::new(|_| FakeLifetime { answer: always(500, "no"), ..FakeLifetime::serving(BODY, 100.0) });
    let said = machine.run(&["scale", "php-cli-server", &workload("fatal"), "--duration", "1s", "--quiet"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.report().contains("trial 1 failed: gave a wrong answer to `home`"), "{}", said.stdout);
    assert_eq!(machine.purposes(), ["scale fatal"]);
}

/// The load goes through a gateway, which is real: what it makes of such requests is tested in its own crate.
#[test]
fn a_start_that_takes_longer_than_requests_wait_is_told_before_the_load() {
    let machine = MadeUp::new(|_| FakeLifetime { ready: Duration::from_secs(1), ..FakeLifetime::serving(BODY, 100.0) });
    let app = workload("fatal");
    let limits = ["--cpus", "0.25", "--memory", "256Mi", "--max-instances", "1", "--queue-limit", "20ms"];
    let said = machine.run(&[&["scale", "php-cli-server", &app, "--duration", "1s"][..], &limits].concat());
    let told = "to start and a request waits for 20.0ms at most: those that find no instance are all turned away";
    assert!(said.words().contains(told), "{said:?}");
}
