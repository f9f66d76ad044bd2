//! A chart of one metric: each trial a dot, each case's mean with its interval, and the noise floor as a band.
//!
//! Places are shares of the width, so that the same drawing fits a page of any width without a script.

use std::fmt::Write;

use serde::Serialize;
use stampede_analysis::{Better, CaseSummary, Metric, metric};
use stampede_core::{Estimate, Outcome, StudyKind};

use crate::StudyView;
use crate::columns::{half_width, ranks, titled};
use crate::quantity::{in_tables, number, percent, scale};

/// The metrics that are worth a chart, beside the one that decides.
const SHOWN: [&str; 5] =
    ["throughput_rps", "response_p50_us", "response_p99_us", "cpu_us_per_request", "memory_peak_bytes"];
/// Height of the heading, of a case and of the axis, in pixels.
const HEAD: usize = 8;
const ROW: usize = 44;
const AXIS: usize = 24;
/// The share of the width that stays free on each side, so that dots at the ends are whole.
const MARGIN: f64 = 1.5;

/// A chart, ready to be laid out.
#[derive(Debug, Serialize)]
pub(crate) struct Dots {
    pub(crate) title: String,
    /// What it shows, as a sentence for who cannot see it.
    pub(crate) summary: String,
    /// Which end is the better one.
    better: &'static str,
    height: usize,
    band: Option<Band>,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
    /// Whether the newest trial is marked: where the study is followed.
    marks_newest: bool,
}

#[derive(Debug, Serialize)]
struct Band {
    x: String,
    width: String,
    height: usize,
    label: String,
}

#[derive(Debug, Serialize)]
struct Tick {
    x: String,
    label: String,
    top: usize,
    bottom: usize,
    y: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    figures: String,
    text_y: usize,
    y: usize,
    interval: Option<[String; 2]>,
    mean: Option<String>,
    /// What its points are, a line each: a word for each of a thousand points would make a page slow to open.
    values: String,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    x: String,
    y: usize,
    counts: bool,
    /// Whether it is the study's newest trial.
    newest: bool,
}

/// A chart of the metric that decides, then of each other that is worth one; only of metrics that some trial has.
pub(crate) fn charts(view: &StudyView<'_>) -> Vec<Dots> {
    let primary = view.analysis.primary;
    let others = SHOWN.into_iter().filter_map(metric).filter(|metric| metric.key != primary.key);
    std::iter::once(primary).chain(others).filter_map(|metric| chart(view, metric)).collect()
}

/// The chart of the metric that decides, with a mark on the newest trial; none where no trial has it.
pub(crate) fn followed(view: &StudyView<'_>) -> Option<Dots> {
    chart(view, view.analysis.primary).map(|dots| Dots { marks_newest: true, ..dots })
}

/// The chart of a metric; none where no trial has it.
pub(crate) fn chart(view: &StudyView<'_>, metric: &'static Metric) -> Option<Dots> {
    let values: Vec<f64> = view.trials.iter().filter_map(metric.reader).collect();
    let estimates = view.analysis.cases.iter().filter_map(|case| case.summary.get(metric.key));
    let ends = estimates.flat_map(|estimate| [estimate.low, estimate.high]).flatten().filter(|end| *end >= 0.0);
    let axis = Axis::over(values.iter().copied().chain(ends), scale(metric.unit))?;
    let rows: Vec<Row> =
        (0..).zip(&view.analysis.cases).map(|(place, summary)| row(view, metric, summary, &axis, place)).collect();
    let bottom = HEAD + rows.len() * ROW;
    let ticks = axis.ticks.iter().map(|value| Tick {
        x: axis.place(*value),
        label: number(value * scale(metric.unit)),
        top: HEAD,
        bottom,
        y: bottom + 16,
    });
    let better = match metric.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
        Better::Neither => "",
    };
    Some(Dots {
        title: titled(metric),
        summary: summary(view, metric),
        better,
        height: bottom + AXIS,
        band: band(view, metric, &axis, bottom - HEAD),
        ticks: ticks.collect(),
        rows,
        marks_newest: false,
    })
}

fn row(view: &StudyView<'_>, metric: &Metric, summary: &CaseSummary, axis: &Axis, place: usize) -> Row {
    let top = HEAD + place * ROW;
    let estimate = summary.summary.get(metric.key);
    let (mut values, mut points) = (summary.case.to_string(), Vec::new());
    for trial in view.trials.iter().filter(|trial| trial.case == summary.case) {
        let Some(value) = (metric.reader)(trial) else { continue };
        let counts = trial.outcome == Outcome::Measured;
        let remark = if counts { "" } else { " (does not count)" };
        let _ = write!(values, "\nblock {}: {}{remark}", trial.block, in_tables(metric.unit, value));
        let newest = view.trials.last().is_some_and(|last| std::ptr::eq(last, trial));
        points.push(Point { x: axis.place(value), y: height(top + 29, trial.block), counts, newest });
    }
    Row {
        name: summary.case.to_string(),
        figures: figures(view, metric, summary).unwrap_or_else(|| "n/a".to_owned()),
        text_y: top + 14,
        y: top + 29,
        interval: estimate.and_then(|estimate| Some([axis.place(estimate.low?), axis.place(estimate.high?)])),
        mean: estimate.map(|estimate| axis.place(estimate.value)),
        values,
        points,
    }
}

/// Trials of neighbouring blocks lie at different heights, so that equal values do not cover each other.
fn height(y: usize, block: u32) -> usize {
    const HEIGHTS: [usize; 5] = [3, 6, 1, 5, 0];
    y + HEIGHTS[block as usize % HEIGHTS.len()] - 3
}

/// `1,244 ±435, rank 2-3`: ranks only where the metric decides them.
fn figures(view: &StudyView<'_>, metric: &Metric, summary: &CaseSummary) -> Option<String> {
    let estimate = summary.summary.get(metric.key)?;
    let scaled = |value: f64| value * scale(metric.unit);
    let in_unit = Estimate {
        value: scaled(estimate.value),
        low: estimate.low.map(scaled),
        high: estimate.high.map(scaled),
        n: estimate.n,
    };
    let mut text = number(in_unit.value);
    if let Some(width) = half_width(&in_unit) {
        let _ = write!(text, " {width}");
    }
    if let Some(rank) = summary.ranks.as_ref().filter(|_| metric.key == view.analysis.primary.key) {
        let _ = write!(text, ", rank {}", ranks(rank));
    }
    Some(text)
}

/// What the best case may seem to differ from an equal one by.
fn band(view: &StudyView<'_>, metric: &Metric, axis: &Axis, height: usize) -> Option<Band> {
    let share = view.study.groundwork.floor.as_ref()?.metrics.get(metric.key)?.share;
    if view.study.kind == StudyKind::Calibrate {
        return None;
    }
    let values = view.analysis.cases.iter().filter_map(|case| Some(case.summary.get(metric.key)?.value));
    let best = match metric.better {
        Better::Lower => values.min_by(f64::total_cmp),
        Better::Higher | Better::Neither => values.max_by(f64::total_cmp),
    }?;
    let (from, to) = (axis.share(best * (1.0 - share)), axis.share(best * (1.0 + share)));
    Some(Band {
        x: percents(from),
        width: percents(to - from),
        height,
        label: format!("noise floor: within {} of the best, equal cases may seem to differ", percent(share)),
    })
}

fn summary(view: &StudyView<'_>, metric: &'static Metric) -> String {
    let of = |summary: &CaseSummary| Some(format!("{} {}", summary.case, figures(view, metric, summary)?));
    let cases: Vec<String> = view.analysis.cases.iter().filter_map(of).collect();
    format!("{}: {}", titled(metric), cases.join("; "))
}

/// Where values lie, from 0 to 100 % of the width, or of the height.
pub(crate) struct Axis {
    from: f64,
    to: f64,
    pub(crate) ticks: Vec<f64>,
}

impl Axis {
    /// From zero where the values differ much; around them where they lie close together. Ticks are round in the unit that
    /// is shown, which is `scale` of the one of the values.
    pub(crate) fn over(values: impl Iterator<Item = f64>, scale: f64) -> Option<Self> {
        let shown: Vec<f64> = values.map(|value| value * scale).filter(|value| value.is_finite()).collect();
        let least = shown.iter().copied().min_by(f64::total_cmp)?;
        let most = shown.iter().copied().max_by(f64::total_cmp)?;
        let least = if least < 0.7 * most { least.min(0.0) } else { least };
        let step = step((most - least).max(most.abs() * 0.01).max(1e-9));
        let (first, last) = ((least / step).floor() as i64, (most / step).ceil() as i64);
        let last = last.max(first + 1);
        let ticks = (first..=last).map(|tick| tick as f64 * step / scale).collect();
        Some(Self { from: first as f64 * step / scale, to: last as f64 * step / scale, ticks })
    }

    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        MARGIN + share * (100.0 - 2.0 * MARGIN)
    }

    /// Where a value lies, as SVG has it: `12.50%`.
    pub(crate) fn place(&self, value: f64) -> String {
        percents(self.share(value))
    }
}

fn percents(share: f64) -> String {
    format!("{share:.2}%")
}

/// 1, 2 or 5 times a power of ten, so that a span holds three to seven of it.
fn step(span: f64) -> f64 {
    let rough = span / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    match rough / power {
        ..1.5 => power,
        ..3.5 => 2.0 * power,
        ..7.5 => 5.0 * power,
        _ => 10.0 * power,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_at_zero_unless_values_lie_close_together() {
        for (values, ticks) in [
            (vec![100.0, 1_000.0], vec![0.0, 200.0, 400.0, 600.0, 800.0, 1_000.0]),
            (vec![990.0, 1_000.0, 1_012.0], vec![990.0, 995.0, 1_000.0, 1_005.0, 1_010.0, 1_015.0]),
            (vec![0.0], vec![0.0, 2e-10]),
            (vec![7.0], vec![7.0, 7.02]),
        ] {
            let axis = Axis::over(values.iter().copied(), 1.0).unwrap();
            assert_eq!(axis.ticks.len(), ticks.len(), "{values:?}: {:?}", axis.ticks);
            assert!(axis.ticks.iter().zip(&ticks).all(|(a, b)| (a - b).abs() < 1e-6), "{values:?}: {:?}", axis.ticks);
            for value in values {
                assert!((MARGIN..=100.0 - MARGIN).contains(&axis.share(value)));
            }
        }
        assert!(Axis::over([f64::NAN].into_iter(), 1.0).is_none());
    }
}
