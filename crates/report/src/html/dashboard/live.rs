//! The part of a study's page that is made anew while the study is measured: what there is of each case so far.

use minijinja::context;
use minijinja::value::Serde;
use stampede_core::{CaseId, Outcome, Rounds, StudyKind};

use super::comparison::with_interval;
use super::{WORDS, link};
use crate::StudyView;
use crate::columns::titled;
use crate::html::render;
use crate::html::study::Table;

/// Where a page hears of what is stored of a study (`id`).
pub const EVENTS: &str = "/events";

/// The part, without its frame.
pub fn live(view: &StudyView<'_>) -> String {
    render(
        "live.html",
        context! {
            texts => Serde(&WORDS.0),
            status => status(view),
            chart => Serde(crate::dots::chart(view, view.analysis.primary)),
            rows => Serde(rows(view)),
        },
    )
}

/// Where the page of a study hears of it.
pub(in crate::html) fn events(view: &StudyView<'_>) -> String {
    link(EVENTS, &[("id", view.study.id.as_str())])
}

/// `7 of 24 trials are stored, the last of round 4: nginx-fpm at 2026-07-13 10:32:07 UTC`.
fn status(view: &StudyView<'_>) -> String {
    let Some(last) = view.trials.last() else { return WORDS.of("live_nothing") };
    // Of a search nobody knows how many it will have.
    let is_search = matches!(view.study.kind, StudyKind::Tune | StudyKind::Capacity);
    let of = match view.study.rounds {
        Rounds::Fixed(rounds) if !is_search => format!(" of {}", rounds as usize * view.study.cases.len()),
        Rounds::Fixed(_) | Rounds::Auto { .. } => String::new(),
    };
    format!(
        "{}{of} trials are stored, the last of round {}: {} at {} UTC",
        view.trials.len(),
        last.block,
        last.case,
        last.started_at.strftime("%Y-%m-%d %H:%M:%S")
    )
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
