//! A comparison from end to end, on real servers.

use serde_json::Value;

use crate::stage::{Stage, have};

#[test]
fn four_runtimes_are_compared_under_equal_limits() {
    if !have("four_runtimes_are_compared_under_equal_limits", &["nginx", "php-fpm", "apache2", "php", "go"]) {
        return;
    }
    let stage = Stage::alone();
    let said = stage.run(&[
        "compare",
        "markdown",
        "--runtimes",
        "apache-mod-php,nginx-fpm,php-cli-server,go",
        "--cpus",
        "0.5",
        "--memory",
        "256Mi",
        "--duration",
        "800ms",
        "--warm-up",
        "200ms",
        "--rounds",
        "2",
        "--seed",
        "1",
        "--json",
        "-",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(study["schema"], "stampede/study/v1");
    assert_eq!(study["seed"], 1);
    // All of the machine, not what the generator keeps to.
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(study["machine"]["cpus"], cpus, "{}", study["machine"]);
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let id = case["id"].as_str().unwrap();
        assert_eq!(case["enforced"]["cpus"], 0.5, "{id}");
        assert_eq!(case["enforced"]["memory_bytes"], 256u64 << 20, "{id}");
        let trials = case["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 2, "{id}");
        for trial in trials {
            assert_eq!(trial["outcome"], "measured", "{id}: {trial}");
            let count = |name: &str| trial["requests"][name].as_u64().unwrap();
            assert!(count("ok") > 120, "{id}: {trial}");
            assert_eq!((count("failed"), count("unfinished")), (0, 0), "{id}: {trial}");
            assert_eq!(count("sent"), count("ok"), "{id}: {trial}");
            let figure = |name: &str| trial[name].as_f64().unwrap();
            let share = figure("throttled_periods") / figure("periods");
            // The quota was the limit: then it was used up.
            if share >= 0.9 {
                let used = figure("cpu_seconds") / figure("window_s") / 0.5;
                assert!((0.95..1.05).contains(&used), "{id} used {used} of its quota: {trial}");
            }
            let memory = trial["memory_peak_bytes"].as_u64().unwrap();
            assert!((1 << 20..256 << 20).contains(&memory), "{id}: {trial}");
        }
        assert_eq!(case["summary"]["throughput_rps"]["n"], 2, "{id}");
    }
    let verdicts = study["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 6);
    assert!(verdicts.iter().all(|verdict| verdict["ratio"]["n"] == 2), "{verdicts:?}");
    stage.assert_nothing_left();

    let shown = stage.run(&["show", "latest"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for case in cases {
        assert!(shown.stdout.contains(case["id"].as_str().unwrap()), "{}", shown.stdout);
    }
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    let again = stage.run(&["show", "latest", "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), study);
    let listed = stage.run(&["list", "studies"]);
    assert!(listed.stdout.contains(study["id"].as_str().unwrap()), "{}", listed.stdout);
}

#[test]
fn a_rendered_runtime_shows_its_files() {
    if !have("a_rendered_runtime_shows_its_files", &["nginx", "php-fpm"]) {
        return;
    }
    let said = Stage::new().run(&["show", "runtime", "nginx-fpm", "--render"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in ["=== php-fpm", "--- php-fpm/php-fpm.conf", "pm = static", "=== nginx", "fastcgi_pass unix:@{fpm};"] {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
}
