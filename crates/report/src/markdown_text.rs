//! Plain text within Markdown: names of branches, settings and logs may hold what Markdown or HTML would obey.

/// A text on one line that GitHub-flavoured Markdown shows as it is, in a paragraph, a list and a cell of a table.
///
/// Control characters are left out: they come from the logs of servers. An underscore within a word means nothing and stays
/// as it is, so that the names of settings can be read and found in the Markdown itself
/// (<https://github.github.com/gfm/#can-open-emphasis>).
pub(crate) fn escaped(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut escaped = String::with_capacity(words.len());
    let mut characters = words.chars().filter(|each| !each.is_control()).peekable();
    let mut before: Option<char> = None;
    while let Some(character) = characters.next() {
        let is_of_word =
            |beside: Option<&char>| beside.is_some_and(|beside| beside.is_alphanumeric() || *beside == '_');
        let is_special = match character {
            '\\' | '`' | '*' | '<' | '>' | '|' | '~' => true,
            // Brackets alone are no link.
            ']' => matches!(characters.peek(), Some('(' | '[' | ':')),
            '_' => !is_of_word(before.as_ref()) || !is_of_word(characters.peek()),
            '#' => before.is_none(),
            _ => false,
        };
        if is_special {
            escaped.push('\\');
        }
        escaped.push(character);
        before = Some(character);
    }
    escaped
}

/// A row of a table, with a line break.
pub(crate) fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| escaped(cell.as_ref())).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_taken_for_markdown_or_html() {
        for (text, expected) in [
            ("", ""),
            ("requests per second, 95 % (0.931 to 0.969)", "requests per second, 95 % (0.931 to 0.969)"),
            ("a|b", r"a\|b"),
            (r"a\|b", r"a\\\|b"),
            ("<img src=x> & more", r"\<img src=x\> & more"),
            ("my_<branch>", r"my\_\<branch\>"),
            ("worker_processes=1", "worker_processes=1"),
            ("_so_ __so__ *so* `so` ~so~", r"\_so\_ \__so_\_ \*so\* \`so\` \~so\~"),
            ("[a](b), [a][b], [a]: b, case [1]", r"[a\](b), [a\][b], [a\]: b, case [1]"),
            ("# no heading, C#", r"\# no heading, C#"),
            ("two\n- lines\u{1b}[31m", "two - lines[31m"),
        ] {
            assert_eq!(escaped(text), expected, "{text}");
        }
        assert_eq!(row(["a", "b|c", ""]), "| a | b\\|c |  |\n");
    }
}
