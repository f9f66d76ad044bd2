//! The cookies of one user on one host (RFC 6265).
//!
//! `Secure` is kept out of account: a test bench speaks plain HTTP to an application that believes to be behind TLS, and
//! browsers send such cookies to localhost as well. `HttpOnly` and `SameSite` mean nothing where there are no scripts and no
//! other sites.

use std::time::{Duration, SystemTime};

use crate::cookie_date;

/// The most cookies that are kept; of more, the oldest goes. What a browser keeps for a host at least (RFC 6265, section
/// 6.1).
const COOKIES: usize = 50;

/// The most bytes of a cookie's name, value and path together (RFC 6265, section 6.1); a longer one is not kept.
const COOKIE_BYTES: usize = 4096;

/// The latest time that a cookie is kept, in place of times that no clock can tell.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Debug, Default)]
pub(crate) struct Jar {
    /// Longest path first, then oldest first: the order in which they are sent (RFC 6265, section 5.4).
    cookies: Vec<Cookie>,
    /// Cookies that were ever kept.
    made: u64,
}

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// `None` for a cookie that is kept as long as its user.
    expires: Option<SystemTime>,
    number: u64,
}

/// What a `Set-Cookie` header says.
struct SetCookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: Option<&'a [u8]>,
    domain: Option<&'a [u8]>,
    expires: Option<SystemTime>,
}

impl Jar {
    /// Takes what a `Set-Cookie` header says, in the answer to a request for a path (RFC 6265, section 5.3).
    pub(crate) fn store(&mut self, header: &[u8], host: &str, request_path: &[u8], now: SystemTime) {
        let Some(set) = SetCookie::parse(header, now) else { return };
        if set.domain.is_some_and(|domain| !domain_matches(domain, host)) {
            return;
        }
        let path = set.path.unwrap_or_else(|| default_path(request_path));
        let known = self.cookies.iter().position(|cookie| cookie.name == set.name && cookie.path == path);
        if set.expires.is_some_and(|expires| expires <= now) {
            if let Some(known) = known {
                self.cookies.remove(known);
            }
            return;
        }
        if set.name.len() + set.value.len() + path.len() > COOKIE_BYTES {
            return;
        }
        if let Some(cookie) = known.and_then(|known| self.cookies.get_mut(known)) {
            cookie.value.clear();
            cookie.value.extend_from_slice(set.value);
            cookie.expires = set.expires;
            return;
        }
        if self.cookies.len() == COOKIES {
            self.cookies.retain(|cookie| cookie.expires.is_none_or(|expires| expires > now));
            let oldest =
                (0..self.cookies.len()).min_by_key(|index| self.cookies.get(*index).map(|cookie| cookie.number));
            if self.cookies.len() == COOKIES
                && let Some(oldest) = oldest
            {
                self.cookies.remove(oldest);
            }
        }
        let place = self.cookies.partition_point(|cookie| cookie.path.len() >= path.len());
        let (name, value, path) = (set.name.to_vec(), set.value.to_vec(), path.to_vec());
        self.cookies.insert(place, Cookie { name, value, path, expires: set.expires, number: self.made });
        self.made += 1;
    }

    /// Adds the value of the `Cookie` header of a request for a path; nothing when no cookie is for it (RFC 6265, section
    /// 5.4).
    pub(crate) fn write(&self, request_path: &[u8], now: SystemTime, out: &mut Vec<u8>) {
        let path = path_without_query(request_path);
        let mut separator: &[u8] = b"";
        for cookie in &self.cookies {
            if cookie.expires.is_none_or(|expires| expires > now) && path_matches(&cookie.path, path) {
                out.extend_from_slice(separator);
                if !cookie.name.is_empty() {
                    out.extend_from_slice(&cookie.name);
                    out.push(b'=');
                }
                out.extend_from_slice(&cookie.value);
                separator = b"; ";
            }
        }
    }
}

impl<'a> SetCookie<'a> {
    /// RFC 6265, section 5.2.
    fn parse(header: &'a [u8], now: SystemTime) -> Option<Self> {
        let mut fields = header.split(|byte| *byte == b';');
        let (name, value) = split_pair(fields.next()?)?;
        if name.is_empty() || name.iter().chain(value).any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
        let mut set = Self { name, value, path: None, domain: None, expires: None };
        let mut max_age = None;
        for field in fields {
            let (name, value) = split_pair(field).unwrap_or((field.trim_ascii(), b""));
            if name.eq_ignore_ascii_case(b"expires") {
                set.expires = cookie_date::parse(value).or(set.expires);
            } else if name.eq_ignore_ascii_case(b"max-age") {
                max_age = read_max_age(value).or(max_age);
            } else if name.eq_ignore_ascii_case(b"domain") {
                let domain = value.strip_prefix(b".").unwrap_or(value);
                set.domain = (!domain.is_empty()).then_some(domain);
            } else if name.eq_ignore_ascii_case(b"path") {
                set.path = value.starts_with(b"/").then_some(value);
            }
        }
        if let Some(max_age) = max_age {
            set.expires = Some(now + max_age);
        }
        Some(set)
    }
}

fn split_pair(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = field.iter().position(|byte| *byte == b'=')?;
    Some((field[..equals].trim_ascii(), field[equals + 1..].trim_ascii()))
}

/// Nothing left to live is told as zero (RFC 6265, section 5.2.2).
fn read_max_age(value: &[u8]) -> Option<Duration> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if digits.len() < value.len() {
        return Some(Duration::ZERO);
    }
    let seconds = std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX);
    Some(Duration::from_secs(seconds).min(YEAR))
}

/// RFC 6265, section 5.1.3.
fn domain_matches(domain: &[u8], host: &str) -> bool {
    let name = host
        .rsplit_once(':')
        .map_or(host, |(name, port)| if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host });
    let Some((rest, end)) = name.len().checked_sub(domain.len()).and_then(|at| name.as_bytes().split_at_checked(at))
    else {
        return false;
    };
    let is_address = name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok();
    end.eq_ignore_ascii_case(domain) && (rest.is_empty() || rest.ends_with(b".") && !is_address)
}

/// RFC 6265, section 5.1.4.
fn default_path(request_path: &[u8]) -> &[u8] {
    let path = path_without_query(request_path);
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(last) => &path[..last],
    }
}

/// RFC 6265, section 5.1.4.
fn path_matches(cookie_path: &[u8], request_path: &[u8]) -> bool {
    request_path
        .strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || cookie_path.ends_with(b"/"))
}

fn path_without_query(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    &target[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        // 2015-10-21 07:28:00 UTC.
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480)
    }

    fn sent(jar: &Jar, path: &str, at: SystemTime) -> String {
        let mut out = Vec::new();
        jar.write(path.as_bytes(), at, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cookies_are_kept_and_sent_as_rfc_6265_shows() {
        let expired = "lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT";
        for (headers, path, expected) in [
            // Section 3.1.
            (vec!["SID=31d4d96e407aad42"], "/", "SID=31d4d96e407aad42"),
            (vec!["SID=31d4d96e407aad42; Path=/; Domain=example.com"], "/", "SID=31d4d96e407aad42"),
            (
                vec!["SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", "lang=en-US; Path=/; Domain=example.com"],
                "/",
                "SID=31d4d96e407aad42; lang=en-US",
            ),
            (vec!["lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT"], "/", "lang=en-US"),
            (vec!["SID=31d4d96e407aad42", "lang=en-US", expired], "/", "SID=31d4d96e407aad42"),
            // Section 5.2: spaces, case, an attribute that is not known, the last of two counts.
            (vec!["  a = b c ; PATH=/x; path = /y ; foo; SameSite=Lax"], "/y", "a=b c"),
            (vec!["a=b=c"], "/", "a=b=c"),
            (vec!["a=\"quoted\""], "/", "a=\"quoted\""),
            (vec!["a="], "/", "a="),
            (vec!["novalue", "=x", ""], "/", ""),
            (vec!["a=1", "a=2"], "/", "a=2"),
            (vec!["a=1", "A=2"], "/", "a=1; A=2"),
            // Section 5.2.2: Max-Age has precedence.
            (vec!["a=1; Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:37 GMT"], "/", "a=1"),
            (vec!["a=1; Max-Age=0"], "/", ""),
            (vec!["a=1; Max-Age=-5"], "/", ""),
            (vec!["a=1; Max-Age=soon"], "/", "a=1"),
            (vec!["a=1; Max-Age=99999999999999999999"], "/", "a=1"),
            (vec!["a=1; Expires=never"], "/", "a=1"),
            // Section 5.1.4, with a request for /in/here?x=/y.
            (vec!["a=1"], "/in", "a=1"),
            (vec!["a=1"], "/in/other?b", "a=1"),
            (vec!["a=1"], "/inside", ""),
            (vec!["a=1"], "/", ""),
            (vec!["a=1; Path=relative"], "/in/x", "a=1"),
            (vec!["a=1; Path=/p/"], "/p/q", "a=1"),
            (vec!["a=1; Path=/p/"], "/p", ""),
            // Section 5.4: longer paths first, then older ones.
            (vec!["a=1; Path=/", "b=2; Path=/p", "c=3; Path=/", "a=4; Path=/p"], "/p/q", "b=2; a=4; a=1; c=3"),
            // Section 5.1.3.
            (vec!["a=1; Domain=.EXAMPLE.com; Path=/"], "/", "a=1"),
            (vec!["a=1; Domain=ample.com; Path=/"], "/", ""),
            (vec!["a=1; Domain=other.com; Path=/"], "/", ""),
            (vec!["a=1; Domain=; Path=/"], "/", "a=1"),
        ] {
            let mut jar = Jar::default();
            for header in &headers {
                let request =
                    if path.starts_with("/in") || path == "/" && headers == ["a=1"] { "/in/here?x=/y" } else { "/" };
                jar.store(header.as_bytes(), "www.example.com:8080", request.as_bytes(), now());
            }
            assert_eq!(sent(&jar, path, now()), expected, "{headers:?} {path}");
        }
    }

    #[test]
    fn a_cookie_ends_at_its_time() {
        let mut jar = Jar::default();
        jar.store(b"a=1; Max-Age=10", "127.0.0.1:80", b"/", now());
        jar.store(b"b=1; Domain=127.0.0.1", "127.0.0.1:80", b"/", now());
        jar.store(b"c=1; Domain=0.0.1", "127.0.0.1:80", b"/", now());
        assert_eq!(sent(&jar, "/", now() + Duration::from_secs(9)), "a=1; b=1");
        assert_eq!(sent(&jar, "/", now() + Duration::from_secs(10)), "b=1");
    }

    #[test]
    fn a_jar_is_bounded_in_number_and_size() {
        let mut jar = Jar::default();
        for number in 0..2 * COOKIES {
            jar.store(format!("c{number}=x").as_bytes(), "h", b"/", now());
        }
        let expected: Vec<_> = (COOKIES..2 * COOKIES).map(|number| format!("c{number}=x")).collect();
        assert_eq!(sent(&jar, "/", now()), expected.join("; "));
        jar.store(&[b"long=".as_slice(), &[b'x'; COOKIE_BYTES]].concat(), "h", b"/", now());
        assert_eq!(sent(&jar, "/", now()), expected.join("; "));
    }
}
