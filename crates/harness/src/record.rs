//! Expected answers, taken from the application itself.
//!
//! Each request is sent several times to two fresh deployments of one case, to each but once where it says so. What differs
//! between the answers varies by itself and is masked by what it looks like; the rest is what every other case must give.

use std::borrow::Cow;
use std::time::Duration;

use stampede_core::{
    Answer, Body, Exchange, Expectation, ExpectedHead, Masked, Piece, Request, Workload, named_status,
};
use stampede_seam::{Moment, Platform, Running, StopError};
use thiserror::Error;

use crate::difference::difference;
use crate::event::Sink;
use crate::head;
use crate::known::Known;
use crate::leak::Search;
use crate::mask::{Learnt, Sample, fits, learn};
use crate::page::{self, Redirect};
use crate::prepare::Prepared;
use crate::ready::{self, Front};
use crate::trial::{explain, unlaunched};
use crate::verify::{Sent, Verification, WrongAnswer, shown};
use crate::visitor::Visitor;
use crate::{content_encoding, php};

/// How often each deployment is asked.
const TIMES: usize = 3;

/// Answers that hold the time to the second differ when they are this far apart.
const APART: Duration = Duration::from_millis(1100);

/// How often a request may be sent on before its page is there: browsers allow 20, and sites use one or two.
const MOST_REDIRECTS: usize = 5;

/// What came to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The exchange's name.
    pub exchange: String,
    /// What was sent: the page that the exchange's own request is sent on to, where it is.
    pub request: Request,
    /// What must come from now on.
    pub expect: Expectation,
    /// The answer's `Content-Type`, where it has one.
    pub content_type: Option<String>,
    /// Bytes of the first answer's body.
    pub bytes: usize,
    /// Those of them that are masked because they vary by themselves.
    pub masked: usize,
}

/// What came to one request so far.
#[derive(Default)]
struct Samples {
    /// The head of the first answer.
    first: Option<(u16, ExpectedHead, Option<String>)>,
    bodies: Vec<Sample>,
}

/// Which answers are recorded, and how.
#[derive(Clone, Copy, Debug)]
pub struct Recordable<'a> {
    /// The names of the exchanges.
    pub names: &'a [String],
    /// Whether workers keep the application from one request to the next.
    pub is_kept: bool,
    /// Whether an exchange whose answer cannot be recorded is left out, unless that holds for all of them.
    pub may_be_left_out: bool,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The answers.
    pub recorded: Vec<Recorded>,
    /// The names of exchanges that are left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// Records what a case answers to these exchanges. A page that sends on to another one of the same site is followed,
/// and that one is recorded.
///
/// Where workers keep the application, the second deployment is asked in another order, so that what one request leaves
/// behind for another is not taken for the right answer. The sink takes [`Event::Searching`](crate::Event::Searching) where such a request is looked for.
///
/// # Errors
///
/// When the case cannot be started, does not answer, answers with what is no page (an error, a login, another origin, nothing),
/// varies in what is no time, token or the like, or leaks state from one request into another.
pub async fn record(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    Recordable { names, is_kept, may_be_left_out }: Recordable<'_>,
    ready_timeout: Duration,
    sink: &mut dyn Sink,
) -> Result<Recording, RecordError> {
    let exchanges = workload.exchanges.iter().filter(|exchange| names.contains(&exchange.name));
    let mut exchanges: Vec<Exchange> = exchanges.cloned().collect();
    let no_load = || RecordError::Answer { problem: "there is no request for the load".to_owned() };
    let first = &workload.load_mix().next().ok_or_else(no_load)?.request;
    let mut samples: Vec<Samples> = exchanges.iter().map(|_| Samples::default()).collect();
    let mut left_out = Vec::new();
    let mut begun = None;
    for launch in 0..2 {
        let running = platform.launch(&prepared.deployment, &prepared.terms).await;
        let running = running.map_err(|error| RecordError::Launch { problem: unlaunched(&prepared.case, &error) })?;
        let asking = Asking::new(running.as_ref(), prepared, ready_timeout);
        let is_backwards = is_kept && launch > 0;
        let asked = async {
            let known = asking.ready(first, &mut begun).await?;
            if launch == 0 {
                let mut followed = Vec::with_capacity(exchanges.len());
                for mut exchange in std::mem::take(&mut exchanges) {
                    match asking.follow(&mut exchange, &known).await {
                        Ok(()) => followed.push(exchange),
                        Err(problem) if may_be_left_out => left_out.push((exchange.name, problem)),
                        Err(problem) => return Err(problem),
                    }
                }
                exchanges = followed;
                samples.truncate(exchanges.len());
                if let ([], [(_, problem), ..]) = (&exchanges[..], &left_out[..]) {
                    return Err(problem.clone());
                }
            }
            asking
                .sample(&exchanges, &order(&exchanges, is_backwards), &known, &mut samples)
                .await
                .map_err(|problem| if is_backwards { format!("{problem}\n{BACKWARDS}") } else { problem })
        };
        if let Err(problem) = asked.await {
            let problem = explain(running.as_ref(), &prepared.case, &problem).await;
            return Err(RecordError::Answer { problem });
        }
        running.stop().await?;
    }
    let verification = Verification { platform, prepared, workload, timeout: ready_timeout, seed: 0, lifetime: 0 };
    let mut recorded = Vec::new();
    for (number, (exchange, samples)) in exchanges.iter().zip(&samples).enumerate() {
        let Exchange { name, request, .. } = exchange;
        let Learnt { body, masked } = match learn(&samples.bodies) {
            Ok(learnt) => learnt,
            Err(problem) => {
                let leak = match is_kept && !exchange.once {
                    true => leak(&verification, &exchanges, number, samples, sink).await,
                    false => None,
                };
                let problem = leak.unwrap_or_else(|| format!("{} {problem}", line(request)));
                if !may_be_left_out {
                    return Err(RecordError::Answer { problem });
                }
                left_out.push((name.clone(), problem));
                continue;
            }
        };
        let (status, head, content_type) = samples.first.clone().unwrap_or_default();
        let bytes = samples.bodies.first().map_or(0, |sample| sample.body.len());
        let expect = Expectation { status, body, gzip: false, head };
        let request = request.clone();
        recorded.push(Recorded { exchange: name.clone(), request, expect, content_type, bytes, masked });
    }
    match (&recorded[..], left_out.pop()) {
        ([], Some((_, problem))) => Err(RecordError::Answer { problem }),
        (_, last) => {
            left_out.extend(last);
            Ok(Recording { recorded, left_out })
        }
    }
}

/// What is said of what came in another order.
const BACKWARDS: &str = "this deployment was asked in another order than the one before, where it was answered; workers keep the \
                         application here, so one request may leave something behind for another";

/// The exchanges in their order or, between those that are sent once, backwards: what these make must be there for what follows.
fn order(exchanges: &[Exchange], is_backwards: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..exchanges.len()).collect();
    if is_backwards {
        let between = order.split_mut(|number| exchanges[*number].once);
        between.for_each(<[usize]>::reverse);
    }
    order
}

/// What is said of an exchange whose answer another one changes. What is right is what a fresh deployment answers that is asked
/// nothing else, but for what is sent once.
async fn leak(
    verification: &Verification<'_>,
    exchanges: &[Exchange],
    number: usize,
    Samples { first, bodies }: &Samples,
    sink: &mut dyn Sink,
) -> Option<String> {
    let (status, head, _) = first.clone()?;
    let Verification { platform, prepared, timeout, .. } = *verification;
    let Learnt { body, masked: _ } = learn(&alone(platform, prepared, exchanges, number, timeout).await.ok()?).ok()?;
    let expected = match &body {
        Body::Masked(masked) => masked.clone(),
        Body::Bytes(bytes) => Masked::new([Piece::Text(bytes.clone())]),
        Body::Any | Body::JsonHtml { .. } => return None,
    };
    let other = bodies.iter().find(|sample| fits(&expected, &sample.body, &sample.known).is_err())?;
    let mut exchange = exchanges[number].clone();
    exchange.expect = Expectation { status, body, gzip: false, head };
    let wrong = WrongAnswer {
        sent: Sent { exchange: &exchange, visitor: Visitor::Nobody },
        problem: difference(&expected, &other.body, &other.known),
        before: exchanges.iter().filter(|other| other.name != exchange.name).collect(),
        was_right: true,
        varied: false,
    };
    let told = Search::new(verification, &wrong, sink).changed().await?;
    Some(format!("the application {told}"))
}

/// What a fresh deployment answers to an exchange, after those that are sent once.
async fn alone(
    platform: &dyn Platform,
    prepared: &Prepared,
    exchanges: &[Exchange],
    number: usize,
    timeout: Duration,
) -> Result<Vec<Sample>, String> {
    let exchange = &exchanges[number];
    let running = platform.launch(&prepared.deployment, &prepared.terms).await;
    let running = running.map_err(|error| unlaunched(&prepared.case, &error))?;
    let asking = Asking::new(running.as_ref(), prepared, timeout);
    let known = asking.ready(&exchange.request, &mut None).await?;
    for once in exchanges.iter().filter(|exchange| exchange.once) {
        asking.send(&once.name, &once.request).await?;
    }
    let mut samples = Vec::new();
    for time in 0..TIMES {
        if time > 0 {
            let vantage = running.vantage();
            vantage.sleep_until(vantage.now() + APART).await;
        }
        let answer = asking.send(&exchange.name, &exchange.request).await?;
        let known = known.of_answer(&answer);
        samples.push(Sample { body: content_encoding::decoded(&answer)?.into_owned(), known });
    }
    running.stop().await.map_err(|error| error.to_string())?;
    Ok(samples)
}

/// The body of an answer that is a page.
fn page_of<'a>(exchange: &Exchange, answer: &'a Answer) -> Result<Cow<'a, [u8]>, String> {
    let line = line(&exchange.request);
    let body = content_encoding::decoded(answer).map_err(|problem| format!("{line} has a wrong answer: {problem}"))?;
    match page::refusal(&exchange.request, answer, &body) {
        Some(problem) => Err(format!("{line} {problem}\nbody: {}", shown(&body))),
        None => Ok(body),
    }
}

/// A deployment that is asked.
pub(crate) struct Asking<'a> {
    running: &'a dyn Running,
    prepared: &'a Prepared,
    front: Front,
    timeout: Duration,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(running: &'a dyn Running, prepared: &'a Prepared, timeout: Duration) -> Self {
        let front = Front::of(running, &prepared.case, prepared.trust.as_deref());
        Self { running, prepared, front, timeout }
    }

    /// Waits until it answers, and until those of the second deployment are far enough from the first. Returns what is known of it.
    pub(crate) async fn ready(&self, first: &Request, begun: &mut Option<Moment>) -> Result<Known, String> {
        let vantage = self.running.vantage();
        ready::wait(self.running, &self.front, first, self.timeout).await?;
        match *begun {
            Some(begun) => vantage.sleep_until(begun + APART).await,
            None => *begun = Some(vantage.now()),
        }
        let mut known = Known::of(self.running, &self.prepared.case);
        if let Some(probe) = &self.prepared.deployment.probe {
            let told = php::read_back(self.running, probe).await;
            known.sapi = told.ok().map(|php| php.sapi).filter(|sapi| !sapi.is_empty());
        }
        Ok(known)
    }

    /// The name that it is asked by.
    pub(crate) fn host(&self) -> String {
        self.front.host()
    }

    pub(crate) async fn send(&self, name: &str, request: &Request) -> Result<Answer, String> {
        tokio::select! {
            answer = ready::send(self.running.vantage().as_ref(), &self.front, request, self.timeout) => {
                answer.map_err(|error| format!("no answer came to `{name}`: {error}"))
            }
            exit = self.running.exited() => Err(format!("{} ended with {} at `{name}`", exit.unit, exit.how)),
        }
    }

    /// Makes the request one for the page that it is sent on to, where it may be sent more than once; what comes must be a page.
    async fn follow(&self, exchange: &mut Exchange, known: &Known) -> Result<(), String> {
        if exchange.once {
            return Ok(());
        }
        let line = line(&exchange.request);
        for _ in 0..MOST_REDIRECTS {
            let answer = self.send(&exchange.name, &exchange.request).await?;
            match page::redirect(&exchange.request, &answer, known) {
                None => return page_of(exchange, &answer).map(drop),
                Some(Redirect::Within(path)) => exchange.request.path = path,
                Some(Redirect::Away(problem)) => return Err(format!("{line} {problem}")),
            }
        }
        Err(format!("{line} is redirected more than {MOST_REDIRECTS} times; request the page that it leads to"))
    }

    /// Asks everything in this order, several times.
    async fn sample(
        &self,
        exchanges: &[Exchange],
        order: &[usize],
        known: &Known,
        samples: &mut [Samples],
    ) -> Result<(), String> {
        for time in 0..TIMES {
            for number in order.iter().filter(|number| time == 0 || !exchanges[**number].once) {
                let (exchange, samples) = (&exchanges[*number], &mut samples[*number]);
                let answer = self.send(&exchange.name, &exchange.request).await?;
                let line = line(&exchange.request);
                let body = page_of(exchange, &answer)?;
                let known = known.of_answer(&answer);
                match &samples.first {
                    None => {
                        let content_type = answer.header("content-type").map(str::to_owned);
                        samples.first = Some((answer.status, head::expected(&answer, &known), content_type));
                    }
                    Some((status, ..)) if *status != answer.status => {
                        let [once, then] = [*status, answer.status].map(named_status);
                        return Err(format!("{line} is answered once with {once} and then with {then}"));
                    }
                    Some((_, expected, _)) => {
                        let same = head::check(expected, &answer, &known);
                        same.map_err(|problem| format!("{line} is answered with a head that varies: {problem}"))?;
                    }
                }
                samples.bodies.push(Sample { body: body.into_owned(), known });
            }
        }
        Ok(())
    }
}

fn line(Request { method, path, .. }: &Request) -> String {
    format!("{method} {path}")
}

impl Recorded {
    /// Puts what was recorded into its workload: the answer that is expected and, where the page is another one, its request. An
    /// exchange that was named by its request is named by that then. Returns the name.
    pub fn complete(&self, workload: &mut Workload) -> String {
        let line = line(&self.request);
        let is_taken = workload.exchanges.iter().any(|known| known.name == line);
        let mut name = self.exchange.clone();
        for known in workload.exchanges.iter_mut().filter(|known| known.name == self.exchange) {
            if known.name == self::line(&known.request) && !is_taken {
                known.name.clone_from(&line);
                name.clone_from(&line);
            }
            known.request.clone_from(&self.request);
            known.expect.clone_from(&self.expect);
        }
        name
    }

    /// The expected body as text of one piece, with a mark in place of each part that varies, and the mark; no mark where
    /// nothing varies.
    pub fn marked(&self) -> (Vec<u8>, Option<String>) {
        match &self.expect.body {
            Body::Masked(masked) => {
                let (body, mask) = masked.written();
                (body, Some(mask))
            }
            Body::Bytes(bytes) => (bytes.clone(), None),
            Body::Any | Body::JsonHtml { .. } => (Vec::new(), None),
        }
    }
}

/// Why no answers could be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The deployment could not be started.
    #[error("{problem}")]
    Launch {
        /// Why, with the end of its log.
        problem: String,
    },
    /// There is no answer, or none that can be expected of others.
    #[error("{problem}")]
    Answer {
        /// What happened, with the ends of the logs.
        problem: String,
    },
    /// The deployment could not be stopped.
    #[error(transparent)]
    Stop(#[from] StopError),
}
