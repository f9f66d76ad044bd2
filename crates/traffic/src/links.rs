//! What a page names: other pages, and the files that it is made of.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

/// The references of a page, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// What references are relative to, where the page says so (`<base href>`).
    pub(crate) base: Option<String>,
    /// Where a visitor can go and what a browser loads with the page, in the page's order.
    pub(crate) references: Vec<String>,
}

impl Links {
    /// Reads a page of HTML. Links that are not for crawlers (`rel="nofollow"`) are left out, and all of a page that says so itself
    /// (`<meta name="robots" content="nofollow">`) but for its files.
    pub(crate) fn of(html: &[u8]) -> Self {
        let mut links = Self::default();
        let (mut are_pages_followed, mut found) = (true, Vec::new());
        let mut emitter = DefaultEmitter::default();
        // What stands in scripts and styles is no tag.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            let Token::StartTag(tag) = token else { continue };
            let (is_page, reference) = match &tag.name[..] {
                b"a" | b"area"
                    if !has_word(&tag, "rel", "nofollow") && !tag.attributes.contains_key(&b"download"[..]) =>
                {
                    (true, value(&tag, "href"))
                }
                b"base" if links.base.is_none() => {
                    links.base = value(&tag, "href");
                    continue;
                }
                b"link" if LOADED.iter().any(|kind| has_word(&tag, "rel", kind)) => (false, value(&tag, "href")),
                b"script" | b"img" | b"source" | b"iframe" => (false, value(&tag, "src")),
                b"meta" if is_named_robots(&tag) => {
                    are_pages_followed &= !has_word(&tag, "content", "nofollow") && !has_word(&tag, "content", "none");
                    continue;
                }
                _ => continue,
            };
            if let Some(reference) = reference.filter(|reference| !reference.trim().is_empty()) {
                found.push((is_page, reference));
            }
        }
        let followed = found.into_iter().filter(|(is_page, _)| are_pages_followed || !is_page);
        links.references = followed.map(|(_, reference)| reference).collect();
        links
    }
}

/// The kinds of `<link>` that a browser loads with a page.
const LOADED: [&str; 4] = ["stylesheet", "icon", "manifest", "modulepreload"];

fn value(tag: &StartTag<()>, name: &str) -> Option<String> {
    tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(&value.value).into_owned())
}

/// Whether an attribute that is a list of words has this one.
fn has_word(tag: &StartTag<()>, name: &str, word: &str) -> bool {
    let words = value(tag, name).unwrap_or_default();
    words
        .split(|character: char| character.is_ascii_whitespace() || character == ',')
        .any(|of| of.eq_ignore_ascii_case(word))
}

fn is_named_robots(tag: &StartTag<()>) -> bool {
    value(tag, "name").is_some_and(|name| name.eq_ignore_ascii_case("robots"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_names_is_found_in_its_order() {
        let html = br#"<html><head><base href="/shop/"><link rel="preload stylesheet" href="a.css">
            <link rel="canonical" href="/not-loaded"><link rel='shortcut icon' href=/favicon.ico>
            <script src="app.js?v=1&amp;w=2"></script><script>var a = '<a href="/no">'</script></head>
            <body><a href="list?page=2#top">x</a><A HREF=" /about ">y</A><a href="/out" rel="nofollow noopener">z</a>
            <a href="/file.zip" download>d</a><!-- <a href="/comment"> --><img src="logo.svg"><a>nothing</a><a href="">empty</a>"#;
        let Links { base, references } = Links::of(html);
        assert_eq!(base.as_deref(), Some("/shop/"));
        assert_eq!(references, ["a.css", "/favicon.ico", "app.js?v=1&w=2", "list?page=2#top", " /about ", "logo.svg"]);
        let closed =
            br#"<link rel=stylesheet href=a.css><a href=/b>b</a><meta name="Robots" content="noindex,nofollow">"#;
        assert_eq!(Links::of(closed).references, ["a.css"]);
    }
}
