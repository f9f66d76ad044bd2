//! Names as they are in another process's memory, made fit to be shown.

use std::fmt::Write as _;

/// A name as text: what is no UTF-8 and what is not to be printed is escaped, and it ends at a NUL (after which PHP keeps
/// what makes the name of an anonymous class the only one).
pub(crate) fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            // `;` and line ends would end a frame of a folded stack.
            if character.is_control() || character == ';' || is_direction(character) {
                text.extend(character.escape_unicode());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Marks that turn the direction of what follows them.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_where_they_would_harm() {
        for (bytes, expected) in [
            (&b"App\\Http\\Kernel"[..], "App\\Http\\Kernel"),
            ("größe".as_bytes(), "größe"),
            (b"caf\xe9", "caf\\xe9"),
            (b"class@anonymous\0/a/b.php:3$0", "class@anonymous"),
            (b"a;b\n\x1b[31m", "a\\u{3b}b\\u{a}\\u{1b}[31m"),
            (b"<script>", "<script>"),
            ("a\u{202e}b".as_bytes(), "a\\u{202e}b"),
            (b"", ""),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }
}
