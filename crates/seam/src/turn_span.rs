//! When a load that rests between its turns is at work.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A turn of a closed load that rests between its turns with its connections kept. All are offsets from the load's begin, none before
/// the one above it, and a turn wakes no earlier than the one before it rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSpan {
    /// When clients begin to send: what they send before the window counts as warm-up.
    pub wakes: Duration,
    /// When the turn's window opens.
    pub opens: Duration,
    /// When it closes.
    pub closes: Duration,
    /// When clients send no more: what they send after the window counts as warm-up, so that the window's last answers come
    /// from a server that is as busy as before.
    pub rests: Duration,
}
