//! Whoever takes what a session reads.

use super::fault::{ErrorCode, StreamFault};
use crate::response::Head;

/// Takes what a [`Session`](super::Session) reads. Calls of different streams come interleaved; those of one stream are: once `head`, any
/// number of times `body`, once `end`; or, instead of any rest of these, once `failed`.
pub trait StreamVisitor {
    /// The final status with its headers.
    fn head(&mut self, key: u32, head: &Head<'_>);

    /// The status of an interim answer, before the final one.
    fn interim(&mut self, _key: u32, _status: u16) {}

    /// The next bytes of the body, never none.
    fn body(&mut self, key: u32, bytes: &[u8]);

    /// The answer is complete; the slot is free.
    fn end(&mut self, key: u32);

    /// There is no complete answer, nor will there be one; the slot is free.
    fn failed(&mut self, key: u32, fault: StreamFault);
}

/// That a server takes no more requests on this connection (RFC 9113, section 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoAway {
    /// The highest stream that it may still answer.
    pub last_stream: u32,
    /// Why.
    pub code: ErrorCode,
}
