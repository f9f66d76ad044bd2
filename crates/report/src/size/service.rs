//! What a search for an autoscaled service found: the cheapest that holds an objective, what was forecast and what was measured.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Confirmation, Interval, ServiceCell, ServiceFate, ServiceFound, SizeReading};
use stampede_core::{Load, Slo};
use stampede_scale::Price;

use super::{ratio_of_more, shown_by};
use crate::StudyView;
use crate::json::rendered;
use crate::page::{Block, Page};
use crate::quantity::ratio;

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct ServiceSizeView<'a> {
    /// The search.
    pub id: &'a str,
    /// What was served.
    pub workload: &'a str,
    /// Under which load.
    pub load: &'a Load,
    /// By how much more of it a service must hold, as a share.
    pub headroom: f64,
    /// What had to hold.
    pub slo: Option<&'a Slo>,
    /// Which autoscaler.
    pub policy: &'a str,
    /// The names of the runtimes.
    pub runtimes: &'a [String],
    /// Runtimes of which nothing is known, each by its place, and why.
    pub unknown: &'a [(usize, String)],
    /// The services that were proposed, the cheapest first.
    pub cells: &'a [ServiceCell],
    /// How many were simulated.
    pub simulated: usize,
    /// The trials of services.
    pub readings: &'a [SizeReading],
    /// What they came to.
    pub found: &'a ServiceFound,
    /// What services cost.
    pub price: &'a Price,
    /// Whether it ended since its time was over.
    pub is_out_of_time: bool,
    /// What was measured.
    pub studies: &'a [StudyView<'a>],
}

/// As JSON. It ends with a line break.
pub fn json(view: &ServiceSizeView<'_>) -> String {
    rendered(&WireServiceSizing::of(view))
}

pub(crate) fn page(view: &ServiceSizeView<'_>) -> Page {
    let mut blocks = vec![Block::Paragraph(question(view)), Block::Paragraph(searched(view))];
    blocks.extend(Block::list("Services, the cheapest first", services(view).into_iter().map(Block::Item)));
    if !view.cells.is_empty() {
        blocks.push(Block::Legend(LEGEND.to_owned()));
    }
    Page { answer: conclusion(view), blocks }
}

const LEGEND: &str = "Prices are forecast, of a month at the load. Response times are multiples of the limit at the load with its headroom. A star: no cheaper one is forecast to answer faster.";

fn question(view: &ServiceSizeView<'_>) -> String {
    let more = match view.headroom > 0.0 {
        true => format!(" and at {} times that", ratio_of_more(view.headroom)),
        false => String::new(),
    };
    let Price { id, provider, read, source, .. } = view.price;
    format!(
        "{}: {} at {}{more}, autoscaled by {}; prices {id}: {provider}; read {read} at {source}",
        view.workload,
        view.slo.map(ToString::to_string).unwrap_or_default(),
        view.load,
        view.policy
    )
}

fn searched(view: &ServiceSizeView<'_>) -> String {
    format!(
        "search {}: {} services simulated, {} of them more than once, {} measured in {} trials",
        view.id,
        view.simulated,
        view.cells.len(),
        view.found.confirmations.len(),
        view.readings.len()
    )
}

fn name(view: &ServiceSizeView<'_>, cell: &ServiceCell) -> String {
    cell.named(view.runtimes.get(cell.runtime).map_or("", String::as_str))
}

fn blocks_of<'a>(view: &ServiceSizeView<'a>, place: usize) -> Option<&'a Confirmation> {
    view.found.confirmations.iter().find(|(cell, _)| *cell == place).map(|(_, confirmation)| confirmation)
}

fn measured(view: &ServiceSizeView<'_>, place: usize) -> Option<f64> {
    Some(blocks_of(view, place)?.worst()?.value)
}

fn forecast(times: f64) -> String {
    if times.is_finite() { ratio(times) } else { "rejects".to_owned() }
}

/// `32.69 USD *: NAME; forecast 0.015 of the limit, measured 0.021. CHOSEN: holds, shown in 4 rounds`, for each.
fn services(view: &ServiceSizeView<'_>) -> Vec<String> {
    let line = |(place, cell): (usize, &ServiceCell)| {
        let star = if view.found.frontier.contains(&place) { " *" } else { "" };
        let measured = measured(view, place).map_or_else(String::new, |times| format!(", measured {}", ratio(times)));
        let outcome = outcome(view, place);
        let outcome = if outcome.is_empty() { outcome } else { format!(". {outcome}") };
        let forecast = forecast(cell.times);
        format!("{}{star}: {}; forecast {forecast}{measured}{outcome}", priced(view, cell), name(view, cell))
    };
    view.cells.iter().enumerate().map(line).collect()
}

fn outcome(view: &ServiceSizeView<'_>, place: usize) -> String {
    let rounds = blocks_of(view, place).map(Confirmation::rounds).unwrap_or_default();
    match view.found.fates.get(place) {
        Some(ServiceFate::Confirmed) => {
            let chosen = view.found.choice.as_ref().is_some_and(|choice| choice.cell == place);
            format!("{}, shown in {rounds}", if chosen { "CHOSEN: holds" } else { "holds" })
        }
        Some(ServiceFate::Refuted) => match blocks_of(view, place).and_then(|blocks| blocks.reason.as_ref()) {
            Some(reason) => reason.clone(),
            None => format!("not confirmed in {rounds}"),
        },
        Some(ServiceFate::Open) => format!("{rounds} do not decide"),
        Some(ServiceFate::TooLarge) => "too large to be measured here".to_owned(),
        Some(ServiceFate::Forecast) | None => String::new(),
    }
}

fn priced(view: &ServiceSizeView<'_>, cell: &ServiceCell) -> String {
    format!("{:.2} {}", cell.price, view.price.currency)
}

/// What it comes to, one sentence a line.
pub(crate) fn conclusion(view: &ServiceSizeView<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let chosen = view.found.choice.as_ref().and_then(|choice| Some((choice, view.cells.get(choice.cell)?)));
    match chosen {
        Some((choice, cell)) => {
            lines.push(format!(
                "{}: about {} a month, with {:.1} instances on average.",
                name(view, cell),
                priced(view, cell),
                cell.instances
            ));
            lines.push(shown_by(&choice.confirmation, view.load, view.headroom));
            lines.push(format!(
                "The price is a forecast, for the load at all hours and with nothing free; response times were forecast at {} of the limit.",
                forecast(cell.times)
            ));
        }
        None => lines.extend(none(view)),
    }
    let bound = chosen.map_or(f64::INFINITY, |(_, cell)| cell.price);
    let times = |cell: &ServiceCell| cell.times * view.found.corrections.get(cell.runtime).copied().unwrap_or(1.0);
    let is_too_large = |place: usize| view.found.fates.get(place) == Some(&ServiceFate::TooLarge);
    let larger = view
        .cells
        .iter()
        .enumerate()
        .find(|(place, cell)| is_too_large(*place) && times(cell) < 1.0 && cell.price < bound);
    if let Some((_, cell)) = larger {
        lines.push(format!(
            "Forecast to hold for less, and too large to be measured on this machine: {}, about {} a month, at {} of the limit.",
            name(view, cell),
            priced(view, cell),
            forecast(times(cell))
        ));
    }
    for (runtime, why) in view.unknown {
        let name = view.runtimes.get(*runtime).map_or("", String::as_str);
        lines.push(format!("{name} was left out: {why}."));
    }
    if view.is_out_of_time {
        lines.push(
            "The time was over before the search was complete. The same command with --resume and a larger --budget continues it."
                .to_owned(),
        );
    }
    lines
}

/// Why nothing is chosen.
fn none(view: &ServiceSizeView<'_>) -> Vec<String> {
    let slo = view.slo.map(ToString::to_string).unwrap_or_default();
    let Some(best) = view.cells.iter().min_by(|a, b| a.times.total_cmp(&b.times)) else {
        return match view.unknown.is_empty() {
            true => vec![
                "No instance has the memory for its workers, or the platform offers none like it: add larger ones with --memory and --cpus, or smaller --pools."
                    .to_owned(),
            ],
            false => vec!["No service could be forecast.".to_owned()],
        };
    };
    if best.times >= 1.0 {
        let missed = match best.times.is_finite() {
            true => format!("is forecast at {} times the limit", ratio(best.times)),
            false => "is forecast to turn requests away".to_owned(),
        };
        return vec![
            format!("No service of this search is forecast to meet {slo}: the best, {}, {missed}.", name(view, best)),
            "Lower --load or --headroom, raise the limit, or search with more CPU, memory and --max-instances."
                .to_owned(),
        ];
    }
    let measured = view.found.confirmations.len();
    match measured {
        0 => vec![format!("No service that is forecast to meet {slo} was measured.")],
        measured => vec![format!(
            "No service is confirmed for {slo}: {measured} that were forecast to hold it did not show so. Use a larger --budget, or more CPU and memory."
        )],
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServiceSize")]
pub(crate) struct WireServiceSizing<'a> {
    schema: &'static str,
    id: &'a str,
    workload: &'a str,
    load: String,
    /// By how much more of it a service must hold, as a share.
    headroom: f64,
    slo: Option<String>,
    policy: &'a str,
    prices: WireServicePrices<'a>,
    /// The place among the services of the cheapest that is shown to hold.
    choice: Option<usize>,
    /// Those that were simulated more than once, the cheapest first.
    services: Vec<WireService<'a>>,
    /// Places among those: no cheaper one is forecast to have shorter response times.
    frontier: Vec<usize>,
    simulated: usize,
    trials: usize,
    /// Whether its time was over first.
    out_of_time: bool,
    conclusion: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServicePrices")]
struct WireServicePrices<'a> {
    id: &'a str,
    provider: &'a str,
    currency: &'a str,
    read: &'a str,
    source: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizedService")]
struct WireService<'a> {
    runtime: &'a str,
    /// Of an instance, as what follows.
    cpus: f64,
    memory_bytes: u64,
    /// Absent of a runtime without a pool.
    workers: Option<u32>,
    concurrency: u32,
    min_instances: u32,
    max_instances: u32,
    /// The share of its concurrency that an instance is to have; absent where the autoscaler has one of its own.
    target: Option<f64>,
    /// As forecast.
    month: f64,
    /// On average at the load, as forecast.
    instances: f64,
    /// Response times as a multiple of their limit where there is least room; absent where requests would be turned away.
    forecast_of_limit: Option<f64>,
    /// How long each of its trials is measured, in seconds: the nearer to the limit, the longer.
    window_s: f64,
    blocks: u32,
    at_load: Option<WireServiceTimes>,
    at_headroom: Option<WireServiceTimes>,
    failed: u64,
    requests: u64,
    outcome: String,
}

/// Response times as multiples of their limit.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ServiceTimes")]
struct WireServiceTimes {
    value: f64,
    low: f64,
    high: f64,
}

impl<'a> WireServiceSizing<'a> {
    fn of(view: &'a ServiceSizeView<'a>) -> Self {
        let ServiceSizeView { id, workload, load, headroom, slo, policy, found, simulated, readings, .. } = *view;
        let Price { id: prices, provider, currency, read, source, .. } = *view.price;
        Self {
            schema: "stampede/service-size/v1",
            id,
            workload,
            load: load.to_string(),
            headroom,
            slo: slo.map(ToString::to_string),
            policy,
            prices: WireServicePrices { id: prices, provider, currency, read, source },
            choice: found.choice.as_ref().map(|choice| choice.cell),
            services: (0..view.cells.len()).filter_map(|place| WireService::of(view, place)).collect(),
            frontier: found.frontier.clone(),
            simulated,
            trials: readings.len(),
            out_of_time: view.is_out_of_time,
            conclusion: conclusion(view).join(" "),
        }
    }
}

impl<'a> WireService<'a> {
    fn of(view: &'a ServiceSizeView<'a>, place: usize) -> Option<Self> {
        let cell = view.cells.get(place)?;
        let blocks = blocks_of(view, place);
        let (failed, requests) = blocks.map(|blocks| blocks.errors).unwrap_or_default();
        let times = |side: fn(&Confirmation) -> Option<Interval>| {
            let Interval { value, low, high } = side(blocks?)?;
            Some(WireServiceTimes { value, low, high })
        };
        Some(Self {
            runtime: view.runtimes.get(cell.runtime).map_or("", String::as_str),
            cpus: cell.cpus.cores(),
            memory_bytes: cell.memory.get(),
            workers: (cell.workers > 0).then_some(cell.workers),
            concurrency: cell.concurrency,
            min_instances: cell.min_instances,
            max_instances: cell.max_instances,
            target: cell.target,
            month: cell.price,
            instances: cell.instances,
            forecast_of_limit: Some(cell.times).filter(|times| times.is_finite()),
            window_s: cell.window.as_secs_f64(),
            blocks: blocks.map(|blocks| blocks.blocks).unwrap_or_default(),
            at_load: times(|blocks| blocks.load),
            at_headroom: times(|blocks| blocks.headroom),
            failed,
            requests,
            outcome: outcome(view, place),
        })
    }
}
