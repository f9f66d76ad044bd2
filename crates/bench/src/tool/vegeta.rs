//! vegeta (<https://github.com/tsenart/vegeta>).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Answered, Closed, Tool};

pub(crate) const VEGETA: Tool = Tool { drains: true, ..Tool::on_path("vegeta", &["vegeta", "-version"], closed, read) };

/// Two programs and a pipe between them: without a report it says nothing.
fn closed(run: &Closed) -> Vec<String> {
    let (connections, seconds, url) = (run.connections, run.seconds(), &run.url);
    let workers = format!("-workers={connections} -max-workers={connections} -connections={connections}");
    let attack = format!("vegeta attack -rate=0 {workers} -duration={seconds}");
    vec!["sh".to_owned(), "-c".to_owned(), format!("echo GET {url} | {attack} | vegeta report -type=json")]
}

#[derive(Deserialize)]
struct Output {
    requests: u64,
    throughput: f64,
    status_codes: BTreeMap<String, u64>,
}

fn read(output: &str) -> Option<Answered> {
    let Output { requests, throughput, status_codes } = serde_json::from_str(output).ok()?;
    let right = status_codes.get("200").copied().unwrap_or(0);
    Some(Answered { requests: right, rate: throughput, failed: requests.saturating_sub(right) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/vegeta.json");
        assert_eq!(read(output), Some(Answered { requests: 3889, rate: 3_870.257_153_489_396, failed: 0 }));
    }
}
