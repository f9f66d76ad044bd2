//! What to write in the place of a value that could not be read.

use std::net::{AddrParseError, IpAddr};
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

/// What the value of an argument should have been, by why it could not be read, as the end of a sentence that begins with both; nothing
/// where the reason says all.
#[must_use]
pub fn value_fix(cause: &(dyn std::error::Error + 'static), arg: &str, value: &str) -> Option<String> {
    if let Some(problem) = cause.downcast_ref::<ParseIntError>() {
        // One that is too large is a number all the same.
        let is_none = matches!(problem.kind(), IntErrorKind::Empty | IntErrorKind::InvalidDigit);
        return is_none.then(|| "is not a whole number of 0 or more; write one as 10".to_owned());
    }
    if cause.is::<ParseFloatError>() {
        return Some("is not a number; write one as 0.5".to_owned());
    }
    if cause.is::<AddrParseError>() && !arg.contains(":PORT") {
        return Some("is not an IP address; write one as 127.0.0.1".to_owned());
    }
    if cause.is::<AddrParseError>() {
        let example = match value.parse() {
            Ok(IpAddr::V4(address)) => format!("{address}:8600"),
            Ok(IpAddr::V6(address)) => format!("[{address}]:8600"),
            Err(_) => "127.0.0.1:8600".to_owned(),
        };
        return Some(format!("is not an IP address with a port; write {example}"));
    }
    if cause.is::<humantime::DurationError>() {
        return Some("is not a time; write one as 30s, 500ms or 2m".to_owned());
    }
    None
}
