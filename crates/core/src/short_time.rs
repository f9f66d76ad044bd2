//! Lengths of time in one word.

use std::time::Duration;

/// A length of time as a flag takes it: `1m30s`.
pub fn short_time(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}
