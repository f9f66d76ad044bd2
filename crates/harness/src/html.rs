//! HTML by meaning. Two renderers that agree write headings with or without an id, escape different characters, and
//! break lines differently; none of that is seen by a reader.

use std::collections::BTreeMap;

use html5gum::{Token, Tokenizer};

/// Elements around whose tags blank space does not show (HTML Living Standard, "Flow content" with block rendering).
const BLOCK: [&str; 24] = [
    "address",
    "article",
    "blockquote",
    "body",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
    "td",
];
const TABLE_PARTS: [&str; 6] = ["thead", "tbody", "tfoot", "tr", "th", "html"];

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Start { name: String, attributes: BTreeMap<String, String> },
    End { name: String },
    Text(String),
}

/// Whether two pieces of HTML mean the same: heading ids, blank space that does not show, comments, and the way in
/// which characters are escaped do not count.
pub(crate) fn same_meaning(a: &str, b: &str) -> bool {
    pieces(a) == pieces(b)
}

fn pieces(html: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut preformatted = 0usize;
    for Ok(token) in Tokenizer::new(html) {
        match token {
            Token::StartTag(tag) => {
                let name = text(&tag.name);
                preformatted += usize::from(name == "pre");
                if is_block(&name) {
                    trim_end(&mut pieces, preformatted);
                }
                let heading = name.len() == 2 && name.starts_with('h') && name != "hr";
                let attributes = tag
                    .attributes
                    .iter()
                    .map(|(key, value)| (text(key), text(&value.value)))
                    .filter(|(key, _)| !(heading && key == "id"))
                    .collect();
                pieces.push(Piece::Start { name, attributes });
            }
            Token::EndTag(tag) => {
                let name = text(&tag.name);
                if is_block(&name) {
                    trim_end(&mut pieces, preformatted);
                }
                preformatted = preformatted.saturating_sub(usize::from(name == "pre"));
                pieces.push(Piece::End { name });
            }
            Token::String(string) => push_text(&mut pieces, &text(&string), preformatted > 0),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    trim_end(&mut pieces, 0);
    pieces
}

fn push_text(pieces: &mut Vec<Piece>, string: &str, preformatted: bool) {
    let after_block = match pieces.last() {
        Some(Piece::Start { name, .. } | Piece::End { name }) => is_block(name),
        Some(Piece::Text(_)) => false,
        None => true,
    };
    let mut folded = match pieces.pop_if(|piece| matches!(piece, Piece::Text(_))) {
        Some(Piece::Text(before)) => before,
        _ => String::new(),
    };
    for character in string.chars() {
        if preformatted || !character.is_ascii_whitespace() {
            folded.push(character);
        } else if !(folded.ends_with(' ') || (after_block && folded.is_empty())) {
            folded.push(' ');
        }
    }
    if !folded.is_empty() {
        pieces.push(Piece::Text(folded));
    }
}

fn trim_end(pieces: &mut Vec<Piece>, preformatted: usize) {
    if preformatted > 0 {
        return;
    }
    if let Some(Piece::Text(text)) = pieces.last_mut() {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            pieces.pop();
        }
    }
}

fn is_block(name: &str) -> bool {
    BLOCK.contains(&name) || TABLE_PARTS.contains(&name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_does_not_see_does_not_count() {
        for (a, b) in [
            ("<h1>h1</h1>\n<p>x</p>", "<h1 id=\"h1\">h1</h1><p>x</p>\n"),
            ("<p><em>test</em>\n<strong>test</strong></p>", "<p><em>test</em> <strong>test</strong></p>"),
            ("<p>a &amp; &quot;b&quot;</p>", "<p>a &#38; \"b\"</p>"),
            ("<ul>\n<li>a</li>\n</ul>", "<ul><li>a</li></ul>"),
            ("<p>a<br />\nb</p>", "<p>a<br>b</p>"),
            ("<td style=\"text-align:left\" class=\"a\">x</td>", "<td class='a' style='text-align:left'>x</td>"),
        ] {
            assert!(same_meaning(a, b), "{a} and {b}: {:?} {:?}", pieces(a), pieces(b));
        }
    }

    #[test]
    fn what_a_reader_sees_counts() {
        for (a, b) in [
            ("<p>a</p>", "<p>b</p>"),
            ("<p>a b</p>", "<p>ab</p>"),
            ("<em>a</em>", "<strong>a</strong>"),
            ("<em>a</em> b", "<em>a</em>b"),
            ("<pre>a\n  b</pre>", "<pre>a b</pre>"),
            ("<p id=\"x\">a</p>", "<p>a</p>"),
            ("<a href=\"x\">a</a>", "<a href=\"y\">a</a>"),
            ("<p>a</p>", "<p>a</p><p></p>"),
            ("<p>&lt;b&gt;</p>", "<p><b></p>"),
        ] {
            assert!(!same_meaning(a, b), "{a} and {b}");
        }
    }
}
