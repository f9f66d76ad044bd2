//! What the bench knows of a deployment, and its application may print: values that rightly differ between runtimes.
//!
//! They are exact, and so are compared exactly: in an expected answer each is replaced by its class, and an answer must have the
//! value of the deployment that gave it there.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use stampede_core::{Answer, Case, Endpoint, MaskClass};
use stampede_seam::Running;

/// Names of SAPIs that are no words of another meaning.
const DISTINCT_SAPIS: [&str; 5] = ["cli-server", "fpm-fcgi", "cgi-fcgi", "apache2handler", "phpdbg"];

/// How many bytes before a value the name is looked for that says what it is.
const NAME_REACH: usize = 32;

/// Values of one deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// `8.2.29`, where PHP serves.
    pub(crate) php_version: Option<String>,
    /// `fpm-fcgi`, where it was asked.
    pub(crate) sapi: Option<String>,
    /// What `SERVER_SOFTWARE` may be.
    pub(crate) software: Vec<String>,
    /// `127.0.0.1:20001`: the front, and whatever listens behind it, in all the ways that pages write it.
    pub(crate) addresses: Vec<String>,
    /// `20001`.
    pub(crate) ports: Vec<String>,
    /// The name that the application is asked by, where it is not an address: it is the same everywhere.
    pub(crate) host: Option<String>,
    /// The application's copy, and the folder of the run around it.
    pub(crate) folders: Vec<String>,
}

impl Known {
    /// What is known of a case that runs.
    pub(crate) fn of(running: &dyn Running, case: &Case) -> Self {
        let php_version = case.php.as_ref().map(|php| php.version.clone());
        // `nginx 1.22.1, PHP 8.2.29 NTS`: each server with its version.
        let programs = case.runtime_version.split(", ").filter_map(|program| program.split_once(' '));
        let mut software: Vec<_> = programs
            .filter(|(name, version)| *name != "PHP" && !version.contains(' '))
            .map(|(name, version)| format!("{name}/{version}"))
            .collect();
        if let Some(version) = &php_version {
            // What PHP's own server calls itself: since 8.3 as the second.
            software
                .extend([format!("PHP {version} Development Server"), format!("PHP/{version} (Development Server)")]);
        }
        let listeners = running.listeners().iter().map(|(_, endpoint)| endpoint);
        let tcp: Vec<_> = [running.front()]
            .into_iter()
            .chain(listeners)
            .filter_map(|endpoint| match endpoint {
                Endpoint::Tcp(address) => Some(*address),
                Endpoint::Unix(_) => None,
            })
            .collect();
        let folders = ["@{app}", "@{run}"].into_iter().filter_map(|place| running.resolve(place).ok());
        Self {
            php_version,
            sapi: None,
            software,
            addresses: tcp.iter().flat_map(|address| escaped(&address.to_string(), ":", COLONS)).collect(),
            host: case.site.as_ref().and_then(|site| site.host.clone()),
            ports: tcp.iter().map(|address| address.port().to_string()).collect(),
            folders: folders
                .filter(|folder| folder.len() > 1 && folder.starts_with('/'))
                .flat_map(|folder| escaped(&folder, "/", SLASHES))
                .collect(),
        }
    }

    /// The same with what the server calls itself in an answer.
    pub(crate) fn of_answer(&self, answer: &Answer) -> Self {
        let mut known = self.clone();
        known.software.extend(answer.header("server").map(str::to_owned));
        known
    }

    /// The values of a class.
    pub(crate) fn values(&self, class: MaskClass) -> Vec<&str> {
        let values = match class {
            MaskClass::PhpVersion => self.php_version.as_slice(),
            MaskClass::Sapi => self.sapi.as_slice(),
            MaskClass::ServerSoftware => &self.software,
            MaskClass::Address => &self.addresses,
            MaskClass::Port => &self.ports,
            MaskClass::Folder => &self.folders,
            _ => &[],
        };
        values.iter().map(String::as_str).collect()
    }

    /// Where a body has these values, in order.
    pub(crate) fn spans(&self, body: &[u8]) -> Vec<(Range<usize>, MaskClass)> {
        const CLASSES: [MaskClass; 6] = [
            MaskClass::ServerSoftware,
            MaskClass::PhpVersion,
            MaskClass::Sapi,
            MaskClass::Address,
            MaskClass::Port,
            MaskClass::Folder,
        ];
        let mut values: Vec<(&str, MaskClass)> =
            CLASSES.iter().flat_map(|class| self.values(*class).into_iter().map(|value| (value, *class))).collect();
        // A server's name alone is a word like others; with a version it is none.
        values.retain(|(value, class)| *class != MaskClass::ServerSoftware || value.contains(['/', ' ']));
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        if values.is_empty() {
            return Vec::new();
        }
        let any = values.iter().map(|(value, _)| regex::escape(value)).collect::<Vec<_>>().join("|");
        let Ok(any) = Regex::new(&any) else { return Vec::new() };
        let class = |found: &[u8]| values.iter().find(|(value, _)| value.as_bytes() == found).map(|(_, class)| *class);
        any.find_iter(body)
            .filter_map(|found| Some((found.range(), class(found.as_bytes())?)))
            .filter(|(range, class)| stands_alone(body, range) && is_named(body, range, *class))
            .collect()
    }

    /// A place as it is seen from the server: its path, where it names the server's own origin.
    pub(crate) fn on_server<'a>(&self, location: &'a str) -> &'a str {
        let after = location.strip_prefix("http://").or_else(|| location.strip_prefix("https://"));
        let path = after.and_then(|after| {
            self.addresses.iter().chain(self.host.iter()).find_map(|address| after.strip_prefix(address.as_str()))
        });
        match path {
            Some("") => "/",
            Some(path) if path.starts_with(['/', '?', '#']) => path,
            _ => location,
        }
    }
}

/// How a colon is written in a query, by Twig's escaping for scripts, and in HTML.
const COLONS: [&str; 3] = ["%3A", "\\u003A", "&#58;"];

/// How a slash is written in JSON, and in a query.
const SLASHES: [&str; 2] = ["\\/", "%2F"];

/// A value as it is, and as it is where a sign of it is written otherwise.
fn escaped<const N: usize>(value: &str, sign: &str, forms: [&str; N]) -> Vec<String> {
    std::iter::once(value.to_owned()).chain(forms.iter().map(|form| value.replace(sign, form))).collect()
}

/// Whether what is around a value is no part of it: `8.2.1` is not in `18.2.1` or `8.2.10`.
fn stands_alone(body: &[u8], range: &Range<usize>) -> bool {
    let before = range.start.checked_sub(1).map(|at| body[at]);
    let (after, next) = (body.get(range.end), body.get(range.end + 1));
    let is_number = |at: usize| body[at].is_ascii_digit();
    let (first, last) = (range.start, range.end - 1);
    let goes_on_before = before.is_some_and(|byte| {
        (byte.is_ascii_alphanumeric() && body[first].is_ascii_digit() && byte != b'v')
            || (byte.is_ascii_alphanumeric() && body[first].is_ascii_alphabetic())
            || (byte == b'.' && is_number(first))
    });
    let goes_on_after = after.is_some_and(|byte| {
        (byte.is_ascii_alphanumeric() && body[last].is_ascii_alphanumeric())
            || (*byte == b'.' && is_number(last) && next.is_some_and(u8::is_ascii_digit))
    });
    !goes_on_before && !goes_on_after
}

/// Whether a value that may be a word or a number of another meaning is named as what it is.
fn is_named(body: &[u8], range: &Range<usize>, class: MaskClass) -> bool {
    static SAPI: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("(?i)sapi|server api").ok());
    static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("(?i)port").ok());
    let name = match class {
        MaskClass::Sapi if DISTINCT_SAPIS.iter().any(|name| name.as_bytes() == &body[range.clone()]) => return true,
        MaskClass::Sapi => &SAPI,
        MaskClass::Port => &PORT,
        _ => return true,
    };
    let before = &body[range.start.saturating_sub(NAME_REACH)..range.start];
    name.as_ref().is_some_and(|name| name.is_match(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Known {
            php_version: Some("8.2.3".to_owned()),
            sapi: Some("cli".to_owned()),
            software: texts(&["nginx/1.22.1", "PHP 8.2.3 Development Server", "nginx"]),
            addresses: texts(&["127.0.0.1:2001"]),
            ports: texts(&["2001"]),
            host: Some("shop.test".to_owned()),
            folders: texts(&["/run/s/1/app", "/run/s/1"]),
        }
    }

    #[test]
    fn values_of_a_deployment_are_found_where_they_stand_alone_and_are_named() {
        for (body, found) in [
            ("Laravel v11 (PHP v8.2.3)", "Laravel v11 (PHP v<PHP version>)"),
            ("PHP 8.2.30, 18.2.3, 8.2.3.1 and 8.2.3.", "PHP 8.2.30, 18.2.3, 8.2.3.1 and <PHP version>."),
            ("PHP 8.2.3 Development Server", "<server software>"),
            ("nginx/1.22.1 is nginx", "<server software> is nginx"),
            ("the cli; SAPI: cli", "the cli; SAPI: <SAPI>"),
            ("http://127.0.0.1:2001/a and 127.0.0.1:20011", "http://<host and port>/a and 127.0.0.1:20011"),
            ("2001 items; SERVER_PORT=2001", "2001 items; SERVER_PORT=<port>"),
            ("in /run/s/1/app/x.php of /run/s/1", "in <run folder>/x.php of <run folder>"),
        ] {
            let mut shown = body.to_owned();
            for (range, class) in known().spans(body.as_bytes()).into_iter().rev() {
                shown.replace_range(range, &format!("<{}>", class.name()));
            }
            assert_eq!(shown, found);
        }
    }

    #[test]
    fn an_address_is_known_in_the_ways_that_pages_write_it() {
        let forms = escaped("127.0.0.1:2001", ":", COLONS);
        assert_eq!(forms, ["127.0.0.1:2001", "127.0.0.1%3A2001", "127.0.0.1\\u003A2001", "127.0.0.1&#58;2001"]);
    }

    #[test]
    fn a_place_on_the_server_is_its_path() {
        for (location, path) in [
            ("http://127.0.0.1:2001/login?a=b", "/login?a=b"),
            ("https://127.0.0.1:2001", "/"),
            ("http://127.0.0.1:20011/login", "http://127.0.0.1:20011/login"),
            ("https://shop.test/login", "/login"),
            ("http://shop.test:8080/", "http://shop.test:8080/"),
            ("http://shop.example/", "http://shop.example/"),
            ("/login", "/login"),
        ] {
            assert_eq!(known().on_server(location), path);
        }
    }
}
