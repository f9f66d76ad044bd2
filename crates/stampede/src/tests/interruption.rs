//! Studies that signals end, and that are resumed.

use std::time::Duration;

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, workload};

fn plan(app: &str) -> Vec<String> {
    let words = ["compare", app, "--runtimes", "nginx-fpm,apache-mod-php", "--rounds", "3", "--duration", "5s"];
    let more = ["--warm-up", "1s", "--seed", "7", "--no-yard-stick", "--cpus", "0.5", "--memory", "256Mi"];
    words.into_iter().chain(more).chain(["--order", "windows"]).map(str::to_owned).collect()
}

fn run(machine: &MadeUp, words: &[String], more: &[&str]) -> super::made_up::Said {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    machine.run(&words)
}

fn machine() -> MadeUp {
    MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0))
}

/// A trial takes 6.4 s.
const IN_THE_THIRD: Duration = Duration::from_secs(15);

#[test]
fn a_signal_ends_it_at_once_and_what_was_measured_is_kept() {
    let machine = machine().interrupted(&[(IN_THE_THIRD, false)]);
    let said = run(&machine, &plan(&workload("fatal")), &[]);
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("the same command with --resume continues"), "{}", said.stderr);
    assert!(said.stdout.contains("nginx-fpm") && said.stdout.contains("apache-mod-php"), "{}", said.stdout);
    assert_eq!(machine.log().last().map(|line| line.starts_with("drop")), Some(true), "{:?}", machine.log());
    let study = machine.run(&["show", "latest", "--json", "-"]).json();
    let trials: usize =
        study["cases"].as_array().unwrap().iter().map(|case| case["trials"].as_array().unwrap().len()).sum();
    assert_eq!(trials, 2);
}

/// A round in turns takes 21 s.
#[test]
fn a_round_in_turns_is_lost_where_it_is_cut_and_measured_again() {
    for (seconds, kept) in [(15, 0), (30, 2)] {
        let machine = machine().interrupted(&[(Duration::from_secs(seconds), false)]);
        let words: Vec<String> = plan(&workload("fatal")).into_iter().filter(|word| word != "windows").collect();
        let words = [&words[..], &["turns".to_owned()]].concat();
        let said = run(&machine, &words, &[]);
        assert_eq!(said.code, 130, "{said:?}");
        assert!(said.words().contains(&format!("{kept} finished trials are kept")), "{}", said.stderr);
        let before = machine.launches();
        let machine = machine.then(|_| FakeLifetime::serving(BODY, 1000.0));
        let said = run(&machine, &words, &["--resume"]);
        assert_eq!((said.code, machine.launches()), (0, before + 6 - kept), "{said:?}");
    }
}

#[test]
fn the_first_ctrl_c_lets_the_round_be_completed_and_the_second_does_not() {
    let first = machine().interrupted(&[(Duration::from_secs(3), true)]);
    let said = run(&first, &plan(&workload("fatal")), &[]);
    assert_eq!((said.code, first.launches()), (130, 2), "{said:?}");
    assert!(said.stderr.contains("this round is completed first"), "{}", said.stderr);
    let second = machine().interrupted(&[(Duration::from_secs(3), true), (Duration::from_secs(4), true)]);
    let said = run(&second, &plan(&workload("fatal")), &[]);
    assert_eq!((said.code, second.launches()), (130, 1), "{said:?}");
}

#[test]
fn an_interrupted_study_is_resumed_where_it_was() {
    let machine = machine().interrupted(&[(IN_THE_THIRD, false)]);
    let words = plan(&workload("fatal"));
    assert_eq!(run(&machine, &words, &[]).code, 130);

    let mut other = words.clone();
    other[7..8].clone_from_slice(&["4s".to_owned()]);
    let said = run(&machine, &other, &["--resume"]);
    assert_eq!(said.code, 2, "{said:?}");

    let machine = machine.then(|_| FakeLifetime::serving(BODY, 1000.0));
    let said = run(&machine, &words, &["--resume", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!(study["resumed_at"].as_array().unwrap().len(), 1);
    let mut places = Vec::new();
    for case in study["cases"].as_array().unwrap() {
        for trial in case["trials"].as_array().unwrap() {
            places.push((trial["block"].as_u64().unwrap(), trial["position"].as_u64().unwrap()));
        }
    }
    places.sort_unstable();
    assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]);

    let again = run(&machine, &words, &["--resume", "latest"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.words().contains("was finished"), "{}", again.stderr);
}

#[test]
fn a_signal_while_nothing_is_ready_ends_everything() {
    let machine =
        MadeUp::new(|_| FakeLifetime { ready: Duration::from_secs(3600), ..FakeLifetime::serving(BODY, 1000.0) });
    let machine = machine.interrupted(&[(Duration::from_secs(5), false)]);
    let said = run(&machine, &plan(&workload("fatal")), &[]);
    assert_eq!((said.code, machine.launches()), (130, 1), "{said:?}");
    assert!(machine.log().last().is_some_and(|line| line.starts_with("drop")), "{:?}", machine.log());
}

#[test]
fn nothing_is_resumed_where_nothing_was_interrupted() {
    let said = run(&machine(), &plan(&workload("fatal")), &["--resume"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.words().contains("finds no interrupted comparison"), "{}", said.stderr);
}

/// What somebody reads who waits for the lock.
#[test]
fn the_lock_is_taken_for_what_is_measured() {
    let machine = MadeUp::new(|_| FakeLifetime {
        launch_problem: Some("no such program".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    });
    let app = workload("fatal");
    for (args, purpose) in [
        (["compare", "--runtimes", "php-cli-server", app.as_str()], "compare fatal"),
        (["compare", "--calibrate", "--runtimes=php-cli-server", &app], "calibrate fatal"),
        (["tune", "php-cli-server", &app, "--quiet"], "tune fatal"),
        (["capacity", "php-cli-server", &app, "--slo=p95<1s"], "capacity fatal"),
        (["scale", "php-cli-server", &app, "--load=open:5"], "scale fatal"),
    ] {
        let said = machine.run(&args);
        assert_eq!(machine.purposes().last().map(String::as_str), Some(purpose), "{said:?}");
    }
    assert_eq!(machine.purposes().len(), 5);
}
