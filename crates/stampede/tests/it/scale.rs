//! An autoscaled service from end to end, on real servers.

use std::collections::BTreeSet;

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Stage, have, send, wait_until, workload};

/// Runs it on small instances of PHP's own server.
const PHP: [&str; 11] =
    ["scale", "php-cli-server", "markdown", "--cpus", "0.25", "--memory", "256Mi", "--duration", "4s", "--seed", "1"];

#[test]
fn instances_start_on_demand_and_counts_add_up() {
    if !have("instances_start_on_demand_and_counts_add_up", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let said = stage.run(&[&PHP[..], &["--max-instances", "3", "--load", "closed:4", "--json", "-"]].concat());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&study["schema"], &study["kind"]), (&"stampede/study/v1".into(), &"scale".into()));
    let trial = &study["cases"][0]["trials"][0];
    let figure = |path: &str| trial.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} {trial:#}"));
    // Below one CPU an instance is given one request at a time: four clients ask for more than three instances.
    assert_eq!(figure("/service/concurrency"), 1.0);
    // The window begins before the first request has asked for one.
    assert!(figure("/instances/mean") > 2.5 && figure("/instances/max") == 3.0, "{trial:#}");
    assert_eq!(figure("/cold_starts/count"), 3.0);
    assert!(figure("/cold_starts/p50_ms") <= figure("/cold_starts/max_ms"));
    assert!(figure("/cold_starts/process_p50_ms") > 0.0 && figure("/cold_starts/first_request_p50_ms") > 0.0);
    let (sent, ok, rejected) = (figure("/requests/sent"), figure("/requests/ok"), figure("/rejected"));
    assert_eq!((figure("/requests/failed"), rejected, ok), (0.0, 0.0, sent), "{trial:#}");
    // Every client waits at the beginning, on a busy machine until the window closes.
    assert!(ok >= 4.0 && figure("/queue/waited") >= 4.0 && figure("/queue/most") <= 4.0, "{trial:#}");
    let vcpu_seconds = figure("/instances/mean") * 0.25 * 4.0;
    assert!((figure("/rps_per_vcpu") - ok / vcpu_seconds).abs() < 1e-6 * ok);
    // Three quarters of a CPU for four seconds, at the published price, and no more than that.
    assert_eq!(trial["bill"]["currency"], "USD");
    let most = 3.0 * 4.3 * (0.25 * 24e-6 + 0.25 * 2.5e-6) + ok * 0.4e-6;
    assert!((0.0..=most).contains(&figure("/bill/total")), "{} {most}", figure("/bill/total"));
    assert!((figure("/bill/per_million_requests") - figure("/bill/total") / ok * 1e6).abs() < 1e-6);
    stage.assert_nothing_left();

    let again = stage.run(&["show", "latest", "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), study);
    let shown = stage.run(&["show", "latest"]);
    for part in ["instances min/mean/max", "cold starts", "cost per million", "answers every request"] {
        assert!(shown.words().contains(part), "{part}\n{}", shown.stdout);
    }
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    let markdown = stage.run(&["show", "latest", "--markdown", "-"]);
    assert!(markdown.stdout.contains("| cold starts | 3 |"), "{}", markdown.stdout);
    let listed = stage.run(&["list", "studies"]);
    assert!(listed.stdout.contains("scale markdown"), "{}", listed.stdout);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("deploy");
    let said = stage.run(&["export", "knative", "--study", "latest", "--output", place.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let service = std::fs::read_to_string(place.join("service.yaml")).unwrap();
    for part in ["# This is one of 0 to 3 instances", "max-scale: \"3\"\n", "containerConcurrency: 1\n"] {
        assert!(service.contains(part), "{part}\n{service}");
    }
    let of_itself = format!("study:{}", study["id"].as_str().unwrap());
    for asked in [&["why"][..], &["gate", &of_itself, &of_itself], &["forecast", "latest", "--load", "open:5"]] {
        let said = stage.run(asked);
        assert!(
            said.code == Some(2) && said.stderr.contains("is of an autoscaled service"),
            "{asked:?} {}",
            said.stderr
        );
    }
}

#[test]
fn services_are_held_against_each_other_and_gone_on_with_after_an_interrupt() {
    if !have("services_are_held_against_each_other_and_gone_on_with_after_an_interrupt", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let mut asked = vec!["scale", "php-cli-server", "markdown", "--cpus", "0.25", "--memory", "256Mi", "--quiet"];
    asked.extend(["--max-instances", "2", "--load", "closed:4", "--duration", "1s", "--seed", "1", "--json", "-"]);
    asked.extend([
        "--min-instances",
        "1",
        "--against",
        "cpus=1,concurrency=4,max-instances=1,name=large",
        "--total-cpus",
        "1",
    ]);
    let mut child = stage.start(&asked);
    wait_until("a trial is kept", || {
        let shown = stage.run(&["show", "latest", "--json", "-"]).stdout;
        let study: Value = serde_json::from_str(&shown).unwrap_or_default();
        let kept = |case: &Value| case["trials"].as_array().is_some_and(|trials| !trials.is_empty());
        let any = study["cases"].as_array().is_some_and(|cases| cases.iter().any(kept));
        if any { Ok(()) } else { Err(shown) }
    });
    send(child.id(), Signal::TERM);
    let mut code = None;
    wait_until("stampede ends", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.map(drop).ok_or_else(|| "it still runs".to_owned())
    });
    assert_eq!(code.flatten(), Some(130));
    stage.assert_nothing_left();

    let other = stage.run(&[&asked[..], &["--resume", "--queue-limit", "20s"]].concat());
    assert!(other.code == Some(2) && other.stderr.contains("limits of its queue"), "{}", other.stderr);
    let said = stage.run(&[&asked[..], &["--resume"]].concat());
    // On a busy machine this program may be held up, so that a trial does not count.
    assert!(matches!(said.code, Some(0 | 4)), "{:?} {}\n{}", said.code, said.stderr, said.stdout);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    for case in cases {
        let blocks: Vec<&Value> = case["trials"].as_array().unwrap().iter().map(|trial| &trial["block"]).collect();
        assert_eq!(blocks, [1, 2, 3], "{case:#}");
        assert_eq!(case["trials"][0]["service"]["total_cpus"], 1);
    }
    if said.code == Some(0) {
        let verdict = &study["verdicts"][0];
        assert_eq!(verdict["metric"], "requests_per_vcpu_second");
        assert_eq!(verdict["ratio"]["n"], 3);
        let large = cases.iter().find(|case| case["id"] == "large").unwrap();
        let mut findings = large["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["id"] == "large-instance");
        let text = finding.and_then(|finding| finding["text"].as_str()).unwrap_or_else(|| panic!("{large:#}"));
        assert!(text.contains("of php-cli-server-0.25x2-c1 with 1:"), "{text}");
    }
    let shown = stage.run(&["show", "latest"]);
    // Lines are broken where they must be.
    let text = shown.words();
    for part in
        ["2 services against each other", "large: php-cli-server, 1 CPU", "share 1 processor, 4 requests at once"]
    {
        assert!(text.contains(part), "{part}\n{}", shown.stdout);
    }
}

#[test]
fn an_interrupt_leaves_nothing() {
    if !have("an_interrupt_leaves_nothing", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let base = PHP.iter().copied().filter(|word| !["--duration", "4s"].contains(word));
    let asked = ["--max-instances", "3", "--load", "closed:4", "--duration", "10m"];
    let mut child = stage.start(&base.chain(asked).collect::<Vec<_>>());
    wait_until("three instances run", || {
        let groups: BTreeSet<String> = stage.processes().into_iter().map(|(_, group)| group).collect();
        if groups.len() >= 3 { Ok(()) } else { Err(format!("{groups:?}")) }
    });
    send(child.id(), Signal::TERM);
    let mut code = None;
    wait_until("stampede ends", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.map(drop).ok_or_else(|| "it still runs".to_owned())
    });
    assert_eq!(code.flatten(), Some(130));
    stage.assert_nothing_left();
}

/// A page of 10 ms on Knative: what is forecast to hold is confirmed on real instances, which are no more than were promised.
#[test]
#[ignore = "takes two minutes; what is searched and confirmed is decided without servers in stampede's tests::size"]
fn a_service_is_sized_by_forecasts_and_confirmed_on_instances() {
    if !have("a_service_is_sized_by_forecasts_and_confirmed_on_instances", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let slow = workload("slow");
    let mut asked = vec!["size", &slow, "--autoscale", "--policy", "knative", "--runtimes", "php-cli-server"];
    asked.extend(["--load", "open:poisson:20", "--slo", "p95<900ms,errors<5%", "--cpus", "0.25,0.5"]);
    asked.extend(["--memory", "64Mi,128Mi", "--pools", "2,4", "--concurrency", "2,4", "--targets", "70%"]);
    asked.extend(["--min-instances", "0,1", "--duration", "5s", "--warm-up", "1s", "--seed", "1", "--budget", "3m"]);
    let said = stage.run(&[&asked[..], &["--json", "-"]].concat());
    stage.assert_nothing_left();
    assert_eq!(said.code, Some(0), "{}\n{}", said.stderr, said.stdout);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let service = &found["services"][found["choice"].as_u64().unwrap() as usize];
    let figure =
        |path: &str| service.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} {found:#}"));
    assert!(figure("/at_load/high") < 1.0 && figure("/at_headroom/high") < 1.0, "{service:#}");
    assert!(figure("/forecast_of_limit") < 1.0 && figure("/blocks") >= 4.0, "{service:#}");
    // No more at once than the one processor that is left to servers.
    let (cpus, most) = (figure("/cpus"), figure("/max_instances"));
    assert!(most >= 1.0 && cpus * most <= 1.0, "{service:#}");
    // By requests: those of a month, 20 a second, cost 21 USD alone.
    assert!(figure("/month") > 20.0 && figure("/month") < 200.0, "{service:#}");
    let listed = stage.run(&["list", "studies"]);
    assert!(listed.stdout.contains(&format!("{}.service002", found["id"].as_str().unwrap())), "{}", listed.stdout);
}
