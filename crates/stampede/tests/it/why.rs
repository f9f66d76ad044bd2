//! `stampede why` from end to end: faults whose cause is known, on real servers.

use serde_json::Value;

use crate::stage::{Said, Stage, have};

fn compared(stage: &Stage, args: &[&str]) {
    let common =
        ["--memory", "256Mi", "--duration", "1500ms", "--warm-up", "300ms", "--rounds", "1", "--no-yard-stick"];
    let said = stage.run(&[&["compare"], args, &common[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

fn why(stage: &Stage, args: &[&str]) -> Said {
    // As many rounds as it takes on a machine that is busy with other tests.
    stage.run(&[&["why", "--duration", "1s", "--max-time", "80s", "--precision", "20%"], args].concat())
}

/// What is shown again from the store.
fn shown(stage: &Stage) -> Value {
    let said = stage.run(&["show", "latest", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn a_pool_of_one_worker_is_confirmed() {
    if !have("a_pool_of_one_worker_is_confirmed", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::alone();
    compared(&stage, &["mix", "--runtimes", "nginx-fpm", "--set", "nginx-fpm.pm.max_children=1", "--cpus", "0.8"]);
    // Named, since one that is held up is asked for again, and is then the newest itself.
    let asked = shown(&stage)["id"].as_str().unwrap().to_owned();
    let said = why(&stage, &["--study", &asked]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in ["Confirmed: the number of workers (pm.max_children) holds nginx-fpm back", "pm.max_children 1 -> 2"] {
        assert!(said.words().contains(part), "{part}\n{}", said.stdout);
    }
    let last = said.stdout.trim_end().rsplit_once("What to do: ").map(|(_, advice)| advice.replace("\n  ", " "));
    assert!(last.is_some_and(|advice| advice.contains("--set nginx-fpm.pm.max_children=")), "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    stage.assert_nothing_left();

    let study = shown(&stage);
    assert_eq!((&study["kind"], &study["why"]["outcome"]), (&"why".into(), &"confirmed".into()), "{study}");
    assert_eq!(study["why"]["suspected"], "pool-full");
    assert_eq!(study["why"]["confirmed_by"], "pm.max_children=2");
    let changed = study["why"]["changes"][0]["ratio"]["value"].as_f64().unwrap();
    assert!((1.3..2.3).contains(&changed), "{study}");
    let again = why(&stage, &["--study", "latest"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""));
    assert!(again.stderr.contains("is already one of stampede why"), "{}", again.stderr);
}
