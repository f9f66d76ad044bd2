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
    label: String,
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
    let y = |value: f64| (HEAD + (1.0 - axis.share(value) / 100.0) * (HEIGHT - HEAD - FOOT)).round();
    // A step a study: what matters is what came after what, and studies come in bursts.
    let mut studies: Vec<&str> = points.iter().map(|point| point.study.as_str()).collect();
    studies.dedup();
    let at = |place: f64| format!("{:.2}%", 6.0 + 92.0 * (place + 0.5) / studies.len() as f64);
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
            let label =
                format!("from {} to {}", in_tables(metric.unit, change.before), in_tables(metric.unit, change.after));
            let versions = if before.version == after.version {
                String::new()
            } else {
                format!("; {} after {}", after.version, before.version)
            };
            remarks.push(Remark {
                text: format!("{}, {} UTC, {name}: {label}{versions}", after.study, time(after.started_at)),
                href: study_link(&after.study),
            });
            changes.push(Mark { x: at((place(&before.study) + place(&after.study)) / 2.0), label });
        }
        let points: Vec<Point> = of_line
            .iter()
            .map(|point| Point {
                x: x(&point.study),
                y: y(point.estimate.value),
                low: y(point.estimate.low.unwrap_or(point.estimate.value)),
                high: y(point.estimate.high.unwrap_or(point.estimate.value)),
                label: format!(
                    "{}, {} UTC, {name}: {}",
                    point.study,
                    time(point.started_at),
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
    let (first, last) = (points.first()?, points.last()?);
    let date = |point: &HistoryPoint, anchor| Date { x: x(&point.study), anchor, label: time(point.started_at) };
    let dates = if first.study == last.study {
        vec![date(first, "middle")]
    } else {
        vec![date(first, "start"), date(last, "end")]
    };
    Some(Chart {
        height: HEIGHT,
        top: HEAD,
        bottom: HEIGHT - FOOT,
        summary: format!(
            "{}: {} points in {} studies; the table below has them all",
            titled(metric),
            points.len(),
            studies.len()
        ),
        ticks: axis.ticks.iter().map(|value| Tick { y: y(*value), label: number(value * factor) }).collect(),
        dates,
        lines,
        changes: remarks,
    })
}

/// The newest first.
fn rows(view: &HistoryView<'_>) -> Option<Table> {
    let columns = ["study", "value", "started", "conditions", "runtime"].map(|name| WORDS.of(name)).to_vec();
    let row = |point: &HistoryPoint| {
        vec![
            point.study.clone(),
            with_interval(view.metric, &point.estimate),
            format!("{} UTC", time(point.started_at)),
            point.conditions.clone(),
            point.version.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = view.points.iter().rev().map(row).collect();
    (!rows.is_empty()).then_some(Table { columns, rows })
}
