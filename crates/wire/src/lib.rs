//! HTTP/1 and HTTP/2 without I/O, and a small blocking client for single requests over HTTP/1: readiness, verification.
//!
//! [`request`], [`response`] and [`h2`] know bytes only, so that the load engine and the client speak with the same tongue.
//! Nothing here retries, follows redirects, decompresses or keeps connections.

mod chunked;
pub mod client;
pub mod h2;
pub mod request;
pub mod response;
mod security;

pub use security::{Security, SecurityError};
