//! `size`: the search for the cheapest deployment that holds an objective.

mod repeated;
mod services;

use std::fs;
use std::time::Duration;

use stampede_core::{Topology, UnitExit, UnitId};
use stampede_seam::Saturation;
use stampede_testkit::{FakeLaunch, FakeLifetime};

use super::made_up::{BODY, MadeUp, Said, workload};

const SLO: &str = "p99<200ms,errors<1%";

fn size<'a>(app: &'a str, load: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["size", app, "--runtimes", "php-cli-server", "--load", load, "--seed", "1", "--duration", "10s"];
    let limits = ["--cpus", "0.25,0.5,1", "--memory", "128Mi,256Mi", "--pools", "2,4"];
    [&words[..], &limits, more].concat()
}

/// Answers in proportion to its CPU: a request beyond that waits longer and longer.
fn by_cpus(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let cores = launch.terms.total.cpus.cores();
    FakeLifetime { cpus: 0.2, ..FakeLifetime::serving(BODY, 400.0 * cores) }
}

#[test]
fn the_cheapest_that_holds_is_found_confirmed_and_reported() {
    let machine = MadeUp::new(by_cpus);
    let app = workload("fatal");
    let [page, text] = ["size.html", "size.md"].map(|name| machine.path(name).display().to_string());
    let files = ["--slo", SLO, "--json", "-", "--html", &page, "--markdown", &text];
    let said = machine.run(&size(&app, "open:120", &files));
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    assert_eq!(found["schema"], "stampede/size/v1");
    // 120 and a fifth more are 144 a second: more than a quarter of a CPU answers, and less than half of one.
    assert_eq!(
        (&found["choice"]["size"]["cpus"], &found["choice"]["size"]["runtime"]),
        (&0.5.into(), &"php-cli-server".into())
    );
    assert_eq!(found["choice"]["size"]["memory_bytes"], 128 << 20, "{found}");
    assert_eq!(found["choice"]["bound"], "at_least", "{found}");
    assert!(found["choice"]["at_headroom"]["high"].as_f64().unwrap() < 1.0, "{found}");
    assert!(found["choice"]["blocks"].as_u64().unwrap() >= 4, "{found}");
    assert_eq!(found["sizes"], 12);
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(
        conclusion.contains("php-cli-server, 0.5 CPU, 128Mi, ")
            && conclusion.contains("USD a month.")
            // 0.2 of a CPU at 144 and at 120 requests a second, and 0.5 of one at 120.
            && conclusion.contains("A request took 1.4 to 1.7 ms of CPU in them, so that the load takes 33 % to 40 % of its CPU limit: at 4.2 ms"),
        "{conclusion}"
    );
    let (page, text) = (fs::read_to_string(page).unwrap(), fs::read_to_string(text).unwrap());
    let part = text.split("stampede export dockerfile --study ").nth(1).unwrap().split(' ').next().unwrap();
    let shown = machine.run(&["show", part, "--json", "-"]).json();
    let tuned = &shown["cases"][0];
    assert_eq!((&tuned["id"], &tuned["limits"]["cpus"]), (&"load".into(), &0.5.into()), "{part}");
    assert_eq!(tuned["limits"]["memory_bytes"], 128 << 20);
    assert!(page.contains("</html>") && page.contains("CHOSEN") && text.contains("CHOSEN"), "{text}");

    // A search that came to its end is shown again, and nothing is measured.
    let before = machine.launches();
    let again = machine.run(&size(&app, "open:120", &["--slo", SLO, "--json", "-", "--resume"]));
    assert_eq!((again.code, machine.launches()), (0, before), "{again:?}");
    assert_eq!(again.json()["choice"], found["choice"]);
    assert!(machine.purposes().iter().all(|purpose| purpose.starts_with("size ")), "{:?}", machine.purposes());
}

#[test]
fn a_runtime_that_is_not_there_is_left_out_and_each_trial_tells_its_figures() {
    let machine = MadeUp::new(by_cpus).lacking(&["apache2"], None);
    let app = workload("fatal");
    let mut args = size(&app, "open:120", &["--slo", SLO, "--json", "-"]);
    args[3] = "apache-mod-php,php-cli-server";
    let said = machine.run(&args);
    let found = said.json();
    assert_eq!((said.code, &found["left_out"][0]["case"]), (0, &"apache-mod-php".into()), "{found}");
    assert_eq!((&found["sizes"], found["left_out"].as_array().map(Vec::len)), (&12.into(), Some(1)), "{found}");
    let words = said.words();
    assert!(words.contains("skipped: apache-mod-php needs") && words.contains("holds: 0.0"), "{}", said.stderr);
    assert_eq!(words.matches("rounds of 10s").count(), words.matches("to confirm it").count(), "{}", said.stderr);
    let report = machine.run(&[&args[..args.len() - 2], &["--resume"]].concat()).report();
    assert!(report.contains("skipped: apache-mod-php needs"), "{report}");
}

#[test]
fn why_rounds_go_on_is_told() {
    let machine = MadeUp::new(by_cpus);
    let said = machine.run(&size(&workload("fatal"), "open:120", &["--slo", "p99<200ms,errors<0.02%"]));
    assert_eq!(said.code, 0, "{said:?}");
    let told = "requests without a right answer, which does not show less than 0.02 %, in 4 rounds";
    assert!(said.words().contains(told), "{}", said.stderr);
}

#[test]
fn a_search_that_is_interrupted_is_kept_and_resumed() {
    let machine = MadeUp::new(by_cpus).interrupted(&[(Duration::from_secs(40), false)]);
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO]));
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.words().contains("what was measured is kept"), "{}", said.stderr);
    let before = machine.launches();
    let machine = machine.then(by_cpus);
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO, "--resume"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(machine.launches() > before);
    assert!(said.report().contains("0.5 CPU, 128Mi"), "{}", said.stdout);
}

#[test]
fn a_search_whose_time_was_over_goes_on_with_a_larger_budget() {
    let app = workload("fatal");
    let cpus = "0.25,0.3,0.32,0.34,0.36,0.38,0.4,0.45,0.5,0.6,0.8,1";
    let search = |machine: &MadeUp, more: &[&str]| {
        let words = ["size", &app, "--runtimes", "php-cli-server", "--load", "open:120", "--slo", SLO, "--seed", "1"];
        let limits = ["--cpus", cpus, "--memory", "128Mi,256Mi", "--pools", "1,2,4,8", "--duration", "10s"];
        machine.run(&[&words[..], &limits, &["--json", "-"], more].concat())
    };
    let chosen = |said: &Said| (said.code, said.json()["choice"]["size"]["cpus"].as_f64());
    // While there is time for one size, that is the one which is likeliest to hold, and not the cheapest.
    for (budget, first) in [("3m", (1, None)), ("4m", (0, Some(1.0))), ("5m", (0, Some(1.0)))] {
        let machine = MadeUp::new(by_cpus);
        let short = search(&machine, &["--budget", budget]);
        assert_eq!(chosen(&short), first, "{budget}: {}", short.stderr);
        let conclusion = short.json()["conclusion"].as_str().unwrap().to_owned();
        let too_few = "There were too few rounds to confirm it. ";
        assert_eq!(conclusion.contains(too_few), first.1.is_none(), "{conclusion}");
        let over = "The time was over before the search was complete. The same command with --resume and a larger --budget continues it.";
        assert!(conclusion.ends_with(over), "{conclusion}");
        let before = machine.launches();
        let whole = search(&machine, &["--budget", "30m", "--resume"]);
        assert_eq!(chosen(&whole), (0, Some(0.36)), "{budget}: {whole:?}");
        let trials = |said: &Said| usize::try_from(said.json()["trials"].as_u64().unwrap()).unwrap();
        let (first, all) = (trials(&short), trials(&whole));
        assert!(all > first, "{all} and {first}");
        assert_eq!(machine.launches() - before, all - first, "what was measured is measured once");
        // What there is, is told also by who would not have had the time for it.
        assert_eq!(chosen(&search(&machine, &["--budget", "3m", "--resume"])), chosen(&whole));
    }
}

#[test]
fn where_nothing_holds_the_best_is_named_with_what_stops_it() {
    let machine = MadeUp::new(by_cpus);
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:900", &["--slo", SLO]));
    assert_eq!(said.code, 1, "{said:?}");
    let report = said.report();
    assert!(
        report.contains("No size of this search meets p99<200ms,errors<1%: the best, php-cli-server, 1 CPU"),
        "{report}"
    );
    // It answers 400 a second of 1,080 and uses a fifth of its CPU: more CPU would be bought for nothing.
    assert!(report.contains("Its workers stopped it") && !report.contains("CPU limit"), "{report}");
}

#[test]
fn where_the_smallest_holds_there_may_be_less() {
    let machine = MadeUp::new(by_cpus);
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:50", &["--slo", SLO]));
    assert_eq!(said.code, 0, "{said:?}");
    let report = said.report();
    assert!(report.contains("0.25 CPU, 128Mi") && report.contains("The search had no smaller size"), "{report}");
}

#[test]
fn less_memory_than_it_starts_with_is_no_size() {
    let machine = MadeUp::new(|_| FakeLifetime {
        launch_problem: Some("php-cli-server ended with signal 9 (SIGKILL)".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    });
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:50", &["--slo", SLO]));
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.report().contains("No size that was tried could serve"), "{}", said.stdout);
}

#[test]
fn a_failure_for_memory_is_told_as_one() {
    let ended = UnitExit { unit: UnitId::new("php"), how: "signal 9 (SIGKILL)".to_owned() };
    let machine = MadeUp::new(move |launch| FakeLifetime {
        oom_kills: vec![Duration::from_millis(50)],
        exit: Some((Duration::from_millis(150), ended.clone())),
        ..by_cpus(launch)
    });
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:50", &["--slo", SLO]));
    assert_eq!(said.code, 5, "{said:?}");
    assert!(
        said.report()
            .contains("could serve: the kernel killed 1 process because the control group reached its memory limit"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_size_for_memory_that_grows_without_end_would_be_a_lie() {
    let forever = Some((512 << 10, Duration::MAX));
    let machine = MadeUp::new(move |launch| FakeLifetime { memory_growth: forever, ..by_cpus(launch) });
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:50", &["--slo", SLO, "--json", "-"]));
    assert_eq!(said.code, 1, "{said:?}");
    let found = said.json();
    assert!(found["choice"].is_null(), "{found}");
    // Half a MiB a second at 400 requests a second, which is all that the largest size can do: 1.25 MiB per 1,000 requests.
    let memory = &found["memory"][0];
    let each = &memory["growth_bytes_per_1000_requests"];
    assert_eq!(memory["growth"], "endless", "{found}");
    let [low, high] = ["low", "high"].map(|end| each[end].as_f64().unwrap() / f64::from(1 << 20));
    assert!(1.24 < low && high < 1.27, "{each}");
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(
        conclusion.contains(" per 1,000 requests and did not level off: at 50 requests a second 256Mi"),
        "{conclusion}"
    );
    assert_eq!(said.words().matches("this shows whether it continues to grow").count(), 1, "{}", said.stderr);
    assert!(said.words().contains("its memory continues to grow, by 1.2"), "{}", said.stderr);
    // What a runtime has to replace workers by is named.
    let mut args = size(&app, "open:50", &["--slo", SLO]);
    args[3] = "nginx-fpm";
    let report = machine.run(&args).report();
    assert!(report.contains("after a number of requests (--set nginx-fpm.pm.max_requests=1000), and"), "{report}");
    let said = machine.run(&[&args[..], &["--set", "nginx-fpm.pm.max_requests=1000"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.report().contains("until workers are replaced. Sizes have room for that."), "{}", said.stdout);
}

#[test]
fn memory_that_fills_up_is_watched_and_no_reason_against_a_size() {
    // For longer than trials of 12 s, and for a third of the longer one.
    let for_a_while = Some((512 << 10, Duration::from_secs(18)));
    let machine = MadeUp::new(move |launch| FakeLifetime { memory_growth: for_a_while, ..by_cpus(launch) });
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO, "--json", "-"]));
    assert_eq!(said.code, 0, "{said:?}");
    let found = said.json();
    assert_eq!((&found["choice"]["size"]["cpus"], &found["memory"][0]["growth"]), (&0.5.into(), &"filled".into()));
    assert!(said.words().contains("its memory levels off, after "), "{}", said.stderr);
    assert_eq!(said.words().matches("this shows whether it continues to grow").count(), 1, "{}", said.stderr);
}

/// Each replica answers in proportion to its own CPU.
fn by_replicas(launch: &FakeLaunch<'_>) -> FakeLifetime {
    let shares =
        launch.terms.parts.iter().filter(|part| Topology::is_replica(&part.name)).filter_map(|part| part.share);
    let cores: f64 = shares.map(|share| share.cpus.cores()).sum();
    let cores = if cores > 0.0 { cores } else { launch.terms.total.cpus.cores() };
    let parts = launch.terms.parts.iter().filter_map(|part| Some((part.name.clone(), part.share?))).collect();
    FakeLifetime { cpus: 0.2, parts, ..FakeLifetime::serving(BODY, 400.0 * cores) }
}

#[test]
fn replicas_hold_the_load_when_one_is_gone() {
    let app = workload("fatal");
    let replicas = |spare: &[&str]| {
        let machine = MadeUp::new(by_replicas);
        let flags = ["--slo", SLO, "--replicas", "2,3", "--json", "-"];
        let said = machine.run(&size(&app, "open:90", &[&flags[..], spare].concat()));
        assert_eq!(said.code, 0, "{said:?}");
        said.json()
    };
    // 90 a second are less than a quarter of a CPU answers (100), and with a fifth more they are more: one that is left holds the load.
    let found = replicas(&[]);
    let of = |found: &serde_json::Value| {
        let size = &found["choice"]["size"];
        (size["replicas"].clone(), size["spare"].clone(), size["cpus"].clone())
    };
    assert_eq!(of(&found), (2.into(), 1.into(), 0.25.into()), "{found}");
    assert!(found["choice"]["with_replicas_gone"]["high"].as_f64().unwrap() < 1.0, "{found}");
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(conclusion.contains("php-cli-server, 2 replicas of 0.25 CPU, 128Mi"), "{conclusion}");
    assert!(conclusion.contains("at open:90 with replicas gone"), "{conclusion}");
    // Of three, two may be gone.
    assert_eq!(of(&replicas(&["--spare", "2"])), (3.into(), 2.into(), 0.25.into()));
    assert!(replicas(&["--spare", "0"])["choice"]["with_replicas_gone"].is_null());
}

#[test]
fn one_large_is_cheaper_than_two_of_which_one_may_be_gone() {
    let machine = MadeUp::new(by_replicas);
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO, "--replicas", "1,2", "--json", "-"]));
    assert_eq!(said.code, 0, "{said:?}");
    let size = &said.json()["choice"]["size"];
    assert_eq!((&size["replicas"], &size["cpus"]), (&1.into(), &0.5.into()), "{size}");
}

#[test]
fn a_load_beyond_the_generator_says_nothing_of_a_size() {
    let [lateness, response] = [20, 10].map(Duration::from_millis);
    let saturation = Some(Saturation::Late { percentile: 99, lateness, response });
    let machine = MadeUp::new(move |launch| FakeLifetime { saturation, ..by_cpus(launch) });
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO]));
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.report().contains("No size has a valid trial"), "{}", said.stdout);
}

#[test]
fn all_mistakes_of_a_command_line_are_told_at_once() {
    let machine = MadeUp::new(by_cpus);
    let app = workload("fatal");
    let prices = machine.path("prices.yaml");
    fs::write(&prices, "core_hour: 0.01\ngib_hour: 0.002\n").unwrap();
    let prices = prices.display().to_string();
    for (name, load, more, told) in [
        ("no objective", "open:100", &[][..], "has no SLO to meet"),
        ("no response time", "open:100", &["--slo", "errors<1%"], "has no limit on a response time"),
        ("a closed load", "closed:8", &["--slo", SLO], "with closed:N the rate depends on the size"),
        ("a ramp", "open:10..100/60s", &["--slo", SLO], "has more than one rate, and a size is chosen for one"),
        (
            "no currency",
            "open:100",
            &["--slo", SLO, "--prices", &prices],
            "has prices without a currency; add currency: EUR",
        ),
        (
            "an unknown tariff",
            "open:100",
            &["--slo", SLO, "--prices", "fargat"],
            "did you mean fargate or eks-fargate?",
        ),
        (
            "what is not sold",
            "open:100",
            &["--slo", SLO, "--prices", "lambda"],
            "--prices lambda is paid by the CPU time of requests, which is known of no size before it is tried",
        ),
        (
            "pools that nothing has",
            "open:100",
            &["--slo", SLO, "--set", "php-cli-server.PHP_CLI_SERVER_WORKERS=2"],
            "--pools 2,4 is searched of no runtime here",
        ),
        (
            "the window of the highest percentile",
            "open:100",
            &["--slo", "p50<100ms,p99.9<200ms"],
            "--duration 10s has 1000 requests, of which too few are beyond the percentile; use --duration 50s",
        ),
        (
            "too little time",
            "open:100",
            &["--slo", SLO, "--budget", "30s"],
            "has no room for two trials of each runtime",
        ),
        (
            "replicas that are no number",
            "open:100",
            &["--slo", SLO, "--replicas", "1,0"],
            "--replicas 0 is not a number of replicas from 1 to 64",
        ),
        (
            "none left",
            "open:100",
            &["--slo", SLO, "--replicas", "1,2", "--spare", "2"],
            "--spare 2 leaves no replica to hold the load; add --replicas 3 or more",
        ),
        ("few requests", "open:2", &["--slo", SLO], "of which too few are beyond the percentile"),
        (
            "of an autoscaler that there is none of",
            "open:100",
            &["--slo", SLO, "--concurrency", "1,4", "--targets", "70%"],
            "--concurrency 1,4 is of an autoscaled service, and this one runs all the time; add --autoscale",
        ),
    ] {
        let said = machine.run(&size(&app, load, more));
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{name}: {said:?}");
        assert!(said.words().contains(told), "{name}: {}", said.stderr);
    }
    assert_eq!(machine.launches(), 0);
}

/// A search for a service on Knative, whose instances take one request at a time.
fn service<'a>(app: &'a str, load: &'a str, slo: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["size", app, "--autoscale", "--policy", "knative", "--runtimes", "php-cli-server", "--load", load];
    let searched = ["--slo", slo, "--cpus", "1", "--memory", "256Mi", "--pools", "4", "--concurrency", "1"];
    let rest = ["--targets", "70%", "--min-instances", "0", "--seed", "1"];
    [&words[..], &searched, &rest, more].concat()
}

/// Takes 10 ms of CPU for a request.
fn slow(_: &FakeLaunch<'_>) -> FakeLifetime {
    FakeLifetime { cpus: 0.2, ..FakeLifetime::serving(BODY, 20.0) }
}

/// Requests to services go through a gateway, which is real: what is confirmed is tested on real servers.
#[test]
fn a_service_that_this_machine_cannot_hold_is_forecast() {
    let machine = MadeUp::new(slow);
    let app = workload("fatal");
    let flags = ["--json", "-"];
    let said = machine.run(&service(&app, "open:poisson:60", "p95<500ms", &flags));
    assert_eq!(said.code, 1, "{said:?}");
    let found = said.json();
    assert_eq!((&found["schema"], &found["choice"]), (&"stampede/service-size/v1".into(), &serde_json::Value::Null));
    // 72 a second of 10 ms are 0.72 CPU, and each instance is to be busy for 0.7 of its time: two and more.
    let first = &found["services"][0];
    assert!(first["max_instances"].as_u64().unwrap() >= 2, "{found}");
    assert!(first["forecast_of_limit"].as_f64().unwrap() < 1.0, "{found}");
    assert_eq!((&first["target"], &first["outcome"]), (&0.7.into(), &"too large to be measured here".into()));
    assert!(first["window_s"].as_f64().unwrap() > 0.0, "{found}");
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(
        conclusion.contains("too large to be measured on this machine: php-cli-server, 1 CPU, 256Mi, "),
        "{conclusion}"
    );
    // Three cases of two rounds are what the forecast is calibrated by, and their answers are looked at once.
    assert!(machine.launches() >= 6, "{}", machine.launches());
    let again = machine.run(&service(&app, "open:poisson:60", "p95<500ms", &["--json", "-", "--resume"]));
    assert_eq!((again.code, &again.json()["services"]), (1, &found["services"]), "{again:?}");
}

#[test]
fn where_no_service_is_forecast_to_hold_the_best_is_named() {
    let machine = MadeUp::new(slow);
    let app = workload("fatal");
    let said = machine.run(&service(&app, "open:poisson:20", "p95<1ms", &[]));
    assert_eq!(said.code, 1, "{said:?}");
    let report = said.report();
    assert!(
        report.contains("No service of this search is forecast to meet p95<1ms: the best, php-cli-server, 1 CPU"),
        "{report}"
    );
}

#[test]
fn what_cannot_be_served_cannot_be_forecast() {
    let machine = MadeUp::new(|_| FakeLifetime {
        launch_problem: Some("php-cli-server ended with signal 9 (SIGKILL)".to_owned()),
        ..FakeLifetime::serving(BODY, 100.0)
    });
    let app = workload("fatal");
    let said = machine.run(&service(&app, "open:poisson:20", "p95<100ms", &[]));
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.report().contains("No service could be forecast. php-cli-server was left out: "), "{}", said.stdout);
}

#[test]
fn mistakes_of_a_search_for_a_service_are_told_before_anything_is_measured() {
    let machine = MadeUp::new(slow);
    let app = workload("fatal");
    for (name, load, more, told) in [
        ("a closed load", "closed:8", &[][..], "has no rate of its own, which instances could follow"),
        ("replicas", "open:100", &["--replicas", "2"], "--replicas 2 does not go with --autoscale"),
        ("prices of machines", "open:100", &["--prices", "fargate"], "is paid for what runs all the time"),
        ("an unknown price", "open:100", &["--prices", "cloud-run"], "--prices cloud-run is not known"),
        ("too little time", "open:100", &["--budget", "90s"], "has no room to calibrate each runtime"),
        ("no instance", "open:100", &["--max-instances", "0"], "--max-instances 0 is not a whole number above 0"),
    ] {
        let said = machine.run(&service(&app, load, "p95<500ms", more));
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{name}: {said:?}");
        assert!(said.words().contains(told), "{name}: {}", said.stderr);
    }
    let of_cloud_run =
        ["size", app.as_str(), "--autoscale", "--load", "open:100", "--slo", "p95<1s", "--targets", "70%"];
    let said = machine.run(&of_cloud_run);
    assert!(said.code == 2 && said.words().contains("cloud-run has targets of its own"), "{said:?}");
    assert_eq!(machine.launches(), 0);
}

#[test]
fn what_would_be_searched_is_printed_and_nothing_is_measured() {
    let machine = MadeUp::new(by_cpus);
    let app = workload("fatal");
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO, "--dry-run"]));
    assert_eq!((said.code, machine.launches()), (0, 0), "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    // Nine hundredths of a core-hour's price and so on are tariff_table.rs's own tests.
    assert!(lines[0].ends_with("of 12 sizes are tried, by core-hours"), "{lines:?}");
    assert!(lines[1].starts_with("php-cli-server: 12 sizes, 7.") && lines[1].ends_with(" USD a month"), "{lines:?}");
    assert_eq!(lines[2], "0.25 to 1 CPU, 128Mi to 256Mi, 2 to 4 workers");
    assert!(
        said.report().contains("load open:120 and 20 % more; each trial has 2s of warm-up and is measured for 10s")
    );
    assert!(lines.iter().all(|line| line.len() <= 80), "{lines:?}");
    // Of what one machine costs the whole machine is searched.
    let prices = machine.path("machines.yaml");
    fs::write(
        &prices,
        "currency: EUR\nmachines:\n  - {name: small, cpus: 1, memory: 128Mi, month: 3.50}\n  \
         - {name: large, cpus: 4, memory: 4Gi, month: 7}\n",
    )
    .unwrap();
    let prices = prices.display().to_string();
    let said = machine.run(&size(&app, "open:120", &["--slo", SLO, "--dry-run", "--prices", &prices]));
    assert!(said.stdout.contains("php-cli-server: 4 sizes, 3.50 to 7.00 EUR a month"), "{said:?}");
    let said = machine.run(&service(&app, "open:poisson:20", "p95<500ms", &["--dry-run"]));
    assert_eq!((said.code, machine.launches()), (0, 0), "{said:?}");
    assert!(
        said.report().contains("1 CPU, 256Mi, 4 workers, 1 requests at once, at least 0 and at most 100 instances"),
        "{said:?}"
    );
    // Knative remembers for a minute. Where no window is asked for, it is as long as 20 requests beyond the percentile take, or longer.
    let asked = ["size", &app, "--autoscale", "--policy", "knative", "--load", "open:poisson:20", "--slo", "p95<500ms"];
    let said = machine.run(&[&asked[..], &["--dry-run"]].concat());
    assert!(said.report().contains("each trial has 1m of warm-up and is measured for 20s to 3m20s"), "{said:?}");
    assert!(said.stdout.ends_with("rounds confirm a size, 2h in all\n"), "{said:?}");
    assert!(said.stdout.lines().all(|line| line.len() <= 80), "{said:?}");
}
