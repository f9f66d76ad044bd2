//! The clients that are compared: how each is started and how its output is read, one a file.

mod ab;
mod floor;
mod gcannon;
mod h2load;
mod hey;
mod k6;
mod oha;
mod stampede;
mod vegeta;
mod wrk;
mod zrk;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use self::floor::FLOOR;
pub(crate) use self::h2load::H2LOAD;
pub(crate) use self::stampede::{STAMPEDE, StampedeRun, command_line as stampede_command_line};
pub(crate) use self::wrk::WRK;

/// Every tool that takes part in the closed loop, in the order of the tables.
pub(crate) const ALL: [&Tool; 11] = [
    &FLOOR,
    &STAMPEDE,
    &WRK,
    &h2load::H2LOAD,
    &hey::HEY,
    &ab::AB,
    &gcannon::GCANNON,
    &zrk::ZRK,
    &oha::OHA,
    &k6::K6,
    &vegeta::VEGETA,
];

/// A program that sends requests and says how many were answered.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) source: Source,
    /// The command line, program first, of a closed loop on one thread.
    pub(crate) closed: fn(&Closed) -> Vec<String>,
    /// The command line of one request on one connection, where the tool can count.
    pub(crate) once: Option<fn(&str) -> Vec<String>>,
    /// A file that it needs in its working folder.
    pub(crate) file: Option<(&'static str, &'static str)>,
    /// Whether it waits for all answers before it ends, so that its count is the server's.
    pub(crate) drains: bool,
    /// Reads what it printed on stdout; `None` when that is not what it prints.
    pub(crate) read: fn(&str) -> Option<Answered>,
}

impl Tool {
    /// A program on `PATH` that cannot count, needs no file, and ends without waiting for answers.
    const fn on_path(
        name: &'static str,
        version: &'static [&'static str],
        closed: fn(&Closed) -> Vec<String>,
        read: fn(&str) -> Option<Answered>,
    ) -> Self {
        let source = Source::Path { program: name, version };
        Self { name, source, closed, once: None, file: None, drains: false, read }
    }
}

/// Where a tool comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// This program itself.
    Bench,
    /// The program under test.
    Stampede,
    /// A program on `PATH`.
    Path {
        program: &'static str,
        /// The command that prints its version, if there is one.
        version: &'static [&'static str],
    },
}

/// A closed loop.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    pub(crate) url: String,
    pub(crate) connections: u32,
    /// In whole seconds: some tools take nothing else.
    pub(crate) duration: Duration,
}

impl Closed {
    fn seconds(&self) -> String {
        format!("{}s", self.duration.as_secs())
    }
}

/// What a tool says of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answered {
    /// Right answers.
    pub(crate) requests: u64,
    /// Right answers a second.
    pub(crate) rate: f64,
    /// Requests that the tool calls failed.
    pub(crate) failed: u64,
}

impl Answered {
    /// Of a tool that counts wrong answers among all, and gives the rate of all.
    fn among(all: u64, wrong: u64, rate: f64) -> Self {
        let requests = all.saturating_sub(wrong);
        Self { requests, rate: rate * (requests as f64 / all as f64), failed: wrong }
    }
}

/// A program on `PATH`, or where distributions keep what only root needs.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
    env::split_paths(&path)
        .chain(administrators.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The words of a line.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The first word after a label, read as a number.
fn after<T: std::str::FromStr>(text: &str, label: &str) -> Option<T> {
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.trim_end_matches([',', ';']).parse().ok()
}
