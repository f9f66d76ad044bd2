//! A part of a message.
//!
//! Its header: the message's number (8 bytes), the length of what follows (4 bytes), whether it is the message's last (1 byte), all
//! big-endian.

use crate::line_error::LineError;

/// What a frame carries at most. A heartbeat waits no longer than one of these for each message that is under way.
pub const MOST_PAYLOAD: usize = 64 << 10;

pub(crate) const HEADER: usize = 13;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The message that it is a part of.
    pub(crate) message: u64,
    /// Bytes that follow.
    pub(crate) length: usize,
    /// Whether the message ends with it.
    pub(crate) is_last: bool,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&self.message.to_be_bytes());
        bytes[8..12].copy_from_slice(&(self.length as u32).to_be_bytes());
        bytes[12] = self.is_last.into();
        bytes
    }

    pub(crate) fn read(bytes: &[u8; HEADER]) -> Result<Self, LineError> {
        let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let (message, length) = (number(&bytes[..8]), number(&bytes[8..12]));
        let is_last = match bytes[12] {
            0 => false,
            1 => true,
            _ => return Err(LineError::Damaged),
        };
        if length > MOST_PAYLOAD as u64 {
            return Err(LineError::FrameTooLarge { length, most: MOST_PAYLOAD });
        }
        Ok(Self { message, length: length as usize, is_last })
    }
}
