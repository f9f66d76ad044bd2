//! The part of a study's page that is updated while the study is measured: what is stored of each case so far.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use stampede_analysis::planned;
use stampede_core::{CaseId, Outcome, Rounds, StudyKind, Trial};

use super::comparison::with_interval;
use super::{WORDS, link};
use crate::StudyView;
use crate::columns::titled;
use crate::html::render;
use crate::html::study::Table;
use crate::quantity::{approximately, in_tables};

/// Where a page hears of what is stored of a study (`id`).
pub const EVENTS: &str = "/events";

/// So many of the newest trials are listed.
const NEWEST: usize = 8;

/// A trial in the list of the newest.
#[derive(Serialize)]
struct Newest {
    round: u32,
    case: String,
    /// Its figure, or that it does not count.
    told: String,
    trouble: bool,
}

/// The part, without its frame.
pub fn live(view: &StudyView<'_>) -> String {
    render(
        "live.html",
        context! {
            texts => Serde(&WORDS.0),
            status => status(view),
            stored => view.trials.len(),
            planned => total(view),
            chart => Serde(crate::dots::followed(view)),
            metric => titled(view.analysis.primary),
            newest => Serde(view.trials.iter().rev().take(NEWEST).map(|trial| newest(view, trial)).collect::<Vec<_>>()),
            rows => Serde(rows(view)),
        },
    )
}

/// Where the page of a study hears of it.
pub(in crate::html) fn events(view: &StudyView<'_>) -> String {
    link(EVENTS, &[("id", view.study.id.as_str())])
}

/// How many trials the study will have; none of a search, and where the verdicts decide when it ends.
fn total(view: &StudyView<'_>) -> Option<usize> {
    let is_search = matches!(view.study.kind, StudyKind::Tune | StudyKind::Capacity);
    planned(view.study, view.trials).filter(|_| !is_search)
}

/// `7 of 24 trials are stored, about 3 minutes are left. The last one: nginx-fpm in round 4 at 2026-07-13 10:32:07 UTC.`
fn status(view: &StudyView<'_>) -> String {
    let Some(last) = view.trials.last() else { return WORDS.of("live_nothing") };
    let stored = view.trials.len();
    let total = total(view);
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let left = match (total, view.analysis.block_time, view.study.rounds) {
        (Some(total), Some(block), _) if total > stored => {
            let left = block.mul_f64((total - stored) as f64 / view.study.cases.len().max(1) as f64);
            format!(", about {} are left", approximately(left))
        }
        (None, _, Rounds::Auto { max_time }) => {
            format!("; it ends when its verdicts are clear, after {} at the latest", approximately(max_time))
        }
        _ => String::new(),
    };
    format!(
        "{stored}{of} trials are stored{left}. The last one: {} in round {} at {} UTC.",
        last.case,
        last.block,
        last.started_at.strftime("%Y-%m-%d %H:%M:%S")
    )
}

fn newest(view: &StudyView<'_>, trial: &Trial) -> Newest {
    let metric = view.analysis.primary;
    let told = match trial.outcome.words() {
        (word, Some(reason)) => format!("{word}: {}", Outcome::problem(reason)),
        (_, None) => (metric.reader)(trial).map_or_else(|| "n/a".to_owned(), |value| in_tables(metric.unit, value)),
    };
    Newest { round: trial.block, case: trial.case.to_string(), told, trouble: trial.outcome != Outcome::Measured }
}

/// The best case first.
fn rows(view: &StudyView<'_>) -> Table {
    let metric = view.analysis.primary;
    let columns = vec![WORDS.of("case"), titled(metric), WORDS.of("trials_stored"), WORDS.of("uncounted")];
    let of = |case: &CaseId| view.trials.iter().filter(|trial| trial.case == *case).collect::<Vec<_>>();
    let row = |summary: &stampede_analysis::CaseSummary| {
        let trials = of(&summary.case);
        let uncounted = trials.iter().filter(|trial| trial.outcome != Outcome::Measured).count();
        let estimate = summary.summary.get(metric.key);
        vec![
            summary.case.to_string(),
            estimate.map_or_else(|| "n/a".to_owned(), |estimate| with_interval(metric, estimate)),
            trials.len().to_string(),
            uncounted.to_string(),
        ]
    };
    Table { columns, rows: view.analysis.cases.iter().map(row).collect() }
}
