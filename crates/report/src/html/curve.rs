//! What came of rising loads, or of the values of a setting, as a line of points. Places are shares of the width, so that it fits every page without a script.

use serde::Serialize;
use stampede_core::SloTerm;

use crate::capacity::CapacityView;
use crate::dots::Axis;
use crate::quantity::{count, number, ratio};
use crate::tune::{KnobCurve, Near};

/// In pixels: all of it, what is above the lines, and what is below them.
const HEIGHT: f64 = 220.0;
const HEAD: f64 = 10.0;
const FOOT: f64 = 24.0;
/// The shares of the width in which points lie: labels of the upright axis are left of them.
const LEFT: f64 = 8.0;
const RIGHT: f64 = 97.0;
/// Labels below points are left out where they would be nearer than this.
const APART: f64 = 7.0;
/// The width of a letter of a label where plots stand beside each other, as a share of a plot's.
const LETTER: f64 = 2.2;

#[derive(Debug, Serialize)]
pub(super) struct Curve {
    title: String,
    /// What stands below.
    under: &'static str,
    is_logarithmic: bool,
    summary: String,
    height: f64,
    ticks: Vec<Tick>,
    steps: Vec<Step>,
    points: Vec<Point>,
    joints: Vec<[Point; 2]>,
    /// What values must stay below.
    limit: Option<Tick>,
}

#[derive(Debug, Serialize)]
struct Tick {
    y: f64,
    label: String,
}

#[derive(Debug, Serialize)]
struct Step {
    x: String,
    y: f64,
    label: String,
}

#[derive(Clone, Debug, Serialize)]
struct Point {
    x: String,
    y: f64,
    label: String,
}

/// Throughput over connections, and the first latency of the objective over the rate, each where two points tell.
pub(super) fn of_capacity(view: &CapacityView<'_>) -> Vec<Curve> {
    let closed: Vec<(f64, f64)> =
        view.capacity.curve.iter().map(|point| (f64::from(point.connections), point.throughput)).collect();
    let terms = view.study.study.slo.as_ref().map_or(&[][..], |slo| slo.terms());
    let latency = terms.iter().enumerate().find_map(|(place, term)| match term {
        SloTerm::Response { percentile, below } => Some((place, percentile.name(), below.as_secs_f64() * 1e3)),
        SloTerm::Errors { .. } => None,
    });
    let open = latency.and_then(|(place, name, below)| {
        let probes = view.capacity.probes.iter();
        let points = probes.filter_map(|probe| Some((probe.rate, (*probe.terms.get(place)?)? * 1e3)));
        Curve::of(
            &format!("{name} of response times, ms"),
            "requests a second that are due",
            points.collect(),
            Some(below),
        )
    });
    let closed = Curve::of("requests answered a second", "connections", closed, None);
    [closed, open].into_iter().flatten().collect()
}

impl Curve {
    fn of(title: &str, under: &'static str, mut points: Vec<(f64, f64)>, limit: Option<f64>) -> Option<Self> {
        points.retain(|(x, y)| *x > 0.0 && y.is_finite());
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let ((first, _), (last, _)) = (*points.first()?, *points.last()?);
        if last <= first {
            return None;
        }
        let axis = Axis::over(points.iter().map(|(_, y)| *y).chain(limit), 1.0)?;
        let y = |value: f64| (HEAD + (1.0 - axis.share(value) / 100.0) * (HEIGHT - HEAD - FOOT)).round();
        // Loads rise by factors.
        let share = |x: f64| LEFT + (x / first).ln() / (last / first).ln() * (RIGHT - LEFT);
        let placed: Vec<Point> = points
            .iter()
            .map(|(at, value)| Point {
                x: format!("{:.2}%", share(*at)),
                y: y(*value),
                label: format!("{} {under}: {}", load(*at), number(*value)),
            })
            .collect();
        let mut free = f64::NEG_INFINITY;
        let mut steps = Vec::new();
        for (at, _) in &points {
            if share(*at) >= free {
                steps.push(Step { x: format!("{:.2}%", share(*at)), y: HEIGHT - 6.0, label: load(*at) });
                free = share(*at) + APART;
            }
        }
        Some(Self {
            title: title.to_owned(),
            under,
            is_logarithmic: true,
            summary: format!(
                "{title}, over {}",
                placed.iter().map(|p| p.label.as_str()).collect::<Vec<_>>().join("; ")
            ),
            height: HEIGHT,
            ticks: axis.ticks.iter().map(|value| Tick { y: y(*value), label: number(*value) }).collect(),
            steps,
            joints: placed.windows(2).filter_map(|pair| pair.to_vec().try_into().ok()).collect(),
            points: placed,
            limit: limit.map(|limit| Tick { y: y(limit), label: format!("below {}", number(limit)) }),
        })
    }

    /// Values stand beside each other at equal distances: those of a size are about twice the one before. One that failed or
    /// missed the objective has a label alone, and the line a gap.
    fn of_knob(curve: &KnobCurve<'_>) -> Option<Self> {
        let KnobCurve { name, ordered, values } = curve;
        let times = |became: &Near| match became {
            Near::Best => Some(1.0),
            Near::Times(times) => Some(*times),
            Near::Misses | Near::Fails => None,
        };
        if values.iter().filter_map(|(_, became)| times(became)).count() < 2 {
            return None;
        }
        let axis = Axis::over(values.iter().filter_map(|(_, became)| times(became)), 1.0)?;
        let y = |value: f64| (HEAD + (1.0 - axis.share(value) / 100.0) * (HEIGHT - HEAD - FOOT)).round();
        let step = (RIGHT - LEFT) / values.len() as f64;
        let share = |place: usize| LEFT + (place as f64 + 0.5) * step;
        let placed: Vec<Option<Point>> = (values.iter().enumerate())
            .map(|(place, (level, became))| {
                let told = if *became == Near::Best { "best".to_owned() } else { ratio(times(became)?) };
                Some(Point {
                    x: format!("{:.2}%", share(place)),
                    y: y(times(became)?),
                    label: format!("{level}: {told}"),
                })
            })
            .collect();
        let mut free = f64::NEG_INFINITY;
        let mut steps = Vec::new();
        for (place, (level, became)) in values.iter().enumerate() {
            let label = match became {
                Near::Misses | Near::Fails => format!("{level} \u{2717}"),
                Near::Best | Near::Times(_) => (*level).to_owned(),
            };
            let half = label.chars().count() as f64 * LETTER / 2.0;
            if share(place) - half >= free {
                free = share(place) + half + LETTER;
                steps.push(Step { x: format!("{:.2}%", share(place)), y: HEIGHT - 6.0, label });
            }
        }
        let points: Vec<Point> = placed.iter().flatten().cloned().collect();
        let joints =
            placed.windows(2).filter(|_| *ordered).filter_map(|pair| Some([pair[0].clone()?, pair[1].clone()?]));
        Some(Self {
            title: (*name).to_owned(),
            under: "its values, with the other settings of the winner; \u{2717}: failed, or missed the SLO",
            is_logarithmic: false,
            summary: format!(
                "{name}: relative to the winner at {}",
                points.iter().map(|p| p.label.as_str()).collect::<Vec<_>>().join("; ")
            ),
            height: HEIGHT,
            ticks: axis.ticks.iter().map(|value| Tick { y: y(*value), label: number(*value) }).collect(),
            steps,
            joints: joints.collect(),
            points,
            limit: None,
        })
    }
}

/// Each value of a setting relative to the winner's, where two can be compared.
pub(super) fn of_knobs(curves: &[KnobCurve<'_>]) -> Vec<Curve> {
    curves.iter().filter_map(Curve::of_knob).collect()
}

/// Connections are whole, rates need not be.
fn load(at: f64) -> String {
    if at.fract() == 0.0 { count(at as u64) } else { number(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_setting_stand_in_their_order_with_gaps_where_nothing_was_measured() {
        let of = |ordered, values: &[(&'static str, Near)]| {
            Curve::of_knob(&KnobCurve { name: "workers", ordered, values: values.to_vec() })
        };
        let (best, half) = (Near::Best, Near::Times(0.5));
        let curve = of(true, &[("1", half), ("2", Near::Times(0.9)), ("4", best), ("8", Near::Misses), ("16", half)]);
        let curve = curve.unwrap();
        assert_eq!(
            curve.points.iter().map(|point| point.label.as_str()).collect::<Vec<_>>(),
            ["1: 0.500", "2: 0.900", "4: best", "16: 0.500"]
        );
        assert!(curve.points[2].y < curve.points[1].y && curve.points[0].y > curve.points[1].y, "{curve:?}");
        assert_eq!(curve.joints.len(), 2, "nothing joins what lies beside a gap");
        assert_eq!(curve.steps[3].label, "8 \u{2717}");
        assert!(of(false, &[("on", half), ("off", best)]).unwrap().joints.is_empty());
        assert!(of(true, &[("1", best), ("2", Near::Fails)]).is_none());
        assert!(of(true, &[]).is_none());
    }

    #[test]
    fn points_lie_by_their_factors_and_labels_do_not_collide() {
        let curve = Curve::of("t", "u", vec![(4.0, 30.0), (1.0, 10.0), (4.1, 31.0), (2.0, 20.0)], Some(100.0)).unwrap();
        let places: Vec<&str> = curve.points.iter().map(|point| point.x.as_str()).collect();
        assert_eq!((places[0], places[3]), ("8.00%", "97.00%"));
        assert!(curve.points.windows(2).all(|pair| pair[0].y >= pair[1].y), "{curve:?}");
        assert_eq!(curve.steps.iter().map(|step| step.label.as_str()).collect::<Vec<_>>(), ["1", "2", "4"]);
        assert_eq!(curve.joints.len(), 3);
        assert!(curve.limit.unwrap().y < curve.points[3].y);
        for few in [vec![], vec![(1.0, 2.0)], vec![(1.0, 2.0), (1.0, 3.0)], vec![(0.0, 1.0), (f64::NAN, 1.0)]] {
            assert!(Curve::of("t", "u", few, None).is_none());
        }
    }
}
