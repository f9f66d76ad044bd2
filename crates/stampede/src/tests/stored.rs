//! What commands do with studies that are stored, and with nothing but a command line.

use std::fs;

use stampede_testkit::{Behaviour, CountingServer, FakeLifetime};

use super::made_up::{BODY, MadeUp, workload};

/// A machine whose store has a study of these runtimes under this load.
fn measured(runtimes: &str, load: &str) -> MadeUp {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = workload("fatal");
    let what = ["compare", &app, "--runtimes", runtimes, "--load", load, "--cpus", "0.5", "--memory", "64Mi"];
    let said = machine.run(&[&what[..], &["--duration", "2s", "--warm-up", "0", "--rounds", "3"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    machine
}

#[test]
fn a_study_is_listed_and_given_to_another_store() {
    let machine = measured("php-cli-server", "closed:4");
    let listed = machine.run(&["list", "studies"]);
    assert!(listed.report().contains("3/3 compare fatal: php-cli-server"), "{}", listed.stdout);
    let file = machine.path("study.stampede").display().to_string();
    let written = machine.run(&["export-study", "latest", &file]);
    assert_eq!(written.code, 0, "{written:?}");

    let other = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let read = other.run(&["import-study", &file]);
    assert_eq!(read.code, 0, "{read:?}");
    let listed = other.run(&["list", "studies"]);
    assert!(listed.report().contains("php-cli-server (imported)"), "{}", listed.stdout);
    let [here, there] = [&machine, &other].map(|store| store.run(&["show", "latest", "--json", "-"]).json());
    assert_eq!(here["cases"], there["cases"]);

    // What was cut short changes nothing.
    let cut = fs::read(&file).unwrap();
    fs::write(&file, &cut[..cut.len() / 2]).unwrap();
    let third = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    assert_eq!(third.run(&["import-study", &file]).code, 2);
    assert_ne!(third.run(&["show", "latest"]).code, 0);
}

#[test]
fn a_forecast_is_made_from_what_was_measured_and_says_what_is_missing() {
    let machine = measured("php-cli-server", "closed:1");
    let what = ["forecast", "latest", "--load", "open:poisson:20/30s", "--memory", "256Mi"];
    let said = machine.run(&[&what[..], &["--concurrency", "1", "--json", "-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let points = said.json()["points"].as_array().unwrap().len();
    assert_eq!(points, 1, "{}", said.stdout);
    let other = machine.run(&["forecast", "latest", "--case", "nginx-fpm", "--load", "open:20/30s"]);
    assert_eq!(other.code, 2, "{other:?}");
    let busy = measured("php-cli-server", "closed:8").run(&["forecast", "--load", "open:20/30s"]);
    assert_ne!(busy.code, 0, "{busy:?}");
}

#[test]
fn what_cannot_be_exported_is_refused_before_anything_is_written() {
    let machine = measured("php-cli-server", "closed:4");
    let app = workload("fatal");
    let folder = machine.path("out");
    let out = folder.display().to_string();
    for (line, code, part) in [
        (vec!["export", "config"], 2, "name a runtime and an application"),
        (vec!["export", "config", "--study", "1999"], 2, "1999"),
        (vec!["export", "config", "--study", "latest", "--case", "other"], 2, "other"),
        (vec!["export", "config", "php-cli-server", &app, "--listen", "0.0.0.0:80"], 2, "ports below 1024"),
        (vec!["export", "config", "php-cli-server,nginx-fpm", &app], 2, "only one case can be exported"),
    ] {
        let said = machine.run(&[&line[..], &["--output", &out]].concat());
        assert_eq!(said.code, code, "{line:?} {said:?}");
        assert!(said.words().contains(part), "{line:?}\n{}", said.stderr);
        assert!(!folder.exists(), "{line:?}");
    }
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mine"), "").unwrap();
    let said = machine.run(&["export", "config", "php-cli-server", &app, "--output", &out]);
    assert!(said.code == 2 && said.words().contains("or give --force"), "{said:?}");
}

#[test]
fn stacks_are_shown_of_a_case_that_has_some() {
    let machine = measured("php-cli-server", "closed:4");
    for (line, code, part) in [
        (&["inside", "php-cli-server"][..], 3, "measure it with stampede compare --inside"),
        (&["inside", "nginx-fpm"], 2, "has no case nginx-fpm it has php-cli-server"),
        (&["inside", "a", "b"], 2, "one case of a study"),
    ] {
        let said = machine.run(line);
        assert_eq!(said.code, code, "{line:?} {said:?}");
        assert!(said.words().contains(part), "{line:?}\n{}", said.stderr);
    }
}

#[test]
fn a_load_ends_as_its_answers_were() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let url = format!("http://{}/", server.endpoint());
    let json = machine.path("load.json").display().to_string();
    let said = machine.run(&["load", &url, "-n", "50", "--load", "closed:2", "--quiet", "--json", &json]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(fs::read_to_string(json).unwrap().contains("\"closed:2\""));
    assert_eq!(server.requests(), 50);
    let said = machine.run(&["load", &url, "-n", "10", "--check-status", "404", "--quiet"]);
    assert_eq!(said.code, 5, "{said:?}");
    for (line, part) in [
        (vec!["load", &url, "--server-name", "a"], "--server-name belongs to TLS"),
        (vec!["load", &url, "--json", "-", "--hdr", "-"], "only one of"),
        (vec!["load", &url, "--resolve", "a:b"], "is not HOST:PORT:ADDRESS"),
        (vec!["load", &url, "--generator-cpus", "1"], "--generators kubernetes:2"),
        (vec!["clean", "--namespace", "a"], "--platform kubernetes"),
    ] {
        let said = machine.run(&line);
        assert_eq!(said.code, 2, "{line:?} {said:?}");
        assert!(said.words().contains(part), "{line:?}\n{}", said.stderr);
    }
}
