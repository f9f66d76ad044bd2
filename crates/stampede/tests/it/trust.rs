//! What bounds the claims of a study: pilots, the yard-stick, calibrations, and studies that are gone on with.

use serde_json::Value;

use crate::stage::Stage;

const SHORT: [&str; 10] =
    ["compare", "hello", "--cpus", "0.5", "--memory", "256Mi", "--duration", "500ms", "--json", "-"];

/// A short comparison with these arguments beside.
fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&SHORT[..], args].concat()
}

#[test]
fn a_machine_that_enforces_limits_is_fit() {
    let stage = Stage::new();
    let doctor = stage.run(&["doctor", "--json", "-"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let doctor: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!((&doctor["schema"], &doctor["fit"]), (&"stampede/doctor/v1".into(), &true.into()));
    let checks = doctor["checks"].as_array().unwrap();
    let limits = checks.iter().find(|check| check["id"] == "limits").unwrap();
    assert_eq!(limits["severity"], "info");
}

#[test]
fn what_trust_takes_is_asked_for_in_words() {
    let stage = Stage::new();
    for (args, words) in [
        (&["--resume"][..], "--resume finds no interrupted comparison; leave it out to start one"),
        (&["--resume", "2026"], "find study 2026: no study is stored yet"),
        (&["--calibrate", "--rounds", "2"], "--rounds 2 is too few: a floor takes 3"),
        (&["--calibrate", "--max-time", "5m"], "the argument '--calibrate' cannot be used with '--max-time <TIME>'"),
        (&["--warm-up", "auto", "--load", "open:5..50/1m"], "--warm-up auto looks for rest under a load that changes"),
        (&["--precision", "0"], "--precision 0 is met by no two things"),
        (&["--runtimes", "go", "--max-time", "4s"], "verdict takes 3 rounds of 1 case, about 11s"),
    ] {
        let said = stage.run(&with(args));
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.stderr.contains(words), "{args:?}: {}", said.stderr);
    }
}
