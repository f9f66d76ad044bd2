//! The dashboard as its users start and end it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::stage::{PATIENCE, Stage, send};

/// A study with something in every record.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/data/version-13.stampede-study");

/// The first line that a dashboard prints: its address.
fn address(dashboard: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(dashboard.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn get(host: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_dashboard_is_started_looked_at_and_ended() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["import-study", FILE]).code, Some(0));
    let mut dashboard = stage.start(&["serve", "--listen", "127.0.0.1:0"]);
    let printed = address(&mut dashboard);
    let host = printed.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap().to_owned();
    let page = get(&host, "/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("0713-a"), "{page}");

    let second = stage.run(&["serve", "--listen", &host]);
    assert_eq!(second.code, Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("another program has that port; give another with --listen"), "{}", second.stderr);

    send(dashboard.id(), Signal::INT);
    let ended = dashboard.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

#[test]
fn a_dashboard_with_a_token_prints_the_address_that_opens_it() {
    let stage = Stage::new();
    let file = stage.home().join("token");
    fs::write(&file, "short\n").unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0", "--token-file", file.to_str().unwrap()];
    let refused = stage.run(&args);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("16 characters"), "{}", refused.stderr);

    fs::write(&file, "0123456789abcdef\n").unwrap();
    let mut dashboard = stage.start(&args);
    let printed = address(&mut dashboard);
    let (host, query) = printed.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    assert_eq!(query, "?token=0123456789abcdef");
    assert!(get(host, "/").starts_with("HTTP/1.1 401"));
    assert!(get(host, &format!("/{query}")).starts_with("HTTP/1.1 303"));
    send(dashboard.id(), Signal::TERM);
    assert_eq!(dashboard.wait().unwrap().code(), Some(0));
}

#[test]
fn help_says_who_sees_a_dashboard() {
    let said = Stage::new().run(&["serve", "--help"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_snapshot!("help_serve", said.stdout);
}
