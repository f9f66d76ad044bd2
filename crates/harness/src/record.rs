//! Expected answers, taken from the application itself.
//!
//! Each request is sent several times to two fresh deployments of one case, to each but once where it says so. What differs
//! between the answers varies by itself and is masked; the rest is what every other case must give.

use std::time::Duration;

use stampede_core::{Body, Exchange, Expectation, Workload};
use stampede_seam::{Moment, Platform, Running, StopError};
use thiserror::Error;

use crate::content_encoding;
use crate::mask::{SHOWN, common_parts};
use crate::prepare::Prepared;
use crate::ready::{self, Front};
use crate::trial::{explain, unlaunched};
use crate::verify::shown;

/// How often each deployment is asked.
const TIMES: usize = 3;

/// Answers that hold the time to the second differ when they are this far apart.
const APART: Duration = Duration::from_millis(1100);

/// What came to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The exchange's name.
    pub exchange: String,
    /// What must come from now on.
    pub expect: Expectation,
    /// The answer's `Content-Type`, where it has one.
    pub content_type: Option<String>,
    /// Bytes of the first answer's body.
    pub bytes: usize,
}

#[derive(Default)]
struct Samples {
    status: u16,
    content_type: Option<String>,
    bodies: Vec<Vec<u8>>,
}

/// Records what a case answers to the exchanges of these names.
///
/// # Errors
///
/// When the case cannot be started, does not answer, answers with an error of the server (a status from 500), or with
/// different statuses.
pub async fn record(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    names: &[String],
    ready_timeout: Duration,
) -> Result<Vec<Recorded>, RecordError> {
    let exchanges: Vec<_> = workload.exchanges.iter().filter(|exchange| names.contains(&exchange.name)).collect();
    let no_load = || RecordError::Answer { problem: "there is no request for the load".to_owned() };
    let first = workload.load_mix().next().ok_or_else(no_load)?;
    let mut samples: Vec<Samples> = exchanges.iter().map(|_| Samples::default()).collect();
    let mut begun = None;
    for _ in 0..2 {
        let running = platform.launch(&prepared.deployment, &prepared.terms).await;
        let running = running.map_err(|error| RecordError::Launch { problem: unlaunched(&prepared.case, &error) })?;
        let asked = ask(running.as_ref(), prepared, (first, &exchanges), ready_timeout, &mut begun, &mut samples).await;
        if let Err(problem) = asked {
            return Err(RecordError::Answer { problem: explain(running.as_ref(), &prepared.case, &problem) });
        }
        running.stop().await?;
    }
    let expected = |(exchange, samples): (&&Exchange, Samples)| {
        let Samples { status, content_type, bodies } = samples;
        let bytes = bodies.first().map_or(0, Vec::len);
        let mut parts = common_parts(&bodies);
        let body = if parts.len() > 1 { Body::Masked(parts) } else { Body::Bytes(parts.pop().unwrap_or_default()) };
        let expect = Expectation { status, body, gzip: false };
        Recorded { exchange: exchange.name.clone(), expect, content_type, bytes }
    };
    Ok(exchanges.iter().zip(samples).map(expected).collect())
}

/// Asks one deployment everything, several times.
async fn ask(
    running: &dyn Running,
    prepared: &Prepared,
    (first, exchanges): (&Exchange, &[&Exchange]),
    ready_timeout: Duration,
    begun: &mut Option<Moment>,
    samples: &mut [Samples],
) -> Result<(), String> {
    let front = Front::of(running, prepared.trust.as_deref());
    let vantage = running.vantage();
    ready::wait(running, &front, &first.request, ready_timeout).await?;
    match *begun {
        Some(begun) => vantage.sleep_until(begun + APART).await,
        None => *begun = Some(vantage.now()),
    }
    for time in 0..TIMES {
        let asked = exchanges.iter().zip(&mut *samples).filter(|(exchange, _)| time == 0 || !exchange.once);
        for (exchange, samples) in asked {
            let Exchange { name, request, .. } = exchange;
            let answer = tokio::select! {
                answer = ready::send(vantage.as_ref(), &front, request, ready_timeout) => {
                    answer.map_err(|error| format!("no answer came to `{name}`: {error}"))?
                }
                exit = running.exited() => return Err(format!("{} ended with {} at `{name}`", exit.unit, exit.how)),
            };
            let line = format!("{} {}", request.method, request.path);
            if answer.status >= 500 {
                let body = shown(&answer.body);
                return Err(format!("{line} answers with the error {}: {body}", answer.status));
            }
            if samples.bodies.is_empty() {
                let of_type = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
                samples.content_type = answer.headers.iter().find(of_type).map(|(_, value)| value.clone());
                samples.status = answer.status;
            } else if samples.status != answer.status {
                return Err(format!("{line} answers once with {} and once with {}", samples.status, answer.status));
            }
            let body = content_encoding::decoded(&answer)
                .map_err(|problem| format!("{line} has a wrong answer: {problem}"))?;
            samples.bodies.push(body.into_owned());
        }
    }
    Ok(())
}

impl Recorded {
    /// The expected body as text of one piece, with a mark in place of each part that varies, and the mark; no mark where
    /// nothing varies. The mark does not occur in the body.
    pub fn marked(&self) -> (Vec<u8>, Option<String>) {
        match &self.expect.body {
            Body::Masked(parts) => {
                let mark = mark(parts);
                (parts.join(mark.as_bytes()), Some(mark))
            }
            Body::Bytes(bytes) => (bytes.clone(), None),
            Body::Any | Body::JsonHtml { .. } => (Vec::new(), None),
        }
    }
}

/// Text that occurs in none of the parts, nor over the border of one.
fn mark(parts: &[Vec<u8>]) -> String {
    let occurs = |mark: &str| {
        let whole = parts.join(mark.as_bytes());
        let windows = whole.windows(mark.len()).filter(|window| *window == mark.as_bytes());
        windows.count() + 1 != parts.len()
    };
    let mut mark = SHOWN.to_owned();
    while occurs(&mark) {
        mark.push('⟩');
    }
    mark
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_occurs_nowhere_else() {
        let recorded = |parts: &[&str]| Recorded {
            exchange: "home".to_owned(),
            expect: Expectation {
                status: 200,
                body: Body::Masked(parts.iter().map(|part| part.as_bytes().to_vec()).collect()),
                gzip: false,
            },
            content_type: None,
            bytes: 0,
        };
        for (parts, text, mark) in [
            (&["<p>", "</p>"][..], "<p>⟨…⟩</p>", "⟨…⟩"),
            (&["a⟨…⟩", "b"], "a⟨…⟩⟨…⟩⟩b", "⟨…⟩⟩"),
            (&["", ""], "⟨…⟩", "⟨…⟩"),
        ] {
            let (marked, found) = recorded(parts).marked();
            assert_eq!((String::from_utf8(marked).unwrap().as_str(), found.as_deref()), (text, Some(mark)));
        }
    }
}
