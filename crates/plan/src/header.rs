//! Names of headers.

/// Headers that say how a request is carried, which the engine does.
pub(crate) const CARRYING: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// A token of RFC 9110, section 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
