//! `compare`: its rounds, its table and how it ends.

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, always, runtime, workload};

/// A short comparison.
fn compare<'a>(workload: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plan = ["compare", workload, "--cpus", "0.5", "--memory", "256Mi", "--no-yard-stick", "--seed", "7"];
    [&plan[..], more].concat()
}

fn by_runtime(unit: &str) -> f64 {
    match unit {
        "php-fpm" => 1000.0,
        "apache" => 700.0,
        _ => 300.0,
    }
}

#[test]
fn runtimes_are_compared_and_the_fastest_is_told_first() {
    let machine = MadeUp::serving(by_runtime);
    let app = workload("fatal");
    let runtimes = "nginx-fpm,apache-mod-php,php-cli-server";
    let args = ["--runtimes", runtimes, "--rounds", "4", "--duration", "5s", "--warm-up", "1s", "--json", "-"];
    let said = machine.run(&compare(&app, &args));
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    let mut places = Vec::new();
    for case in cases {
        assert_eq!(case["limits"]["cpus"], 0.5, "{case}");
        for trial in case["trials"].as_array().unwrap() {
            assert_eq!(trial["outcome"], "measured", "{trial}");
            places.push((trial["block"].as_u64().unwrap(), trial["position"].as_u64().unwrap()));
        }
    }
    places.sort_unstable();
    let all: Vec<_> = (1..=4).flat_map(|block| (1..=3).map(move |position| (block, position))).collect();
    assert_eq!(places, all, "every case once in each block");
    assert_eq!(machine.launches(), 12);

    let shown = machine.run(&["show", "latest"]);
    assert_eq!(shown.code, 0);
    let place = |name: &str| shown.stdout.find(name).unwrap_or_else(|| panic!("{name}: {}", shown.stdout));
    assert!(place("nginx-fpm") < place("apache-mod-php") && place("apache-mod-php") < place("php-cli-server"));
}

#[test]
fn a_line_is_told_for_each_trial_and_nothing_when_it_is_to_be_quiet() {
    let machine = MadeUp::serving(by_runtime);
    let app = workload("fatal");
    let args = ["--runtimes", "nginx-fpm,apache-mod-php", "--rounds", "2", "--duration", "2s", "--warm-up", "1s"];
    let said = machine.run(&compare(&app, &args));
    for line in ["[ 1/4] round 1/2", "[ 2/4] round 1/2", "[ 3/4] round 2/2", "[ 4/4] round 2/2"] {
        assert!(said.stderr.contains(line), "{line}: {}", said.stderr);
    }
    assert!(said.stderr.contains("1000 req/s") && said.stderr.contains("700 req/s"), "{}", said.stderr);
    assert!(said.stdout.contains("Stored in"), "{}", said.stdout);
    let quiet = machine.run(&compare(&app, &[&args[..], &["--quiet"]].concat()));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn rounds_are_found_out_within_their_time() {
    let machine = MadeUp::new(|launch| {
        let rate = if runtime(launch) == "php-fpm" { 1000.0 } else { 500.0 };
        FakeLifetime::serving(BODY, rate + (launch.number % 7) as f64)
    });
    let app = workload("fatal");
    let args = ["--runtimes", "nginx-fpm,apache-mod-php", "--duration", "5s", "--warm-up", "1s", "--json", "-"];
    let said = machine.run(&compare(&app, &args));
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let rounds = study["cases"][0]["trials"].as_array().unwrap().len();
    // Twice as fast is told at the first look.
    assert!((3..=4).contains(&rounds), "{rounds}");
    assert_eq!(study["verdicts"][0]["verdict"], "faster", "{}", study["verdicts"]);
}

#[test]
fn pilots_fix_the_warm_up_of_each_case() {
    let machine = MadeUp::serving(by_runtime);
    let app = workload("fatal");
    let args = ["--runtimes", "nginx-fpm,apache-mod-php", "--rounds", "3", "--duration", "2s"];
    let said = machine.run(&compare(&app, &[&args[..], &["--warm-up", "auto"]].concat()));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("first a pilot run of each case"), "{}", said.stderr);
    assert!(said.stderr.contains("pilot nginx-fpm") && said.stderr.contains("pilot apache-mod-php"));
    assert_eq!(machine.launches(), 2 + 6);
    let warm_up = &machine.run(&["show", "latest", "--json", "-"]).json()["cases"][0]["warm_up"];
    let length = warm_up["length_s"].as_f64().unwrap();
    assert!((1.0..=22.0).contains(&length), "{warm_up}");
}

#[test]
fn a_calibration_is_kept_and_bounds_the_next_study_under_its_conditions() {
    let machine = MadeUp::new(|launch| FakeLifetime::serving(BODY, 1000.0 + (launch.number * 37 % 11) as f64));
    let app = workload("fatal");
    let shared = ["--runtimes", "nginx-fpm", "--duration", "2s", "--warm-up", "1s", "--rounds", "10"];
    let said = machine.run(&compare(&app, &[&shared[..], &["--calibrate"]].concat()));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(machine.launches(), 20, "one case twice in each round");
    let calibration = machine.run(&["show", "latest", "--json", "-"]).json();
    assert_eq!(calibration["kind"], "calibrate");
    let cases: Vec<_> = calibration["cases"].as_array().unwrap().iter().map(|case| &case["id"]).collect();
    assert_eq!(cases, ["nginx-fpm-a", "nginx-fpm-b"]);
    let next = ["--runtimes", "nginx-fpm,apache-mod-php", "--duration", "2s", "--warm-up", "1s", "--rounds", "3"];
    let said = machine.run(&compare(&app, &[&next[..], &["--json", "-"]].concat()));
    let bound = said.json();
    assert_eq!(bound["noise_floor"]["calibration"], calibration["id"]);
    let pairs = &bound["noise_floor"]["metrics"]["throughput_rps"]["pairs"];
    assert!(pairs.as_u64().is_some_and(|pairs| (3..=10).contains(&pairs)), "{pairs}");
    let open = machine.run(&compare(&app, &[&next[..], &["--load", "open:50", "--json", "-"]].concat()));
    assert!(open.json()["noise_floor"].is_null(), "another model of load: {}", open.stdout);

    let doctor = machine.run(&["doctor", "--json", "-"]).json();
    assert_eq!(doctor["schema"], "stampede/doctor/v1");
    let checks = doctor["checks"].as_array().unwrap();
    let floor = checks.iter().find(|check| check["id"] == "noise-floor").unwrap()["text"].as_str().unwrap();
    assert!(
        floor.ends_with("% in requests per second under 0.5 CPU and 256Mi, closed load, platform local"),
        "{floor}"
    );
}

#[test]
fn others_who_wait_are_told_what_is_measured() {
    let machine = MadeUp::serving(by_runtime);
    let app = workload("fatal");
    let args = ["--runtimes", "nginx-fpm", "--rounds", "1", "--duration", "2s", "--warm-up", "1s"];
    let said = machine.run(&compare(&app, &args));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(machine.purposes(), ["compare fatal"]);
}

#[test]
fn a_missing_workload_or_a_wrong_flag_measures_nothing() {
    let machine = MadeUp::serving(by_runtime);
    for args in [&["compare", "no-such-workload"][..], &["compare", "hello", "--rounds", "none"]] {
        let said = machine.run(args);
        assert_eq!(said.code, 2, "{said:?}");
    }
    assert!(machine.log().is_empty() && machine.purposes().is_empty());
}

/// A command of a workload that answers with its setting. The workload expects "bye".
#[test]
fn a_command_of_the_workload_has_the_settings_that_it_declares() {
    let machine = MadeUp::new(|launch| {
        let text = format!("{:?}", launch.deployment);
        let answer = if text.contains("\"GREETING\": \"bye\"") { always(200, "bye") } else { always(200, "hello") };
        FakeLifetime { answer, ..FakeLifetime::serving(BODY, 100.0) }
    });
    let folder = workload("command");
    let compare = |greeting: &str| {
        let set = format!("custom.GREETING={greeting}");
        let short = ["--duration", "2s", "--warm-up", "0", "--rounds", "1", "--no-yard-stick", "--json", "-"];
        machine.run(&[&["compare", &folder, "--set", &set], &short[..]].concat())
    };
    let said = compare("bye");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["cases"][0]["tuning"]["GREETING"], "bye");
    assert_eq!(compare("hello").code, 5);
    let said = compare("maybe");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.words().contains("is not one of hello, bye"), "{}", said.stderr);
}
