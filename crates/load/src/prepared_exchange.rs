//! An exchange as the engine sends it.

use std::collections::BTreeMap;

use stampede_core::{Protocol, Request};
use stampede_scenario::{Flow, PreparedCheck, Step};
use stampede_seam::LoadExchange;
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
        let exchange = LoadExchange::new(request, step.check.clone());
        let mut prepared = Self::new(exchange, protocol, scheme, host, keep_alive);
        if is_rendered {
            prepared.request.clear();
        }
        Self { is_rendered, ..prepared }
    }
}
