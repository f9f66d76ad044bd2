//! The open part of a comparison: response times at a share of the throughput that its closed part found.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Advice, CaseSummary, OpenPartAnalysis, OpenRates};
use stampede_core::{CaseId, LeftOut, Outcome};

use crate::StudyView;
use crate::columns::{self, COMPARED};
use crate::conclusion::sentences;
use crate::json::WireStudy;
use crate::page::{Block, Column, Table};
use crate::quantity::{number, ratio, with_unit};
use crate::recommendation::json::WireLeftOut;
use crate::versus::{Outcome as Versused, Versus};

/// What there is to say of it beside the first line.
pub(crate) fn blocks(view: &StudyView<'_>) -> Vec<Block> {
    let Some(open) = view.open_part else { return Vec::new() };
    let OpenPartAnalysis { part, rates, .. } = open;
    let OpenRates { slowest, rate, left_out, .. } = rates;
    let all = view.with_parts();
    let [_, shared, own @ ..] = &all[..] else { return Vec::new() };
    let name = |case: &CaseId| marked(view, case);
    let rate = number(*rate);
    let mut blocks = vec![
        Block::Caption(format!(
            "Response times at {} of the throughput of the slowest, {slowest}: {rate} requests a second for all",
            part.share
        )),
        Block::Table(compared(shared, name)),
        Block::Paragraph(measured(shared)),
    ];
    let missing = left_out.iter().map(|LeftOut { case, reason, .. }| Block::Warning(format!("{case}: {reason}")));
    blocks.extend(Block::list("Not measured at this rate", missing));
    let title = shared.analysis.primary.title;
    let verdicts = format!("Pairs, by {title}: ratio within each round, with its 95 % interval");
    blocks.extend(Block::list(&verdicts, sentences(shared, name).into_iter().map(Block::Item)));
    if let [own] = own {
        blocks.extend([
            Block::Caption(format!(
                "Response times at {} of each one's own throughput: not compared, as rates differ",
                part.share
            )),
            Block::Table(each(view, rates, shared, own)),
            Block::Paragraph(measured(own)),
        ]);
    }
    let uncounted = [shared].into_iter().chain(own).flat_map(uncounted);
    blocks.extend(Block::list("Trials at these rates that do not count", uncounted));
    blocks
}

/// A case's name with its role.
fn marked(view: &StudyView<'_>, case: &CaseId) -> String {
    let role = view.study.cases.iter().find(|known| known.id == *case).and_then(|case| columns::mark(case.role));
    role.map_or_else(|| case.to_string(), |mark| format!("{case} ({mark})"))
}

fn columns_of(shared: &StudyView<'_>, rows: &[(StudyView<'_>, &CaseSummary)]) -> Vec<columns::Column> {
    let summaries: Vec<&CaseSummary> = rows.iter().map(|(_, summary)| *summary).collect();
    columns::of_open_part(shared.analysis.primary, &summaries)
}

fn figures<'a>(
    columns: impl IntoIterator<Item = &'a columns::Column>,
    rows: &[(StudyView<'_>, &CaseSummary)],
) -> Vec<Column> {
    let figures = columns
        .into_iter()
        .map(|column| column.of_cells(rows.iter().map(|(view, summary)| column.cell(view, summary)).collect()));
    figures.collect()
}

fn compared(shared: &StudyView<'_>, name: impl Fn(&CaseId) -> String) -> Table {
    let summaries = &shared.analysis.cases;
    let names = Column::names("case", summaries.iter().map(|summary| name(&summary.case)).collect());
    let rows: Vec<_> = summaries.iter().map(|summary| (*shared, summary)).collect();
    let columns = columns_of(shared, &rows);
    Table { columns: [vec![names], figures(columns.iter().chain(&COMPARED), &rows)].concat() }
}

/// Each case at its own rate; of the slowest that is the shared one.
fn each(view: &StudyView<'_>, rates: &OpenRates, shared: &StudyView<'_>, own: &StudyView<'_>) -> Table {
    let (mut names, mut per_second, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for CaseSummary { case, .. } in &view.analysis.cases {
        let rate = rates.own.iter().find(|(of, _)| of == case).map(|(_, rate)| *rate);
        let measured = if rate.is_some() { own } else { shared };
        let Some(summary) = measured.analysis.case(case) else { continue };
        names.push(marked(view, case));
        per_second.push(number(rate.unwrap_or(rates.rate)));
        rows.push((*measured, summary));
    }
    let head = vec![
        Column::names("case", names),
        Column::figures("rate, requests per second", per_second).headed(["", "req/s"]),
    ];
    let columns = columns_of(shared, &rows);
    Table { columns: [head, figures(&columns, &rows)].concat() }
}

/// `6 of 6 trials of 26 s measured, in 3 rounds; findings: stampede show 20260301-120000-0a1b.at70`.
fn measured(view: &StudyView<'_>) -> String {
    let measured = view.trials.iter().filter(|trial| trial.outcome == Outcome::Measured).count();
    let blocks = view.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let end = if view.finished_at.is_some() { "" } else { ", not finished" };
    format!(
        "{measured} of {} trials of {} s measured, in {blocks} {}{end}; findings: stampede show {}",
        view.trials.len(),
        view.study.duration.as_secs_f64(),
        if blocks == 1 { "round" } else { "rounds" },
        view.study.id
    )
}

fn uncounted(view: &StudyView<'_>) -> Vec<Block> {
    crate::digest::uncounted(view).iter().map(|of| Block::Warning(of.text())).collect()
}

/// What the first line says of it: `p99 response time 18.2 ms at 70 % of the slowest (210 req/s), 0.80 times that of b (0.70 to 0.90)`.
pub(crate) fn latency(view: &StudyView<'_>, advice: &Advice) -> Option<String> {
    let OpenPartAnalysis { part, rates, shared, .. } = view.open_part?;
    let (case, other, of) = match advice {
        Advice::Best { case, lead } => (case, Some(&lead.verdict.b), String::new()),
        Advice::Alone { case, lead } => (case, lead.as_ref().map(|lead| &lead.verdict.b), String::new()),
        Advice::Tie { cases, .. } | Advice::Open { cases, .. } => {
            let case = cases.first()?;
            (case, cases.get(1), format!(" of {case}"))
        }
        Advice::Contradiction | Advice::Unfinished | Advice::Unmeasured | Advice::AllUnfit => return None,
    };
    let metric = shared.primary;
    let value = with_unit(metric.unit, shared.case(case)?.summary.get(metric.key)?.value);
    let versus = other.and_then(|other| Some(beside(&Versus::of(shared, case, other)?, other)));
    Some(format!(
        "{}{of} {value} at {} of the slowest ({} req/s){}",
        metric.title,
        part.share,
        number(rates.rate),
        versus.unwrap_or_default()
    ))
}

fn beside(versus: &Versus, other: &CaseId) -> String {
    let Some([times, low, high]) = versus.between() else {
        return format!(", {} times that of {other} (too few rounds for an interval)", ratio(versus.times));
    };
    match versus.outcome {
        Versused::Better | Versused::Worse => format!(", {times} times that of {other} ({low} to {high})"),
        Versused::Equivalent => format!(", equal to that of {other} ({low} to {high} times)"),
        Versused::Undecided => format!(", undecided against {other} ({times} times, {low} to {high})"),
    }
}

/// What followed a comparison at a share of its throughput.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OpenPart")]
pub(crate) struct WireOpenPart<'a> {
    /// The share of the throughput: 0.7.
    share: f64,
    /// The slowest candidate of the closed part.
    slowest: String,
    /// The share of its throughput, at which all cases were measured.
    rate_per_second: f64,
    /// Cases that were not measured at this rate.
    left_out: Vec<WireLeftOut>,
    /// All cases at this rate.
    shared: WireStudy<'a>,
    /// Each case at the share of its own throughput, but for those for which that is the rate above. Nothing is compared.
    own: Option<WireStudy<'a>>,
}

impl<'a> WireOpenPart<'a> {
    pub(crate) fn of(view: &StudyView<'a>) -> Option<Self> {
        let OpenPartAnalysis { part, rates, .. } = view.open_part?;
        let OpenRates { slowest, rate, left_out, .. } = rates;
        let mut parts = view.with_parts().into_iter().skip(1);
        let shared = WireStudy::of(&parts.next()?);
        Some(Self {
            share: part.share.share(),
            slowest: slowest.to_string(),
            rate_per_second: *rate,
            left_out: left_out.iter().map(WireLeftOut::of).collect(),
            shared,
            own: parts.next().map(|own| WireStudy::of(&own)),
        })
    }
}
