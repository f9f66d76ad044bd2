//! Text of a stranger, as a terminal may show it.

/// Text that may come from a server or a file, without what a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}
