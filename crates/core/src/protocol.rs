//! What is spoken over a connection.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.0 (RFC 1945). A connection is kept where request and answer say `Connection: keep-alive`.
    Http10,
    /// HTTP/1.1 (RFC 9112).
    Http11,
    /// HTTP/2 (RFC 9113): with prior knowledge, or by ALPN where connections are encrypted. Connections are always kept.
    Http2 {
        /// Requests that a connection has in flight at the same time, at most.
        streams: NonZeroU32,
    },
}
