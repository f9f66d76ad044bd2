//! What bounds the claims of a study: pilots, the yard-stick, calibrations, and studies that are gone on with.

use std::io::Write as _;

use serde_json::Value;

use crate::stage::{Stage, have};

const SHORT: [&str; 10] =
    ["compare", "hello", "--cpus", "0.5", "--memory", "256Mi", "--duration", "500ms", "--json", "-"];

/// A short comparison with these arguments beside.
fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&SHORT[..], args].concat()
}

fn study(stage: &Stage, args: &[&str]) -> Value {
    let said = stage.run(&with(args));
    // A machine that is busy with something else makes trials invalid; what is asked here holds all the same.
    assert!(matches!(said.code, Some(0 | 4)), "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn a_calibration_is_kept_and_bounds_the_next_study_under_its_conditions() {
    if !have("a_calibration_is_kept_and_bounds_the_next_study_under_its_conditions", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let case = ["--runtimes", "php-cli-server", "--warm-up", "200ms"];
    let calibration = study(&stage, &[&case[..], &["--calibrate", "--rounds", "5"]].concat());
    assert_eq!(calibration["kind"], "calibrate");
    let cases: Vec<&Value> = calibration["cases"].as_array().unwrap().iter().map(|case| &case["id"]).collect();
    assert_eq!(cases, ["php-cli-server-a", "php-cli-server-b"]);
    let once = [&case[..], &["--rounds", "1", "--no-yard-stick"]].concat();
    let bound = study(&stage, &once);
    if bound["noise_floor"].is_null() {
        let _ = writeln!(std::io::stderr(), "SKIP the floor of a calibration: needs a machine that is not busy");
        return;
    }
    assert_eq!(bound["noise_floor"]["calibration"], calibration["id"]);
    let pairs = &bound["noise_floor"]["metrics"]["throughput_rps"]["pairs"];
    assert!(pairs.as_u64().is_some_and(|pairs| (3..=5).contains(&pairs)), "{pairs}");
    assert_eq!(bound["yard_stick"]["readings"].as_array().unwrap().len(), 0);
    let other = study(&stage, &[&once[..], &["--load", "open:50"]].concat());
    assert_eq!(other["noise_floor"], Value::Null, "another model of load");

    let doctor = stage.run(&["doctor", "--json", "-"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let doctor: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!((&doctor["schema"], &doctor["fit"]), (&"stampede/doctor/v1".into(), &true.into()));
    let check = |id: &str| doctor["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap();
    let floor = check("noise-floor")["text"].as_str().unwrap();
    assert!(
        floor.ends_with("% in requests per second under 0.5 CPU and 256Mi, closed load, platform local"),
        "{floor}"
    );
    assert_eq!(check("limits")["severity"], "info");
    stage.assert_nothing_left();
}

#[test]
fn what_trust_takes_is_asked_for_in_words() {
    let stage = Stage::new();
    for (args, words) in [
        (&["--resume"][..], "--resume finds no comparison that was interrupted; leave it out to begin one"),
        (&["--resume", "2026"], "find study 2026: no study is stored yet"),
        (&["--calibrate", "--rounds", "2"], "--rounds 2 is too few: a floor takes 3"),
        (&["--calibrate", "--max-time", "5m"], "the argument '--calibrate' cannot be used with '--max-time <TIME>'"),
        (&["--warm-up", "auto", "--load", "open:5..50/1m"], "--warm-up auto looks for rest under a load that changes"),
        (&["--precision", "0"], "--precision 0 is met by no two things"),
        (&["--runtimes", "go", "--max-time", "4s"], "verdict takes 3 rounds of 1 case, which load for 5s"),
    ] {
        let said = stage.run(&with(args));
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.stderr.contains(words), "{args:?}: {}", said.stderr);
    }
}
