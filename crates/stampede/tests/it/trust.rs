//! What bounds the claims of a study: pilots, the yard-stick, calibrations, and studies that are gone on with.

use std::io::{BufRead, BufReader, Write};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Stage, have, send, workload};

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
fn an_interrupted_study_is_gone_on_with_where_it_was() {
    if !have("an_interrupted_study_is_gone_on_with_where_it_was", &["php", "nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let plan = ["--runtimes", "php-cli-server,nginx-fpm", "--rounds", "3", "--warm-up", "200ms", "--seed", "7"];
    let mut child = stage.start(&with(&plan));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let third = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("[ 3/6]")));
    assert!(third.is_some(), "it ended before its third trial");
    send(child.id(), Signal::TERM);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.iter().any(|line| line.contains("the same command with --resume goes on")), "{rest:?}");

    let other = stage.run(&with(&["--runtimes", "php-cli-server", "--rounds", "4", "--seed", "8", "--resume"]));
    assert_eq!(other.code, Some(2), "{other:?}");
    for difference in [
        "seed: 7 then, 8 now",
        "rounds: Fixed(3) then, Fixed(4) now",
        "cases: php-cli-server, nginx-fpm then, php-cli-server now",
    ] {
        assert!(other.stderr.contains(difference), "{difference} is not in {}", other.stderr);
    }

    let study = study(&stage, &[&plan[..], &["--resume"]].concat());
    assert_eq!(study["resumed_at"].as_array().unwrap().len(), 1);
    assert!(study["yard_stick"]["readings"].as_array().unwrap().len() >= 3, "{}", study["yard_stick"]);
    let mut places = Vec::new();
    for case in study["cases"].as_array().unwrap() {
        for trial in case["trials"].as_array().unwrap() {
            places.push((trial["block"].as_u64().unwrap(), trial["position"].as_u64().unwrap()));
        }
    }
    places.sort_unstable();
    assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)], "every case once in each block");

    let finished = stage.run(&with(&[&plan[..], &["--resume", "latest"]].concat()));
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("is of no use: the study was finished"), "{}", finished.stderr);
    stage.assert_nothing_left();
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
fn a_pilot_fixes_the_warm_up_and_a_case_that_fails_has_the_shortest() {
    if !have("a_pilot_fixes_the_warm_up_and_a_case_that_fails_has_the_shortest", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let pilots = ["--runtimes", "php-cli-server", "--rounds", "1", "--warm-up", "auto"];
    let study = study(&stage, &pilots);
    let warm_up = &study["cases"][0]["warm_up"];
    let length = warm_up["length_s"].as_f64().unwrap();
    assert!((1.0..=22.0).contains(&length), "{warm_up}");
    assert!(warm_up["watched_s"].as_f64().is_some_and(|watched| (8.0..=31.0).contains(&watched)), "{warm_up}");

    let fatal = workload("stillborn");
    let said =
        stage.run(&["compare", &fatal, "--duration", "500ms", "--rounds", "1", "--warm-up", "auto", "--json", "-"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let warm_up = &study["cases"][0]["warm_up"];
    assert_eq!((&warm_up["outcome"], &warm_up["length_s"]), (&"untold".into(), &1.0.into()), "{warm_up}");
    assert!(warm_up["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
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
