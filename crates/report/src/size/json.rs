//! A search for a size as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Hopeless, Interval, SizeCell, SizeFate, SizeRole};
use stampede_scale::{PriceBound, Tariff};

use super::memory::WireMemory;
use super::{SizeView, conclusion, is_tried, month, outcome, times};
use crate::json::rendered;
use crate::recommendation::json::WireLeftOut;

/// As JSON. It ends with a line break.
pub fn json(view: &SizeView<'_>) -> String {
    rendered(&WireSizing::of(view))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Size")]
pub(crate) struct WireSizing<'a> {
    schema: &'static str,
    id: &'a str,
    workload: &'a str,
    load: String,
    /// Requests a second.
    rate: f64,
    /// By how much more of them it must hold, as a share.
    headroom: f64,
    slo: Option<String>,
    prices: WirePrices<'a>,
    /// The cheapest size that is shown to hold.
    choice: Option<WireChoice<'a>>,
    /// Sizes that were tried, the cheapest first.
    tried: Vec<WireTriedSize<'a>>,
    /// Places among those: no cheaper one had shorter response times.
    frontier: Vec<usize>,
    /// How many sizes there are in all, and how many were given up without a trial.
    sizes: usize,
    given_up: WireGivenUp,
    /// What is known of each runtime's memory.
    memory: Vec<WireMemory<'a>>,
    trials: usize,
    /// Runtimes that were asked for and cannot run here.
    left_out: Vec<WireLeftOut>,
    /// Whether its time was over first.
    out_of_time: bool,
    conclusion: String,
}

/// Where prices come from.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizePrices")]
struct WirePrices<'a> {
    id: &'a str,
    provider: &'a str,
    currency: &'a str,
    read: &'a str,
    source: &'a str,
}

/// What was given up, by what there was too little of.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "SizesGivenUp")]
struct WireGivenUp {
    memory: usize,
    cpu: usize,
    workers: usize,
    /// A larger size missed by far.
    smaller: usize,
    /// Memory grows without end.
    grows: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizeOf")]
struct WireCell<'a> {
    runtime: &'a str,
    replicas: u32,
    /// How many of them may be gone.
    spare: u32,
    /// Of each replica, as what follows.
    cpus: f64,
    memory_bytes: u64,
    /// Absent of a runtime without a pool.
    workers: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizeChoice")]
struct WireChoice<'a> {
    size: WireCell<'a>,
    month: Option<f64>,
    /// `exact`, `at_least` or `at_most`.
    bound: Option<&'static str>,
    /// The machine that is bought.
    offer: Option<String>,
    blocks: u32,
    /// Response times as multiples of their limit.
    at_load: Option<WireTimes>,
    at_headroom: Option<WireTimes>,
    /// At the load with replicas gone.
    with_replicas_gone: Option<WireTimes>,
    failed: u64,
    requests: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimesOfLimit")]
struct WireTimes {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriedSize")]
struct WireTriedSize<'a> {
    size: WireCell<'a>,
    month: f64,
    /// The worst response time where it has least room, as a multiple of its limit.
    of_limit: Option<f64>,
    blocks: u32,
    outcome: String,
}

impl<'a> WireSizing<'a> {
    fn of(view: &'a SizeView<'a>) -> Self {
        let SizeView { id, workload, load, rate, headroom, slo, grid, readings, found, is_out_of_time, .. } = *view;
        let Tariff { id: prices, provider, currency, read, source, .. } = view.tariff;
        let places: Vec<usize> = (0..grid.cells().len()).filter(|place| is_tried(view, *place)).collect();
        let blocks = |place: usize| {
            let of_load = readings.iter().filter(|one| one.cell == place && one.role == SizeRole::Load);
            of_load.count() as u32
        };
        let tried = places.iter().filter_map(|place| Some((*place, grid.cells().get(*place)?)));
        let tried = tried.map(|(place, cell)| WireTriedSize {
            size: WireCell::of(view, cell),
            month: cell.price,
            of_limit: times(view, place),
            blocks: blocks(place),
            outcome: outcome(view, place),
        });
        let among = |place: &usize| places.iter().position(|tried| tried == place);
        Self {
            schema: "stampede/size/v1",
            id,
            workload,
            load: load.to_string(),
            rate,
            headroom,
            slo: slo.map(ToString::to_string),
            prices: WirePrices { id: prices, provider, currency, read, source },
            choice: WireChoice::of(view),
            frontier: found.frontier.iter().filter_map(among).collect(),
            tried: tried.collect(),
            sizes: grid.cells().len(),
            given_up: WireGivenUp::of(&found.fates),
            memory: WireMemory::all(view),
            trials: readings.len(),
            left_out: view.left_out.iter().map(WireLeftOut::of).collect(),
            out_of_time: is_out_of_time,
            conclusion: conclusion(view).join(" "),
        }
    }
}

impl WireGivenUp {
    fn of(fates: &[SizeFate]) -> Self {
        let mut given_up = Self::default();
        for fate in fates {
            let SizeFate::Hopeless(why) = fate else { continue };
            *match why {
                Hopeless::Memory { .. } => &mut given_up.memory,
                Hopeless::Cpu { .. } => &mut given_up.cpu,
                Hopeless::Workers { .. } => &mut given_up.workers,
                Hopeless::Beaten { .. } => &mut given_up.smaller,
                Hopeless::Grows { .. } => &mut given_up.grows,
            } += 1;
        }
        given_up
    }
}

impl<'a> WireCell<'a> {
    fn of(view: &'a SizeView<'a>, cell: &SizeCell) -> Self {
        Self {
            runtime: view.runtimes.get(cell.runtime).map_or("", String::as_str),
            replicas: cell.replicas,
            spare: cell.spare,
            cpus: cell.cpus.cores(),
            memory_bytes: cell.memory.get(),
            workers: (cell.workers > 0).then_some(cell.workers),
        }
    }
}

impl<'a> WireChoice<'a> {
    fn of(view: &'a SizeView<'a>) -> Option<Self> {
        let choice = view.found.choice.as_ref()?;
        let cell = view.grid.cells().get(choice.cell)?;
        let price = month(view, cell, view.tariff);
        let confirmation = &choice.confirmation;
        let (failed, requests) = confirmation.errors;
        Some(Self {
            size: WireCell::of(view, cell),
            month: price.as_ref().map(|price| price.amount),
            bound: price.as_ref().map(|price| match price.bound {
                PriceBound::Exact => "exact",
                PriceBound::AtLeast => "at_least",
                PriceBound::AtMost => "at_most",
            }),
            offer: price.and_then(|price| price.offer),
            blocks: confirmation.blocks,
            at_load: confirmation.load.map(WireTimes::of),
            at_headroom: confirmation.headroom.map(WireTimes::of),
            with_replicas_gone: confirmation.gone.map(WireTimes::of),
            failed,
            requests,
        })
    }
}

impl WireTimes {
    fn of(interval: Interval) -> Self {
        let Interval { value, low, high } = interval;
        Self { value, low, high }
    }
}
