//! Ctrl-C, SIGTERM and `kill -9`, of Stampede and of its warden: nothing is left, and what was measured is kept.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::Child;

use rustix::process::Signal;

use crate::stage::{Said, Stage, command_line, have, send, wait_until, warden_of, workload};

/// A study that is busy for longer than any test waits, on a server with several workers.
fn long_study(stage: &Stage) -> (Child, SocketAddr) {
    let child = stage.start(&[
        "compare",
        &workload("slow"),
        "--runtimes",
        "php-cli-server",
        "--cpus",
        "0.5",
        "--memory",
        "128Mi",
        "--duration",
        "10m",
        "--rounds",
        "1",
        "--load",
        "closed:4",
        "--set",
        "php-cli-server.PHP_CLI_SERVER_WORKERS=4",
        "--quiet",
    ]);
    let mut address = None;
    wait_until("the server and its workers run", || {
        let servers = stage.processes();
        address =
            servers.iter().flat_map(|(pid, _)| command_line(*pid)).find_map(|word| word.parse::<SocketAddr>().ok());
        // A master and four workers.
        if servers.len() >= 5 && address.is_some() { Ok(()) } else { Err(format!("{servers:?}")) }
    });
    (child, address.unwrap())
}

/// Waits for the end of a child; its exit code, if it had one.
pub(crate) fn end_of(child: &mut Child) -> Option<i32> {
    let mut code = None;
    wait_until("stampede ends", || match child.try_wait().unwrap() {
        Some(status) => {
            code = status.code();
            Ok(())
        }
        None => Err("it still runs".to_owned()),
    });
    code
}

/// Types Ctrl-C, and waits until it was heard.
pub(crate) fn ctrl_c(child: &mut Child) {
    send(child.id(), Signal::INT);
    // What comes after is for others to read.
    let (mut said, mut byte) = (Vec::new(), [0]);
    let stderr = child.stderr.as_mut().unwrap();
    while !said.ends_with(b"this round is completed first; Ctrl-C again ends at once\n") {
        assert!(stderr.read_exact(&mut byte).is_ok(), "{}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
}

fn assert_port_free(address: SocketAddr) {
    wait_until("the port is free", || TcpListener::bind(address).map(drop).map_err(|error| error.to_string()));
}

#[test]
fn a_signal_that_asks_to_stop_ends_everything() {
    if !have("a_signal_that_asks_to_stop_ends_everything", &["php"]) {
        return;
    }
    for (is_second, signal) in [(true, Signal::INT), (true, Signal::TERM), (false, Signal::TERM), (false, Signal::HUP)]
    {
        let stage = Stage::new();
        let (mut child, address) = long_study(&stage);
        if is_second {
            ctrl_c(&mut child);
        }
        send(child.id(), signal);
        assert_eq!(end_of(&mut child), Some(130));
        stage.assert_nothing_left();
        assert_port_free(address);
    }
}

#[test]
fn a_killed_stampede_leaves_nothing() {
    if !have("a_killed_stampede_leaves_nothing", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (mut child, address) = long_study(&stage);
    send(child.id(), Signal::KILL);
    assert_eq!(end_of(&mut child), None);
    stage.assert_nothing_left();
    assert_port_free(address);
}

#[test]
fn a_killed_warden_leaves_nothing_and_the_trial_fails() {
    if !have("a_killed_warden_leaves_nothing_and_the_trial_fails", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (mut child, address) = long_study(&stage);
    send(warden_of(child.id()).unwrap(), Signal::KILL);
    assert_eq!(end_of(&mut child), Some(5));
    stage.assert_nothing_left();
    assert_port_free(address);
}

#[test]
fn clean_finishes_the_job_when_stampede_and_warden_were_killed() {
    if !have("clean_finishes_the_job_when_stampede_and_warden_were_killed", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (mut child, address) = long_study(&stage);
    let warden = warden_of(child.id()).unwrap();
    // Stopped first, so that neither can do anything between the two signals.
    send(warden, Signal::STOP);
    send(child.id(), Signal::KILL);
    send(warden, Signal::KILL);
    end_of(&mut child);
    assert!(!stage.processes().is_empty(), "the servers should have outlived both");
    wait_until("clean gets the lease", || {
        let said = stage.run(&["clean"]);
        if said.stderr.contains("nothing to clean") { Err(format!("{said:?}")) } else { Ok(()) }
    });
    stage.assert_nothing_left();
    assert_port_free(address);
}

#[test]
fn a_living_study_is_left_alone_by_clean_and_named_to_a_second_one() {
    if !have("a_living_study_is_left_alone_by_clean_and_named_to_a_second_one", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (mut child, _) = long_study(&stage);
    let before = stage.processes().len();
    let said = stage.run(&["clean"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(stage.processes().len(), before);
    let said = stage.run(&["compare", &workload("slow"), "--runtimes", "php-cli-server", "--no-wait"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains(&format!("process {}: compare slow", child.id())), "{}", said.stderr);
    send(child.id(), Signal::TERM);
    end_of(&mut child);
    stage.assert_nothing_left();
}

/// Starts a short study and waits until it says that it waits for another one.
fn waiting_study(stage: &Stage) -> Child {
    let mut child = stage.start(&[
        "compare",
        &workload("slow"),
        "--runtimes",
        "php-cli-server",
        "--cpus",
        "0.5",
        "--memory",
        "128Mi",
        "--duration",
        "200ms",
        "--warm-up",
        "0",
        "--rounds",
        "1",
        "--load",
        "closed:2",
    ]);
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for another Stampede that is measuring: process "), "{line}");
    child
}

#[test]
fn a_second_stampede_waits_and_can_be_interrupted_while_it_does() {
    if !have("a_second_stampede_waits_and_can_be_interrupted_while_it_does", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let (mut first, _) = long_study(&stage);
    let mut impatient = waiting_study(&stage);
    send(impatient.id(), Signal::INT);
    assert_eq!(end_of(&mut impatient), Some(130));
    let patient = waiting_study(&stage);
    send(first.id(), Signal::TERM);
    end_of(&mut first);
    let said = Said::of(patient.wait_with_output().unwrap());
    // Its turn came: that it was held up in its window of a fifth of a second is another matter.
    assert!(said.code == Some(0) || said.was_held_up(), "{said:?}");
    stage.assert_nothing_left();
}
