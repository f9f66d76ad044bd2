//! Words of a command as people paste them.

/// A word as a POSIX shell reads it back; in quotation marks where it is not plain.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A command line of these words.
pub fn shell_line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn shells_read_words_back() {
        let words = ["stampede", "it's", "$(rm -rf /)", "", "open:50..100/60s", "a=b", "x;y\nz", "ü"];
        let line = shell_line(words);
        assert_eq!(line, "stampede 'it'\\''s' '$(rm -rf /)' '' open:50..100/60s a=b 'x;y\nz' 'ü'");
        let output = Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]).output().unwrap();
        let read = String::from_utf8(output.stdout).unwrap();
        assert!(read.split_terminator('\0').eq(words), "{read}");
    }
}
