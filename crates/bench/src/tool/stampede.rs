//! `stampede load` itself.

use serde::Deserialize;

use super::{Answered, Closed, Source, Tool, words};
use crate::exchange::BODY;

pub(crate) const STAMPEDE: Tool =
    Tool { name: "stampede", source: Source::Stampede, closed, once: Some(once), file: None, drains: true, read };

/// The command line of a run with all checks on and some flags of its own.
pub(crate) fn command_line(url: &str, flags: &str) -> Vec<String> {
    let mut line = words(&format!("stampede load {url} --threads 1 {flags} --json - --quiet --check-status 200"));
    line.extend(["--check-body-equals".to_owned(), BODY.to_owned()]);
    line
}

fn closed(run: &Closed) -> Vec<String> {
    command_line(&run.url, &format!("-c {} -d {}", run.connections, run.seconds()))
}

fn once(url: &str) -> Vec<String> {
    command_line(url, "-c 1 -n 1")
}

/// What `stampede load --json` says, as far as it is used here (schema `stampede/load/v1`).
#[derive(Debug, Deserialize)]
pub(crate) struct StampedeRun {
    pub(crate) requests: Requests,
    pub(crate) throughput_rps: f64,
    pub(crate) offered_rps: Option<f64>,
    pub(crate) lateness_us: Lateness,
    pub(crate) generator: Generator,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Requests {
    pub(crate) sent: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) unfinished: u64,
}

/// From when a request could have been begun to when it was, in microseconds.
#[derive(Debug, Deserialize)]
pub(crate) struct Lateness {
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) p999: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Generator {
    pub(crate) backend: String,
    pub(crate) spin_seconds: f64,
}

impl StampedeRun {
    /// `None` when that is not its output.
    pub(crate) fn read(output: &str) -> Option<Self> {
        serde_json::from_str(output).ok()
    }
}

fn read(output: &str) -> Option<Answered> {
    let run = StampedeRun::read(output)?;
    let failed = run.requests.failed + run.requests.unfinished;
    Some(Answered { requests: run.requests.ok, rate: run.throughput_rps, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/stampede.json");
        assert_eq!(read(output).map(|read| (read.requests, read.failed)), Some((46059, 0)));
        let run = StampedeRun::read(output).unwrap();
        assert_eq!(run.generator.backend, "epoll");
        assert!(run.lateness_us.p999 > run.lateness_us.p50);
    }
}
