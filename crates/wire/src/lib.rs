//! HTTP/1 without I/O, and a small blocking client on it for single requests: readiness, verification.
//!
//! [`request`] and [`response`] know bytes only, so that the load engine and the client speak with the same tongue.
//! Nothing here retries, follows redirects, decompresses or keeps connections.

mod chunked;
pub mod client;
pub mod h2;
pub mod request;
pub mod response;
