//! A sitemap (<https://www.sitemaps.org/protocol.html>), as a list of addresses.

use html5gum::{Token, Tokenizer};

/// How far a file is looked into for what it is.
const HEAD: usize = 4096;

/// The addresses of a sitemap, one a line; nothing of a text that is none.
///
/// # Errors
///
/// A sitemap that names other sitemaps in place of pages, with what to do.
pub(crate) fn addresses(text: &str) -> Option<Result<String, String>> {
    let head: String = text.trim_start_matches('\u{feff}').trim_start().chars().take(HEAD).collect();
    if !head.starts_with('<') {
        return None;
    }
    let is_index = head.contains("<sitemapindex");
    if !is_index && !head.contains("<urlset") {
        return None;
    }
    let (mut addresses, mut address) = (String::new(), None::<String>);
    for Ok(token) in Tokenizer::new(text) {
        match token {
            Token::StartTag(tag) if &**tag.name == b"loc" => address = Some(String::new()),
            Token::String(part) => {
                if let Some(address) = &mut address {
                    address.push_str(&String::from_utf8_lossy(&part));
                }
            }
            Token::EndTag(tag) if &**tag.name == b"loc" => {
                if let Some(address) = address.take() {
                    addresses.push_str(address.trim());
                    addresses.push('\n');
                }
            }
            _ => {}
        }
    }
    Some(match is_index {
        false => Ok(addresses),
        true => {
            let first: Vec<&str> = addresses.lines().take(3).collect();
            Err(format!("names other sitemaps ({}); give one of those", first.join(", ")))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_sitemap_are_read_and_nothing_else_is_one() {
        let sitemap = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\">\n\
            <url><loc>https://a.example/</loc><lastmod>2026-01-01</lastmod><priority>0.8</priority></url>\n\
            <url>\n  <loc>\n    https://a.example/list?a=1&amp;b=caf%C3%A9\n  </loc>\n\
            <image:image><image:loc>https://a.example/a.png</image:loc></image:image></url>\n</urlset>\n";
        let read = addresses(sitemap).unwrap().unwrap();
        assert_eq!(read, "https://a.example/\nhttps://a.example/list?a=1&b=caf%C3%A9\n");
        let index = "<sitemapindex><sitemap><loc>https://a.example/sitemap-1.xml</loc></sitemap></sitemapindex>";
        let problem = addresses(index).unwrap().unwrap_err();
        assert!(problem.contains("https://a.example/sitemap-1.xml"), "{problem}");
        for other in ["/a\n/b\n", "", "<html><body>urlset</body></html>"] {
            assert_eq!(addresses(other), None, "{other}");
        }
    }
}
