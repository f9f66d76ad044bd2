//! A second of a measuring window, as the load generator saw it.

use serde::{Deserialize, Serialize};

/// What the load generator saw in a second of a measuring window, by when it happened and not by when it was due.
///
/// Percentiles are kept and not distributions: those of one second are put together with no others, and a long study has
/// tens of thousands of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSecond {
    /// Its beginning, in whole seconds from the window's. It lasts to that of the next one, the last to the window's last
    /// whole second.
    pub second: u64,
    /// Requests that were begun.
    pub sent: u64,
    /// Right answers that came.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The median from when a request was due to its end, in microseconds at 2 significant digits; absent where none ended.
    pub response_p50_us: Option<u64>,
    /// The same for 99 of 100; absent where fewer than 100 ended.
    pub response_p99_us: Option<u64>,
}
