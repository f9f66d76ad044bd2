//! Plan files: their cases, limits and topology, and flags that override them.

use std::fs;

use serde_json::Value;
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, workload};

/// A plan file of this machine: what it says after its workload.
fn plan(machine: &MadeUp, text: &str) -> String {
    let file = machine.path("p.yaml");
    fs::write(&file, format!("workload: {}\n{text}", workload("fatal"))).unwrap();
    file.display().to_string()
}

#[test]
fn cases_of_one_runtime_are_told_apart_and_flags_override_the_file() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let file = plan(
        &machine,
        "cases:\n\
         - {id: two, runtime: php-cli-server, set: {PHP_CLI_SERVER_WORKERS: 2}}\n\
         - {id: four, runtime: php-cli-server, set: {PHP_CLI_SERVER_WORKERS: 4}}\n\
         limits: {cpus: 0.5, memory: 128Mi}\n\
         load: {model: closed, connections: 4}\n\
         study: {rounds: 1, duration: 10m, warm_up: 0, seed: 7}\n",
    );
    let short = ["compare", &file, "--duration", "1s", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&short[..], &["--memory", "96Mi"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!((study["seed"].as_u64(), study["workload"].as_str()), (Some(7), Some("fatal")));
    for (id, workers) in [("two", "2"), ("four", "4")] {
        let case = study["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap();
        assert_eq!(case["runtime"], "php-cli-server");
        assert_eq!(case["tuning"]["PHP_CLI_SERVER_WORKERS"], workers);
        assert_eq!((&case["enforced"]["cpus"], &case["enforced"]["memory_bytes"]), (&0.5.into(), &(96 << 20).into()));
        assert_eq!(case["trials"].as_array().unwrap().len(), 1);
    }
    assert_eq!(study["verdicts"].as_array().unwrap().len(), 1, "{study}");
    let shown = machine.run(&["show", "latest"]).stdout;
    for part in ["two", "four", "0.5 CPU and 96Mi"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let said = machine.run(&[&short[..], &["--set", "php-cli-server.PHP_CLI_SERVER_WORKERS=3"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    for case in said.json()["cases"].as_array().unwrap() {
        assert_eq!(case["tuning"]["PHP_CLI_SERVER_WORKERS"], "3", "{}", case["id"]);
    }
}

#[test]
fn a_topology_of_the_plan_is_served_and_flags_override_its_keys() {
    let machine = MadeUp::new(|launch| FakeLifetime {
        // Each part is held to its own share.
        parts: launch.terms.parts.iter().filter_map(|part| Some((part.name.clone(), part.share?))).collect(),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let file = plan(
        &machine,
        "runtimes: [php-cli-server]\n\
         limits: {cpus: 1, memory: 384Mi}\n\
         topology:\n  replicas: 2\n  balancer: nginx\n  balance: least-connections\n  tls: true\n  \
         share: {replica: {cpus: 0.3, memory: 128Mi}, balancer: {cpus: 0.2, memory: 64Mi}}\n\
         load: closed:4\n\
         study: {rounds: 1, duration: 1s, warm_up: 0}\n",
    );
    let flags = ["--balance", "round-robin", "--share", "balancer=0.25,96Mi", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &file][..], &flags].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let case = &study["cases"][0];
    let topology = &case["topology"];
    assert_eq!((&topology["replicas"], &topology["balancer"]["kind"]), (&2.into(), &"nginx".into()));
    assert_eq!((&topology["balancer"]["balance"], &topology["balancer"]["tls"]), (&"round-robin".into(), &true.into()));
    let held =
        |part: &Value| (part["part"].clone(), part["enforced_cpus"].clone(), part["enforced_memory_bytes"].clone());
    let parts: Vec<_> = case["trials"][0]["parts"].as_array().unwrap().iter().map(held).collect();
    let replica = |name: &str| (name.into(), 0.3.into(), (128 << 20).into());
    let balancer = ("balancer".into(), 0.25.into(), (96 << 20).into());
    assert_eq!(parts, [replica("replica-1"), replica("replica-2"), balancer]);
    // The front speaks TLS, and its certificate is what clients trust.
    assert!(machine.launches() == 1, "{:?}", machine.log());
}

#[test]
fn a_case_has_the_role_that_its_plan_gives_it() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let file = plan(
        &machine,
        "cases:\n\
         - {id: ours, runtime: php-cli-server, role: candidate}\n\
         - {id: other, runtime: php-cli-server, role: reference}\n\
         - {id: plain, runtime: php-cli-server}\n\
         load: {model: closed, connections: 4}\n\
         slo: {p99: 10s}\n\
         study: {rounds: 3, duration: 1s, warm_up: 0, seed: 7}\n",
    );
    let study = machine.run(&["compare", &file, "--no-yard-stick", "--json", "-"]).json();
    let role =
        |id: &str| study["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap()["role"].clone();
    assert_eq!([role("ours"), role("other"), role("plain")], ["candidate", "reference", "not-for-production"]);
    let recommendation = &study["recommendation"];
    assert_eq!((&recommendation["decision"], &recommendation["case"]), (&"only".into(), &"ours".into()), "{study:#}");
    assert_eq!(study["slo"], "p99<10s");
}

#[test]
fn the_order_of_a_plan_is_that_of_its_comparison_alone() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 400.0));
    let file = plan(
        &machine,
        "runtimes: [nginx-fpm, php-cli-server]\nlimits: {cpus: 0.5, memory: 256Mi}\n\
         study: {rounds: 2, duration: 3s, warm_up: 0, seed: 7, order: turns}\n",
    );
    let said = machine.run(&["compare", &file, "--no-yard-stick", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    for study in [said.json(), machine.run(&["show", "latest", "--json", "-"]).json()] {
        assert_eq!(study["order"], "turns");
        for case in study["cases"].as_array().unwrap() {
            for trial in case["trials"].as_array().unwrap() {
                let turns = trial["turns"].as_array().unwrap();
                let ok: u64 = turns.iter().map(|turn| turn["ok"].as_u64().unwrap()).sum();
                assert_eq!((turns.len(), Some(ok)), (8, trial["requests"]["ok"].as_u64()), "{trial}");
            }
        }
    }
    let windows = machine.run(&["compare", &file, "--no-yard-stick", "--order", "windows", "--json", "-"]).json();
    assert_eq!(windows["order"], "windows");
    // An open load of its own is searched in windows; one that was asked for contradicts the order.
    let searched = machine.run(&["capacity", "nginx-fpm", &file, "--slo", "p99<100ms"]);
    assert_eq!(searched.code, 0, "{searched:?}");
    let said = machine.run(&["compare", &file, "--load", "open:50"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.words().contains("--order turns would cut an open load into pieces"), "{}", said.stderr);
}

#[test]
fn a_dry_run_says_what_would_be_measured_and_starts_nothing() {
    let machine = MadeUp::serving(|_| 100.0);
    let app = workload("fatal");
    if !crate::list::installed().unwrap().iter().any(|name| name == "php-cli-server") {
        crate::screen::note("skipped a_dry_run_says_what_would_be_measured_and_starts_nothing: no php");
        return;
    }
    let limits = ["--cpus", "0.5", "--memory", "256Mi", "--rounds", "3", "--duration", "2s", "--warm-up", "1s"];
    let said = machine.run(&[&["compare", &app, "--runtimes", "php-cli-server", "--dry-run"][..], &limits].concat());
    let told = "fatal: php-cli-server\n0.5 CPU and 256Mi each, load closed:16\neach trial measured for 2s, 3 rounds of 1 trials: 9s of load, to which the starts of the servers are added\n";
    assert_eq!((said.code, said.stdout.as_str()), (0, told), "{said:?}");
    let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--dry-run"]);
    let told = "each trial measured for up to 8s (short pilot runs choose), rounds until the result is clear, for ";
    assert!(said.code == 0 && said.stdout.contains(told), "{said:?}");
    let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--at", "70%", "--dry-run"]);
    assert!(said.code == 0 && said.stdout.contains("then response times at 70 % of the slowest"), "{said:?}");
    let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--php", "5.3", "--dry-run"]);
    assert!(said.code == 0 && said.stdout.contains("\nskipped: php-cli-server@5.3 needs PHP 5.3"), "{said:?}");
    assert_eq!((machine.launches(), machine.purposes()), (0, Vec::new()));
}
