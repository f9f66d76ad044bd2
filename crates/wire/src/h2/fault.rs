//! What may go wrong: with the connection, with one stream, with starting one.

use std::fmt;

use thiserror::Error;

use super::hpack::HpackError;
use crate::decode_error::{HEAD_LIMIT, HEADER_LIMIT};

/// An error code (RFC 9113, section 7).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    pub(super) const PROTOCOL_ERROR: Self = Self(0x1);
    pub(super) const FLOW_CONTROL_ERROR: Self = Self(0x3);
    pub(super) const STREAM_CLOSED: Self = Self(0x5);
    pub(super) const FRAME_SIZE_ERROR: Self = Self(0x6);
    pub(super) const REFUSED_STREAM: Self = Self(0x7);
    pub(super) const CANCEL: Self = Self(0x8);
    pub(super) const COMPRESSION_ERROR: Self = Self(0x9);
    pub(super) const ENHANCE_YOUR_CALM: Self = Self(0xb);

    /// Names in the order of their numbers.
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|number| Self::NAMES.get(number)) {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why the whole connection is of no more use. Sections are those of RFC 9113.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    /// The server does not speak HTTP/2 here.
    #[error("read the connection: it does not begin with SETTINGS; the server may speak HTTP/1 only (section 3.4)")]
    Preface,
    /// A frame is too long for its type, or too short.
    #[error("read the connection: a frame has a wrong size (section 4.2)")]
    FrameSize,
    /// Padding takes more than the frame.
    #[error("read the connection: the padding of a frame is longer than the frame (section 6.1)")]
    Padding,
    /// A frame is on the connection but belongs on a stream, or the other way round.
    #[error("read the connection: a frame of a stream is on stream 0, or one of the connection is not (section 5.1.1)")]
    StreamZero,
    /// A frame is on a stream that was never opened.
    #[error("read the connection: a frame is on a stream that is idle (section 5.1)")]
    IdleStream,
    /// A frame is on a stream whose answer has ended.
    #[error("read the connection: a frame is on a stream that is closed (section 5.1)")]
    ClosedStream,
    /// A header block is interrupted, or continued where none has begun.
    #[error("read the connection: a header block is interrupted, or continued but not begun (section 6.10)")]
    Continuation,
    /// A header block takes more than [`HEAD_LIMIT`] bytes, its frames' heads included.
    #[error("read the connection: a header block has more than {HEAD_LIMIT} bytes (section 10.5.1)")]
    BlockTooLong,
    /// A header block cannot be read.
    #[error("read the connection: a header block is malformed (section 4.3)")]
    Compression(#[source] HpackError),
    /// The server pushes, though it was told not to.
    #[error("read the connection: the server pushes, though SETTINGS_ENABLE_PUSH is 0 (section 6.6)")]
    Push,
    /// A setting has a value that it may not have.
    #[error("read the connection: a setting has a value that is not allowed (section 6.5.2)")]
    Setting,
    /// A server announces a window that is larger than 2^31-1, or makes it so.
    #[error("read the connection: a window for sending is larger than 2^31-1 (section 6.9.1)")]
    WindowOverflow,
    /// The connection's window grows by nothing.
    #[error("read the connection: WINDOW_UPDATE increments by 0 (section 6.9)")]
    ZeroIncrement,
    /// The server sends more than the connection's window allows.
    #[error("read the connection: the server sends more than the window allows (section 6.9.1)")]
    FlowControl,
    /// A second GOAWAY takes back that a stream will not be processed.
    #[error("read the connection: GOAWAY has a higher last stream than the one before (section 6.8)")]
    GoAway,
    /// The server sends PING or SETTINGS and does not read the answers.
    #[error("read the connection: more answers to PING and SETTINGS wait than the server reads (section 10.5)")]
    Flood,
}

impl SessionError {
    /// What the server is told.
    pub(super) fn code(self) -> ErrorCode {
        match self {
            Self::FrameSize => ErrorCode::FRAME_SIZE_ERROR,
            Self::ClosedStream => ErrorCode::STREAM_CLOSED,
            Self::Compression(_) => ErrorCode::COMPRESSION_ERROR,
            Self::WindowOverflow | Self::FlowControl => ErrorCode::FLOW_CONTROL_ERROR,
            Self::BlockTooLong | Self::Flood => ErrorCode::ENHANCE_YOUR_CALM,
            Self::Preface
            | Self::Padding
            | Self::StreamZero
            | Self::IdleStream
            | Self::Continuation
            | Self::Push
            | Self::Setting
            | Self::ZeroIncrement
            | Self::GoAway => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

/// Why one request has no complete answer. Sections are those of RFC 9113.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
pub enum StreamFault {
    /// The server has not processed the request, so that it may be sent again: it refused the stream, or said in GOAWAY
    /// that it will not come to it (section 8.7).
    #[error("read the answer: the server did not process the request (section 8.7)")]
    NotProcessed,
    /// The server reset the stream.
    #[error("read the answer: the server reset the stream: {0} (section 6.4)")]
    Reset(ErrorCode),
    /// A field's name or value has a byte that it may not have.
    #[error("read the answer: a header is malformed (section 8.2.1)")]
    Field,
    /// A field of HTTP/1 that speaks about the connection.
    #[error("read the answer: it has a header about the connection (section 8.2.2)")]
    ConnectionField,
    /// `:status` is missing, repeated, late, no status, or 101; or there is another pseudo-header field.
    #[error("read the answer: it has not one status before its headers (section 8.3.2)")]
    Status,
    /// The length of the body is not a number, or is stated twice and differently.
    #[error("read the answer: its Content-Length is not one whole number (section 8.1.1)")]
    ContentLength,
    /// The body is longer or shorter than its stated length, or there is one where there may be none.
    #[error("read the answer: its body is not as long as it says (section 8.1.1)")]
    BodyLength,
    /// Frames are not in the order head, body, trailers.
    #[error("read the answer: its frames are not in order (section 8.1)")]
    Order,
    /// Names, values and 32 for each field are together more than [`HEAD_LIMIT`], as was announced in SETTINGS.
    #[error("read the answer: its head is longer than {HEAD_LIMIT} bytes (section 10.5.1)")]
    HeadTooLong,
    /// There are more headers than [`HEADER_LIMIT`].
    #[error("read the answer: it has more than {HEADER_LIMIT} headers (section 10.5.1)")]
    TooManyHeaders,
    /// The server sends more than the stream's window allows.
    #[error("read the answer: the server sends more than the window allows (section 6.9.1)")]
    FlowControl,
    /// The window for the request's body grows beyond 2^31-1.
    #[error("read the answer: the window for sending is larger than 2^31-1 (section 6.9.1)")]
    WindowOverflow,
    /// The window for the request's body grows by nothing.
    #[error("read the answer: WINDOW_UPDATE increments by 0 (section 6.9)")]
    ZeroIncrement,
}

impl StreamFault {
    /// What the server is told when the fault is found here.
    pub(super) fn code(self) -> ErrorCode {
        match self {
            Self::FlowControl | Self::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            Self::HeadTooLong | Self::TooManyHeaders => ErrorCode::ENHANCE_YOUR_CALM,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

/// Why a request cannot be started on this connection.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// The server has sent GOAWAY.
    #[error("start a request: the server takes no more on this connection")]
    GoingAway,
    /// All stream identifiers have been used (RFC 9113, section 5.1.1).
    #[error("start a request: the connection has no stream identifiers left")]
    UsedUp,
    /// The server allows no more at the same time; one must end first.
    #[error("start a request: the server allows no more at the same time")]
    TooMany,
    /// The slot has a request under way.
    #[error("start a request: its slot has one under way")]
    SlotInUse,
}
