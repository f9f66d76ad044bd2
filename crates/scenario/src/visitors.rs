//! Visitors who send the requests of a mix and keep their cookies.

use std::num::NonZeroU32;

use stampede_core::{Load, Request};

use crate::check::Check;
use crate::scenario::{Choice, Crowd, Flow, Pause, Scenario, Step};
use crate::template::Template;

/// A request that visitors send, and what its answer must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Its name in results.
    pub name: String,
    /// What is sent, beside cookies.
    pub request: Request,
    /// What must come back.
    pub check: Check,
    /// How often it is sent, in proportion to the others.
    pub weight: NonZeroU32,
}

/// A load of visitors: each connection is one, with a jar of its own for the cookies of all its requests. The requests are sent
/// in turn, as often as their weights say. The steps of the result are those of `visits`, in their order.
#[must_use]
pub fn visitors(visits: impl IntoIterator<Item = Visit>, load: Load, think: Pause) -> Scenario {
    let flow = |Visit { name, request, check, weight }: Visit| {
        let Request { method, path, headers, body } = request;
        let headers = headers.into_iter().map(|(name, value)| (name, Template::fixed(value))).collect();
        let step = Step {
            name: name.clone(),
            method,
            path: Template::fixed(path),
            headers,
            body: Template::fixed(body),
            pause: Pause::default(),
            when: None,
            captures: Vec::new(),
            check,
            shows: Vec::new(),
            events: None,
        };
        Flow { name, weight: weight.get(), cookies: true, identities: 1, captures: Vec::new(), steps: vec![step] }
    };
    let flows = visits.into_iter().map(flow).collect();
    Scenario { feeders: Vec::new(), crowds: vec![Crowd { load, think, flows, choice: Choice::Spread }] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::{Journey, Script, Statuses};

    fn visit(path: &str, weight: u32) -> Visit {
        let headers = BTreeMap::from([("Accept".to_owned(), "a$b".to_owned())]);
        Visit {
            name: path.to_owned(),
            request: Request { method: "GET".to_owned(), path: path.to_owned(), headers, body: Vec::new() },
            check: Check::new(Statuses::only(200), Vec::new()),
            weight: NonZeroU32::new(weight).unwrap(),
        }
    }

    /// What a visitor sends next, as far as its first line and its cookies go; the answer sets this cookie.
    fn next(visitor: &mut Journey, script: &mut Script, set_cookie: &str) -> String {
        visitor.begin(script).unwrap();
        visitor.next_step(script).unwrap();
        let mut sent = Vec::new();
        visitor.render(script, SystemTime::now(), &mut sent).unwrap();
        let headers = [("Set-Cookie", set_cookie.as_bytes())].into_iter().filter(|_| !set_cookie.is_empty());
        assert!(visitor.head(script, 200, headers, SystemTime::now()));
        assert_eq!(visitor.end(script), None);
        assert_eq!(visitor.next_step(script), None);
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains("Accept: a$b\r\n"), "{sent}");
        let cookie = sent.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or_default();
        format!("{} {cookie}", sent.split(' ').nth(1).unwrap())
    }

    #[test]
    fn each_visitor_keeps_its_cookies_through_all_requests() {
        let scenario =
            visitors([visit("/a?x=1", 2), visit("//b", 1)], Load::Closed { connections: 2 }, Pause::default());
        let mut script = Script::new(Arc::new(scenario), 0, "h", true, (0, 1), 1).unwrap();
        let [mut one, mut two] = [Journey::new(&script), Journey::new(&script)];
        let sent = [
            next(&mut one, &mut script, "s=1"),
            next(&mut two, &mut script, "s=2"),
            next(&mut one, &mut script, ""),
            next(&mut two, &mut script, "s=3"),
            next(&mut two, &mut script, ""),
            next(&mut one, &mut script, ""),
        ];
        // Each as often as its weight, whoever sends it.
        assert_eq!(sent, ["/a?x=1 ", "//b ", "/a?x=1 s=1", "/a?x=1 s=2", "//b s=3", "/a?x=1 s=1"]);
    }
}
