//! Every flag of hey, ab, wrk and wrk2, with the tool itself beside it: what its help names is here, in docs/other-tools.md, and does
//! the same to the server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::recorder::{Answer, Recorder};
use crate::stage::{Said, Stage, at_once};

/// What is compared of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Same {
    /// Every request, and the exit code.
    Requests,
    /// What the first request is like, and the exit code: how many there are is a matter of time.
    First,
    /// The exit code alone.
    Code,
    /// Nothing: it is not done, and the line to use is printed.
    NotDone,
}

use Same::{Code, First, NotDone, Requests};

/// Tool, flag, the options of a run that has it, and what is the same. `FILE` is a file, `PORT` the server's port, `~` a
/// blank.
const FLAGS: &[(&str, &str, &str, Same)] = &[
    ("hey", "-n", "-n 6 -c 2", Requests),
    ("hey", "-c", "-n 9 -c 4", Requests),
    ("hey", "-q", "-n 4 -c 2 -q 100", Requests),
    ("hey", "-z", "-z 1s -c 1", First),
    ("hey", "-o", "-n 4 -c 2 -o csv", Requests),
    ("hey", "-m", "-n 4 -c 2 -m DELETE", Requests),
    ("hey", "-H", "-n 4 -c 2 -H X-A:b -H x-c:d", Requests),
    ("hey", "-t", "-n 4 -c 2 -t 5", Requests),
    ("hey", "-A", "-n 4 -c 2 -A text/x", Requests),
    ("hey", "-d", "-n 4 -c 2 -m POST -d a=b", Requests),
    ("hey", "-D", "-n 4 -c 2 -m PUT -D FILE", Requests),
    ("hey", "-T", "-n 4 -c 2 -m POST -d {} -T application/json", Requests),
    // The tool does not send it.
    ("hey", "-a", "-n 4 -c 2 -a me:secret", Code),
    ("hey", "-x", "-n 4 -c 2 -x http://127.0.0.1:PORT", Requests),
    ("hey", "-h2", "-n 4 -c 2 -h2", Requests),
    ("hey", "-host", "-n 4 -c 2 -host other.test", Requests),
    ("hey", "-disable-compression", "-n 4 -c 2 -disable-compression", Requests),
    ("hey", "-disable-keepalive", "-n 4 -c 2 -disable-keepalive", Requests),
    ("hey", "-disable-redirects", "-n 4 -c 2 -disable-redirects", Requests),
    ("hey", "-cpus", "-n 4 -c 2 -cpus 1", Requests),
    ("ab", "-n", "-n 6 -c 2", Requests),
    ("ab", "-c", "-n 9 -c 4", Requests),
    ("ab", "-t", "-t 1 -c 1", First),
    ("ab", "-s", "-n 4 -s 5", Requests),
    ("ab", "-b", "-n 4 -b 8192", NotDone),
    ("ab", "-B", "-n 4 -B 127.0.0.7", Requests),
    ("ab", "-p", "-n 4 -p FILE", Requests),
    ("ab", "-u", "-n 4 -u FILE", Requests),
    ("ab", "-T", "-n 4 -p FILE -T application/json", Requests),
    ("ab", "-v", "-n 4 -v 1", Requests),
    ("ab", "-w", "-n 4 -w", Requests),
    ("ab", "-i", "-n 4 -i", Requests),
    ("ab", "-x", "-n 4 -w -x border=1", Requests),
    ("ab", "-y", "-n 4 -w -y a=1", Requests),
    ("ab", "-z", "-n 4 -w -z b=1", Requests),
    ("ab", "-C", "-n 4 -C a=b -C c=d", Requests),
    ("ab", "-H", "-n 4 -H X-A:b", Requests),
    ("ab", "-A", "-n 4 -A me:secret", Requests),
    ("ab", "-P", "-n 4 -P me:secret", Requests),
    ("ab", "-X", "-n 4 -X 127.0.0.1:PORT", Requests),
    ("ab", "-V", "-V", Code),
    ("ab", "-k", "-n 4 -k", Requests),
    ("ab", "-d", "-n 4 -d", Requests),
    ("ab", "-S", "-n 4 -S", Requests),
    ("ab", "-q", "-n 4 -q", Requests),
    ("ab", "-l", "-n 4 -l", Requests),
    ("ab", "-g", "-n 4 -g /dev/null", Requests),
    ("ab", "-e", "-n 4 -e /dev/null", Requests),
    ("ab", "-r", "-n 4 -r", Requests),
    ("ab", "-m", "-n 4 -m DELETE", Requests),
    // The tool ends with 22 after its help.
    ("ab", "-h", "-h", NotDone),
    ("ab", "-I", "-n 4 -I", Requests),
    ("ab", "-Z", "-n 4 -Z ECDHE-RSA-AES256-GCM-SHA384", Requests),
    ("ab", "-f", "-n 4 -f TLS1.2", Requests),
    ("ab", "-E", "-n 4 -E /nonexistent/cert.pem", Code),
    ("wrk", "-c", "-t1 -d1 -c 2", First),
    ("wrk", "-d", "-t1 -c1 -d 1s", First),
    ("wrk", "-t", "-c2 -d1 -t 2", First),
    ("wrk", "-s", "-t1 -c1 -d1 -s SCRIPT", First),
    ("wrk", "-H", "-t1 -c1 -d1 -H X-A:~b", First),
    ("wrk", "--latency", "-t1 -c1 -d1 --latency", First),
    ("wrk", "--timeout", "-t1 -c1 -d1 --timeout 1s", First),
    ("wrk", "-v", "-t1 -c1 -d1 -v", First),
    ("wrk2", "-c", "-t1 -d1 -R50 -c 2", First),
    ("wrk2", "-d", "-t1 -c1 -R50 -d 1s", First),
    ("wrk2", "-t", "-c2 -d1 -R50 -t 2", First),
    ("wrk2", "-s", "-t1 -c1 -d1 -R50 -s SCRIPT", First),
    ("wrk2", "-H", "-t1 -c1 -d1 -R50 -H X-A:~b", First),
    ("wrk2", "-L", "-t1 -c1 -d1 -R50 -L", First),
    ("wrk2", "-U", "-t1 -c1 -d1 -R50 -U", First),
    ("wrk2", "--timeout", "-t1 -c1 -d1 -R50 --timeout 1s", First),
    ("wrk2", "-B", "-t1 -c1 -d1 -R50 -B", First),
    ("wrk2", "-v", "-t1 -c1 -d1 -R50 -v", First),
    ("wrk2", "-R", "-t1 -c1 -d1 -R 50", First),
];

fn kept(_: &str, _: u16) -> Answer {
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nHello".to_vec();
    Answer { bytes, closes: false }
}

fn closed(_: &str, _: u16) -> Answer {
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nHello".to_vec();
    Answer { bytes, closes: true }
}

fn have(test: &str, tool: &str) -> bool {
    let found = Command::new(tool).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        let _ = writeln!(io::stderr(), "SKIP {test}: needs {tool}");
    }
    found
}

/// The flags of a tool's own help: the first of each line, in the spelling that stands first.
fn flags_of_help(tool: &str) -> BTreeSet<String> {
    let said = Said::of(Command::new(tool).arg("-h").stdin(Stdio::null()).output().unwrap());
    let text = format!("{}{}", said.stdout, said.stderr);
    let first = |line: &str| {
        let word = line.trim_start().strip_prefix('-').map(|_| line.split_whitespace().next().unwrap_or_default())?;
        let flag = word.trim_end_matches(',');
        let is_one = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        (line.starts_with(' ') && flag.len() > 1 && flag.chars().all(is_one)).then(|| flag.to_owned())
    };
    text.lines().filter_map(first).collect()
}

/// A request with its headers by name, in lower case and one blank before the value: what HTTP reads as the same.
fn plain(request: &str) -> String {
    let (head, body) = request.split_once("\n\n").unwrap();
    let (first, rest) = head.split_once('\n').unwrap_or((head, ""));
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        format!("{}: {}", name.to_ascii_lowercase(), value.trim())
    };
    let mut headers: Vec<_> = rest.lines().map(header).collect();
    headers.sort();
    format!("{first}\n{}\n\n{body}", headers.join("\n"))
}

/// Runs the tool, or Stampede in its place. wrk2 calls itself wrk, and so do we.
fn drive(by: Option<&Stage>, tool: &str, options: &str, files: [&str; 2]) -> (Said, Vec<String>) {
    // ab speaks HTTP/1.0, whose answers end with the connection.
    let is_closed = tool == "ab" && !options.contains("-k");
    let server = Recorder::start(if is_closed { closed } else { kept });
    let port = server.port.to_string();
    let url = format!("http://127.0.0.1:{port}/a?b=c");
    let [file, script] = files;
    let options = options.replace("FILE", file).replace("SCRIPT", script).replace("PORT", &port);
    let words: Vec<_> = options.split(' ').map(|word| word.replace('~', " ")).collect();
    let mut line: Vec<&str> = words.iter().map(String::as_str).collect();
    line.push(&url);
    let said = match by {
        None => Said::of(Command::new(tool).args(line).stdin(Stdio::null()).output().unwrap()),
        Some(stage) => stage.run_once(&[&[if tool == "wrk2" { "wrk" } else { tool }], line.as_slice()].concat()),
    };
    let mut requests: Vec<_> = server.stop().iter().map(|request| plain(request)).collect();
    requests.sort();
    (said, requests)
}

#[test]
fn every_flag_is_run_beside_the_tool() {
    const NAME: &str = "every_flag_is_run_beside_the_tool";
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (body, script) = (place("body", "{\"a\": 1}"), place("x.lua", "wrk.method = \"POST\"\nwrk.body = \"x=1\"\n"));
    let document = include_str!("../../../../docs/other-tools.md");
    let mut runs = Vec::new();
    for tool in ["hey", "ab", "wrk", "wrk2"] {
        let listed: BTreeSet<_> = FLAGS.iter().filter(|run| run.0 == tool).map(|run| run.1.to_owned()).collect();
        let section = document.split("\n## ").find(|section| section.starts_with(&format!("Options of {tool}")));
        // wrk's section has those of wrk2.
        let section =
            section.or_else(|| document.split("\n## ").find(|part| part.starts_with("Options of wrk"))).unwrap();
        for flag in &listed {
            let is_named = ["`", " ", ","].iter().any(|end| section.contains(&format!("`{flag}{end}")));
            assert!(is_named, "{tool} {flag} is not in docs/other-tools.md");
        }
        if have(NAME, tool) {
            assert_eq!(flags_of_help(tool), listed, "{tool}");
            runs.extend(FLAGS.iter().filter(|run| run.0 == tool));
        }
    }
    let stage = Stage::new();
    at_once(&runs, |&&(tool, flag, options, same)| {
        let files = [&*body, &*script];
        let (ours, sent) = drive(Some(&stage), tool, options, files);
        let what = format!("{tool} {flag}: {ours:?}");
        if same == NotDone {
            // What is not done is refused with the line that does it; `-h` is no mistake here.
            let is_told = ours.code == Some(22) && ours.stderr.contains("stampede load ");
            assert!(is_told || flag == "-h" && ours.code == Some(0), "{what}");
            return;
        }
        let (theirs, expected) = drive(None, tool, options, files);
        assert_eq!(ours.code, theirs.code, "{what} {theirs:?}");
        match same {
            Requests => {
                assert!(!expected.is_empty(), "{what} {theirs:?}");
                assert_eq!(sent, expected, "{what}");
            }
            First => assert_eq!(sent.first(), expected.first(), "{what}"),
            Code | NotDone => {}
        }
    });
}

/// The lines of the layout without figures and without what says how wrk2's histogram is laid out.
fn layout(text: &str) -> Vec<String> {
    let label =
        |line: &str| line.split(|c: char| c.is_ascii_digit() || c == '-').next().unwrap_or_default().trim().to_owned();
    let lines = text.lines().map(label).take_while(|label| !label.starts_with("What wrk"));
    lines.filter(|label| !label.is_empty() && !label.starts_with("#[Buckets")).collect()
}

/// wrk2 looks for 10 s how often to print rates, and says so.
#[test]
fn a_rate_is_driven_and_printed_as_by_wrk2() {
    if !have("a_rate_is_driven_and_printed_as_by_wrk2", "wrk2") {
        return;
    }
    let options = "-t1 -c4 -d12s -R200 -L -U";
    let (theirs, expected) = drive(None, "wrk2", options, [""; 2]);
    let stage = Stage::new();
    let (ours, sent) = drive(Some(&stage), "wrk2", options, [""; 2]);
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{ours:?} {theirs:?}");
    let without = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| !line.starts_with("Thread calibration")).collect()
    };
    assert_eq!(layout(&ours.stdout), without(layout(&theirs.stdout)), "{ours:?} {theirs:?}");
    for (name, count) in [("wrk2", expected.len()), ("ours", sent.len())] {
        assert!((2390..=2410).contains(&count), "{name}: {count} {ours:?} {theirs:?}");
    }
    let rate = |said: &Said| {
        let line = said.stdout.lines().find_map(|line| line.strip_prefix("Requests/sec:")).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    assert!((rate(&ours) / rate(&theirs) - 1.0).abs() < 0.02, "{ours:?} {theirs:?}");
}

/// The commands of webman's page on stress tests, with fewer requests and less time.
#[test]
fn the_commands_of_the_webman_guide_send_what_the_tools_send() {
    let stage = Stage::new();
    for (tool, options, same) in
        [("ab", "-n1000 -c200 -k", Requests), ("ab", "-n1000 -c200", Requests), ("wrk", "-c 200 -d 1s", First)]
    {
        if !have("the_commands_of_the_webman_guide_send_what_the_tools_send", tool) {
            continue;
        }
        let (theirs, expected) = drive(None, tool, options, [""; 2]);
        let (ours, sent) = drive(Some(&stage), tool, options, [""; 2]);
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{options}: {ours:?} {theirs:?}");
        assert_eq!(sent.first(), expected.first(), "{options}");
        if same == Requests {
            assert_eq!((sent.len(), expected.len()), (1000, 1000), "{options}: {ours:?} {theirs:?}");
        }
    }
}
