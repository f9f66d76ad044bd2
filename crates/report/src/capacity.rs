//! What a deployment can take, for people and for other programs.

use serde::Serialize;
use stampede_analysis::{Capacity, CapacityFound, CurvePoint, ProbeEnd, ProbeSummary, UslFit};
use stampede_core::{Finding, SloTerm, Study};

use crate::StudyView;
use crate::json::{WireStudy, rendered};
use crate::page::{Block, Page, Table};
use crate::quantity::number;

const SCHEMA: &str = "stampede/capacity/v1";

/// A study that asks for a capacity, with what its records say.
#[derive(Clone, Copy, Debug)]
pub struct CapacityView<'a> {
    /// The study.
    pub study: StudyView<'a>,
    /// What it says.
    pub capacity: &'a Capacity,
}

/// As JSON. It ends with a line break.
pub fn json(view: &CapacityView<'_>) -> String {
    rendered(&WireCapacity::of(view))
}

/// The question, the kinds of loads of which some were tried, what was found and how.
#[must_use]
pub fn page(view: &CapacityView<'_>) -> Page {
    let mut blocks = vec![Block::Paragraph(question(view))];
    let closed = ("Closed loads: a fixed number of busy connections", curve(view), law(view).into_iter().collect());
    let open = ("Open loads: a fixed rate of requests", probes(view), reasons(view));
    for (title, rows, notes) in [closed, open].into_iter().filter(|(_, rows, _)| rows.len() > 1) {
        blocks.extend([Block::Caption(title.to_owned()), Block::Table(Table::of_rows(&rows))]);
        blocks.extend(notes.into_iter().map(Block::Paragraph));
    }
    let findings = view.capacity.findings.iter();
    let findings = findings.map(|finding| Block::Item(format!("{} {}", finding.text, finding.advice)));
    blocks.extend(Block::list("Findings at the highest load with valid figures", findings));
    blocks.extend([Block::Gap, Block::Paragraph(method(view))]);
    Page { answer: vec![answer(view)], blocks }
}

fn runtime(study: &Study) -> String {
    study.cases.first().map_or_else(|| "it".to_owned(), |case| case.runtime.to_string())
}

fn question(view: &CapacityView<'_>) -> String {
    let study = view.study.study;
    let limits = study.cases.first().map(|case| format!(", {} CPU and {}", case.limits.cpus, case.limits.memory));
    let slo = study.slo.as_ref().map(|slo| format!(", SLO {slo}")).unwrap_or_default();
    format!("{}: {}{}{slo}", study.workload, runtime(study), limits.unwrap_or_default())
}

fn curve(view: &CapacityView<'_>) -> Vec<Vec<String>> {
    let mut rows = vec![["connections", "req/s", "p50 ms", "p99 ms"].map(str::to_owned).to_vec()];
    for CurvePoint { connections, throughput, response_p50, response_p99 } in &view.capacity.curve {
        let p99 = response_p99.map_or_else(|| "n/a".to_owned(), |p99| number(p99.as_secs_f64() * 1e3));
        rows.push(vec![connections.to_string(), number(*throughput), number(response_p50.as_secs_f64() * 1e3), p99]);
    }
    rows
}

fn law(view: &CapacityView<'_>) -> Option<String> {
    let fit = view.capacity.law.as_ref()?;
    if !fit.holds() {
        return Some(format!(
            "They do not follow the Universal Scalability Law: the points are {:.0} % off it.",
            fit.residual * 100.0
        ));
    }
    let between = |(low, high): (f64, f64)| format!("{} to {}", number(low), number(high));
    let knee = match fit.law.knee() {
        Some(knee) if fit.kappa.0 > 0.0 => {
            format!("the most throughput is at about {} connections", number(knee.round()))
        }
        _ => "more connections were not shown to reduce throughput".to_owned(),
    };
    Some(format!(
        "Universal Scalability Law: {} req/s for one, contention {} ({}), coherency {} ({}); {knee}.",
        number(fit.law.lambda),
        number(fit.law.sigma),
        between(fit.sigma),
        number(fit.law.kappa),
        between(fit.kappa),
    ))
}

fn probes(view: &CapacityView<'_>) -> Vec<Vec<String>> {
    let terms = view.study.study.slo.as_ref().map_or(&[][..], |slo| slo.terms());
    let heading = terms.iter().map(|term| match term {
        SloTerm::Response { percentile, .. } => format!("{} ms", percentile.name()),
        SloTerm::Errors { .. } => "errors %".to_owned(),
    });
    let mut rows =
        vec![["req/s".to_owned(), "seconds".to_owned()].into_iter().chain(heading).chain(["SLO".to_owned()]).collect()];
    for probe in &view.capacity.probes {
        let mut row = vec![number(probe.rate), format!("{:.0}", probe.window.as_secs_f64())];
        row.extend(probe.terms.iter().zip(terms).map(|(value, term)| match (value, term) {
            (None, _) => "n/a".to_owned(),
            (Some(seconds), SloTerm::Response { .. }) => number(seconds * 1e3),
            (Some(share), SloTerm::Errors { .. }) => number(share * 100.0),
        }));
        row.resize(2 + terms.len(), "n/a".to_owned());
        row.push(outcome(probe));
        rows.push(row);
    }
    rows
}

fn outcome(probe: &ProbeSummary) -> String {
    let word = match probe.end {
        ProbeEnd::Complete if probe.meets => "met",
        ProbeEnd::Complete => "missed",
        ProbeEnd::Hopeless => "missed, ended early",
        ProbeEnd::Overloaded => "overloaded",
        ProbeEnd::Failed => "failed",
        ProbeEnd::Generator => "not valid",
    };
    if probe.long { format!("{word}, long trial") } else { word.to_owned() }
}

/// Why probes have no figures that count.
fn reasons(view: &CapacityView<'_>) -> Vec<String> {
    let reason = |probe: &ProbeSummary| Some(format!("{}/s: {}", number(probe.rate), probe.reason.as_ref()?));
    view.capacity.probes.iter().filter_map(reason).collect()
}

fn method(view: &CapacityView<'_>) -> String {
    let study = view.study.study;
    format!(
        "Method: requests with random gaps (Poisson), response times from when a request was due, fresh servers for each \
         trial; the rate at which the SLO breaks is interpolated between rates, on a line through the logarithms of the shares of requests beyond the limit; its 95 % interval covers the scatter of these trials, and in simulated searches contained the true rate in 81 to 97 of 100 (docs/bench-capacity.md). Study {}, seed {}.",
        study.id, study.seed
    )
}

/// One sentence for somebody who knows no statistics.
fn answer(view: &CapacityView<'_>) -> String {
    let (study, capacity) = (view.study.study, view.capacity);
    let who = format!("{} on {}", runtime(study), study.workload);
    let term = |place: Option<usize>| Some(study.slo.as_ref()?.terms().get(place?)?.to_string());
    let because = match &capacity.bottleneck {
        Some(bottleneck) => format!("; the probable bottleneck is {}", bottleneck.what),
        None => String::new(),
    };
    match &capacity.found {
        None => format!("{who}: no result, since no rate was probed."),
        Some(CapacityFound::Rate { rate, low, high, confirmed, breaks }) => {
            let range = if high.is_finite() {
                format!("between {} and {}", number(*low), number(*high))
            } else {
                format!("at least {}", number(*low))
            };
            let next = match term(*breaks) {
                Some(term) => format!(" before {term} breaks"),
                None if fell(view, *high) => format!(" before it fails, as it did at {}", number(*high)),
                None if high.is_finite() => {
                    " before it cannot keep up; the SLO itself was met at every load that was tried".to_owned()
                }
                None => ", and the SLO was met at every rate that was tried".to_owned(),
            };
            let longer = view.capacity.probes.iter().any(|probe| probe.long && probe.meets);
            let sure = match (*confirmed, longer) {
                (true, _) => "",
                (false, true) => " (a longer probe met it, with too few requests to confirm it)",
                (false, false) => " (no longer probe has confirmed it)",
            };
            format!("{who} takes about {} requests a second ({range}){next}{sure}{because}.", number(*rate))
        }
        Some(CapacityFound::Nothing { least, breaks }) => {
            let broken = term(*breaks).unwrap_or_else(|| "the SLO".to_owned());
            let best = best(view, *breaks);
            format!(
                "{who} meets the SLO at no rate: {broken} is already broken at {} requests a second{best}{because}.",
                number(*least)
            )
        }
        Some(CapacityFound::BeyondGenerator { met, limit }) => {
            let met =
                met.map_or_else(String::new, |met| format!(" The SLO is met at {} requests a second.", number(met)));
            let at_limit = view.capacity.probes.iter().filter(|probe| probe.rate == *limit);
            let reason = at_limit.filter_map(|probe| probe.reason.as_deref()).next();
            match reason {
                Some(reason) => format!(
                    "{who}: no result from {} requests a second on, where a probe does not count: {reason}.{met}",
                    number(*limit)
                ),
                None => format!(
                    "{who} takes more requests than this machine's load generator can send; it fell behind at {} requests a second.{met}",
                    number(*limit)
                ),
            }
        }
    }
}

/// Whether the server failed at a rate.
fn fell(view: &CapacityView<'_>, rate: f64) -> bool {
    view.capacity.probes.iter().any(|probe| probe.rate == rate && probe.end == ProbeEnd::Failed)
}

/// The best that any probe reached of a term.
fn best(view: &CapacityView<'_>, place: Option<usize>) -> String {
    let term = place.and_then(|place| view.study.study.slo.as_ref()?.terms().get(place).copied());
    let values = view.capacity.probes.iter().filter_map(|probe| *probe.terms.get(place?)?);
    match (term, values.min_by(f64::total_cmp)) {
        (Some(SloTerm::Response { percentile, .. }), Some(best)) => {
            format!(" (the best {} was {} ms)", percentile.name(), number(best * 1e3))
        }
        (Some(SloTerm::Errors { .. }), Some(best)) => format!(" (the fewest errors were {} %)", number(best * 100.0)),
        _ => String::new(),
    }
}

#[derive(Serialize)]
struct WireCapacity<'a> {
    schema: &'static str,
    slo: Option<String>,
    answer: String,
    outcome: &'static str,
    rate_rps: Option<f64>,
    rate_low_rps: Option<f64>,
    rate_high_rps: Option<f64>,
    confirmed: Option<bool>,
    breaks_first: Option<String>,
    saturation_rps: Option<f64>,
    curve: Vec<WirePoint>,
    scalability: Option<WireLaw>,
    probes: Vec<WireProbe<'a>>,
    bottleneck: Option<&'static str>,
    findings: &'a [Finding],
    study: WireStudy<'a>,
}

#[derive(Serialize)]
struct WirePoint {
    connections: u32,
    throughput_rps: f64,
    response_p50_us: f64,
    response_p99_us: Option<f64>,
}

#[derive(Serialize)]
struct WireLaw {
    fits: bool,
    residual_share: f64,
    lambda_rps: [f64; 3],
    sigma: [Option<f64>; 3],
    kappa: [Option<f64>; 3],
    knee_connections: Option<f64>,
}

#[derive(Serialize)]
struct WireProbe<'a> {
    rate_rps: f64,
    window_s: f64,
    confirmation: bool,
    end: &'static str,
    meets: bool,
    terms: Vec<WireTerm>,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct WireTerm {
    term: String,
    value: Option<f64>,
    unit: &'static str,
}

impl<'a> WireCapacity<'a> {
    fn of(view: &CapacityView<'a>) -> Self {
        let study = view.study.study;
        let Capacity { curve, saturation, law, probes, found, bottleneck, findings } = view.capacity;
        let terms = study.slo.as_ref().map_or(&[][..], |slo| slo.terms());
        let (outcome, rate, low, high, confirmed, breaks) = match found {
            None => ("unknown", None, None, None, None, None),
            Some(CapacityFound::Rate { rate, low, high, confirmed, breaks }) => (
                "rate",
                Some(*rate),
                Some(*low),
                Some(*high).filter(|high| high.is_finite()),
                Some(*confirmed),
                *breaks,
            ),
            Some(CapacityFound::Nothing { breaks, .. }) => ("no_rate", None, None, None, None, *breaks),
            Some(CapacityFound::BeyondGenerator { met, limit: _ }) => {
                ("beyond_generator", None, *met, None, None, None)
            }
        };
        Self {
            schema: SCHEMA,
            slo: study.slo.as_ref().map(ToString::to_string),
            answer: answer(view),
            outcome,
            rate_rps: rate,
            rate_low_rps: low,
            rate_high_rps: high,
            confirmed,
            breaks_first: breaks.and_then(|place| terms.get(place)).map(ToString::to_string),
            saturation_rps: *saturation,
            curve: curve.iter().map(WirePoint::of).collect(),
            scalability: law.as_ref().map(WireLaw::of),
            probes: probes.iter().map(|probe| WireProbe::of(probe, terms)).collect(),
            bottleneck: bottleneck.as_ref().map(|bottleneck| bottleneck.what),
            findings,
            study: WireStudy::of(&view.study),
        }
    }
}

impl WirePoint {
    fn of(point: &CurvePoint) -> Self {
        let CurvePoint { connections, throughput, response_p50, response_p99 } = *point;
        Self {
            connections,
            throughput_rps: throughput,
            response_p50_us: response_p50.as_secs_f64() * 1e6,
            response_p99_us: response_p99.map(|p99| p99.as_secs_f64() * 1e6),
        }
    }
}

impl WireLaw {
    fn of(fit: &UslFit) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let ends = |value: f64, (low, high): (f64, f64)| [finite(value), finite(low), finite(high)];
        Self {
            fits: fit.holds(),
            residual_share: fit.residual,
            lambda_rps: [fit.law.lambda, fit.lambda.0, fit.lambda.1],
            sigma: ends(fit.law.sigma, fit.sigma),
            kappa: ends(fit.law.kappa, fit.kappa),
            knee_connections: fit.law.knee().filter(|_| fit.kappa.0 > 0.0),
        }
    }
}

impl<'a> WireProbe<'a> {
    fn of(probe: &'a ProbeSummary, terms: &[SloTerm]) -> Self {
        let ProbeSummary { rate, window, long, end, meets, terms: values, reason } = probe;
        let end = match end {
            ProbeEnd::Complete => "complete",
            ProbeEnd::Hopeless => "hopeless",
            ProbeEnd::Overloaded => "overloaded",
            ProbeEnd::Failed => "failed",
            ProbeEnd::Generator => "not_valid",
        };
        let term = |(term, value): (&SloTerm, &Option<f64>)| {
            let (scale, unit) = match term {
                SloTerm::Response { .. } => (1e6, "us"),
                SloTerm::Errors { .. } => (1.0, "share"),
            };
            WireTerm { term: term.to_string(), value: value.map(|value| value * scale), unit }
        };
        Self {
            rate_rps: *rate,
            window_s: window.as_secs_f64(),
            confirmation: *long,
            end,
            meets: *meets,
            terms: terms.iter().zip(values).map(term).collect(),
            reason: reason.as_deref(),
        }
    }
}
