//! Windows of flow control (RFC 9113, section 6.9).

use super::frame::LARGEST_31;

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
///
/// What is granted counts from when it has left the owner's buffer: until then the server cannot know of it. `flushes`
/// says how often everything had been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    size: u32,
    left: u32,
    /// What was granted when there had been this many flushes.
    granted: u32,
    granted_at: u64,
}

impl ReceiveWindow {
    pub(super) fn new(size: u32) -> Self {
        Self { size, left: size, granted: 0, granted_at: 0 }
    }

    /// The server has sent some bytes; none when it was not allowed to.
    #[inline]
    pub(super) fn consume(&mut self, bytes: u32, flushes: u64) -> Option<()> {
        if self.granted > 0 && self.granted_at < flushes {
            self.left += self.granted;
            self.granted = 0;
        }
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Grants what was used when that is half of the window: few frames, and the server never waits.
    #[inline]
    pub(super) fn renew(&mut self, flushes: u64) -> Option<u32> {
        let used = self.size - self.left - self.granted;
        (used > self.size / 2).then(|| {
            self.granted += used;
            self.granted_at = flushes;
            used
        })
    }
}
