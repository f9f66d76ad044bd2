//! Same answers first: every expected answer is checked before anything is timed, and again by two visitors in mixed orders,
//! so that what a worker keeps of one request is seen in the answer to another.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use stampede_core::{Answer, Body, Exchange, Expectation, Masked, Piece, Role, ServedAnswer, Workload, named_status};
use stampede_seam::{BodyCheck, Check, LoadExchange, Platform, Running, Statuses};

use crate::difference::{difference, is_reordered};
use crate::known::Known;
use crate::mask::UnderLoad;
use crate::order::order;
use crate::prepare::Prepared;
use crate::ready::{Front, NOT_YET, send};
use crate::sessions::Sessions;
use crate::visitor::Visitor;
use crate::{content_encoding, head, html, mask};

/// So many orders there are. Each later deployment of a case has one of them.
const PASSES: u32 = 8;

/// Up to this deployment (0 is a pilot's) leaks are looked for in several orders: a case that fails so in its first two rounds is
/// left out of the rest.
const THOROUGH: u32 = 2;

/// The most requests of all orders of one deployment, where one order does not take more: a second or two of an application that
/// takes 10 ms for each.
const MOST_REQUESTS: usize = 200;

/// The largest pool of which every worker is asked. A leak is seen when one worker has both requests in the right order. In R orders
/// two visitors send each 2 R times, so that W workers are expected to have them so 2 R^2 / W times: more than 2 W times where R is
/// W + 1, and for certain where there is one worker.
const MOST_WORKERS: u32 = 8;

/// The workers of a pool of which nothing is known: an application that brings its own server.
const UNKNOWN_WORKERS: u32 = 4;

/// What is said of an answer that differs from itself.
pub(crate) const VARIES: &str =
    "\nasked again, it answers otherwise: mask the part that varies (`mask` under `expect`)";

/// How much of a wrong body is shown.
const SHOWN_BYTES: usize = 400;

/// How the deployments of a case are verified.
pub(crate) struct Verification<'a> {
    pub(crate) platform: &'a dyn Platform,
    pub(crate) prepared: &'a Prepared,
    pub(crate) workload: &'a Workload,
    /// Longest wait for one answer, and for the first one.
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
    /// The number of the case's deployment, from 1; 0 for a pilot.
    pub(crate) lifetime: u32,
}

/// What was verified, and what the load must get.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) answers: Vec<ServedAnswer>,
    /// The load's requests with the very bytes that were found right here, so that each answer under load can be
    /// checked at full speed.
    pub(crate) load: Vec<LoadExchange>,
}

/// One request, and who sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) visitor: Visitor,
}

/// An answer that was not as it must be.
pub(crate) struct WrongAnswer<'a> {
    pub(crate) sent: Sent<'a>,
    /// In a few lines.
    pub(crate) problem: String,
    /// What was sent to the deployment before it, the last one last, each exchange once.
    pub(crate) before: Vec<&'a Exchange>,
    /// Whether the deployment had answered rightly earlier.
    pub(crate) was_right: bool,
    /// Whether the next answer was yet another one.
    pub(crate) varied: bool,
}

impl WrongAnswer<'_> {
    /// What is said of it where no request is known that changed it.
    pub(crate) fn told(&self) -> String {
        let varied = if self.varied { VARIES } else { "" };
        format!("gave a wrong answer to `{}`: {}{varied}", self.sent.exchange.name, self.problem)
    }
}

/// Why a deployment is not verified.
pub(crate) enum Failure<'a> {
    /// It gave no answer.
    Silent(String),
    Wrong(WrongAnswer<'a>),
}

impl<'a> Verification<'a> {
    /// Sends every exchange once, in order, and checks its answer.
    ///
    /// # Errors
    ///
    /// The first wrong answer, in a few lines.
    pub(crate) async fn once(&self, visit: &Visit<'_>) -> Result<(), String> {
        match self.in_order(visit, &mut Sessions::default()).await {
            Ok(_) => Ok(()),
            Err(Failure::Silent(problem)) => Err(problem),
            Err(Failure::Wrong(wrong)) => Err(wrong.told()),
        }
    }

    pub(crate) async fn verified(&self, visit: &Visit<'_>) -> Result<Verified, Failure<'a>> {
        let mut sessions = Sessions::default();
        let (mut verified, history) = self.in_order(visit, &mut sessions).await?;
        self.look_for_leaks(visit, history, &mut sessions).await?;
        if !self.workload.cookies {
            sessions.tell(visit.running, &mut verified.answers).await;
        }
        Ok(verified)
    }

    /// What came to every exchange, sent in order, and who was asked.
    async fn in_order(
        &self,
        visit: &Visit<'_>,
        sessions: &mut Sessions,
    ) -> Result<(Verified, Vec<Sent<'a>>), Failure<'a>> {
        let exchanges = &self.workload.exchanges;
        let first = self.workload.first_request();
        let mut history: Vec<Sent<'a>> = Vec::new();
        // It was asked until it was answered.
        history.extend(exchanges.iter().filter(|exchange| Some(&exchange.request) == first).take(1).map(by_nobody));
        let mut verified = Verified::default();
        for exchange in exchanges {
            let Exchange { name, request, expect, weight, once, optional: _ } = exchange;
            let sent = by_nobody(exchange);
            let answer = visit.ask(sent).await.map_err(Failure::Silent)?;
            if let Err(problem) = visit.check(sent, &answer) {
                // What has another status failed, and may do more harm when it is asked again.
                let again = match answer.status == expect.status && !once {
                    true => visit.ask(sent).await.ok(),
                    false => None,
                };
                // What cannot be asked again, or not before the application is there, is looked for no cause of.
                let before = match *once || NOT_YET.contains(&answer.status) {
                    true => Vec::new(),
                    false => suspects(&history, sent),
                };
                let varied = again.is_some_and(|again| again.body != answer.body);
                return Err(Failure::Wrong(WrongAnswer { sent, problem, before, was_right: false, varied }));
            }
            history.push(sent);
            sessions.answered(name, &answer);
            verified.answers.push(ServedAnswer {
                exchange: name.clone(),
                status: answer.status,
                body_bytes: answer.body.len() as u64,
                new_session: None,
            });
            if let Some(weight) = NonZeroU32::new(*weight) {
                let body = match mask::under_load(&expect.body) {
                    UnderLoad::Whole => vec![BodyCheck::Equals(answer.body)],
                    // Parts are not to be seen in what is coded.
                    UnderLoad::Part(_) if content_encoding::is_gzip(&answer) => Vec::new(),
                    UnderLoad::Part(part) => vec![BodyCheck::Contains(part.to_owned())],
                    UnderLoad::StatusOnly => Vec::new(),
                };
                let check = Check::new(Statuses::only(answer.status), body);
                verified.load.push(LoadExchange { request: request.clone(), check, weight });
            }
        }
        Ok((verified, history))
    }

    /// Two visitors send every exchange, all of them in one mixed order; in several such orders where the deployment is one of the
    /// first. An answer must be what it was for nobody, and may not hold what the other visitor sent.
    async fn look_for_leaks(
        &self,
        visit: &Visit<'_>,
        mut history: Vec<Sent<'a>>,
        sessions: &mut Sessions,
    ) -> Result<(), Failure<'a>> {
        let repeated: Vec<_> = self.workload.exchanges.iter().filter(|exchange| !exchange.once).collect();
        let by_both = |exchange: &'a Exchange| Visitor::BOTH.map(|visitor| Sent { exchange, visitor });
        let all: Vec<Sent<'a>> = repeated.into_iter().flat_map(by_both).collect();
        let orders = if self.lifetime <= THOROUGH { orders(all.len(), times(self.prepared)) } else { 1 };
        for number in 0..orders {
            for index in order(self.seed, (self.lifetime + number) % PASSES, all.len()) {
                let sent = all[index];
                let answer = visit.ask(sent).await.map_err(Failure::Silent)?;
                if let Err(problem) = visit.check(sent, &answer) {
                    let before = suspects(&history, sent);
                    return Err(Failure::Wrong(WrongAnswer { sent, problem, before, was_right: true, varied: false }));
                }
                sessions.answered(&sent.exchange.name, &answer);
                history.push(sent);
            }
        }
        Ok(())
    }
}

fn by_nobody(exchange: &Exchange) -> Sent<'_> {
    Sent { exchange, visitor: Visitor::Nobody }
}

/// What may have changed an answer: what others asked, or the same visitor of another page. The last one last, each exchange once.
fn suspects<'a>(history: &[Sent<'a>], wrong: Sent<'a>) -> Vec<&'a Exchange> {
    let is_same = |a: &Exchange, b: &Exchange| a.name == b.name;
    let is_suspect = |sent: &&Sent<'a>| {
        !is_same(sent.exchange, wrong.exchange) || (sent.visitor != Visitor::Nobody && sent.visitor != wrong.visitor)
    };
    let mut suspects: Vec<&Exchange> = Vec::new();
    for sent in history.iter().rev().filter(is_suspect) {
        if suspects.iter().all(|known| !is_same(known, sent.exchange)) {
            suspects.push(sent.exchange);
        }
    }
    suspects.reverse();
    suspects
}

/// How often a request is sent so that every worker of a small pool has it: once more than there are workers. Where they take turns
/// each has it; where one is chosen by chance, those that have it and those that are asked afterwards are one nearly always.
pub(crate) fn times(Prepared { case, replicas, .. }: &Prepared) -> u32 {
    let pools = case.tuning.of_role(Role::PoolSize).filter_map(|(_, value)| value.parse::<u32>().ok());
    1 + (pools.max().unwrap_or(UNKNOWN_WORKERS).saturating_mul(replicas.len().max(1) as u32)).clamp(1, MOST_WORKERS)
}

/// How many orders of so many requests, of these that are wanted.
fn orders(requests: usize, wanted: u32) -> u32 {
    let fit = MOST_REQUESTS.checked_div(requests).unwrap_or_default();
    wanted.min(fit as u32).max(1)
}

/// A deployment that is asked, and how long one answer may take.
pub(crate) struct Visit<'a> {
    pub(crate) running: &'a dyn Running,
    pub(crate) front: &'a Front,
    pub(crate) known: &'a Known,
    pub(crate) timeout: Duration,
    pub(crate) seed: u64,
}

impl Visit<'_> {
    /// Sends one exchange; ends with an error when the deployment does.
    pub(crate) async fn ask(&self, Sent { exchange, visitor }: Sent<'_>) -> Result<Answer, String> {
        let Exchange { name, request, .. } = exchange;
        let request = &*visitor.sends(request, self.seed);
        tokio::select! {
            answer = send(self.running.vantage().as_ref(), self.front, request, self.timeout) => {
                answer.map_err(|error| format!("gave no answer to `{name}`: {error}"))
            }
            exit = self.running.exited() => Err(format!("{} ended with {} at `{name}`", exit.unit, exit.how)),
        }
    }

    /// Whether what comes to an exchange is what must come, in another order.
    pub(crate) async fn is_reordered(&self, exchange: &Exchange) -> Result<bool, String> {
        let answer = self.ask(by_nobody(exchange)).await?;
        let Ok(body) = content_encoding::decoded(&answer) else { return Ok(false) };
        let expected = match &exchange.expect.body {
            Body::Bytes(bytes) => Masked::new([Piece::Text(bytes.clone())]),
            Body::Masked(masked) => masked.clone(),
            Body::Any | Body::JsonHtml { .. } => return Ok(false),
        };
        Ok(answer.status == exchange.expect.status && is_reordered(&expected, &body, &self.known.of_answer(&answer)))
    }

    /// Whether an answer is as it must be, and for nobody else.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in a few lines.
    pub(crate) fn check(&self, Sent { exchange, visitor }: Sent<'_>, answer: &Answer) -> Result<(), String> {
        check(&exchange.expect, answer, self.known)?;
        match visitor.sees_the_other(answer, self.seed) {
            true => Err("it holds the cookie of another visitor".to_owned()),
            false => Ok(()),
        }
    }
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
    use stampede_core::{Terms, Tunable, TunableKind};
    use stampede_testkit::samples;

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
    fn what_may_have_changed_an_answer_is_what_others_asked() {
        let [home, cart, shop] = ["home", "cart", "shop"].map(|name| samples::exchange(name, "/"));
        let [nobody, first, second] = [Visitor::Nobody, Visitor::Known(0), Visitor::Known(1)];
        let sent = |exchange, visitor| Sent { exchange, visitor };
        for (history, wrong, names) in [
            (vec![], sent(&home, nobody), vec![]),
            (vec![sent(&home, nobody)], sent(&home, nobody), vec![]),
            (vec![sent(&home, nobody), sent(&cart, nobody)], sent(&shop, nobody), vec!["home", "cart"]),
            (vec![sent(&home, nobody), sent(&home, first)], sent(&home, first), vec![]),
            (vec![sent(&home, nobody), sent(&home, first)], sent(&home, second), vec!["home"]),
            (
                vec![sent(&cart, nobody), sent(&shop, first), sent(&home, first), sent(&cart, second)],
                sent(&home, first),
                vec!["shop", "cart"],
            ),
        ] {
            let found: Vec<_> = suspects(&history, wrong).iter().map(|exchange| exchange.name.as_str()).collect();
            assert_eq!(found, names);
        }
    }

    #[test]
    fn every_worker_of_a_small_pool_is_asked_and_two_hundred_requests_are_enough() {
        for (requests, wanted, expected) in
            [(0, 5, 1), (2, 2, 2), (2, 5, 5), (20, 9, 9), (40, 9, 5), (100, 9, 2), (500, 9, 1)]
        {
            assert_eq!(orders(requests, wanted), expected, "{requests} {wanted}");
        }
        let prepared = |setting: &str, role| {
            let tunable = Tunable { name: "workers", role, kind: TunableKind::Choice(&[]), summary: "", manual: "" };
            let mut case = samples::case("a");
            case.tuning = case.tuning.with_default("workers", setting, "").with_roles(&[tunable]);
            Prepared::alone(case, samples::deployment("a"), Terms::of(samples::LIMITS))
        };
        for (setting, role, expected) in [
            ("2", Role::PoolSize, 3),
            ("65", Role::PoolSize, 1 + MOST_WORKERS),
            ("auto", Role::PoolSize, 1 + UNKNOWN_WORKERS),
            ("2", Role::Backlog, 1 + UNKNOWN_WORKERS),
        ] {
            assert_eq!(times(&prepared(setting, role)), expected, "{setting}");
        }
    }
}
