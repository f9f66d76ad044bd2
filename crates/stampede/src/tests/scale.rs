//! `scale`: what is said of a service that never comes up, or later than requests wait for it.

use std::time::Duration;

use serde_json::Value;
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, always, workload};

#[test]
fn what_never_comes_up_fails_with_its_reason() {
    let machine = MadeUp::new(|_| FakeLifetime { answer: always(500, "no"), ..FakeLifetime::serving(BODY, 100.0) });
    let said = machine.run(&["scale", "php-cli-server", &workload("fatal"), "--duration", "1s", "--quiet"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.report().contains("trial 1 failed: gave a wrong answer to `home`"), "{}", said.stdout);
    assert_eq!(machine.purposes(), ["scale fatal"]);
}

/// The load goes through a gateway, which is real: what it makes of such requests is tested in its own crate.
#[test]
fn a_start_that_takes_longer_than_requests_wait_is_told_before_the_load() {
    let machine = MadeUp::new(|_| FakeLifetime { ready: Duration::from_secs(1), ..FakeLifetime::serving(BODY, 100.0) });
    let app = workload("fatal");
    let limits = ["--cpus", "0.25", "--memory", "256Mi", "--max-instances", "1", "--queue-limit", "20ms"];
    let said = machine.run(&[&["scale", "php-cli-server", &app, "--duration", "1s"][..], &limits].concat());
    let told = "to start and a request waits for 20.0ms at most: those that find no instance are all turned away";
    assert!(said.words().contains(told), "{said:?}");
}

/// A service of which each request is answered wrongly, two seconds after its start.
fn failing() -> MadeUp {
    let ready = Duration::from_secs(2);
    MadeUp::new(move |_| FakeLifetime { answer: always(500, "no"), ready, ..FakeLifetime::serving(BODY, 100.0) })
}

/// Two services of the same application.
fn two<'a>(app: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let one = ["scale", "php-cli-server", app, "--cpus", "0.5", "--memory", "256Mi", "--max-instances", "1"];
    let another = ["--against", "name=large,cpus=1,concurrency=4", "--duration", "1s", "--seed", "1", "--quiet"];
    [&one[..], &another, more].concat()
}

/// The blocks in which each case was measured.
fn blocks(study: &Value) -> Vec<(&str, Vec<u64>)> {
    let blocks = |case: &Value| {
        case["trials"].as_array().unwrap().iter().map(|trial| trial["block"].as_u64().unwrap()).collect()
    };
    study["cases"].as_array().unwrap().iter().map(|case| (case["id"].as_str().unwrap(), blocks(case))).collect()
}

#[test]
fn services_are_measured_in_the_same_rounds_and_named_by_what_they_are() {
    let said = failing().run(&two(&workload("fatal"), &["--json", "-"]));
    assert_eq!(said.code, 5, "{said:?}");
    let study = said.json();
    assert_eq!(study["kind"], "scale");
    assert_eq!(blocks(&study), [("php-cli-server-0.5x1-c1", vec![1, 2, 3]), ("large", vec![1, 2, 3])]);
}

#[test]
fn services_that_were_interrupted_are_gone_on_with_as_they_were() {
    let app = workload("fatal");
    let machine = failing().interrupted(&[(Duration::from_secs(9), false)]);
    let said = machine.run(&two(&app, &[]));
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("finished trials are kept; the same command with --resume continues"), "{said:?}");
    let machine = machine.interrupted(&[]);
    let other = machine.run(&two(&app, &["--resume", "--set", "php-cli-server.PHP_CLI_SERVER_WORKERS=3"]));
    assert_eq!(other.code, 2, "{other:?}");
    let said = machine.run(&two(&app, &["--resume", "--json", "-"]));
    assert_eq!(said.code, 5, "{said:?}");
    let study = said.json();
    assert_eq!(study["resumed_at"].as_array().map(Vec::len), Some(1));
    assert_eq!(blocks(&study), [("php-cli-server-0.5x1-c1", vec![1, 2, 3]), ("large", vec![1, 2, 3])]);
}

#[test]
fn what_makes_a_service_slower_than_it_is_is_told_before_it_is_measured() {
    let app = workload("fatal");
    for (flags, told) in [
        (
            &["--cpus", "1", "--max-instances", "2"][..],
            "the instances may use every processor, so that they and the load",
        ),
        (
            &["--cpus", "0.5", "--concurrency", "80"],
            "--concurrency 80 is 1 on 0.5 CPU: cloud-run gives an instance below",
        ),
        (
            &["--cpus", "1", "--set", "nginx-fpm.pm.max_children=1"],
            "pm.max_children is 1, and an instance is given 80 requests at once",
        ),
    ] {
        let limits = ["--memory", "256Mi", "--duration", "1s"];
        let said = failing().run(&[&["scale", "nginx-fpm", &app][..], &limits, flags].concat());
        assert!(said.words().contains(told), "{told}: {said:?}");
    }
}

#[test]
fn a_cluster_scales_a_service_by_its_own_autoscaler() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 200.0));
    let cluster = ["scale", "--image", "my/app:1", "--platform", "kubernetes", "--generator-image", "r/stampede:1"];
    let service = ["--cpus", "0.4", "--memory", "256Mi", "--max-instances", "3", "--cpu-target", "60%"];
    let load = ["--load", "open:100", "--duration", "20s", "--seed", "1"];
    let said = machine.run(&[&cluster[..], &service, &load, &["--json", "-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let trial = &study["cases"][0]["trials"][0];
    assert_eq!((&trial["service"]["policy"], &trial["instances"]["max"]), (&"hpa".into(), &3.into()), "{trial:#}");
    assert_eq!(trial["cold_starts"]["placed_p50_ms"], 200.0);
    let decisions: Vec<_> =
        trial["decisions"].as_array().unwrap().iter().map(|one| (&one["wanted"], &one["cpu_used"])).collect();
    assert_eq!(decisions, [(&1.into(), &0.6.into()), (&3.into(), &1.2.into())]);
    assert_eq!(trial["bill"]["price"], "eks-fargate");
    let shown = machine.run(&["show", "latest"]).report();
    insta::assert_snapshot!(shown.replace(study["id"].as_str().unwrap(), "20260101-000001-abcd"));

    for (flags, told) in [
        (
            &["--policy", "knative"][..],
            "--policy knative is acted out on this machine, and a cluster scales by its own: hpa",
        ),
        (&["--total-cpus", "1"], "--total-cpus 1 is for this machine, and a cluster has nodes; leave it out"),
        (&["--queue-limit", "5s"], "--queue-limit is a gateway's, and before a cluster's service there is none"),
        (&["--min-instances", "0"], "--min-instances 0 leaves hpa no pod whose CPU it could read; give 1 or more"),
        (&["--cpu-target", "160%"], "--cpu-target 160% is not a share from 1 to 100 %"),
    ] {
        let cluster = &cluster[..];
        let said = machine.run(&[cluster, &["--cpus", "0.4", "--memory", "256Mi"], flags].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.words().contains(told), "{told}: {}", said.stderr);
    }
    let app = workload("fatal");
    let said = machine.run(&["scale", "php-cli-server", &app, "--cpu-target", "60%"]);
    assert!(said.words().contains("--cpu-target 60% is for hpa, and cloud-run has a target of its own"), "{said:?}");
    let said =
        machine.run(&["scale", "php-cli-server", &app, "--platform", "kubernetes", "--generator-image", "r/s:1"]);
    assert!(said.words().contains("--platform kubernetes serves images that exist; give --image NAME"), "{said:?}");
}
