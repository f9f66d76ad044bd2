//! Values in a request target (RFC 9112, section 3.2; RFC 3986).

use std::str;

/// The path and query of a reference: of one that begins with a slash it is the reference itself, of an absolute address
/// what comes after the origin, which must be this host. A fragment is left out: it is never sent. `None` for anything else.
pub(crate) fn path_of<'a>(reference: &'a [u8], host: &str) -> Option<&'a [u8]> {
    let end = reference.iter().position(|byte| *byte == b'#').unwrap_or(reference.len());
    let reference = &reference[..end];
    let (after_scheme, port) = if let Some(rest) = strip_scheme(reference, b"http://") {
        (rest, ":80")
    } else if let Some(rest) = strip_scheme(reference, b"https://") {
        (rest, ":443")
    } else if let Some(rest) = reference.strip_prefix(b"//") {
        (rest, ":80")
    } else {
        return reference.starts_with(b"/").then_some(reference);
    };
    let authority_end = after_scheme.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(after_scheme.len());
    let (authority, path) = after_scheme.split_at(authority_end);
    let authority = str::from_utf8(authority).ok()?;
    let without_port = |text: &'_ str| text.len() - if text.ends_with(port) { port.len() } else { 0 };
    let same = authority[..without_port(authority)].eq_ignore_ascii_case(&host[..without_port(host)]);
    match path {
        _ if !same => None,
        [] => Some(b"/"),
        [b'/', ..] => Some(path),
        // A query on the origin itself: its path is the empty one, which no request may have.
        _ => None,
    }
}

fn strip_scheme<'a>(reference: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = reference.split_at_checked(scheme.len())?;
    begin.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Adds a value so that it is one component of a path or query: whatever is not unreserved is encoded (RFC 3986, section
/// 2.3).
pub(crate) fn write_component(value: &[u8], out: &mut Vec<u8>) {
    write_encoded(value, is_unreserved, out);
}

/// How many bytes [`write_component`] adds.
pub(crate) fn component_length(value: &[u8]) -> usize {
    value.iter().map(|byte| if is_unreserved(*byte) { 1 } else { 3 }).sum()
}

/// Adds a reference as it is, but for bytes that no address may have.
pub(crate) fn write_reference(reference: &[u8], out: &mut Vec<u8>) {
    write_encoded(reference, is_target_byte, out);
}

/// Whether a byte may stand in a request target: unreserved, reserved or the sign of an encoded one, but not the beginning
/// of a fragment.
pub(crate) fn is_target_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"%:/?[]@!$&'()*+,;=".contains(&byte)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn write_encoded(bytes: &[u8], stays: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        if stays(*byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_reduced_to_its_path() {
        for (reference, host, path) in [
            ("/people/7?a=b", "h", Some("/people/7?a=b")),
            ("/people/7#top", "h", Some("/people/7")),
            ("http://h/people", "h", Some("/people")),
            ("HTTP://H/people", "h", Some("/people")),
            ("http://h:80/p", "h", Some("/p")),
            ("http://h/p", "h:80", Some("/p")),
            ("http://h:8080/p", "h:8080", Some("/p")),
            ("https://h:443/p", "h", Some("/p")),
            ("//h/p", "h", Some("/p")),
            ("http://h", "h", Some("/")),
            ("http://h#x", "h", Some("/")),
            ("http://[::1]:81/p", "[::1]:81", Some("/p")),
            ("http://other/p", "h", None),
            ("http://h:8080/p", "h", None),
            ("//other/p", "h", None),
            ("http://h?x", "h", None),
            ("ftp://h/p", "h", None),
            ("people/7", "h", None),
            ("", "h", None),
        ] {
            assert_eq!(path_of(reference.as_bytes(), host), path.map(str::as_bytes), "{reference} on {host}");
        }
    }

    #[test]
    fn bytes_are_encoded_where_they_must_be() {
        for (text, component, reference) in [
            ("a-Z_0.~", "a-Z_0.~", "a-Z_0.~"),
            ("/a b?c=%20&d", "%2Fa%20b%3Fc%3D%2520%26d", "/a%20b?c=%20&d"),
            ("é\r\n\"", "%C3%A9%0D%0A%22", "%C3%A9%0D%0A%22"),
        ] {
            let (mut as_component, mut as_reference) = (Vec::new(), Vec::new());
            write_component(text.as_bytes(), &mut as_component);
            write_reference(text.as_bytes(), &mut as_reference);
            assert_eq!(as_component, component.as_bytes());
            assert_eq!(as_reference, reference.as_bytes());
        }
    }
}
