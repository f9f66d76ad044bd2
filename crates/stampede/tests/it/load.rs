//! `stampede load` against servers that count.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::Value;
use stampede_testkit::{Behaviour, CountingServer};

use crate::stage::{Said, Stage, have, send, wait_until};

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
fn an_access_log_is_sent_by_its_frequency_and_played_in_its_own_times() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let line = |minute: u32, path: &str, times: usize| {
        format!("192.0.2.1 - - [10/Oct/2000:13:{minute}:36 +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"Firefox\"\n")
            .repeat(times)
    };
    fs::write(&log, [line(10, "/a?b=%20c", 60), line(11, "/", 120), line(11, "/a.css", 500)].concat()).unwrap();
    let log = log.display().to_string();
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let said = load(&server, &["--access-log", &log, "-n", "90", "-c", "1"]);
    assert!(said.stdout.contains("90 sent, 90 ok, 0 failed, 0 unfinished"), "{said:?}");
    assert!(said.stderr.contains("2 different requests are taken, 100 % of 180 pages"), "{said:?}");
    let received = server.stop();
    assert_eq!(received.requests(), 90, "{said:?}");
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let said = load(&server, &["--access-log", &log, "--replay", "x60", "--json", "-"]);
    let told = json(&said);
    assert_eq!(told["load"], "open:60/1s,120/1s", "{said:?}");
    assert_eq!((&told["requests"]["sent"], &told["requests"]["ok"]), (&180.into(), &180.into()), "{said:?}");
    assert_eq!(server.stop().requests(), 180);
    let server = CountingServer::start(Behaviour::default()).unwrap();
    for (flags, problem) in [
        (&["--replay", "x2"][..], "--access-log"),
        (&["--access-log", &log, "--replay", "x2", "--load", "open:5"], "cannot be used with"),
        (&["--access-log", &log, "--replay", "2"], "--replay 2 is no speed"),
        (&["--access-log", "no.log"], "no.log cannot be read"),
    ] {
        let said = load(&server, flags);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(problem), "{problem}: {said:?}");
    }
    assert_eq!(server.stop().requests(), 0);
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

#[test]
fn every_request_is_a_line_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = CountingServer::start(Behaviour::default()).unwrap();
    for (name, lines) in [("a.csv", 301), ("a.tsv", 301), ("a.ndjson", 300)] {
        let file = folder.path().join(name);
        let said = load(&server, &["-n", "300", "-c", "3", "--samples", file.to_str().unwrap(), "--json", "-"]);
        let told = json(&said);
        assert_eq!(told["samples"], serde_json::json!({"written": 300, "lost": 0}), "{said:?}");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), lines, "{text}");
        if name == "a.csv" {
            let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
            let number = |row: &[&str], column: usize| row[column].parse::<f64>().unwrap();
            // No total is smaller than its parts, and the slowest is the slowest of the report.
            let totals: Vec<f64> = rows.iter().map(|row| number(row, 6)).collect();
            assert!(rows.iter().all(|row| number(row, 6) >= number(row, 5) && row[7] == "200"), "{text}");
            let (slowest, reported) = (totals.iter().copied().fold(0.0, f64::max), told["response_us"]["max"].as_f64());
            assert!((slowest / reported.unwrap() - 1.0).abs() < 0.002, "{slowest} {reported:?}");
            assert_eq!(rows.iter().filter(|row| number(row, 3) > 0.0).count(), 3, "{text}");
            let bytes: f64 = rows.iter().map(|row| number(row, 8)).sum();
            assert_eq!(Some(bytes), told["answers"]["body_bytes"].as_f64(), "{said:?}");
        }
    }
    assert_eq!(server.stop().requests(), 900);
}

#[test]
fn requests_that_fit_no_disk_are_counted_and_the_figures_stand() {
    const NAME: &str = "requests_that_fit_no_disk_are_counted_and_the_figures_stand";
    if !Command::new("unshare").args(["--mount", "true"]).output().unwrap().status.success() {
        let _ = writeln!(std::io::stderr(), "SKIP {NAME}: the full disk needs a mount namespace");
        return;
    }
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let small = stage.home().join("small");
    fs::create_dir(&small).unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"";
    let url = format!("http://{}/", server.endpoint());
    let inner = stage.command(&["load", &url, "-n", "4000", "-c", "4", "--quiet", "--samples"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(&small).arg(inner.get_program()).args(inner.get_args());
    command.arg(small.join("requests.csv"));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = stage.output(&mut command);
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!(said.status.code(), Some(3), "{stdout}{stderr}");
    assert!(stdout.contains("4000 sent, 4000 ok"), "{stdout}{stderr}");
    assert!(stderr.contains("No space left on device") && stderr.contains("of them are not there"), "{stderr}");
    assert_eq!(server.stop().requests(), 4000);
}

#[test]
fn a_file_for_requests_that_cannot_be_is_a_usage_error() {
    let url = "http://127.0.0.1:1/";
    for (flags, words) in [
        (&["--samples", "a.json"][..], "--samples a.json is no .csv, .tsv or .ndjson file"),
        (&["--samples", "-"], "--samples - is no .csv, .tsv or .ndjson file"),
        (&["--samples", "/nonexistent/a.csv"], "--samples /nonexistent/a.csv cannot be written"),
        (&["--samples", "a.csv", "--generators", "local:2"], "cannot be used with"),
        (&["--cert", "/nonexistent/a.pem"], "--cert /nonexistent/a.pem cannot be read"),
        (&["--server-name", "a"], "--server-name belongs to TLS"),
        (&["--resolve", "a:b"], "--resolve a:b is not HOST:PORT:ADDRESS"),
        (&["--resolve", "127.0.0.1:1:host"], "--resolve 127.0.0.1:1:host ends with no address"),
        (&["--resolve", "a.test:1:127.0.0.1"], "--resolve names other places than the URL's"),
        (&["--source", "here"], "--source"),
        (&["-c", "99999999"], "are more connections than one process may open"),
    ] {
        let said = Stage::new().run(&[&["load", url, "-n", "1"], flags].concat());
        assert!(said.code == Some(2) && said.stderr.contains(words), "{flags:?} {said:?}");
    }
}

#[test]
fn resolved_names_and_sources_are_used() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let port = server.endpoint().to_string().rsplit(':').next().unwrap().to_owned();
    let url = format!("http://nowhere.invalid:{port}/");
    let resolve = format!("nowhere.invalid:{port}:127.0.0.1");
    let said =
        Stage::new().run(&["load", &url, "-n", "3", "--resolve", &resolve, "--source", "127.0.0.9", "--json", "-"]);
    assert_eq!(json(&said)["requests"]["ok"], 3, "{said:?}");
    let first = String::from_utf8(server.stop().first).unwrap();
    assert!(first.contains(&format!("Host: nowhere.invalid:{port}\r\n")), "{first}");
}

/// It closes on what is no record, as PHP-FPM does, and answers a question for its limits.
fn answer_fastcgi(stream: &mut (impl std::io::Read + std::io::Write)) {
    let mut asked = [0; 8];
    if stream.read_exact(&mut asked).is_ok() && asked[..2] == [1, 9] {
        let _ = stream.write_all(b"\x01\x0a\0\0\0\0\0\0");
    }
}

#[test]
fn a_server_that_speaks_fastcgi_is_named() {
    let stage = Stage::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = stage.home().join("php-fpm.sock");
    let on_unix = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|mut stream| answer_fastcgi(&mut stream)));
    std::thread::spawn(move || on_unix.incoming().flatten().for_each(|mut stream| answer_fastcgi(&mut stream)));
    let socket = socket.display().to_string();
    for place in [&["load", &format!("http://{address}/")][..], &["load", "http://localhost/", "--unix", &socket]] {
        let said = stage.run(&[place, &["-n", "3", "-c", "1"]].concat());
        assert!(said.code == Some(5) && said.stderr.contains("speaks FastCGI, not HTTP"), "{said:?}");
    }
}

/// PHP-FPM itself, on its unix socket.
#[test]
fn the_socket_of_php_fpm_is_named() {
    if !have("the_socket_of_php_fpm_is_named", &["php-fpm"]) {
        return;
    }
    // Debian's has its version in its name.
    let folders =
        ["/usr/local/sbin", "/usr/sbin", "/usr/bin"].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let mut programs = folders.flatten().flatten().map(|entry| entry.path());
    let php_fpm = programs.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("php-fpm")).unwrap();
    let stage = Stage::new();
    let socket = stage.home().join("fpm.sock").display().to_string();
    let config = stage.home().join("fpm.conf");
    let text = format!(
        "[global]\nerror_log = /dev/null\ndaemonize = no\n[www]\nuser = nobody\ngroup = nogroup\nlisten = {socket}\n\
         pm = static\npm.max_children = 1\n"
    );
    fs::write(&config, text).unwrap();
    let mut fpm = stage.spawn(Command::new(php_fpm).arg("--allow-to-run-as-root").arg("-y").arg(&config));
    wait_until("php-fpm listens", || {
        std::os::unix::net::UnixStream::connect(&socket).map(drop).map_err(|error| error.to_string())
    });
    let said = stage.run(&["load", "http://localhost/", "--unix", &socket, "-n", "3", "-c", "1"]);
    // Its master takes its workers with it.
    send(fpm.id(), Signal::TERM);
    let _ = fpm.wait();
    assert!(said.code == Some(5) && said.stderr.contains("speaks FastCGI, not HTTP"), "{said:?}");
}
