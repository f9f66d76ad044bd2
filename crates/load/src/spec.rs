//! What load is asked for.

use std::ops::RangeInclusive;
use std::time::Duration;

use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_wire::h2::RequestHead;
use stampede_wire::request::{self, Version};

use crate::backend::Backend;
use crate::needle::Needle;

/// A load on one endpoint.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Where requests go: each connection to one of them, in turn.
    pub targets: Vec<Endpoint>,
    /// The value of the `Host` header, or of `:authority`.
    pub host: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// How connections are encrypted, if they are.
    pub tls: Option<TlsSpec>,
    /// What is sent: in turn on each connection of a closed load, where connections begin at different places; in turn
    /// over all arrivals of an open load.
    pub exchanges: Vec<LoadExchange>,
    /// How much of it.
    pub load: Load,
    /// Load before the window; its requests are counted apart. The warm-up of an open load stays at the schedule's first
    /// rate, and the schedule begins with the window.
    pub warm_up: Duration,
    /// Length of the window, at most.
    pub duration: Duration,
    /// End the window when this many requests of it have ended, all threads together.
    pub requests: Option<u64>,
    /// How long answers are waited for after the window, at most.
    pub drain: Duration,
    /// How long one request may take from when it was begun; after that it has failed and its connection is closed.
    pub timeout: Option<Duration>,
    /// Whether connections are kept for the next request. Otherwise each request asks the server to close, and has a
    /// connection of its own.
    pub keep_alive: bool,
    /// Seed of random arrivals; the same seed gives the same due times on any number of threads.
    pub seed: u64,
    /// Whether each second is told by itself.
    pub slices: bool,
    /// Processors to run on: a thread, pinned, on each.
    pub cpus: Vec<u32>,
    /// How the kernel is reached.
    pub backend: Backend,
}

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSpec {
    /// The name or address that the server's certificate must be for.
    pub server_name: String,
    /// Whose certificates are trusted.
    pub trust: Trust,
}

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that this machine trusts.
    System,
    /// These, in PEM.
    Pem(Vec<u8>),
    /// Anyone's.
    Anyone,
}

/// A request and what its answer must be.
#[derive(Clone, Debug)]
pub struct LoadExchange {
    /// What is sent.
    pub request: Request,
    /// What must come back.
    pub check: Check,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The statuses that are right.
    pub status: Statuses,
    /// The bodies that are right.
    pub body: BodyCheck,
}

/// A set of statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// All statuses in any of these ranges.
    pub fn new(ranges: Vec<RangeInclusive<u16>>) -> Self {
        Self(ranges)
    }

    /// One status.
    pub fn only(status: u16) -> Self {
        Self(vec![status..=status])
    }

    pub(crate) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// The status, where there is but one.
    pub(crate) fn single(&self) -> Option<u16> {
        match self.0.as_slice() {
            [range] if range.start() == range.end() => Some(*range.start()),
            _ => None,
        }
    }
}

/// What a body must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyCheck {
    /// Anything.
    Any,
    /// Exactly these bytes.
    Equals(Vec<u8>),
    /// These bytes at any place.
    Contains(Vec<u8>),
}

/// An exchange whose request is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedExchange {
    /// The whole request as HTTP/1 has it.
    pub(crate) request: Vec<u8>,
    /// Its head as HTTP/2 has it.
    pub(crate) http2: Option<RequestHead>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_head: bool,
    pub(crate) status: Statuses,
    pub(crate) body: PreparedBody,
}

/// A body's check, ready to be held against pieces.
#[derive(Debug)]
pub(crate) enum PreparedBody {
    Any,
    Equals(Vec<u8>),
    Contains(Needle),
}

impl PreparedExchange {
    pub(crate) fn new(exchange: LoadExchange, protocol: Protocol, scheme: &str, host: &str, keep_alive: bool) -> Self {
        let LoadExchange { mut request, check: Check { status, body } } = exchange;
        if !keep_alive && protocol == Protocol::Http11 {
            request.headers.insert("Connection".to_owned(), "close".to_owned());
        }
        let body = match body {
            BodyCheck::Any => PreparedBody::Any,
            BodyCheck::Equals(bytes) => PreparedBody::Equals(bytes),
            BodyCheck::Contains(bytes) => PreparedBody::Contains(Needle::new(bytes)),
        };
        let is_head = request.method == "HEAD";
        match protocol {
            Protocol::Http10 | Protocol::Http11 => Self {
                request: match protocol {
                    Protocol::Http10 => request::encode_as(Version::Http10, &request, host),
                    _ => request::encode_as(Version::Http11, &request, host),
                },
                http2: None,
                content: Vec::new(),
                is_head,
                status,
                body,
            },
            Protocol::Http2 { .. } => Self {
                request: Vec::new(),
                http2: Some(RequestHead::new(&request, scheme, host)),
                content: request.body,
                is_head,
                status,
                body,
            },
        }
    }
}
