//! What another tool's command line asks of the load engine.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_load::{Backend, Check, LoadExchange, LoadSpec, Pause, Statuses, TlsSpec, Trust};
use stampede_plan::{HttpUrl, MachineSize, UrlError};

use super::flags::Typed;

/// A load by count may take this long.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);

/// A load as another tool would drive it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Errand {
    pub(super) url: HttpUrl,
    /// The value of the `Host` header.
    pub(super) host: String,
    pub(super) request: Request,
    pub(super) protocol: Protocol,
    pub(super) load: Load,
    /// How many requests, where that ends it.
    pub(super) requests: Option<u64>,
    /// How long, at most.
    pub(super) duration: Duration,
    /// How long answers are waited for after that.
    pub(super) drain: Duration,
    /// How long one request may take.
    pub(super) timeout: Option<Duration>,
    pub(super) keep_alive: bool,
    pub(super) threads: usize,
    /// Whether the target may be outside of this machine and private networks.
    pub(super) allow_remote: bool,
    /// Whether progress is told.
    pub(super) quiet: bool,
}

impl Errand {
    /// The load for the engine. As these tools do, it takes any certificate.
    pub(super) fn spec(self, targets: Vec<Endpoint>, cpus: Vec<u32>, backend: Backend) -> LoadSpec {
        let Self {
            url,
            host,
            request,
            protocol,
            load,
            requests,
            duration,
            drain,
            timeout,
            keep_alive,
            threads: _,
            allow_remote: _,
            quiet: _,
        } = self;
        // What `stampede load` takes as right, so that both end with the same exit code.
        let check = Check::new(Statuses::new(vec![200..=399]), Vec::new());
        LoadSpec {
            targets,
            protocol,
            tls: url.encrypted.then_some(TlsSpec { server_name: url.host, trust: Trust::Anyone }),
            host,
            exchanges: vec![LoadExchange { request, check }],
            load,
            think: Pause::default(),
            scenario: None,
            warm_up: Duration::ZERO,
            duration,
            requests,
            drain,
            timeout,
            keep_alive,
            seed: 0,
            cpus,
            backend,
        }
    }
}

/// The headers of a request, told apart without regard to case.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(BTreeMap<String, String>);

impl Headers {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sets a header in place of one that has this name.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a header that is not there yet.
    pub(super) fn set_default(&mut self, name: &str, value: &str) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<String> {
        let known = self.0.keys().find(|known| known.eq_ignore_ascii_case(name))?.clone();
        self.0.remove(&known)
    }

    /// Takes out a `Connection: close`, which is the engine's to say.
    pub(super) fn take_close(&mut self) -> bool {
        let close = self.get("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        close && self.remove("Connection").is_some()
    }

    /// Takes out the value of the `Host` header, which the engine writes, and leaves the others.
    pub(super) fn into_parts(mut self, typed: &mut Typed) -> (Option<String>, BTreeMap<String, String>) {
        for (name, value) in &self.0 {
            if value.contains(|c: char| c.is_control()) {
                typed.mistake(format!("{name} {value:?}"), "has characters that no header may have", "leave them out");
            }
        }
        (self.remove("Host"), self.0)
    }
}

/// Name and value of a header as typed, unless it cannot be sent, which is a mistake.
pub(super) fn header<'a>(typed: &mut Typed<'a>, flag: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let place = || format!("{flag} {text:?}");
    // A token of RFC 9110, section 5.6.2.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let header = text.split_once(':').map(|(name, value)| (name, value.trim()));
    match header {
        Some((name, value)) if !name.is_empty() && name.bytes().all(is_token) => {
            if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
                typed.mistake(place(), "says how the body is carried, which the engine does", "leave it out");
                return None;
            }
            Some((name, value))
        }
        _ => {
            typed.mistake(place(), "is not a header", format!("for example {flag} 'Accept: text/html'"));
            None
        }
    }
}

/// The value of a header with user and password (RFC 7617), given as `user:password`.
pub(super) fn basic(typed: &mut Typed, flag: &str, text: &str) -> String {
    if !text.contains(':') {
        typed.mistake(format!("{flag} {text}"), "holds no colon", format!("for example {flag} user:password"));
    }
    format!("Basic {}", STANDARD.encode(text))
}

/// The bytes of a file, none when it cannot be read, which is a mistake.
pub(super) fn file(typed: &mut Typed, flag: &str, path: &str) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| {
        typed.mistake(format!("{flag} {path}"), format!("cannot be read: {error}"), "give a file");
        Vec::new()
    })
}

/// Reads a URL; an unreadable one is a mistake.
pub(super) fn url(typed: &mut Typed, text: &str) -> Option<HttpUrl> {
    if typed.operands.is_empty() {
        return None;
    }
    let problem = match text.parse() {
        Ok(url) => return Some(url),
        Err(problem) => problem,
    };
    let fix = match problem {
        UrlError::User => "send an Authorization header",
        UrlError::Scheme | UrlError::Host | UrlError::Port | UrlError::Characters => {
            "for example http://127.0.0.1:8080/"
        }
    };
    typed.mistake(format!("URL {text}"), problem.to_string(), fix);
    None
}

/// As many connections as asked for, where one process may open them.
pub(super) fn connections(typed: &mut Typed, asked: u32, machine: MachineSize) -> u32 {
    if asked > machine.connections {
        let fix = format!("use at most {}, or raise the limit of open files (ulimit -n)", machine.connections);
        typed.mistake(format!("-c {asked}"), "are more connections than one process may open", fix);
    }
    asked
}
