//! Text of a stranger, as a terminal may show it.

/// Text that may come from a server or a file, without what a terminal would obey.
pub fn printable(text: &str) -> String {
    let shown = |character: char| match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    };
    text.chars().map(shown).collect()
}
