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

/// The kinds of `<link>` that a browser loads with a page.
const LOADED: [&str; 4] = ["stylesheet", "icon", "manifest", "modulepreload"];

impl Links {
    /// Reads a page of HTML. Links that are not for crawlers (`rel="nofollow"`) and downloads are left out. A page that says so of all its
    /// links (`<meta name="robots" content="nofollow">`) speaks to search engines: copies of a site for tests say it of every page.
    pub(crate) fn of(html: &[u8]) -> Self {
        let mut links = Self::default();
        let mut emitter = DefaultEmitter::default();
        // What stands in scripts and styles is no tag.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            let Token::StartTag(tag) = token else { continue };
            let name = match &tag.name[..] {
                b"a" | b"area" if has_word(&tag, "rel", "nofollow") || value(&tag, "download").is_some() => continue,
                b"a" | b"area" => "href",
                b"link" if LOADED.iter().any(|kind| has_word(&tag, "rel", kind)) => "href",
                b"script" | b"img" | b"source" | b"iframe" => "src",
                b"base" => {
                    links.base = links.base.or_else(|| value(&tag, "href"));
                    continue;
                }
                _ => continue,
            };
            links.references.extend(value(&tag, name).filter(|reference| !reference.trim().is_empty()));
        }
        links
    }
}

fn value(tag: &StartTag<()>, name: &str) -> Option<String> {
    tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(&value.value).into_owned())
}

/// Whether an attribute that is a list of words has this one.
fn has_word(tag: &StartTag<()>, name: &str, word: &str) -> bool {
    value(tag, name).is_some_and(|words| words.split_ascii_whitespace().any(|of| of.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_names_is_found_in_its_order() {
        let html = br#"<html><head><meta name="robots" content="noindex, nofollow"><base href="/shop/">
            <link rel="preload stylesheet" href="a.css"><link rel="canonical" href="/not-loaded"><link rel='shortcut icon' href=/favicon.ico>
            <script src="app.js?v=1&amp;w=2"></script><script>var a = '<a href="/no">'</script></head>
            <body><a href="list?page=2#top">x</a><A HREF=" /about ">y</A><a href="/out" rel="nofollow noopener">z</a>
            <a href="/file.zip" download>d</a><!-- <a href="/comment"> --><img src="logo.svg"><a>nothing</a><a href="">empty</a>"#;
        let Links { base, references } = Links::of(html);
        assert_eq!(base.as_deref(), Some("/shop/"));
        assert_eq!(references, ["a.css", "/favicon.ico", "app.js?v=1&w=2", "list?page=2#top", " /about ", "logo.svg"]);
    }
}
