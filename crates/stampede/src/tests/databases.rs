//! Workloads with databases: what is told of tables that are too short, and of a database that is too old or was filled with
//! something else.

use std::fs;
use std::path::Path;

use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, always, scenario};

#[test]
fn feeders_with_something_wrong_are_told_by_their_lines() {
    let machine = MadeUp::serving(|_| 100.0);
    let [people, words] = ["people.tsv", "words.tsv"].map(|name| machine.path(name));
    let given = [format!("payloads={}", people.display()), format!("terms={}", words.display())];
    let flags = ["--runtimes", "php-cli-server", "--feeder", &given[0], "--feeder", &given[1]];
    let compare = [&["compare", "rinha"][..], &flags].concat();
    fs::write(&words, "t\na\n").unwrap();
    for (bytes, told) in [
        (&b"payload\na\tb\n"[..], "line 2 has 2 values for 1 columns"),
        (b"payload\n\xff\n", "line 2 is not UTF-8"),
        (b"payload\n", "line 1 is followed by no row of values"),
        (b"body\n{}\n", "payloads.payload"),
    ] {
        fs::write(&people, bytes).unwrap();
        let said = machine.run(&compare);
        assert_eq!((said.code, machine.launches()), (2, 0), "{}", said.stderr);
        assert!(said.words().contains(told), "{told}: {}", said.stderr);
    }
}

/// What serves with a database that has the settings that it was given.
fn filled() -> FakeLifetime {
    let settings = "max_connections\t100\t\nshared_buffers\t131072\tkB\n".to_owned();
    FakeLifetime { said: Ok(settings), ..FakeLifetime::serving(BODY, 100.0) }
}

/// A workload whose database has two things, which the application counts.
fn things(machine: &MadeUp, more: &str) -> String {
    let app = machine.application("things");
    let text = format!(
        "title: things\nservices: {{postgres: {{init: schema.sql, extensions: [pdo_pgsql]{more}}}}}\n\
         apps: [{{kind: front-controller, dir: ., index: index.php}}]\n\
         requests: [{{name: count, path: /count, expect: {{status: 200, body: '2'}}}}]\n\
         scenario: scenario.yaml\n"
    );
    let scenario = scenario("closed:4", "/${names.name}");
    let scenario = format!("feeders: {{names: {{file: names.tsv, order: once}}}}\n{scenario}");
    for (file, text) in [
        ("workload.yaml", &*text),
        ("schema.sql", "CREATE TABLE things (name text);\n"),
        ("scenario.yaml", &*scenario),
        ("names.tsv", "name\na\n"),
    ] {
        fs::write(Path::new(&app).join(file), text).unwrap();
    }
    app
}

#[test]
fn a_table_that_runs_out_makes_the_trial_invalid() {
    let machine = MadeUp::new(|_| FakeLifetime {
        exhausted_feeders: vec!["names".to_owned()],
        answer: always(200, "2"),
        ..filled()
    });
    let app = things(&machine, "");
    let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--rounds", "1", "--no-yard-stick"]);
    assert_eq!(said.code, 4, "{said:?}");
    let told = "the feeder names had no row left for users who wanted one";
    assert!(said.report().contains(told), "{}", said.stdout);
}

#[test]
fn what_is_wrong_with_a_database_is_told() {
    for (name, more, body, code, told) in [
        ("too old", ", at_least: '99.1'", "2", 3, &["needs postgres 99.1 or newer (this is 1.26.0"][..]),
        ("other rows", "", "1", 5, &["wrong answer to `count`: the body differs", "- 2", "+ 1"]),
    ] {
        let machine = MadeUp::new(move |_| FakeLifetime { answer: always(200, body), ..filled() });
        let app = things(&machine, more);
        let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--rounds", "1", "--no-yard-stick"]);
        assert_eq!(said.code, code, "{name}: {said:?}");
        let all = format!("{} {}", said.words(), said.report());
        told.iter().for_each(|told| assert!(all.contains(told), "{name}: {told}: {all}"));
    }
}
