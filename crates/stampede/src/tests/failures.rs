//! What is said of servers that fail, and how the command ends.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use stampede_core::{ErrorClass, UnitExit, UnitId};
use stampede_seam::Saturation;
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, Said, always, runtime, workload};

fn serving() -> FakeLifetime {
    FakeLifetime::serving(BODY, 1000.0)
}

/// One round of two runtimes, of which `php-fpm` has such a lifetime.
fn compare(lifetime: FakeLifetime) -> (MadeUp, Said) {
    let machine = MadeUp::new(move |launch| if runtime(launch) == "php-fpm" { lifetime.clone() } else { serving() });
    let app = workload("fatal");
    let args = ["compare", &app, "--runtimes", "nginx-fpm,apache-mod-php", "--rounds", "1", "--duration", "2s"];
    let more = ["--warm-up", "1s", "--no-yard-stick", "--memory", "64Mi", "--cpus", "0.5", "--json", "-"];
    let said = machine.run(&[&args[..], &more[..], &["--order", "windows"]].concat());
    (machine, said)
}

fn reason(said: &Said) -> String {
    let study = said.json();
    let cases = study["cases"].as_array().unwrap();
    let of = |name: &str| cases.iter().find(|case| case["id"] == name).unwrap_or_else(|| panic!("{name}: {study}"));
    assert_eq!(of("apache-mod-php")["trials"][0]["outcome"], "measured", "the other one is measured all the same");
    of("nginx-fpm")["trials"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_trial_that_fails_ends_with_code_5_and_one_that_is_invalid_with_4() {
    let ended = UnitExit { unit: UnitId::new("php-fpm"), how: "signal 11 (SIGSEGV)".to_owned() };
    let late =
        Saturation::Late { percentile: 99, lateness: Duration::from_millis(5), response: Duration::from_millis(6) };
    let killed = vec![Duration::from_secs(2)];
    for (name, lifetime, code, said) in [
        (
            "a fatal error",
            FakeLifetime {
                answer: always(500, "Fatal error"),
                log: vec!["PHP Fatal error: Uncaught Error".to_owned()],
                ..serving()
            },
            5,
            &[
                "wrong answer to `home`",
                "and 500 Internal Server Error came\nbody: Fatal error",
                "log of php-fpm",
                "Uncaught Error",
            ][..],
        ),
        (
            "never ready",
            FakeLifetime { ready: Duration::from_secs(3600), log: vec!["waiting".to_owned()], ..serving() },
            5,
            &["was not ready within", "last state: Connection refused", "waiting"],
        ),
        (
            "does not start",
            FakeLifetime { launch_problem: Some("no space is left on the device".to_owned()), ..serving() },
            5,
            &["no space is left on the device"],
        ),
        (
            "ends under load",
            FakeLifetime { exit: Some((Duration::from_secs(2), ended)), ..serving() },
            5,
            &["php-fpm ended with signal 11 (SIGSEGV) while it was measured"],
        ),
        (
            "killed for memory",
            FakeLifetime { oom_kills: killed, ..serving() },
            5,
            &["the kernel killed 1 process", "memory limit of 64Mi"],
        ),
        (
            "cannot be stopped",
            FakeLifetime { stop_problem: Some("it is still there".to_owned()), ..serving() },
            5,
            &["stop the deployment: it is still there"],
        ),
        (
            "wrong answers under load",
            FakeLifetime { errors: vec![(ErrorClass::WrongBody, 3)], ..serving() },
            4,
            &["3 of 2003 answers under load were wrong"],
        ),
        (
            "wrong answers under load with a line that is known",
            FakeLifetime {
                errors: vec![(ErrorClass::WrongStatus, 3)],
                log: vec![
                    "WARNING: [pool www] server reached pm.max_children setting (2), consider raising it".to_owned(),
                ],
                ..serving()
            },
            4,
            &[
                "3 of 2003 answers under load were wrong",
                "fix: all of PHP-FPM's workers are busy: --set nginx-fpm.pm.max_children",
            ],
        ),
        (
            "a generator that is late",
            FakeLifetime { saturation: Some(late), ..serving() },
            4,
            &["the generator began requests late"],
        ),
        (
            "no answer in the drain",
            FakeLifetime { unfinished: 2, ..serving() },
            4,
            &["2 requests had no answer 5s after the window"],
        ),
    ] {
        let (machine, answered) = compare(lifetime);
        assert_eq!(answered.code, code, "{name}: {answered:?}");
        let reason = reason(&answered);
        said.iter().for_each(|part| assert!(reason.contains(part), "{name}: {part:?} is not in:\n{reason}"));
        let word = if code == 5 { "failed: " } else { "invalid: " };
        assert!(answered.stderr.contains(word), "{name}: {}", answered.stderr);
        assert_eq!(machine.launches(), 2, "{name}");
    }
}

#[test]
fn workers_that_are_started_again_and_again_are_told_with_their_output() {
    let (_, said) = compare(FakeLifetime {
        ready: Duration::from_secs(3600),
        worker_life: Some(Duration::from_millis(200)),
        log: vec!["require(vendor/autoload.php): No such file".to_owned()],
        ..serving()
    });
    let reason = reason(&said);
    assert!(reason.contains("starts its workers again and again"), "{reason}");
    assert!(reason.contains("require(vendor/autoload.php)"), "{reason}");
}

#[test]
fn what_an_application_may_not_write_is_told_with_where_it_may() {
    let (_, said) = compare(FakeLifetime {
        answer: always(500, ""),
        log: vec!["file_put_contents(/srv/x): Failed to open stream: Permission denied".to_owned()],
        ..serving()
    });
    let reason = reason(&said);
    assert!(reason.contains("an application may write in its own folder"), "{reason}");
}

/// What answers otherwise each time is no expected answer.
#[test]
fn an_answer_that_varies_is_told_to_be_masked() {
    let asked = AtomicUsize::new(0);
    let (_, said) = compare(FakeLifetime {
        answer: std::sync::Arc::new(move |_| stampede_core::Answer {
            status: 200,
            headers: Vec::new(),
            body: format!("token {}", asked.fetch_add(1, Ordering::Relaxed)).into_bytes(),
        }),
        ..serving()
    });
    assert!(reason(&said).contains("mask the part that varies"), "{}", reason(&said));
}

#[test]
fn a_pilot_that_fails_gives_the_shortest_warm_up_and_the_study_goes_on() {
    let machine = MadeUp::new(|launch| match launch.number {
        0 | 1 if runtime(launch) == "php-fpm" => {
            FakeLifetime { launch_problem: Some("not yet".to_owned()), ..serving() }
        }
        _ => serving(),
    });
    let app = workload("fatal");
    let args = ["compare", &app, "--runtimes", "nginx-fpm,apache-mod-php", "--rounds", "2", "--duration", "2s"];
    let said = machine
        .run(&[&args[..], &["--warm-up", "auto", "--no-yard-stick", "--cpus", "0.5", "--memory", "64Mi"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.words().contains("pilot nginx-fpm"), "{}", said.stderr);
    assert!(said.words().contains("failed: prepare the run: not yet"), "{}", said.stderr);
}

#[test]
fn a_setting_that_is_asked_for_and_not_in_effect_makes_the_trial_invalid() {
    let (_, said) = compare(FakeLifetime { php_settings: vec![("opcache.enable", "0")], ..serving() });
    assert_eq!(said.code, 4, "{said:?}");
    let reason = reason(&said);
    assert!(reason.contains("opcache.enable = 1 was asked for, and \"0\" is in effect"), "{reason}");
}

#[test]
fn a_server_that_ignores_its_signal_is_recorded_and_found() {
    let (_, said) = compare(FakeLifetime { is_deaf: true, ..serving() });
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let case = study["cases"].as_array().unwrap().iter().find(|case| case["id"] == "nginx-fpm").unwrap();
    assert_eq!(case["trials"][0]["stops"][0]["killed"], true, "{case}");
    let findings = case["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == "stop-killed"), "{findings:?}");
}

/// Four rounds of three runtimes, of which `php-cli-server` has such a lifetime.
fn compare_three(lifetime: FakeLifetime) -> (MadeUp, Said) {
    let machine = MadeUp::new(move |launch| if runtime(launch) == "php" { lifetime.clone() } else { serving() });
    let app = workload("fatal");
    let args = ["compare", &app, "--runtimes", "nginx-fpm,apache-mod-php,php-cli-server", "--rounds", "4"];
    let more = ["--duration", "2s", "--warm-up", "1s", "--no-yard-stick", "--memory", "64Mi", "--cpus", "0.5"];
    let said = machine.run(&[&args[..], &more[..]].concat());
    (machine, said)
}

#[test]
fn one_runtime_that_never_serves_is_left_out_and_the_others_are_compared() {
    let ended = UnitExit { unit: UnitId::new("php"), how: "status 255".to_owned() };
    for (name, lifetime, reason) in [
        ("at launch", FakeLifetime { launch_problem: Some("no such file".to_owned()), ..serving() }, "no such file"),
        ("never ready", FakeLifetime { ready: Duration::from_secs(3600), ..serving() }, "was not ready within"),
        (
            "ends before it is ready",
            FakeLifetime { ready: Duration::from_secs(5), exit: Some((Duration::from_secs(1), ended)), ..serving() },
            "php ended with status 255 before it was ready",
        ),
        ("at verification", FakeLifetime { answer: always(500, "no"), ..serving() }, "wrong answer to `home`"),
    ] {
        let (machine, said) = compare_three(lifetime);
        assert_eq!(said.code, 5, "{name}: {said:?}");
        assert!(said.words().contains("skipped: php-cli-server: "), "{name}: {}", said.stderr);
        let report = said.report();
        for part in ["skipped: php-cli-server, rounds 1, 2: ", reason, "8 of 10 trials"] {
            assert!(report.contains(part), "{name}: {part}\n{report}");
        }
        let study = machine.run(&["show", "latest", "--json", "-"]).json();
        for case in study["cases"].as_array().unwrap() {
            let (count, outcome) = if case["id"] == "php-cli-server" { (2, "failed") } else { (4, "measured") };
            let trials = case["trials"].as_array().unwrap();
            assert_eq!(trials.len(), count, "{name}: {case}");
            assert!(trials.iter().all(|trial| trial["outcome"] == outcome), "{name}: {case}");
        }
        assert_eq!(study["verdicts"].as_array().unwrap().len(), 1, "{name}: the two others are compared");
    }
}

#[test]
fn a_case_that_cannot_run_here_is_left_out_with_its_reason_in_every_report() {
    let two = |machine: &MadeUp| {
        let app = machine.application("two");
        let kind = "dir: ., kind: front-controller, index: index.php";
        let file = format!(
            "title: two\napps:\n  - {{name: plain, {kind}}}\n  - {{name: other, env: {{OTHER: '1'}}, {kind}}}\n\
             requests:\n  - {{path: /, expect: {{status: 200, body: \"hello\\n\"}}}}\n"
        );
        fs::write(Path::new(&app).join("workload.yaml"), file).unwrap();
        app
    };
    let fatal = |_: &MadeUp| workload("fatal");
    type Folder<'a> = &'a dyn Fn(&MadeUp) -> String;
    for (name, lacks, unprepared, folder, args, code, measured, reasons) in [
        (
            "one of three is not installed",
            &["apache2"][..],
            None,
            &fatal as Folder<'_>,
            &["--runtimes", "nginx-fpm,apache-mod-php,php-cli-server"][..],
            0,
            &["nginx-fpm", "php-cli-server"][..],
            &[("apache-mod-php", "needs apache2: apt-get install apache2, or https://apache2.example")][..],
        ),
        (
            "one of two serves other applications",
            &[],
            None,
            &fatal,
            &["--runtimes", "nginx-fpm,go"],
            0,
            &["nginx-fpm"],
            &[("go", "serves only go-program")],
        ),
        (
            "one application cannot be prepared",
            &[],
            Some("other"),
            &two,
            &["--runtimes", "nginx-fpm,php-cli-server", "--app", "plain,other"],
            0,
            &["nginx-fpm/plain", "php-cli-server/plain"],
            &[
                ("nginx-fpm/other", "has no application: run `make` to prepare the application: ended with status 2"),
                ("php-cli-server/other", "run `make`"),
            ],
        ),
        (
            "PHP lacks the driver that an application's commands need too",
            &["php"],
            Some("plain"),
            &|_: &MadeUp| "mix".to_owned(),
            &["--runtimes", "php-cli-server"],
            3,
            &[],
            &[],
        ),
        ("the only one is not installed", &["apache2"], None, &fatal, &["--runtimes", "apache-mod-php"], 3, &[], &[]),
        (
            "none is installed",
            &["apache2", "nginx"],
            None,
            &fatal,
            &["--runtimes", "nginx-fpm,apache-mod-php"],
            3,
            &[],
            &[],
        ),
        (
            "the only application cannot be prepared",
            &[],
            Some("plain"),
            &fatal,
            &["--runtimes", "nginx-fpm,php-cli-server"],
            5,
            &[],
            &[],
        ),
    ] {
        let machine = MadeUp::new(|_| serving()).lacking(lacks, unprepared);
        let app = folder(&machine);
        let rounds = ["--rounds", "3", "--duration", "2s", "--warm-up", "1s", "--no-yard-stick"];
        let said = machine.run(&[&["compare", &app][..], args, &rounds].concat());
        assert_eq!(said.code, code, "{name}: {said:?}");
        if code != 0 {
            assert_eq!(machine.launches(), 0, "{name}");
            continue;
        }
        let study = machine.run(&["show", "latest", "--json", "-"]).json();
        let cases: Vec<_> =
            study["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
        assert_eq!(cases, measured, "{name}");
        let markdown = machine.run(&["show", "latest", "--markdown", "-"]).report();
        for (case, reason) in reasons {
            let left_out = study["left_out"].as_array().unwrap();
            let of_case = left_out.iter().find(|left_out| left_out["case"] == *case).unwrap();
            let words: Vec<&str> = ["reason", "fix"].into_iter().filter_map(|key| of_case[key].as_str()).collect();
            assert!(words.join(": ").contains(reason), "{name}: {of_case}");
            assert!(said.words().contains(reason), "{name}: {}", said.stderr);
            for report in [&said.report(), &markdown] {
                assert!(report.contains(&format!("skipped: {case}: ")), "{name}: {report}");
            }
        }
    }
}

#[test]
fn a_head_that_is_too_large_is_told_at_once_with_its_setting_and_its_line_once() {
    let line = |number: u32| {
        format!(
            "2026/11/26 07:00:{number:02} [error] 7{number}#7{number}: *{number} upstream sent too big header while reading \
             response header from upstream"
        )
    };
    let (_, said) =
        compare(FakeLifetime { answer: always(502, "Bad Gateway"), log: (0..20).map(line).collect(), ..serving() });
    assert_eq!(said.code, 5, "{said:?}");
    let reason = reason(&said);
    for part in [
        "refused what the application answered: the front answered 502",
        "fix: the headers of the answer are larger than the buffer for them: --set nginx-fpm.fastcgi_buffer_size=65536 (now 4096)",
        "20 times: 2026/11/26 07:00:19 [error]",
    ] {
        assert!(reason.contains(part), "{part}\n{reason}");
    }
    assert_eq!(reason.matches("upstream sent too big header").count(), 1, "{reason}");
}

#[test]
fn answers_are_recorded_on_another_runtime_where_the_first_one_cannot_serve() {
    let first = OnceLock::new();
    let machine = MadeUp::new(move |launch| {
        let unable = first.get_or_init(|| runtime(launch).to_owned()) == runtime(launch);
        if unable { FakeLifetime { answer: always(500, "no"), ..serving() } } else { serving() }
    });
    let app = machine.application("shop");
    let runtimes = "php-cli-server,nginx-fpm,apache-mod-php";
    let said =
        machine.run(&["compare", &app, "--runtimes", runtimes, "--rounds", "3", "--no-yard-stick", "--json", "-"]);
    assert_eq!(said.code, 5, "{said:?}");
    for part in ["GET / answers 500 Internal Server Error", "answers are recorded on", "gave a wrong answer to `GET /`"]
    {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
    let study = said.json();
    let measured = |case: &&serde_json::Value| case["trials"][2]["outcome"] == "measured";
    assert_eq!(study["cases"].as_array().unwrap().iter().filter(measured).count(), 2, "{study}");
}

#[test]
fn an_application_that_no_runtime_serves_is_at_fault_itself() {
    let machine = MadeUp::new(|_| FakeLifetime { answer: always(500, "no"), ..serving() });
    let app = machine.application("shop");
    let runtimes = "php-cli-server,nginx-fpm,apache-mod-php,uwsgi-php";
    let said = machine.run(&["compare", &app, "--runtimes", runtimes, "--no-yard-stick"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.words().contains("the application cannot be compared: on "), "{said:?}");
    assert!(said.words().contains("does not answer correctly either"), "{said:?}");
    assert_eq!(machine.launches(), 3);
}

#[test]
fn what_most_runtimes_give_is_right_unless_there_is_php_fpm() {
    for (name, runtimes, other, recorded, failed) in [
        ("one of three", "php-cli-server,apache-mod-php,uwsgi-php", "php", "apache-mod-php", &["php-cli-server"][..]),
        ("another of three", "php-cli-server,apache-mod-php,uwsgi-php", "uwsgi", "php-cli-server", &["uwsgi-php"]),
        ("one of two", "php-cli-server,apache-mod-php", "php", "php-cli-server", &["apache-mod-php"]),
        ("PHP-FPM", "nginx-fpm,apache-mod-php,uwsgi-php", "php-fpm", "nginx-fpm", &["apache-mod-php", "uwsgi-php"]),
    ] {
        let machine = MadeUp::new(move |launch| match runtime(launch) == other {
            true => FakeLifetime { answer: always(200, "another page"), ..serving() },
            false => serving(),
        });
        let app = machine.application("shop");
        let said =
            machine.run(&["compare", &app, "--runtimes", runtimes, "--rounds", "1", "--no-yard-stick", "--json", "-"]);
        assert_eq!(said.code, 5, "{name}: {said:?}");
        assert!(said.words().contains(&format!("recorded on {recorded};")), "{name}: {}", said.stderr);
        let is_told = said.words().contains("php-cli-server gives another response than apache-mod-php and uwsgi-php");
        assert_eq!(is_told, name == "one of three", "{name}: {}", said.stderr);
        let study = said.json();
        let failing = |case: &&serde_json::Value| case["trials"][0]["outcome"] == "failed";
        let cases = study["cases"].as_array().unwrap().iter().filter(failing);
        assert_eq!(cases.map(|case| case["id"].as_str().unwrap()).collect::<Vec<_>>(), failed, "{name}");
    }
}

#[test]
fn a_leak_of_workers_that_keep_the_application_is_no_expected_answer() {
    let leaking = |_: &stampede_testkit::FakeLaunch<'_>| {
        let is_asked = AtomicBool::new(false);
        let answer = move |request: &stampede_core::Request| {
            let body = match request.path.as_str() {
                "/cart" => {
                    is_asked.store(true, Ordering::Relaxed);
                    "cart"
                }
                "/" if is_asked.load(Ordering::Relaxed) => "1 item",
                _ => "no items",
            };
            stampede_core::Answer { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() }
        };
        FakeLifetime { answer: std::sync::Arc::new(answer), ..serving() }
    };
    let plan = |once: bool| {
        format!(
            "app:\n  dir: .\n  kind: psr-15-handler\n  handler: index.php\n  \
             requests: [{{path: /cart, load: false, once: {once}}}, {{path: /}}]\n"
        )
    };
    for (once, code, told) in [
        (
            false,
            5,
            "the application leaks state from one request into another: `GET /cart` changes what `GET /` answers",
        ),
        (true, 0, "GET /: status 200 OK, 6 bytes"),
    ] {
        let machine = MadeUp::new(leaking);
        let app = machine.application("shop");
        fs::write(Path::new(&app).join("stampede.yaml"), plan(once)).unwrap();
        let said = machine.run(&["compare", &app, "--runtimes", "swoole", "--rounds", "1", "--no-yard-stick"]);
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.words().contains(told), "{}", said.stderr);
        let is_shown =
            said.words().contains("recording swoole finds out which request changed the response to `GET /`");
        assert_eq!(is_shown, !once, "{}", said.stderr);
    }
}
