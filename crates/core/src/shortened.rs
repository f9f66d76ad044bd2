//! Text that is too long for its place.

use std::borrow::Cow;

/// A text of at most so many characters: what is longer loses its middle, since addresses and commands differ at both ends.
#[must_use]
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= most {
        return Cow::Borrowed(text);
    }
    let first = most / 2;
    let last = most.saturating_sub(first + 1);
    Cow::Owned(text.chars().take(first).chain(['…']).chain(text.chars().skip(length - last)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept() {
        for (text, most, short) in
            [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…fg"), ("abcdefg", 5, "ab…fg"), ("äöüäöü", 3, "ä…ü")]
        {
            assert_eq!(shortened(text, most), short);
        }
    }
}
