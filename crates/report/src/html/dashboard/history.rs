//! A metric over time, of one workload and runtime.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use stampede_analysis::{Better, METRICS, Metric, level_changes};
use stampede_core::Estimate;

use super::comparison::with_interval;
use super::{WORDS, document, study_link, time};
use crate::columns::titled;
use crate::dots::Axis;
use crate::html::study::Table;
use crate::quantity::{in_tables, number, scale};
use jiff::Timestamp;

/// Height of the drawing, of what is above and of what is below it, in pixels.
const HEIGHT: f64 = 260.0;
const HEAD: f64 = 16.0;
const FOOT: f64 = 28.0;
/// Of a line and a letter of what is written there.
const LINE: f64 = 15.0;
const LETTER: f64 = 7.0;
/// So many studies have their revision written below them where a line has more; the table has them all.
const NAMED: usize = 24;
/// There are so many colours; more lines share them.
const COLOURS: usize = 8;

/// What a case was in a study.
#[derive(Clone, Debug)]
pub struct HistoryPoint {
    /// The study.
    pub study: String,
    /// When it was started.
    pub started_at: Timestamp,
    /// The case with the conditions it was measured under: only points of equal conditions are joined.
    pub conditions: String,
    /// Version of the runtime.
    pub version: String,
    /// Which state of the application was measured, as it is shown.
    pub revision: Option<String>,
    /// The metric.
    pub estimate: Estimate,
}

/// What is shown, and what may be chosen.
#[derive(Clone, Debug)]
pub struct HistoryView<'a> {
    /// The workloads that there are, and which of them is meant.
    pub workloads: &'a [String],
    /// The workload.
    pub workload: &'a str,
    /// The runtimes that its studies have.
    pub runtimes: &'a [String],
    /// The runtime.
    pub runtime: &'a str,
    /// The metric.
    pub metric: &'static Metric,
    /// What is stored, oldest first.
    pub points: &'a [HistoryPoint],
    /// How many older studies are left out.
    pub left_out: usize,
}

#[derive(Serialize)]
struct Choice {
    key: &'static str,
    title: String,
}

#[derive(Serialize)]
struct Chart {
    height: f64,
    top: f64,
    bottom: f64,
    summary: String,
    ticks: Vec<Tick>,
    dates: Vec<Date>,
    revisions: Vec<Named>,
    lines: Vec<Line>,
    /// Where a line comes to another level, in words.
    changes: Vec<Remark>,
}

/// What is said of a point, with the way to its study.
#[derive(Serialize)]
struct Remark {
    text: String,
    href: String,
}

#[derive(Serialize)]
struct Tick {
    y: f64,
    label: String,
}

#[derive(Serialize)]
struct Date {
    x: String,
    anchor: &'static str,
    label: String,
}

/// A study's revision, below it.
#[derive(Serialize)]
struct Named {
    x: String,
    y: f64,
    label: String,
}

/// Points of equal conditions.
#[derive(Serialize)]
struct Line {
    colour: usize,
    name: String,
    points: Vec<Point>,
    /// From each point to the next.
    joints: Vec<Joint>,
    /// Between the last point of a level and the first of the next.
    changes: Vec<Mark>,
}

#[derive(Serialize)]
struct Mark {
    x: String,
    anchor: &'static str,
    /// One below the other.
    labels: Vec<Label>,
}

#[derive(Serialize)]
struct Label {
    y: f64,
    text: String,
}

#[derive(Clone, Serialize)]
struct Point {
    x: String,
    y: f64,
    low: f64,
    high: f64,
    label: String,
    href: String,
}

#[derive(Serialize)]
struct Joint {
    x1: String,
    y1: f64,
    x2: String,
    y2: f64,
}

/// The page of a metric over time.
pub fn history(view: &HistoryView<'_>) -> String {
    let metrics = METRICS.iter().filter(|metric| metric.better != Better::Neither);
    let choices: Vec<Choice> = metrics.map(|metric| Choice { key: metric.key, title: titled(metric) }).collect();
    let better = match view.metric.better {
        Better::Higher => WORDS.of("more_is_better"),
        Better::Lower => WORDS.of("less_is_better"),
        Better::Neither => String::new(),
    };
    document(
        "history.html",
        &WORDS.of("history"),
        context! {
            workloads => Serde(view.workloads),
            workload => view.workload,
            runtimes => Serde(view.runtimes),
            runtime => view.runtime,
            metrics => Serde(choices),
            metric => view.metric.key,
            heading => format!("{}: {}, {}", titled(view.metric), view.runtime, view.workload),
            better => better,
            chart => Serde(chart(view)),
            rows => Serde(rows(view)),
            left_out => view.left_out,
        },
    )
}

/// None where there is nothing to draw.
fn chart(view: &HistoryView<'_>) -> Option<Chart> {
    let HistoryView { metric, points, .. } = view;
    let factor = scale(metric.unit);
    let ends = |point: &HistoryPoint| [Some(point.estimate.value), point.estimate.low, point.estimate.high];
    let axis = Axis::over(points.iter().flat_map(ends).flatten().filter(|value| *value >= 0.0), factor)?;
    let has_revisions = points.iter().any(|point| point.revision.is_some());
    let top = if has_revisions { HEAD + LINE } else { HEAD };
    let bottom = top + HEIGHT - HEAD - FOOT;
    let y = |value: f64| (top + (1.0 - axis.share(value) / 100.0) * (bottom - top)).round();
    // A step a study: what matters is what came after what, and studies come in bursts.
    let mut studies: Vec<&str> = points.iter().map(|point| point.study.as_str()).collect();
    studies.dedup();
    let share = |place: f64| 6.0 + 92.0 * (place + 0.5) / studies.len() as f64;
    let at = |place: f64| format!("{:.2}%", share(place));
    let place = |study: &str| studies.iter().position(|each| *each == study).unwrap_or_default() as f64;
    let x = |study: &str| at(place(study));
    let mut remarks = Vec::new();
    let mut names: Vec<&str> = points.iter().map(|point| point.conditions.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let line = |(colour, name): (usize, &&str)| {
        let of_line: Vec<&HistoryPoint> = points.iter().filter(|point| point.conditions == **name).collect();
        let values: Vec<f64> = of_line.iter().map(|point| point.estimate.value).collect();
        let mut changes = Vec::new();
        for change in level_changes(&values) {
            let [before, after] = [change.at.saturating_sub(1), change.at].map(|place| of_line.get(place).copied());
            let Some((before, after)) = before.zip(after) else { continue };
            let levels =
                format!("from {} to {}", in_tables(metric.unit, change.before), in_tables(metric.unit, change.after));
            let revisions = revisions(before, after);
            let told = revisions.iter().map(|revisions| format!(", {revisions}")).collect::<String>();
            let versions = if before.version == after.version {
                String::new()
            } else {
                format!("; {} after {}", after.version, before.version)
            };
            remarks.push(Remark {
                text: format!("{}, {} UTC, {name}: {levels}{told}{versions}", after.study, time(after.started_at)),
                href: study_link(&after.study),
            });
            let between = (place(&before.study) + place(&after.study)) / 2.0;
            let texts = [levels].into_iter().chain(revisions);
            let labels = (0_u8..).zip(texts).map(|(line, text)| Label { y: HEAD - 4.0 + f64::from(line) * LINE, text });
            changes.push(Mark { x: at(between), anchor: anchor(share(between)), labels: labels.collect() });
        }
        let points: Vec<Point> = of_line
            .iter()
            .map(|point| Point {
                x: x(&point.study),
                y: y(point.estimate.value),
                low: y(point.estimate.low.unwrap_or(point.estimate.value)),
                high: y(point.estimate.high.unwrap_or(point.estimate.value)),
                label: format!(
                    "{}, {} UTC, {name}{}: {}",
                    point.study,
                    time(point.started_at),
                    point.revision.iter().map(|revision| format!(", revision {revision}")).collect::<String>(),
                    with_interval(metric, &point.estimate)
                ),
                href: study_link(&point.study),
            })
            .collect();
        let joints = points.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(Joint { x1: from.x.clone(), y1: from.y, x2: to.x.clone(), y2: to.y }),
            _ => None,
        });
        Line { colour: colour % COLOURS, name: (*name).to_owned(), joints: joints.collect(), points, changes }
    };
    let lines: Vec<Line> = names.iter().enumerate().map(line).collect();
    let named: Vec<Named> = studies
        .iter()
        .step_by(studies.len().div_ceil(NAMED).max(1))
        .filter_map(|study| {
            // Of a gate, the change: it comes last.
            let revision = points.iter().rev().find(|point| point.study == *study)?.revision.clone()?;
            Some(Named { x: x(study), y: bottom + LINE / 2.0, label: revision })
        })
        .collect();
    let longest = named.iter().map(|named| named.label.chars().count()).max();
    let height = bottom + longest.map_or(0.0, |longest| longest as f64 * LETTER + LINE / 2.0) + FOOT;
    let (first, last) = (points.first()?, points.last()?);
    let date = |point: &HistoryPoint, anchor| Date { x: x(&point.study), anchor, label: time(point.started_at) };
    let dates = if first.study == last.study {
        vec![date(first, "middle")]
    } else {
        vec![date(first, "start"), date(last, "end")]
    };
    Some(Chart {
        height,
        top,
        bottom,
        summary: format!(
            "{}: {} points in {} studies; the table below has them all",
            titled(metric),
            points.len(),
            studies.len()
        ),
        ticks: axis.ticks.iter().map(|value| Tick { y: y(*value), label: number(value * factor) }).collect(),
        dates,
        revisions: named,
        lines,
        changes: remarks,
    })
}

/// Between which states of the application something changed, if that is known.
fn revisions(before: &HistoryPoint, after: &HistoryPoint) -> Option<String> {
    Some(match (&before.revision, &after.revision) {
        (Some(before), Some(after)) if before == after => format!("both of revision {after}"),
        (Some(before), Some(after)) => format!("from revision {before} to {after}"),
        (None, Some(after)) => format!("to revision {after}"),
        (Some(before), None) => format!("from revision {before}"),
        (None, None) => return None,
    })
}

/// Which end of a text belongs at a place, so that none of it is beyond the drawing's edge.
fn anchor(percent: f64) -> &'static str {
    match percent {
        ..30.0 => "start",
        70.0.. => "end",
        _ => "middle",
    }
}

/// The newest first.
fn rows(view: &HistoryView<'_>) -> Option<Table> {
    let has_revisions = view.points.iter().any(|point| point.revision.is_some());
    let columns = ["study", "value", "revision", "started", "conditions", "runtime"];
    let columns = columns.into_iter().filter(|name| has_revisions || *name != "revision");
    let columns = columns.map(|name| WORDS.of(name)).collect();
    let row = |point: &HistoryPoint| {
        let revision = has_revisions.then(|| point.revision.clone().unwrap_or_else(|| "-".to_owned()));
        [point.study.clone(), with_interval(view.metric, &point.estimate)]
            .into_iter()
            .chain(revision)
            .chain([format!("{} UTC", time(point.started_at)), point.conditions.clone(), point.version.clone()])
            .collect()
    };
    let rows: Vec<Vec<String>> = view.points.iter().rev().map(row).collect();
    (!rows.is_empty()).then_some(Table { columns, rows })
}
