//! What a request line names.

/// A request target as its server takes it: path and query, as written. Of an absolute URL, its host beside it.
///
/// The rest is kept byte for byte: percent codes, `//`, `;` and characters beyond ASCII are the application's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    /// `example.org:8080`, where the target was an absolute URL.
    pub(crate) host: Option<&'a str>,
    /// `/a?b=c`.
    pub(crate) path: &'a str,
}

impl<'a> Target<'a> {
    /// Reads it; nothing of what no application is asked for: `*`, an authority, an empty text.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        if text.starts_with('/') {
            return Some(Self { host: None, path: without_fragment(text) });
        }
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let path = without_fragment(path);
        match path.chars().next() {
            _ if host.is_empty() => None,
            None => Some(Self { host: Some(host), path: "/" }),
            Some('/') => Some(Self { host: Some(host), path }),
            // `http://host?a=b` has no path: whoever sends it writes one.
            Some(_) => None,
        }
    }
}

/// A fragment is never sent.
fn without_fragment(path: &str) -> &str {
    path.split_once('#').map_or(path, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_kept_as_it_is_written() {
        for (text, host, path) in [
            ("/", None, Some("/")),
            ("/a%20b?q=%2F&r=ü#top", None, Some("/a%20b?q=%2F&r=ü")),
            ("//double//slash", None, Some("//double//slash")),
            ("http://example.org", Some("example.org"), Some("/")),
            ("HTTPS://user:secret@example.org:8443/x;y?z", Some("example.org:8443"), Some("/x;y?z")),
            ("*", None, None),
            ("example.org:443", None, None),
            ("", None, None),
            ("ftp://example.org/", None, None),
            ("http:///x", None, None),
        ] {
            let target = Target::of(text);
            assert_eq!(target.as_ref().map(|target| target.path), path, "{text}");
            assert_eq!(target.and_then(|target| target.host), host, "{text}");
        }
    }
}
