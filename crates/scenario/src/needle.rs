//! Looks for bytes in a text that comes in pieces, without keeping it (Knuth, Morris and Pratt 1977).

/// The bytes that are looked for.
#[derive(Debug)]
pub(crate) struct Needle {
    bytes: Vec<u8>,
    /// How many bytes still match when the one after this many does not.
    fallback: Vec<usize>,
}

impl Needle {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let mut fallback = vec![0; bytes.len()];
        let mut matched = 0;
        for at in 1..bytes.len() {
            while matched > 0 && bytes[at] != bytes[matched] {
                matched = fallback[matched - 1];
            }
            matched += usize::from(bytes[at] == bytes[matched]);
            fallback[at] = matched;
        }
        Self { bytes, fallback }
    }

    /// Whether it was found, once this many of its bytes have matched.
    pub(crate) fn is_found(&self, matched: usize) -> bool {
        matched >= self.bytes.len()
    }

    /// How many of its bytes match at the end of a further piece, when this many did before it; all, once it was found.
    pub(crate) fn feed(&self, mut matched: usize, piece: &[u8]) -> usize {
        for byte in piece {
            if self.is_found(matched) {
                break;
            }
            while matched > 0 && self.bytes.get(matched) != Some(byte) {
                matched = self.fallback.get(matched - 1).copied().unwrap_or(0);
            }
            matched += usize::from(self.bytes.get(matched) == Some(byte));
        }
        matched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_however_the_text_is_cut() {
        for (needle, text, found) in [
            ("", "", true),
            ("a", "", false),
            ("aab", "aaab", true),
            ("abab", "abaabab", true),
            ("abcabd", "abcabcabd", true),
            ("abcabd", "abcabcabc", false),
            ("result", r#"{"resresult":1}"#, true),
            ("x", "yyyyyyyyyyx", true),
        ] {
            let searched = Needle::new(needle.as_bytes().to_vec());
            for piece in 1..=text.len().max(1) {
                let matched = text.as_bytes().chunks(piece).fold(0, |matched, piece| searched.feed(matched, piece));
                assert_eq!(searched.is_found(matched), found, "{needle} in {text} by {piece}");
            }
        }
    }
}
