//! Where a redirect leads: the `Location` header, read against the URL whose answer has it (RFC 9110, section 10.2.2; RFC 3986,
//! section 5).

use thiserror::Error;

/// An `http` or `https` URL without its fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Whether the connection is encrypted: `https`.
    pub encrypted: bool,
    /// A name or an address, an IPv6 address without its brackets.
    pub host: String,
    /// The port; 80, or 443 where it is encrypted, by default.
    pub port: u16,
    /// Host and port as written.
    pub authority: String,
    /// Path and query, from `/`.
    pub path: String,
}

/// A `Location` that leads nowhere.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum LocationError {
    /// It is neither `http` nor `https`.
    #[error("its Location is neither http:// nor https://")]
    Scheme,
    /// It names no host, or a user, or no port where it should.
    #[error("its Location names no host and port")]
    Authority,
    /// It has a `%` without two hexadecimal digits, or control characters.
    #[error("its Location has characters that a URL must not have")]
    Characters,
}

impl Location {
    /// What a reference means in an answer from here; whether it names a scheme, too. Blanks and bytes beyond ASCII are written as
    /// `%XX`.
    ///
    /// # Errors
    ///
    /// When it is no reference to `http` or `https`.
    pub fn join(&self, reference: &[u8]) -> Result<(Self, bool), LocationError> {
        let text = escaped(reference)?;
        let reference = text.split('#').next().unwrap_or_default();
        let scheme = reference.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
        let (encrypted, rest) = match scheme {
            None => (self.encrypted, reference),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return Err(LocationError::Scheme),
        };
        if let Some(rest) = rest.strip_prefix("//") {
            let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let (host, port) = place(authority, encrypted).ok_or(LocationError::Authority)?;
            let path = without_dots(path, "");
            return Ok((Self { encrypted, host, port, authority: authority.to_owned(), path }, scheme.is_some()));
        }
        if scheme.is_some() {
            return Err(LocationError::Authority);
        }
        let (base, _) = self.path.split_at(self.path.find('?').unwrap_or(self.path.len()));
        let path = if rest.is_empty() {
            self.path.clone()
        } else if rest.starts_with('?') {
            format!("{base}{rest}")
        } else if rest.starts_with('/') {
            without_dots(rest, "")
        } else {
            without_dots(rest, base.rfind('/').and_then(|end| base.get(..end)).unwrap_or_default())
        };
        Ok((Self { path, ..self.clone() }, false))
    }

    /// The URL as written.
    pub fn url(&self) -> String {
        self.origin() + &self.path
    }

    /// The URL as written, without its path.
    pub fn origin(&self) -> String {
        let Self { encrypted, authority, .. } = self;
        format!("{}://{authority}", if *encrypted { "https" } else { "http" })
    }

    /// Whether both have the same scheme, host and port.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (self.encrypted, &self.host, self.port) == (other.encrypted, &other.host, other.port)
    }
}

/// Letters, digits, `+`, `-` and `.` after a letter (RFC 3986, section 3.1).
fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part)
}

fn place(authority: &str, encrypted: bool) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        None => return None,
        Some("") => None,
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
    };
    let usual = if encrypted { 443 } else { 80 };
    (!host.is_empty() && !authority.contains('@')).then(|| (host.to_owned(), port.unwrap_or(usual)))
}

/// As it may be sent in a request.
fn escaped(bytes: &[u8]) -> Result<String, LocationError> {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes.trim_ascii();
    while let Some((byte, after)) = rest.split_first() {
        match byte {
            b'%' if !after.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) => {
                return Err(LocationError::Characters);
            }
            b' ' | 0x80.. => text.push_str(&format!("%{byte:02X}")),
            byte if byte.is_ascii_control() => return Err(LocationError::Characters),
            byte => text.push(char::from(*byte)),
        }
        rest = after;
    }
    Ok(text)
}

/// A path, with its query, in a folder, without `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str, folder: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let whole = format!("{folder}/{}", path.strip_prefix('/').unwrap_or(path));
    let mut parts = Vec::new();
    let mut segments = whole.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    parts.pop();
                }
                if is_last {
                    parts.push("");
                }
            }
            segment => parts.push(segment),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Location {
        Location {
            encrypted: false,
            host: "a".to_owned(),
            port: 8080,
            authority: "a:8080".to_owned(),
            path: "/b/c/d;p?q".to_owned(),
        }
    }

    #[test]
    fn references_are_those_of_rfc_3986() {
        // Section 5.4.1 and 5.4.2, with its fragments left out.
        for (reference, expected) in [
            ("g", "http://a:8080/b/c/g"),
            ("./g", "http://a:8080/b/c/g"),
            ("g/", "http://a:8080/b/c/g/"),
            ("/g", "http://a:8080/g"),
            ("//g", "http://g/"),
            ("?y", "http://a:8080/b/c/d;p?y"),
            ("g?y", "http://a:8080/b/c/g?y"),
            ("#s", "http://a:8080/b/c/d;p?q"),
            ("g#s", "http://a:8080/b/c/g"),
            ("g?y#s", "http://a:8080/b/c/g?y"),
            (";x", "http://a:8080/b/c/;x"),
            ("g;x?y#s", "http://a:8080/b/c/g;x?y"),
            ("", "http://a:8080/b/c/d;p?q"),
            (".", "http://a:8080/b/c/"),
            ("./", "http://a:8080/b/c/"),
            ("..", "http://a:8080/b/"),
            ("../", "http://a:8080/b/"),
            ("../g", "http://a:8080/b/g"),
            ("../..", "http://a:8080/"),
            ("../../g", "http://a:8080/g"),
            ("../../../g", "http://a:8080/g"),
            ("/./g", "http://a:8080/g"),
            ("/../g", "http://a:8080/g"),
            ("g.", "http://a:8080/b/c/g."),
            ("..g", "http://a:8080/b/c/..g"),
            ("./../g", "http://a:8080/b/g"),
            ("./g/.", "http://a:8080/b/c/g/"),
            ("g/./h", "http://a:8080/b/c/g/h"),
            ("g/../h", "http://a:8080/b/c/h"),
            ("g?y/../x", "http://a:8080/b/c/g?y/../x"),
            ("http://h:81/x?y#z", "http://h:81/x?y"),
            ("HTTPS://h", "https://h/"),
            ("http://[::1]:9/", "http://[::1]:9/"),
            ("/a b/\u{e9}", "http://a:8080/a%20b/%C3%A9"),
            ("/a%20b", "http://a:8080/a%20b"),
        ] {
            assert_eq!(
                base().join(reference.as_bytes()).map(|(to, _)| to.url()).as_deref(),
                Ok(expected),
                "{reference}"
            );
        }
        let (other, is_absolute) = base().join(b"https://[::1]/").unwrap();
        assert_eq!((other.host.as_str(), other.port, other.encrypted, is_absolute), ("::1", 443, true, true));
        assert!(!base().join(b"//g").unwrap().1 && !other.is_same_origin(&base()));
    }

    #[test]
    fn what_leads_nowhere_says_why() {
        for (reference, expected) in [
            ("ftp://x/", LocationError::Scheme),
            ("mailto:x", LocationError::Scheme),
            ("http:///x", LocationError::Authority),
            ("http:x", LocationError::Authority),
            ("http://u:p@h/", LocationError::Authority),
            ("http://h:0/", LocationError::Authority),
            ("http://h:x/", LocationError::Authority),
            ("http://%zz/", LocationError::Characters),
            ("/a\u{1}", LocationError::Characters),
        ] {
            assert_eq!(base().join(reference.as_bytes()), Err(expected), "{reference}");
        }
    }
}
