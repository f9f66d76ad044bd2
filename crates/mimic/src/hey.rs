//! `stampede hey`: the options and the layout of hey 0.1.4 (<https://github.com/rakyll/hey>).

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;

use stampede_core::{Arrivals, Latencies, Load, Protocol, Request, Schedule};
use stampede_plan::{HttpUrl, Mistakes};
use stampede_report::tally::words;
use stampede_seam::{LoadResult, Measures, RequestSample};

use crate::Surroundings;
use crate::figures::{answered, at_most, at_rank, lost, whole};
use crate::flags::{HELP, Style, Typed, positive, switch, valued};
use crate::headers::{self, Headers};
use crate::spells::Spells;
use crate::syntax::Syntax;
use crate::tool_run::{DAY, Extras, ToolRun};

pub(crate) static SYNTAX: Syntax = Syntax {
    tool: "hey",
    style: Style::Go,
    flags: &[
        valued(&["n"], "N", "Requests in all; each client sends N/C of them [default: 200]"),
        valued(&["c"], "C", "Clients, each with a connection [default: 50]"),
        valued(&["q"], "RATE", "Requests a second of each client; they are due evenly spread"),
        valued(&["z"], "TIME", "How long, as 10s or 1m30s; -n is then ignored"),
        valued(&["m"], "METHOD", "Method [default: GET]"),
        valued(&["H"], "HEADER", "A header (may be repeated)"),
        valued(&["t"], "SECONDS", "How long a request may take; 0: no limit [default: 20]"),
        valued(&["A"], "TYPE", "The Accept header"),
        valued(&["d"], "BODY", "The body"),
        valued(&["D"], "FILE", "The body, from a file"),
        valued(&["T"], "TYPE", "The Content-Type header [default: text/html]"),
        valued(&["U"], "AGENT", "What User-Agent begins with; hey/0.0.1 follows"),
        valued(&["a"], "USER:PASSWORD", "Basic authentication"),
        valued(&["host"], "HOST", "The Host header"),
        switch(&["h2"], "HTTP/2, which hey speaks over TLS only; plain http stays HTTP/1.1"),
        switch(&["disable-compression"], "Send no Accept-Encoding: gzip"),
        switch(&["disable-keepalive"], "A connection for each request"),
        switch(&["disable-redirects"], "Follow no redirects; otherwise up to 9 for each request"),
        valued(&["cpus"], "N", "Threads [default: half of the processors]"),
        switch(&["allow-remote"], "Allow a target that is neither this machine nor in a private network"),
        switch(&[HELP, "h"], "This help"),
        valued(&["o"], "csv", "Print each request as CSV, at most a million"),
        valued(&["x"], "URL", "Send http requests through this proxy"),
    ],
    example: "-c 100 -z 10s -m POST -d body http://127.0.0.1:8080/",
    exit_codes: "0 done, whatever the answers; 2 an option is wrong; 1 another mistake, or no load. They are hey's: answers and failures are in its result.",
};

/// What the layout prints.
pub(crate) const PERCENTILES: &[u64] = &[10, 25, 50, 75, 90, 95, 99];

/// What hey sends as `User-Agent`.
const AGENT: &str = "hey/0.0.1";

/// What the layout says beside the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hey {
    load: Load,
    /// Requests that were asked for, more than are sent.
    asked: Option<u64>,
    paced: bool,
    /// Whether a user is named, whom hey 0.1.4 forgets.
    authorized: bool,
    /// Whether it prints requests one by one.
    csv: bool,
    /// What hey takes and does not use.
    ignored: Vec<String>,
}

/// What failures begin with that are redirects.
const REDIRECT: &str = "follow the redirect: ";

/// hey keeps no more requests (`requester/report.go`).
const MOST_SAMPLES: usize = 1_000_000;

/// Whether Go's package `flag` would end it: an option that is none or has no value, or a value that is not of its type.
pub(crate) fn is_unreadable(typed: &Typed<'_>) -> bool {
    let all = |name: &str, is_read: fn(&str) -> bool| typed.all(name).all(is_read);
    let whole = ["n", "c", "t", "cpus"].into_iter().all(|name| all(name, |text| text.parse::<i64>().is_ok()));
    let is_read = whole && all("q", |text| text.parse::<f64>().is_ok()) && all("z", |text| duration(text).is_some());
    !typed.mistakes.is_empty() || !is_read
}

/// Reads a command line.
pub(crate) fn read(mut typed: Typed, surroundings: Surroundings<'_>) -> Result<(ToolRun, Hey), Mistakes> {
    let clients = typed.value("c", positive, "is not a number of clients", "for example -c 50").unwrap_or(50);
    let clients = typed.connections(clients, surroundings);
    let count = typed.value("n", positive::<u64>, "is not a number of requests", "for example -n 200").unwrap_or(200);
    let length = typed.value("z", duration, "is not a length of time", "for example -z 10s");
    if !typed.has("z") && count < u64::from(clients) {
        typed.mistake(format!("-n {count}"), format!("is less than the {clients} clients"), "raise -n or lower -c");
    }
    let timeout = typed
        .value("t", |text| text.parse::<u32>().ok(), "is not a number of seconds", "for example -t 20")
        .unwrap_or(20);
    let timeout = (timeout > 0).then(|| Duration::from_secs(timeout.into()));
    let rate =
        typed.value("q", |text| rate(text, clients), "is not a rate that can be kept", "for example -q 10").flatten();
    let half = (surroundings.machine.cpus / 2).max(1) as usize;
    let threads = typed.value("cpus", positive, "is not a number of processors", "for example -cpus 1").unwrap_or(half);
    // Go sends methods as they are, and hey writes them large.
    let method = typed.last("m").unwrap_or("GET").to_ascii_uppercase();
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        typed.mistake(format!("-m {method}"), "is not a method", "for example -m POST");
    }
    let body = match (typed.last("D"), typed.last("d")) {
        (Some(path), _) => typed.file("-D", path, surroundings),
        (None, text) => text.unwrap_or_default().as_bytes().to_vec(),
    };
    let mut ignored = Vec::new();
    let mut headers = headers(&mut typed, &method, &mut ignored);
    let keep_alive = !typed.has("disable-keepalive") && !headers.take_close();
    let (host, headers) = headers.into_parts(&mut typed);
    let csv = typed.value("o", |text| (text == "csv").then_some(()), "is not csv", "for example -o csv").is_some();
    let proxy = typed.value(
        "x",
        |text| text.parse::<HttpUrl>().ok(),
        "is not a proxy's URL",
        "for example -x http://127.0.0.1:3128",
    );
    // hey looks at nothing behind the URL.
    if typed.operands.len() > 1 {
        let after = typed.operands.split_off(1);
        ignored.push(after.join(" "));
    }
    let url = typed.url();
    let full = url;
    let Some(url) = typed.http_url(url) else { return Err(Mistakes(typed.mistakes)) };
    if let Some(typed_proxy) = typed.last("x")
        && proxy.is_some()
        && url.encrypted
    {
        typed.refuse(format!("-x {typed_proxy} for https://"), "send to an http:// URL through it");
    }
    let paced = rate.is_some();
    // Go's clients share one connection of HTTP/2.
    let streams = NonZeroU32::new(clients).filter(|_| url.encrypted && typed.has("h2"));
    let protocol = streams.map_or(Protocol::Http11, |streams| Protocol::Http2 { streams });
    let clients_of_load = if streams.is_some() { 1 } else { clients };
    let load = match rate {
        Some(schedule) => Load::Open { schedule, arrivals: Arrivals::Uniform, connections: clients_of_load },
        None => Load::Closed { connections: clients_of_load },
    };
    // Each client sends the same number.
    let requests = length.is_none().then(|| count - count % u64::from(clients));
    // A proxy is given the whole URL (RFC 9112, section 3.2.2).
    let path = if proxy.is_some() { full.split('#').next().unwrap_or_default().to_owned() } else { url.path.clone() };
    // TLS has the name of -host, without its port.
    let server_name = typed.last("host").map(|host| host.split(':').next().unwrap_or_default().to_owned());
    let run = ToolRun {
        host: host.unwrap_or_else(|| url.authority.clone()),
        request: Request { method, path, headers, body },
        url,
        protocol,
        load: load.clone(),
        requests,
        duration: length.unwrap_or(DAY),
        // hey waits for what is out when its time is over.
        drain: timeout.unwrap_or(DAY),
        timeout,
        keep_alive,
        threads,
        allow_remote: typed.has("allow-remote"),
        quiet: false,
        extras: Extras {
            proxy: proxy.map(|HttpUrl { host, port, .. }| format!("{host}:{port}")),
            samples: csv.then_some(MOST_SAMPLES),
            server_name,
            follows_redirects: !typed.has("disable-redirects"),
            ..Extras::default()
        },
    };
    let hey = Hey {
        load,
        asked: requests.filter(|sent| *sent < count).map(|_| count),
        paced,
        authorized: typed.has("a"),
        csv,
        ignored,
    };
    typed.finish(run).map(|run| (run, hey))
}

fn headers(typed: &mut Typed, method: &str, ignored: &mut Vec<String>) -> Headers {
    let mut headers = Headers::default();
    headers.set("Content-Type", typed.last("T").unwrap_or("text/html"));
    for text in typed.all("H").collect::<Vec<_>>() {
        let Some((name, value)) = headers::header(typed, "-H", text) else { continue };
        if name.eq_ignore_ascii_case("host") {
            ignored.push(format!("-H '{text}'"));
            continue;
        }
        headers.set(&canonical(name), value);
    }
    for (option, name) in [("A", "Accept"), ("host", "Host")] {
        if let Some(value) = typed.last(option) {
            headers.set(name, value);
        }
    }
    if let Some(credentials) = typed.last("a") {
        let credentials = headers::basic(typed, "-a", credentials);
        headers.set("Authorization", &credentials);
    }
    let agent = typed.last("U").or_else(|| headers.get("User-Agent")).map(|agent| format!("{agent} {AGENT}"));
    headers.set("User-Agent", agent.as_deref().unwrap_or(AGENT));
    // Go's transport asks for gzip unless the answer could not be unpacked as a whole.
    if !typed.has("disable-compression") && method != "HEAD" && headers.get("Range").is_none() {
        headers.set_default("Accept-Encoding", "gzip");
    }
    headers
}

/// Go's way to write a header's name: `x-request-id` is sent as `X-Request-Id`.
fn canonical(name: &str) -> String {
    let mut at_start = true;
    let large_or_small = |letter: char| {
        let written = if at_start { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        at_start = letter == '-';
        written
    };
    name.chars().map(large_or_small).collect()
}

/// The schedule of all clients together; `None` within where there is no limit.
fn rate(text: &str, clients: u32) -> Option<Option<Schedule>> {
    let rate: f64 = text.parse().ok().filter(|rate| *rate >= 0.0)?;
    if rate == 0.0 {
        return Some(None);
    }
    let all = format!("{:.3}", rate * f64::from(clients)).parse().ok()?;
    Schedule::constant(all).ok().map(Some)
}

/// A length of time as Go's `time.ParseDuration` reads it, not below a millisecond and not above a day.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let units = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(units);
        let unit = match unit {
            "ns" => 1e-9,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = after;
    }
    (1e-3..=DAY.as_secs_f64()).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

impl Hey {
    /// Whether it prints requests one by one.
    pub(crate) fn is_csv(&self) -> bool {
        self.csv
    }

    /// Requests that were answered, one by one, in the order of their ends.
    pub(crate) fn requests(&self, samples: &[RequestSample]) -> String {
        let mut text =
            "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n".to_owned();
        for request in samples.iter().filter_map(Spells::of) {
            let Spells { begun, connect, write, wait, read, status } = request;
            let [total, connect, write, wait, read, offset] =
                [request.total(), connect, write, wait, read, begun].map(|ns| ns as f64 / 1e9);
            let _ =
                writeln!(text, "{total:.4},{connect:.4},0.0000,{write:.4},{wait:.4},{read:.4},{status},{offset:.4}");
        }
        text
    }

    /// hey's summary, with a line break at its end.
    pub(crate) fn render(&self, result: &LoadResult) -> String {
        let latencies = whole(&self.load, result);
        let (count, seconds) = (latencies.count(), result.window.as_secs_f64());
        let failed: u64 = lost(result).map(|(_, count)| count).sum();
        let mut text = String::new();
        let out = &mut text;
        let _ = writeln!(out, "\nSummary:");
        let _ = writeln!(out, "  Total:\t{seconds:.4} secs");
        let _ = writeln!(out, "  Slowest:\t{:.4} secs", at_rank(latencies, count).as_secs_f64());
        let _ = writeln!(out, "  Fastest:\t{:.4} secs", at_rank(latencies, 1).as_secs_f64());
        let _ = writeln!(out, "  Average:\t{:4.4} secs", mean_ns(latencies) / 1e9);
        let _ = writeln!(out, "  Requests/sec:\t{:.4}", (answered(result) + failed) as f64 / seconds);
        let bytes = result.facts.body_bytes;
        let _ = writeln!(out, "  ");
        if bytes > 0 {
            let _ = writeln!(
                out,
                "  Total data:\t{bytes} bytes\n  Size/request:\t{} bytes",
                bytes / answered(result).max(1)
            );
        }
        let _ = writeln!(out, "\nResponse time histogram:");
        if count > 0 {
            out.push_str(&histogram(latencies));
        }
        let _ = writeln!(out, "\n\nLatency distribution:");
        for percent in PERCENTILES {
            // hey takes the first that this share lies before.
            let rank = (percent * count).div_ceil(100) + 1;
            if rank <= count {
                let _ = writeln!(out, "  {percent}% in {:.4} secs", at_rank(latencies, rank).as_secs_f64());
            }
        }
        out.push_str(&details(result));
        let _ = writeln!(out, "\nStatus code distribution:");
        for (status, count) in &result.total.status {
            let _ = writeln!(out, "  [{status}]\t{count} responses");
        }
        if failed > 0 {
            let _ = writeln!(out, "\nError distribution:");
            for (class, count) in lost(result) {
                let _ = writeln!(out, "  [{count}]\t{}", words(class));
            }
        }
        text
    }

    /// What hey does not report, beyond what no tool reports.
    pub(crate) fn remarks(&self, result: &LoadResult) -> Vec<String> {
        let mut remarks = Vec::new();
        // hey prints why; a class of failures does not say it.
        if let Some(why) = result.first_failure.as_ref().and_then(|first| first.detail.strip_prefix(REDIRECT)) {
            remarks.push(format!("A redirect was not followed: {why}."));
        }
        if let Some(asked) = self.asked {
            let sent = result.total.requests.sent;
            remarks.push(format!("Of the {asked} requests {sent} were sent: hey gives each client the same number."));
        }
        if !self.ignored.is_empty() {
            remarks.push(format!("hey does not use {}; nor did this.", self.ignored.join(" and ")));
        }
        if self.authorized {
            remarks.push("hey 0.1.4 does not send the user of -a; here it was sent.".to_owned());
        }
        if self.paced {
            let (due, sent) = (result.total.response.quantile(0.99), result.total.service.quantile(0.99));
            if due > sent.mul_f64(1.05) {
                remarks.push(format!(
                    "hey skips what a busy client should have sent; here it was sent late, and from when it was due p99 is \
                     {:.4} secs.",
                    due.as_secs_f64()
                ));
            }
        }
        remarks
    }
}

/// The mean, which no latencies do not have.
fn mean_ns(latencies: &Latencies) -> f64 {
    if latencies.count() == 0 { f64::NAN } else { latencies.mean_ns() }
}

/// Ten steps from the fastest to the slowest.
fn histogram(latencies: &Latencies) -> String {
    const STEPS: u32 = 10;
    let count = latencies.count();
    let (fastest, slowest) = (at_rank(latencies, 1), at_rank(latencies, count));
    let step = (slowest - fastest) / STEPS;
    let mut before = 0;
    let buckets: Vec<_> = (0..=STEPS)
        .map(|number| {
            let mark = if number == STEPS { slowest } else { fastest + step * number };
            let up_to = at_most(latencies, mark);
            let here = up_to - before;
            before = up_to;
            (mark, here)
        })
        .collect();
    let most = buckets.iter().map(|(_, here)| *here).max().unwrap_or_default().max(1);
    let bar = |here: u64| "\u{25a0}".repeat(usize::try_from((here * 40 + most / 2) / most).unwrap_or_default());
    let line = |(mark, here): &(Duration, u64)| format!("  {:.3} [{here}]\t|{}\n", mark.as_secs_f64(), bar(*here));
    buckets.iter().map(line).collect()
}

/// The parts of a request. The name is looked up once, before the load. Writing is one call to the kernel and is not timed;
/// reading is known by its mean alone.
fn details(result: &LoadResult) -> String {
    let Measures { connect, first_byte, service, .. } = &result.total;
    let share = connect.count() as f64 / answered(result) as f64;
    let seconds = |ns: f64| format!("{:4.4} secs", ns / 1e9);
    let ns = |duration: Duration| duration.as_nanos() as f64;
    let row = |name: &str, mean: String, min: String, max: String| format!("  {name}:\t{mean}, {min}, {max}\n");
    let unknown = || "-".to_owned();
    // Requests on a connection that was there did not wait for one.
    let every_one_connected = connect.count() >= answered(result);
    let least_connect = if every_one_connected { connect.min() } else { Duration::ZERO };
    let mut text = "\nDetails (average, fastest, slowest):\n".to_owned();
    text.push_str(&row(
        "DNS+dialup",
        seconds(mean_ns(connect) * share),
        seconds(ns(least_connect)),
        seconds(ns(connect.max())),
    ));
    text.push_str(&row("DNS-lookup", seconds(0.0), seconds(0.0), seconds(0.0)));
    text.push_str(&row("req write", unknown(), unknown(), unknown()));
    text.push_str(&row(
        "resp wait",
        seconds(mean_ns(first_byte)),
        seconds(ns(first_byte.min())),
        seconds(ns(first_byte.max())),
    ));
    text.push_str(&row("resp read", seconds(mean_ns(service) - mean_ns(first_byte)), unknown(), unknown()));
    text
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use stampede_seam::SampleEnd;

    use super::*;
    use crate::sample::{self, bad, good, none};

    fn asked(line: &str) -> Result<(ToolRun, Hey), Vec<String>> {
        sample::read(&SYNTAX, read, line)
    }

    #[test]
    fn published_commands_are_read() {
        let line = "-c 100 -z 1m -m POST -T application/json -d {} -h2 http://127.0.0.1/";
        let (run, _) = asked(line).unwrap();
        assert_eq!((run.load, run.requests), (Load::Closed { connections: 100 }, None));
        assert_eq!((run.duration, run.drain), (Duration::from_secs(60), Duration::from_secs(20)));
        assert_eq!((run.request.method.as_str(), run.request.body.as_slice()), ("POST", b"{}".as_slice()));
        assert_eq!((run.host.as_str(), run.keep_alive, run.threads), ("127.0.0.1", true, 2));
    }

    #[test]
    fn requests_are_what_all_clients_send_alike() {
        for (line, requests, load) in [
            ("u", 200, "closed:50"),
            ("-n 25 -c 10 u", 20, "closed:10"),
            ("-n 25 -c 10 -q 0 u", 20, "closed:10"),
            ("-n 25 -c 10 -q 2.5 u", 20, "open:25@10"),
        ] {
            let (run, hey) = asked(&line.replace('u', "http://h/")).unwrap();
            assert_eq!((run.requests, run.load.to_string().as_str()), (Some(requests), load), "{line}");
            assert_eq!(hey.asked.is_some(), requests == 20, "{line}");
        }
    }

    #[test]
    fn headers_are_gos() {
        for (line, expected) in [
            ("", "Accept-Encoding: gzip, Content-Type: text/html, User-Agent: hey/0.0.1"),
            ("-m head", "Content-Type: text/html, User-Agent: hey/0.0.1"),
            ("-disable-compression -T a/b", "Content-Type: a/b, User-Agent: hey/0.0.1"),
            (
                "-H x-a:1 -H X-A:2 -A t -a me:secret -U my -H content-type:c",
                "Accept: t, Accept-Encoding: gzip, Authorization: Basic bWU6c2VjcmV0, Content-Type: c, \
                 User-Agent: my hey/0.0.1, X-A: 2",
            ),
        ] {
            let (run, _) = asked(&format!("{line} http://h/")).unwrap();
            let headers: Vec<_> = run.request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            assert_eq!(headers.join(", "), expected, "{line}");
        }
        let (run, _) = asked("-H Connection:close -host other http://h:80/").unwrap();
        assert_eq!((run.keep_alive, run.host.as_str()), (false, "other"));
        assert_eq!(asked("http://h:80/").unwrap().0.host, "h:80");
        assert!(!asked("-disable-keepalive http://h/").unwrap().0.keep_alive);
    }

    #[test]
    fn lengths_of_time_are_gos() {
        for (text, seconds) in [
            ("10s", Some(10.0)),
            ("1m30s", Some(90.0)),
            ("1.5h", Some(5400.0)),
            ("250ms", Some(0.25)),
            ("", None),
            ("10", None),
            ("s", None),
            ("-1s", None),
            ("1d", None),
            ("1us", None),
            ("25h", None),
            ("1..5s", None),
        ] {
            assert_eq!(duration(text).map(|length| length.as_secs_f64()), seconds, "{text}");
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let line = "-c 0 -n none -z soon -t -1 -q nan -cpus 0 -m G? -D /nonexistent/body -H x -H Host:a -H Content-Length:1 \
                    -a me -o json -x proxy -Q ftp://h/ -n 1";
        let places = [
            "-Q",
            "-c 0",
            "-n none",
            "-z soon",
            "-t -1",
            "-q nan",
            "-cpus 0",
            "-m G?",
            "-D /nonexistent/body",
            "-H \"x\"",
            "-H \"Content-Length:1\"",
            "-a me",
            "-o json",
            "-x proxy",
            "URL ftp://h/",
        ];
        assert_eq!(asked(line).unwrap_err(), places);
        assert_eq!(asked("-n 5 -c 10").unwrap_err(), ["-n 5", "URL"]);
        assert_eq!(asked("-c 1001 -z 1s http://h/").unwrap_err(), ["-c 1001"]);
        assert_eq!(
            asked("-host a\x01b -T c\x02 http://h/").unwrap_err(),
            ["Content-Type \"c\\u{2}\"", "Host \"a\\u{1}b\""]
        );
    }

    #[test]
    fn the_layout_is_heys() {
        let (_, hey) = asked("http://h/").unwrap();
        assert_snapshot!("hey_good", hey.render(&good()));
        assert_snapshot!("hey_bad", hey.render(&bad()));
        assert_snapshot!("hey_none", hey.render(&none()));
    }

    #[test]
    fn what_differs_from_hey_is_told() {
        let (_, hey) = asked("-n 25 -c 10 -q 5 -a me:secret http://h/").unwrap();
        let mut result = bad();
        (0..1000).for_each(|_| result.total.response.record_ns(9_000_000_000));
        assert_snapshot!(hey.remarks(&result).join("\n"), @r"
        Of the 25 requests 20310 were sent: hey gives each client the same number.
        hey 0.1.4 does not send the user of -a; here it was sent.
        hey skips what a busy client should have sent; here it was sent late, and from when it was due p99 is 9.0010 secs.
        ");
        assert!(asked("http://h/").unwrap().1.remarks(&good()).is_empty());
        let (run, hey) = asked("-disable-redirects -H Host:x http://h/ -host y -n 1").unwrap();
        assert_eq!((run.host.as_str(), run.requests), ("h", Some(200)));
        assert_eq!(hey.remarks(&bad()), ["hey does not use -H 'Host:x' and -host y -n 1; nor did this."]);
    }

    #[test]
    fn tls_has_the_name_of_host_and_clients_share_a_connection_of_http2() {
        let (run, _) = asked("-c 7 -h2 -host a.test:99 https://h/").unwrap();
        assert_eq!(run.protocol, Protocol::Http2 { streams: NonZeroU32::new(7).unwrap() });
        assert_eq!((run.load, run.host.as_str()), (Load::Closed { connections: 1 }, "a.test:99"));
        assert_eq!(run.extras.server_name.as_deref(), Some("a.test"));
        let (run, _) = asked("-c 7 -h2 http://h/").unwrap();
        assert_eq!((run.load, run.protocol), (Load::Closed { connections: 7 }, Protocol::Http11));
    }

    #[test]
    fn a_proxy_is_given_the_whole_url() {
        let (run, _) = asked("-x http://p:3128 http://h:81/a?b=c").unwrap();
        assert_eq!((run.request.path.as_str(), run.host.as_str()), ("http://h:81/a?b=c", "h:81"));
        assert_eq!(run.extras.proxy.as_deref(), Some("p:3128"));
        assert_eq!(asked("-x http://p:3128 https://h/").unwrap_err(), ["-x http://p:3128 for https://"]);
    }

    #[test]
    fn requests_are_heys_columns() {
        let (run, hey) = asked("-o csv http://h/").unwrap();
        assert_eq!((run.extras.samples, hey.is_csv()), (Some(MOST_SAMPLES), true));
        let sample = RequestSample {
            due_ns: 1_000_000_000,
            sent_ns: Some(1_001_000_000),
            connect_ns: 1_000_000,
            written_ns: 200_000,
            first_byte_ns: Some(5_200_000),
            total_ns: 7_200_000,
            bytes: 1,
            step: 0,
            status: Some(503),
            end: SampleEnd::Ok,
        };
        let lost = RequestSample { status: None, end: SampleEnd::Unfinished, ..sample };
        assert_snapshot!(hey.requests(&[sample, lost]), @r"
        response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
        0.0072,0.0010,0.0000,0.0002,0.0050,0.0010,503,1.0000
        ");
    }
}
