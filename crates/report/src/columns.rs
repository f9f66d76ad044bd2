//! The columns of the table of cases, which the terminal and Markdown share.

use std::ops::RangeInclusive;

use stampede_analysis::{CaseSummary, METRICS, Metric, left_out, metric};
use stampede_core::{CaseRole, Estimate, Verdict, VerdictWord};

use crate::StudyView;
use crate::page;
use crate::quantity::{in_tables, number_beside, ratio, scale, unit_in_tables};

/// A column of figures.
pub(crate) struct Column {
    content: Content,
    /// Where there is no room, columns of the highest number go first; 0 stays.
    pub(crate) rank: u8,
}

enum Content {
    /// The mean of a metric.
    Mean(&'static str),
    /// Half the width of the interval of a metric, in the unit of tables: it stands beside its mean.
    HalfWidth(&'static str),
    /// The primary metric over that of the best case, with what that means.
    ToBest,
    /// The ranks that the case may have.
    Ranks,
}

/// What stands behind the name of a case that is no candidate.
pub(crate) fn mark(role: CaseRole) -> Option<&'static str> {
    match role {
        CaseRole::Candidate => None,
        CaseRole::Reference => Some("ref"),
        CaseRole::NotForProduction => Some("dev"),
    }
}

/// What the names of cases bear beside them, as far as these do.
pub(crate) fn notes_on_names(view: &StudyView<'_>, names: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if names.iter().any(|name| name.ends_with(']')) {
        notes.push("[1] is the number of a finding, explained below.".to_owned());
    }
    let has = |role| view.study.cases.iter().any(|case| case.role == role);
    for (role, what) in
        [(CaseRole::Reference, "shows what is possible"), (CaseRole::NotForProduction, "for development only")]
    {
        if let Some(mark) = mark(role).filter(|_| has(role)) {
            notes.push(format!("({mark}): {what}; never recommended."));
        }
    }
    notes
}

/// What no table is without: a case that fails is seen as one on the narrowest terminal.
const FAILED: &str = "unanswered_share";

/// All columns beside the case's name, in order.
pub(crate) const COLUMNS: &[Column] = &[
    Column { content: Content::Mean("throughput_rps"), rank: 0 },
    Column { content: Content::HalfWidth("throughput_rps"), rank: 1 },
    Column { content: Content::ToBest, rank: 1 },
    Column { content: Content::Ranks, rank: 5 },
    Column { content: Content::Mean("requests_per_cpu_second"), rank: 3 },
    Column { content: Content::Mean("response_p50_us"), rank: 4 },
    Column { content: Content::Mean("response_p95_us"), rank: 5 },
    Column { content: Content::Mean("response_p99_us"), rank: 1 },
    Column { content: Content::Mean("service_p99_us"), rank: 7 },
    Column { content: Content::Mean("memory_peak_bytes"), rank: 2 },
    Column { content: Content::Mean(FAILED), rank: 0 },
    Column { content: Content::Mean("throttled_share"), rank: 6 },
];

/// Those of an open part, in which this metric decides: of the other percentiles, those that some case has.
pub(crate) fn of_open_part(deciding: &'static Metric, summaries: &[&CaseSummary]) -> Vec<Column> {
    let mut columns = Vec::new();
    for metric in METRICS.iter().filter(|metric| metric.key.starts_with("response_")) {
        let Metric { key, .. } = metric;
        let is_shown = LATENCIES.contains(key) && summaries.iter().any(|summary| summary.summary.contains_key(key));
        if !is_shown && *key != deciding.key {
            continue;
        }
        let rank = if *key == deciding.key { 0 } else { 2 };
        columns.push(Column { content: Content::Mean(key), rank });
        columns.push(Column { content: Content::HalfWidth(key), rank: rank + 1 });
    }
    columns.push(Column { content: Content::Mean(FAILED), rank: 0 });
    columns
}

/// The percentiles of an open part.
const LATENCIES: [&str; 3] = ["response_p50_us", "response_p99_us", "response_p999_us"];

/// How each case of an open part compares with the best.
pub(crate) const COMPARED: [Column; 2] =
    [Column { content: Content::ToBest, rank: 1 }, Column { content: Content::Ranks, rank: 4 }];

impl Column {
    /// A heading of two short lines.
    pub(crate) fn heading(&self) -> [&'static str; 2] {
        match self.content {
            Content::Mean(key) => metric(key).map_or([key, ""], |metric| metric.heading),
            Content::HalfWidth(_) => ["95 %", "±"],
            Content::ToBest => ["to", "best"],
            Content::Ranks => ["", "rank"],
        }
    }

    /// A heading that needs no explanation.
    pub(crate) fn title(&self) -> String {
        match self.content {
            Content::Mean(key) => metric(key).map_or_else(|| key.to_owned(), titled),
            Content::HalfWidth(_) => "95 % ±".to_owned(),
            Content::ToBest => "ratio to best".to_owned(),
            Content::Ranks => "rank".to_owned(),
        }
    }

    /// The figure of a case. A case that was never measured says so in the first column.
    pub(crate) fn cell(&self, view: &StudyView<'_>, summary: &CaseSummary) -> String {
        let figure = match self.content {
            Content::Mean(key) => mean(key, summary),
            Content::HalfWidth(key) => half_width_of(key, summary),
            Content::ToBest => to_best(view, summary),
            Content::Ranks => summary.ranks.as_ref().map(ranks),
        };
        figure.unwrap_or_else(|| {
            let absent = match (summary.summary.is_empty(), self.leads()) {
                (true, true) => unmeasured(view, summary),
                (true, false) => "-",
                (false, _) => "n/a",
            };
            absent.to_owned()
        })
    }

    /// Whether it is the first column, which says what became of a case without figures.
    fn leads(&self) -> bool {
        self.rank == 0 && !matches!(self.content, Content::Mean(FAILED))
    }

    /// It with its cells, and with what a reader must know of them.
    pub(crate) fn of_cells(&self, cells: Vec<String>) -> page::Column {
        let notes = self.notes(&cells);
        page::Column::figures(&self.title(), cells).headed(self.heading()).ranked(self.rank).noted(notes)
    }

    fn notes(&self, cells: &[String]) -> Vec<String> {
        let any = |test: fn(&str) -> bool| cells.iter().any(|cell| test(cell));
        let note = |holds: bool, text: &'static str| holds.then_some(text);
        let has_figures = any(|cell| cell.starts_with(|first: char| first.is_ascii_digit()));
        let lacks = any(|cell| cell == "n/a");
        let notes = match self.content {
            Content::Mean(key) => vec![
                note(self.leads() && has_figures, "Figures are means over the starts of each server."),
                note(key.starts_with("response_") && has_figures, "Response times count from when a request was due."),
                note(key.starts_with("service_") && has_figures, "Service times count from when a request was sent."),
                note(
                    is_percentile(key) && lacks,
                    "A percentile is n/a if fewer than 50 requests of a start exceed it.",
                ),
            ],
            Content::HalfWidth(_) => vec![
                note(any(|cell| cell.starts_with('±')), "± is half of the 95 % confidence interval."),
                note(lacks && !any(|cell| cell.starts_with('±')), "± needs two starts or more."),
            ],
            Content::ToBest => {
                let open = any(|cell| cell.starts_with('?'));
                let equal = any(|cell| cell.starts_with('='));
                vec![
                    note(open && equal, "? before a ratio means undecided, = equivalent."),
                    note(open && !equal, "? before a ratio means undecided."),
                    note(equal && !open, "= before a ratio means equivalent."),
                ]
            }
            Content::Ranks => {
                vec![note(
                    any(|cell| cell.len() > 1 && cell.contains('-')),
                    "A rank is a range if the data do not decide it.",
                )]
            }
        };
        notes.into_iter().flatten().map(str::to_owned).collect()
    }
}

/// Whether it is a percentile of response or service times, and not their mean or deviation.
fn is_percentile(key: &str) -> bool {
    key.contains("_p") && key.ends_with("_us")
}

/// What became of a case without any figure.
fn unmeasured(view: &StudyView<'_>, summary: &CaseSummary) -> &'static str {
    if left_out(view.study, view.trials).contains(&summary.case) {
        return "skipped";
    }
    let last = view.trials.iter().rfind(|trial| trial.case == summary.case);
    match last.map(|trial| trial.outcome.words()) {
        Some((word, Some(_))) => word,
        Some((_, None)) | None => "not run",
    }
}

/// A metric's title with the unit that tables show.
pub(crate) fn titled(metric: &'static Metric) -> String {
    match unit_in_tables(metric.unit) {
        Some(unit) => format!("{}, {unit}", metric.title),
        None => metric.title.to_owned(),
    }
}

fn mean(key: &str, summary: &CaseSummary) -> Option<String> {
    let estimate = summary.summary.get(key)?;
    Some(in_tables(metric(key)?.unit, estimate.value))
}

/// Half the width of the interval beside [`mean`].
fn half_width_of(key: &str, summary: &CaseSummary) -> Option<String> {
    half_width(&in_unit(metric(key)?, summary.summary.get(key)?))
}

/// An estimate in the unit that tables show.
pub(crate) fn in_unit(metric: &Metric, estimate: &Estimate) -> Estimate {
    let scaled = |value: f64| value * scale(metric.unit);
    let Estimate { value, low, high, n } = *estimate;
    Estimate { value: scaled(value), low: low.map(scaled), high: high.map(scaled), n }
}

/// `2`, or `2-4` where the data leave it open.
pub(crate) fn ranks(ranks: &RangeInclusive<usize>) -> String {
    if ranks.start() == ranks.end() { ranks.start().to_string() } else { format!("{}-{}", ranks.start(), ranks.end()) }
}

/// Half the width of an interval: `±435`.
pub(crate) fn half_width(estimate: &Estimate) -> Option<String> {
    let width = (estimate.high? - estimate.low?) / 2.0;
    Some(format!("±{}", number_beside(width, estimate.value)))
}

/// The verdict between the best case and this one, read from this one's side.
fn to_best(view: &StudyView<'_>, summary: &CaseSummary) -> Option<String> {
    let best = view.analysis.cases.first()?;
    if summary.summary.is_empty() {
        return None;
    }
    if best.case == summary.case {
        return Some("best".to_owned());
    }
    let verdict = against(view, best, summary)?;
    let ratio = ratio(1.0 / verdict.ratio.value);
    Some(match verdict.verdict {
        VerdictWord::Faster | VerdictWord::Slower => ratio,
        VerdictWord::Equivalent => format!("={ratio}"),
        VerdictWord::Undecided => format!("?{ratio}"),
    })
}

fn against<'a>(view: &StudyView<'a>, best: &CaseSummary, other: &CaseSummary) -> Option<&'a Verdict> {
    let mut verdicts = view.analysis.verdicts.iter();
    verdicts.find(|verdict| verdict.a == best.case && verdict.b == other.case)
}
