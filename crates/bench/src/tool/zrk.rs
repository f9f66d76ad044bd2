//! zrk (<https://github.com/zoxy-io/zrk>).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Answered, Closed, Tool, words};

pub(crate) const ZRK: Tool = Tool::on_path("zrk", &["zrk", "--version"], closed, read);

/// It has no closed loop: with a rate that no server reaches, each connection's next request is always overdue.
const RATE: u32 = 1_000_000;

fn closed(run: &Closed) -> Vec<String> {
    let (connections, seconds, url) = (run.connections, run.seconds(), &run.url);
    words(&format!("zrk -t1 -c{connections} -d{seconds} -R{RATE} --format json {url}"))
}

#[derive(Deserialize)]
struct Output {
    achieved_rate: f64,
    status_codes: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
}

fn read(output: &str) -> Option<Answered> {
    let Output { achieved_rate, status_codes, errors } = serde_json::from_str(output).ok()?;
    let requests = *status_codes.get("2xx")?;
    Some(Answered { requests, rate: achieved_rate, failed: errors.values().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/zrk.json");
        assert_eq!(read(output), Some(Answered { requests: 26190, rate: 13068.37, failed: 0 }));
    }
}
