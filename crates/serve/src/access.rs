//! Who may see the dashboard.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;

use hyper::Request;
use hyper::header::{AUTHORIZATION, COOKIE, HOST};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// The name of the token in a query and in a cookie.
pub(crate) const TOKEN: &str = "token";
const COOKIE_NAME: &str = "stampede-token";
/// The fewest characters of a token that is given.
const LEAST: usize = 16;
/// Random bytes of a token that is made up (128 bits).
const RANDOM: usize = 16;

/// A secret that opens the dashboard.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token that somebody chose.
    ///
    /// # Errors
    ///
    /// When it is too short to be a secret, or has characters that an address cannot hold as they are.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if text.len() < LEAST || !text.bytes().all(fits) {
            return Err(TokenError);
        }
        Ok(Self(text.to_owned()))
    }

    /// A token that nobody can guess.
    ///
    /// # Errors
    ///
    /// When the system gives no random numbers.
    fn random() -> io::Result<Self> {
        let mut bytes = [0; RANDOM];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })))
    }

    /// As it is typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the same time whatever is given: digests have one length, and are compared whole.
    fn is(&self, given: &str) -> bool {
        Sha256::digest(self.0.as_bytes()).ct_eq(&Sha256::digest(given.as_bytes())).into()
    }
}

/// A token is no secret.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("use the token: it must have {LEAST} characters or more, each a letter, a digit or one of -_.~")]
pub struct TokenError;

/// Who may see the dashboard.
#[derive(Clone)]
pub enum Access {
    /// Whoever is on this machine and means it: a page from elsewhere whose name was made to lead here does not.
    Local,
    /// Whoever knows the token.
    Token(Token),
}

/// Whether a request is answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is.
    Admitted,
    /// It had the token in its address, where it shall not stay: the browser keeps it and asks again.
    Known {
        /// The cookie.
        cookie: String,
    },
    /// It has no token, or a wrong one.
    NoToken,
    /// It came under a name that is not this machine's own.
    WrongHost,
}

impl Access {
    /// The least that an address needs: a token where others can reach it, made up where none is given.
    ///
    /// # Errors
    ///
    /// When a token is needed and the system gives no random numbers.
    pub fn at(address: IpAddr, token: Option<Token>) -> io::Result<Self> {
        Ok(match token {
            Some(token) => Self::Token(token),
            None if address.is_loopback() => Self::Local,
            None => Self::Token(Token::random()?),
        })
    }

    pub(crate) fn admits<B>(&self, request: &Request<B>) -> Admission {
        match self {
            // DNS rebinding: https://owasp.org/www-community/attacks/DNS_Rebinding
            Self::Local if host(request).is_some_and(is_own_name) => Admission::Admitted,
            Self::Local => Admission::WrongHost,
            Self::Token(token) => {
                let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
                let cookies = header(COOKIE).into_iter().flat_map(|cookies| cookies.split(';'));
                let kept =
                    cookies.filter_map(|pair| pair.trim().split_once('=')).find(|(name, _)| *name == COOKIE_NAME);
                let borne = header(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
                let query = request.uri().query().unwrap_or_default();
                let asked = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == TOKEN);
                if asked.is_some_and(|(_, given)| token.is(&given)) {
                    let cookie = format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Lax; Path=/", token.as_str());
                    Admission::Known { cookie }
                } else if kept.is_some_and(|(_, given)| token.is(given)) || borne.is_some_and(|given| token.is(given)) {
                    Admission::Admitted
                } else {
                    Admission::NoToken
                }
            }
        }
    }
}

/// What the client takes the server for, without the port.
fn host<B>(request: &Request<B>) -> Option<&str> {
    if let Some(host) = request.uri().host() {
        return Some(host);
    }
    let host = request.headers().get(HOST)?.to_str().ok()?;
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(name),
        _ => Some(host),
    }
}

fn is_own_name(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder().uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    #[test]
    fn a_local_dashboard_answers_under_local_names_alone() {
        for (host, admitted) in [
            ("localhost:8600", true),
            ("LOCALHOST", true),
            ("127.0.0.1:8600", true),
            ("127.8.9.1", true),
            ("[::1]:8600", true),
            ("example.com", false),
            ("example.com:8600", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("192.168.1.2:8600", false),
            ("", false),
        ] {
            let expected = if admitted { Admission::Admitted } else { Admission::WrongHost };
            assert_eq!(Access::Local.admits(&request("/", &[("host", host)])), expected, "{host}");
        }
        assert_eq!(Access::Local.admits(&request("/", &[])), Admission::WrongHost);
        let absolute = request("http://example.com/", &[("host", "localhost")]);
        assert_eq!(Access::Local.admits(&absolute), Admission::WrongHost);
    }

    #[test]
    fn a_token_is_taken_from_address_cookie_and_header() {
        let access = Access::Token(Token::new("0123456789abcdef").unwrap());
        let known = "stampede-token=0123456789abcdef; HttpOnly; SameSite=Lax; Path=/".to_owned();
        type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], Admission);
        let rows: [Row<'_>; 9] = [
            ("address", "/?token=0123456789abcdef", &[], Admission::Known { cookie: known }),
            ("cookie", "/", &[("cookie", "a=b; stampede-token=0123456789abcdef")], Admission::Admitted),
            ("header", "/", &[("authorization", "Bearer 0123456789abcdef")], Admission::Admitted),
            ("none", "/", &[("host", "localhost")], Admission::NoToken),
            ("a part", "/?token=0123456789abcde", &[], Admission::NoToken),
            ("more", "/?token=0123456789abcdef0", &[], Admission::NoToken),
            ("an empty one", "/?token=", &[], Admission::NoToken),
            ("another scheme", "/", &[("authorization", "Basic 0123456789abcdef")], Admission::NoToken),
            ("another cookie", "/", &[("cookie", "token=0123456789abcdef")], Admission::NoToken),
        ];
        for (name, uri, headers, expected) in rows {
            assert_eq!(access.admits(&request(uri, headers)), expected, "{name}");
        }
    }

    #[test]
    fn other_addresses_need_a_token_and_get_one() {
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        let open: IpAddr = "0.0.0.0".parse().unwrap();
        assert!(matches!(Access::at(local, None), Ok(Access::Local)));
        let token = || match Access::at(open, None) {
            Ok(Access::Token(token)) => token.0,
            _ => panic!("no token"),
        };
        assert!(token().len() == 32 && token() != token());
        assert!(matches!(Access::at(local, Token::new("0123456789abcdef").ok()), Ok(Access::Token(_))));
        for bad in ["", "short", "0123456789abcde", "0123456789abcdef;", "0123456789 abcdef"] {
            assert!(Token::new(bad).is_err(), "{bad}");
        }
    }
}
