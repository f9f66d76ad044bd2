//! An exchange as the engine sends it.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Protocol, Request};
use stampede_scenario::{EventsEnd, Flow, PreparedCheck, Step};
use stampede_seam::{AuthoredThread, Check, LoadExchange};
use stampede_wire::h2::RequestHead;
use stampede_wire::request::{self, Version};

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
    /// How many requests it is, which are sent together and answered one after the other.
    pub(crate) answers: u32,
    /// How an author takes part in it.
    pub(crate) authorship: Authorship,
    /// How long it hears a stream of events from when it was sent, where nothing but time ends that.
    pub(crate) hears_for: Option<Duration>,
}

/// What an author does for an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Authorship {
    /// It writes the request each time; `request` is empty then.
    pub(crate) writes: bool,
    /// It takes the answers.
    pub(crate) reads: bool,
}

impl PreparedExchange {
    pub(crate) fn new(exchange: LoadExchange, protocol: Protocol, scheme: &str, host: &str, keep_alive: bool) -> Self {
        let LoadExchange { mut request, check, weight: _ } = exchange;
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
        let authorship = Authorship::default();
        Self {
            request: bytes,
            http2,
            content,
            is_head,
            check,
            is_rendered: false,
            answers: 1,
            authorship,
            hears_for: None,
        }
    }

    /// What one thread of an authored load sends over HTTP/1, with the check of an exchange.
    pub(crate) fn authored(check: &Check, thread: &AuthoredThread) -> Self {
        let request = thread.fixed.clone().unwrap_or_default();
        Self {
            is_head: is_head(&request),
            authorship: Authorship { writes: thread.fixed.is_none(), reads: thread.reads },
            request,
            http2: None,
            content: Vec::new(),
            check: PreparedCheck::new(check, false),
            is_rendered: false,
            answers: thread.requests.get(),
            hears_for: None,
        }
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
        // Who hears begins to do so where the request is written.
        let fixed = step.fixed_request().filter(|_| !flow.cookies && step.events.is_none());
        let is_rendered = fixed.is_none();
        let request = fixed.unwrap_or_else(|| Request {
            method: step.method.clone(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: Vec::new(),
        });
        let exchange = LoadExchange::new(request, step.check.clone());
        let mut prepared = Self::new(exchange, protocol, scheme, host, keep_alive);
        if is_rendered {
            prepared.request.clear();
        }
        let Some(events) = &step.events else { return Self { is_rendered, ..prepared } };
        let hears_for = match events.end {
            EventsEnd::After(time) => Some(time),
            EventsEnd::Count(_) | EventsEnd::Until(_) | EventsEnd::Close => None,
        };
        Self { is_rendered, hears_for, check: prepared.check.until_its_end(), ..prepared }
    }
}

/// Whether the first of these requests is `HEAD`.
pub(crate) fn is_head(request: &[u8]) -> bool {
    request.starts_with(b"HEAD ")
}
