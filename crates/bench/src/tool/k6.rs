//! k6 (<https://k6.io>).

use super::{Answered, Closed, Tool, after, words};

pub(crate) const K6: Tool =
    Tool { once: Some(once), file: Some(("k6.js", SCRIPT)), ..Tool::on_path("k6", &["k6", "version"], closed, read) };

const SCRIPT: &str = "import http from 'k6/http';\nexport default function () { http.get(__ENV.URL); }\n";

fn closed(run: &Closed) -> Vec<String> {
    let (connections, seconds, url) = (run.connections, run.seconds(), &run.url);
    words(&format!("k6 run --quiet --no-usage-report --vus {connections} --duration {seconds} -e URL={url} k6.js"))
}

fn once(url: &str) -> Vec<String> {
    words(&format!("k6 run --quiet --no-usage-report --vus 1 --iterations 1 -e URL={url} k6.js"))
}

/// Its summary for people: `http_reqs......: 2998   1484.083737/s`
fn read(output: &str) -> Option<Answered> {
    let line = output.lines().find(|line| line.trim_start().starts_with("http_reqs"))?;
    let (_, figures) = line.split_once(':')?;
    let mut figures = figures.split_whitespace();
    let all: u64 = figures.next()?.parse().ok()?;
    let rate: f64 = figures.next()?.trim_end_matches("/s").parse().ok()?;
    let failed: u64 = after(output.split_once("http_req_failed")?.1, "% ")?;
    Some(Answered::among(all, failed, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/k6.txt");
        assert_eq!(read(output), Some(Answered { requests: 2998, rate: 1_484.083_737, failed: 0 }));
    }
}
