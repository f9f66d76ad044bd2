//! How far a run is.

use std::io::Write;

/// Says it on stderr.
pub(crate) fn tell(text: &str) {
    // Whoever closed our stderr does not want to read it.
    let _ = writeln!(std::io::stderr(), "{text}");
}
