//! Replicas, balancers and services: what is ordered of them, and what is said of those that do something else.

use std::time::Duration;

use serde_json::Value;
use stampede_core::{UnitExit, UnitId, UnitRestart};
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, Said, workload};

/// One trial with these flags, of a deployment with such a lifetime.
fn trial(lifetime: FakeLifetime, flags: &[&str]) -> (Said, Value) {
    let machine = MadeUp::new(move |_| lifetime.clone());
    let app = workload("fatal");
    let short = ["--runtimes", "nginx-fpm", "--cpus", "1", "--memory", "512Mi", "--rounds", "1", "--duration", "2s"];
    let more = ["--warm-up", "1s", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &short, &more, flags].concat());
    let study = said.json();
    let trial = study["cases"][0]["trials"][0].clone();
    (said, trial)
}

fn serving() -> FakeLifetime {
    FakeLifetime::serving(BODY, 1000.0)
}

#[test]
fn a_setting_of_a_service_that_is_not_in_effect_fails_the_trial() {
    let log = || vec!["FATAL:  unrecognized configuration parameter \"no_such_setting\"".to_owned()];
    let problem = "start postgres: it ended with status 1".to_owned();
    for (name, services, set, lifetime, told) in [
        (
            "one that the service corrects",
            "mariadb",
            "mariadb.max_connections=15",
            FakeLifetime { said: Ok("innodb_buffer_pool_size\t128M\nmax_connections\t10\n".to_owned()), ..serving() },
            "mariadb: max_connections is 10, not 15 as asked for",
        ),
        (
            "one that it does not have",
            "pgbouncer,postgres",
            "pgbouncer.pool_mode=session",
            FakeLifetime { said: Ok("max_client_conn\t100\tdefault\tyes\n".to_owned()), ..serving() },
            "has no such setting",
        ),
        (
            "one that cannot be asked for",
            "mariadb",
            "mariadb.max_connections=50",
            FakeLifetime { said: Err("Access denied".to_owned()), ..serving() },
            "cannot read the settings of mariadb back: Access denied",
        ),
        (
            "one that keeps it from starting",
            "postgres",
            "postgres.no_such_setting=1",
            FakeLifetime { launch_problem: Some(problem), log: log(), ..serving() },
            "start postgres: it ended with status 1",
        ),
    ] {
        let (said, trial) = trial(lifetime, &["--services", services, "--set", set]);
        assert_eq!(said.code, 5, "{name}: {said:?}");
        let reason = trial["reason"].as_str().unwrap();
        assert!(reason.contains(told), "{name}: {reason}");
    }
}

#[test]
fn a_replica_that_was_started_again_is_recorded_with_its_part() {
    let restart =
        UnitRestart { unit: UnitId::new("php-fpm-2"), how: "status 9".to_owned(), after: Duration::from_secs(2) };
    let flags = ["--replicas", "2", "--balancer", "nginx"];
    let (said, trial) = trial(
        FakeLifetime { restarts: vec![restart], ..serving() },
        &[&flags[..], &["--restart", "on-failure"]].concat(),
    );
    assert_ne!(trial["outcome"], "failed", "{said:?}");
    let parts = trial["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(names, ["replica-1", "replica-2", "balancer"]);
    let restarts: Vec<usize> = parts.iter().map(|part| part["restarts"].as_array().unwrap().len()).collect();
    assert_eq!((restarts, &parts[1]["restarts"][0]["how"]), (vec![0, 1, 0], &"status 9".into()), "{trial}");
}

#[test]
fn a_replica_that_ends_ends_the_trial_where_it_is_not_started_again() {
    let ended = UnitExit { unit: UnitId::new("php-fpm-2"), how: "status 9".to_owned() };
    let lifetime =
        FakeLifetime { exit: Some((Duration::from_secs(2), ended)), log: vec!["enough".to_owned()], ..serving() };
    let (said, trial) = trial(lifetime, &["--replicas", "2", "--balancer", "nginx"]);
    assert_eq!(said.code, 5, "{said:?}");
    let reason = trial["reason"].as_str().unwrap();
    assert!(reason.contains("php-fpm-2 ended with status 9 while it was measured"), "{reason}");
}

#[test]
fn a_client_that_is_far_away_is_asked_for_and_recorded() {
    let flags = ["--balancer", "nginx", "--client-rtt", "30ms", "--client-bandwidth", "10mbit"];
    let (said, trial) = trial(serving(), &flags);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(trial["client_link"]["bytes"].is_number(), "{trial}");
    assert_eq!(said.json()["cases"][0]["topology"]["client_rtt_us"], 30_000.0, "{}", said.stdout);
}

#[test]
fn a_redis_that_is_not_installed_is_named_with_its_package() {
    let machine = MadeUp::new(|_| serving()).lacking(&["redis-server"], None);
    let said = machine.run(&["compare", &workload("fatal"), "--runtimes", "nginx-fpm", "--services", "redis"]);
    assert_eq!((said.code, machine.launches()), (3, 0), "{said:?}");
    assert!(said.words().contains("the topology needs"), "{said:?}");
}
