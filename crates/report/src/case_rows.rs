//! Cases as CSV (RFC 4180): a row each, with the mean of every metric and its interval, for tables and charts.

use stampede_analysis::METRICS;
use stampede_core::Estimate;

use crate::StudyView;
use crate::csv::{figure, written};
use crate::format::Format;

/// `--cases`.
pub(crate) const FORMAT: Format = Format {
    flag: "--cases",
    help: "Write a row for each case as CSV: each figure's mean with its interval (`-` is stdout, in place of the table)",
    write: |answer| render(&answer.studies()),
};

const COLUMNS: [&str; 6] = ["study", "workload", "case", "runtime", "cpus", "memory"];

/// Cases in the order of their ranks. A mean over too few trials has no interval, and what a case does not have is an empty field.
fn render(views: &[StudyView<'_>]) -> String {
    let figures = METRICS.iter().flat_map(|metric| ["", "_low", "_high"].map(|end| format!("{}{end}", metric.key)));
    let heading = COLUMNS.into_iter().map(str::to_owned).chain(figures).collect();
    written(heading, views.iter().flat_map(rows))
}

fn rows<'a>(view: &'a StudyView<'_>) -> impl Iterator<Item = Vec<String>> + 'a {
    view.analysis.cases.iter().filter_map(|summary| {
        let case = view.study.cases.iter().find(|case| case.id == summary.case)?;
        let (study, limits) = (&view.study.id, &case.limits);
        let who = [study.to_string(), view.study.workload.to_string(), case.id.to_string(), case.runtime.to_string()];
        let limits = [limits.cpus.cores().to_string(), limits.memory.get().to_string()];
        let of = |estimate: Option<&Estimate>| {
            [estimate.map(|mean| mean.value), estimate.and_then(|mean| mean.low), estimate.and_then(|mean| mean.high)]
        };
        let figures = METRICS.iter().flat_map(|metric| of(summary.summary.get(metric.key)).map(figure));
        Some(who.into_iter().chain(limits).chain(figures).collect())
    })
}
