//! Prose: the words of a file that people read, without code.

/// Endings of files whose text is read.
const ENDINGS: [&str; 10] = ["rs", "md", "json", "yaml", "j2", "html", "ts", "mjs", "sh", "toml"];

/// What stands before the text of a comment's or quotation's next line, or after that of a string's.
const LEADERS: &str = "/!*#>|\\";

/// In place of code; never between two words of one phrase.
const CODE: char = '\0';

pub(crate) fn is_known(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Words of a text in their order, in lower case.
pub(crate) struct Words {
    text: String,
    words: Vec<Word>,
}

struct Word {
    begin: usize,
    end: usize,
    line: usize,
    /// Nothing but blank space, or a new line of the same comment, is between the word before and this one.
    follows: bool,
}

impl Words {
    pub(crate) fn of(file: &str, text: &str) -> Self {
        let text = if file.ends_with(".rs") { without_rust(text) } else { text.to_owned() };
        let text = without_spans(&text).to_lowercase();
        let mut words = Vec::new();
        let (mut line, mut at) = (1, 0);
        while at < text.len() {
            let gap = text[at..].find(is_part).unwrap_or(text.len() - at);
            let between = &text[at..at + gap];
            line += between.matches('\n').count();
            let follows = between.contains('\n') && between.chars().all(|c| c.is_whitespace() || LEADERS.contains(c))
                || between.chars().all(char::is_whitespace);
            let begin = at + gap;
            let end = begin + text[begin..].find(|c| !is_part(c)).unwrap_or(text.len() - begin);
            if begin < end {
                words.push(Word { begin, end, line, follows });
            }
            at = end;
        }
        Self { text, words }
    }

    /// The lines in which a phrase begins.
    pub(crate) fn lines_of(&self, phrase: &str) -> Vec<usize> {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let is_phrase = |words: &&[Word]| {
            words.iter().zip(&parts).all(|(word, part)| &self.text[word.begin..word.end] == *part)
                && words.iter().skip(1).all(|word| word.follows)
        };
        self.words.windows(parts.len()).filter(is_phrase).map(|words| words[0].line).collect()
    }
}

/// Names with underlines and flags with hyphens are words of their own kind.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Without what stands between two backticks of a line, which is code.
fn without_spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut parts = line.split('`').peekable();
        let mut is_code = false;
        while let Some(part) = parts.next() {
            match (is_code, parts.peek()) {
                (true, Some(_)) => out.push(CODE),
                // The last backtick has no other.
                (true, None) => out.extend(["`", part]),
                (false, _) => out.push_str(part),
            }
            is_code = !is_code;
        }
    }
    out
}

/// Comments and strings alone, in their lines.
fn without_rust(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let prose = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            string(rest)
        } else if c == 'r' && (before == 'b' || !is_part(before)) {
            raw_string(rest)
        } else {
            0
        };
        let taken = match c {
            _ if prose > 0 => prose,
            '\'' => character(rest),
            _ => c.len_utf8(),
        };
        if prose > 0 {
            out.push_str(&rest[..prose]);
        } else {
            out.push(if c.is_whitespace() { c } else { CODE });
        }
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    out
}

/// The length of a string.
fn string(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// The length of a raw string, 0 if this is none.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = hashes + 2;
    text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len())
}

/// The length of a literal such as `'"'`; that of its quotation mark where it is a lifetime's.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, _))) => text[at + 1..].find('\'').map_or(1, |end| at + 1 + end + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_across_lines_and_marks_of_comments() {
        let rows: [(&str, &str, &[usize]); 12] = [
            ("a.md", "Held against it, and held\nagainst that.\n", &[1, 1]),
            ("a.md", "> held\n> against\n", &[1]),
            ("a.md", "upheld against, held againstX, held-against, held_against, held. Against", &[]),
            ("a.md", "`held against` is code, held ` against", &[]),
            ("a.rs", "/// It is held\n    /// against it.\nfn a() {}\n", &[1]),
            ("a.rs", "// held\nlet a = 1;\n// against\n", &[]),
            ("a.rs", "fn held() { against() }\nheld against\n", &[]),
            ("a.rs", "\n\"one \\\" held \\\n   against\"", &[2]),
            ("a.rs", "let a = '\"'; held against; \"x\"; 'held' against", &[]),
            ("a.rs", "r#\"a \" held against\"# held against", &[1]),
            ("a.rs", "fn a<'a>(b: &'a str) { br\"held against\" }", &[1]),
            ("a.rs", "let a = '\\''; /* held\n against */", &[1]),
        ];
        for (file, text, lines) in rows {
            assert_eq!(Words::of(file, text).lines_of("held against"), lines, "{file}: {text}");
        }
    }

    #[test]
    fn files_are_known_by_their_endings() {
        assert!(is_known("docs/a.md") && is_known("crates/a/src/lib.rs"));
        assert!(!is_known("crates/a/data/x.csv") && !is_known("Makefile"));
    }
}
