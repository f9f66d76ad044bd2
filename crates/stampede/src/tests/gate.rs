//! `gate`: did a change make it slower?

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use stampede_core::{Finding, Severity};
use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, always, is_of, scenario};

fn gate<'a>(base: &'a str, head: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["gate", base, head, "--runtime", "nginx-fpm", "--cpus", "0.5", "--memory", "256Mi"];
    [&words[..], &["--duration", "5s", "--warm-up", "1s", "--seed", "3"], more].concat()
}

fn by_folder(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let rate = if is_of(launch, "slow") { 500.0 } else { 1000.0 };
    FakeLifetime::serving(BODY, rate + (launch.number * 29 % 7) as f64)
}

/// A machine on which the application in the folder `slow` answers half as often as others, and the folders of both.
fn machine() -> (MadeUp, String, String) {
    let machine = MadeUp::new(by_folder);
    let [quick, slow] = ["quick", "slow"].map(|name| machine.application(name));
    (machine, quick, slow)
}

#[test]
fn a_change_that_costs_much_fails_in_every_form() {
    let (machine, quick, slow) = machine();
    let [junit, markdown] = ["gate.xml", "comment.md"].map(|name| machine.path(name).display().to_string());
    let files = ["--github", "--junit", &junit, "--markdown", &markdown];
    let said = machine.run(&gate(&quick, &slow, &files));
    assert_eq!(said.code, 1, "{said:?}");
    for part in ["is more than 5 % worse than", "::error title=stampede gate::head: failed"] {
        assert!(said.report().contains(part), "{part}\n{}", said.stdout);
    }
    assert!(fs::read_to_string(junit).unwrap().contains("<failure message=\"failed: "));
    assert!(fs::read_to_string(markdown).unwrap().starts_with("### Performance: failed\n"));
    assert_eq!(machine.purposes().last().map(String::as_str), Some("gate slow"));
}

#[test]
fn a_change_that_costs_nothing_passes_and_so_does_one_that_is_faster() {
    let (machine, quick, slow) = machine();
    let said = machine.run(&gate(&slow, &quick, &[]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.report().contains("is no more than 5 % worse than"), "{}", said.stdout);
    let said = machine.run(&gate(&quick, &quick, &[]));
    assert_eq!(said.code, 0, "{said:?}");
    // What was measured is stored, and a stored study can be compared with another.
    let launches = machine.launches();
    let said = machine.run(&["gate", "study:latest", "study:latest", "--threshold", "50%"]);
    assert_eq!((said.code, machine.launches()), (0, launches), "{said:?}");
}

#[test]
fn a_gate_that_was_interrupted_goes_on_where_it_was_left() {
    let (machine, quick, slow) = machine();
    let machine = machine.interrupted(&[(Duration::from_secs(16), false)]);
    let rounds = ["--rounds", "4", "--order", "windows"];
    let said = machine.run(&gate(&quick, &slow, &rounds));
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("the same command with --resume continues"), "{}", said.stderr);
    let before = machine.launches();
    let (whole, _, _) = self::machine();
    assert_eq!(whole.run(&gate(&quick, &slow, &rounds)).code, 1);
    assert!(before > 0 && before < whole.launches(), "{before}");
    let machine = machine.then(by_folder);
    let said = machine.run(&gate(&quick, &slow, &[&rounds[..], &["--resume"]].concat()));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(machine.launches() < before + whole.launches(), "{before} and {}", machine.launches());
    let stored = machine.run(&["gate", "study:latest", "study:latest", "--resume"]);
    assert_eq!(stored.code, 2, "{stored:?}");
    assert!(stored.words().contains("--resume is for measuring"), "{}", stored.stderr);
}

#[test]
fn where_no_limits_can_be_held_nothing_is_measured_and_answers_are_recorded() {
    let (machine, quick, slow) = machine();
    let machine = machine.finding(vec![Finding {
        id: "limits-not-enforced".to_owned(),
        severity: Severity::Error,
        text: "CPU and memory limits cannot be enforced here: Permission denied".to_owned(),
        evidence: BTreeMap::new(),
        advice: "run it as root".to_owned(),
    }]);
    let of = |command: &'static str| vec![command, "nginx-fpm", quick.as_str()];
    let slo = ["--slo", "p99<100ms"];
    for args in [
        gate(&quick, &slow, &[]),
        vec!["compare", &quick, "--runtimes", "nginx-fpm", "--duration", "5s", "--rounds", "1"],
        of("tune"),
        [&of("capacity")[..], &slo].concat(),
        [&of("scale")[..], &["--max-instances", "1"]].concat(),
        [&["size", quick.as_str(), "--load", "open:poisson:50"][..], &slo].concat(),
    ] {
        let said = machine.run(&args);
        assert_eq!((said.code, machine.launches()), (3, 0), "{args:?}: {said:?}");
        for part in [
            "error: CPU and memory limits cannot be enforced here: Permission denied; run it as root",
            "Figures without limits do not count, so nothing was measured. As root: sudo stampede",
        ] {
            assert!(said.words().contains(part), "{args:?}: {part}\n{}", said.stderr);
        }
    }
    let said = machine.run(&["init", &quick]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > 0 && said.words().contains("warning: CPU and memory limits cannot"), "{said:?}");
}

#[test]
fn a_side_that_fails_is_an_error_of_its_own() {
    let machine = MadeUp::new(|launch| FakeLifetime {
        launch_problem: (launch.number > 2 && launch.number % 2 == 0).then(|| "no".to_owned()),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let [base, head] = ["base", "head"].map(|name| machine.application(name));
    let said = machine.run(&gate(&base, &head, &["--rounds", "3"]));
    assert_eq!(said.code, 5, "{said:?}");
}

#[test]
fn a_metric_that_a_trial_lacks_and_an_answer_that_changed_are_errors() {
    let machine = MadeUp::new(|launch| {
        let answer = if is_of(launch, "other") { always(200, "goodbye") } else { always(200, BODY) };
        FakeLifetime { answer, ..FakeLifetime::serving(BODY, 100.0) }
    });
    let [one, other] = ["one", "other"].map(|name| machine.application(name));
    let rounds = ["--rounds", "3"];
    let said = machine.run(&gate(&one, &one, &[&rounds[..], &["--metric", "response_p99_us"]].concat()));
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.words().contains("has no p99 response time"), "{}", said.stderr);
    let said = machine.run(&gate(&one, &other, &rounds));
    assert_eq!(said.code, 5, "{said:?}");
    // The answers are taken from the change, and then the state before it gives others.
    assert!(said.words().contains("was never measured"), "{}", said.stderr);
}

/// A minute has room for six rounds of windows of 2 s and none for pilots. Where the machine is slower than planned, it ends in time.
#[test]
fn a_gate_keeps_to_its_time_and_says_where_that_is_too_short() {
    let machine = MadeUp::new(|launch| FakeLifetime {
        launch: Duration::from_secs(if is_of(launch, "slow") { 10 } else { 1 }),
        ..FakeLifetime::serving(BODY, 1000.0 + (launch.number * 29 % 311) as f64)
    });
    let [one, slow] = ["one", "slow"].map(|name| machine.application(name));
    let gate = |base: &str, more: &[&str]| {
        let words = ["gate", base, base, "--runtime", "nginx-fpm", "--cpus", "0.5", "--memory", "256Mi"];
        machine.run(&[&words[..], more].concat())
    };
    let said = gate(&one, &["--max-time", "60s"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.words().contains("2 cases, 2s each a round"), "{}", said.stderr);
    assert!(!said.words().contains("pilot"), "{}", said.stderr);
    let said = gate(&slow, &["--max-time", "60s"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.words().contains("another does not fit into the time of 60 s"), "{}", said.stderr);
    assert!(said.report().contains("Undecided: the time was over after 1 round, which do not show"), "{}", said.stdout);
    let said = gate(&one, &["--max-time", "60s", "--warm-up", "auto", "--duration", "8s"]);
    assert_eq!(said.code, 2, "{said:?}");
    let told = "is too short: a verdict takes 3 rounds of 2 cases and their pilots, about 1m23s";
    assert!(said.words().contains(told), "{}", said.stderr);
}

#[test]
fn a_workload_with_a_scenario_is_measured_under_its_own_load() {
    let (machine, _, _) = machine();
    let [before, after] = ["before", "after"].map(|name| {
        let folder = machine.application(name);
        for (file, text) in [
            (
                "workload.yaml",
                "title: A shop\napps: [{kind: front-controller, dir: ., index: index.php}]\nscenario: scenario.yaml\n\
                 requests: [{name: a, path: /, expect: {status: 200, body: \"hello\\n\"}}]\n",
            ),
            ("scenario.yaml", &*scenario("closed:2", "/")),
        ] {
            fs::write(Path::new(&folder).join(file), text).unwrap();
        }
        folder
    });
    let said = machine.run(&gate(&before, &after, &["--rounds", "3", "--threshold", "90%"]));
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["after on nginx-fpm: 0.5 CPU and 256Mi, load closed:2", "3 rounds that vary by "] {
        assert!(said.report().contains(part), "{part}\n{}", said.stdout);
    }
}
