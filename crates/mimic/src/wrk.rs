//! `stampede wrk`: the options and the layout of wrk 4.1 (<https://github.com/wg/wrk>).

use std::fmt::Write as _;
use std::time::Duration;

use stampede_core::{ErrorClass, Latencies, Load, Protocol, Request};
use stampede_plan::Mistakes;
use stampede_seam::LoadResult;

use crate::Surroundings;
use crate::figures::{Moments, answered, at_most, at_rank, lost, with_status};
use crate::flags::{HELP, Style, Syntax, Typed, refused, switch, valued};
use crate::headers::{self, Headers};
use crate::tool_run::{DAY, Extras, ToolRun};

pub(crate) static SYNTAX: Syntax = Syntax {
    tool: "wrk",
    style: Style::GetoptLong,
    flags: &[
        valued(&["c", "connections"], "N", "Connections; each thread has N/T of them [default: 10]"),
        valued(&["d", "duration"], "TIME", "How long, as 30s, 2m or 1h [default: 10s]"),
        valued(&["t", "threads"], "T", "Threads; no more run than there are processors [default: 2]"),
        valued(&["H", "header"], "HEADER", "A header (may be repeated)"),
        switch(&["latency", "L"], "Print percentiles"),
        valued(&["timeout", "T"], "TIME", "Answers that take longer are counted as time-outs [default: 2s]"),
        switch(&["allow-remote"], "Allow a target that is neither this machine nor in a private network"),
        switch(&[HELP, "h"], "This help"),
        refused(&["s", "script"], Some("FILE"), "scripts are not run: see stampede load --help"),
        refused(&["v", "version"], None, "use stampede --version"),
    ],
    example: "-t 2 -c 200 -d 10s --latency http://127.0.0.1:8080/",
};

/// What the layout prints where it is asked to.
const PERCENTILES: &[u64] = &[50, 75, 90, 99];

/// What the layout says beside the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrk {
    url: String,
    /// As asked for; fewer are opened where threads do not divide them.
    connections: u32,
    opened: u32,
    threads: u32,
    duration: Duration,
    timeout: Duration,
    percentiles: bool,
}

/// Reads a command line.
pub(crate) fn read(mut typed: Typed, surroundings: Surroundings<'_>) -> Result<(ToolRun, Wrk), Mistakes> {
    let number = |text: &str| u32::try_from(scaled(text, &METRIC)?).ok().filter(|number| *number > 0);
    let time = |text: &str| {
        let length = Duration::from_secs(scaled(text, &TIMES)?);
        (Duration::from_secs(1)..=DAY).contains(&length).then_some(length)
    };
    let problem = "is not a length of time from 1s to a day";
    let connections = typed.value("c", number, "is not a number of connections", "for example -c 100").unwrap_or(10);
    let connections = typed.connections(connections, surroundings);
    let threads = typed.value("t", number, "is not a number of threads", "for example -t 2").unwrap_or(2);
    if connections < threads {
        typed.mistake(
            format!("-c {connections}"),
            format!("is less than the {threads} threads"),
            "each thread needs a connection",
        );
    }
    let duration = typed.value("d", time, problem, "for example -d 10s").unwrap_or(Duration::from_secs(10));
    let timeout = typed.value("timeout", time, problem, "for example --timeout 2s").unwrap_or(Duration::from_secs(2));
    let mut headers = Headers::default();
    for text in typed.all("H").collect::<Vec<_>>() {
        if let Some((name, value)) = headers::header(&mut typed, "-H", text) {
            headers.set(name, value);
        }
    }
    let keep_alive = !headers.take_close();
    let (host, headers) = headers.into_parts(&mut typed);
    let shown = typed.url();
    let url = typed.http_url(shown);
    let Some(url) = url.filter(|_| typed.mistakes.is_empty()) else {
        return Err(Mistakes(typed.mistakes));
    };
    let opened = connections - connections % threads;
    let layout = Wrk {
        url: shown.to_owned(),
        connections,
        opened,
        threads,
        duration,
        timeout,
        percentiles: typed.has("latency"),
    };
    let run = ToolRun {
        host: host.unwrap_or_else(|| url.authority.clone()),
        request: Request { method: "GET".to_owned(), path: url.path.clone(), headers, body: Vec::new() },
        url,
        protocol: Protocol::Http11,
        load: Load::Closed { connections: opened },
        requests: None,
        duration,
        // wrk does not wait for what is out when its time is over, and ends no request before.
        drain: Duration::ZERO,
        timeout: None,
        keep_alive,
        threads: threads as usize,
        allow_remote: typed.has("allow-remote"),
        quiet: false,
        extras: Extras::default(),
    };
    Ok((run, layout))
}

/// A number's units: their base, how much each is of the one before, and their names.
struct Units {
    base: &'static str,
    scale: u32,
    names: &'static [&'static str],
}

const METRIC: Units = Units { base: "", scale: 1000, names: &["k", "M", "G"] };
const BINARY: Units = Units { base: "", scale: 1024, names: &["K", "M", "G", "T"] };
const MICROSECONDS: Units = Units { base: "us", scale: 1000, names: &["ms"] };
const SECONDS: Units = Units { base: "s", scale: 60, names: &["m"] };
/// What is read: hours too, which wrk takes and never prints.
const TIMES: Units = Units { base: "s", scale: 60, names: &["m", "h"] };

/// Reads `10`, `2k`, `30s` or `1h`.
fn scaled(text: &str, units: &Units) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = if unit.is_empty() || unit.eq_ignore_ascii_case(units.base) {
        0
    } else {
        units.names.iter().position(|name| unit.eq_ignore_ascii_case(name))? + 1
    };
    number.parse::<u64>().ok()?.checked_mul(u64::from(units.scale).pow(u32::try_from(power).ok()?))
}

/// Writes a number with the unit in which it is not much below 1.
fn with_unit(number: f64, units: &Units, decimals: usize) -> String {
    let (mut number, mut unit) = (number, units.base);
    for name in units.names {
        if number < f64::from(units.scale) * 0.85 {
            break;
        }
        number /= f64::from(units.scale);
        unit = name;
    }
    format!("{number:.decimals$}{unit}")
}

fn time(ns: f64) -> String {
    if ns >= 1e9 { with_unit(ns / 1e9, &SECONDS, 2) } else { with_unit(ns / 1e3, &MICROSECONDS, 2) }
}

/// Right-aligned so that numbers stand below each other whether their unit has two letters, one or none.
fn aligned(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).take_while(char::is_ascii_alphabetic).count();
    let after = 2 - letters;
    format!("{text:>0$}{1:2$}", width - after, "", after)
}

impl Wrk {
    /// wrk's report, with a line break at its end. `-` stands where a figure is not measured.
    pub(crate) fn render(&self, result: &LoadResult) -> String {
        let Self { url, connections, opened: _, threads, duration, timeout, percentiles } = self;
        let seconds = result.window.as_secs_f64();
        let complete = answered(result);
        let mut text = String::new();
        let out = &mut text;
        let _ = writeln!(out, "Running {} test @ {url}", with_unit(duration.as_secs_f64(), &SECONDS, 0));
        let _ = writeln!(out, "  {threads} threads and {connections} connections");
        let _ = writeln!(out, "  Thread Stats   Avg      Stdev     Max   +/- Stdev");
        let Moments { mean, stddev, max, .. } = Moments::of(&result.total.service, result.total.service.count());
        let columns = [aligned(&time(mean), 8), aligned(&time(stddev), 10), aligned(&time(max), 9)].concat();
        let _ = writeln!(out, "    Latency   {columns}{:>9}", within(&result.total.service, mean, stddev));
        let each = with_unit(complete as f64 / seconds / f64::from(*threads), &METRIC, 2);
        let columns = [aligned(&each, 8), aligned("-", 10), aligned("-", 9)].concat();
        let _ = writeln!(out, "    Req/Sec   {columns}{:>7}", "-");
        if *percentiles {
            let _ = writeln!(out, "  Latency Distribution");
            for percent in PERCENTILES {
                let rank = (result.total.service.count() * percent).div_ceil(100);
                let latency = at_rank(&result.total.service, rank.max(1)).as_nanos() as f64;
                let _ = writeln!(out, "{percent:>7}%{}", aligned(&time(latency), 10).trim_end());
            }
        }
        let bytes = with_unit(result.bytes_received as f64, &BINARY, 2);
        let _ = writeln!(out, "  {complete} requests in {}, {bytes}B read", time(seconds * 1e9));
        let slow = slower(result, *timeout);
        let (mut connect, mut read) = (0, 0);
        for (class, count) in lost(result) {
            match class {
                ErrorClass::Refused | ErrorClass::Exhausted | ErrorClass::Tls => connect += count,
                _ => read += count,
            }
        }
        if connect + read + slow > 0 {
            let _ = writeln!(out, "  Socket errors: connect {connect}, read {read}, write 0, timeout {slow}");
        }
        let wrong = with_status(result, 400..=999);
        if wrong > 0 {
            let _ = writeln!(out, "  Non-2xx or 3xx responses: {wrong}");
        }
        let _ = writeln!(out, "Requests/sec: {:>9.2}", complete as f64 / seconds);
        let bytes = with_unit(result.bytes_received as f64 / seconds, &BINARY, 2);
        let _ = writeln!(out, "Transfer/sec: {bytes:>10}B");
        text
    }

    /// The percentiles that it prints.
    pub(crate) fn percentiles(&self) -> &'static [u64] {
        if self.percentiles { PERCENTILES } else { &[] }
    }

    /// What wrk does not report, beyond what no tool reports.
    pub(crate) fn remarks(&self, result: &LoadResult) -> Vec<String> {
        let mut remarks = Vec::new();
        let slow = slower(result, self.timeout);
        if slow > 0 {
            remarks.push(format!(
                "wrk leaves the {slow} answers beyond --timeout out of its latencies; here they are in."
            ));
        }
        if self.opened < self.connections {
            let Self { opened, connections, .. } = self;
            remarks.push(format!(
                "{opened} of the {connections} connections were opened: each thread has the same number."
            ));
        }
        remarks
    }
}

/// Answers that took longer than this.
fn slower(result: &LoadResult, timeout: Duration) -> u64 {
    result.total.service.count() - at_most(&result.total.service, timeout)
}

/// The share of latencies within one standard deviation around the mean.
fn within(latencies: &Latencies, mean: f64, stddev: f64) -> String {
    let up_to = |ns: f64| at_most(latencies, Duration::from_nanos(ns.max(0.0) as u64));
    match latencies.count() {
        0 => "-".to_owned(),
        count => {
            let share = (up_to(mean + stddev) - up_to(mean - stddev)) as f64 / count as f64;
            format!("{:.2}%", share * 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::sample::{self, bad, good, none};

    fn asked(line: &str) -> Result<(ToolRun, Wrk), Vec<String>> {
        sample::read(&SYNTAX, read, line)
    }

    #[test]
    fn published_commands_are_read() {
        let (run, _) = asked("-c 200 -d 10s http://127.0.0.1:8787/").unwrap();
        assert_eq!((run.load, run.requests), (Load::Closed { connections: 200 }, None));
        assert_eq!((run.duration, run.drain, run.timeout), (Duration::from_secs(10), Duration::ZERO, None));
        assert_eq!((run.threads, run.host.as_str()), (2, "127.0.0.1:8787"));
        assert!(run.request.headers.is_empty());
    }

    #[test]
    fn each_thread_has_as_many_connections() {
        for (line, connections, seconds) in [
            ("http://h/", 10, 10),
            ("http://h/ -c5", 4, 10),
            ("--connections=1k -t 3 -d 2M http://h/", 999, 120),
            ("-d 1h http://h/", 10, 3600),
        ] {
            let (run, _) = asked(line).unwrap();
            assert_eq!((run.load.connections(), run.duration.as_secs()), (connections, seconds), "{line}");
        }
    }

    #[test]
    fn headers_replace_each_other() {
        let (run, _) = asked("-H X:1 -H x:2 -H Host:other -H Connection:close http://h/").unwrap();
        assert_eq!(run.request.headers, [("x".to_owned(), "2".to_owned())].into());
        assert_eq!((run.host.as_str(), run.keep_alive), ("other", false));
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let line = "-c 2x -t none -d 0 --timeout 5ms -H x -s script.lua --version -Q ftp://h/ more";
        let places = [
            "-s script.lua",
            "--version",
            "-Q",
            "-c 2x",
            "-t none",
            "-d 0",
            "--timeout 5ms",
            "-H \"x\"",
            "more",
            "URL ftp://h/",
        ];
        assert_eq!(asked(line).unwrap_err(), places);
        assert_eq!(asked("-c 1").unwrap_err(), ["-c 1", "URL"]);
    }

    #[test]
    fn units_are_wrks() {
        // As wrk prints them: format_units steps up at 0.85 of the next unit.
        for (ns, expected) in [
            (0.0, "0.00us"),
            (849_000.0, "849.00us"),
            (850_000.0, "0.85ms"),
            (849_999_999.0, "850.00ms"),
            (999_999_999.0, "1000.00ms"),
            (1e9, "1.00s"),
            (51e9, "0.85m"),
        ] {
            assert_eq!(time(ns), expected, "{ns}");
        }
        for (bytes, expected) in [(0.0, "0.00"), (870.0, "870.00"), (871.0, "0.85K"), (1e6, "0.95M")] {
            assert_eq!(with_unit(bytes, &BINARY, 2), expected, "{bytes}");
        }
    }

    #[test]
    fn the_layout_is_wrks() {
        let (_, wrk) = asked("-c 100 -t 2 -d 10 --latency http://127.0.0.1:8080/").unwrap();
        assert_snapshot!("wrk_good", wrk.render(&good()));
        assert_snapshot!("wrk_none", wrk.render(&none()));
        let (_, wrk) = asked("-c 101 -t 2 -d 10 http://127.0.0.1:8080/").unwrap();
        assert_snapshot!("wrk_bad", wrk.render(&bad()));
    }

    #[test]
    fn what_differs_from_wrk_is_told() {
        let (_, wrk) = asked("-c 101 -t 2 --timeout 1s http://h/").unwrap();
        let mut result = good();
        result.total.service.record_ns(1_500_000_000);
        assert_snapshot!(wrk.remarks(&result).join("\n"), @r"
        wrk leaves the 1 answers beyond --timeout out of its latencies; here they are in.
        100 of the 101 connections were opened: each thread has the same number.
        ");
    }
}
