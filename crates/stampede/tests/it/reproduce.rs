//! `stampede reproduce`: what is said of wrong command lines, that each experiment reads, and one from end to end.

use insta::assert_snapshot;
use serde_json::Value;

use crate::stage::{Stage, have};

fn said(args: &[&str]) -> String {
    let said = Stage::new().run(args);
    format!("exit code: {}\n--- stdout\n{}--- stderr\n{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
}

#[test]
fn reproduce_says_what_there_is_and_what_is_wrong() {
    assert_snapshot!("reproduce_help", said(&["reproduce", "--help"]));
    assert_snapshot!("reproduce_list", said(&["reproduce"]));
    assert_snapshot!("reproduce_unknown", said(&["reproduce", "symfony-blgo"]));
    let own = said(&["reproduce", "no-such-folder/mine.yaml"]);
    assert!(own.starts_with("exit code: 2") && own.contains("no-such-folder/mine.yaml cannot be read"), "{own}");
    let stage = Stage::new();
    std::fs::write(stage.home().join("mine.yaml"), "title: mine\n").unwrap();
    let own = stage.run_in(stage.home(), &["reproduce", "mine.yaml"]);
    assert!(own.code == Some(2) && own.stderr.contains("mine.yaml is not a published experiment"), "{own:?}");
    // Stages follow one another.
    drop(stage);
    assert_snapshot!(
        "reproduce_mistakes",
        said(&[
            "reproduce",
            "webman",
            "--scale",
            "0",
            "--rounds",
            "0",
            "--seed",
            "x",
            "--tables",
            "keep-alife",
            "--client-rtt",
            "1h",
            "--json",
            "-",
            "--markdown",
            "-",
        ])
    );
}

#[test]
fn the_rows_that_can_run_are_measured_and_stand_beside_the_published_ones() {
    if !have("the_rows_that_can_run_are_measured_and_stand_beside_the_published_ones", &["nginx", "php-fpm", "go"]) {
        return;
    }
    let stage = Stage::new();
    let said = stage.run(&[
        "reproduce",
        "webman",
        "--tables",
        "keep-alive",
        "--scale",
        "0.05",
        "--rounds",
        "2",
        "--seed",
        "1",
        "--json",
        "-",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&json["scale"], &json["tables"].as_array().unwrap().len()), (&0.05.into(), &1));
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    let row = |case: &str| rows.iter().find(|row| row["case"] == case).unwrap();
    assert_eq!(row("webman")["figures"][0]["published_high"], 160_000.0);
    for case in ["nginx-fpm", "nginx-fpm-close", "go", "go-close"] {
        // A trial in which the machine held the generator up does not count.
        let n = row(case)["figures"][0]["ours"]["n"].as_u64();
        assert!(n.is_some_and(|n| (1..=2).contains(&n)), "{case}: {}", said.stderr);
    }
    let claims = json["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["of"] == "go-close").unwrap();
    assert_ne!(claim["standing"], "not tested", "{claim}");
    assert!(!claims.iter().any(|claim| claim["table"] == "front"), "claims of other tables");

    // The same again from what is stored; asked for otherwise, it is another experiment.
    let study = json["tables"][0]["study"].as_str().unwrap();
    let again = stage.run(&["reproduce", "webman", "--studies", study, "--scale", "0.1", "--json", "-"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["tables"].as_array().unwrap().len(), 1);
    assert_eq!(again["tables"][0]["study"], study);
    let figures = |of: &Value| -> Vec<Value> {
        of["tables"][0]["rows"].as_array().unwrap().iter().map(|row| row["figures"].clone()).collect()
    };
    assert_eq!(figures(&again), figures(&json));
    let other = stage.run(&["reproduce", "webman", "--studies", study, "--full"]);
    assert!(other.code == Some(2) && other.stderr.contains("of no table of webman"), "{}", other.stderr);

    // Its study is one like any other.
    let shown = stage.run(&["show", study, "--json", "-"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let cases = shown["cases"].as_array().unwrap();
    let case = |id: &str| cases.iter().find(|case| case["id"] == id).unwrap();
    assert_eq!(case("go")["topology"]["client_keep_alive"], true);
    assert_eq!(case("go-close")["topology"]["client_keep_alive"], false);
    stage.assert_nothing_left();
}
