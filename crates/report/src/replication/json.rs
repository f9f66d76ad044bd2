//! A published experiment beside ours as JSON. Published figures are in their own units, ours in those of our metrics.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use stampede_analysis::{CheckedClaim, OurFigure, ReplicatedPair, ReplicatedRow, TableRun};
use stampede_core::{
    ClaimTest, Estimate, PublishedColumn, PublishedFigure, PublishedRow, PublishedTable, Verdict, VerdictWord,
};

use super::digest::word;
use super::score::{lateness, limiting};
use super::{ReplicatedTable, ReplicationView};
use crate::audits::WireAudit;
use crate::json::rendered;
use crate::places;
use crate::steps::WireStep;

const SCHEMA: &str = "stampede/replication/v1";

/// Renders it as JSON. It ends with a line break.
pub fn json(view: &ReplicationView<'_>) -> String {
    rendered(&WireReplication::of(view))
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
    client_timeout_us: Option<f64>,
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
    problem: Option<Cow<'a, str>>,
    figures: Vec<WireFigure>,
    /// How late the generator began requests, which an open load alone says.
    lateness_p99_us: Option<f64>,
    /// The parts whose own share of CPU time ran out in most periods, each with the share of these.
    limiting_parts: BTreeMap<&'a str, f64>,
    /// What the trials made that have several kinds of request, or audits.
    trials: Vec<WireTrial<'a>>,
}

#[derive(Serialize)]
struct WireTrial<'a> {
    block: u32,
    kinds: Vec<WireStep<'a>>,
    audits: Vec<WireAudit<'a>>,
}

#[derive(Serialize)]
struct WireFigure {
    published_low: Option<f64>,
    published_high: Option<f64>,
    ours: Option<Estimate>,
    counts: Option<bool>,
    published_ratio: Option<f64>,
    our_ratio: Option<f64>,
}

#[derive(Serialize)]
struct WirePair<'a> {
    metric: &'a str,
    a: &'a str,
    b: &'a str,
    published_ratio: f64,
    our_ratio: Option<Estimate>,
    verdict: Option<VerdictWord>,
    standing: &'static str,
    because: Vec<String>,
}

#[derive(Serialize)]
struct WireClaim<'a> {
    says: &'a str,
    kind: &'static str,
    table: Option<&'a str>,
    of: Option<&'a str>,
    to: Option<&'a str>,
    against: Option<[&'a str; 2]>,
    metric: Option<&'a str>,
    from: Option<f64>,
    up_to: Option<f64>,
    standing: &'static str,
    found: Option<Estimate>,
    because: Vec<String>,
    problem: Option<Cow<'a, str>>,
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
            tables: tables.iter().map(|table| WireTable::of(table, *scale)).collect(),
            claims: claims.iter().map(WireClaim::of).collect(),
        }
    }
}

impl<'a> WireTable<'a> {
    fn of(of: &'a ReplicatedTable<'a>, scale: f64) -> Self {
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
            client_timeout_us: run.table.client_timeout(scale).map(|timeout| timeout.as_secs_f64() * 1e6),
            columns: columns.collect(),
            rows: run.table.rows.iter().zip(&replication.rows).map(|(row, ours)| WireRow::of(run, row, ours)).collect(),
            pairs: replication.pairs.iter().map(|pair| WirePair::of(run.table, pair)).collect(),
        }
    }
}

impl<'a> WireRow<'a> {
    fn of(run: &TableRun<'a>, published: &'a PublishedRow, ours: &'a ReplicatedRow) -> Self {
        let PublishedRow { case, title, figures, unlike } = published;
        let ReplicatedRow { figures: our_figures, ratios, problem, case: _, verdict: _ } = ours;
        let figures = figures.iter().zip(our_figures).zip(ratios).map(|((published, ours), ratios)| WireFigure {
            published_low: published.map(|PublishedFigure { low, .. }| low),
            published_high: published.map(|PublishedFigure { high, .. }| high),
            ours: ours.map(|OurFigure { estimate, .. }| estimate),
            counts: ours.map(|ours| ours.counts),
            published_ratio: ratios.published,
            our_ratio: ratios.ours,
        });
        let trials = run.trials.iter().filter(|trial| trial.case == *case).map(|trial| WireTrial {
            block: trial.block,
            kinds: trial.measurement.iter().flat_map(|measured| &measured.steps).map(WireStep::of).collect(),
            audits: trial.audits.iter().map(WireAudit::of).collect(),
        });
        Self {
            case: case.as_str(),
            title,
            unlike: unlike.as_deref(),
            problem: problem.as_deref().map(places::without_runs),
            figures: figures.collect(),
            lateness_p99_us: run.study.and_then(|study| lateness(study, run.trials, case)).map(|late| late * 1e3),
            limiting_parts: run.analysis.map_or_else(BTreeMap::new, |analysis| limiting(analysis, case).collect()),
            trials: trials.filter(|trial| !(trial.kinds.is_empty() && trial.audits.is_empty())).collect(),
        }
    }
}

impl<'a> WirePair<'a> {
    fn of(table: &'a PublishedTable, pair: &'a ReplicatedPair) -> Self {
        let ReplicatedPair { column, a, b, published, verdict, standing, because } = pair;
        let our_ratio = verdict.as_ref().map(|Verdict { ratio, .. }| *ratio);
        Self {
            metric: &table.columns[*column].metric,
            a: a.as_str(),
            b: b.as_str(),
            published_ratio: *published,
            our_ratio,
            verdict: verdict.as_ref().map(|verdict| verdict.verdict),
            standing: word(*standing),
            because: because.iter().map(ToString::to_string).collect(),
        }
    }
}

impl<'a> WireClaim<'a> {
    fn of(checked: &'a CheckedClaim<'a>) -> Self {
        let CheckedClaim { claim, standing, metric, found, because, problem } = checked;
        let against = match &claim.test {
            ClaimTest::Ratio { against: Some((of, to)), .. } => Some([of.as_str(), to.as_str()]),
            _ => None,
        };
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
            against,
            metric: metric.map(|metric| metric.key),
            from: within.and_then(|within| within.from),
            up_to: within.and_then(|within| within.to),
            standing: word(*standing),
            found: *found,
            because: because.iter().map(ToString::to_string).collect(),
            problem: problem.as_deref().map(places::without_runs),
        }
    }
}
