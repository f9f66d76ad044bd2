//! oha (<https://github.com/hatoo/oha>).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Answered, Closed, Tool, words};

pub(crate) const OHA: Tool = Tool { once: Some(once), ..Tool::on_path("oha", &["oha", "--version"], closed, read) };

fn closed(run: &Closed) -> Vec<String> {
    let (connections, seconds, url) = (run.connections, run.seconds(), &run.url);
    words(&format!("oha -c {connections} -z {seconds} --no-tui --output-format json {url}"))
}

fn once(url: &str) -> Vec<String> {
    words(&format!("oha -c 1 -n 1 --no-tui --output-format json {url}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    summary: Summary,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Summary {
    /// In seconds. The rate that stands beside it counts what was given up too.
    total: f64,
}

/// What it gives up at the end, once for each connection at most, is no failure of a request.
const GIVEN_UP: &str = "aborted due to deadline";

fn read(output: &str) -> Option<Answered> {
    let Output { summary, status_code_distribution, error_distribution } = serde_json::from_str(output).ok()?;
    let of = |wanted: fn(&str) -> bool, counts: &BTreeMap<String, u64>| {
        counts.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| count).sum::<u64>()
    };
    let requests = of(|status| status == "200", &status_code_distribution);
    let wrong = of(|status| status != "200", &status_code_distribution);
    let broken = of(|error| error != GIVEN_UP, &error_distribution);
    Some(Answered { requests, rate: requests as f64 / summary.total, failed: wrong + broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/oha.json");
        let expected = Answered { requests: 1286, rate: 1286.0 / 1.047_008_158, failed: 0 };
        assert_eq!(read(output), Some(expected));
    }
}
