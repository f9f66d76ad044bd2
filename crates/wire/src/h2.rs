//! HTTP/2 without I/O, the client's side of it (RFC 9113).
//!
//! A [`Session`] is one connection. It is told what the server sent, however the bytes are cut, and appends what is to be
//! sent to a buffer of its owner:
//!
//! ```text
//! bytes -> FrameReader -> Event -> Session -> StreamVisitor
//!          (framing)               (streams, windows, HPACK)
//! ```
//!
//! It knows no clock, no socket and no TLS. It does not retry: it says which requests may be sent again.

mod connection;
mod fault;
mod field;
mod frame;
mod frame_reader;
mod hpack;
mod request_head;
mod session;
mod settings;
mod stream;
mod stream_visitor;
mod window;

pub use fault::{ErrorCode, Refused, SessionError, StreamFault};
pub(crate) use field::Fields;
pub use hpack::HpackError;
pub use request_head::RequestHead;
pub use session::Session;
pub use stream_visitor::{GoAway, StreamVisitor};
