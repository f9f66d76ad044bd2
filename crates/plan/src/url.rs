//! Where a load goes, as it is typed: `http://host:port/path?query`, or `https`.

use std::str::FromStr;

use thiserror::Error;

/// An address of a server and what is asked there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    /// Whether the connection is encrypted: `https`.
    pub encrypted: bool,
    /// A name or an address, an IPv6 address without its brackets.
    pub host: String,
    /// The port; 80, or 443 where it is encrypted, unless it was given.
    pub port: u16,
    /// Host and port as typed, for the `Host` header.
    pub authority: String,
    /// Path and query, from `/`.
    pub path: String,
}

impl FromStr for HttpUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let encrypted = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(UrlError::Scheme),
        };
        if rest.contains(|character: char| character.is_whitespace() || character.is_control() || !character.is_ascii())
        {
            return Err(UrlError::Characters);
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(UrlError::User);
        }
        let (host, port) = match authority.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((address, port))) => (address, port),
            Some(None) => return Err(UrlError::Host),
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        let port = match port.strip_prefix(':') {
            None if port.is_empty() && encrypted => 443,
            None if port.is_empty() => 80,
            None => return Err(UrlError::Host),
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(UrlError::Port)?,
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { encrypted, host: host.to_owned(), port, authority: authority.to_owned(), path })
    }
}

/// Why a URL could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum UrlError {
    /// It has no scheme, or one that is no HTTP.
    #[error("does not begin with http:// or https://")]
    Scheme,
    /// It names no host.
    #[error("names no host")]
    Host,
    /// The port is not one.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// It holds a user.
    #[error("holds a user's name")]
    User,
    /// It has blanks or characters that must be written as %XX.
    #[error("has blanks or characters that must be written as %XX")]
    Characters,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        for (text, host, port, authority, path) in [
            ("http://localhost", "localhost", 80, "localhost", "/"),
            ("http://127.0.0.1:8080/a/b?c=d#e", "127.0.0.1", 8080, "127.0.0.1:8080", "/a/b?c=d"),
            ("http://[::1]:81?x", "::1", 81, "[::1]:81", "/?x"),
            ("http://[::1]", "::1", 80, "[::1]", "/"),
            ("https://a", "a", 443, "a", "/"),
            ("https://a:444/b", "a", 444, "a:444", "/b"),
        ] {
            let url = HttpUrl {
                encrypted: text.starts_with("https:"),
                host: host.to_owned(),
                port,
                authority: authority.to_owned(),
                path: path.to_owned(),
            };
            assert_eq!(text.parse(), Ok(url), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_says_why() {
        for (text, error) in [
            ("", UrlError::Scheme),
            ("localhost:80", UrlError::Scheme),
            ("ftp://a", UrlError::Scheme),
            ("http://", UrlError::Host),
            ("http:///a", UrlError::Host),
            ("http://:80/", UrlError::Host),
            ("http://[::1/", UrlError::Host),
            ("http://[::1]80/", UrlError::Host),
            ("http://a:0/", UrlError::Port),
            ("http://a:65536/", UrlError::Port),
            ("http://a:/", UrlError::Port),
            ("http://u:p@a/", UrlError::User),
            ("http://a/ b", UrlError::Characters),
            ("http://a/\u{e9}", UrlError::Characters),
        ] {
            assert_eq!(text.parse::<HttpUrl>(), Err(error), "{text}");
        }
    }
}
