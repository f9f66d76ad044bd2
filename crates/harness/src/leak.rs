//! Which request changed what another one answers: looked for on fresh deployments, one after the other.
//!
//! On the first the answer is asked for alone: what is wrong there varies by itself. On the second each of the requests before it is
//! sent, and the answer asked for after each; where that changes nothing, each is tried apart. Who is found out must do it again on two
//! more. Nothing else is called a leak.

use stampede_core::{Case, Exchange, Outcome, with_causes};
use stampede_seam::Running;

use crate::event::{Event, Sink, SinkError};
use crate::known::Known;
use crate::prepare::Prepared;
use crate::ready::{self, Front};
use crate::verify::{Failure, Sent, Verification, Verified, Visit, WrongAnswer, times};
use crate::visitor::Visitor;

const FIX: &str = Outcome::FIX;

/// So many of the requests before a wrong answer are suspected: the last ones.
const MOST_SUSPECTS: usize = 16;

/// So many of them are tried on a deployment of their own, where all of them on one change nothing: what a worker keeps of the first
/// request that it has is not changed by later ones.
const MOST_APART: usize = 8;

/// An answer must be right so many times as often alone as it is asked after another request. Whoever is found out has changed it on
/// three deployments. What varies by chance is right alone, and wrong on all three, in fewer than 1 of 400 cases however often it
/// varies.
const ALONE: u32 = 20;

/// So often a request that was found out must do it again.
const CONFIRMATIONS: usize = 2;

/// The setting with which workers keep an application, and the one with which it starts afresh for each request (FrankenPHP). That
/// each worker is replaced after one request is no remedy: RoadRunner answers few requests then, and Swoole resets connections.
const MODE: &str = "mode";
const KEPT: &str = "worker";
const AFRESH: &str = "classic";

impl Verification<'_> {
    /// Sends every exchange and checks its answer, then lets two visitors repeat all but those that are sent once, in mixed orders.
    ///
    /// # Errors
    ///
    /// When the sink cannot take an event. Within: the first wrong answer, with the exchange, what was expected and what came, in a
    /// few lines, and which request changed it, where another one did.
    pub(crate) async fn of(
        &self,
        running: &dyn Running,
        front: &Front,
        sink: &mut dyn Sink,
    ) -> Result<Result<Verified, String>, SinkError> {
        let known = &Known::of(running, &self.prepared.case);
        let visit = Visit { running, front, known, timeout: self.timeout, seed: self.seed };
        match self.verified(&visit).await {
            Ok(verified) => Ok(Ok(verified)),
            Err(Failure::Silent(problem)) => Ok(Err(problem)),
            Err(Failure::Wrong(wrong)) => Search::new(self, &wrong, sink).told().await.map(Err),
        }
    }
}

/// A search for the request that changed an answer.
pub(crate) struct Search<'a> {
    verification: &'a Verification<'a>,
    wrong: &'a WrongAnswer<'a>,
    /// How often the answer is asked for after other requests, and each of those before it.
    times: u32,
    sink: &'a mut dyn Sink,
    /// Deployments that were started so far.
    started: u32,
}

/// Why a search ended before its end.
enum Ended {
    Sink(SinkError),
    /// A deployment gave no answers.
    Failed(String),
}

impl From<SinkError> for Ended {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

impl From<String> for Ended {
    fn from(problem: String) -> Self {
        Self::Failed(problem)
    }
}

/// What was found of a wrong answer.
#[derive(Debug)]
enum Verdict<'a> {
    /// It is wrong from the start.
    Wrong,
    /// It is right at first, and wrong when nothing else is asked.
    Varies,
    /// Another request changes it, so: the exchange and the problem.
    Changed(&'a Exchange, String),
    /// It was wrong after these together, and right after the last of them.
    Together(Vec<&'a Exchange>),
    /// It was right alone and after each of the others.
    NotSeenAgain,
}

/// What is sent to a fresh deployment, and how often the answer that was wrong is asked for then.
struct Step<'a> {
    before: Vec<Sent<'a>>,
    times: u32,
}

/// Where an answer was wrong: after how many steps, at which of their answers, and how.
struct Found {
    step: usize,
    time: u32,
    problem: String,
}

impl<'a> Search<'a> {
    pub(crate) fn new(verification: &'a Verification<'a>, wrong: &'a WrongAnswer<'a>, sink: &'a mut dyn Sink) -> Self {
        Self { verification, wrong, times: times(verification.prepared), sink, started: 0 }
    }

    /// What is said of the wrong answer.
    ///
    /// # Errors
    ///
    /// When the sink cannot take an event.
    pub(crate) async fn told(mut self) -> Result<String, SinkError> {
        let wrong = self.wrong;
        if wrong.before.is_empty() && !wrong.was_right {
            return Ok(wrong.told());
        }
        match self.verdict().await {
            Ok(verdict) => Ok(self.explained(&verdict)),
            Err(Ended::Sink(error)) => Err(error),
            Err(Ended::Failed(problem)) => {
                Ok(format!("{}\nwhich request changed it could not be looked for: {problem}", self.told_with_order()))
            }
        }
    }

    /// What is said of it where a request was found that changes it.
    pub(crate) async fn changed(mut self) -> Option<String> {
        let verdict = self.verdict().await.ok()?;
        matches!(verdict, Verdict::Changed(..)).then(|| self.explained(&verdict))
    }

    async fn verdict(&mut self) -> Result<Verdict<'a>, Ended> {
        // What came last changed it most probably.
        let mut suspects: Vec<&Exchange> = self.wrong.before.iter().rev().copied().collect();
        let mut setup: Vec<&Exchange> = Vec::new();
        let alone = [self.alone(&[])];
        match self.first_wrong(&alone).await? {
            None => {}
            Some(Found { time: 0, .. }) => {
                // It may need what is sent once, before all that is repeated.
                (setup, suspects) = suspects.into_iter().partition(|exchange| exchange.once);
                setup.reverse();
                let alone = [self.alone(&setup)];
                if setup.is_empty() || self.first_wrong(&alone).await?.is_some() {
                    return Ok(Verdict::Wrong);
                }
            }
            Some(_) => return Ok(Verdict::Varies),
        }
        if suspects.is_empty() {
            return Ok(Verdict::NotSeenAgain);
        }
        suspects.truncate(MOST_SUSPECTS);
        let steps = self.after(&setup, &suspects);
        let found = self.first_wrong(&steps).await?;
        let is_of_all = found.is_some();
        let mut found = found.map(|found| (suspects[found.step], found.problem));
        let mut apart = suspects.iter().take(MOST_APART);
        while found.is_none()
            && let Some(suspect) = apart.next()
        {
            let steps = self.after(&setup, &[suspect]);
            let wrong = self.first_wrong(&steps).await?;
            found = wrong.map(|found| (*suspect, found.problem));
        }
        let Some((culprit, mut problem)) = found else { return Ok(Verdict::NotSeenAgain) };
        let steps = self.after(&setup, &[culprit]);
        for _ in 0..CONFIRMATIONS {
            match self.first_wrong(&steps).await? {
                Some(found) => problem = found.problem,
                None if is_of_all => {
                    let before = suspects.iter().take_while(|suspect| suspect.name != culprit.name);
                    return Ok(Verdict::Together(before.chain([&culprit]).copied().collect()));
                }
                None => return Ok(Verdict::NotSeenAgain),
            }
        }
        Ok(Verdict::Changed(culprit, problem))
    }

    /// Nothing else but what it needs.
    fn alone<'e>(&self, setup: &[&'e Exchange]) -> Step<'e> {
        Step { before: self.sent(setup), times: ALONE * self.times }
    }

    /// Each of these, after what it needs.
    fn after<'e>(&self, setup: &[&'e Exchange], exchanges: &[&'e Exchange]) -> Vec<Step<'e>> {
        let step = |exchange: &&'e Exchange| Step { before: self.sent(&[*exchange]), times: self.times };
        let mut steps: Vec<_> = exchanges.iter().map(step).collect();
        if let Some(first) = steps.first_mut() {
            first.before.splice(0..0, self.sent(setup));
        }
        steps
    }

    /// Exchanges as often and by whom they are sent before the wrong answer: by whoever had that, and where that is one of two
    /// visitors, by both in turn; the wrong one's own by the other visitor.
    fn sent<'e>(&self, exchanges: &[&'e Exchange]) -> Vec<Sent<'e>> {
        let wrong = self.wrong.sent;
        let by = |exchange: &Exchange| match wrong.visitor {
            Visitor::Nobody => vec![Visitor::Nobody],
            _ if exchange.once => vec![Visitor::Nobody],
            own if exchange.name == wrong.exchange.name => {
                Visitor::BOTH.into_iter().filter(|visitor| *visitor != own).collect()
            }
            _ => Visitor::BOTH.to_vec(),
        };
        let times = |exchange: &Exchange| if exchange.once { 1 } else { self.times };
        let sent = |exchange: &&'e Exchange| {
            let (exchange, visitors) = (*exchange, by(exchange));
            let all = (0..times(exchange)).flat_map(move |_| visitors.clone());
            all.map(move |visitor| Sent { exchange, visitor })
        };
        exchanges.iter().flat_map(sent).collect()
    }

    /// Takes these steps on a fresh deployment, until the answer is wrong.
    async fn first_wrong(&mut self, steps: &[Step<'_>]) -> Result<Option<Found>, Ended> {
        self.started += 1;
        let exchange = &self.wrong.sent.exchange.name;
        let Verification { platform, prepared: Prepared { case, deployment, terms, .. }, .. } = *self.verification;
        self.sink.take(&Event::Searching { case: &case.id, exchange, deployment: self.started }).await?;
        let running = platform.launch(deployment, terms).await.map_err(|error| with_causes(&error))?;
        let found = self.first_wrong_of(running.as_ref(), steps).await?;
        running.stop().await.map_err(|error| error.to_string())?;
        Ok(found)
    }

    async fn first_wrong_of(&self, running: &dyn Running, steps: &[Step<'_>]) -> Result<Option<Found>, String> {
        let Verification { prepared: Prepared { case, replicas, trust, .. }, timeout, seed, .. } = *self.verification;
        let wrong = self.wrong.sent;
        // What comes first is asked until it is answered; what is sent once may not be.
        let begins = steps.first().and_then(|step| step.before.first()).copied().unwrap_or(wrong);
        let first = if begins.exchange.once { wrong } else { begins };
        let request = &*first.visitor.sends(&first.exchange.request, seed);
        for endpoint in replicas.iter().filter_map(|id| running.endpoint(id)) {
            ready::wait(running, &Front::plain(endpoint, case), request, timeout).await?;
        }
        let front = &Front::of(running, case, trust.as_deref());
        let (_, answer) = ready::first_answer(running, front, request, timeout).await?;
        let known = &Known::of(running, case);
        let visit = Visit { running, front, known, timeout, seed };
        let is_asked_alone = steps.iter().all(|step| step.before.is_empty());
        let mut first_answer = is_asked_alone.then_some(answer);
        for (number, Step { before, times }) in steps.iter().enumerate() {
            for sent in before {
                visit.ask(*sent).await?;
            }
            for time in 0..*times {
                let answer = match first_answer.take() {
                    Some(answer) => answer,
                    None => visit.ask(wrong).await?,
                };
                if let Err(problem) = visit.check(wrong, &answer) {
                    return Ok(Some(Found { step: number, time, problem }));
                }
            }
        }
        Ok(None)
    }

    fn explained(&self, verdict: &Verdict<'_>) -> String {
        let Search { verification, wrong, times, .. } = self;
        let name = &wrong.sent.exchange.name;
        match verdict {
            Verdict::Wrong if wrong.was_right => format!(
                "{}\nwhich request changed it was not found: on a fresh deployment it is wrong alone, so it needs another one \
                 before it\n{FIX}if that one creates something, send it once: once: true",
                self.told_with_order()
            ),
            Verdict::Wrong => wrong.told(),
            Verdict::Varies => format!(
                "{}\nit varies by itself: on a fresh deployment it was right at first, and wrong when it alone was asked \
                 again\n{FIX}mask the part that varies (mask under expect); if it creates something, send it once: once: true",
                self.told_with_order()
            ),
            Verdict::Changed(culprit, problem) => {
                let by_whom = if culprit.name == *name { " to another visitor" } else { "" };
                format!(
                    "leaks state from one request into another: `{}` changes what `{name}` answers{by_whom}: {problem}\n\
                     seen on {} fresh deployments; on another one it was right {} times alone\n{}",
                    culprit.name,
                    1 + CONFIRMATIONS,
                    ALONE * times,
                    fixes(&verification.prepared.case, culprit).join("\n")
                )
            }
            Verdict::Together(exchanges) => {
                let names: Vec<_> = exchanges.iter().map(|exchange| format!("`{}`", exchange.name)).collect();
                let last = names.last().map(String::as_str).unwrap_or_default();
                format!(
                    "{}\nwhich request changed it was not found: on fresh deployments it was right alone, wrong after {}, and \
                     right after {last} alone",
                    self.told_with_order(),
                    names.join(", "),
                )
            }
            Verdict::NotSeenAgain => format!(
                "{}\nwhich request changed it was not found: on fresh deployments it was right {} times alone and {times} times \
                 after each of the others; it varies by itself now and then, or is changed by several requests together",
                self.told_with_order(),
                ALONE * times,
            ),
        }
    }

    /// The wrong answer, and what was sent before it where it had been right.
    fn told_with_order(&self) -> String {
        let told = self.wrong.told();
        match self.wrong.before.last() {
            Some(last) if self.wrong.was_right => {
                format!("{told}\nit was right at first; the last request before it: `{}`", last.name)
            }
            _ if self.wrong.was_right => format!("{told}\nit was right at first"),
            _ => told,
        }
    }
}

/// What mends a leak.
fn fixes(case: &Case, culprit: &Exchange) -> Vec<String> {
    let mut fixes = vec![
        "reset at the end of each request what it keeps: static properties, $_SESSION, ini_set(), setlocale(), the current \
         user, a cache"
            .to_owned(),
    ];
    if case.tuning.get(MODE) == Some(KEPT) {
        fixes.push(format!("start PHP afresh for each request: --set {}.{MODE}={AFRESH}", case.runtime));
    }
    if !culprit.once {
        fixes.push(format!("if `{}` is meant to change it, send it once: once: true", culprit.name));
    }
    fixes.into_iter().map(|fix| format!("{FIX}{fix}")).collect()
}
