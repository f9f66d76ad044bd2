//! Same answers first: every expected answer is checked before anything is timed, and again by two visitors who take turns,
//! so that what a worker keeps of one request is seen in the answer to another.

use std::borrow::Cow;
use std::time::Duration;

use stampede_core::{Answer, Body, Exchange, Expectation, Masked, Piece, Request, ServedAnswer, named_status};
use stampede_seam::{BodyCheck, Check, LoadExchange, Running, Statuses};

use crate::difference::difference;
use crate::known::Known;
use crate::mask::UnderLoad;
use crate::order::order;
use crate::ready::{Front, send};
use crate::{content_encoding, head, html, mask};

/// So many orders are looked for leaks in, one in each lifetime of a case: with one greeting that leaks among a dozen workers, the
/// chance to miss it in a whole study is small. All of them in each lifetime would cost a workload of ten exchanges 160 requests
/// a trial.
const PASSES: u32 = 8;

/// What is said of an answer that differs from itself.
const VARIES: &str = "\nasked again, it answers otherwise: mask the part that varies (`mask` under `expect`)";

/// How much of a wrong body is shown.
const SHOWN_BYTES: usize = 400;

/// What was verified, and what the load must get.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) answers: Vec<ServedAnswer>,
    /// The load's requests with the very bytes that were found right here, so that each answer under load can be
    /// checked at full speed.
    pub(crate) load: Vec<LoadExchange>,
}

/// Sends every exchange and checks its answer, then lets two visitors repeat all but those that are sent once, in orders of the
/// `lifetime`: the number of the case's deployment, of which eight in a row have different ones. `known`: what is known of it.
/// `timeout`: longest wait for one answer.
///
/// # Errors
///
/// The first wrong answer: the exchange, what was expected and what came, in a few lines.
pub(crate) async fn verify(
    running: &dyn Running,
    front: &Front,
    known: &Known,
    exchanges: &[Exchange],
    timeout: Duration,
    seed: u64,
    lifetime: u32,
) -> Result<Verified, String> {
    let visit = Visit { running, front, known, timeout };
    let mut verified = Verified::default();
    for Exchange { name, request, expect, in_load, once, optional: _ } in exchanges {
        let answer = visit.ask(name, request).await?;
        if let Err(problem) = check(expect, &answer, known) {
            // What has another status failed, and may do more harm when it is asked again.
            let again = match answer.status == expect.status && !once {
                true => visit.ask(name, request).await.ok(),
                false => None,
            };
            let varies = if again.is_some_and(|again| again.body != answer.body) { VARIES } else { "" };
            return Err(format!("{}{varies}", wrong(name, &problem)));
        }
        verified.answers.push(ServedAnswer {
            exchange: name.clone(),
            status: answer.status,
            body_bytes: answer.body.len() as u64,
        });
        if *in_load {
            let body = match mask::under_load(&expect.body) {
                UnderLoad::Whole => vec![BodyCheck::Equals(answer.body)],
                // Parts are not to be seen in what is coded.
                UnderLoad::Part(_) if content_encoding::is_gzip(&answer) => Vec::new(),
                UnderLoad::Part(part) => vec![BodyCheck::Contains(part.to_owned())],
                UnderLoad::StatusOnly => Vec::new(),
            };
            let check = Check::new(Statuses::only(answer.status), body);
            verified.load.push(LoadExchange { request: request.clone(), check });
        }
    }
    let repeated: Vec<_> = exchanges.iter().filter(|exchange| !exchange.once).collect();
    visit.look_for_leaks(&repeated, seed, lifetime % PASSES).await?;
    Ok(verified)
}

/// A deployment that is asked, and how long one answer may take.
struct Visit<'a> {
    running: &'a dyn Running,
    front: &'a Front,
    known: &'a Known,
    timeout: Duration,
}

impl Visit<'_> {
    /// Sends one exchange; ends with an error when the deployment does.
    async fn ask(&self, name: &str, request: &Request) -> Result<Answer, String> {
        tokio::select! {
            answer = send(self.running.vantage().as_ref(), self.front, request, self.timeout) => {
                answer.map_err(|error| format!("gave no answer to `{name}`: {error}"))
            }
            exit = self.running.exited() => Err(format!("{} ended with {} at `{name}`", exit.unit, exit.how)),
        }
    }

    /// Two visitors, each known by a cookie of its own, take turns. Each sends every exchange in an order of its own. An answer
    /// must be what it was for nobody, and may not hold what the other visitor sent.
    async fn look_for_leaks(&self, exchanges: &[&Exchange], seed: u64, pass: u32) -> Result<(), String> {
        let visitors = [visitor(seed, 0), visitor(seed, 1)];
        let mut previous: Option<&str> = None;
        let orders = [0, 1].map(|of| order(seed, 2 * pass + of, exchanges.len()));
        for (own, other) in orders[0].iter().zip(&orders[1]) {
            for (visitor, index) in [(0, *own), (1, *other)] {
                let Exchange { name, request, expect, .. } = exchanges[index];
                let answer = self.ask(name, &with_cookie(request, &visitors[visitor])).await?;
                let problem = match check(expect, &answer, self.known) {
                    Err(problem) => Some(problem),
                    Ok(()) if holds(&answer, &visitors[1 - visitor]) => {
                        Some("it holds the cookie of another visitor".to_owned())
                    }
                    Ok(()) => None,
                };
                if let Some(problem) = problem {
                    let after = previous.map_or_else(String::new, |previous| format!(", after `{previous}`"));
                    return Err(format!(
                        "leaks from one request into another: right at first, and now it {}{after}",
                        wrong(name, &problem)
                    ));
                }
                previous = Some(name);
            }
        }
        Ok(())
    }
}

/// A value that only this visitor sends, and that no application makes by itself.
fn visitor(seed: u64, number: u64) -> String {
    format!("visitor-{number}-{:016x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number)
}

/// The same request with one more cookie.
fn with_cookie(request: &Request, visitor: &str) -> Request {
    let mut request = request.clone();
    let cookie = format!("stampede={visitor}");
    match request.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        Some((_, cookies)) => *cookies = format!("{cookies}; {cookie}"),
        None => {
            request.headers.insert("Cookie".to_owned(), cookie);
        }
    }
    request
}

/// Whether an answer holds a text, in its head or its body.
fn holds(answer: &Answer, text: &str) -> bool {
    let body = content_encoding::decoded(answer).unwrap_or(Cow::Borrowed(&answer.body));
    answer.headers.iter().any(|(_, value)| value.contains(text))
        || body.windows(text.len()).any(|window| window == text.as_bytes())
}

fn wrong(name: &str, problem: &str) -> String {
    format!("gave a wrong answer to `{name}`: {problem}")
}

fn check(expect: &Expectation, answer: &Answer, known: &Known) -> Result<(), String> {
    let body = || content_encoding::decoded(answer).unwrap_or(Cow::Borrowed(&answer.body));
    if answer.status != expect.status {
        let [expected, came] = [expect.status, answer.status].map(named_status);
        return Err(format!("status {expected} was expected, and {came} came\nbody: {}", shown(&body())));
    }
    let known = &known.of_answer(answer);
    head::check(&expect.head, answer, known).map_err(|problem| format!("{problem}\nbody: {}", shown(&body())))?;
    if expect.gzip && !content_encoding::is_gzip(answer) {
        return Err("Content-Encoding: gzip was expected".to_owned());
    }
    let body = &*content_encoding::decoded(answer)?;
    match &expect.body {
        Body::Any => Ok(()),
        Body::Bytes(bytes) if body == bytes => Ok(()),
        Body::Bytes(bytes) => Err(difference(&Masked::new([Piece::Text(bytes.clone())]), body, known)),
        Body::Masked(masked) if mask::fits(masked, body, known).is_ok() => Ok(()),
        Body::Masked(masked) => Err(difference(masked, body, known)),
        Body::JsonHtml { field, html } => {
            let json: serde_json::Value = serde_json::from_slice(body)
                .map_err(|error| format!("the body is not JSON ({error})\nbody: {}", shown(body)))?;
            let served = json.get(field).and_then(serde_json::Value::as_str);
            let served = served.ok_or_else(|| format!("the JSON has no text in `{field}`\nbody: {}", shown(body)))?;
            if html::same_meaning(served, html) {
                Ok(())
            } else {
                Err(format!("`{field}` does not mean {}\nbody: {}", shown(html.as_bytes()), shown(body)))
            }
        }
    }
}

/// The start of a body as text.
pub(crate) fn shown(body: &[u8]) -> String {
    if body.is_empty() {
        return "(empty)".to_owned();
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
    let more = if body.len() > SHOWN_BYTES { format!(" … ({} bytes)", body.len()) } else { String::new() };
    format!("{}{more}", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer { status, headers, body: body.to_vec() }
    }

    #[test]
    fn a_body_is_compared_without_its_coding_and_must_have_the_one_that_is_asked_for() {
        // printf hello | gzip -n
        let packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
        let gzip = [("Content-Encoding", "gzip")];
        for (asked, headers, body, problem) in [
            (true, &gzip[..], &packed[..], None),
            (false, &gzip, packed, None),
            (false, &[], b"hello", None),
            (true, &[], b"hello", Some("Content-Encoding: gzip was expected")),
            (false, &[], packed, Some("5 bytes were expected and 25 came; from byte 0 on")),
            (true, &gzip, b"hello, hello", Some("the body is not gzip-coded, as its head says (invalid gzip header)")),
            (true, &gzip, &packed[..20], Some("the body is not gzip-coded, as its head says (unexpected end of file)")),
        ] {
            let expect = Expectation {
                status: 200,
                body: Body::Bytes(b"hello".to_vec()),
                gzip: asked,
                head: Default::default(),
            };
            let came = check(&expect, &answer(200, headers, body), &Known::default()).err();
            assert_eq!(came.is_some(), problem.is_some(), "{asked} {headers:?}");
            assert!(came.unwrap_or_default().contains(problem.unwrap_or_default()), "{asked} {headers:?}");
        }
    }

    #[test]
    fn answers_are_compared_by_meaning() {
        let body = Body::JsonHtml { field: "result".into(), html: "<h1>h1</h1>\n".into() };
        let expect = Expectation { status: 200, body, gzip: false, head: Default::default() };
        for (status, body, problem) in [
            (200, r#"{"result":"<h1 id=\"h1\">h1</h1>"}"#, None),
            (200, "{\"result\":\"\\u003Ch1\\u003Eh1\\u003C\\/h1\\u003E\"}", None),
            (
                500,
                r#"{"result":"<h1>h1</h1>"}"#,
                Some("status 200 OK was expected, and 500 Internal Server Error came"),
            ),
            (200, r#"{"result":"<h2>h1</h2>"}"#, Some("`result` does not mean <h1>h1</h1>")),
            (200, r#"{"data":1}"#, Some("the JSON has no text in `result`")),
            (200, "<br>Fatal error", Some("the body is not JSON (expected value at line 1 column 1)")),
        ] {
            let came = check(&expect, &answer(status, &[], body.as_bytes()), &Known::default()).err();
            assert_eq!(came.as_ref().and_then(|came| came.lines().next()), problem, "{body}");
        }
    }

    #[test]
    fn a_visitor_is_known_by_one_more_cookie() {
        let request = |cookie: &[(&str, &str)]| Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: cookie.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: Vec::new(),
        };
        assert_ne!(visitor(7, 0), visitor(7, 1));
        for (before, after) in [
            (request(&[]), request(&[("Cookie", "stampede=me")])),
            (request(&[("cookie", "a=b")]), request(&[("cookie", "a=b; stampede=me")])),
        ] {
            assert_eq!(with_cookie(&before, "me"), after);
        }
    }

    #[test]
    fn what_another_visitor_sent_is_found_in_head_and_body() {
        let answer = |header: &str, body: &str| answer(200, &[("x-greeting", header)], body.as_bytes());
        for (header, body, found) in
            [("", "", false), ("for me", "", true), ("", "see me here", true), ("m", "e", false)]
        {
            assert_eq!(holds(&answer(header, body), "me"), found, "{header} {body}");
        }
    }
}
