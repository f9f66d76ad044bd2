//! What load is asked for.

use std::time::Duration;

use stampede_core::{Endpoint, Load, Request};
use stampede_wire::request;

/// A load on one endpoint.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Where requests go.
    pub target: Endpoint,
    /// The value of the `Host` header.
    pub host: String,
    /// What is sent, in turn on each connection; connections begin at different places.
    pub exchanges: Vec<LoadExchange>,
    /// How much of it.
    pub load: Load,
    /// Load before the window; its requests are counted apart.
    pub warm_up: Duration,
    /// Length of the window.
    pub duration: Duration,
    /// How long answers are waited for after the window, at most.
    pub drain: Duration,
    /// Processors to run on: a thread, pinned, on each.
    pub cpus: Vec<u32>,
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
    /// The status.
    pub status: u16,
    /// The exact bytes of the body, as verified before; `None` when any body will do.
    pub body: Option<Vec<u8>>,
}

/// An exchange whose request is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedExchange {
    pub(crate) request: Vec<u8>,
    pub(crate) is_head: bool,
    pub(crate) check: Check,
}

impl PreparedExchange {
    pub(crate) fn new(exchange: LoadExchange, host: &str) -> Self {
        let LoadExchange { request, check } = exchange;
        Self { request: request::encode(&request, host), is_head: request.method == "HEAD", check }
    }
}
