//! `stampede load` against servers that count.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;
use stampede_testkit::{Behaviour, CountingServer};

use crate::stage::{Said, Stage};

fn load(server: &CountingServer, flags: &[&str]) -> Said {
    let url = format!("http://{}/", server.endpoint());
    Stage::new().run(&[&["load", &url], flags].concat())
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn an_open_load_is_told_as_json() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let said = load(&server, &["--load", "open:200", "-d", "500ms", "--json", "-"]);
    let told = json(&said);
    assert_eq!(told["schema"], "stampede/load/v1", "{said:?}");
    assert_eq!((&told["requests"]["sent"], &told["requests"]["ok"]), (&100.into(), &100.into()), "{said:?}");
    assert_eq!(told["offered_rps"], 200.0, "{said:?}");
    assert_eq!(told["status"]["200"], 100, "{said:?}");
    // A busy machine may hold up the generator; it then says so.
    let saturated = told["generator"]["saturated"] == true;
    assert_eq!(said.code, Some(if saturated { 4 } else { 0 }), "{said:?}");
    let mut names: Vec<_> = told.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_snapshot!("load_json_names", names.join("\n"));
    for name in ["service_us", "response_us", "lateness_us", "connect_us", "first_byte_us"] {
        for figure in ["min", "mean", "stddev", "p50", "p75", "p90", "p95", "p99", "p999", "max"] {
            assert!(told[name][figure].is_number(), "{name} {figure} {said:?}");
        }
    }
    assert_eq!(server.stop().requests(), 100);
}

#[test]
fn a_load_by_count_sends_what_was_asked_and_prints_a_table() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let flags = ["-n", "37", "-c", "3", "-m", "PUT", "-H", "X-A: b", "-b", "hello", "--no-keepalive"];
    let said = load(&server, &[&flags[..], &["--check-body-contains", "World"]].concat());
    assert!(said.stdout.contains("37 sent, 37 ok, 0 failed, 0 unfinished"), "{said:?}");
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 90), "{said:?}");
    let received = server.stop();
    assert_eq!((received.requests(), received.connections), (37, 37), "{said:?}");
}

#[test]
fn a_scenario_by_count_begins_so_many_flows_of_each_crowd() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.yaml");
    let scenario = "
        crowds:
          - load: closed:3
            flows:
              - name: visit
                steps: [{name: a, path: /a}, {name: b, path: /b}]
          - load: open:200@2
            requests: [{name: c, path: /c}]
    ";
    std::fs::write(&file, scenario).unwrap();
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let said = load(&server, &["--scenario", file.to_str().unwrap(), "-n", "7", "--json", "-"]);
    let told = json(&said);
    let begun: Vec<_> = told["flows"].as_array().unwrap().iter().map(|flow| &flow["completed"]).collect();
    assert_eq!((begun, server.stop().requests()), (vec![&Value::from(7), &7.into()], 2 * 7 + 7), "{said:?}");
}

#[test]
fn a_backend_is_taken_by_its_name() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    for backend in ["epoll", "io-uring"] {
        let said = load(&server, &["-n", "7", "--backend", backend, "--json", "-"]);
        if said.code == Some(3) && said.stderr.contains("set up io-uring") {
            let _ = writeln!(std::io::stderr(), "SKIP a_backend_is_taken_by_its_name: needs io_uring: {}", said.stderr);
            continue;
        }
        let told = json(&said);
        assert_eq!((&told["generator"]["backend"], &told["requests"]["ok"]), (&backend.into(), &7.into()), "{said:?}");
    }
    let said = load(&server, &["-n", "7", "--backend", "kqueue"]);
    assert!(said.code == Some(2) && said.stderr.contains("epoll, io-uring"), "{said:?}");
}

#[test]
fn a_full_disk_leaves_the_files_of_a_load_as_they_were() {
    const NAME: &str = "a_full_disk_leaves_the_files_of_a_load_as_they_were";
    if !Command::new("unshare").args(["--mount", "true"]).output().unwrap().status.success() {
        let _ = writeln!(std::io::stderr(), "SKIP {NAME}: the full disk needs a mount namespace");
        return;
    }
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let full = stage.home().join("full");
    fs::create_dir(&full).unwrap();
    // A file system of its own that holds the old file and not the new one beside it.
    let script = "mount -t tmpfs -o size=4k none \"$0\" && echo old > \"$0/load.json\" && \
                  { \"$@\"; code=$?; cat \"$0/load.json\"; ls -A \"$0\"; exit $code; }";
    let url = format!("http://{}/", server.endpoint());
    let inner = stage.command(&["load", &url, "-n", "5", "-c", "1", "--quiet", "--json"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&full).arg(inner.get_program()).args(inner.get_args());
    command.arg(full.join("load.json"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = stage.output(&mut command);
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!((said.status.code(), stdout.as_ref()), (Some(3), "old\nload.json\n"), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("No space left on device"), "{stderr}");
}

#[test]
fn mistakes_are_told_at_once_and_public_addresses_refused() {
    let said = |args: &[&str]| {
        let said = Stage::new().run(args);
        format!("exit code: {}\n{}{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
    };
    assert_snapshot!(
        "load_mistakes",
        said(&[
            "load",
            "https://localhost/",
            "-c",
            "none",
            "-d",
            "0",
            "-n",
            "-5",
            "--load",
            "open:5..6",
            "-H",
            "x",
            "-b",
            "@/nonexistent/body",
            "--timeout",
            "soon",
            "--check-status",
            "2xx",
        ])
    );
    assert_snapshot!("load_remote", said(&["load", "http://192.0.2.1/", "-n", "1"]));
    assert_snapshot!("load_help", said(&["load", "--help"]));
}

#[test]
fn a_scenario_is_played_and_told_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("scenario.yaml");
    let yaml = "
feeders:
  payloads: {file: none.csv, order: once}
crowds:
  - load: closed:2
    think: 1ms
    flows:
      - name: visit
        steps:
          - {name: post, path: /, body: '${payloads.body}', capture: {etag: {header: ETag}}}
          - {name: get, path: /}
";
    std::fs::write(&scenario, yaml).unwrap();
    let table = folder.path().join("table.tsv");
    std::fs::write(&table, "body\na\nb\nc\nd\ne\n").unwrap();
    let feeder = format!("payloads={}", table.display());
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let flags = ["--scenario", scenario.to_str().unwrap(), "--feeder", &feeder, "-d", "20s"];
    let said = load(&server, &[&flags[..], &["--json", "-"]].concat());
    let told = json(&said);
    let steps: Vec<_> = told["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
    assert_eq!(steps, ["visit/post", "visit/get"], "{said:?}");
    for step in [0, 1] {
        assert_eq!(told["steps"][step]["requests"]["ok"], 5, "{said:?}");
    }
    assert_eq!((&told["flows"][0]["begun"], &told["flows"][0]["completed"]), (&5.into(), &5.into()), "{said:?}");
    assert_eq!(told["load"], "closed:2");
    assert!(said.stderr.contains("the capture visit/post: etag never found a value"), "{said:?}");
    assert!(said.stderr.contains("the feeder payloads ran out of rows"), "{said:?}");
    assert_eq!(server.requests(), 10, "{said:?}");

    let said = load(&server, &flags);
    assert!(said.stdout.contains("flow visit: 5 begun, 5 completed, 0 abandoned"), "{said:?}");
    assert!(said.stdout.lines().skip(1).all(|line| line.chars().count() <= 80), "{said:?}");
    assert!(said.stdout.contains("  visit/get "), "{said:?}");

    std::fs::write(&table, "body\na\nb\tc\n").unwrap();
    let said = load(&server, &flags);
    assert!(said.stderr.contains("table.tsv is not a table: line 3 "), "{said:?}");
    assert_eq!((said.code, server.stop().requests()), (Some(2), 20), "{said:?}");
}

#[test]
fn answers_are_checked_by_header_hash_and_json() {
    let body = br#"{"data": [{"id": 7, "name": "a"}]}"#.to_vec();
    let server = CountingServer::start(Behaviour { body, ..Behaviour::default() }).unwrap();
    // As sha256sum has it.
    let hash = "d696f47fe04c7e425a90fdf251464ce22ea2c75b0c06e578d08b5a5d5e437857";
    for (flags, code, error) in [
        (["--check-json", "/data/0/id=7.0"], 0, ""),
        (["--check-json", "/data/0/name=a"], 0, ""),
        (["--check-json", "/data/0/name=b"], 5, "wrong_body"),
        (["--check-body-sha256", hash], 0, ""),
        (["--check-body-sha256", &"0".repeat(64)], 5, "wrong_body"),
        (["--check-header", "Content-Length: 34"], 0, ""),
        (["--check-header", "ETag: x"], 5, "wrong_header"),
    ] {
        let said = load(&server, &[&flags[..], &["-n", "4", "-c", "1", "--json", "-"]].concat());
        assert_eq!(said.code, Some(code), "{flags:?} {said:?}");
        if !error.is_empty() {
            assert_eq!(json(&said)["errors"][error], 4, "{said:?}");
        }
    }
}

#[test]
fn what_cannot_go_with_a_scenario_is_told() {
    let said = |args: &[&str]| {
        let said = Stage::new().run(args);
        format!("exit code: {}\n{}{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
    };
    let url = "http://127.0.0.1:1/";
    assert_snapshot!("load_scenario_and_body", said(&["load", url, "--scenario", "s.yaml", "-b", "x"]));
    assert_snapshot!("load_feeder_alone", said(&["load", url, "--feeder", "people=people.csv"]));
    assert_snapshot!(
        "load_scenario_mistakes",
        said(&["load", &format!("{url}path"), "--scenario", "/nonexistent/s.yaml", "--feeder", "people", "-d", "0"])
    );
}
