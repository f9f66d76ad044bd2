//! A complete answer.

use std::time::{Duration, Instant};

use crate::fault::Fault;

/// A complete answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) at: Instant,
    pub(crate) due: Instant,
    pub(crate) sent: Instant,
    /// When its first byte came.
    pub(crate) first_byte: Instant,
    pub(crate) step: usize,
    pub(crate) status: u16,
    /// Bytes of its body.
    pub(crate) length: u64,
    /// What is wrong with it.
    pub(crate) fault: Option<Fault>,
}

/// A time in whole nanoseconds.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
