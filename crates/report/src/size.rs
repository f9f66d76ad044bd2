//! What a search for a size found: the cheapest deployment that holds an objective, what else was tried, and what it costs elsewhere.

mod json;
mod memory;
mod nothing;
pub mod service;

use stampede_analysis::{
    Confirmation, Hopeless, SizeCell, SizeFate, SizeFound, SizeGrid, SizeOutcome, SizeReading, SizeRole,
};
use stampede_core::{LeftOut, Load, Slo};
use stampede_scale::{MonthPrice, PriceBound, SteadySize, Tariff, tariffs};

use crate::StudyView;
use crate::page::{Block, Column, Page, Table};
use crate::quantity::{percent, ratio};

pub(crate) use self::json::WireSizing;
pub use self::json::json;

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct SizeView<'a> {
    /// The search.
    pub id: &'a str,
    /// What was served.
    pub workload: &'a str,
    /// Under which load.
    pub load: &'a Load,
    /// Requests a second of it.
    pub rate: f64,
    /// By how much more of them it must hold, as a share.
    pub headroom: f64,
    /// What had to hold.
    pub slo: Option<&'a Slo>,
    /// The names of the runtimes.
    pub runtimes: &'a [String],
    /// Those that were asked for and cannot run here, and why.
    pub left_out: &'a [LeftOut],
    /// By runtime, the setting by which it replaces a worker after a number of requests, where it has one.
    pub recycling: &'a [Option<String>],
    /// All sizes.
    pub grid: &'a SizeGrid,
    /// The trials.
    pub readings: &'a [SizeReading],
    /// What they came to.
    pub found: &'a SizeFound,
    /// What sizes cost.
    pub tariff: &'a Tariff,
    /// Whether it ended since its time was over.
    pub is_out_of_time: bool,
    /// The study that confirmed the choice and the case in it, where `stampede export` can write its files.
    pub files: Option<(&'a str, &'a str)>,
    /// What was measured.
    pub studies: &'a [StudyView<'a>],
}

pub(crate) fn page(view: &SizeView<'_>) -> Page {
    let mut blocks = vec![Block::Paragraph(question(view)), Block::Paragraph(searched(view))];
    blocks.extend(view.left_out.iter().map(|left_out| Block::Paragraph(skipped(left_out))));
    blocks.push(Block::Caption("Sizes that were tried, the cheapest first".to_owned()));
    blocks.push(Block::Table(tried(view)));
    if let Some((caption, table)) = map(view) {
        blocks.extend([Block::Caption(caption), Block::Table(table), Block::Legend(LEGEND.to_owned())]);
    }
    let of_workers = memory::workers(view).into_iter().chain(memory::filled(view));
    blocks.extend(Block::list("Memory by worker", of_workers.map(Block::Item)));
    blocks.extend(Block::list("The same size elsewhere, all month", elsewhere(view).into_iter().map(Block::Item)));
    blocks.extend(view.files.map(|(study, case)| {
        let command = format!("stampede export dockerfile --study {study} --case {case} --output DIR");
        Block::Paragraph(format!("Files to deploy the choice: {command}"))
    }));
    Page { answer: conclusion(view), blocks }
}

/// What the cells of the map mean.
const LEGEND: &str = "Cells: response time as a multiple of its limit at the load with its headroom, or with replicas gone where that is longer, and which is chosen; or what the size has too little of, by other trials; \"smaller\": a larger size missed by far; \"grows\": memory grows without end.";

fn objective(view: &SizeView<'_>) -> String {
    view.slo.map(ToString::to_string).unwrap_or_default()
}

fn question(view: &SizeView<'_>) -> String {
    let more = match view.headroom > 0.0 {
        true => format!(" and at {} times that", ratio_of_load(view)),
        false => String::new(),
    };
    let Tariff { id, provider, read, source, .. } = view.tariff;
    format!(
        "{}: {} at {}{more}; prices {id}: {provider}; read {read} at {source}",
        view.workload,
        objective(view),
        view.load
    )
}

/// `1.2`
fn ratio_of_load(view: &SizeView<'_>) -> String {
    ratio_of_more(view.headroom)
}

/// How many times the load it is with so much more of it: `1.2`.
fn ratio_of_more(headroom: f64) -> String {
    format!("{:.2}", 1.0 + headroom).trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn searched(view: &SizeView<'_>) -> String {
    let fates = view.found.fates.iter().enumerate();
    let hopeless =
        fates.filter(|(place, fate)| matches!(fate, SizeFate::Hopeless(_)) && !is_tried(view, *place)).count();
    format!(
        "search {}: {} of {} sizes tried in {} trials, {hopeless} ruled out without one",
        view.id,
        view.found.tried,
        view.grid.cells().len(),
        view.readings.len()
    )
}

/// `skipped: frankenphp needs the program frankenphp: https://frankenphp.dev`
fn skipped(LeftOut { case, reason, fix }: &LeftOut) -> String {
    let fix = fix.as_ref().map(|fix| format!(": {fix}")).unwrap_or_default();
    format!("skipped: {case} {reason}{fix}")
}

/// `nginx-fpm, 0.5 CPU, 192Mi, 6 workers`
pub(crate) fn name(view: &SizeView<'_>, cell: &SizeCell) -> String {
    cell.named(view.runtimes.get(cell.runtime).map_or("", String::as_str))
}

/// What a month of a size costs.
fn month(view: &SizeView<'_>, cell: &SizeCell, tariff: &Tariff) -> Option<MonthPrice> {
    let place = view.grid.cells().iter().position(|other| other == cell)?;
    let works = view.readings.iter().filter(|reading| reading.cell == place);
    let works: Vec<f64> = works
        .filter_map(|reading| match &reading.outcome {
            SizeOutcome::Served(figures) => figures.work,
            SizeOutcome::Failed(_) | SizeOutcome::Unusable(_) => None,
        })
        .collect();
    let work = stampede_analysis::median(&works).map(std::time::Duration::from_secs_f64);
    let replicas = f64::from(cell.replicas.max(1));
    let of_one =
        tariff.month(&SteadySize { cpus: cell.cpus, memory: cell.memory, rate: view.rate / replicas, work })?;
    let offer = of_one.offer.map(|offer| match cell.replicas {
        0 | 1 => offer,
        copies => format!("{copies} x {offer}"),
    });
    Some(MonthPrice { amount: of_one.amount * replicas, offer, bound: of_one.bound })
}

/// `at least 15.59 USD (performance-1x)`
fn priced(price: &MonthPrice, tariff: &Tariff) -> String {
    let MonthPrice { amount, bound, offer } = price;
    let offer = offer.as_ref().map_or_else(String::new, |offer| format!(" ({offer})"));
    let bound = match bound {
        PriceBound::Exact => "",
        PriceBound::AtLeast => "at least ",
        PriceBound::AtMost => "at most ",
    };
    format!("{bound}{amount:.2} {}{offer}", tariff.currency)
}

fn price_of(view: &SizeView<'_>, cell: &SizeCell) -> String {
    month(view, cell, view.tariff).map_or_else(String::new, |price| priced(&price, view.tariff))
}

fn blocks_of<'a>(view: &SizeView<'a>, place: usize) -> Option<&'a Confirmation> {
    view.found.confirmations.iter().find(|(cell, _)| *cell == place).map(|(_, confirmation)| confirmation)
}

/// Response times of a size as a multiple of their limit, where it has least room.
fn times(view: &SizeView<'_>, place: usize) -> Option<f64> {
    let blocks = blocks_of(view, place).and_then(Confirmation::worst);
    blocks.map(|blocks| blocks.value).or_else(|| {
        let served = trials(view, place).filter_map(|reading| match &reading.outcome {
            SizeOutcome::Served(figures) => Some(figures.times),
            SizeOutcome::Failed(_) | SizeOutcome::Unusable(_) => None,
        });
        served.reduce(f64::min)
    })
}

/// Whether a size has trials at the load that is asked for.
fn is_tried(view: &SizeView<'_>, place: usize) -> bool {
    view.readings.iter().any(|reading| reading.cell == place && reading.role.tells_of_times())
}

/// Trials of a size that the search made.
fn trials<'a>(view: &SizeView<'a>, place: usize) -> impl Iterator<Item = &'a SizeReading> {
    view.readings.iter().filter(move |reading| reading.cell == place && reading.role == SizeRole::Search)
}

fn peak(view: &SizeView<'_>, place: usize) -> Option<f64> {
    let ours = view.readings.iter().filter(|reading| reading.cell == place && reading.role != SizeRole::Saturate);
    let peaks = ours.filter_map(|reading| match &reading.outcome {
        SizeOutcome::Served(figures) => figures.memory_peak,
        SizeOutcome::Failed(_) | SizeOutcome::Unusable(_) => None,
    });
    peaks.max().map(|peak| peak.mib())
}

fn tried(view: &SizeView<'_>) -> Table {
    let places: Vec<usize> = (0..view.grid.cells().len()).filter(|place| is_tried(view, *place)).collect();
    let cells = || places.iter().filter_map(|place| view.grid.cells().get(*place));
    let figure = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or_else(|| "-".to_owned(), show);
    Table {
        columns: vec![
            Column::names("size", cells().map(|cell| name(view, cell)).collect()),
            Column::figures(&view.tariff.currency, cells().map(|cell| format!("{:.2}", cell.price)).collect()),
            Column::figures("of limit", places.iter().map(|place| figure(times(view, *place), &ratio)).collect()),
            Column::figures(
                "peak MiB",
                places.iter().map(|place| figure(peak(view, *place), &|mib| format!("{mib:.0}"))).collect(),
            ),
            Column::prose("outcome", places.iter().map(|place| outcome(view, *place)).collect()),
        ],
    }
}

fn outcome(view: &SizeView<'_>, place: usize) -> String {
    let rounds = blocks_of(view, place).map(Confirmation::rounds).unwrap_or_default();
    match view.found.fates.get(place) {
        Some(SizeFate::Confirmed) => {
            let chosen = view.found.choice.as_ref().is_some_and(|choice| choice.cell == place);
            let what = if chosen { "CHOSEN: holds" } else { "holds" };
            format!("{what}, shown in {rounds}")
        }
        Some(SizeFate::Refuted) => match blocks_of(view, place).and_then(|blocks| blocks.reason.as_ref()) {
            Some(reason) => reason.clone(),
            None => format!("not confirmed in {rounds}"),
        },
        // Its rounds are not over; of what was confirmed first there may be no single trial.
        Some(SizeFate::Held | SizeFate::Missed) if !rounds.is_empty() => format!("not clear after {rounds}"),
        Some(SizeFate::Held) => match trials(view, place).count() {
            0 | 1 => "held in one trial".to_owned(),
            trials => format!("held in one of {trials} trials"),
        },
        Some(SizeFate::Missed) => match trials(view, place).count() {
            0 | 1 => "missed in one trial".to_owned(),
            trials => format!("missed in {trials} trials"),
        },
        Some(SizeFate::Failed(reason)) => format!("failed: {reason}"),
        Some(SizeFate::Unusable(reason)) => format!("does not count: {reason}"),
        Some(SizeFate::Hopeless(Hopeless::Grows { .. })) => "its memory grows without end".to_owned(),
        Some(SizeFate::Hopeless(_) | SizeFate::Untried) | None => String::new(),
    }
}

/// CPU by memory, of the runtime and the pool that are chosen or came nearest.
fn map(view: &SizeView<'_>) -> Option<(String, Table)> {
    let place = view.found.choice.as_ref().map(|choice| choice.cell).or(view.found.nearest)?;
    let shown = view.grid.cells().get(place)?;
    let ours = || {
        let cells = view.grid.cells().iter().enumerate();
        cells.filter(|(_, cell)| {
            (cell.runtime, cell.workers, cell.replicas) == (shown.runtime, shown.workers, shown.replicas)
        })
    };
    let mut cpus: Vec<_> = ours().map(|(_, cell)| cell.cpus).collect();
    let mut memory: Vec<_> = ours().map(|(_, cell)| cell.memory).collect();
    cpus.sort();
    cpus.dedup();
    memory.sort();
    memory.dedup();
    if cpus.len() < 2 && memory.len() < 2 {
        return None;
    }
    let cell = |cpus, memory| {
        let found = ours().find(|(_, cell)| cell.cpus == cpus && cell.memory == memory);
        found.map_or_else(String::new, |(place, _)| mapped(view, place))
    };
    let mut columns = vec![Column::names("memory", memory.iter().map(ToString::to_string).collect())];
    for cpus in cpus {
        columns
            .push(Column::figures(&format!("{cpus} CPU"), memory.iter().map(|memory| cell(cpus, *memory)).collect()));
    }
    let runtime = view.runtimes.get(shown.runtime).map_or("", String::as_str);
    let pool = pool(shown);
    let copies = shown.copies();
    let each = if copies.is_empty() { "" } else { " of each" };
    Some((format!("{copies}{runtime}{pool}, by CPU and memory{each}"), Table { columns }))
}

/// ` with 4 workers`
fn pool(cell: &SizeCell) -> String {
    match cell.workers {
        0 => String::new(),
        1 => " with 1 worker".to_owned(),
        workers => format!(" with {workers} workers"),
    }
}

fn mapped(view: &SizeView<'_>, place: usize) -> String {
    let times = || times(view, place).map_or_else(String::new, ratio);
    match view.found.fates.get(place) {
        Some(SizeFate::Confirmed) if view.found.choice.as_ref().is_some_and(|choice| choice.cell == place) => {
            format!("CHOSEN {}", times())
        }
        Some(SizeFate::Confirmed | SizeFate::Refuted | SizeFate::Held | SizeFate::Missed) => times(),
        Some(SizeFate::Failed(_)) => "failed".to_owned(),
        Some(SizeFate::Unusable(_)) => "?".to_owned(),
        Some(SizeFate::Hopeless(Hopeless::Memory { .. })) => "memory".to_owned(),
        Some(SizeFate::Hopeless(Hopeless::Cpu { .. })) => "CPU".to_owned(),
        Some(SizeFate::Hopeless(Hopeless::Workers { .. })) => "workers".to_owned(),
        Some(SizeFate::Hopeless(Hopeless::Beaten { .. })) => "smaller".to_owned(),
        Some(SizeFate::Hopeless(Hopeless::Grows { .. })) => "grows".to_owned(),
        Some(SizeFate::Untried) | None => "".to_owned(),
    }
}

/// What the chosen size costs by other tariffs, each with its bound.
fn elsewhere(view: &SizeView<'_>) -> Vec<String> {
    let chosen = view.found.choice.as_ref().and_then(|choice| view.grid.cells().get(choice.cell));
    let Some(chosen) = chosen else { return Vec::new() };
    let others = tariffs().into_iter().filter(|tariff| tariff.id != view.tariff.id);
    let line = |tariff: Tariff| {
        let price = month(view, chosen, &tariff)?;
        Some(format!("{}: {}; {}, read {}", tariff.id, priced(&price, &tariff), tariff.provider, tariff.read))
    };
    others.filter_map(line).collect()
}

/// What it comes to, one sentence a line.
pub(crate) fn conclusion(view: &SizeView<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let chosen = view.found.choice.as_ref();
    match chosen.and_then(|choice| Some((choice, view.grid.cells().get(choice.cell)?))) {
        Some((choice, cell)) => {
            lines.push(format!("{}: {} a month.", name(view, cell), price_of(view, cell)));
            lines.push(shown_by(&choice.confirmation, view.load, view.headroom));
            lines.extend(cpu(view, choice.cell, cell));
            lines.extend(others(view, cell));
            if view.found.is_smallest(view.grid) {
                lines.push(
                    "The search had no smaller size: add smaller ones with --cpus and --memory, or raise --load, to find the smallest."
                        .to_owned(),
                );
            }
        }
        None if memory::is_all_that_stops(view) => {}
        None => lines.extend(nothing::nothing(view)),
    }
    lines.extend(memory::growth(view));
    if view.is_out_of_time {
        lines.push(
            "The time was over before the search was complete. The same command with --resume and a larger --budget continues it."
                .to_owned(),
        );
    }
    lines
}

/// How sure that is.
fn shown_by(confirmation: &Confirmation, at: &Load, headroom: f64) -> String {
    let Confirmation { load, headroom: more, gone, errors, .. } = confirmation;
    let side = |interval: &stampede_analysis::Interval, at: String| {
        format!("{} of the limit {at} (at most {})", ratio(interval.value), ratio(interval.high))
    };
    let sides = [
        load.as_ref().map(|load| side(load, format!("at {at}"))),
        more.as_ref().map(|more| side(more, format!("at {} times that", ratio_of_more(headroom)))),
        gone.as_ref().map(|gone| side(gone, format!("at {at} with replicas gone"))),
    ];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    let errors = match errors {
        (0, _) => "no request without a right answer".to_owned(),
        (failed, of) => format!("{failed} of {of} requests without a right answer"),
    };
    format!(
        "Its response times were {}, {errors}, in {} that were not used to choose it.",
        sides.join(" and "),
        confirmation.rounds()
    )
}

/// How much of its CPU the load takes: other machines, and other hours of this one, are slower.
fn cpu(view: &SizeView<'_>, place: usize, cell: &SizeCell) -> Option<String> {
    let rounds = view.readings.iter().filter(|reading| reading.cell == place);
    let of_load = rounds.filter(|reading| matches!(reading.role, SizeRole::Load | SizeRole::Headroom));
    let works = of_load.filter_map(|reading| match &reading.outcome {
        SizeOutcome::Served(figures) => figures.work,
        SizeOutcome::Failed(_) | SizeOutcome::Unusable(_) => None,
    });
    let works: Vec<f64> = works.collect();
    let (least, most) = (works.iter().copied().reduce(f64::min)?, works.iter().copied().reduce(f64::max)?);
    let all = cell.cpus.cores() * f64::from(cell.replicas.max(1)) / view.rate;
    let ms = |seconds: f64| {
        let ms = seconds * 1e3;
        if ms < 1.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }
    };
    Some(format!(
        "A request took {} to {} ms of CPU in them, so that the load takes {} to {} of its CPU limit: at {} ms there is nothing left.",
        ms(least),
        ms(most),
        percent(least / all),
        percent(most / all),
        ms(all)
    ))
}

/// What the other runtimes need.
fn others(view: &SizeView<'_>, chosen: &SizeCell) -> Option<String> {
    let of_runtime = |runtime: usize| {
        let cells = view.grid.cells().iter().enumerate().filter(move |(_, cell)| cell.runtime == runtime);
        let mut held = cells
            .filter(|(place, _)| matches!(view.found.fates.get(*place), Some(SizeFate::Held | SizeFate::Confirmed)));
        let name_of = view.runtimes.get(runtime)?;
        Some(match held.next() {
            Some((place, cell)) => {
                let sure = match view.found.fates.get(place) {
                    Some(SizeFate::Confirmed) => "",
                    _ => " in one trial",
                };
                let pool = pool(cell);
                format!(
                    "{name_of} held with {}{} CPU and {}{pool}{sure}: {}",
                    cell.copies(),
                    cell.cpus,
                    cell.memory,
                    price_of(view, cell)
                )
            }
            None => format!("{name_of} held with no size that was tried"),
        })
    };
    let others: Vec<String> =
        (0..view.runtimes.len()).filter(|runtime| *runtime != chosen.runtime).filter_map(of_runtime).collect();
    (!others.is_empty()).then(|| format!("{}.", others.join("; ")))
}
