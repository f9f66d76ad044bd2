//! Frames as bytes (RFC 9113, sections 4 and 6).

use super::fault::ErrorCode;

/// Bytes of a frame's head (section 4.1).
pub(super) const HEAD_LEN: usize = 9;

/// The longest payload that may be sent until SETTINGS say otherwise (section 6.5.2), and the longest that is accepted here.
pub(super) const PAYLOAD_LIMIT: usize = 1 << 14;

/// The largest stream identifier, and the largest window (sections 4.1 and 6.9.1).
pub(super) const LARGEST_31: u32 = (1 << 31) - 1;

/// Frame types (section 6).
pub(super) mod kind {
    pub(in crate::h2) const DATA: u8 = 0;
    pub(in crate::h2) const HEADERS: u8 = 1;
    pub(in crate::h2) const PRIORITY: u8 = 2;
    pub(in crate::h2) const RST_STREAM: u8 = 3;
    pub(in crate::h2) const SETTINGS: u8 = 4;
    pub(in crate::h2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::h2) const PING: u8 = 6;
    pub(in crate::h2) const GOAWAY: u8 = 7;
    pub(in crate::h2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::h2) const CONTINUATION: u8 = 9;
}

/// Flags of frames (section 6).
pub(super) mod flag {
    pub(in crate::h2) const ACK: u8 = 0x1;
    pub(in crate::h2) const END_STREAM: u8 = 0x1;
    pub(in crate::h2) const END_HEADERS: u8 = 0x4;
    pub(in crate::h2) const PADDED: u8 = 0x8;
    pub(in crate::h2) const PRIORITY: u8 = 0x20;
}

/// A frame's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Length of the payload.
    pub(super) len: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEAD_LEN]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            len: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            // The highest bit is reserved and ignored.
            stream: u32::from_be_bytes(stream) & LARGEST_31,
        }
    }

    #[inline]
    pub(super) fn bytes(self) -> [u8; HEAD_LEN] {
        let [_, a, b, c] = (self.len as u32).to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, d, e, f, g]
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame with a payload that is at hand.
pub(super) fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&FrameHead { len: payload.len(), kind, flags, stream }.bytes());
    out.extend_from_slice(payload);
}

pub(super) fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes(), out);
}

pub(super) fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes(), out);
}

/// Appends GOAWAY of a client to which no stream was pushed.
pub(super) fn write_goaway(code: ErrorCode, out: &mut Vec<u8>) {
    let [a, b, c, d] = code.0.to_be_bytes();
    write(kind::GOAWAY, 0, 0, &[0, 0, 0, 0, a, b, c, d], out);
}

/// Makes a HEADERS frame, with CONTINUATION where it is too long for one, of a header block that stands in `out` from
/// `start + HEAD_LEN` on.
pub(super) fn finish_headers(out: &mut Vec<u8>, start: usize, stream: u32, end_stream: bool, limit: usize) {
    let len = out.len() - start - HEAD_LEN;
    let end_stream = if end_stream { flag::END_STREAM } else { 0 };
    let first = FrameHead { len, kind: kind::HEADERS, flags: end_stream | flag::END_HEADERS, stream };
    if len <= limit {
        return out[start..start + HEAD_LEN].copy_from_slice(&first.bytes());
    }
    let block = out.split_off(start + HEAD_LEN);
    out.truncate(start);
    let mut rest = block.as_slice();
    let (mut kind, mut flags) = (kind::HEADERS, end_stream);
    while !rest.is_empty() {
        let (payload, after) = rest.split_at(rest.len().min(limit));
        let last = if after.is_empty() { flag::END_HEADERS } else { 0 };
        write(kind, flags | last, stream, payload, out);
        (kind, flags) = (kind::CONTINUATION, 0);
        rest = after;
    }
}
