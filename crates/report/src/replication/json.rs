//! A published experiment beside ours as JSON. Published figures are in their own units, ours in those of our metrics.

use serde::Serialize;
use stampede_analysis::{CheckedClaim, OurFigure, ReplicatedPair, ReplicatedRow};
use stampede_core::{ClaimTest, Estimate, PublishedColumn, PublishedFigure, PublishedRow, Verdict, VerdictWord};

use super::digest::word;
use super::{ReplicatedTable, ReplicationView};

const SCHEMA: &str = "stampede/replication/v1";

pub(super) fn render(view: &ReplicationView<'_>) -> String {
    #[expect(clippy::expect_used, reason = "numbers and texts are all that the wire structs hold")]
    let mut text = serde_json::to_string_pretty(&WireReplication::of(view)).expect("wire structs are plain JSON");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct WireReplication<'a> {
    schema: &'static str,
    name: &'a str,
    title: &'a str,
    source: &'a str,
    unlike: &'a [String],
    scale: f64,
    rate_scale: f64,
    tables: Vec<WireTable<'a>>,
    claims: Vec<WireClaim<'a>>,
}

#[derive(Serialize)]
struct WireTable<'a> {
    id: &'a str,
    title: &'a str,
    study: Option<&'a str>,
    baseline: Option<&'a str>,
    columns: Vec<WireColumn<'a>>,
    rows: Vec<WireRow<'a>>,
    pairs: Vec<WirePair<'a>>,
}

#[derive(Serialize)]
struct WireColumn<'a> {
    metric: &'a str,
    published_unit: String,
}

#[derive(Serialize)]
struct WireRow<'a> {
    case: &'a str,
    title: &'a str,
    unlike: Option<&'a str>,
    problem: Option<&'a str>,
    figures: Vec<WireFigure>,
}

#[derive(Serialize)]
struct WireFigure {
    published_low: Option<f64>,
    published_high: Option<f64>,
    ours: Option<WireEstimate>,
    counts: Option<bool>,
    published_ratio: Option<f64>,
    our_ratio: Option<f64>,
}

#[derive(Serialize)]
struct WireEstimate {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: u32,
}

#[derive(Serialize)]
struct WirePair<'a> {
    a: &'a str,
    b: &'a str,
    published_ratio: f64,
    our_ratio: Option<WireEstimate>,
    verdict: Option<VerdictWord>,
    standing: &'static str,
    because: &'a [String],
}

#[derive(Serialize)]
struct WireClaim<'a> {
    says: &'a str,
    kind: &'static str,
    table: Option<&'a str>,
    of: Option<&'a str>,
    to: Option<&'a str>,
    metric: Option<&'a str>,
    from: Option<f64>,
    up_to: Option<f64>,
    standing: &'static str,
    found: Option<WireEstimate>,
    because: &'a [String],
    problem: Option<&'a str>,
}

impl<'a> WireReplication<'a> {
    fn of(view: &ReplicationView<'a>) -> Self {
        let ReplicationView { publication, scale, rate_scale, tables, claims } = view;
        Self {
            schema: SCHEMA,
            name: &publication.name,
            title: &publication.title,
            source: &publication.source,
            unlike: &publication.unlike,
            scale: *scale,
            rate_scale: *rate_scale,
            tables: tables.iter().map(WireTable::of).collect(),
            claims: claims.iter().map(WireClaim::of).collect(),
        }
    }
}

impl<'a> WireTable<'a> {
    fn of(of: &'a ReplicatedTable<'a>) -> Self {
        let ReplicatedTable { run, replication } = of;
        let columns = run
            .table
            .columns
            .iter()
            .map(|PublishedColumn { metric, unit }| WireColumn { metric, published_unit: unit.to_string() });
        Self {
            id: &run.table.id,
            title: &run.table.title,
            study: run.study.map(|study| study.id.as_str()),
            baseline: replication.baseline.as_ref().map(|case| case.as_str()),
            columns: columns.collect(),
            rows: run.table.rows.iter().zip(&replication.rows).map(|(row, ours)| WireRow::of(row, ours)).collect(),
            pairs: replication.pairs.iter().map(WirePair::of).collect(),
        }
    }
}

impl<'a> WireRow<'a> {
    fn of(published: &'a PublishedRow, ours: &'a ReplicatedRow) -> Self {
        let PublishedRow { case, title, figures, unlike } = published;
        let ReplicatedRow { figures: our_figures, ratios, problem, case: _, verdict: _ } = ours;
        let figures = figures.iter().zip(our_figures).zip(ratios).map(|((published, ours), ratios)| WireFigure {
            published_low: published.map(|PublishedFigure { low, .. }| low),
            published_high: published.map(|PublishedFigure { high, .. }| high),
            ours: ours.map(|OurFigure { estimate, .. }| WireEstimate::of(&estimate)),
            counts: ours.map(|ours| ours.counts),
            published_ratio: ratios.published,
            our_ratio: ratios.ours,
        });
        Self {
            case: case.as_str(),
            title,
            unlike: unlike.as_deref(),
            problem: problem.as_deref(),
            figures: figures.collect(),
        }
    }
}

impl<'a> WirePair<'a> {
    fn of(pair: &'a ReplicatedPair) -> Self {
        let ReplicatedPair { a, b, published, verdict, standing, because } = pair;
        let our_ratio = verdict.as_ref().map(|Verdict { ratio, .. }| WireEstimate::of(ratio));
        Self {
            a: a.as_str(),
            b: b.as_str(),
            published_ratio: *published,
            our_ratio,
            verdict: verdict.as_ref().map(|verdict| verdict.verdict),
            standing: word(*standing),
            because,
        }
    }
}

impl<'a> WireClaim<'a> {
    fn of(checked: &'a CheckedClaim<'a>) -> Self {
        let CheckedClaim { claim, standing, metric, found, because, problem } = checked;
        let (kind, table, of, to, within) = match &claim.test {
            ClaimTest::Ratio { table, of, to, within, .. } => ("ratio", Some(table), Some(of), Some(to), Some(within)),
            ClaimTest::Figure { table, of, within, .. } => ("figure", Some(table), Some(of), None, Some(within)),
            ClaimTest::Untested { .. } => ("untested", None, None, None, None),
        };
        Self {
            says: &claim.says,
            kind,
            table: table.map(String::as_str),
            of: of.map(|case| case.as_str()),
            to: to.map(|case| case.as_str()),
            metric: metric.map(|metric| metric.key),
            from: within.and_then(|within| within.from),
            up_to: within.and_then(|within| within.to),
            standing: word(*standing),
            found: found.as_ref().map(WireEstimate::of),
            because,
            problem: problem.as_deref(),
        }
    }
}

impl WireEstimate {
    fn of(estimate: &Estimate) -> Self {
        let Estimate { value, low, high, n } = *estimate;
        Self { value, low, high, n }
    }
}
