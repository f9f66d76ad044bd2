//! `stampede wrk`: the options and the layout of wrk 4.1 (<https://github.com/wg/wrk>), and those of wrk2 where a rate is given.

use std::fmt::Write as _;
use std::time::Duration;

use stampede_core::{Arrivals, ErrorClass, Latencies, Load, Protocol, Request};
use stampede_plan::{HttpUrl, Mistakes};
use stampede_seam::LoadResult;

use crate::Surroundings;
use crate::figures::{Moments, answered, at_most, at_rank, counts_us, lost, with_status};
use crate::flags::{HELP, Style, Typed, switch, valued};
use crate::headers::{self, Headers};
use crate::rates::Rates;
use crate::syntax::Syntax;
use crate::tool_run::{DAY, Extras, ToolRun};
use crate::wrk_script::{WrkScript, WrkTotals};
use crate::wrk2;

pub(crate) static SYNTAX: Syntax = Syntax {
    tool: "wrk",
    style: Style::GetoptLong,
    flags: &[
        valued(&["c", "connections"], "N", "Connections; each thread has N/T of them [default: 10]"),
        valued(&["d", "duration"], "TIME", "How long, as 30s, 2m or 1h [default: 10s]"),
        valued(&["t", "threads"], "T", "Threads, each with its own connections [default: 2]"),
        valued(&["H", "header"], "HEADER", "A header (may be repeated)"),
        switch(&["latency", "L"], "Print percentiles"),
        valued(
            &["s", "script"],
            "FILE",
            "A Lua script that writes the requests; arguments after the URL are passed to it",
        ),
        valued(&["timeout", "T"], "TIME", "Answers that take longer are counted as time-outs [default: 2s]"),
        valued(&["R", "rate"], "N", "wrk2: so many requests a second, all connections together"),
        switch(&["U", "u_latency"], "wrk2: print latencies from when requests were sent, too"),
        switch(&["B", "batch_latency"], "wrk2: latencies of whole pipelines, as they always are here"),
        switch(&["allow-remote"], "Allow a target that is neither this machine nor in a private network"),
        switch(&[HELP, "h"], "This help"),
        switch(&["v", "version"], "Print the version first"),
    ],
    example: "-t 2 -c 200 -d 10s --latency http://127.0.0.1:8080/",
    exit_codes: "0 done, whatever the answers; 1 a mistake, an error in a script, or nobody listens. They are wrk's.",
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
    /// Whether the version is printed first.
    version: bool,
    /// Where a rate is given: whether latencies from when requests were sent are printed too.
    paced: Option<bool>,
    pub(crate) rates: Rates,
    script: Option<WrkScript>,
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
    let load = rate(&mut typed, connections - connections % threads);
    let script = script(&mut typed, load.is_some(), surroundings);
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
    let script = script.map(|script| WrkScript { port: typed_port(&url), ..script });
    let opened = connections - connections % threads;
    let layout = Wrk {
        url: shown.to_owned(),
        connections,
        opened,
        threads,
        duration,
        timeout,
        percentiles: typed.has("latency") || typed.has("U"),
        version: typed.has("v"),
        paced: load.as_ref().map(|_| typed.has("U")),
        rates: Rates::default(),
        script,
    };
    let run = ToolRun {
        host: host.unwrap_or_else(|| url.authority.clone()),
        request: Request { method: "GET".to_owned(), path: url.path.clone(), headers, body: Vec::new() },
        url,
        protocol: Protocol::Http11,
        load: load.unwrap_or(Load::Closed { connections: opened }),
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

/// The load of wrk2, which has a rate.
fn rate(typed: &mut Typed, connections: u32) -> Option<Load> {
    let read = |text: &str| {
        let rate = scaled(text, &METRIC).filter(|rate| *rate > 0)?;
        let load = format!("open:{rate}").parse().ok()?;
        let Load::Open { schedule, .. } = load else { return None };
        Some(Load::Open { schedule, arrivals: Arrivals::Uniform, connections })
    };
    if typed.has("R") {
        return typed.value("R", read, "is not a rate", "for example -R 2000");
    }
    for (name, flag) in [("U", "-U"), ("B", "-B")] {
        if typed.has(name) {
            typed.mistake(flag, "is of wrk2, which has a rate", "give one, for example -R 2000, or leave it out");
        }
    }
    None
}

/// The script, which takes all that follows the URL.
fn script(typed: &mut Typed, is_paced: bool, surroundings: Surroundings<'_>) -> Option<WrkScript> {
    let file = typed.last("s")?.to_owned();
    let text = typed.file("-s", &file, surroundings);
    let args = typed.operands.iter().map(|operand| (*operand).to_owned()).collect();
    typed.operands.truncate(1);
    let mut headers = Vec::new();
    for text in typed.all("H").collect::<Vec<_>>() {
        if let Some((name, value)) = text.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    Some(WrkScript { file, text, port: None, headers, args, is_paced })
}

/// The port as typed, where there is one.
fn typed_port(url: &HttpUrl) -> Option<String> {
    let (_, port) = url.authority.rsplit_once(':')?;
    (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())).then(|| port.to_owned())
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
        let Self { url, connections, threads, duration, percentiles, paced, rates, .. } = self;
        let latencies = self.latencies(result);
        let seconds = result.window.as_secs_f64();
        let complete = answered(result);
        let mut text = if self.version { version() } else { String::new() };
        let out = &mut text;
        let _ = writeln!(out, "Running {} test @ {url}", with_unit(duration.as_secs_f64(), &SECONDS, 0));
        let _ = writeln!(out, "  {threads} threads and {connections} connections");
        let _ = writeln!(out, "  Thread Stats   Avg      Stdev     Max   +/- Stdev");
        let Moments { mean, stddev, max, .. } = Moments::of(latencies, latencies.count());
        let columns = [aligned(&time(mean), 8), aligned(&time(stddev), 10), aligned(&time(max), 9)].concat();
        let _ = writeln!(out, "    Latency   {columns}{:>9}", within(latencies, mean, stddev));
        let _ = writeln!(out, "    Req/Sec   {}", each_thread(rates, complete as f64 / seconds / f64::from(*threads)));
        let latency = |ns: f64| aligned(&time(ns), 10).trim_end().to_owned();
        if *percentiles && let Some(uncorrected) = paced {
            out.push_str(&wrk2::table("Recorded Latency", latencies, latency));
            if *uncorrected {
                let title = "Uncorrected Latency (measured without taking delayed starts into account)";
                let _ = write!(out, "\n{}", wrk2::table(title, &result.total.service, latency));
            }
        } else if *percentiles {
            let _ = writeln!(out, "  Latency Distribution");
            for percent in PERCENTILES {
                let rank = (latencies.count() * percent).div_ceil(100);
                let ns = at_rank(latencies, rank.max(1)).as_nanos() as f64;
                let _ = writeln!(out, "{percent:>7}%{}", latency(ns));
            }
        }
        let bytes = with_unit(result.bytes_received as f64, &BINARY, 2);
        let _ = writeln!(out, "  {complete} requests in {}, {bytes}B read", time(seconds * 1e9));
        let slow = self.slower(result);
        let (connect, read) = socket_errors(result);
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

    /// From when a request was due, where a rate is given; otherwise from when it was sent.
    fn latencies<'a>(&self, result: &'a LoadResult) -> &'a Latencies {
        if self.paced.is_some() { &result.total.response } else { &result.total.service }
    }

    pub(crate) fn take_script(&mut self) -> Option<WrkScript> {
        self.script.take()
    }

    /// What the script is told at the end.
    pub(crate) fn totals(&self, result: &LoadResult) -> WrkTotals {
        let (connect, read) = socket_errors(result);
        WrkTotals {
            duration_us: u64::try_from(result.window.as_micros()).unwrap_or(u64::MAX),
            requests: answered(result),
            bytes: result.bytes_received,
            connect,
            read,
            status: with_status(result, 400..=999),
            timeout: self.slower(result),
            latency_us: counts_us(self.latencies(result)),
            rates: self.rates.all().to_vec(),
        }
    }

    /// The percentiles that it prints.
    pub(crate) fn percentiles(&self) -> &'static [u64] {
        if self.percentiles { PERCENTILES } else { &[] }
    }

    /// Answers that took longer than the time-out.
    fn slower(&self, result: &LoadResult) -> u64 {
        result.total.service.count() - at_most(&result.total.service, self.timeout)
    }

    /// What wrk does not report, beyond what no tool reports.
    pub(crate) fn remarks(&self, result: &LoadResult) -> Vec<String> {
        let mut remarks = Vec::new();
        let slow = self.slower(result);
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

/// What stands in for the version, with a line break at its end.
pub(crate) fn version() -> String {
    format!("This is Stampede {}, in the place of wrk 4.1.0\n", env!("CARGO_PKG_VERSION"))
}

/// wrk's row of the rates of a thread, by their mean alone where nobody has looked.
fn each_thread(rates: &Rates, mean: f64) -> String {
    let number = |rate: f64| with_unit(rate, &METRIC, 2);
    match rates.figures() {
        None => format!("{}{}{}{:>7}", aligned(&number(mean), 8), aligned("-", 10), aligned("-", 9), "-"),
        Some([mean, stdev, max, within]) => {
            let columns = [aligned(&number(mean), 8), aligned(&number(stdev), 10), aligned(&number(max), 9)].concat();
            format!("{columns}{:>9}", format!("{:.2}%", within * 100.0))
        }
    }
}

/// Connections that could not be made, and answers that did not come to their end.
fn socket_errors(result: &LoadResult) -> (u64, u64) {
    let (mut connect, mut read) = (0, 0);
    for (class, count) in lost(result) {
        match class {
            ErrorClass::Refused | ErrorClass::Exhausted | ErrorClass::Tls => connect += count,
            _ => read += count,
        }
    }
    (connect, read)
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
        let line = "-c 2x -t none -d 0 --timeout 5ms -H x -Q -R x ftp://h/ more";
        let places = ["-Q", "-c 2x", "-t none", "-d 0", "--timeout 5ms", "-R x", "-H \"x\"", "more", "URL ftp://h/"];
        assert_eq!(asked(line).unwrap_err(), places);
        assert_eq!(asked("-c 1").unwrap_err(), ["-c 1", "URL"]);
        assert_eq!(asked("-s none -U -B http://h/ more").unwrap_err(), ["-U", "-B", "-s none"]);
    }

    #[test]
    fn a_script_takes_what_follows_the_url() {
        let (run, mut wrk) = asked("-s body -H X-A:b -H Host:other http://h:80/ -- 16 -x").unwrap();
        let script = wrk.take_script().unwrap();
        assert_eq!((script.file.as_str(), script.text.as_slice()), ("body", &b"abc"[..]));
        assert_eq!(script.args, ["http://h:80/", "16", "-x"]);
        assert_eq!(script.port.as_deref(), Some("80"));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(script.headers, [header("X-A", "b"), header("Host", "other")]);
        assert!(!script.is_paced && wrk.take_script().is_none() && run.url.port == 80);
        let (_, mut wrk) = asked("-s body -R 10 http://[::1]/").unwrap();
        let script = wrk.take_script().unwrap();
        assert_eq!((script.port, script.is_paced, script.args.len()), (None, true, 1));
    }

    #[test]
    fn a_rate_makes_it_wrk2() {
        let (run, wrk) = asked("-c 101 -t 2 -R 2k -L http://h/").unwrap();
        assert_eq!(run.load.to_string(), "open:2000@100");
        let mut result = good();
        result.total.response = result.total.service.clone();
        result.total.response.record_ns(5_000_000_000);
        let text = wrk.render(&result);
        assert!(text.contains("\n100.000%    5.00s\n") && !text.contains("Uncorrected"), "{text}");
        let (_, wrk) = asked("-R 2k -U http://h/").unwrap();
        assert_snapshot!("wrk2_good", wrk.render(&result));
    }

    #[test]
    fn a_script_is_told_what_is_printed() {
        let (_, mut wrk) = asked("--timeout 1s http://h/").unwrap();
        wrk.rates.look(Duration::from_millis(100), &[100, 200]);
        let result = bad();
        let WrkTotals { duration_us, requests, connect, read, status, timeout, latency_us, rates, .. } =
            wrk.totals(&result);
        assert_eq!((duration_us, requests), (10_000_000, 20_000));
        assert_eq!((connect, read, status, timeout), (7, 3, 330, 0));
        assert_eq!(rates, [1000, 2000]);
        assert_eq!(latency_us.iter().map(|(_, count)| count).sum::<u64>(), result.total.service.count());
        assert!(latency_us.is_sorted_by(|(a, _), (b, _)| a <= b));
        assert!(
            wrk.render(&result).contains("    Req/Sec     1.50k   707.11     2.00k   100.00%\n"),
            "{}",
            wrk.render(&result)
        );
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
