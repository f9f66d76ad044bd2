//! `compare --at`: latency at a share of the slowest candidate's throughput, after the closed part.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, Said, runtime, workload};

/// `nginx-fpm` 1,000, `apache-mod-php` 700 and `php -S` 300 a second; Apache takes four times as long for an answer.
fn machine() -> MadeUp {
    MadeUp::new(|launch| {
        let (rate, milliseconds) = match runtime(launch) {
            "php-fpm" => (1000.0, 5),
            "apache" => (700.0, 20),
            _ => (300.0, 50),
        };
        let rate = rate + (launch.number % 7) as f64 / 10.0;
        FakeLifetime { latency: Duration::from_millis(milliseconds), ..FakeLifetime::serving(BODY, rate) }
    })
}

fn compare(machine: &MadeUp, runtimes: &str, more: &[&str]) -> Said {
    let app = workload("fatal");
    let plan = ["compare", &app, "--cpus", "0.5", "--memory", "256Mi", "--no-yard-stick", "--seed", "7"];
    let shared = ["--runtimes", runtimes, "--duration", "5s", "--warm-up", "1s"];
    machine.run(&[&plan[..], &shared, more].concat())
}

fn ids(study: &Value) -> Vec<&str> {
    study["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect()
}

fn trials(study: &Value) -> usize {
    study["cases"].as_array().unwrap().iter().map(|case| case["trials"].as_array().unwrap().len()).sum()
}

const ALL: &str = "nginx-fpm,apache-mod-php,php-cli-server";

#[test]
fn latency_is_measured_at_a_share_of_the_slowest_candidate() {
    let machine = machine();
    let said = compare(&machine, ALL, &["--rounds", "3", "--at", "70%", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    for line in [
        "php-cli-server is not measured at the rate of the others: it answers 300 requests a second, too few for 490",
        "response times at 70 % of the throughput of the slowest, apache-mod-php: 490 requests a second for all, measured for 11s each",
        "enough requests for a p99",
    ] {
        assert!(said.words().contains(line), "{line}: {}", said.stderr);
    }
    let study = said.json();
    assert_eq!(
        (study["cases"][0]["load"]["model"].as_str(), study["metric"].as_str()),
        (Some("closed"), Some("throughput_rps"))
    );
    let open = &study["open_part"];
    assert_eq!((open["share"].as_f64(), open["rate_per_second"].as_f64()), (Some(0.7), Some(490.0)));
    assert_eq!(open["slowest"], "apache-mod-php");
    assert_eq!(open["left_out"][0]["case"], "php-cli-server");
    let shared = &open["shared"];
    assert_eq!(
        (shared["id"].as_str(), shared["metric"].as_str()),
        (Some(&*format!("{}.at70", study["id"].as_str().unwrap())), Some("response_p99_us"))
    );
    assert_eq!((ids(shared), trials(shared)), (vec!["nginx-fpm", "apache-mod-php"], 6));
    for case in shared["cases"].as_array().unwrap() {
        assert_eq!(
            (case["load"]["rate"].as_str(), case["load"]["connections"].as_u64()),
            (Some("490"), Some(16)),
            "{}",
            case["load"]
        );
    }
    // Each closed case has the settings that it has under the open load.
    assert_eq!(study["cases"][0]["tuning"], shared["cases"][0]["tuning"]);
    let own = &open["own"];
    assert_eq!((ids(own), trials(own)), (vec!["nginx-fpm", "php-cli-server"], 6));
    assert_eq!(own["verdicts"].as_array().map(Vec::len), Some(0), "rates of their own are not compared");
    assert!(own["recommendation"].is_null());
    // Nobody else measures between the two parts.
    assert_eq!(machine.purposes(), ["compare fatal"]);
    assert_eq!(machine.launches(), 9 + 6 + 6);

    let reason = study["recommendation"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("Ship nginx-fpm: "), "{reason}");
    let shown = machine.run(&["show", "latest"]);
    for text in [
        "p99 response time 5.00 ms at 70 % of the slowest (490 req/s)",
        "Response times at 70 % of the throughput of the slowest, apache-mod-php: 490 requests a second for all",
        "php-cli-server: answers 300 requests a second, too few for 490",
        "Response times at 70 % of each one's own throughput: not compared, as rates differ",
    ] {
        assert!(shown.report().contains(text), "{text}: {}", shown.stdout);
    }
    let markdown = machine.run(&["show", "latest", "--markdown", "-"]).report();
    assert!(
        markdown.contains("| nginx-fpm | 700 | 5.00 |") && markdown.contains("| php-cli-server (dev) | 210 | 50.0 |"),
        "{markdown}"
    );
    let csv = machine.run(&["show", "latest", "--csv", "-"]).stdout;
    assert_eq!(csv.lines().count(), 1 + 21);
    let page = machine.run(&["report", "latest", "-o", "-"]).stdout;
    assert!(
        page.contains("--at 70%")
            && page.contains("Response times at 70 % of the throughput of the slowest, apache-mod-php")
    );
}

#[test]
fn limits_on_response_times_are_kept_or_missed_at_the_rate() {
    let machine = machine();
    let file = machine.path("p.yaml");
    let app = workload("fatal");
    let plan = format!(
        "workload: {app}\n\
         runtimes: [nginx-fpm, apache-mod-php]\n\
         limits: {{cpus: 0.5, memory: 256Mi}}\n\
         slo: {{p99: 10ms, errors: 1%}}\n\
         study: {{rounds: 3, duration: 5s, warm_up: 1s, seed: 7, at: 70%}}\n"
    );
    fs::write(&file, plan).unwrap();
    let said = machine.run(&["compare", &file.display().to_string(), "--no-yard-stick", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let reason = study["recommendation"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("Ship nginx-fpm, the only one that can be recommended"), "{reason}");
    assert!(
        reason.contains("Not recommended: apache-mod-php (missed p99<10ms by 2.00 times at 490 req/s)."),
        "{reason}"
    );
    let shared = study["open_part"]["shared"]["recommendation"]["reason"].as_str().unwrap();
    assert!(shared.contains("apache-mod-php (missed p99<10ms by 2.00 times)"), "{shared}");
}

#[test]
fn both_parts_share_the_time_and_a_percentile_takes_no_more_than_there_is() {
    let machine = MadeUp::new(|launch| {
        let rate = if runtime(launch) == "php-fpm" { 40.0 } else { 20.0 };
        FakeLifetime::serving(BODY, rate + (launch.number % 3) as f64)
    });
    let said = compare(&machine, "nginx-fpm,apache-mod-php", &["--max-time", "6m", "--at", "50%", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!(study["max_time_s"], 180.0);
    let shared = &study["open_part"]["shared"];
    let window = shared["duration_s"].as_f64().unwrap();
    // A p99 takes 5,283 requests, which is more than 8 minutes of one window.
    assert!(said.words().contains("too few requests for a p99, so that p50 decides"), "{}", said.stderr);
    assert_eq!((window, shared["metric"].as_str()), (14.0, Some("response_p50_us")), "{}", said.stderr);
    assert!(shared["max_time_s"].as_f64().unwrap() > 3.0 * 2.0 * window, "{}", shared["max_time_s"]);

    let said = compare(&machine, "nginx-fpm,apache-mod-php", &["--max-time", "60s", "--at", "50%"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.words().contains("--max-time 1m is too short: a verdict takes 3 rounds of 2 cases, in each half"),
        "{said:?}"
    );
}

#[test]
fn a_case_that_failed_has_no_open_part() {
    let machine = MadeUp::new(|launch| match runtime(launch) {
        "php-fpm" => FakeLifetime::serving(BODY, 1000.0),
        "apache" => FakeLifetime::serving(BODY, 700.0),
        _ => FakeLifetime { launch_problem: Some("no port".to_owned()), ..FakeLifetime::serving(BODY, 300.0) },
    });
    let said =
        compare(&machine, "nginx-fpm,apache-mod-php,uwsgi-php", &["--rounds", "3", "--at", "70%", "--json", "-"]);
    assert_eq!(said.code, 5, "{said:?}");
    let study = said.json();
    assert_eq!(study["open_part"]["left_out"][0]["reason"], "failed in the closed part");
    assert_eq!(ids(&study["open_part"]["shared"]), ["nginx-fpm", "apache-mod-php"]);
    assert_eq!(ids(&study["open_part"]["own"]), ["nginx-fpm"]);
}

#[test]
fn a_failure_at_the_rate_is_told_by_the_exit_code() {
    let machine = MadeUp::new(|launch| {
        let serving = FakeLifetime::serving(BODY, 1000.0);
        if launch.number == 7 {
            FakeLifetime { launch_problem: Some("no port".to_owned()), ..serving }
        } else {
            serving
        }
    });
    let said = compare(&machine, "nginx-fpm,apache-mod-php", &["--rounds", "3", "--at", "70%"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.report().contains("Trials at these rates that do not count"), "{}", said.stdout);
}

#[test]
fn an_open_part_is_resumed_where_it_was() {
    let runtimes = "nginx-fpm,apache-mod-php";
    let args = ["--rounds", "3", "--at", "70%"];
    // The closed part takes 39 s.
    let machine = machine().interrupted(&[(Duration::from_secs(80), false)]);
    let said = compare(&machine, runtimes, &args);
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.report().contains("Response times at 70 % of the throughput of the slowest"), "{}", said.stdout);
    let kept = machine.run(&["show", "latest", "--json", "-"]).json();
    assert!(kept["finished_at"].is_null() && trials(&kept) == 6, "{kept}");
    let before = trials(&kept["open_part"]["shared"]);
    assert!((1..6).contains(&before), "{before}");

    let machine = machine.then(|_| FakeLifetime::serving(BODY, 1000.0));
    for other in [&["--at", "60%"][..], &[]] {
        let said = compare(&machine, runtimes, &[&["--rounds", "3", "--resume"], other].concat());
        assert_eq!(said.code, 2, "{said:?}");
        let problem = "it measures response times at 70 %, and this command does not add --at 70%";
        assert!(said.words().contains(problem), "{}", said.stderr);
    }
    let said = compare(&machine, runtimes, &[&args[..], &["--resume", "--json", "-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    assert_eq!((study["id"].as_str(), trials(&study)), (kept["id"].as_str(), 6));
    let open = &study["open_part"];
    assert_eq!((trials(&open["shared"]), trials(&open["own"])), (6, 3));
    assert_eq!(open["shared"]["duration_s"], kept["open_part"]["shared"]["duration_s"]);
}

#[test]
fn what_has_no_throughput_has_no_share_of_it() {
    let machine = machine();
    for (more, problem) in [
        (
            &["--at", "70%", "--load", "open:500"][..],
            "--at 70% takes a share of what a closed load finds, and this load is open",
        ),
        (&["--at", "99%"], "--at 99% is not a share in whole per cent, from 1% to 95%; for example --at 70%"),
    ] {
        let said = compare(&machine, "nginx-fpm,apache-mod-php", more);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.words().contains(problem), "{problem}: {}", said.stderr);
    }
    assert!(machine.log().is_empty());
}
