//! What a load by itself came to: for a terminal, as JSON, second by second, and as a file of percentiles.

mod advice;
mod events;
mod facts;
mod generators;
mod hdr;
mod json;
mod samples;
mod seconds;

use std::time::Duration;

use stampede_core::{Censored, Counts, Latencies, Load};
use stampede_seam::{FlowResult, FlowTally, GeneratorRecord, LoadResult, Measures, StepResult};

pub use self::advice::advice;
pub use self::hdr::hdr;
pub(crate) use self::json::WireLoad;
pub use self::json::json;
pub use self::samples::{SampleFormat, SampleLines};
pub(crate) use self::seconds::WireSecond;
pub use self::seconds::second;
use crate::tally::{counted, words};

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct LoadView<'a> {
    /// Where it went, as it was typed.
    pub url: &'a str,
    /// The load of each user class.
    pub loads: &'a [Load],
    /// What came of it.
    pub result: &'a LoadResult,
    /// Those who drove it together, if several did.
    pub generators: &'a [GeneratorRecord],
    /// How many of its requests were written down, if that was requested.
    pub samples: Option<SampleCount>,
}

/// Requests that were written down one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCount {
    /// Those that were.
    pub written: u64,
    /// Those that were not: the disk was slower than the load, or full.
    pub lost: u64,
}

impl LoadView<'_> {
    /// Right answers per second of the window.
    fn throughput(&self) -> f64 {
        self.rate(self.result.total.requests.ok)
    }

    /// Requests that were due per second of the window, where that does not follow from the answers.
    fn offered(&self) -> Option<f64> {
        let open = self.loads.iter().all(|load| matches!(load, Load::Open { .. }));
        open.then(|| self.rate(self.result.total.requests.sent + self.result.total.unsent))
    }

    /// The loads as they are written.
    fn load(&self) -> String {
        self.loads.iter().map(Load::to_string).collect::<Vec<_>>().join(" + ")
    }

    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.result.window.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A percentile that fewer requests exceed says more about them than about the server.
const EXCEEDANCES: f64 = 50.0;

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.50), ("p75", 0.75), ("p90", 0.90), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// For a terminal of 80 columns. It ends with a line break.
pub fn terminal(view: &LoadView<'_>) -> String {
    let result = view.result;
    let mut text = String::new();
    let Counts { sent, ok, failed, unfinished } = result.total.requests;
    let seconds = result.window.as_secs_f64();
    let threads = result.generator.threads;
    let s = if threads == 1 { "" } else { "s" };
    let mut line = |line: String| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(format!("{}: {} for {seconds:.2} s, {threads} thread{s}", view.url, view.load()));
    line(String::new());
    let mut counts = format!("  requests   {sent} sent, {ok} ok, {failed} failed, {unfinished} unfinished");
    if result.total.unsent > 0 {
        counts.push_str(&format!(", {} never sent", result.total.unsent));
    }
    line(counts);
    let offered = view.offered().map_or_else(String::new, |rate| format!(" of {rate:.1} due"));
    line(format!("  rate       {:.1} ok/s{offered}, {} received a second", view.throughput(), {
        bytes(result.bytes_received as f64 / seconds.max(f64::MIN_POSITIVE))
    }));
    line(format!("  status     {}", counted(result.total.status.iter())));
    if !result.total.errors.is_empty() {
        line(format!(
            "  errors     {}",
            counted(result.total.errors.iter().map(|(class, count)| (words(*class), count)))
        ));
    }
    if let Some(failure) = &result.first_failure {
        line(format!("             the first: {}", failure.detail));
    }
    facts::lines(&result.facts).into_iter().for_each(&mut line);
    if let Some(SampleCount { written, lost }) = view.samples {
        line(format!("  samples    {written} written, {lost} lost"));
    }
    let cpu = result.generator.cpu.as_secs_f64() * 1e6 / (sent.max(1) as f64);
    let spin = match result.spin {
        Duration::ZERO => String::new(),
        spin => format!(", and spun for {:.2} s before due times", spin.as_secs_f64()),
    };
    line(format!("  generator  {}, {cpu:.2} us CPU a request{spin}", result.backend));
    generators::lines(view.generators).into_iter().for_each(&mut line);
    if let Some(shares) = shares(&result.by_target) {
        line(format!("  targets    {shares} of the requests, by address"));
    }
    line(String::new());

    let names: String = QUANTILES.iter().map(|(name, _)| format!("{name:>9}")).collect();
    line(format!("  {:<11}{names}{:>9}", "ms", "max"));
    let complete = Censored::default();
    for (name, latencies, censored) in [
        ("response", &result.total.response, &result.total.censored),
        ("service", &result.total.service, &complete),
        ("first byte", &result.total.first_byte, &complete),
        ("connect", &result.total.connect, &complete),
        ("lateness", &result.total.lateness, &complete),
    ] {
        line(row(name, latencies, censored));
    }
    if result.total.tls.count() > 0 {
        line(row("tls", &result.total.tls, &complete));
    }
    line(String::new());
    if result.steps.len() > 1 {
        line(format!("  {:<32}{:>9}{:>8}{:>9}{:>9}{:>9}", "response by step", "ok", "failed", "p50", "p99", "max"));
        for StepResult { name, measures } in &result.steps {
            let Measures { response, censored, requests, .. } = measures;
            let name = short(name);
            let cells = match response.count() {
                0 => format!("{:>9}{:>9}{:>9}", "-", "-", "-"),
                _ => [Some(0.50), Some(0.99), None].map(|q| cell(response, censored, q)).concat(),
            };
            line(format!("  {name:<32}{:>9}{:>8}{cells}", requests.ok, requests.failed));
        }
        line(String::new());
    }
    events::lines(result).into_iter().for_each(&mut line);
    for FlowResult { name, count } in &result.flows {
        let FlowTally { begun, completed, abandoned } = count;
        line(format!("  flow {name}: {begun} begun, {completed} completed, {abandoned} abandoned"));
    }
    if !result.flows.is_empty() {
        line(String::new());
    }
    line("  response: from when a request was due; service: from when it was sent;".to_owned());
    line("  lateness: the generator's own delay. ~ rests on fewer than 50 requests;".to_owned());
    line("  >= is a lower bound.".to_owned());
    text
}

/// How many targets are shown one by one.
const MOST_TARGETS: usize = 6;

/// Which share of the requests each of several targets had: `24.9 %, 25.1 %`, or from the least to the most of many.
fn shares(by_target: &[u64]) -> Option<String> {
    let all = by_target.iter().sum::<u64>();
    if by_target.len() < 2 || all == 0 {
        return None;
    }
    let share = |count: &u64| format!("{:.1} %", *count as f64 / all as f64 * 100.0);
    if by_target.len() <= MOST_TARGETS {
        return Some(by_target.iter().map(share).collect::<Vec<_>>().join(", "));
    }
    let (least, most) = (by_target.iter().min()?, by_target.iter().max()?);
    Some(format!("{} each with {} to {}", by_target.len(), share(least), share(most)))
}

/// The name of a step, as far as it has room.
fn short(name: &str) -> String {
    name.chars().take(31).collect()
}

fn row(name: &str, latencies: &Latencies, censored: &Censored) -> String {
    if latencies.count() == 0 {
        return format!("  {name:<11}{:>9}", "-");
    }
    let quantiles: String = QUANTILES.iter().map(|(_, q)| cell(latencies, censored, Some(*q))).collect();
    format!("  {name:<11}{quantiles}{}", cell(latencies, censored, None))
}

/// A quantile, or the longest.
fn cell(latencies: &Latencies, censored: &Censored, quantile: Option<f64>) -> String {
    let (value, few) = match quantile {
        Some(q) => (latencies.quantile(q), latencies.count() as f64 * (1.0 - q) + 1e-6 < EXCEEDANCES),
        None => (latencies.max(), false),
    };
    let mark = match (censored.bounds(value), few) {
        (true, _) => ">=",
        (false, true) => "~",
        (false, false) => "",
    };
    format!("{:>9}", format!("{mark}{}", millis(value)))
}

fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1e3;
    match millis {
        ..10.0 => format!("{millis:.3}"),
        10.0..100.0 => format!("{millis:.2}"),
        100.0..1000.0 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

fn bytes(count: f64) -> String {
    match count {
        ..1e4 => format!("{count:.0} B"),
        1e4..1e7 => format!("{:.1} kB", count / 1e3),
        _ => format!("{:.1} MB", count / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_several_targets() {
        for (by_target, expected) in [
            (&[][..], None),
            (&[7], None),
            (&[0, 0], None),
            (&[1, 3], Some("25.0 %, 75.0 %")),
            (&[10, 10, 10, 10, 10, 10, 11], Some("7 each with 14.1 % to 15.5 %")),
        ] {
            assert_eq!(shares(by_target).as_deref(), expected, "{by_target:?}");
        }
    }
}
