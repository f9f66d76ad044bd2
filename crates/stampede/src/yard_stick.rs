//! The yard-stick: `stampede __yard-stick`, a fixed server, and how a study measures it.
//!
//! Each request takes the same work: steps that each wait for the one before and for a word of a table that fits a core's own
//! cache, as much of an interpreter's time goes. So it slows down with the processor, with neighbours on it and with time that
//! is taken away, and with nothing that the runtimes under test do.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use stampede_core::{
    Body, Case, CaseId, Exchange, Expectation, Load, Random, Request, RuntimeId, Terms, Topology, Tuning, Workload,
    WorkloadId,
};
use stampede_harness::{Conditions, Prepared, YardStick};

use crate::exit::Failure;
use crate::folders;

/// The command that serves it; its argument is the address.
pub(crate) const COMMAND: &str = "__yard-stick";

const ID: &str = "yard-stick";

/// Steps of a request: about 0.2 ms of a core of 2020, so that the generator is far from its limit.
const STEPS: u32 = 20_000;

/// Words of the table: 256 KiB, more than the first cache of a core and less than its second.
const WORDS: usize = 1 << 15;

/// Connections of its load, which is closed whatever the study's is: the rate is what it is there to tell.
const CONNECTIONS: u32 = 16;

/// Its window is an eighth of the study's within these, so that it takes little of the time and is still worth reading.
const LEAST_WINDOW: Duration = Duration::from_millis(300);
const MOST_WINDOW: Duration = Duration::from_secs(1);

/// A whole number of the kernel's quota periods.
const PERIOD_MS: u128 = 100;

/// The yard-stick of a study under these conditions, with windows of this length.
pub(crate) fn of(conditions: &Conditions, duration: Duration, platform: &str) -> Result<YardStick, Failure> {
    let program = env::current_exe().map_err(Failure::missing)?;
    let found = fs::metadata(&program).map_err(Failure::missing)?;
    // Whatever the version says, another file is another program.
    let version = format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec());
    let app = folders::cache()?.join(ID);
    fs::create_dir_all(&app).map_err(Failure::missing)?;
    let case = Case {
        id: CaseId::new(ID),
        runtime: RuntimeId::new(ID),
        runtime_version: env!("CARGO_PKG_VERSION").to_owned(),
        app: String::new(),
        revision: None,
        php: None,
        tuning: Tuning::new(),
        limits: conditions.limits,
        topology: Topology::default(),
        platform: platform.to_owned(),
        base_image: None,
        pinning: conditions.pinning.clone(),
        load: Load::Closed { connections: CONNECTIONS },
        beside: Vec::new(),
    };
    let deployment = stampede_runtimes::yard_stick(&program, &version, &[COMMAND], &app);
    let prepared = Prepared::alone(case, deployment, Terms::of(conditions.limits));
    let request =
        Request { method: "GET".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    let expect = Expectation { status: 200, body: Body::Bytes(body(&table()).into_bytes()), gzip: false };
    let workload = Workload {
        id: WorkloadId::new(ID),
        title: String::new(),
        apps: Vec::new(),
        exchanges: vec![Exchange { name: ID.to_owned(), request, expect, in_load: true, once: false, optional: false }],
        play: None,
        services: Vec::new(),
        audits: Vec::new(),
    };
    Ok(YardStick { prepared, workload, window: window(duration) })
}

fn window(duration: Duration) -> Duration {
    let wanted = (duration / 8).clamp(LEAST_WINDOW, MOST_WINDOW);
    Duration::from_millis((wanted.as_millis() / PERIOD_MS * PERIOD_MS) as u64)
}

/// Serves until it is ended.
pub(crate) fn serve(address: &str) -> ExitCode {
    let table: Arc<[u64]> = table().into();
    let accept = || -> io::Result<()> {
        for connection in TcpListener::bind(address)?.incoming() {
            let (connection, table) = (connection?, Arc::clone(&table));
            thread::spawn(move || answer(&connection, &table));
        }
        Ok(())
    };
    match accept() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{COMMAND} {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers every request of a connection until it is closed. None has a body.
fn answer(connection: &TcpStream, table: &[u64]) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let (mut requests, mut answers) = (BufReader::new(connection), connection);
    let mut line = String::new();
    loop {
        line.clear();
        if requests.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            let body = body(table);
            let length = body.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}");
            answers.write_all(answer.as_bytes())?;
        }
    }
}

fn table() -> Vec<u64> {
    let mut random = Random(1);
    (0..WORDS).map(|_| random.draw()).collect()
}

/// The work of a request, and what comes of it.
fn body(table: &[u64]) -> String {
    let state = (0..STEPS).fold(1, |state, _| step(state, table));
    format!("{state:016x}\n")
}

fn step(state: u64, table: &[u64]) -> u64 {
    (state ^ table[place(state)]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// The word that a step waits for.
fn place(state: u64) -> usize {
    (state >> 49) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_window_is_of_whole_periods_and_short() {
        for (study_ms, window_ms) in
            [(100, 300), (2_000, 300), (4_000, 500), (5_000, 600), (8_000, 1_000), (60_000, 1_000)]
        {
            assert_eq!(window(Duration::from_millis(study_ms)).as_millis(), window_ms, "{study_ms}");
        }
    }

    #[test]
    fn the_work_is_the_same_every_time_and_reaches_all_of_the_table() {
        let table = table();
        assert_eq!(body(&table), body(&table));
        let mut seen = BTreeSet::new();
        (0..STEPS).fold(1, |state, _| {
            seen.insert(place(state));
            step(state, &table)
        });
        // 20,000 draws of 32,768 places reach 46 % of them.
        assert!((14_000..16_500).contains(&seen.len()), "{}", seen.len());
    }
}
