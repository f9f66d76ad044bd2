//! What servers write in place of bytes that a log's line cannot hold.

/// Undoes the escapes of nginx (`\x22`, <https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format>) and of Apache (`\"`, `\\`,
/// `\n`, `\x0b`, <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats>). Any other backslash stands for itself.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let (byte, taken) = match (first, after) {
            (b'\\', [b'x', high, low, ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                _ => (b'\\', 1),
            },
            (b'\\', [escaped @ (b'"' | b'\\'), ..]) => (*escaped, 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = rest.get(taken..).unwrap_or_default();
    }
    bytes
}

/// The value of a hexadecimal digit.
pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_escapes() {
        for (text, bytes) in [
            (r"/a?b=\x22c\x22", &b"/a?b=\"c\""[..]),
            (r"/\xC3\xBC", "/ü".as_bytes()),
            (r#"/a\"b\\c\n"#, b"/a\"b\\c\n"),
            (r"/a\b", br"/a\b"),
            (r"/a\xzz\x4", br"/a\xzz\x4"),
            ("/plain%20", b"/plain%20"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), bytes, "{text}");
        }
    }
}
