//! Text with addresses in it, which become links: those of manuals, and no other.

use serde::Serialize;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Piece {
    text: String,
    /// Where it leads: always `https://` or `http://`.
    href: Option<String>,
}

/// Cuts a text at its addresses. What stands after one as a sentence's mark is not part of it.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = ["https://", "http://"].iter().filter_map(|scheme| rest.find(scheme)).min() {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| c.is_whitespace() || "<>\"'`".contains(c)).unwrap_or(from.len());
        let address = from[..end].trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
        if !before.is_empty() {
            pieces.push(Piece { text: before.to_owned(), href: None });
        }
        let host = address.split_once("//").map_or("", |(_, host)| host);
        // On the reader's machine there is something else.
        let is_local = ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local));
        pieces.push(Piece { text: address.to_owned(), href: (!is_local).then(|| address.to_owned()) });
        rest = &from[address.len()..];
    }
    if !rest.is_empty() {
        pieces.push(Piece { text: rest.to_owned(), href: None });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_become_links() {
        let shown = |text: &str| -> Vec<String> {
            let piece = |piece: Piece| match piece.href {
                Some(href) => format!("[{href}]"),
                None => piece.text,
            };
            pieces(text).into_iter().map(piece).collect()
        };
        for (text, expected) in [
            ("", &[][..]),
            ("no link", &["no link"]),
            ("see https://nginx.org/en/docs/.", &["see ", "[https://nginx.org/en/docs/]", "."]),
            ("(http://a.b/c?d=e#f), x", &["(", "[http://a.b/c?d=e#f]", "), x"]),
            ("https://a https://b", &["[https://a]", " ", "[https://b]"]),
            ("at http://localhost:80/a", &["at ", "http://localhost:80/a"]),
            ("javascript:alert(1)", &["javascript:alert(1)"]),
            ("https://a/\"onclick=x", &["[https://a/]", "\"onclick=x"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
