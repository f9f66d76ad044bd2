//! gcannon (<https://github.com/MDA2AV/gcannon>).

use serde::Deserialize;

use super::{Answered, Closed, Tool, words};

pub(crate) const GCANNON: Tool = Tool::on_path("gcannon", &[], closed, read);

fn closed(run: &Closed) -> Vec<String> {
    words(&format!("gcannon {} -c {} -t 1 -d {} --json", run.url, run.connections, run.seconds()))
}

#[derive(Deserialize)]
struct Output {
    responses: u64,
    rps: f64,
    status: Statuses,
    errors: Errors,
}

#[derive(Deserialize)]
struct Statuses {
    #[serde(rename = "2xx")]
    right: u64,
}

#[derive(Deserialize)]
struct Errors {
    connect: u64,
    read: u64,
    timeout: u64,
}

fn read(output: &str) -> Option<Answered> {
    let Output { responses, rps, status, errors } = serde_json::from_str(output).ok()?;
    let Errors { connect, read, timeout } = errors;
    let wrong = responses.saturating_sub(status.right);
    Some(Answered { requests: status.right, rate: rps, failed: wrong + connect + read + timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/gcannon.json");
        assert_eq!(read(output), Some(Answered { requests: 13302, rate: 13299.71, failed: 0 }));
    }
}
