//! Windows of flow control (RFC 9113, section 6.9).

use super::frame::LARGEST_31;
use super::settings::{DEFAULT_WINDOW, WINDOW};

/// How much may be sent. It can be negative, when SETTINGS made it smaller (section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendWindow(i64);

impl SendWindow {
    pub(super) fn new(size: u32) -> Self {
        Self(i64::from(size))
    }

    /// How many of `wanted` bytes may be sent now.
    pub(super) fn limit(self, wanted: usize) -> usize {
        wanted.min(usize::try_from(self.0).unwrap_or(0))
    }

    /// Some bytes were sent, no more than [`limit`](Self::limit) allowed.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// Makes it larger, or smaller when `change` is negative; none when it would be too large.
    pub(super) fn change(&mut self, change: i64) -> Option<()> {
        self.0 += change;
        (self.0 <= i64::from(LARGEST_31)).then_some(())
    }
}

/// How much the server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    size: u32,
    left: u32,
}

impl ReceiveWindow {
    /// The window that a stream has before the server knows our SETTINGS, and a connection before it is widened.
    pub(super) fn new() -> Self {
        Self { size: DEFAULT_WINDOW, left: DEFAULT_WINDOW }
    }

    /// Makes it as large as our SETTINGS say; returns by how much.
    pub(super) fn widen(&mut self) -> u32 {
        let increment = WINDOW - self.size;
        self.size += increment;
        self.left += increment;
        increment
    }

    /// The server has sent some bytes; none when it was not allowed to.
    #[inline]
    pub(super) fn consume(&mut self, bytes: u32) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Opens it again when half of it is used up; returns by how much.
    #[inline]
    pub(super) fn renew(&mut self) -> Option<u32> {
        let used = self.size - self.left;
        (used > self.size / 2).then(|| {
            self.left = self.size;
            used
        })
    }
}
