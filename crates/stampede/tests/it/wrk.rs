//! `stampede wrk -s` beside wrk itself: the same scripts, request by request.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::setpriority_process;

use crate::recorder::{Answer, Recorder};
use crate::stage::{Said, Stage, at_once};

/// Where Debian's package has the scripts that ship with wrk.
const SHIPPED: &str = "/usr/share/doc/wrk/examples/scripts";

/// What is put behind a script: each thread stops after so many answers, whatever the machine does.
const UNTIL: &str = include_str!("lua/until.lua");

/// Says hello with a session, but for what is missing.
fn answer(target: &str, _: u16) -> Answer {
    let status = if target.contains("/missing") { "404 None" } else { "200 OK" };
    let head = "X-Token: abc\r\nSet-Cookie: id=7; Path=/\r\nContent-Length: 5";
    Answer { bytes: format!("HTTP/1.1 {status}\r\n{head}\r\n\r\nHello").into_bytes(), closes: false }
}

/// Runs wrk, or on a stage Stampede as wrk, with a script.
fn drive(by: Option<&Stage>, script: &Path, options: &[&str], args: &[&str]) -> (Said, Vec<String>) {
    let server = Recorder::start(answer);
    let url = format!("http://127.0.0.1:{}/start?a=b", server.port);
    let script = script.to_str().unwrap();
    let line = [options, &["-s", script, &url, "--"], args].concat();
    let said = match by {
        None => Said::of(Command::new("wrk").args(line).stdin(Stdio::null()).output().unwrap()),
        Some(stage) => stage.run(&[&["wrk"], line.as_slice()].concat()),
    };
    (said, server.stop())
}

fn have_wrk(test: &str) -> bool {
    let found = Command::new("wrk").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        let _ = writeln!(io::stderr(), "SKIP {test}: needs wrk");
    }
    found
}

/// What a script has printed, without wrk's own lines and the figures.
fn printed(said: &Said) -> Vec<String> {
    let is_scripts =
        |line: &&str| ["thread ", "statuses: ", "json: ", "----"].iter().any(|begin| line.starts_with(begin));
    said.stdout.lines().filter(is_scripts).map(str::to_owned).collect()
}

/// A script with what has its threads stop.
fn bounded(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("{text}\n{UNTIL}")).unwrap();
    file
}

/// Both send the same requests, so many of each thread, and the script sees the same.
fn compare(stage: &Stage, name: &str, script: &Path, threads: usize, args: &[&str]) {
    let count = threads.to_string();
    // The one that ships with wrk waits for 30 ms before each request.
    let duration = if name == "delay" { "4s" } else { "2s" };
    let options = |duration| ["-t", &*count, "-c", &*count, "-d", duration, "-H", "X-Given: yes"];
    let (of_wrk, mut expected) = drive(None, script, &options(duration), args);
    let (mut said, mut sent) = drive(Some(stage), script, &options(duration), args);
    if sent.len() < expected.len() {
        // The machine is busy: all requests are sent where there is time.
        (said, sent) = drive(Some(stage), script, &options("10s"), args);
    }
    assert_eq!((said.code, of_wrk.code), (Some(0), Some(0)), "{name}: {said:?}");
    if threads > 1 {
        expected.sort_unstable();
        sent.sort_unstable();
    }
    assert_eq!(sent.len(), expected.len(), "{name}: {said:?} {of_wrk:?}");
    assert_eq!(sent, expected, "{name}");
    let ported = |lines: Vec<String>| -> Vec<String> {
        let mut lines: Vec<_> = lines.into_iter().map(|line| line.split("addr: ").next().unwrap().to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(ported(printed(&said)), ported(printed(&of_wrk)), "{name}");
    let complete = format!("  {} requests in ", sent.len());
    for said in [&said, &of_wrk] {
        assert!(said.stdout.contains(&complete), "{name}: {said:?}");
    }
}

#[test]
fn scripts_of_every_kind_send_what_they_send_with_wrk() {
    if !have_wrk("scripts_of_every_kind_send_what_they_send_with_wrk") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = folder.path().join("paths");
    fs::write(&paths, "/a\n/b?c=d\n/e\n").unwrap();
    let paths = paths.to_str().unwrap();
    let scripts = [
        ("json_post", include_str!("lua/json_post.lua"), 1, &[][..]),
        ("weights", include_str!("lua/weights.lua"), 1, &[]),
        ("session", include_str!("lua/session.lua"), 1, &[]),
        ("file", include_str!("lua/file.lua"), 1, &[paths]),
        ("pipeline", include_str!("lua/pipeline.lua"), 1, &["16"]),
        ("paths_of_threads", include_str!("lua/paths_of_threads.lua"), 2, &[]),
        ("delays", include_str!("lua/delays.lua"), 1, &[]),
        ("statuses", include_str!("lua/statuses.lua"), 2, &[]),
        ("report", include_str!("lua/report.lua"), 1, &[]),
        ("libraries", include_str!("lua/libraries.lua"), 1, &[]),
        ("upload", include_str!("lua/upload.lua"), 1, &[]),
    ];
    let stage = Stage::new();
    at_once(&scripts, |&(name, text, threads, args)| {
        let script = bounded(folder.path(), name, text);
        compare(&stage, name, &script, threads, args);
    });
}

#[test]
fn scripts_that_ship_with_wrk_send_what_they_send_with_it() {
    let test = "scripts_that_ship_with_wrk_send_what_they_send_with_it";
    if !have_wrk(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scripts = [
        ("addr", 1),
        ("auth", 1),
        ("counter", 1),
        ("delay", 1),
        ("pipeline", 1),
        ("post", 2),
        ("report", 1),
        ("setup", 2),
        ("stop", 1),
    ];
    let stage = Stage::new();
    at_once(&scripts, |&(name, threads)| {
        let file = Path::new(SHIPPED).join(name).with_extension("lua");
        let Ok(text) = fs::read_to_string(&file) else {
            let _ = writeln!(io::stderr(), "SKIP {test}: needs {}", file.display());
            return;
        };
        // That one stops by itself.
        if name == "stop" {
            compare(&stage, name, &file, 1, &[])
        } else {
            compare(&stage, name, &bounded(folder.path(), name, &text), threads, &[])
        }
    });
}

/// What scripts around wrk take out of its output: columns of both rows, percentiles, the two counts and rates.
fn parsed(stdout: &str) -> (Vec<usize>, Vec<String>, bool) {
    let row = |label: &str| {
        let line = stdout.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or_default();
        let columns: Vec<_> = line.split_whitespace().skip(1).collect();
        let is_number = |column: &&str| column.starts_with(|c: char| c.is_ascii_digit());
        assert!(columns.iter().all(is_number), "{stdout}");
        assert!(columns.last().is_some_and(|last| last.ends_with('%')), "{stdout}");
        columns.len()
    };
    let percentiles = stdout.lines().filter_map(|line| line.trim_start().split_once('%')).map(|(percent, _)| percent);
    let percentiles = percentiles.filter(|percent| percent.parse::<f64>().is_ok()).map(str::to_owned).collect();
    let rates = ["Requests/sec:", "Transfer/sec:"].iter().all(|label| stdout.contains(label));
    (vec![row("Latency"), row("Req/Sec")], percentiles, rates)
}

#[test]
fn what_is_parsed_of_the_output_is_there() {
    if !have_wrk("what_is_parsed_of_the_output_is_there") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("post.lua");
    fs::write(&script, include_str!("lua/json_post.lua")).unwrap();
    let options = ["-t2", "-c4", "-d1", "--latency", "--timeout", "8", "-H", "Connection: keep-alive"];
    let (of_wrk, _) = drive(None, &script, &options, &["16"]);
    let (said, requests) = drive(Some(&Stage::new()), &script, &options, &["16"]);
    assert_eq!(parsed(&said.stdout), parsed(&of_wrk.stdout), "{said:?} {of_wrk:?}");
    assert_eq!((said.code, of_wrk.code), (Some(0), Some(0)), "{said:?}");
    // Those that are out at the end have come, and are not counted.
    let counted = said.stdout.split(" requests in ").next().and_then(|text| text.split_whitespace().last()).unwrap();
    let counted: usize = counted.parse().unwrap();
    assert!((counted..=counted + 4).contains(&requests.len()), "{counted} {}", requests.len());
}

#[test]
fn a_rate_is_that_of_wrk2() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("pipeline.lua");
    fs::write(&script, include_str!("lua/pipeline.lua")).unwrap();
    let (said, requests) = drive(Some(&Stage::new()), &script, &["-t1", "-c2", "-d1", "-R400", "-U"], &["4"]);
    // Four at a time, 100 times a second; a busy machine does not get to all.
    let count = requests.len();
    assert!((4..=400).contains(&count) && count.is_multiple_of(4), "{count} {said:?}");
    for title in ["HdrHistogram - Recorded Latency)", "HdrHistogram - Uncorrected Latency (measured"] {
        assert!(said.stdout.contains(title), "{said:?}");
    }
    assert!(said.stdout.contains("\n100.000%") && said.stdout.contains("#[Mean    ="), "{said:?}");
}

#[test]
fn what_is_wrong_with_a_script_is_told() {
    let scripts = [
        (
            "a loop",
            "function request()\n  while started do end\n  started = true\n  return wrk.request()\nend",
            &[][..],
            "request() has not returned for 10 s (thread 1, call 2)",
        ),
        (
            "an error",
            "function request()\n  return nothing.at\nend",
            &[],
            "x.lua:2: attempt to index global 'nothing' (a nil value)",
        ),
        (
            "an error later",
            "calls = 0\nfunction request()\n  calls = calls + 1\n  assert(calls < 20, 'enough')\n  return wrk.request()\nend",
            &[],
            "it stopped request() (thread 1, call 20)",
        ),
        ("an error in an answer", "function response()\n  error('no')\nend", &[], "x.lua:2: no"),
        ("an error in the report", "function done()\n  error('late')\nend", &[], "it stopped done()"),
        (
            "memory",
            "function request()\n  local t = {}\n  while true do t[#t + 1] = ('x'):rep(2^26 + #t) end\nend",
            &[],
            "MiB of memory",
        ),
        ("no request", "function request() return 'GET' end", &[], "incomplete request at line 1, column 4"),
        ("a delay with a rate", "function delay() return 1 end", &["-R10"], "delay() is of wrk, and -R is of wrk2"),
    ];
    let stage = Stage::new();
    // The loop takes ten seconds, and each of the others one.
    at_once(&scripts, |(what, text, options, expected)| {
        // It computes all the while, which other tests need not wait for: what this thread starts goes behind them.
        if *what == "a loop" {
            let _ = setpriority_process(None, 19);
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.lua");
        fs::write(&file, text).unwrap();
        let options = [&["-t1", "-c1", "-d1"], *options].concat();
        let (said, _) = drive(Some(&stage), &file, &options, &[]);
        // As wrk ends with a panic.
        assert_eq!(said.code, Some(1), "{what}: {said:?}");
        assert!(said.stderr.contains(expected), "{what}: {said:?}");
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.lua");
    let script = file.to_str().unwrap();
    for (line, expected) in [
        (&["-s", "/nonexistent/x.lua"][..], "-s /nonexistent/x.lua cannot be read"),
        (&["-s", script, "-U"], "-U is of wrk2, which has a rate"),
        (&["-B"], "-B is of wrk2, which has a rate"),
        (&["-R", "none"], "-R none is not a rate"),
        (&["-c", "10M"], "are more connections than one process may open"),
    ] {
        let said = stage.run(&[&["wrk", "http://127.0.0.1:1/"], line].concat());
        assert_eq!(said.code, Some(1), "{line:?} {said:?}");
        assert!(said.stderr.contains(expected), "{line:?} {said:?}");
    }
    fs::write(&file, "").unwrap();
    let said = stage.run(&["wrk", "-s", script, "http://127.0.0.1:1/"]);
    assert!(said.code == Some(1) && said.stderr.contains("unable to connect to 127.0.0.1:1"), "{said:?}");
}
