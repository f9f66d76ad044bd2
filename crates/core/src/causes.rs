//! Errors in one line.

use std::error::Error;

/// An error with all its causes, for where an error becomes text: `read the lease: permission denied`.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
