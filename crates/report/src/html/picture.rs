//! A small picture: a bar for each case, with the 95 % interval of its mean, or a line of throughput over connections.
//!
//! It shows at a glance what the report has figures for. Places are shares of the width, so that it fits a list, the first
//! screen of a report and a phone without a script.

use serde::Serialize;
use stampede_analysis::{Better, Capacity, Metric};
use stampede_core::Estimate;

use crate::StudyView;
use crate::columns::{half_width, in_unit, titled};
use crate::dots::Axis;
use crate::quantity::{in_tables, number, scale};

/// More cases than this are counted.
const MOST_ROWS: usize = 5;
/// Heights in pixels: of a row, of the axis below, and of a line's area.
const ROW: usize = 34;
const AXIS: usize = 16;
const AREA: usize = 90;

/// A picture, ready to be laid out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Picture {
    title: String,
    better: &'static str,
    /// What it shows, as a sentence for who cannot see it.
    summary: String,
    height: usize,
    axis_y: usize,
    /// What the left and the right end of the axis stand for.
    ends: [String; 2],
    rows: Vec<Row>,
    /// Points of a line, in an area of 100 by 90.
    line: Option<String>,
    /// How many cases are not shown.
    more: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    figures: String,
    text_y: usize,
    y: usize,
    /// Nothing of a case without a figure.
    bar: Option<[String; 2]>,
    interval: Option<[String; 2]>,
}

impl Picture {
    /// The metric that decides a study, of its best cases; none where no case has it.
    pub(super) fn of(view: &StudyView<'_>) -> Option<Self> {
        let metric = view.analysis.primary;
        let cases = view.analysis.cases.iter();
        let rows: Vec<(String, Option<Estimate>)> =
            cases.map(|case| (case.case.to_string(), case.summary.get(metric.key).copied())).collect();
        Self::of_rows(metric, &rows, MOST_ROWS)
    }

    /// The figures of a metric; of more than `most` the first. None where there is no figure.
    pub(super) fn of_rows(metric: &'static Metric, all: &[(String, Option<Estimate>)], most: usize) -> Option<Self> {
        let shown = all.get(..most).unwrap_or(all);
        let ends = |estimate: &Estimate| [Some(estimate.value), estimate.low, estimate.high];
        let values = shown.iter().filter_map(|(_, estimate)| estimate.as_ref()).flat_map(ends).flatten();
        let unit = scale(metric.unit);
        // A bar's length means something only from zero.
        let values: Vec<f64> = values.filter(|value| *value >= 0.0).collect();
        let axis = (!values.is_empty()).then(|| Axis::over(values.into_iter().chain([0.0]), unit)).flatten()?;
        let rows = (0..).zip(shown).map(|(place, (name, estimate))| Row {
            name: name.clone(),
            figures: estimate.as_ref().map_or_else(|| "n/a".to_owned(), |estimate| figures(metric, estimate)),
            text_y: place * ROW + 14,
            y: place * ROW + 24,
            bar: estimate.as_ref().map(|estimate| [axis.place(0.0), axis.place(estimate.value)]),
            interval: estimate.as_ref().and_then(|of| Some([axis.place(of.low?.max(0.0)), axis.place(of.high?)])),
        });
        let rows: Vec<Row> = rows.collect();
        let told: Vec<String> = rows.iter().map(|row| format!("{} {}", row.name, row.figures)).collect();
        let end = |value: Option<&f64>| number(value.copied().unwrap_or_default() * unit);
        Some(Self {
            title: titled(metric),
            better: match metric.better {
                Better::Higher => "more is better",
                Better::Lower => "less is better",
                Better::Neither => "",
            },
            summary: format!("{}: {}", titled(metric), told.join("; ")),
            height: rows.len() * ROW + AXIS,
            axis_y: rows.len() * ROW + 12,
            ends: [end(axis.ticks.first()), end(axis.ticks.last())],
            rows,
            line: None,
            more: all.len() - shown.len(),
        })
    }

    /// What a search for a capacity found under closed loads; none below two points.
    pub(super) fn of_capacity(capacity: &Capacity) -> Option<Self> {
        let points: Vec<(f64, f64)> =
            capacity.curve.iter().map(|point| (f64::from(point.connections), point.throughput)).collect();
        let ((first, _), (last, _)) = (*points.first()?, *points.last()?);
        let axis = Axis::over(points.iter().map(|(_, y)| *y).chain([0.0]), 1.0)?;
        if last <= first {
            return None;
        }
        // Loads rise by factors.
        let place = |(x, y): &(f64, f64)| {
            let x = 2.0 + 96.0 * (x / first).ln() / (last / first).ln();
            format!("{x:.1},{:.1}", AREA as f64 * (1.0 - axis.share(*y) / 100.0))
        };
        let told: Vec<String> = points.iter().map(|(x, y)| format!("{x} connections {}", number(*y))).collect();
        Some(Self {
            title: "requests answered a second, over connections".to_owned(),
            better: "more is better",
            summary: format!("requests answered a second: {}", told.join("; ")),
            height: AREA + AXIS,
            axis_y: AREA + 12,
            ends: [number(first), number(last)],
            rows: Vec::new(),
            line: Some(points.iter().map(place).collect::<Vec<_>>().join(" ")),
            more: 0,
        })
    }
}

/// `1,244 ±35`.
fn figures(metric: &Metric, estimate: &Estimate) -> String {
    let value = in_tables(metric.unit, estimate.value);
    half_width(&in_unit(metric, estimate)).map_or_else(|| value.clone(), |width| format!("{value} {width}"))
}

#[cfg(test)]
mod tests {
    use stampede_analysis::metric;

    use super::*;

    #[test]
    fn bars_begin_at_zero_and_what_does_not_fit_is_counted() {
        let rate = metric("throughput_rps").unwrap();
        let estimate = |value| Some(Estimate { value, low: Some(value - 10.0), high: Some(value + 10.0), n: 3 });
        let mut rows: Vec<(String, Option<Estimate>)> = [1_000.0, 990.0, 985.0]
            .iter()
            .zip('a'..)
            .map(|(value, name)| (name.to_string(), estimate(*value)))
            .collect();
        rows.push(("none".to_owned(), None));
        let picture = Picture::of_rows(rate, &rows, 3).unwrap();
        assert_eq!((picture.rows.len(), picture.more, picture.ends[0].as_str()), (3, 1, "0"));
        assert!(picture.summary.contains("a 1,000 ±10; b 990 ±10"), "{}", picture.summary);
        let places: Vec<f64> =
            picture.rows.iter().map(|row| row.bar.clone().unwrap()[1].trim_end_matches('%').parse().unwrap()).collect();
        assert!(places[0] > places[1] && places[1] > places[2] && places[2] > 50.0, "{places:?}");
        assert_eq!(Picture::of_rows(rate, &rows, 9).unwrap().rows[3].figures, "n/a");
        assert!(Picture::of_rows(rate, &rows[3..], 9).is_none());
    }
}
