//! HTTP/1, HTTP/2 and FastCGI without I/O, and two small blocking clients: one for single requests over HTTP/1 (readiness,
//! verification), one for the status of a server, however it is told.
//!
//! [`request`], [`response`] and [`h2`] know bytes only, so that the load engine and the client speak with the same tongue.
//! [`location`] reads where a redirect leads. Nothing here retries, follows redirects, decompresses or keeps connections.

mod chunked;
pub mod client;
mod decode_error;
pub mod fastcgi;
pub mod h2;
pub mod location;
pub mod postgres;
pub mod probe;
pub mod request;
pub mod response;
mod security;

pub use security::{Security, SecurityError};
