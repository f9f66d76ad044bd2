//! Redirects beside hey itself, request by request.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::recorder::{Answer, Recorder};
use crate::stage::{Said, Stage};

/// `/CODE/N/KIND` redirects N times with a status, by a `Location` of a kind; then it says hello.
fn answer(target: &str, port: u16) -> Answer {
    let target = target.strip_prefix(&format!("http://127.0.0.1:{port}")).unwrap_or(target);
    let path = target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (code, left, kind) = match parts.as_slice() {
        [code, left, kind] => (*code, left.parse().unwrap_or(0), *kind),
        _ => ("200", 0, ""),
    };
    if left == 0 || code == "200" {
        return Answer { bytes: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello".to_vec(), closes: false };
    }
    let next = format!("/{code}/{}/{kind}", left - 1);
    let location = match kind {
        "absolute" => format!("http://127.0.0.1:{port}{next}"),
        "name" => format!("http://localhost:{port}{next}"),
        "relative" => format!("../{}/{kind}", left - 1),
        "query" => format!("{next}?x=y#z"),
        "blank" => "/a b/\u{e9}".to_owned(),
        "bad" => "http://%zz/".to_owned(),
        "ftp" => "ftp://x/".to_owned(),
        "empty" => String::new(),
        "far" => "http://192.0.2.1/".to_owned(),
        _ => next,
    };
    let header = if kind == "none" { String::new() } else { format!("Location: {location}\r\n") };
    let closes = kind == "closing";
    let end = if closes { "Connection: close\r\n" } else { "" };
    let bytes = format!("HTTP/1.1 {code} Elsewhere\r\nContent-Length: 3\r\n{header}{end}\r\nabc").into_bytes();
    Answer { bytes, closes }
}

fn drive(program: Option<&str>, options: &[&str], path: &str) -> (Said, Vec<String>) {
    let server = Recorder::start(answer);
    let url = format!("http://127.0.0.1:{}{path}", server.port);
    let line = [options, &[&url]].concat();
    let said = match program {
        Some(program) => Said::of(Command::new(program).args(&line).stdin(Stdio::null()).output().unwrap()),
        None => Stage::new().run(&[&["hey"], line.as_slice()].concat()),
    };
    // Names of headers may be written in any way.
    let lower = |request: &String| {
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let lines = head.lines().map(|line| match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
            None => line.to_owned(),
        });
        let mut lines: Vec<_> = lines.collect();
        lines[1..].sort_unstable();
        format!("{}\n\n{body}", lines.join("\n"))
    };
    (said, server.stop().iter().map(lower).collect())
}

/// The counts of statuses and of failures.
fn counts(said: &Said) -> (Vec<String>, u64) {
    let listed = |title: &str| {
        let (_, rest) = said.stdout.split_once(title).unwrap_or_default();
        rest.lines().skip(1).take_while(|line| line.starts_with("  [")).map(str::to_owned).collect::<Vec<_>>()
    };
    let number = |line: &String| line.split(['[', ']']).nth(1).and_then(|count| count.parse::<u64>().ok()).unwrap();
    (listed("Status code distribution:"), listed("Error distribution:").iter().map(number).sum())
}

#[test]
fn chains_are_those_of_hey() {
    let test = "chains_are_those_of_hey";
    if Command::new("hey").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        let _ = writeln!(io::stderr(), "SKIP {test}: needs hey");
        return;
    }
    let secrets = ["-H", "Authorization: Basic x", "-H", "Cookie: a=b", "-H", "Referer: q"];
    let post = ["-m", "POST", "-d", "body", "-T", "a/b"];
    for (options, path) in [
        (&[][..], "/302/1/path"),
        (&[], "/301/3/absolute"),
        (&post, "/301/1/path"),
        (&post, "/302/2/relative"),
        (&post, "/303/1/absolute"),
        (&post, "/307/1/path"),
        (&post, "/308/1/path"),
        (&["-m", "PUT"], "/308/2/relative"),
        (&["-m", "HEAD"], "/303/1/path"),
        (&["-m", "DELETE"], "/302/1/path"),
        (&secrets, "/302/1/absolute"),
        (&secrets, "/302/1/name"),
        (&["-host", "other"], "/302/1/relative"),
        (&["-host", "other"], "/302/1/absolute"),
        (&["-disable-keepalive"], "/302/2/path"),
        (&["-H", "Range: bytes=0-1", "-H", "Connection: close"], "/302/2/path"),
        (&[], "/302/1/query"),
        (&[], "/302/1/blank"),
        (&[], "/302/1/closing"),
        (&[], "/302/9/path"),
        (&[], "/302/10/path"),
        (&[], "/302/20/path"),
        (&[], "/302/1/none"),
        (&[], "/302/1/empty"),
        (&[], "/302/1/bad"),
        (&[], "/302/1/ftp"),
        (&[], "/300/1/path"),
        (&[], "/305/1/path"),
        (&["-disable-redirects"], "/302/1/path"),
    ] {
        let options = [&["-n", "3", "-c", "1"], options].concat();
        let (of_hey, expected) = drive(Some("hey"), &options, path);
        let (said, sent) = drive(None, &options, path);
        assert_eq!(sent, expected, "{options:?} {path} {said:?}");
        assert_eq!(counts(&said), counts(&of_hey), "{options:?} {path} {said:?} {of_hey:?}");
        assert_eq!((said.code, of_hey.code), (Some(0), Some(0)), "{said:?}");
    }
}

#[test]
fn redirects_to_other_places_are_followed_where_they_may_be() {
    let (said, sent) = drive(None, &["-n", "4", "-c", "2"], "/302/1/name");
    // Each chain is one request.
    assert_eq!((counts(&said).0, sent.len()), (vec!["  [200]\t4 responses".to_owned()], 8), "{said:?}");
    assert_eq!(sent.iter().filter(|request| request.contains("host: localhost:PORT")).count(), 4, "{sent:?}");
    let (said, sent) = drive(None, &["-n", "2", "-c", "1"], "/302/1/far");
    assert_eq!((counts(&said), sent.len()), ((Vec::new(), 2), 2), "{said:?}");
    let plain = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "A redirect was not followed: it leads to 192.0.2.1, which is neither this machine nor in a private network; \
               --allow-remote allows that.";
    assert!(plain.contains(why), "{said:?}");
}

#[test]
fn a_load_follows_redirects_where_it_is_told_to() {
    let stage = Stage::new();
    let run = |options: &[&str], path: &str| {
        let server = Recorder::start(answer);
        let url = format!("http://127.0.0.1:{}{path}", server.port);
        let said = stage.run(&[&["load", &url, "-n", "6", "-c", "2", "--json", "-"], options].concat());
        (said, server.stop())
    };
    let (said, sent) = run(&["--follow-redirects", "--check-status", "200"], "/302/2/relative");
    assert_eq!((said.code, sent.len()), (Some(0), 18), "{said:?}");
    let (said, sent) = run(&["--follow-redirects", "-b", "body"], "/307/1/path");
    let with_body = sent.iter().filter(|request| request.ends_with("\n\nbody")).count();
    assert_eq!((said.code, sent.len(), with_body), (Some(0), 12, 12), "{said:?}");
    let (said, sent) = run(&[], "/302/2/relative");
    assert_eq!((said.code, sent.len()), (Some(0), 6), "{said:?}");
    let (said, _) = run(&["--follow-redirects"], "/302/10/path");
    assert!(said.code == Some(5) && said.stdout.contains("stopped after 10 redirects"), "{said:?}");
}
