//! The head of an answer, as far as it must be the same on all runtimes: status, place, cookies and kind of content. Nothing of it
//! is ever masked.

use std::collections::BTreeSet;

use stampede_core::{Answer, ExpectedHead};

use crate::known::Known;

/// The kind of an answer's content, without parameters; empty where it has none.
pub(crate) fn kind(answer: &Answer) -> String {
    let kind = answer.header("content-type").and_then(|value| value.split(';').next());
    kind.unwrap_or_default().trim().to_lowercase()
}

/// Names of one kind of content, of which servers know one or the other: PHP's own server sends scripts by the first.
/// RFC 9239, section 6; RFC 7303, section 9.2; <https://www.iana.org/assignments/media-types>
const ALIASES: [&[&str]; 4] = [
    &["application/javascript", "application/x-javascript", "text/javascript"],
    &["application/xml", "text/xml"],
    &["audio/wav", "audio/wave", "audio/x-wav"],
    &["image/vnd.microsoft.icon", "image/x-icon"],
];

/// Whether two names are of the same kind of content.
fn is_same(kind: &str, other: &str) -> bool {
    kind == other || ALIASES.iter().any(|names| names.contains(&kind) && names.contains(&other))
}

/// The names of the cookies that an answer sets.
fn cookies(answer: &Answer) -> BTreeSet<String> {
    let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let name = |cookie: &str| cookie.split(['=', ';']).next().unwrap_or_default().trim().to_owned();
    set.map(|(_, cookie)| name(cookie)).collect()
}

/// What other runtimes' heads must be where one answers so. Without a body, servers write a kind of content or none.
pub(crate) fn expected(answer: &Answer, known: &Known) -> ExpectedHead {
    ExpectedHead {
        content_type: (!answer.body.is_empty()).then(|| kind(answer)),
        location: answer.header("location").map(|location| known.on_server(location).to_owned()),
        cookies: Some(cookies(answer)),
    }
}

/// Compares a head with what it must be.
///
/// # Errors
///
/// The first difference.
pub(crate) fn check(expected: &ExpectedHead, answer: &Answer, known: &Known) -> Result<(), String> {
    let ExpectedHead { content_type, location, cookies: names } = expected;
    let came = kind(answer);
    if let Some(kind) = content_type.as_ref().filter(|kind| !is_same(kind, &came)) {
        return Err(format!("Content-Type {} was expected, and {} came", or_none(kind), or_none(&came)));
    }
    let came = answer.header("location").map(|location| known.on_server(location)).unwrap_or_default();
    if let Some(place) = location.as_ref().filter(|place| *place != came) {
        return Err(format!("Location {} was expected, and {} came", or_none(place), or_none(came)));
    }
    let came = cookies(answer);
    let list = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
    match names.as_ref().map(|names| (list(names.difference(&came).collect()), list(came.difference(names).collect())))
    {
        Some((missing, _)) if !missing.is_empty() => {
            Err(format!("it does not set the cookies that were expected: {missing}"))
        }
        Some((_, more)) if !more.is_empty() => Err(format!("it sets cookies that were not expected: {more}")),
        _ => Ok(()),
    }
}

fn or_none(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)]) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer { status: 200, headers, body: b"x".to_vec() }
    }

    fn on(port: u16) -> Known {
        Known { addresses: vec![format!("127.0.0.1:{port}")], ..Known::default() }
    }

    #[test]
    fn kind_place_and_names_of_cookies_must_be_the_same() {
        let recorded = answer(&[
            ("Content-Type", "text/html; charset=UTF-8"),
            ("Location", "http://127.0.0.1:1/a"),
            ("Set-Cookie", "sid=1; path=/"),
            ("Set-Cookie", "XSRF-TOKEN=2"),
        ]);
        let expected = expected(&recorded, &on(1));
        for (kind, place, cookies, problem) in [
            ("text/HTML;charset=utf-8", "http://127.0.0.1:2/a", ["XSRF-TOKEN=9", "sid=8"], None),
            ("text/html", "/a", ["XSRF-TOKEN=9", "sid=8"], None),
            (
                "text/plain",
                "/a",
                ["XSRF-TOKEN=9", "sid=8"],
                Some("Content-Type text/html was expected, and text/plain came"),
            ),
            ("text/html", "/b", ["XSRF-TOKEN=9", "sid=8"], Some("Location /a was expected, and /b came")),
            (
                "text/html",
                "http://127.0.0.1:1/a",
                ["a=9", "sid=8"],
                Some("Location /a was expected, and http://127.0.0.1:1/a came"),
            ),
            ("text/html", "/a", ["sid=9", "sid=8"], Some("it does not set the cookies that were expected: XSRF-TOKEN")),
        ] {
            let came = answer(&[
                ("content-type", kind),
                ("location", place),
                ("set-cookie", cookies[0]),
                ("set-cookie", cookies[1]),
            ]);
            assert_eq!(check(&expected, &came, &on(2)).err().as_deref(), problem);
        }
        let more = answer(&[
            ("content-type", "text/html"),
            ("location", "/a"),
            ("set-cookie", "sid=1"),
            ("set-cookie", "XSRF-TOKEN=2"),
            ("set-cookie", "debug=3"),
        ]);
        assert_eq!(check(&expected, &more, &on(2)), Err("it sets cookies that were not expected: debug".to_owned()));
        assert_eq!(check(&ExpectedHead::default(), &answer(&[]), &on(2)), Ok(()));
    }

    #[test]
    fn a_kind_of_content_may_have_two_names() {
        for (kind, came, is_right) in [
            ("text/javascript", "application/javascript; charset=UTF-8", true),
            ("application/xml", "text/xml", true),
            ("text/javascript", "text/xml", false),
            ("text/html", "text/plain", false),
        ] {
            let expected = ExpectedHead { content_type: Some(kind.to_owned()), ..Default::default() };
            let checked = check(&expected, &answer(&[("Content-Type", came)]), &on(1));
            assert_eq!(checked.is_ok(), is_right, "{kind} {came}");
        }
    }
}
