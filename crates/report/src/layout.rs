//! Lines that fit.

/// Breaks a text between words into lines of at most `width` characters. The first line begins with `first`, the others
/// with as many blanks as `hang`; a line of the text begins a new line. A word that is longer than a line has one to
/// itself.
pub fn wrap(first: &str, text: &str, hang: usize, width: usize) -> Vec<String> {
    let indent = " ".repeat(hang);
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    for paragraph in text.lines() {
        if line.trim().is_empty() && !lines.is_empty() {
            line.clone_from(&indent);
        }
        // Whether the line has only what it begins with.
        let mut fresh = true;
        for word in paragraph.split_whitespace() {
            let gap = usize::from(!fresh);
            if !fresh && line.chars().count() + gap + word.chars().count() > width {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            // A server's log may hold codes that would paint or clear the terminal.
            line.extend(word.chars().filter(|character| !character.is_control()));
            fresh = false;
        }
        lines.push(std::mem::replace(&mut line, indent.clone()));
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang() {
        assert_eq!(wrap("[1] ", "one two three four", 4, 12), ["[1] one two", "    three", "    four"]);
        assert_eq!(wrap("", "anunbreakableword x", 2, 5), ["anunbreakableword", "  x"]);
        assert_eq!(wrap("- ", "a\n\nb c", 2, 20), ["- a", "  b c"]);
        assert!(wrap("", "", 2, 20).is_empty());
    }
}
