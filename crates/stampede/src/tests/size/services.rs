//! An application with a database: it is within the size that is searched.

use std::fs;

use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::super::made_up::MadeUp;
use super::{SLO, by_cpus};

/// Serves only beside a database, whose settings are those that it was given.
fn with_postgres(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let has_postgres = launch.deployment.units.iter().any(|unit| unit.id.as_str() == "postgres");
    let missing = (!has_postgres).then(|| "there is no database".to_owned());
    let settings = "max_connections\t100\t\nshared_buffers\t131072\tkB\n".to_owned();
    FakeLifetime { launch_problem: missing, said: Ok(settings), ..by_cpus(launch) }
}

#[test]
fn a_database_is_beside_every_size_that_is_tried() {
    let machine = MadeUp::new(with_postgres);
    let app = machine.application("shop");
    let dump = machine.path("shop.sql");
    fs::write(&dump, "--\n-- PostgreSQL database dump\n--\nCREATE TABLE things (name text);\n").unwrap();
    let dump = dump.display().to_string();
    let search =
        ["--runtimes", "php-cli-server", "--load", "open:120", "--slo", SLO, "--seed", "1", "--duration", "10s"];
    let limits = ["--cpus", "0.25,0.5,1", "--memory", "128Mi,256Mi", "--pools", "2,4", "--json", "-"];
    for (name, databases) in [("a dump", ["--database", &*dump]), ("a service", ["--services", "postgres"])] {
        let said = machine.run(&[&["size", &*app], &search[..], &limits[..], &databases[..]].concat());
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert_eq!(said.json()["choice"]["size"]["cpus"], 0.5, "{name}: {}", said.stdout);
    }
}

#[test]
fn copies_of_an_application_with_a_database_cannot_be_searched() {
    let machine = MadeUp::new(with_postgres);
    let app = machine.application("shop");
    let search = ["size", &*app, "--runtimes", "php-cli-server", "--load", "open:20", "--slo", SLO];
    for (name, more, told) in [
        (
            "replicas",
            &["--services", "postgres", "--replicas", "1,2"][..],
            "--replicas 1,2 cannot be searched beside 1 replica, postgres; leave services and the topology out of plan \
             and flags, or search without --replicas",
        ),
        (
            "an autoscaled service",
            &["--services", "postgres", "--autoscale"],
            "--autoscale cannot be autoscaled beside 1 replica, postgres; leave services and the topology out",
        ),
        ("a dump that is not there", &["--database", "no.sql"], "--database no.sql"),
    ] {
        let said = machine.run(&[&search[..], more].concat());
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{name}: {said:?}");
        assert!(said.words().contains(told), "{name}: {}", said.stderr);
    }
    assert_eq!(machine.launches(), 0);
}
