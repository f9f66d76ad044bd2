//! The command of `stampede load` that sends what another tool's command line asks for.

use std::fmt::Write as _;
use std::time::Duration;

use stampede_core::{Load, Protocol, shell_word};

use crate::tool_run::{DAY, Extras, ToolRun};

/// The command, to be pasted into a shell. A body and a certificate come from the files that the tool's own options name, where they
/// do.
pub(crate) fn of(run: &ToolRun, body: Option<&str>, certificate: Option<&str>) -> String {
    let ToolRun {
        url, host, request, protocol, load, requests, duration, timeout, keep_alive, threads, extras, ..
    } = run;
    let scheme = if url.encrypted { "https" } else { "http" };
    let path = request.path.strip_prefix(scheme).map_or(request.path.as_str(), |_| url.path.as_str());
    let mut line = format!("stampede load {}", shell_word(&format!("{scheme}://{}{path}", url.authority)));
    match load {
        Load::Closed { connections } => {
            let _ = write!(line, " -c {connections}");
        }
        other => {
            let _ = write!(line, " --load {other}");
        }
    }
    if let Some(requests) = requests {
        let _ = write!(line, " -n {requests}");
    }
    if *duration < DAY {
        let _ = write!(line, " -d {}ms", duration.as_millis());
    }
    if let Some(timeout) = timeout.filter(|timeout| *timeout != Duration::from_secs(30)) {
        let _ = write!(line, " --timeout {}ms", timeout.as_millis());
    }
    let _ = write!(line, " --threads {threads}");
    match protocol {
        Protocol::Http10 => line.push_str(" --http1.0"),
        Protocol::Http11 => {}
        Protocol::Http2 { streams } => {
            let _ = write!(line, " --http2 --streams {streams}");
        }
    }
    let Extras { follows_redirects, proxy, source, server_name, .. } = extras;
    if *follows_redirects {
        line.push_str(" --follow-redirects");
    }
    if let Some(source) = source {
        let _ = write!(line, " --source {source}");
    }
    if let Some(proxy) = proxy.as_ref().filter(|_| !url.encrypted) {
        let _ = write!(line, " --connect {}", shell_word(proxy));
    }
    if let Some(name) = server_name.as_ref().filter(|name| url.encrypted && **name != url.host) {
        let _ = write!(line, " --server-name {}", shell_word(name));
    }
    if let Some(path) = certificate.filter(|_| url.encrypted) {
        let _ = write!(line, " --cert {}", shell_word(path));
    }
    if !keep_alive {
        line.push_str(" --no-keepalive");
    }
    if url.encrypted {
        line.push_str(" --insecure");
    }
    let usual = if request.body.is_empty() { "GET" } else { "POST" };
    if request.method != usual {
        let _ = write!(line, " -m {}", request.method);
    }
    if *host != url.authority {
        let _ = write!(line, " -H {}", shell_word(&format!("Host: {host}")));
    }
    // The engine says itself how a request is carried.
    for (name, value) in request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("connection")) {
        let _ = write!(line, " -H {}", shell_word(&format!("{name}: {value}")));
    }
    match body {
        Some(path) => {
            let _ = write!(line, " -b {}", shell_word(&format!("@{path}")));
        }
        None if request.body.is_empty() => {}
        None => {
            let _ = write!(line, " -b {}", shell_word(&String::from_utf8_lossy(&request.body)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::SURROUNDINGS;
    use crate::{CommandLine, Tool};

    #[test]
    fn the_command_sends_the_same() {
        for (tool, line, expected) in [
            (
                Tool::Ab,
                "-n 10 -c 2 -k -b 4096 http://h:81/a?b=c",
                "stampede load 'http://h:81/a?b=c' -c 2 -n 10 --threads 1 --http1.0 -H 'Accept: */*' -H 'User-Agent: \
                 ApacheBench/2.3'",
            ),
            (
                Tool::Ab,
                "-t 5 -n 100 -s 7 -p body -T a/b -b 1 https://h/",
                "stampede load https://h/ -c 1 -n 100 -d 5000ms --timeout 7000ms --threads 1 --http1.0 --no-keepalive \
                 --insecure -m POST -H 'Accept: */*' -H 'Content-type: a/b' -H 'User-Agent: ApacheBench/2.3' -b @body",
            ),
            (
                Tool::Ab,
                "-n 10 -c 2 -B 127.0.0.7 -E body -f TLS1.1 https://h/",
                "stampede load https://h/ -c 2 -n 10 --threads 1 --http1.0 --source 127.0.0.7 --cert body --no-keepalive \
                 --insecure -H 'Accept: */*' -H 'User-Agent: ApacheBench/2.3'",
            ),
            (
                Tool::Hey,
                "-n 10 -c 2 -m PUT -x http://p:1 -host o https://h/",
                "stampede load https://h/ -c 2 -n 10 --timeout 20000ms --threads 2 --follow-redirects --server-name o \
                 --insecure -m PUT -H 'Host: o' -H 'Accept-Encoding: gzip' -H 'Content-Type: text/html' -H 'User-Agent: \
                 hey/0.0.1'",
            ),
        ] {
            let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            let mistakes = CommandLine::read(tool, &args, SURROUNDINGS).unwrap_err().to_string();
            // `-m POST` is what a body means.
            let expected = expected.replace(" -m POST", "");
            assert!(mistakes.ends_with(&format!("or without it: {expected}")), "{mistakes}");
        }
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
