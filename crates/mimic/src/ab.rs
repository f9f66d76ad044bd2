//! `stampede ab`: the options and the layout of ApacheBench 2.3
//! (<https://httpd.apache.org/docs/2.4/programs/ab.html>).

use std::fmt::Write as _;
use std::time::Duration;

use stampede_core::{ErrorClass, Load, Protocol, Request};
use stampede_plan::Mistakes;
use stampede_seam::LoadResult;

use crate::ab_files::{self, Attributes, Row};
use crate::figures::{Moments, answered, at_rank, lost, whole, with_status};
use crate::flags::{HELP, Style, Typed, positive, refused, switch, valued};
use crate::headers::{self, Headers};
use crate::syntax::Syntax;
use crate::tls_flags;
use crate::tool_run::{DAY, Extras, ToolRun};
use crate::{Surroundings, ToolFile, ToolOutcome};

pub(crate) static SYNTAX: Syntax = Syntax {
    tool: "ab",
    style: Style::Getopt,
    flags: &[
        valued(&["n"], "REQUESTS", "Requests in all [default: 1]"),
        valued(&["c"], "CONCURRENCY", "Connections at a time [default: 1]"),
        valued(&["t"], "SECONDS", "How long, at most; means -n 50000 unless -n follows"),
        valued(&["s"], "SECONDS", "How long a request may take [default: 30]"),
        switch(&["k"], "Keep connections open (keep-alive)"),
        valued(&["p"], "FILE", "POST the file; see -T"),
        valued(&["u"], "FILE", "PUT the file; see -T"),
        valued(&["T"], "TYPE", "Content-type of the file [default: text/plain]"),
        valued(&["m"], "METHOD", "Method, without a body"),
        switch(&["i"], "HEAD in place of GET"),
        valued(&["H"], "HEADER", "A header (may be repeated)"),
        valued(&["C"], "NAME=VALUE", "The Cookie header; the last one counts"),
        valued(&["A"], "USER:PASSWORD", "Basic authentication"),
        valued(&["P"], "USER:PASSWORD", "Basic authentication for a proxy"),
        switch(&["d"], "No table of percentiles"),
        switch(&["S"], "No median and standard deviation"),
        switch(&["q"], "No progress on stderr"),
        switch(&["l"], "Lengths of answers may differ"),
        switch(&["r"], "Exit with 0 after failures; the load always continues here"),
        switch(&["allow-remote"], "Allow a target that is neither this machine nor in a private network"),
        switch(&[HELP, "h"], "This help"),
        valued(&["g"], "FILE", "Write each request for gnuplot; starttime is in UTC"),
        valued(&["e"], "FILE", "Write the time of each percentage as CSV"),
        switch(&["w"], "Print tables of HTML"),
        valued(&["x"], "ATTRIBUTES", "Attributes of <table>, for -w"),
        valued(&["y"], "ATTRIBUTES", "Attributes of <tr>, for -w"),
        valued(&["z"], "ATTRIBUTES", "Attributes of <td> and <th>, for -w"),
        valued(&["v"], "LEVEL", "0 or 1: what is printed anyway"),
        valued(&["X"], "PROXY:PORT", "Send http requests through this proxy"),
        valued(&["B"], "ADDRESS", "Connect from this address"),
        valued(&["E"], "FILE", "Client certificate and key, PEM"),
        switch(&["I"], "Send no server name (SNI)"),
        valued(&["Z"], "SUITES", "Cipher suites of TLS 1.2, OpenSSL's names"),
        valued(&["f"], "PROTOCOL", "TLS1.2, TLS1.3 or ALL"),
        switch(&["V"], "Print the version"),
        refused(&["b"], Some("BYTES"), "the kernel sizes the buffers (sysctl net.ipv4.tcp_rmem)"),
    ],
    example: "-n 1000 -c 50 -k http://127.0.0.1:8080/",
    exit_codes: "0 done, whatever the answers; 22 or 1 a mistake; without -r 111, 104 or another number of the kernel's where connections failed; 119 after a time-out; 50 the host is unknown; 1 interrupted. They are ab's.",
};

/// What the layout prints.
const PERCENTILES: &[u64] = &[50, 66, 75, 80, 90, 95, 98, 99];

/// What -t means for -n (the manual: "Internally, this implies a -n 50000").
const TIMED_REQUESTS: u64 = 50_000;

/// What the layout says beside the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ab {
    host: String,
    port: u16,
    path: String,
    load: Load,
    keep_alive: bool,
    /// Whether requests have a body.
    posts: bool,
    lengths_may_differ: bool,
    /// Whether failures do not end it.
    goes_on: bool,
    percentiles: bool,
    spread: bool,
    /// The name that TLS sends, where it does.
    tls_name: Option<Option<String>>,
    /// Attributes of a table of HTML, where it is to be one.
    table: Option<Attributes>,
    /// Files of `-g` and `-e`.
    gnuplot: Option<String>,
    percentages: Option<String>,
}

/// Reads a command line.
pub(crate) fn read(mut typed: Typed, surroundings: Surroundings<'_>) -> Result<(ToolRun, Ab), Mistakes> {
    let clients = typed.value("c", positive, "is not a number of connections", "for example -c 50").unwrap_or(1);
    let clients = typed.connections(clients, surroundings);
    let count = typed.value("n", positive, "is not a number of requests", "for example -n 1000").unwrap_or(1);
    let length = typed.value("t", seconds, "is not a number of seconds up to a day", "for example -t 10");
    let count = if typed.place("t") > typed.place("n") { TIMED_REQUESTS } else { count };
    if count < u64::from(clients) {
        typed.mistake(format!("-n {count}"), format!("is less than the {clients} connections"), "raise -n or lower -c");
    }
    let timeout = typed.value("s", seconds, "is not a number of seconds up to a day", "for example -s 30");
    let (method, body) = request(&mut typed, surroundings);
    let keep_alive = typed.has("k");
    let mut headers = headers(&mut typed, keep_alive);
    if let Some(content) = typed.last("p").or(typed.last("u")).and(Some(typed.last("T").unwrap_or("text/plain"))) {
        headers.set("Content-type", content);
    }
    let (host, headers) = headers.into_parts(&mut typed);
    look(&mut typed);
    let client = tls_flags::read(&mut typed, surroundings);
    let source = typed.value("B", |text| text.parse().ok(), "is not an address", "for example -B 127.0.0.2");
    let proxy = typed.value("X", proxy, "is not a proxy", "for example -X 127.0.0.1:3128");
    let url = typed.url();
    // ab takes a URL without its scheme.
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let Some(url) = typed.http_url(&full) else {
        return Err(Mistakes(typed.mistakes));
    };
    if url.encrypted && proxy.is_some() {
        let place = format!("-X {} for https://", typed.last("X").unwrap_or_default());
        typed.refuse(place, "send to an http:// URL through it");
    }
    let load = Load::Closed { connections: clients };
    let layout = Ab {
        host: url.host.clone(),
        port: url.port,
        path: url.path.clone(),
        load: load.clone(),
        keep_alive,
        posts: typed.has("p") || typed.has("u"),
        lengths_may_differ: typed.has("l"),
        goes_on: typed.has("r"),
        percentiles: !typed.has("d"),
        spread: !typed.has("S"),
        tls_name: url.encrypted.then(|| (!typed.has("I")).then(|| url.host.clone())),
        table: typed.has("w").then(|| Attributes {
            table: typed.last("x").unwrap_or_default().to_owned(),
            row: typed.last("y").unwrap_or_default().to_owned(),
            // What ab puts there by default.
            cell: typed.last("z").unwrap_or("bgcolor=white").to_owned(),
        }),
        gnuplot: typed.last("g").map(str::to_owned),
        percentages: typed.last("e").map(str::to_owned),
    };
    // A proxy is given the whole URL (RFC 9112, section 3.2.2).
    let path = if proxy.is_some() { full.split('#').next().unwrap_or_default().to_owned() } else { url.path.clone() };
    let run = ToolRun {
        host: host.unwrap_or_else(|| url.authority.strip_suffix(":80").unwrap_or(&url.authority).to_owned()),
        request: Request { method, path, headers, body },
        url,
        protocol: Protocol::Http10,
        load,
        requests: Some(count),
        duration: length.unwrap_or(DAY),
        // ab does not wait for what is out when its time is over.
        drain: Duration::ZERO,
        timeout: Some(timeout.unwrap_or(Duration::from_secs(30))),
        keep_alive,
        // ab has one thread.
        threads: 1,
        allow_remote: typed.has("allow-remote"),
        quiet: typed.has("q"),
        extras: Extras {
            proxy,
            samples: typed.has("g").then(|| usize::try_from(count).unwrap_or(usize::MAX)),
            source,
            client,
            ..Extras::default()
        },
    };
    typed.finish(run).map(|run| (run, layout))
}

/// Answers are not printed while load is driven.
fn look(typed: &mut Typed) {
    let level = typed.value("v", |text| text.parse::<u32>().ok(), "is not a number", "for example -v 1").unwrap_or(0);
    if level > 1 {
        typed.refuse(format!("-v {level}"), "to look at one answer use curl -v URL");
    }
}

/// `host:port`; port 80 by default.
fn proxy(text: &str) -> Option<String> {
    let (host, port) = text.rsplit_once(':').map_or((text, "80"), |(host, port)| (host, port));
    let is_proxy = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
    is_proxy.then(|| format!("{host}:{port}"))
}

fn seconds(text: &str) -> Option<Duration> {
    positive::<u32>(text).map(|seconds| Duration::from_secs(seconds.into())).filter(|length| *length <= DAY)
}

/// Method and body; one of four options says what they are.
fn request(typed: &mut Typed, surroundings: Surroundings<'_>) -> (String, Vec<u8>) {
    let given: Vec<_> = ["p", "u", "i", "m"].into_iter().filter(|name| typed.has(name)).collect();
    if let [first, second, ..] = given.as_slice() {
        typed.mistake(
            format!("-{second}"),
            format!("gives the method a second time beside -{first}"),
            "use one of them",
        );
    }
    match (typed.last("p"), typed.last("u"), typed.last("m")) {
        (Some(path), ..) => ("POST".to_owned(), typed.file("-p", path, surroundings)),
        (_, Some(path), _) => ("PUT".to_owned(), typed.file("-u", path, surroundings)),
        (.., Some(method)) => {
            if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                typed.mistake(format!("-m {method}"), "is not a method", "for example -m DELETE");
            }
            (method.to_owned(), Vec::new())
        }
        _ if typed.has("i") => ("HEAD".to_owned(), Vec::new()),
        _ => ("GET".to_owned(), Vec::new()),
    }
}

fn headers(typed: &mut Typed, keep_alive: bool) -> Headers {
    let mut headers = Headers::default();
    if keep_alive {
        headers.set("Connection", "Keep-Alive");
    }
    if let Some(cookie) = typed.last("C") {
        headers.set("Cookie", cookie);
    }
    for (flag, option, name) in [("-A", "A", "Authorization"), ("-P", "P", "Proxy-Authorization")] {
        if let Some(credentials) = typed.last(option) {
            let credentials = headers::basic(typed, flag, credentials);
            headers.set(name, &credentials);
        }
    }
    for text in typed.all("H").collect::<Vec<_>>() {
        let Some((name, value)) = headers::header(typed, "-H", text) else { continue };
        if headers.get(name).is_some() {
            typed.mistake(format!("-H {text:?}"), "is a second header of this name", "join their values with a comma");
        }
        headers.set(name, value);
    }
    headers.set_default("User-Agent", "ApacheBench/2.3");
    headers.set_default("Accept", "*/*");
    headers
}

impl Ab {
    /// ab's report, with a line break at its end. `-` stands where a figure is not measured.
    pub(crate) fn render(&self, result: &LoadResult) -> String {
        let Self { load, percentiles, spread, table, .. } = self;
        if let Some(attributes) = table {
            return ab_files::table(attributes, &self.rows(result), load, result);
        }
        let mut text = "This is Stampede, in the layout of ApacheBench 2.3\n\n".to_owned();
        for (name, value) in self.rows(result) {
            let gap = if ["Document Path", "Concurrency Level"].contains(&name) { "\n" } else { "" };
            let label = if name.is_empty() { String::new() } else { format!("{name}:") };
            let _ = writeln!(text, "{gap}{label:<23} {value}");
        }
        if answered(result) > 0 {
            text.push_str(&times(load, result, *spread));
            if *percentiles {
                text.push_str(&served(load, result));
            }
        }
        text
    }

    /// What stands above the times.
    fn rows(&self, result: &LoadResult) -> Vec<Row> {
        let Self { host, port, path, load, keep_alive, posts, lengths_may_differ, tls_name, table, .. } = self;
        let facts = &result.facts;
        let seconds = result.window.as_secs_f64();
        let lost: u64 = lost(result).map(|(_, count)| count).sum();
        let other_lengths = if *lengths_may_differ { 0 } else { facts.other_lengths };
        let (complete, failed) = (answered(result) + lost, lost + other_lengths);
        let length = match facts.first_length {
            _ if *lengths_may_differ => "Variable".to_owned(),
            Some(length) => format!("{length} bytes"),
            None => "0 bytes".to_owned(),
        };
        // ab ends a server's name at the first blank.
        let software = facts.server.as_deref().and_then(|server| server.split_whitespace().next()).unwrap_or_default();
        let mut rows = vec![
            ("Server Software", software.to_owned()),
            ("Server Hostname", host.clone()),
            ("Server Port", port.to_string()),
        ];
        if let Some(name) = tls_name {
            rows.extend([("SSL/TLS Protocol", "-".to_owned()), ("Server Temp Key", "-".to_owned())]);
            rows.extend(name.iter().map(|name| ("TLS Server Name", name.clone())));
        }
        rows.extend([
            ("Document Path", path.clone()),
            ("Document Length", length),
            ("Concurrency Level", load.connections().to_string()),
            ("Time taken for tests", format!("{seconds:.3} seconds")),
            ("Complete requests", complete.to_string()),
        ]);
        let causes = if failed > 0 { failures(result, other_lengths) } else { String::new() };
        rows.push(("Failed requests", format!("{failed}{causes}")));
        let other_than_2xx = answered(result) - with_status(result, 200..=299);
        let kept = ("Keep-Alive requests", (answered(result) - facts.not_kept.min(answered(result))).to_string());
        let others = ("Non-2xx responses", other_than_2xx.to_string());
        if *keep_alive {
            rows.push(kept);
        }
        if other_than_2xx > 0 {
            rows.push(others);
        }
        rows.push(("Total transferred", format!("{} bytes", result.bytes_received)));
        if *posts {
            rows.push(("Total body sent", result.bytes_sent.to_string()));
        }
        rows.push(("HTML transferred", format!("{} bytes", facts.body_bytes)));
        let each = seconds * 1e3 / complete as f64;
        let kilobytes = |bytes: u64| bytes as f64 / 1024.0 / seconds;
        let rate = complete as f64 / seconds;
        if table.is_some() {
            rows.push(("Requests per second", format!("{rate:.2}")));
            rows.push(("Transfer rate", format!("{:.2} kb/s received", kilobytes(result.bytes_received))));
        } else {
            rows.extend([
                ("Requests per second", format!("{rate:.2} [#/sec] (mean)")),
                ("Time per request", format!("{:.3} [ms] (mean)", each * f64::from(load.connections()))),
                ("Time per request", format!("{each:.3} [ms] (mean, across all concurrent requests)")),
                ("Transfer rate", format!("{:.2} [Kbytes/sec] received", kilobytes(result.bytes_received))),
            ]);
        }
        if *posts {
            rows.push(("", format!("{:.2} kb/s sent", kilobytes(result.bytes_sent))));
            rows.push(("", format!("{:.2} kb/s total", kilobytes(result.bytes_sent + result.bytes_received))));
        }
        rows
    }

    /// Whether failures do not end it.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Whether it prints a table of HTML.
    pub(crate) fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// Where `-g` and `-e` are written.
    pub(crate) fn paths(&self) -> Vec<(&'static str, &str)> {
        let given = [("-g", &self.gnuplot), ("-e", &self.percentages)];
        given.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }

    /// The files of `-g` and `-e`.
    pub(crate) fn files(&self, outcome: &ToolOutcome<'_>) -> Vec<ToolFile> {
        let ToolOutcome { result, samples, began, time } = *outcome;
        let gnuplot = self.gnuplot.iter().map(|path| (path, ab_files::gnuplot(samples, began, time)));
        let percentages = self.percentages.iter().map(|path| (path, ab_files::percentages(&self.load, result)));
        gnuplot.chain(percentages).map(|(path, text)| ToolFile { path: path.clone(), text }).collect()
    }

    /// The percentiles that it prints.
    pub(crate) fn percentiles(&self) -> &'static [u64] {
        if self.percentiles { PERCENTILES } else { &[] }
    }
}

/// Causes as ab groups them. It compares each answer's length with that of the first.
fn failures(result: &LoadResult, lengths: u64) -> String {
    let (mut connect, mut receive, mut other) = (0, 0, 0);
    for (class, count) in lost(result) {
        let group = match class {
            ErrorClass::Refused | ErrorClass::Exhausted | ErrorClass::Tls => &mut connect,
            ErrorClass::Reset | ErrorClass::ClosedEarly | ErrorClass::Malformed | ErrorClass::Io => &mut receive,
            ErrorClass::TimedOut
            | ErrorClass::WrongStatus
            | ErrorClass::WrongHeader
            | ErrorClass::WrongBody
            | ErrorClass::Unwritable => &mut other,
        };
        *group += count;
    }
    format!("\n   (Connect: {connect}, Receive: {receive}, Length: {lengths}, Exceptions: {other})")
}

fn times(load: &Load, result: &LoadResult, spread: bool) -> String {
    let count = answered(result);
    let whole = whole(load, result);
    let rows = [
        ("Connect:", Moments::of(&result.total.connect, count)),
        ("Processing:", Moments::of(&result.total.service, count)),
        ("Waiting:", Moments::of(&result.total.first_byte, count)),
        ("Total:", Moments::of(whole, count)),
    ];
    let head = if spread { "  min  mean[+/-sd] median   max" } else { "  min   avg   max" };
    let mut text = format!("\nConnection Times (ms)\n{:12}{head}\n", "");
    for (name, Moments { min, mean, stddev, median, max }) in rows {
        let (min, mean, max) = (millis(min), millis(mean), millis(max));
        let _ = if spread {
            let (stddev, median) = (stddev / 1e6, millis(median));
            writeln!(text, "{name:<11} {min:>5} {mean:>4} {stddev:>5.1} {median:>6} {max:>7}")
        } else {
            writeln!(text, "{name:<11} {min:>5} {mean:>5}{max:>5}")
        };
    }
    text
}

/// The table of percentiles.
fn served(load: &Load, result: &LoadResult) -> String {
    let whole = whole(load, result);
    let count = whole.count();
    let at = |rank: u64| millis(at_rank(whole, rank).as_nanos() as f64);
    let mut text = "\nPercentage of the requests served within a certain time (ms)\n".to_owned();
    for percent in PERCENTILES {
        let _ = writeln!(text, "  {percent}%  {:>5}", at(count * percent / 100 + 1));
    }
    let _ = writeln!(text, " 100%  {:>5} (longest request)", at(count));
    text
}

/// Whole milliseconds, as ab rounds them.
fn millis(ns: f64) -> u64 {
    (ns / 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::sample::{self, bad, good, none};

    fn asked(line: &str) -> Result<(ToolRun, Ab), Vec<String>> {
        sample::read(&SYNTAX, read, line)
    }

    #[test]
    fn published_commands_are_read() {
        let (run, _) = asked("-n100000 -c200 -k http://localhost/").unwrap();
        assert_eq!((run.load, run.requests), (Load::Closed { connections: 200 }, Some(100_000)));
        assert!(run.keep_alive && run.request.headers["Connection"] == "Keep-Alive");
        let (run, _) = asked("-c 50 -n 1000 http://localhost/ja/blog/").unwrap();
        assert_eq!((run.request.path.as_str(), run.requests), ("/ja/blog/", Some(1000)));
        assert!(!run.keep_alive && !run.request.headers.contains_key("Connection"));
        assert_eq!((run.protocol, run.threads), (Protocol::Http10, 1));
    }

    #[test]
    fn the_later_of_t_and_n_says_how_many() {
        for (line, requests, seconds) in [
            ("-t 5", 50_000, 5),
            ("-n 10 -t 5", 50_000, 5),
            ("-t 5 -n 10", 10, 5),
            ("-n 10", 10, 24 * 3600),
            ("", 1, 24 * 3600),
        ] {
            let (run, _) = asked(&format!("{line} h/")).unwrap();
            assert_eq!((run.requests, run.duration.as_secs()), (Some(requests), seconds), "{line}");
        }
    }

    #[test]
    fn requests_are_abs() {
        for (line, method, expected) in [
            ("", "GET", "Accept: */*, User-Agent: ApacheBench/2.3"),
            ("-i", "HEAD", "Accept: */*, User-Agent: ApacheBench/2.3"),
            ("-m DELETE -H accept:x", "DELETE", "User-Agent: ApacheBench/2.3, accept: x"),
            ("-p body", "POST", "Accept: */*, Content-type: text/plain, User-Agent: ApacheBench/2.3"),
            (
                "-u body -T a/b -C a=b -C c=d -A u:p -P x:y -H User-Agent:z",
                "PUT",
                "Accept: */*, Authorization: Basic dTpw, Content-type: a/b, Cookie: c=d, Proxy-Authorization: Basic eDp5, \
                 User-Agent: z",
            ),
        ] {
            let (ToolRun { request, .. }, _) = asked(&format!("{line} http://h/")).unwrap();
            let headers: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            assert_eq!((request.method.as_str(), headers.join(", ").as_str()), (method, expected), "{line}");
        }
        for (line, host) in [("http://h:80/", "h"), ("h:81/", "h:81"), ("-H Host:other http://h/", "other")] {
            assert_eq!(asked(line).unwrap().0.host, host, "{line}");
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let line = "-n none -c 0 -t soon -s 0 -p /nonexistent/body -i -H x -H A:1 -H a:2 -A me -b 1 -v2 \
                    -X :1 -B no -f TLS1 -Z X -E none -kj ftp://h/ -k";
        let places = [
            "-b 1",
            "-j",
            "-c 0",
            "-n none",
            "-t soon",
            "-s 0",
            "-i",
            "-p /nonexistent/body",
            "-A me",
            "-H \"x\"",
            "-H \"a:2\"",
            "-v 2",
            "-f TLS1",
            "-Z X",
            "-E none",
            "-B no",
            "-X :1",
            "-k",
            "URL ftp://h/",
        ];
        assert_eq!(asked(line).unwrap_err(), places);
        assert_eq!(asked("-n 5 -c 10").unwrap_err(), ["-n 5", "URL"]);
    }

    #[test]
    fn the_layout_is_abs() {
        let (_, ab) = asked("-n 20000 -c 100 -k http://127.0.0.1:8080/a?b").unwrap();
        assert_snapshot!("ab_good", ab.render(&good()));
        assert_snapshot!("ab_none", ab.render(&none()));
        let (_, ab) = asked("-n 20000 -c 100 -p body -dSl http://127.0.0.1:8080/").unwrap();
        assert_snapshot!("ab_bad", ab.render(&bad()));
    }
}
