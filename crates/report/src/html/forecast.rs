//! A page about a forecast: the cost of each combination of what was asked, as a map, and all figures as a table.

use serde::Serialize;

use super::study::Table;
use super::{Head, HeadBlock, WORDS, page};

/// What was simulated.
#[derive(Clone, Debug)]
pub struct ForecastView<'a> {
    /// What it is about, in a few words.
    pub title: String,
    /// What it comes to, in a sentence.
    pub lead: String,
    /// What was asked, and of what.
    pub question: String,
    /// The currency of costs.
    pub currency: &'a str,
    /// A point of each combination, in the order in which they are told.
    pub points: &'a [ForecastPoint],
    /// Heading and rows of all figures.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// How it is to be read.
    pub notes: Vec<String>,
}

/// A combination with its cost.
#[derive(Clone, Debug)]
pub struct ForecastPoint {
    /// The most requests that an instance is given at once.
    pub concurrency: u32,
    /// What an instance has: `0.5 CPU, 256Mi`.
    pub instance: String,
    /// What a month costs.
    pub per_month: f64,
    /// The same as it is shown.
    pub shown: String,
    /// The latency that goes with it, as it is shown.
    pub latency: String,
    /// Whether nearly all requests are answered in time.
    pub keeps_up: bool,
}

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
        let (mut instances, mut concurrencies) = (Vec::new(), Vec::new());
        for ForecastPoint { concurrency, instance, .. } in points {
            if !instances.contains(instance) {
                instances.push(instance.clone());
            }
            if !concurrencies.contains(concurrency) {
                concurrencies.push(*concurrency);
            }
        }
        concurrencies.sort_unstable();
        let good = || points.iter().filter(|point| point.keeps_up).map(|point| point.per_month.max(1e-9));
        let least = good().min_by(f64::total_cmp).unwrap_or(1.0);
        let most = good().max_by(f64::total_cmp).unwrap_or(1.0);
        let level = |point: &ForecastPoint| {
            let share = (point.per_month.max(1e-9) / least).ln() / (most / least).ln().max(1e-9);
            point.keeps_up.then(|| (share.clamp(0.0, 1.0) * 4.0).round() as u8)
        };
        let cell = |instance: &String, concurrency: u32| {
            let point = points.iter().find(|point| point.instance == *instance && point.concurrency == concurrency)?;
            Some(CostCell { cost: point.shown.clone(), latency: point.latency.clone(), level: level(point) })
        };
        let row = |instance: &String| {
            (instance.clone(), concurrencies.iter().map(|concurrency| cell(instance, *concurrency)).collect())
        };
        let rows = instances.iter().map(row).collect();
        let columns =
            concurrencies.iter().map(|concurrency| format!("{concurrency} {}", WORDS.of("at_once"))).collect();
        (points.len() > 1).then_some(Self {
            title: format!("{}, {}", WORDS.of("a_month"), view.currency),
            columns,
            rows,
        })
    }
}

/// The page.
pub fn forecast(view: &ForecastView<'_>) -> String {
    let mut blocks = vec![HeadBlock::paragraph(&view.question)];
    if let Some(map) = CostMap::of(view) {
        blocks.push(HeadBlock::Heading { text: WORDS.of("cost_map") });
        blocks.push(HeadBlock::paragraph(&WORDS.of("cost_map_note")));
        blocks.push(HeadBlock::Map { map });
    }
    blocks.push(HeadBlock::Heading { text: WORDS.of("figures") });
    blocks.push(HeadBlock::table(Table { columns: view.columns.clone(), rows: view.rows.clone() }));
    blocks.extend(view.notes.iter().map(|note| HeadBlock::paragraph(note)));
    page(&Head { title: view.title.clone(), lead: Some(view.lead.clone()), blocks, commands: Vec::new() }, &[])
}
