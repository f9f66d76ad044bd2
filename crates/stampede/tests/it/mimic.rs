//! `stampede hey`, `stampede ab` and `stampede wrk` beside those tools themselves.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use insta::assert_snapshot;
use stampede_testkit::{Behaviour, CountingServer, Received};

use crate::stage::{Said, Stage};

/// Who drives a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Tool,
    Stampede,
}

/// A tool's options, or ours, on a server that takes its time.
fn drive(driver: Driver, tool: &str, options: &[&str], delay: Duration) -> (Said, Received) {
    let server = CountingServer::start(Behaviour { delay, ..Behaviour::default() }).unwrap();
    let url = format!("http://{}/a/b?c=d", server.endpoint());
    let said = match driver {
        Driver::Stampede => Stage::new().run(&[&[tool], options, &[&url]].concat()),
        Driver::Tool => {
            let output = Command::new(tool).args(options).arg(&url).stdin(Stdio::null()).output().unwrap();
            Said {
                code: output.status.code(),
                stdout: String::from_utf8(output.stdout).unwrap(),
                stderr: String::from_utf8(output.stderr).unwrap(),
                before: String::new(),
            }
        }
    };
    let port = url.split([':', '/']).nth(4).unwrap().to_owned();
    let mut received = server.stop();
    // Each server has a port of its own.
    received.first = String::from_utf8(received.first).unwrap().replace(&port, "PORT").into_bytes();
    (said, received)
}

fn have(test: &str, tool: &str) -> bool {
    let found = Command::new(tool).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {tool}");
    }
    found
}

/// The first request's line, headers without regard to the case of their names, and body.
fn parts(received: &Received) -> (String, BTreeSet<String>, String) {
    let text = String::from_utf8(received.first.clone()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n").map(str::to_owned);
    let line = lines.next().unwrap();
    let headers: Vec<_> = lines
        .map(|header| {
            let (name, value) = header.split_once(": ").unwrap();
            format!("{}: {value}", name.to_ascii_lowercase())
        })
        .collect();
    let set: BTreeSet<_> = headers.iter().cloned().collect();
    assert_eq!(set.len(), headers.len(), "{text}");
    (line, set, body.to_owned())
}

#[test]
fn the_same_request_goes_over_the_wire() {
    let once: &[&str] = &["-n", "2", "-c", "1"];
    let second: &[&str] = &["-t", "1", "-c", "1", "-d", "1s"];
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (tool, amount, options) in [
        ("hey", once, &[][..]),
        ("hey", once, &["-m", "POST", "-T", "application/json", "-d", "{\"data\": \"# h1\\n_test_\"}", "-h2"]),
        ("hey", once, &["-H", "x-a-b: c", "-H", "X-A-B: d", "-A", "text/x", "-host", "other"]),
        ("hey", once, &["-m", "PUT", "-disable-compression", "-disable-keepalive"]),
        ("hey", once, &["-m", "head", "-H", "Range: bytes=0-1"]),
        ("ab", once, &[]),
        ("ab", once, &["-k"]),
        (
            "ab",
            once,
            &["-kp", file, "-T", "a/b", "-H", "X-A: b", "-H", "User-Agent: z", "-C", "c=d", "-A", "u:p", "-P", "x:y"],
        ),
        ("ab", once, &["-u", file, "-H", "Host: other"]),
        ("ab", once, &["-i"]),
        ("ab", once, &["-m", "DELETE"]),
        ("wrk", second, &[]),
        ("wrk", second, &["-H", "X-A: b", "-H", "Host: other", "-H", "Connection: close", "--latency"]),
    ] {
        if have("the_same_request_goes_over_the_wire", tool) {
            let options = [amount, options].concat();
            let (_, of_tool) = drive(Driver::Tool, tool, &options, Duration::ZERO);
            let (said, of_us) = drive(Driver::Stampede, tool, &options, Duration::ZERO);
            assert_eq!(parts(&of_us), parts(&of_tool), "{tool} {options:?} {said:?}");
        }
    }
}

#[test]
fn as_many_requests_and_connections_as_the_tool() {
    let delay = Duration::from_millis(10);
    for (tool, options, requests, connections) in [
        ("hey", &["-n", "25", "-c", "10"][..], 20, 10),
        ("hey", &["-n", "24", "-c", "4", "-disable-keepalive"], 24, 24),
        ("ab", &["-n", "25", "-c", "10"], 25, 25),
        ("ab", &["-kc10", "-n25"], 25, 10),
    ] {
        if have("as_many_requests_and_connections_as_the_tool", tool) {
            for driver in [Driver::Tool, Driver::Stampede] {
                let (said, received) = drive(driver, tool, options, delay);
                assert_eq!(received.requests(), requests, "{driver:?} {tool} {options:?} {said:?}");
                // A tool may open one that it then has no request for.
                let opened = received.connections;
                let as_expected = opened == connections || driver == Driver::Tool && opened > connections;
                assert!(as_expected, "{opened} connections: {driver:?} {tool} {options:?} {said:?}");
            }
        }
    }
    // wrk opens one more before it starts, to see whether anybody listens.
    let (said, received) = drive(Driver::Stampede, "wrk", &["-c", "5", "-t", "2", "-d", "1s"], delay);
    assert_eq!(received.connections, 4, "{said:?}");
}

fn rate(said: &Said) -> f64 {
    let line = said.stdout.lines().find(|line| line.trim_start().starts_with("Requests"));
    let number = line.and_then(|line| line.split([':', '[']).nth(1)?.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no rate: {said:?}"))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

/// The rate of a run over the most that its clients could reach, given how long the server really held each request; `None`
/// when the machine was so busy that the server could not keep its own time.
fn share_of_most(driver: Driver, tool: &str, options: &[&str]) -> Option<f64> {
    const DELAY: Duration = Duration::from_millis(10);
    const CLIENTS: f64 = 4.0;
    let (said, received) = drive(driver, tool, options, DELAY);
    let held = received.held.as_secs_f64() / received.requests() as f64;
    (held < DELAY.as_secs_f64() * 1.1).then_some(rate(&said) * held / CLIENTS)
}

/// Both take turns, so that what else the machine does meets both.
#[test]
#[ignore = "compares rates, for which the machine must be quiet: make bench-rates"]
fn rates_are_the_tools_own() {
    const MOST: usize = 12;
    const LEAST: usize = 3;
    const MOST_DISTURBED: usize = 5;
    for (tool, options) in [
        ("hey", &["-n", "240", "-c", "4"][..]),
        ("ab", &["-n", "240", "-c", "4"]),
        ("ab", &["-n", "240", "-c", "4", "-k"]),
        ("wrk", &["-t", "1", "-c", "4", "-d", "1s"]),
    ] {
        if !have("rates_are_the_tools_own", tool) {
            continue;
        }
        let (mut ratios, mut disturbed, mut agree) = (Vec::new(), 0, false);
        while !agree && ratios.len() < MOST && disturbed < MOST_DISTURBED {
            let theirs = share_of_most(Driver::Tool, tool, options);
            let ours = share_of_most(Driver::Stampede, tool, options);
            match ours.zip(theirs) {
                Some((ours, theirs)) => ratios.push(ours / theirs),
                None => disturbed += 1,
            }
            agree = ratios.len() >= LEAST && (median(&mut ratios) - 1.0).abs() <= 0.03;
        }
        let found = format!("{tool} {options:?}: our rate is this much of the tool's: {ratios:.3?}");
        let said = if agree || disturbed < MOST_DISTURBED {
            ""
        } else {
            "SKIP rates_are_the_tools_own: the machine is busy: "
        };
        let _ = writeln!(std::io::stderr(), "{said}{found}");
        assert!(agree || !said.is_empty(), "{found}");
    }
}

/// What stands before the figures, line by line.
fn labels(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.split(|c: char| c == ':' || c.is_ascii_digit()).next().unwrap_or_default().trim().to_owned())
        .filter(|label| !label.is_empty())
        .collect()
}

#[test]
fn the_tools_lines_are_there_in_its_order() {
    // Who wrote ab is not who wrote this; medians are not judged.
    const LEFT_OUT: [&str; 8] = [
        "This is ",
        "Copyright",
        "Licensed to",
        "Benchmarking",
        "WARNING",
        "These results are probably",
        "ERROR",
        "deviation apart. These results are NOT",
    ];
    let is_left_out = |label: &&String| LEFT_OUT.iter().any(|left_out| label.starts_with(left_out));
    for (tool, options) in [
        ("hey", &["-n", "20", "-c", "2"][..]),
        ("ab", &["-n", "20", "-kc", "2"]),
        ("ab", &["-n", "20", "-c", "2", "-p", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]),
        ("wrk", &["-t", "1", "-c", "2", "-d", "1s", "--latency"]),
    ] {
        if have("the_tools_lines_are_there_in_its_order", tool) {
            let of_tool = labels(&drive(Driver::Tool, tool, options, Duration::ZERO).0.stdout);
            let of_us = labels(&drive(Driver::Stampede, tool, options, Duration::ZERO).0.stdout);
            let expected: Vec<_> = of_tool.iter().filter(|label| !is_left_out(label)).collect();
            let of_us: Vec<_> = of_us.iter().filter(|label| !is_left_out(label)).collect();
            let ours: Vec<_> = of_us.iter().copied().take(expected.len()).collect();
            assert_eq!(ours, expected, "{tool}");
            assert!(of_us[expected.len()].starts_with(&format!("What {tool} does not tell")), "{of_us:?}");
        }
    }
}

/// The figure behind a label, up to the first blank behind it.
fn figure(text: &str, label: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with(label))?;
    Some(line.strip_prefix(label)?.trim_start_matches(':').split_whitespace().next()?.to_owned())
}

#[test]
fn what_scripts_parse_is_the_tools_own() {
    for (tool, options, figures) in [
        ("hey", &["-n", "24", "-c", "4"][..], &["Total data", "Size/request", "[200]"][..]),
        (
            "ab",
            &["-n", "24", "-c", "4", "-k"],
            &["Complete requests", "Failed requests", "Keep-Alive requests", "HTML transferred"],
        ),
        (
            "ab",
            &["-n", "24", "-c", "4", "-l"],
            &["Document Length", "Complete requests", "HTML transferred", "Total transferred"],
        ),
        ("ab", &["-n", "24", "-c", "4", "-B", "127.0.0.7"], &["Complete requests", "HTML transferred"]),
    ] {
        if have("what_scripts_parse_is_the_tools_own", tool) {
            let (theirs, _) = drive(Driver::Tool, tool, options, Duration::ZERO);
            let (ours, _) = drive(Driver::Stampede, tool, options, Duration::ZERO);
            for label in figures {
                let found = figure(&ours.stdout, label);
                assert!(found.is_some(), "{label}: {ours:?}");
                assert_eq!(found, figure(&theirs.stdout, label), "{tool} {options:?} {label}: {ours:?} {theirs:?}");
            }
            assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{tool} {options:?}");
        }
    }
}

/// The cells of lines of the same length, without the head.
fn table(text: &str, separator: char) -> Vec<Vec<f64>> {
    let cells = |line: &str| line.split(separator).filter_map(|cell| cell.parse().ok()).collect();
    text.lines().skip(1).map(cells).collect()
}

#[test]
fn requests_one_by_one_are_in_the_tools_columns() {
    let delay = Duration::from_millis(20);
    if have("requests_one_by_one_are_in_the_tools_columns", "hey") {
        let options = ["-n", "12", "-c", "3", "-o", "csv"];
        let [theirs, ours] = [Driver::Tool, Driver::Stampede].map(|driver| drive(driver, "hey", &options, delay).0);
        assert_eq!(theirs.stdout.lines().next(), ours.stdout.lines().next(), "{ours:?}");
        for said in [&theirs, &ours] {
            let rows = table(&said.stdout, ',');
            assert!(rows.len() == 12 && rows.iter().all(|row| row.len() == 8), "{said:?}");
            // What was waited for makes the time, and nothing is quicker than the server.
            assert!(rows.iter().all(|row| row[0] >= 0.02 && row[4] >= 0.0199 && row[6] == 200.0), "{said:?}");
            // Each client's requests follow each other.
            let late = rows.iter().filter(|row| row[7] - rows[0][7] >= 0.055).count();
            assert!(late >= 3, "{said:?}");
        }
        // The tool's own parts leave out what lies between them.
        let parts = |row: &[f64]| row[1] + row[3] + row[4] + row[5];
        assert!(table(&ours.stdout, ',').iter().all(|row| (row[0] - parts(row)).abs() < 0.0005), "{ours:?}");
        assert!(ours.stderr.contains("What hey does not"), "{ours:?}");
    }
    if have("requests_one_by_one_are_in_the_tools_columns", "ab") {
        let folder = tempfile::tempdir().unwrap();
        let mut heads = Vec::new();
        for driver in [Driver::Tool, Driver::Stampede] {
            let [gnuplot, csv] = ["g.tsv", "e.csv"].map(|name| folder.path().join(format!("{driver:?}-{name}")));
            let files = [gnuplot.to_str().unwrap(), csv.to_str().unwrap()];
            let (said, _) = drive(driver, "ab", &["-n", "12", "-c", "3", "-g", files[0], "-e", files[1]], delay);
            assert_eq!(said.code, Some(0), "{said:?}");
            let [plot, percent] = files.map(|file| std::fs::read_to_string(file).unwrap());
            let rows = table(&plot, '\t');
            // `starttime` is a text.
            assert!(rows.len() == 12 && rows.iter().all(|row| row.len() == 5), "{plot}");
            assert!(rows.iter().all(|row| row[3] >= 20.0 && (row[1] + row[2] - row[3]).abs() <= 1.0), "{plot}");
            assert!(rows.is_sorted_by(|a, b| a[3] <= b[3]), "{plot}");
            let starts = plot.lines().nth(1).unwrap().split('\t').next().unwrap().to_owned();
            let words: Vec<usize> = starts.split_whitespace().map(str::len).collect();
            assert!(words[0] == 3 && words[1] == 3 && words[3] == 8 && words[4] == 4, "{starts}");
            let percents = table(&percent, ',');
            assert!(percents.len() == 101 && percents[100][0] == 100.0 && percents[50][1] >= 20.0, "{percent}");
            heads.push([plot, percent].map(|text| text.lines().next().unwrap().to_owned()));
        }
        assert_eq!(heads[0], heads[1]);
    }
}

#[test]
fn a_proxy_is_asked_for_the_whole_url() {
    for (tool, flag, scheme) in [("hey", "-x", "http://"), ("ab", "-X", "")] {
        let lines = [Driver::Tool, Driver::Stampede].map(|driver| {
            if driver == Driver::Tool && !have("a_proxy_is_asked_for_the_whole_url", tool) {
                return None;
            }
            let server = CountingServer::start(Behaviour::default()).unwrap();
            let proxy = format!("{scheme}{}", server.endpoint());
            let args = [tool, "-n", "2", "-c", "1", flag, &proxy, "http://nowhere.invalid:81/a?b=c"];
            match driver {
                Driver::Stampede => drop(Stage::new().run(&args)),
                Driver::Tool => drop(Command::new(tool).args(&args[1..]).stdin(Stdio::null()).output().unwrap()),
            }
            Some(parts(&server.stop()))
        });
        let [theirs, ours] = lines;
        assert!(ours.as_ref().unwrap().0.contains(" http://nowhere.invalid:81/a?b=c "), "{ours:?}");
        assert!(theirs.is_none() || theirs == ours, "{theirs:?} {ours:?}");
    }
}

#[test]
fn files_of_bodies_may_be_missing_empty_or_large() {
    let folder = tempfile::tempdir().unwrap();
    let [empty, large] = ["empty", "large"].map(|name| folder.path().join(name));
    std::fs::write(&empty, "").unwrap();
    std::fs::File::create(&large).unwrap().set_len(100 << 20).unwrap();
    for (tool, flag) in [("hey", "-D"), ("ab", "-p")] {
        let said = Stage::new().run(&[tool, flag, "/nonexistent/body", "http://127.0.0.1:1/"]);
        assert!(
            said.code == Some(1) && said.stderr.contains("/nonexistent/body cannot be read: No such file"),
            "{said:?}"
        );
    }
    for (tool, flag, file, bytes) in
        [("ab", "-p", &empty, 0), ("ab", "-p", &large, 100 << 20), ("hey", "-D", &large, 100 << 20)]
    {
        let mut options = vec!["-n", "2", "-c", "1", flag, file.to_str().unwrap()];
        if tool == "hey" {
            options.extend(["-m", "POST"]);
        }
        let (said, received) = drive(Driver::Stampede, tool, &options, Duration::ZERO);
        assert_eq!((said.code, received.requests()), (Some(0), 2), "{said:?}");
        let head = String::from_utf8_lossy(&received.first[..received.first.len().min(500)]).into_owned();
        assert!(head.contains(&format!("Content-Length: {bytes}\r\n")), "{head}");
    }
}

#[test]
fn help_and_misuse() {
    let said = |args: &[&str]| {
        let said = Stage::new().run(args);
        format!("exit code: {}\n--- stdout\n{}--- stderr\n{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
    };
    for tool in ["hey", "ab", "wrk"] {
        let help = said(&[tool, "--help"]);
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert_snapshot!(format!("mimic_help_{tool}"), help);
        assert!(said(&[tool]).contains("error: URL is missing; for example http"));
    }
    assert_snapshot!(
        "mimic_mistakes_hey",
        said(&[
            "hey",
            "-n",
            "1",
            "-c",
            "3",
            "-o",
            "json",
            "-x",
            "p:1",
            "-z",
            "5",
            "-H",
            "x",
            "-Q",
            "https://localhost/",
            "-h2"
        ])
    );
    assert_snapshot!(
        "mimic_mistakes_ab",
        said(&["ab", "-kc", "0", "-tsoon", "-b", "1", "-i", "-mPUT", "-p", "/nonexistent/body", "https://localhost/"])
    );
    assert_snapshot!(
        "mimic_mistakes_wrk",
        said(&["wrk", "ftp://localhost/", "-c1k", "--script=x.lua", "--duration", "1d", "-t", "0", "-H", "x"])
    );
    assert_snapshot!("mimic_remote", said(&["hey", "http://192.0.2.1/"]));
}
