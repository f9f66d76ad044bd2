//! `stampede forecast` on a study that nobody measured.

#[path = "../../../forecast/tests/made_up/study.rs"]
pub(crate) mod made_up;

use insta::assert_snapshot;
use made_up::{MadeUp, SINGLE, study};
use stampede_store::Store;

use crate::stage::{Said, Stage};

/// A stage with a study of these cases.
fn stage(cases: &[MadeUp]) -> Stage {
    let stage = Stage::new();
    let (study, trials) = study("20260301-120000-made", cases);
    let mut store = Store::open(&stage.store()).unwrap();
    store.begin_study(&study).unwrap();
    trials.iter().for_each(|trial| store.add_trial(&study.id, trial).unwrap());
    store.finish_study(&study.id, study.started_at).unwrap();
    stage
}

fn told(Said { code, stdout, stderr, before: _ }: &Said) -> String {
    format!("exit code: {}\n--- stdout\n{stdout}--- stderr\n{stderr}", code.unwrap_or(-1))
}

#[test]
fn a_forecast_tells_its_table_and_one_sentence() {
    let stage = stage(&[SINGLE, MadeUp { id: "loaded", connections: 16, workers: 16, cpu_ms: 4.4, ..SINGLE }]);
    let args = [
        "forecast",
        "--load",
        "open:poisson:40",
        "--times",
        "5",
        "--concurrency",
        "1,10",
        "--cpus",
        "0.5,1",
        "--duration",
        "60s",
        "--rounds",
        "3",
    ];
    let said = stage.run(&args);
    assert_snapshot!("forecast", told(&said));
    // The same seed, the same bytes.
    assert_eq!(stage.run(&args).stdout, said.stdout);
    let json = stage.run(&[&args[..], &["--json", "-"]].concat()).stdout;
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["points"].as_array().unwrap().len(), 3);
    for key in ["instances", "cold_starts", "rejected", "rps_per_vcpu", "bill"] {
        assert!(!value["points"][0][key].is_null(), "{key}");
    }
    let markdown = stage.run(&[&args[..], &["--markdown", "-"]].concat()).stdout;
    assert_snapshot!("forecast_markdown", markdown);
}

#[test]
fn knative_closed_loads_and_traces_are_simulated_too() {
    let stage = stage(&[SINGLE]);
    let trace = stage.home().join("trace.txt");
    std::fs::write(&trace, (0..200).map(|n| format!("{}\n", f64::from(n) * 0.05)).collect::<String>()).unwrap();
    let trace = trace.to_str().unwrap();
    for args in [
        vec!["--policy", "knative", "--load", "closed:20", "--client-rtt", "20ms", "--duration", "30s"],
        vec!["--trace", trace, "--times", "2", "--cpu-always", "--min-instances", "1"],
        vec!["--load", "open:poisson:40", "--cpus", "1", "--host-cpus", "1", "--duration", "30s"],
    ] {
        let said = stage.run(&[&["forecast", "--json", "-"], &args[..]].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let value: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        // 80 at once, where one was measured.
        assert_eq!(value["points"][0]["extrapolated"], "at most 1 at once measured");
        assert!(value["points"][0]["throughput"]["value"].as_f64().unwrap() > 30.0, "{}", said.stdout);
    }
    let map = ["--load", "open:5", "--duration", "30s", "--concurrency", "1,8", "--cpus", "0.5,1", "--html", "-"];
    let said = stage.run(&[&["forecast"], &map[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in
        ["<table class=\"map\">", "<th scope=\"col\">8 at once</th>", "<th scope=\"row\">0.5 CPU, ", "class=\"level0\""]
    {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let stage = stage(&[SINGLE]);
    let said = stage.run(&[
        "forecast",
        "--load",
        "open:none",
        "--times",
        "0",
        "--concurrency",
        "0",
        "--cpus",
        "9,x",
        "--memory",
        "64Mi",
        "--policy",
        "kubernetes",
        "--min-instances",
        "5",
        "--max-instances",
        "2",
        "--price",
        "gold",
        "--rounds",
        "0",
        "--duration",
        "soon",
        "--workers",
        "0",
        "--host-cpus",
        "0",
    ]);
    assert_snapshot!("forecast_mistakes", told(&said));
    assert_snapshot!("forecast_no_load", told(&stage.run(&["forecast"])));
}

#[test]
fn memory_that_does_not_hold_the_workers_is_told() {
    // 100 MiB with one worker and 220 with four: 40 MiB each.
    let stage = stage(&[SINGLE, MadeUp { id: "loaded", connections: 16, workers: 4, memory_mib: 220, ..SINGLE }]);
    let said = stage.run(&["forecast", "--load", "open:1", "--concurrency", "8", "--workers", "8"]);
    assert_snapshot!("forecast_memory", told(&said));
}

#[test]
fn a_start_that_outlasts_the_queue_is_warned_of() {
    let stage = stage(&[SINGLE]);
    let said = stage.run(&[
        "forecast",
        "--load",
        "open:20",
        "--queue-limit",
        "100ms",
        "--warm-up",
        "0s",
        "--duration",
        "30s",
        "--rounds",
        "1",
    ]);
    assert_eq!(said.code, Some(0));
    assert!(
        said.stderr.contains("an instance takes 0.3 s to start and a request waits for 0.1 s at most"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_study_without_one_request_at_a_time_says_what_to_run() {
    let stage = stage(&[MadeUp { connections: 16, ..SINGLE }]);
    assert_snapshot!("forecast_not_single", told(&stage.run(&["forecast", "--load", "open:1"])));
}

#[test]
fn help_teaches() {
    assert_snapshot!("help_forecast", told(&Stage::new().run(&["forecast", "--help"])));
}
