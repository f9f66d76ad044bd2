//! What a deployment can take before an objective breaks: which load to probe next, and what the probes say.
//!
//! All of it follows from a study's records, so that it is the same while it is measured and when it is shown again.

mod fit;
mod probe;
mod search;

use std::time::Duration;

use stampede_core::{Case, Finding, Latencies, Load, Outcome, Rounds, Slo, SloTerm, Study, Trial};
use stampede_stats::UslFit;

pub use self::probe::ProbeWatch;
use self::probe::{end_of, terms_of};
pub use self::search::{CapacityFound, MOST_PROBES, ProbeEnd};
use self::search::{Next, Probe, Term, next};
use crate::metric::ratio;
use crate::pace::measured_for;
use crate::record::Record;
use crate::rules::{self, Bottleneck};

/// A confirmation lasts for so many times as long as another probe.
pub const CONFIRMATION: u32 = 4;

/// The windows of the curve: a sixth of a probe's, within these.
const CURVE_WINDOWS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// The curve doubles the concurrency from 1 up to this, and ends earlier once the knee is past.
const MOST_CONNECTIONS: u32 = 256;

/// Throughput grows when it is more than it ever was by this share; twice without is past the knee.
const GROWTH: f64 = 1.05;

/// A law takes so many points, and so many are measured at least.
const LEAST_POINTS: usize = 5;

/// What starting and stopping a deployment takes, about.
const BESIDE: Duration = Duration::from_secs(2);

/// The next trial of a study that asks for a capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityStep {
    /// The name of its case.
    pub case: String,
    /// Its load.
    pub load: Load,
    /// Length of its window.
    pub window: Duration,
}

/// What the probes of a study say.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Throughput over concurrency.
    pub curve: Vec<CurvePoint>,
    /// The most requests a second that a closed load was served.
    pub saturation: Option<f64>,
    /// The law that the curve follows, where it could be fitted.
    pub law: Option<UslFit>,
    /// The probes, in the order in which they were run.
    pub probes: Vec<ProbeSummary>,
    /// The answer, as far as it is known; absent while no probe at a rate was run.
    pub found: Option<CapacityFound>,
    /// What probably limits it, from the probe at the highest rate that tells.
    pub bottleneck: Option<Bottleneck>,
    /// Findings at that rate, most severe first.
    pub findings: Vec<Finding>,
}

/// A closed load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Connections.
    pub connections: u32,
    /// Right answers a second.
    pub throughput: f64,
    /// The median response time.
    pub response_p50: Duration,
    /// The response time that one of a hundred is beyond, where enough are.
    pub response_p99: Option<Duration>,
}

/// A probe at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSummary {
    /// Requests a second that were due.
    pub rate: f64,
    /// Length of the window.
    pub window: Duration,
    /// Whether it was run for longer, to confirm.
    pub long: bool,
    /// How it ended.
    pub end: ProbeEnd,
    /// Whether every term held.
    pub meets: bool,
    /// What each term was, by the terms' order: a response time in seconds, or a share; absent where nothing was answered.
    pub terms: Vec<Option<f64>>,
    /// Why its figures do not count, or there are none.
    pub reason: Option<String>,
}

/// The trial that comes next; nothing when the study is over.
pub fn capacity_step(study: &Study, trials: &[Trial]) -> Option<CapacityStep> {
    let slo = study.slo.as_ref()?;
    let probes = probes(study, trials, slo);
    if probes.is_empty()
        && let Some(connections) = next_connections(study, trials)
    {
        let load = Load::Closed { connections };
        return Some(CapacityStep { case: load.to_string(), load, window: curve_window(study.duration) });
    }
    let saturation = saturation(&curve(study, trials))?;
    match next(saturation, &saturated(slo), &probes, probes_left(study, trials)) {
        Next::Done(_) => None,
        Next::Probe { rate, long } => {
            let rate = round(rate);
            let load = format!("open:poisson:{rate}").parse().ok()?;
            let window = if long { study.duration * CONFIRMATION } else { study.duration };
            Some(CapacityStep { case: format!("{rate}/s"), load, window })
        }
    }
}

/// What the records of a study that asks for a capacity say.
pub fn capacity(study: &Study, trials: &[Trial]) -> Capacity {
    let curve = curve(study, trials);
    let saturation = saturation(&curve);
    let points: Vec<_> = curve.iter().map(|point| (f64::from(point.connections), point.throughput)).collect();
    let (mut summaries, mut found) = (Vec::new(), None);
    if let Some(slo) = &study.slo {
        let probes = probes(study, trials, slo);
        let of_rate = trials.iter().filter_map(|trial| Some((trial, rate_of(case_of(study, trial)?)?)));
        summaries = of_rate.zip(&probes).map(|((trial, _), probe)| summarise(trial, probe, slo)).collect();
        // Without time left it says what is known.
        found = saturation.filter(|_| !probes.is_empty()).and_then(|saturation| {
            match next(saturation, &saturated(slo), &probes, 0) {
                Next::Done(found) => Some(found),
                Next::Probe { .. } => None,
            }
        });
    }
    let (bottleneck, findings) = suspected(study, trials);
    Capacity { saturation, law: UslFit::of(&points), curve, probes: summaries, found, bottleneck, findings }
}

/// The least time in which such a study says something, when a probe's window and its warm-up are this long: a short curve,
/// two probes and a confirmation.
pub fn least_capacity_time(window: Duration, warm_up: Duration) -> Duration {
    let beside = warm_up + BESIDE;
    (curve_window(window) + beside) * LEAST_POINTS as u32 + (window + beside) * 2 + window * CONFIRMATION + beside
}

fn curve_window(window: Duration) -> Duration {
    (window / 6).clamp(CURVE_WINDOWS.0, CURVE_WINDOWS.1)
}

fn case_of<'a>(study: &'a Study, trial: &Trial) -> Option<&'a Case> {
    study.cases.iter().find(|case| case.id == trial.case)
}

fn rate_of(case: &Case) -> Option<f64> {
    match &case.load {
        Load::Open { schedule, .. } => Some(schedule.held_rate().per_second()),
        Load::Closed { .. } | Load::Ramped { .. } => None,
    }
}

/// A rate with four digits, which are more than it is sure of.
fn round(rate: f64) -> f64 {
    let scale = 10_f64.powf(3.0 - rate.max(1e-3).log10().floor());
    ((rate * scale).round() / scale).max(0.001)
}

/// What counts: where the generator or the machine was the limit, the server's law says nothing.
fn curve(study: &Study, trials: &[Trial]) -> Vec<CurvePoint> {
    let point = |trial: &Trial| {
        let connections = connections_of(study, trial)?;
        let measured = trial.measurement.as_ref().filter(|_| trial.outcome == Outcome::Measured)?;
        let throughput = ratio(measured.requests.ok as f64, measured.window.as_secs_f64())?;
        let response = &measured.response;
        Some(CurvePoint {
            connections,
            throughput,
            response_p50: response.quantile(0.5),
            response_p99: (response.count() >= 1_000).then(|| response.quantile(0.99)),
        })
    };
    trials.iter().filter_map(point).filter(|point| point.throughput > 0.0).collect()
}

fn connections_of(study: &Study, trial: &Trial) -> Option<u32> {
    match case_of(study, trial)?.load {
        Load::Closed { connections } => Some(connections),
        Load::Open { .. } | Load::Ramped { .. } => None,
    }
}

fn saturation(curve: &[CurvePoint]) -> Option<f64> {
    curve.iter().map(|point| point.throughput).max_by(f64::total_cmp)
}

/// The next concurrency of the curve; none once it is past the knee, or a trial of it failed.
fn next_connections(study: &Study, trials: &[Trial]) -> Option<u32> {
    let Some(last) = trials.last() else { return Some(1) };
    let (mut most, mut without) = (0.0_f64, 0);
    let curve = curve(study, trials);
    for point in &curve {
        without = if point.throughput > GROWTH * most { 0 } else { without + 1 };
        most = most.max(point.throughput);
    }
    // What the generator was the limit of is measured again; where it is once more, more connections tell no more.
    let useless = trials.iter().rev().take_while(|trial| trial.outcome != Outcome::Measured).count();
    let goes_on = useless < 2 && (curve.len() < LEAST_POINTS || without < 2);
    let served = !trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed(_)));
    let connections = connections_of(study, last)? * if useless == 0 { 2 } else { 1 };
    (goes_on && served && connections <= MOST_CONNECTIONS).then_some(connections)
}

/// The share of requests that each term allows to be beyond it, where it is known how many are at a server's capacity: all.
fn saturated(slo: &Slo) -> Vec<Option<f64>> {
    let share = |term: &SloTerm| match term {
        SloTerm::Response { .. } => Some(term.beyond()),
        SloTerm::Errors { .. } => None,
    };
    slo.terms().iter().map(share).collect()
}

/// How many probes there is time for.
fn probes_left(study: &Study, trials: &[Trial]) -> usize {
    let Rounds::Auto { max_time } = study.rounds else { return MOST_PROBES };
    let longest = study.duration * CONFIRMATION + study.warm_up + BESIDE;
    let last = trials.last().map_or(Duration::ZERO, |trial| {
        let began = measured_for(study, trials);
        let window = trial.measurement.as_ref().map_or(Duration::ZERO, |measured| measured.window);
        began + window + study.warm_up + BESIDE
    });
    (max_time.saturating_sub(last).as_secs_f64() / longest.as_secs_f64()) as usize
}

fn probes(study: &Study, trials: &[Trial], slo: &Slo) -> Vec<Probe> {
    let probe = |trial: &Trial| {
        let rate = rate_of(case_of(study, trial)?)?;
        let window = trial.measurement.as_ref().map_or(Duration::ZERO, |measured| measured.window);
        let end = end_of(trial, rate, study.duration);
        let (terms, broken) = terms_of(trial, end, slo);
        Some(Probe { rate, long: window > study.duration.mul_f64(1.5), end, terms, broken })
    };
    trials.iter().filter_map(probe).collect()
}

fn summarise(trial: &Trial, probe: &Probe, slo: &Slo) -> ProbeSummary {
    let measured = trial.measurement.as_ref();
    let value = |(place, term): (usize, &SloTerm)| match term {
        SloTerm::Response { percentile, .. } => {
            let known =
                |response: &Latencies| (response.count() > 0).then(|| response.quantile(1.0 - percentile.beyond()));
            Some(known(&measured?.response)?.as_secs_f64())
        }
        SloTerm::Errors { .. } => {
            let Term { beyond, allowed, .. } = *probe.terms.get(place)?;
            ratio(beyond * term.beyond(), allowed)
        }
    };
    let reason = match &trial.outcome {
        Outcome::Measured => None,
        Outcome::Invalid(reason) | Outcome::Failed(reason) => reason.lines().next().map(str::to_owned),
    };
    ProbeSummary {
        rate: probe.rate,
        window: measured.map_or(Duration::ZERO, |measured| measured.window),
        long: probe.long,
        end: probe.end,
        meets: probe.meets(),
        terms: slo.terms().iter().enumerate().map(value).collect(),
        reason,
    }
}

/// What limits the highest load with valid figures.
fn suspected(study: &Study, trials: &[Trial]) -> (Option<Bottleneck>, Vec<Finding>) {
    let height = |case: &Case| rate_of(case).unwrap_or(0.0);
    let mut cases: Vec<&Case> = study.cases.iter().collect();
    cases.sort_by(|a, b| height(b).total_cmp(&height(a)));
    let found = cases.into_iter().map(|case| rules::findings(&Record::new(study, case, trials)));
    let mut all: Vec<(Option<Bottleneck>, Vec<Finding>)> =
        found.map(|findings| (rules::bottleneck(&findings), findings)).collect();
    let telling = all.iter().position(|(bottleneck, _)| bottleneck.is_some()).unwrap_or(0);
    if all.is_empty() { (None, Vec::new()) } else { all.swap_remove(telling) }
}

#[cfg(test)]
mod tests {
    use stampede_core::StudyKind;

    use super::*;
    use crate::samples;

    /// The loads that a search begins with, on a server of 100 requests a second whose trials at these places are held up.
    fn loads(held_up: &[usize]) -> Vec<String> {
        let mut study = samples::study(&[]);
        study.kind = StudyKind::Capacity;
        study.slo = Some("p95<150ms".parse().unwrap());
        let (mut trials, mut loads) = (Vec::new(), Vec::new());
        while let Some(step) = capacity_step(&study, &trials).filter(|step| matches!(step.load, Load::Closed { .. })) {
            let mut trial = samples::measured(&step.case, trials.len() as u32 + 1, 100.0);
            if held_up.contains(&trials.len()) {
                trial.outcome = Outcome::Invalid("this program was held up".to_owned());
            }
            let case = Case { id: trial.case.clone(), load: step.load, ..samples::study(&["go"]).cases.remove(0) };
            study.cases.push(case);
            trials.push(trial);
            loads.push(step.case);
        }
        loads
    }

    #[test]
    fn what_was_held_up_is_measured_again_once() {
        assert_eq!(loads(&[]), ["closed:1", "closed:2", "closed:4", "closed:8", "closed:16"]);
        assert_eq!(
            loads(&[0, 3]),
            ["closed:1", "closed:1", "closed:2", "closed:4", "closed:4", "closed:8", "closed:16"]
        );
        assert_eq!(loads(&[1, 2]), ["closed:1", "closed:2", "closed:2"]);
    }
}
