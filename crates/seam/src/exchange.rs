//! One request and its answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{Endpoint, Request};
use thiserror::Error;

use crate::load_spec::TlsSpec;

/// A request that is sent once, on a connection of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Where it is sent.
    pub endpoint: Endpoint,
    /// How the connection is encrypted, if it is.
    pub tls: Option<TlsSpec>,
    /// The `Host` header: the endpoint's address by default.
    pub host: Option<String>,
    /// What is sent.
    pub request: Request,
    /// How long connection and answer together may take.
    pub timeout: Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{problem}")]
pub struct NoAnswer {
    /// How far it got, and what happened.
    pub problem: String,
    /// Whether the request was sent and nothing of an answer came in time.
    pub waited: bool,
}
