//! One line of an access log.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::fmt::strtime;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::escape::unescaped;

/// What a line says of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogLine<'a> {
    /// The site that was asked, where the line names it.
    pub(crate) host: Option<Cow<'a, str>>,
    /// `GET`.
    pub(crate) method: Cow<'a, str>,
    /// The request target as it was sent.
    pub(crate) target: Cow<'a, str>,
    pub(crate) status: Option<u16>,
    pub(crate) at: Option<Timestamp>,
    /// How the visitor calls itself; empty where the line does not say.
    pub(crate) agent: Cow<'a, str>,
}

/// Times of the common log format: `10/Oct/2000:13:55:36 -0700`.
const COMMON_TIME: &str = "%d/%b/%Y:%H:%M:%S %z";

/// How an escape and what is not UTF-8 is read: text or nothing.
fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    match bytes.contains(&b'\\') {
        false => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        true => String::from_utf8(unescaped(bytes)).ok().map(Cow::Owned),
    }
}

impl<'a> LogLine<'a> {
    /// Reads a line without its end: of JSON where it begins with `{` (nginx with `escape=json`, Caddy, Traefik), else of the common or
    /// the combined format, also with the site before it (Apache's `vhost_combined`). Nothing of a line that is none.
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        if line.first() == Some(&b'{') { Self::of_json(line) } else { Self::of_text(line) }
    }

    /// `host ident user [time] "GET / HTTP/1.1" 200 5 "referer" "agent"`.
    fn of_text(line: &'a [u8]) -> Option<Self> {
        let opened = memchr::memchr(b'[', line)?;
        let head = std::str::from_utf8(line.get(..opened)?).ok()?;
        let rest = line.get(opened + 1..)?;
        let closed = memchr::memchr(b']', rest)?;
        let at = std::str::from_utf8(rest.get(..closed)?).ok()?;
        let at = strtime::parse(COMMON_TIME, at).ok().and_then(|time| time.to_timestamp().ok());
        let (request, rest) = quoted(rest.get(closed + 1..)?)?;
        let mut fields = rest.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let status = std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let agent = quoted(rest).and_then(|(_referer, rest)| quoted(rest)).and_then(|(agent, _)| text(agent));
        let (method, target) = match text(request)? {
            Cow::Borrowed(request) => request_line(request).map(|(method, target)| (method.into(), target.into()))?,
            Cow::Owned(request) => {
                request_line(&request).map(|(method, target)| (method.to_owned().into(), target.to_owned().into()))?
            }
        };
        // Three fields before the time, or four with the site as the first: `shop.example.org:443 192.0.2.1 - - [`.
        let mut head = head.split_ascii_whitespace();
        let host = head.next().filter(|_| head.count() == 3).map(Cow::Borrowed);
        Some(Self { host, method, target, status, at, agent: agent.unwrap_or_default() })
    }

    fn of_json(line: &'a [u8]) -> Option<Self> {
        let line: JsonLine<'a> = serde_json::from_slice(line).ok()?;
        let request = line.request.map(RawValue::get);
        let (method, target, host, agent) = match (request, line.method, line.uri) {
            // Caddy has the request as an object.
            (Some(object), _, _) if object.starts_with('{') => {
                let CaddyRequest { method, uri, host, headers } = serde_json::from_str(object).ok()?;
                let agent = headers.and_then(|headers| headers.user_agent.into_iter().next());
                (method, uri, host, agent.map(Cow::Owned))
            }
            (_, Some(method), Some(uri)) => (method, uri, line.host, line.agent),
            (Some(request), _, _) => {
                let request: String = serde_json::from_str(request).ok()?;
                let (method, target) = request_line(&request)?;
                (method.to_owned().into(), target.to_owned().into(), line.host, line.agent)
            }
            _ => return None,
        };
        Some(Self {
            host: host.filter(|host| !host.is_empty()),
            method,
            target,
            status: line.status.and_then(|status| status.get().trim_matches('"').parse().ok()),
            at: line.at.and_then(|at| time(at.get().trim_matches('"'))),
            agent: agent.unwrap_or_default(),
        })
    }
}

/// The names that servers give to these fields: nginx's variables, Caddy's and Traefik's keys
/// (<https://nginx.org/en/docs/varindex.html>, <https://caddyserver.com/docs/caddyfile/directives/log>,
/// <https://doc.traefik.io/traefik/observe/logs-and-access-logs/>).
#[derive(Deserialize)]
struct JsonLine<'a> {
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "request_method", alias = "RequestMethod")]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "request_uri", alias = "RequestPath", alias = "url", alias = "path")]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "http_host", alias = "server_name", alias = "RequestHost", alias = "vhost")]
    host: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "DownstreamStatus")]
    status: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        alias = "ts",
        alias = "time_iso8601",
        alias = "time_local",
        alias = "msec",
        alias = "StartUTC"
    )]
    #[serde(alias = "time")]
    at: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "http_user_agent", alias = "request_User-Agent", alias = "user_agent")]
    agent: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct CaddyRequest<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(borrow, default)]
    host: Option<Cow<'a, str>>,
    #[serde(default)]
    headers: Option<CaddyHeaders>,
}

#[derive(Deserialize)]
struct CaddyHeaders {
    #[serde(rename = "User-Agent", default)]
    user_agent: Vec<String>,
}

/// `GET / HTTP/1.1` as method and target; nothing of what is no request, as a handshake of TLS that came to a plain port.
fn request_line(text: &str) -> Option<(&str, &str)> {
    let (method, rest) = text.split_once(' ')?;
    let (target, version) = rest.rsplit_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && version.starts_with("HTTP/")).then_some((method, target))
}

/// The text in the first quotation marks, escapes left as they are, and what follows it.
fn quoted(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = line.get(memchr::memchr(b'"', line)? + 1..)?;
    let mut from = 0;
    loop {
        let end = from + memchr::memchr2(b'"', b'\\', inner.get(from..)?)?;
        if inner.get(end) == Some(&b'"') {
            return Some((inner.get(..end)?, inner.get(end + 1..)?));
        }
        from = end + 2;
    }
}

/// A moment as seconds since 1970, of RFC 3339, or of the common log format.
fn time(text: &str) -> Option<Timestamp> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Timestamp::from_microsecond((seconds * 1e6) as i64).ok();
    }
    text.parse().ok().or_else(|| strtime::parse(COMMON_TIME, text).ok()?.to_timestamp().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "2000-10-10T20:55:36Z";

    fn read(line: &str) -> Option<[String; 5]> {
        let line = LogLine::read(line.as_bytes())?;
        assert!(line.at.is_none_or(|at| at == AT.parse().unwrap()), "{:?}", line.at);
        let status = line.status.map(|status| status.to_string()).unwrap_or_default();
        Some([line.host.unwrap_or_default().into(), line.method.into(), line.target.into(), status, line.agent.into()])
    }

    #[test]
    fn each_format_says_what_was_asked() {
        let of = |fields: [&str; 5]| Some(fields.map(str::to_owned));
        for (line, expected) in [
            (
                r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a?b=c%20d HTTP/1.1" 200 2326"#,
                of(["", "GET", "/a?b=c%20d", "200", ""]),
            ),
            (
                r#"2001:db8::1 - jo [10/Oct/2000:13:55:36 -0700] "POST /x HTTP/2.0" 302 0 "-" "Firefox \"x\"""#,
                of(["", "POST", "/x", "302", "Firefox \"x\""]),
            ),
            (
                r#"shop.example.org:443 192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET //x HTTP/1.1" 200 5 "-" "-""#,
                of(["shop.example.org:443", "GET", "//x", "200", "-"]),
            ),
            (
                r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /\xC3\xBC?q=\x22 HTTP/1.1" 404 5 "-" "-""#,
                of(["", "GET", "/ü?q=\"", "404", "-"]),
            ),
            (
                r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET http://example.org/a b HTTP/1.1" 200 5 "-" "-""#,
                of(["", "GET", "http://example.org/a b", "200", "-"]),
            ),
            (
                r#"{"time_iso8601":"2000-10-10T13:55:36-07:00","request":"GET /n HTTP/1.1","status":"200","http_user_agent":"Ä"}"#,
                of(["", "GET", "/n", "200", "Ä"]),
            ),
            (
                r#"{"msec":"971211336.000","request_method":"GET","request_uri":"/n?\u00fc","status":200,"http_host":"a.example"}"#,
                of(["a.example", "GET", "/n?ü", "200", ""]),
            ),
            (
                r#"{"level":"info","ts":971211336.0,"request":{"method":"HEAD","host":"c.example","uri":"/c","headers":{"User-Agent":["Caddybrowser"],"Accept":["*/*"]}},"duration":0.1,"status":200}"#,
                of(["c.example", "HEAD", "/c", "200", "Caddybrowser"]),
            ),
            (
                r#"{"DownstreamStatus":503,"RequestHost":"t.example","RequestMethod":"GET","RequestPath":"/t?x=1","StartUTC":"2000-10-10T20:55:36Z","request_User-Agent":"T"}"#,
                of(["t.example", "GET", "/t?x=1", "503", "T"]),
            ),
            (r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 5 "-" "-""#, None),
            (r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 0 "-" "-""#, None),
            (r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"#, None),
            ("#Fields: date time cs-method", None),
            (r#"{"level":"info","msg":"started"}"#, None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
