//! Trials as CSV (RFC 4180): a row each, with every metric, for spreadsheets and statistics programs.

use stampede_analysis::METRICS;
use stampede_core::{Counts, Measurement, Trial};

use crate::StudyView;
use crate::format::Format;
use crate::json::rounded;
use crate::places;

/// `--csv`.
pub(crate) const FORMAT: Format = Format {
    flag: "--csv",
    help: "Write a row for each trial as CSV (`-` is stdout, in place of the table)",
    write: |answer| render(&answer.studies()),
};

/// The columns before those of the metrics.
const COLUMNS: [&str; 14] = [
    "study",
    "workload",
    "case",
    "runtime",
    "block",
    "position",
    "started_at",
    "outcome",
    "reason",
    "window_s",
    "sent",
    "ok",
    "failed",
    "unfinished",
];

/// Renders the trials of these studies under one heading. What a trial does not have is an empty field. Units are in the
/// names; figures are the same as in the studies' JSON.
pub fn render(views: &[StudyView<'_>]) -> String {
    let heading = COLUMNS.into_iter().chain(METRICS.iter().map(|metric| metric.key)).map(str::to_owned).collect();
    written(heading, views.iter().flat_map(|view| view.trials.iter().map(|trial| row(view, trial))))
}

/// A heading and rows that are as long.
pub(crate) fn written(heading: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in std::iter::once(heading).chain(rows) {
        #[expect(clippy::expect_used, reason = "a vector takes all bytes, and all rows are of one length")]
        writer.write_record(&record).expect("rows are of one length");
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn row(view: &StudyView<'_>, trial: &Trial) -> Vec<String> {
    let (outcome, reason) = trial.outcome.words();
    let runtime = view.study.cases.iter().find(|case| case.id == trial.case).map(|case| case.runtime.to_string());
    let measured = trial.measurement.as_ref();
    let count =
        |of: fn(&Counts) -> u64| measured.map_or_else(String::new, |measured| of(&measured.requests).to_string());
    let window = |measured: &Measurement| measured.window.as_secs_f64().to_string();
    let mut row = vec![
        view.study.id.to_string(),
        view.study.workload.to_string(),
        trial.case.to_string(),
        runtime.unwrap_or_default(),
        trial.block.to_string(),
        trial.position.to_string(),
        trial.started_at.to_string(),
        outcome.to_owned(),
        places::without_runs(reason.unwrap_or_default()).into_owned(),
        measured.map(window).unwrap_or_default(),
        count(|requests| requests.sent),
        count(|requests| requests.ok),
        count(|requests| requests.failed),
        count(|requests| requests.unfinished),
    ];
    row.extend(METRICS.iter().map(|metric| figure((metric.reader)(trial))));
    row
}

/// A figure as it is in JSON; nothing where there is none.
pub(crate) fn figure(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| rounded(value).to_string())
}
