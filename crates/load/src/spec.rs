//! What load is asked for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_scenario::{Check, Flow, Pause, PreparedCheck, Scenario, Step};
use stampede_wire::h2::RequestHead;
use stampede_wire::request::{self, Version};

use crate::backend::Backend;

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
    /// In a closed load, the time from a connection's last answer to when its next request is due.
    pub think: Pause,
    /// What is sent and how much of it, in place of `exchanges`, `load` and `think`. HTTP/1.0 is not spoken then.
    pub scenario: Option<Arc<Scenario>>,
    /// Load before the window; its requests are counted apart. The warm-up of an open load stays at the schedule's first
    /// rate, and the schedule begins with the window.
    pub warm_up: Duration,
    /// Length of the window, at most.
    pub duration: Duration,
    /// End the window when this many requests of it have ended, all threads together. Each crowd of a scenario begins this
    /// many flows.
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

/// An exchange whose request is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedExchange {
    /// The whole request as HTTP/1 has it.
    pub(crate) request: Vec<u8>,
    /// Its head as HTTP/2 has it.
    pub(crate) http2: Option<RequestHead>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_head: bool,
    pub(crate) check: PreparedCheck,
    /// Whether a journey writes the request: it has values or cookies. `request` is empty then, and `http2` has no more
    /// than the method.
    pub(crate) is_rendered: bool,
}

impl PreparedExchange {
    pub(crate) fn new(exchange: LoadExchange, protocol: Protocol, scheme: &str, host: &str, keep_alive: bool) -> Self {
        let LoadExchange { mut request, check } = exchange;
        if !keep_alive && protocol == Protocol::Http11 {
            request.headers.insert("Connection".to_owned(), "close".to_owned());
        }
        let check = PreparedCheck::new(&check, false);
        let is_head = request.method == "HEAD";
        let (bytes, http2, content) = match protocol {
            Protocol::Http10 => (request::encode_as(Version::Http10, &request, host), None, Vec::new()),
            Protocol::Http11 => (request::encode_as(Version::Http11, &request, host), None, Vec::new()),
            Protocol::Http2 { .. } => (Vec::new(), Some(RequestHead::new(&request, scheme, host)), request.body),
        };
        Self { request: bytes, http2, content, is_head, check, is_rendered: false }
    }

    /// A step of a flow.
    pub(crate) fn of_step(
        flow: &Flow,
        step: &Step,
        protocol: Protocol,
        scheme: &str,
        host: &str,
        keep_alive: bool,
    ) -> Self {
        let fixed = step.fixed_request().filter(|_| !flow.cookies);
        let is_rendered = fixed.is_none();
        let request = fixed.unwrap_or_else(|| Request {
            method: step.method.clone(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: Vec::new(),
        });
        let exchange = LoadExchange { request, check: step.check.clone() };
        let mut prepared = Self::new(exchange, protocol, scheme, host, keep_alive);
        if is_rendered {
            prepared.request.clear();
        }
        Self { is_rendered, ..prepared }
    }
}
