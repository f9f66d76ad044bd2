//! Folded stacks: a line a stack, as tools that draw flame graphs read them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::profile::StackProfile;

/// Writes a line `root;...;leaf;[state] MICROSECONDS` for each stack and state, in their order.
///
/// The weight is time: what the scheduler's counters give a sample of its state.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_folded(profile: &StackProfile, to: &mut dyn Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, f64> = BTreeMap::new();
    for (stack, state, time) in profile.weighted() {
        let stack = if stack.frames.is_empty() { "(outside PHP)".to_owned() } else { stack.to_string() };
        *lines.entry(format!("{stack};[{state}]")).or_default() += time.as_secs_f64();
    }
    for (line, seconds) in lines {
        let microseconds = (seconds * 1e6).round() as u64;
        if microseconds > 0 {
            writeln!(to, "{line} {microseconds}")?;
        }
    }
    Ok(())
}
