//! Who asks: nobody in particular, or one of two visitors, each known by a cookie.

use std::borrow::Cow;

use stampede_core::{Answer, Request};

use crate::content_encoding;

/// Who sends a request. Each request has a connection of its own, whoever sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// Whoever sends no cookie beside those of the request.
    Nobody,
    /// The first or the second one: 0 or 1.
    Known(u8),
}

impl Visitor {
    /// Both who are known by a cookie.
    pub(crate) const BOTH: [Self; 2] = [Self::Known(0), Self::Known(1)];

    /// The request as this visitor sends it: with one more cookie.
    pub(crate) fn sends<'a>(self, request: &'a Request, seed: u64) -> Cow<'a, Request> {
        let Self::Known(number) = self else { return Cow::Borrowed(request) };
        let mut request = request.clone();
        let cookie = format!("stampede={}", mark(seed, number));
        match request.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
            Some((_, cookies)) => *cookies = format!("{cookies}; {cookie}"),
            None => {
                request.headers.insert("Cookie".to_owned(), cookie);
            }
        }
        Cow::Owned(request)
    }

    /// Whether an answer to this visitor holds what the other one sent, in its head or its body.
    pub(crate) fn sees_the_other(self, answer: &Answer, seed: u64) -> bool {
        match self {
            Self::Nobody => false,
            Self::Known(number) => holds(answer, &mark(seed, 1 - number.min(1))),
        }
    }
}

/// A value that only this visitor sends, and that no application makes by itself.
fn mark(seed: u64, number: u8) -> String {
    format!("visitor-{number}-{:016x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number))
}

fn holds(answer: &Answer, text: &str) -> bool {
    let body = content_encoding::decoded(answer).unwrap_or(Cow::Borrowed(&answer.body));
    answer.headers.iter().any(|(_, value)| value.contains(text))
        || body.windows(text.len()).any(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_known_by_one_more_cookie() {
        let request = |cookie: &[(&str, &str)]| Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: cookie.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: Vec::new(),
        };
        let [first, second] = [0, 1].map(|number| mark(7, number));
        assert_ne!(first, second);
        for (before, name, after) in [
            (request(&[]), "Cookie", format!("stampede={first}")),
            (request(&[("cookie", "a=b")]), "cookie", format!("a=b; stampede={first}")),
        ] {
            assert_eq!(*Visitor::Known(0).sends(&before, 7), request(&[(name, &after)]));
            assert_eq!(*Visitor::Nobody.sends(&before, 7), before);
        }
    }

    #[test]
    fn what_another_visitor_sent_is_found_in_head_and_body() {
        let [own, other] = [0, 1].map(|number| mark(7, number));
        for (header, body, found) in [
            ("", String::new(), false),
            (&*other, String::new(), true),
            ("", format!("hello {other}, how are you"), true),
            (&own, own.clone(), false),
        ] {
            let headers = vec![("x-greeting".to_owned(), header.to_owned())];
            let answer = Answer { status: 200, headers, body: body.into_bytes() };
            assert_eq!(Visitor::Known(0).sees_the_other(&answer, 7), found);
            assert!(!Visitor::Nobody.sees_the_other(&answer, 7));
        }
    }
}
