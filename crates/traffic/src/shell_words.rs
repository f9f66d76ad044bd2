//! A command as a shell's user pastes it.

use crate::escape::hex;

/// The words of a command line of a POSIX shell, with quotation marks, backslashes, continued lines, and bash's `$'...'`, which browsers
/// write. Nothing is expanded.
///
/// # Errors
///
/// Which quotation mark is not closed.
pub(crate) fn shell_words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\\' => match characters.next() {
                // A line that goes on.
                Some('\n') => {}
                Some('\r') if characters.next_if_eq(&'\n').is_some() => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => word.get_or_insert_default().push('\\'),
            },
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("has a ' that is not closed")? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("has a \" that is not closed")? {
                        '"' => break,
                        '\\' => match characters.next() {
                            Some('\n') => {}
                            Some(escaped @ ('"' | '\\' | '$' | '`' | '!')) => word.push(escaped),
                            other => word.extend(['\\'].into_iter().chain(other)),
                        },
                        inner => word.push(inner),
                    }
                }
            }
            '$' if characters.next_if_eq(&'\'').is_some() => {
                let word = word.get_or_insert_default();
                word.push_str(&ansi_c(&mut characters).ok_or("has a $' that is not closed")?);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of `$'...'` (<https://www.gnu.org/software/bash/manual/html_node/ANSI_002dC-Quoting.html>), without octal and control
/// characters, which browsers do not write.
fn ansi_c(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    let number = |characters: &mut std::iter::Peekable<std::str::Chars<'_>>, most: usize| {
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = characters.next_if(char::is_ascii_hexdigit) else { break };
            value = value << 4 | u32::from(u8::try_from(digit).ok().and_then(hex).unwrap_or_default());
        }
        char::from_u32(value)
    };
    loop {
        match characters.next()? {
            '\'' => return Some(text),
            '\\' => match characters.next()? {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'x' => text.extend(number(characters, 2)),
                'u' => text.extend(number(characters, 4)),
                'U' => text.extend(number(characters, 8)),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, words) in [
            ("curl  http://a/", vec!["curl", "http://a/"]),
            ("a \\\n  b \\\r\n c", vec!["a", "b", "c"]),
            (r#"a 'b "c" \d' "e \"f\" \g $h""#, vec!["a", r#"b "c" \d"#, r#"e "f" \g $h"#]),
            (r"a'b'\ c''", vec!["ab c"]),
            (r"$'it\'s \u0021 \x41\n' ''", vec!["it's ! A\n", ""]),
            ("", vec![]),
        ] {
            assert_eq!(shell_words(line).unwrap(), words, "{line}");
        }
        for (line, problem) in [("a 'b", "'"), ("a \"b\\", "\""), ("$'b", "$'")] {
            assert_eq!(shell_words(line).unwrap_err(), format!("has a {problem} that is not closed"), "{line}");
        }
    }
}
