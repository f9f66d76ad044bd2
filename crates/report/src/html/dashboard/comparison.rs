//! Two studies beside each other.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use stampede_analysis::{Better, Change, METRICS, Metric, between_studies, metric};
use stampede_core::{CaseId, Estimate, shell_line};

use super::{WORDS, document, study_link, time};
use crate::StudyView;
use crate::columns::titled;
use crate::html::configuration::{self, Group};
use crate::html::picture::Picture;
use crate::html::study::{StudyPage, Table};
use crate::html::title;
use crate::quantity::{in_tables, percent, ratio};

/// What is shown of each case.
const SHOWN: [&str; 9] = [
    "throughput_rps",
    "requests_per_cpu_second",
    "response_p50_us",
    "response_p95_us",
    "response_p99_us",
    "service_p99_us",
    "memory_peak_bytes",
    "unanswered_share",
    "throttled_share",
];

/// A study's column.
#[derive(Serialize)]
struct Side {
    id: String,
    href: String,
    lead: String,
    machine: String,
    started: String,
}

/// A case that both have.
#[derive(Serialize)]
struct Shared {
    name: String,
    figures: Table,
    differences: Vec<Group>,
}

/// The page of two studies. What only one of them has is named.
pub fn comparison(a: &StudyView<'_>, b: &StudyView<'_>) -> String {
    let side = |view: &StudyView<'_>| Side {
        id: view.study.id.to_string(),
        href: study_link(view.study.id.as_str()),
        lead: StudyPage::lead_of(view, &WORDS),
        machine: format!("{} CPUs, {}", view.study.machine.cpus, view.study.machine.cpu_model),
        started: format!("{} UTC", time(view.study.started_at)),
    };
    let cases =
        |view: &StudyView<'_>| -> Vec<CaseId> { view.analysis.cases.iter().map(|case| case.case.clone()).collect() };
    let (of_a, of_b) = (cases(a), cases(b));
    let only = |these: &[CaseId], those: &[CaseId]| -> Vec<String> {
        these.iter().filter(|case| !those.contains(case)).map(CaseId::to_string).collect()
    };
    // One case each is one question, whatever they are called.
    let pairs: Vec<(CaseId, CaseId)> = match (&of_a[..], &of_b[..]) {
        ([a], [b]) => vec![(a.clone(), b.clone())],
        _ => of_a.iter().filter(|case| of_b.contains(case)).map(|case| (case.clone(), case.clone())).collect(),
    };
    let is_alone = pairs.iter().any(|(a, b)| a != b);
    let shared: Vec<Shared> = pairs
        .iter()
        .map(|pair| Shared {
            name: if pair.0 == pair.1 { pair.0.to_string() } else { format!("{} / {}", pair.0, pair.1) },
            figures: figures(a, b, pair),
            differences: configuration::between((a, &pair.0), (b, &pair.1)),
        })
        .collect();
    let side_of_gate = |view: &StudyView<'_>| format!("study:{}", view.study.id);
    let gate = ["stampede".to_owned(), "gate".to_owned(), side_of_gate(a), side_of_gate(b)];
    document(
        "comparison.html",
        &heading(a, b),
        context! {
            sides => Serde([side(a), side(b)]),
            facts => Serde(facts(a, b)),
            answers => Serde(pairs.iter().map(|pair| answer(a, b, pair)).collect::<Vec<_>>()),
            picture => Serde(picture(a, b, &pairs)),
            shared => Serde(shared),
            only_a => if is_alone { Vec::new() } else { only(&of_a, &of_b) },
            only_b => if is_alone { Vec::new() } else { only(&of_b, &of_a) },
            gate => shell_line(&gate),
        },
    )
}

/// What both are about, or each of them.
fn heading(a: &StudyView<'_>, b: &StudyView<'_>) -> String {
    let [of_a, of_b] = [a, b].map(title::of_study);
    if of_a == of_b { format!("{of_a}: two studies") } else { format!("A: {of_a} · B: {of_b}") }
}

/// What became of a case, in a sentence: `nginx-fpm: B has 0.855 times the requests per second of A (0.812 to 0.901): worse.`
fn answer(a: &StudyView<'_>, b: &StudyView<'_>, (of_a, of_b): &(CaseId, CaseId)) -> String {
    let metric = a.analysis.primary;
    let name = if of_a == of_b { of_a.to_string() } else { format!("{of_b} (B) / {of_a} (A)") };
    if metric.key != b.analysis.primary.key {
        return format!("{name}: {}", WORDS.of("other_metric"));
    }
    let mean = |view: &StudyView<'_>, case: &CaseId| Some(view.analysis.case(case)?.summary.get(metric.key)?.value);
    let ratio_of =
        |told: &str, how_sure: &str| format!("{name}: B has {told} times the {} of A{how_sure}.", metric.title);
    match (change(a, b, of_a, metric), mean(a, of_a).zip(mean(b, of_b))) {
        (Some(Change { ratio: told, .. }), _) => match told.low.zip(told.high) {
            Some((low, high)) => {
                let what = match (metric.better, low > 1.0, high < 1.0) {
                    (_, false, false) => ": no difference is shown",
                    (Better::Higher, true, _) | (Better::Lower, _, true) => ": better",
                    (Better::Higher, _, true) | (Better::Lower, true, _) => ": worse",
                    (Better::Neither, _, _) => "",
                };
                ratio_of(&ratio(told.value), &format!(" ({} to {}){what}", ratio(low), ratio(high)))
            }
            None => ratio_of(&ratio(told.value), &WORDS.of("few_trials")),
        },
        (None, Some((in_a, in_b))) if in_a > 0.0 => ratio_of(&ratio(in_b / in_a), &WORDS.of("no_interval")),
        _ => format!("{name}: {}", WORDS.of("no_figure")),
    }
}

/// The metric that decides, of both sides of each case they share, on one axis.
fn picture(a: &StudyView<'_>, b: &StudyView<'_>, pairs: &[(CaseId, CaseId)]) -> Option<Picture> {
    /// Two rows a case.
    const MOST: usize = 8;
    let metric = a.analysis.primary;
    let estimate = |view: &StudyView<'_>, case: &CaseId| view.analysis.case(case)?.summary.get(metric.key).copied();
    let rows = pairs.iter().flat_map(|(of_a, of_b)| {
        [(format!("{of_a}, A"), estimate(a, of_a)), (format!("{of_b}, B"), estimate(b, of_b))]
    });
    Picture::of_rows(metric, &rows.collect::<Vec<_>>(), MOST)
}

fn figures(a: &StudyView<'_>, b: &StudyView<'_>, (of_a, of_b): &(CaseId, CaseId)) -> Table {
    let estimate = |view: &StudyView<'_>, case: &CaseId, metric: &Metric| -> Option<Estimate> {
        view.analysis.case(case)?.summary.get(metric.key).copied()
    };
    let decides = |metric: &&'static Metric| [a, b].iter().any(|view| view.analysis.primary.key == metric.key);
    let shown = SHOWN.into_iter().filter_map(metric);
    let decisive = METRICS.iter().filter(|metric| decides(metric) && !SHOWN.contains(&metric.key));
    let rows = decisive.chain(shown).filter_map(|metric| {
        let (in_a, in_b) = (estimate(a, of_a, metric), estimate(b, of_b, metric));
        (in_a.is_some() || in_b.is_some()).then(|| {
            let means = in_a.zip(in_b).filter(|(a, _)| a.value > 0.0);
            let told = change(a, b, of_a, metric).map(|change| ratio_with_interval(&change.ratio));
            vec![
                titled(metric),
                in_a.map_or_else(none, |estimate| with_interval(metric, &estimate)),
                in_b.map_or_else(none, |estimate| with_interval(metric, &estimate)),
                told.or(means.map(|(a, b)| ratio(b.value / a.value))).unwrap_or_else(none),
            ]
        })
    });
    let columns = vec![WORDS.of("metric"), a.study.id.to_string(), b.study.id.to_string(), WORDS.of("second_to_first")];
    Table { columns, rows: rows.collect() }
}

/// How a case changed; none where conditions differ, or there is too little to say.
fn change(a: &StudyView<'_>, b: &StudyView<'_>, case: &CaseId, metric: &'static Metric) -> Option<Change> {
    // Each case by itself: what another one lacks takes nothing from it.
    let alone = |view: &StudyView<'_>| {
        let mut study = view.study.clone();
        study.cases.retain(|each| each.id == *case);
        study
    };
    // No threshold: nothing is passed or failed here.
    let changes = between_studies(Some(metric), (&alone(a), a.trials), (&alone(b), b.trials), 0.0).ok()?;
    changes.into_iter().next()
}

/// `0.855 (0.812 to 0.901)`.
fn ratio_with_interval(estimate: &Estimate) -> String {
    let interval = estimate.low.zip(estimate.high).map(|(low, high)| format!(" ({} to {})", ratio(low), ratio(high)));
    format!("{}{}", ratio(estimate.value), interval.unwrap_or_default())
}

/// `1,244 (1,201 to 1,287), 6 trials`.
pub(super) fn with_interval(metric: &Metric, estimate: &Estimate) -> String {
    let Estimate { value, low, high, n } = estimate;
    let shown = |value: f64| in_tables(metric.unit, value);
    let interval = low.zip(*high).map(|(low, high)| format!(" ({} to {})", shown(low), shown(high)));
    let trials = if *n == 1 { "1 trial".to_owned() } else { format!("{n} trials") };
    format!("{}{}, {trials}", shown(*value), interval.unwrap_or_default())
}

fn none() -> String {
    "n/a".to_owned()
}

/// What each study was, with what differs marked.
#[derive(Serialize)]
struct FactRow {
    name: String,
    a: String,
    b: String,
    differs: bool,
}

fn facts(a: &StudyView<'_>, b: &StudyView<'_>) -> Vec<FactRow> {
    type Reader = fn(&StudyView<'_>) -> String;
    let rows: [(&str, Reader); 8] = [
        ("workload", |view| view.study.workload.to_string()),
        ("started", |view| format!("{} UTC", time(view.study.started_at))),
        ("ended", |view| view.finished_at.map_or_else(|| WORDS.of("not_over"), |at| format!("{} UTC", time(at)))),
        ("machine", |view| {
            let machine = &view.study.machine;
            format!("{} CPUs ({}), Linux {}", machine.cpus, machine.cpu_model, machine.kernel)
        }),
        ("trials_stored", |view| view.trials.len().to_string()),
        ("decides", |view| titled(view.analysis.primary)),
        ("precision", |view| percent(view.study.precision)),
        ("version", |view| view.study.stampede_version.clone()),
    ];
    let rows = rows.into_iter().map(|(name, reader)| {
        let (a, b) = (reader(a), reader(b));
        FactRow { name: WORDS.of(name), differs: a != b, a, b }
    });
    rows.collect()
}
