//! A page about a forecast: the cost of each combination of what was asked, as a map, and all figures as a table.

use serde::Serialize;
use stampede_forecast::ForecastPoint;

use super::study::Table;
use super::{Head, HeadBlock, WORDS, page};
use crate::forecast::{ForecastView, answered, conclusion, figures, money, notes, question};

/// Costs by what an instance has and how many requests it is given at once.
#[derive(Serialize)]
pub(super) struct CostMap {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<CostCell>>)>,
}

#[derive(Serialize)]
struct CostCell {
    cost: String,
    latency: String,
    /// From 0, the cheapest that keeps up, to 4; none where it does not keep up.
    level: Option<u8>,
}

impl CostMap {
    /// None where there is nothing to compare.
    fn of(view: &ForecastView<'_>) -> Option<Self> {
        let points = view.points;
        let per_month = |point: &ForecastPoint| point.forecast.per_month.value;
        let (mut instances, mut concurrencies) = (Vec::new(), Vec::new());
        for point in points {
            if !instances.contains(&instance(point)) {
                instances.push(instance(point));
            }
            if !concurrencies.contains(&point.point.concurrency) {
                concurrencies.push(point.point.concurrency);
            }
        }
        concurrencies.sort_unstable();
        let good = || points.iter().filter(|point| point.forecast.keeps_up()).map(|point| per_month(point).max(1e-9));
        let least = good().min_by(f64::total_cmp).unwrap_or(1.0);
        let most = good().max_by(f64::total_cmp).unwrap_or(1.0);
        let level = |point: &ForecastPoint| {
            let share = (per_month(point).max(1e-9) / least).ln() / (most / least).ln().max(1e-9);
            point.forecast.keeps_up().then(|| (share.clamp(0.0, 1.0) * 4.0).round() as u8)
        };
        let cell = |name: &String, concurrency: u32| {
            let point =
                points.iter().find(|point| instance(point) == *name && point.point.concurrency == concurrency)?;
            let latency = answered(&point.forecast, &point.forecast.p99);
            Some(CostCell { cost: money(per_month(point)), latency, level: level(point) })
        };
        let row = |instance: &String| {
            (instance.clone(), concurrencies.iter().map(|concurrency| cell(instance, *concurrency)).collect())
        };
        let rows = instances.iter().map(row).collect();
        let columns =
            concurrencies.iter().map(|concurrency| format!("{concurrency} {}", WORDS.of("at_once"))).collect();
        (points.len() > 1).then_some(Self {
            title: format!("{}, {}", WORDS.of("a_month"), view.question.price.currency),
            columns,
            rows,
        })
    }
}

/// What an instance has.
fn instance(point: &ForecastPoint) -> String {
    let service = &point.point.scenario.service;
    format!("{} CPU, {}", service.cpus, service.memory)
}

/// The page.
pub fn forecast(view: &ForecastView<'_>) -> String {
    let mut blocks = vec![HeadBlock::paragraph(&question(view))];
    if let Some(map) = CostMap::of(view) {
        blocks.push(HeadBlock::Heading { text: WORDS.of("cost_map") });
        blocks.push(HeadBlock::paragraph(&WORDS.of("cost_map_note")));
        blocks.push(HeadBlock::Map { map });
    }
    blocks.push(HeadBlock::Heading { text: WORDS.of("figures") });
    blocks.push(HeadBlock::table(Table::of(&figures(view))));
    blocks.extend(notes(view).iter().map(|note| HeadBlock::paragraph(note)));
    let title = format!("{} under {}: a forecast", view.calibration.case, view.question.load);
    page(&Head { title, origin: None, lead: Some(conclusion(view)), blocks, commands: Vec::new() }, &[])
}
