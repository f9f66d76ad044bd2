//! Why bytes are not an answer, and the bounds of what is read.

use thiserror::Error;

/// The most bytes that a status line with its headers may have; also the bound for a chunk's size line and for trailers.
pub const HEAD_LIMIT: usize = 64 << 10;

/// The most headers that an answer may have.
pub const HEADER_LIMIT: usize = 128;

/// The number that is written in digits and nothing else.
pub(crate) fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |length, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        length.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Why bytes are not an answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The status line is not one of HTTP/1.0 or 1.1.
    #[error("read the answer: its first line is not a status line of HTTP/1.0 or HTTP/1.1")]
    StatusLine,
    /// A header is malformed.
    #[error("read the answer: a header is malformed")]
    Header,
    /// The head does not end within [`HEAD_LIMIT`].
    #[error("read the answer: its head is longer than {HEAD_LIMIT} bytes")]
    HeadTooLong,
    /// There are more headers than [`HEADER_LIMIT`].
    #[error("read the answer: it has more than {HEADER_LIMIT} headers")]
    TooManyHeaders,
    /// The status is below 100.
    #[error("read the answer: its status is below 100")]
    Status,
    /// The body's length is not a number, or is stated twice and differently.
    #[error("read the answer: its Content-Length is not one whole number")]
    ContentLength,
    /// The body has a transfer coding that was not asked for.
    #[error("read the answer: its Transfer-Encoding is not chunked")]
    TransferCoding,
    /// A chunk is malformed.
    #[error("read the answer: a chunk of its body is malformed")]
    Chunk,
    /// The connection was closed before the answer's end.
    #[error("read the answer: the connection was closed before its end")]
    Truncated,
}

impl From<httparse::Error> for DecodeError {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::HeaderName | httparse::Error::HeaderValue => Self::Header,
            httparse::Error::TooManyHeaders => Self::TooManyHeaders,
            _ => Self::StatusLine,
        }
    }
}
