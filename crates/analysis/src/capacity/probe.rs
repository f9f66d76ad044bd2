//! One probe at a rate: whether it can still meet the objective, and what its records say of each term.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Latencies, Load, Measurement, Outcome, Slo, SloSecond, SloTerm, Trial};
use stampede_stats::BurstyShare;

use super::search::{ProbeEnd, Term};

/// A probe is given up once so many times as many requests are beyond a term as may be in the whole window: whatever comes, the
/// term is broken then. This is curtailed sampling, of which the error is that of the whole window (Wald, "Sequential Analysis",
/// 1947, section 1.3); the factor is what bursts may add to a rate that is near the limit.
const HOPELESS: f64 = 6.0;

/// A server that ends fewer requests than this share of those that are due has a queue that grows.
const KEPT_UP: f64 = 0.95;

/// A window that ended this much earlier was cut short.
const CUT: f64 = 0.99;

/// What was seen of a probe so far.
#[derive(Clone, Debug)]
pub struct ProbeWatch {
    terms: Vec<SloTerm>,
    /// Requests that are due in the window.
    due: f64,
    seconds: BTreeMap<u64, SloSecond>,
}

impl ProbeWatch {
    /// Nothing seen yet, of an open load whose window is this long; a closed load is not probed.
    pub fn new(slo: &Slo, load: &Load, window: Duration) -> Option<Self> {
        let Load::Open { schedule, .. } = load else { return None };
        let due = schedule.held_rate().per_second() * window.as_secs_f64();
        Some(Self { terms: slo.terms().to_vec(), due, seconds: BTreeMap::new() })
    }

    /// Takes in what ended in a second of the window: how many requests, how many of them without a right answer, and the
    /// response times.
    pub fn take(&mut self, second: u64, ended: u64, failed: u64, response: &Latencies) {
        let beyond = self.terms.iter().map(|term| match term {
            SloTerm::Response { below, .. } => response.count() - response.up_to(*below),
            SloTerm::Errors { .. } => failed,
        });
        self.seconds.insert(second, SloSecond { ended, beyond: beyond.collect() });
    }

    /// Whether a term is broken, whatever comes.
    pub fn is_hopeless(&self) -> bool {
        self.terms.iter().enumerate().any(|(place, term)| {
            let allowed = term.beyond();
            let most = (HOPELESS * allowed).min(f64::midpoint(1.0, allowed)) * self.due;
            let beyond: u64 = self.seconds.values().filter_map(|second| second.beyond.get(place)).sum();
            beyond as f64 >= most.max(1.0)
        })
    }

    /// The seconds up to the end of a window of this length.
    pub fn seconds(&self, window: Duration) -> Vec<SloSecond> {
        let nothing = || SloSecond { ended: 0, beyond: vec![0; self.terms.len()] };
        (0..window.as_secs()).map(|second| self.seconds.get(&second).cloned().unwrap_or_else(nothing)).collect()
    }
}

/// How a probe of this rate ended, whose window was to last so long, or as long as a confirmation.
pub(super) fn end_of(trial: &Trial, rate: f64, window: Duration) -> ProbeEnd {
    match &trial.outcome {
        Outcome::Failed(_) => return ProbeEnd::Failed,
        Outcome::Invalid(_) => return ProbeEnd::Generator,
        Outcome::Measured => {}
    }
    let Some(measured) = &trial.measurement else { return ProbeEnd::Failed };
    let lasted = |times: u32| {
        let share = measured.window.as_secs_f64() / (window * times).as_secs_f64();
        (CUT..=2.0 - CUT).contains(&share)
    };
    if !lasted(1) && !lasted(super::CONFIRMATION) {
        return ProbeEnd::Hopeless;
    }
    let due = rate * measured.seconds.len() as f64;
    let ended: u64 = measured.seconds.iter().map(|second| second.ended).sum();
    // Random arrivals may be fewer than were due by chance.
    let most = (KEPT_UP * due).min(due - 3.0 * due.sqrt());
    if (ended as f64) < most { ProbeEnd::Overloaded } else { ProbeEnd::Complete }
}

/// What was counted of each term, and whether one is broken beyond doubt.
pub(super) fn terms_of(trial: &Trial, end: ProbeEnd, slo: &Slo) -> (Vec<Term>, bool) {
    let Some(measured) = trial.measurement.as_ref() else { return (Vec::new(), false) };
    let counted = slo.terms().iter().enumerate().map(|(place, term)| {
        let bins: Vec<(u64, u64)> = measured
            .seconds
            .iter()
            .map(|second| (second.beyond.get(place).copied().unwrap_or(0), second.ended))
            .collect();
        let (beyond, of) = match end {
            // What was under way when the window was cut short says nothing.
            ProbeEnd::Hopeless => bins.iter().fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1)),
            _ => whole(measured, term),
        };
        let share = BurstyShare::of(beyond, of, &bins);
        let broken = share.is_above(term.beyond());
        (Term { beyond: beyond as f64, allowed: term.beyond() * of as f64, burst: share.burst }, broken)
    });
    let (terms, broken): (Vec<_>, Vec<_>) = counted.unzip();
    (terms, broken.into_iter().any(|broken| broken))
}

/// How many requests of the window were beyond a term, of how many.
fn whole(measured: &Measurement, term: &SloTerm) -> (u64, u64) {
    match term {
        SloTerm::Response { below, .. } => {
            let all = measured.response.count();
            (all - measured.response.up_to(*below), all)
        }
        SloTerm::Errors { .. } => {
            let unsent = measured.sending.as_ref().map_or(0, |sending| sending.unsent);
            let requests = measured.requests;
            (requests.failed + requests.unfinished + unsent, requests.sent + unsent)
        }
    }
}
