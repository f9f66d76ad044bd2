//! A curl line, as browsers and documentations give it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use stampede_core::Request;

use crate::recorded_request::RecordedRequest;
use crate::shell_words::shell_words;
use crate::target::Target;

/// Options that say nothing of the request and take a value.
const IGNORED_WITH_VALUE: [&str; 22] = [
    "--cacert",
    "--capath",
    "--cert",
    "--ciphers",
    "--connect-timeout",
    "--connect-to",
    "--cookie-jar",
    "--key",
    "--max-redirs",
    "--max-time",
    "--output",
    "--proxy",
    "--resolve",
    "--retry",
    "--retry-delay",
    "--stderr",
    "--trace",
    "--write-out",
    "--limit-rate",
    "--interface",
    "--tls-max",
    "--dump-header",
];

/// Short options with a value that say nothing of the request.
const IGNORED_SHORT: [char; 10] = ['c', 'D', 'E', 'm', 'o', 'w', 'x', 'C', 'P', 'Y'];

/// Reads a curl line into the request that it sends (<https://curl.se/docs/manpage.html>).
///
/// # Errors
///
/// What it holds that is not done, with what to write instead.
pub fn curl(line: &str) -> Result<RecordedRequest, String> {
    let words = shell_words(line)?;
    let mut words = words.into_iter().peekable();
    words.next_if(|word| word == "curl" || word.ends_with("/curl"));
    let mut read = Curl::default();
    while let Some(word) = words.next() {
        let mut value = |name: &str| words.next().ok_or_else(|| format!("{name} has no value"));
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            match long.split_once('=') {
                Some((name, given)) if name.starts_with(|first: char| first.is_ascii_lowercase()) => {
                    let given = given.to_owned();
                    read.option(&format!("--{name}"), &mut |_| Ok(given.clone()))?;
                }
                _ => read.option(&word, &mut value)?,
            }
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            // Several in one word, and a value that follows at once: -sSLXPOST.
            for (place, letter) in short.char_indices() {
                let rest = short.get(place + letter.len_utf8()..).unwrap_or_default().to_owned();
                let mut is_taken = false;
                let mut value_of = |name: &str| {
                    is_taken = true;
                    if rest.is_empty() { value(name) } else { Ok(rest.clone()) }
                };
                read.short(letter, &mut value_of)?;
                if is_taken {
                    break;
                }
            }
        } else {
            read.urls.push(word);
        }
    }
    read.finish()
}

type ValueOf<'v> = dyn FnMut(&str) -> Result<String, String> + 'v;

#[derive(Default)]
struct Curl {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<String>,
    is_json: bool,
    is_get: bool,
    is_head: bool,
}

impl Curl {
    fn short(&mut self, letter: char, value: &mut ValueOf<'_>) -> Result<(), String> {
        let long = match letter {
            'X' => "--request",
            'H' => "--header",
            'd' => "--data",
            'b' => "--cookie",
            'A' => "--user-agent",
            'e' => "--referer",
            'u' => "--user",
            'G' => "--get",
            'I' => "--head",
            'F' => "--form",
            'T' => "--upload-file",
            other if IGNORED_SHORT.contains(&other) => return value(&format!("-{other}")).map(drop),
            _ => return Ok(()),
        };
        self.option(long, value)
    }

    fn option(&mut self, name: &str, value: &mut ValueOf<'_>) -> Result<(), String> {
        match name {
            "--request" => self.method = Some(value(name)?),
            "--url" => self.urls.push(value(name)?),
            "--header" => {
                let header = value(name)?;
                match header.split_once(':') {
                    Some((key, content)) => self.headers.push((key.trim().to_owned(), content.trim().to_owned())),
                    None if header.ends_with(';') => {
                        self.headers.push((header.trim_end_matches(';').to_owned(), String::new()));
                    }
                    None => return Err(format!("{header} is no header; write -H 'Name: value'")),
                }
            }
            "--data" | "--data-ascii" | "--data-binary" | "--json" => {
                let data = value(name)?;
                if data.starts_with('@') {
                    return Err(format!(
                        "{name} {data} names a file; write the request into stampede.yaml with body_file"
                    ));
                }
                self.is_json |= name == "--json";
                self.data.push(data);
            }
            "--data-raw" => self.data.push(value(name)?),
            "--data-urlencode" => {
                let data = value(name)?;
                let (key, content) = match data.split_once('=') {
                    Some(("", content)) => (None, content),
                    Some((key, content)) => (Some(key), content),
                    None if data.contains('@') => {
                        return Err(format!("{name} {data} names a file; write what it holds"));
                    }
                    None => (None, data.as_str()),
                };
                let encoded = percent_encoded(content);
                self.data.push(key.map_or_else(|| encoded.clone(), |key| format!("{key}={encoded}")));
            }
            "--cookie" => self.headers.push(("Cookie".to_owned(), value(name)?)),
            "--user-agent" => self.headers.push(("User-Agent".to_owned(), value(name)?)),
            "--referer" => self.headers.push(("Referer".to_owned(), value(name)?)),
            "--user" => {
                let user = base64::engine::general_purpose::STANDARD.encode(value(name)?);
                self.headers.push(("Authorization".to_owned(), format!("Basic {user}")));
            }
            "--get" => self.is_get = true,
            "--head" => self.is_head = true,
            "--form" | "--form-string" | "--upload-file" => {
                return Err(format!("{name} is not done; write the request into stampede.yaml with body_file"));
            }
            other if IGNORED_WITH_VALUE.contains(&other) => _ = value(other)?,
            // What else there is are switches of the transfer: --compressed, --location, --insecure.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<RecordedRequest, String> {
        let Self { urls, method, headers, data, is_json, is_get, is_head } = self;
        let url = match &urls[..] {
            [url] => url,
            [] => return Err("names no address; paste the whole line".to_owned()),
            [_, second, ..] => return Err(format!("names a second address, {second}; give each a --curl of its own")),
        };
        // curl takes an address without a scheme for HTTP.
        let with_scheme =
            if url.contains("://") || url.starts_with('/') { url.clone() } else { format!("http://{url}") };
        let Target { host, path } =
            Target::of(&with_scheme).ok_or_else(|| format!("{url} is no address of a web server"))?;
        let separator = if data.iter().any(|part| part.starts_with(['{', '['])) { "" } else { "&" };
        let body = data.join(separator);
        let mut path = path.to_owned();
        if is_get && !body.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&body);
        }
        let has_body = !is_get && !data.is_empty();
        let by_default = if is_head {
            "HEAD"
        } else if has_body {
            "POST"
        } else {
            "GET"
        };
        let request = Request {
            method: method.unwrap_or_else(|| by_default.to_owned()),
            path,
            headers: BTreeMap::new(),
            body: if has_body { body.into_bytes() } else { Vec::new() },
        };
        let mut recorded = RecordedRequest { host: host.map(str::to_owned), request, secrets: BTreeSet::new() };
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        if has_body && !has("content-type") {
            let kind = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
            recorded.header("Content-Type", kind);
        }
        if is_json && !has("accept") {
            recorded.header("Accept", "application/json");
        }
        for (name, value) in &headers {
            recorded.header(name, value);
        }
        Ok(recorded)
    }
}

/// As curl encodes (RFC 3986, 2.3: all but unreserved characters).
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        match curl(line) {
            Ok(RecordedRequest { host, request: Request { method, path, headers, body }, secrets }) => format!(
                "{} {method} {path} {headers:?} {:?} {secrets:?}",
                host.unwrap_or_default(),
                String::from_utf8(body).unwrap()
            ),
            Err(problem) => format!("mistake: {problem}"),
        }
    }

    #[test]
    fn a_line_is_the_request_that_curl_sends() {
        for (line, expected) in [
            ("curl http://127.0.0.1:8080/a?b=c", r#"127.0.0.1:8080 GET /a?b=c {} "" {}"#),
            ("curl -sSL example.org", r#"example.org GET / {} "" {}"#),
            ("curl -I 'https://example.org/x y'", r#"example.org HEAD /x y {} "" {}"#),
            (
                "curl 'https://example.org/login' \\\n  -H 'accept: text/html' -H 'user-agent: Mozilla' \\\n  -b 'session=s3cr3t' \\\n  --data-raw 'a=1&b=2' --compressed",
                r#"example.org POST /login {"Content-Type": "application/x-www-form-urlencoded", "accept": "text/html"} "a=1&b=2" {"Cookie"}"#,
            ),
            (
                r#"curl -XPUT --json '{"a":1}' http://h/p -H "Authorization: Bearer x""#,
                r#"h PUT /p {"Accept": "application/json", "Content-Type": "application/json"} "{\"a\":1}" {"Authorization"}"#,
            ),
            ("curl -G -d q=1 --data-urlencode 'r=a b' http://h/s?t=0", r#"h GET /s?t=0&q=1&r=a%20b {} "" {}"#),
            ("curl -u jo:pw -o /dev/null -m 5 --max-time=3 http://h/", r#"h GET / {} "" {"Authorization"}"#),
            (
                r"curl http://h/ --data-raw $'x=\u0021'",
                r#"h POST / {"Content-Type": "application/x-www-form-urlencoded"} "x=!" {}"#,
            ),
            ("curl", "mistake: names no address; paste the whole line"),
            ("curl a b", "mistake: names a second address, b; give each a --curl of its own"),
            (
                "curl -d @file http://h/",
                "mistake: --data @file names a file; write the request into stampede.yaml with body_file",
            ),
            (
                "curl -F a=b http://h/",
                "mistake: --form is not done; write the request into stampede.yaml with body_file",
            ),
            ("curl 'http://h/", "mistake: has a ' that is not closed"),
            ("curl ftp://h/", "mistake: ftp://h/ is no address of a web server"),
            ("curl -H nonsense http://h/", "mistake: nonsense is no header; write -H 'Name: value'"),
            ("curl http://h/ -X", "mistake: --request has no value"),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }
}
