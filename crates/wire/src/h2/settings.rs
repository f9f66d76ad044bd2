//! SETTINGS of both sides (RFC 9113, section 6.5).

use super::fault::SessionError;
use super::frame::{self, LARGEST_31, PAYLOAD_LIMIT, kind};
use crate::decode_error::HEAD_LIMIT;

/// What a window is until SETTINGS say otherwise; SETTINGS never change the connection's (section 6.9.2).
pub(super) const DEFAULT_WINDOW: u32 = 65_535;

/// How much a server may send ahead on each stream. Bodies are taken as they come, so that no window need ever hold a
/// server up: half a window, after which it is renewed, is far more than any network holds.
pub(super) const STREAM_WINDOW: u32 = 1 << 30;

/// How much a server may send ahead on all streams together: as much as can be said.
pub(super) const CONNECTION_WINDOW: u32 = LARGEST_31;

/// How many streams may be open until the server has said how many. The number is at least this, if the server follows
/// the advice of section 6.5.2.
const STREAMS_AT_FIRST: u32 = 100;

/// Identifiers (section 6.5.2).
const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Appends our own SETTINGS, and the WINDOW_UPDATE that says for the connection what they say for streams.
pub(super) fn write(out: &mut Vec<u8>) {
    let settings = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, STREAM_WINDOW), (MAX_HEADER_LIST_SIZE, HEAD_LIMIT as u32)];
    let mut payload = Vec::with_capacity(6 * settings.len());
    for (identifier, value) in settings {
        payload.extend_from_slice(&identifier.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame::write(kind::SETTINGS, 0, 0, &payload, out);
    frame::write_window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW, out);
}

/// What a server has told us to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    pub(super) header_table_size: u32,
    pub(super) max_concurrent_streams: u32,
    pub(super) initial_window: u32,
    pub(super) max_frame_size: usize,
}

impl PeerSettings {
    /// Before the server has said anything.
    pub(super) fn new() -> Self {
        Self {
            header_table_size: 4096,
            max_concurrent_streams: STREAMS_AT_FIRST,
            initial_window: DEFAULT_WINDOW,
            max_frame_size: PAYLOAD_LIMIT,
        }
    }

    /// These settings after the entries of a SETTINGS frame, the server's `first` or a later one.
    pub(super) fn after(mut self, payload: &[u8], first: bool) -> Result<Self, SessionError> {
        if first {
            // Without this entry there is no limit.
            self.max_concurrent_streams = u32::MAX;
        }
        for entry in payload.as_chunks::<6>().0 {
            let [a, b, value @ ..] = *entry;
            let value = u32::from_be_bytes(value);
            match u16::from_be_bytes([a, b]) {
                HEADER_TABLE_SIZE => self.header_table_size = value,
                // A server does not announce that it takes pushes.
                ENABLE_PUSH if value != 0 => return Err(SessionError::Setting),
                MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
                INITIAL_WINDOW_SIZE if value > LARGEST_31 => return Err(SessionError::WindowOverflow),
                INITIAL_WINDOW_SIZE => self.initial_window = value,
                MAX_FRAME_SIZE => {
                    self.max_frame_size = usize::try_from(value)
                        .ok()
                        .filter(|size| (PAYLOAD_LIMIT..1 << 24).contains(size))
                        .ok_or(SessionError::Setting)?;
                }
                _ => {}
            }
        }
        Ok(self)
    }
}
