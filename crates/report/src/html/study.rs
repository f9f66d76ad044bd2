//! A study's part of a page: everything that stands in it without a script.

use serde::Serialize;
use stampede_analysis::{CaseSummary, Metric, metric, planned};
use stampede_core::{CaseId, Outcome, StudyKind, Trial, Verdict, VerdictWord, shell_line};

use super::configuration::{self, Group};
use super::picture::Picture;
use super::prose::{Piece, pieces};
use super::{HeadBlock, Texts, commands, title};
use crate::columns::{half_width, in_unit, titled};
use crate::digest::{Digest, FindingGroup, Uncounted};
use crate::dots::{self, Dots};
use crate::quantity::{count, in_tables, percent, ratio};
use crate::steps::each_kind;
use crate::{StudyView, inside, open_part, study_page, trust};

/// The metrics of the table of all trials.
const TRIAL_METRICS: [&str; 8] = [
    "throughput_rps",
    "response_p50_us",
    "response_p99_us",
    "service_p99_us",
    "cpu_us_per_request",
    "memory_peak_bytes",
    "unanswered_share",
    "throttled_share",
];
/// Those of the table of latencies: both clocks.
const LATENCIES: [&str; 8] = [
    "response_p50_us",
    "response_p90_us",
    "response_p95_us",
    "response_p99_us",
    "service_p50_us",
    "service_p90_us",
    "service_p95_us",
    "service_p99_us",
];

/// A study as its template reads it.
#[derive(Serialize)]
pub(super) struct StudyPage {
    id: String,
    /// What it is about.
    title: String,
    /// By which name it is stored, and when it was started.
    origin: String,
    /// What it comes to, in a sentence.
    pub(super) lead: String,
    /// What must be known before anything else is read.
    alarms: Vec<String>,
    method: Option<String>,
    bottlenecks: Vec<Vec<Piece>>,
    question: String,
    /// How much was measured, and where.
    ground: String,
    /// The metric that decides, of the best cases.
    picture: Option<Picture>,
    table: Table,
    legend: String,
    charts: Vec<Dots>,
    /// What the noise floor of the metric that decides is, or that none is known.
    floor: Option<String>,
    verdicts: Vec<String>,
    /// What followed at a share of its throughput.
    open_part: Vec<HeadBlock>,
    /// Where PHP's time went.
    inside: Vec<HeadBlock>,
    pairs: Table,
    findings: Vec<FoundGroup>,
    latencies: Option<Table>,
    /// The names of cases that were measured, the best first: which a script can show and hide.
    cases: Vec<String>,
    has_samples: bool,
    kinds: Option<Table>,
    /// Headings with lines below them.
    lists: Vec<List>,
    configuration: Configuration,
    facts: Vec<Fact>,
    trials: Table,
    uncounted: Vec<String>,
    /// Commands, each after what it does.
    commands: Vec<Fact>,
}

#[derive(Serialize)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    /// The first cell of a row is its heading.
    pub(super) rows: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct FoundGroup {
    id: String,
    title: String,
    severity: stampede_core::Severity,
    found: Vec<Found>,
    advice: Vec<Piece>,
}

#[derive(Serialize)]
struct Found {
    case: String,
    text: Vec<Piece>,
    evidence: Vec<Fact>,
}

#[derive(Serialize)]
struct List {
    heading: String,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct Configuration {
    cases: Vec<String>,
    groups: Vec<Group>,
}

#[derive(Serialize)]
pub(super) struct Fact {
    name: String,
    value: String,
}

impl StudyPage {
    pub(super) fn of(view: &StudyView<'_>, texts: &Texts) -> Self {
        let digest = Digest::of(view);
        let cases = study_page::cases(view, &digest);
        let names = || view.analysis.cases.iter().map(|summary| digest.name(&summary.case)).collect();
        let measured = |case: &&CaseSummary| view.trials.iter().any(|trial| counts(trial, &case.case));
        let lists = [
            (texts.of("made"), digest.audits.clone()),
            (texts.of("activity"), digest.activity.clone()),
            (texts.of("parts"), digest.parts.clone()),
            (texts.of("answers"), digest.answers.clone()),
        ];
        let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
        Self {
            id: view.study.id.to_string(),
            title: title::of_study(view),
            origin: title::origin(view),
            lead: lead(view, &digest, texts),
            alarms: digest.alarm.iter().cloned().chain(state(view, texts)).collect(),
            method: digest.conclusion.as_ref().map(|conclusion| conclusion.method.clone()),
            bottlenecks: digest.bottlenecks.iter().map(|text| pieces(text)).collect(),
            question: digest.question.clone(),
            ground: digest.ground.clone(),
            picture: (!has_answer(view.study.kind)).then(|| Picture::of(view)).flatten(),
            legend: cases.legend().unwrap_or_default(),
            table: Table::of(&cases),
            charts: dots::charts(view),
            floor: trust::floor(view),
            verdicts: digest.verdicts.clone(),
            open_part: HeadBlock::all(open_part::blocks(view)),
            inside: HeadBlock::all(inside::blocks(view)),
            pairs: pairs(view),
            findings: digest.findings.iter().map(|group| FoundGroup::of(view, group)).collect(),
            latencies: latencies(view),
            cases: view.analysis.cases.iter().filter(measured).map(|summary| summary.case.to_string()).collect(),
            has_samples: view.trials.iter().any(|trial| {
                let measured = trial.measurement.as_ref();
                measured.is_some_and(|m| m.sampling.is_some() || !m.load_seconds.is_empty() || trial.scale.is_some())
            }),
            kinds: kinds(&digest),
            lists: lists.map(|(heading, lines)| List { heading, lines }).collect(),
            configuration: Configuration { cases: names(), groups: configuration::groups(view) },
            facts: facts(view, &digest, texts),
            trials: trials(view),
            uncounted: uncounted(&digest),
            commands: run_again(view, texts),
        }
    }
}

/// Whether a page about such a study begins with its own figures.
fn has_answer(kind: StudyKind) -> bool {
    matches!(kind, StudyKind::Capacity | StudyKind::Why | StudyKind::Scale)
}

fn counts(trial: &Trial, case: &CaseId) -> bool {
    trial.case == *case && trial.outcome == Outcome::Measured
}

impl StudyPage {
    /// The study in a sentence.
    pub(super) fn lead_of(view: &StudyView<'_>, texts: &Texts) -> String {
        lead(view, &Digest::of(view), texts)
    }
}

/// The study in a sentence, also where a comparison says nothing.
fn lead(view: &StudyView<'_>, digest: &Digest, texts: &Texts) -> String {
    if let Some(conclusion) = &digest.conclusion {
        return conclusion.plain.clone();
    }
    if view.trials.is_empty() {
        return texts.of("no_trial");
    }
    if view.study.kind == StudyKind::OwnRates {
        return texts.of("own_rates");
    }
    let primary = view.analysis.primary;
    let only = view.analysis.cases.first().and_then(|case| Some((&case.case, case.summary.get(primary.key)?)));
    match only {
        Some((case, estimate)) => {
            format!("{case}: {} {}.", in_tables(primary.unit, estimate.value), titled(primary))
        }
        None => texts.of("nothing_counts"),
    }
}

/// Whether the study is over, and whether anything of it counts.
fn state(view: &StudyView<'_>, texts: &Texts) -> Vec<String> {
    let mut state = Vec::new();
    if view.finished_at.is_none() {
        let of = planned(view.study, view.trials).map_or_else(String::new, |planned| format!(" of {planned}"));
        state.push(format!("{} {}{of}.", texts.of("not_finished"), view.trials.len()));
    }
    if !view.trials.is_empty() && view.trials.iter().all(|trial| trial.outcome != Outcome::Measured) {
        state.push(texts.of("none_counts"));
    }
    state
}

fn pairs(view: &StudyView<'_>) -> Table {
    let columns = ["a", "b", "ratio a/b", "95 % from", "to", "rounds", "verdict"].map(str::to_owned).to_vec();
    let end = |end: Option<f64>| end.map_or_else(|| "n/a".to_owned(), ratio);
    let row = |verdict: &Verdict| {
        let Verdict { metric: _, a, b, ratio: estimate, verdict, slight, blocks_to_decide: _ } = verdict;
        let word = match verdict {
            VerdictWord::Faster if *slight => "faster, slightly",
            VerdictWord::Slower if *slight => "slower, slightly",
            VerdictWord::Faster => "faster",
            VerdictWord::Slower => "slower",
            VerdictWord::Equivalent => "equivalent",
            VerdictWord::Undecided => "undecided",
        };
        vec![
            a.to_string(),
            b.to_string(),
            ratio(estimate.value),
            end(estimate.low),
            end(estimate.high),
            estimate.n.to_string(),
            word.to_owned(),
        ]
    };
    Table { columns, rows: view.analysis.verdicts.iter().map(row).collect() }
}

impl FoundGroup {
    fn of(view: &StudyView<'_>, group: &FindingGroup) -> Self {
        let found = view.analysis.cases.iter().flat_map(|case| {
            let same = case.findings.iter().filter(|finding| finding.id == group.id);
            same.map(|finding| Found {
                case: case.case.to_string(),
                text: pieces(&finding.text),
                evidence: finding
                    .evidence
                    .iter()
                    .map(|(name, value)| Fact { name: name.clone(), value: figure(*value) })
                    .collect(),
            })
        });
        Self {
            id: group.id.clone(),
            title: group.title.clone(),
            severity: group.severity,
            found: found.collect(),
            advice: pieces(&group.advice),
        }
    }
}

/// A figure of unknown unit: what was counted has no decimals.
fn figure(value: f64) -> String {
    let is_count = value.fract() == 0.0 && (0.0..1e15).contains(&value);
    if is_count { count(value as u64) } else { crate::quantity::number(value) }
}

/// Means over the trials, with half of their intervals; none where no case has one.
fn latencies(view: &StudyView<'_>) -> Option<Table> {
    let metrics: Vec<&'static Metric> = LATENCIES.into_iter().filter_map(metric).collect();
    let columns = std::iter::once("case".to_owned()).chain(metrics.iter().map(|metric| titled(metric))).collect();
    let row = |summary: &CaseSummary| {
        let cell = |metric: &&'static Metric| match summary.summary.get(metric.key) {
            Some(estimate) => {
                let value = in_tables(metric.unit, estimate.value);
                half_width(&in_unit(metric, estimate)).map_or(value.clone(), |width| format!("{value} {width}"))
            }
            None => "n/a".to_owned(),
        };
        std::iter::once(summary.case.to_string()).chain(metrics.iter().map(cell)).collect()
    };
    let measured = view.analysis.cases.iter().filter(|summary| !summary.summary.is_empty());
    let rows: Vec<Vec<String>> = measured.map(row).collect();
    (!rows.is_empty()).then_some(Table { columns, rows })
}

fn kinds(digest: &Digest) -> Option<Table> {
    (!digest.kinds.is_empty()).then(|| Table::of(&each_kind(&digest.kinds)))
}

/// What the study was measured with and on, and how sure it can be.
fn facts(view: &StudyView<'_>, digest: &Digest, texts: &Texts) -> Vec<Fact> {
    let study = view.study;
    let machine = &study.machine;
    let mut facts = vec![
        ("measured", digest.ground.clone()),
        ("machine", format!("{} CPUs ({}), Linux {}", machine.cpus, machine.cpu_model, machine.kernel)),
        ("trust", digest.trust.join(". ")),
        ("precision", percent(study.precision)),
        (
            "mde",
            view.analysis.detectable.map_or_else(
                || "n/a".to_owned(),
                |share| format!("{}, for a pair by itself (9 times of 10)", percent(share)),
            ),
        ),
        ("floor", trust::floor(view).unwrap_or_else(|| "n/a".to_owned())),
        ("seed", study.seed.to_string()),
        ("study", digest.study.clone()),
    ];
    if !study.resumed_at.is_empty() {
        let times: Vec<String> = study.resumed_at.iter().map(|at| format!("{at:.0}")).collect();
        facts.push(("resumed", times.join(", ")));
    }
    facts.into_iter().map(|(name, value)| Fact { name: texts.of(name), value }).collect()
}

fn trials(view: &StudyView<'_>) -> Table {
    let metrics: Vec<&'static Metric> = TRIAL_METRICS.into_iter().filter_map(metric).collect();
    let columns = ["case", "round", "place", "outcome", "requests"].map(str::to_owned).into_iter();
    let row = |trial: &Trial| {
        let (outcome, _) = trial.outcome.words();
        let sent = trial.measurement.as_ref().map_or_else(|| "-".to_owned(), |measured| count(measured.requests.sent));
        let figure = |metric: &&'static Metric| {
            (metric.reader)(trial).map_or_else(|| "n/a".to_owned(), |value| in_tables(metric.unit, value))
        };
        let head = [trial.case.to_string(), trial.block.to_string(), trial.position.to_string()];
        head.into_iter().chain([outcome.to_owned(), sent]).chain(metrics.iter().map(figure)).collect()
    };
    Table {
        columns: columns.chain(metrics.iter().map(|metric| titled(metric))).collect(),
        rows: view.trials.iter().map(row).collect(),
    }
}

fn uncounted(digest: &Digest) -> Vec<String> {
    digest.uncounted.iter().map(Uncounted::text).collect()
}

fn run_again(view: &StudyView<'_>, texts: &Texts) -> Vec<Fact> {
    let study = view.study;
    let line = |words: &[&str]| shell_line(words);
    let mut facts: Vec<Fact> =
        commands::again(view).map(|value| Fact { name: texts.of("measure_again"), value }).into_iter().collect();
    if study.kind == StudyKind::Compare && view.finished_at.is_none() {
        facts.push(Fact { name: texts.of("go_on"), value: texts.of("go_on_flag") });
    }
    let id = study.id.as_str();
    facts.push(Fact { name: texts.of("show_again"), value: line(&["stampede", "show", id]) });
    facts.push(Fact { name: texts.of("report_again"), value: line(&["stampede", "report", id]) });
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_that_a_page_names_is_known() {
        for key in TRIAL_METRICS.into_iter().chain(LATENCIES) {
            assert!(metric(key).is_some(), "{key}");
        }
    }
}
