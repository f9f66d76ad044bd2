//! What a case can be called.

/// A longer name leaves no room for figures in 80 columns.
pub(crate) const MOST_LETTERS: usize = 32;

/// Whether a case can be called so.
pub(crate) fn is_id(text: &str) -> bool {
    let known = |character: char| character.is_ascii_alphanumeric() || "._-@".contains(character);
    (1..=MOST_LETTERS).contains(&text.len()) && text.chars().all(known)
}
