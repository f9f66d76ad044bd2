//! How the cases of a block share its time.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How the cases of a block are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockOrder {
    /// One after the other: each is started, measured in one window and stopped before the next.
    #[default]
    Windows,
    /// All are up together, and their windows are cut into turns that alternate: what the machine does to one turn, it does to
    /// those beside it. (Randomised multiple interleaved trials: A. Abedi and T. Brecht, Conducting Repeatable Experiments in
    /// Highly Variable Cloud Computing Environments, ICPE 2017.)
    Turns,
}

impl BlockOrder {
    /// Both, as they are typed.
    pub const ALL: [(&str, Self); 2] = [("windows", Self::Windows), ("turns", Self::Turns)];
}

impl fmt::Display for BlockOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Windows => "windows",
            Self::Turns => "turns",
        })
    }
}

/// From where on a study that was to be measured in turns was measured in windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowsFrom {
    /// The first block in windows.
    pub block: u32,
    /// What turns did not leave as it was: `b: 2 of its 16 workers were replaced while it was at rest`.
    pub why: String,
}

/// A turn of a deployment that is measured in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// When it began, counted from the beginning of the block's first turn.
    pub at: Duration,
    /// Its length, without the load before it that counts nothing.
    pub window: Duration,
    /// Requests with the right answer.
    pub ok: u64,
    /// CPU time of the deployment; absent where nothing counts it.
    pub cpu: Option<Duration>,
    /// Quota periods in which something ran; 0 where nothing counts them.
    pub periods: u64,
    /// Time of all processors together that a hypervisor gave to others; absent where it was not sampled.
    pub stolen: Option<Duration>,
}

impl Turn {
    /// Right answers a second.
    pub fn rate(&self) -> f64 {
        self.ok as f64 / self.window.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}
