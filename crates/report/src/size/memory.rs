//! What is known of the memory of a size: its workers', and whether it grows.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_analysis::{Hopeless, Interval, SizeCell, SizeFate, SizeGrowth, WorkerMemory};
use stampede_core::Bytes;

use super::SizeView;

const MIB: f64 = (1 << 20) as f64;

/// `nginx-fpm: ...`, for each runtime whose workers are processes.
pub(super) fn workers(view: &SizeView<'_>) -> Vec<String> {
    let line = |(name, workers): (&String, &Option<WorkerMemory>)| {
        let workers = workers.as_ref()?;
        let limit = limit(view)?;
        let WorkerMemory { workers: seen, replicas, private, private_most, resident, kernel, rest } = *workers;
        let (fit, usual) = (workers.fit(limit), workers.by_resident(limit));
        let (of, besides) = match replicas {
            None => (String::new(), ""),
            Some(1) => (" of the replica that was left".to_owned(), ""),
            Some(replicas) => (format!(" of {replicas} replicas"), " in each"),
        };
        Some(format!(
            "{name}: {} MiB for each of {seen} workers{of} (at most {}; resident are {}, the rest of it is shared), {} MiB in the kernel, and {} MiB besides{besides}. {limit} has room for {fit} workers, with a tenth left. The usual formula, {limit} by {} MiB, says {usual}.",
            mib(private),
            mib(private_most),
            mib(resident),
            mib(kernel),
            mib(rest),
            mib(resident),
        ))
    };
    view.runtimes.iter().zip(&view.found.workers).filter_map(line).collect()
}

/// By how much memory filled up, for each runtime whose memory grew in its trials and levelled off in a longer one.
pub(super) fn filled(view: &SizeView<'_>) -> Vec<String> {
    let line = |(name, growth): (&String, &SizeGrowth)| match growth {
        SizeGrowth::Filled { worker } => Some(format!(
            "{name}: memory grew in its trials and levelled off in a longer one, after {} MiB more for each worker, for which sizes have room.",
            mib(*worker)
        )),
        SizeGrowth::Level
        | SizeGrowth::Suspected { .. }
        | SizeGrowth::Unwatched { .. }
        | SizeGrowth::Endless { .. } => None,
    };
    view.runtimes.iter().zip(&view.found.growths).filter_map(line).collect()
}

/// The limit that workers are to fit: the one that is chosen, or the largest.
fn limit(view: &SizeView<'_>) -> Option<Bytes> {
    let cells = view.grid.cells();
    let chosen = view.found.choice.as_ref().and_then(|choice| cells.get(choice.cell));
    chosen.map(|cell| cell.memory).or_else(|| cells.iter().map(|cell| cell.memory).max())
}

/// `1.2`, `0.04`
fn mib(bytes: f64) -> String {
    let mib = bytes / MIB;
    if mib.abs() < 1.0 { format!("{mib:.2}") } else { format!("{mib:.1}") }
}

/// What growth of memory means for a size, for each runtime that grows.
pub(super) fn growth(view: &SizeView<'_>) -> Vec<String> {
    let line = |(runtime, (name, growth)): (usize, (&String, &SizeGrowth))| {
        let grown = |each: &Interval| {
            format!("{} MiB ({} to {}) per 1,000 requests", mib(each.value), mib(each.low), mib(each.high))
        };
        match growth {
            SizeGrowth::Level | SizeGrowth::Filled { .. } | SizeGrowth::Suspected { .. } => None,
            SizeGrowth::Unwatched { each } => Some(format!(
                "{name}: its memory grew by {} in most trials, and no longer trial could show whether that goes on: this size may not hold for long.",
                grown(each)
            )),
            SizeGrowth::Endless { each } => Some(match replaced(view, runtime) {
                Some(true) => format!(
                    "{name}: its memory grew by {}, until workers are replaced. Sizes have room for that.",
                    grown(each)
                ),
                Some(false) => format!(
                    "{name}: its memory grew by {}, and no size of the search has room for that until workers are replaced: lower the number of requests after which they are, or add larger sizes with --memory.",
                    grown(each)
                ),
                None => format!(
                    "{name}: its memory grew by {} and did not level off: {}. Any size for it would hold for a while only. Find what the application keeps of each request, or have workers replaced after a number of requests{}, and search again.",
                    grown(each),
                    full(view, runtime, each),
                    recycling(view, runtime)
                ),
            }),
        }
    };
    view.runtimes.iter().zip(&view.found.growths).enumerate().filter_map(line).collect()
}

/// ` (--set swoole.max_request=1000)`
fn recycling(view: &SizeView<'_>, runtime: usize) -> String {
    let setting = view.recycling.get(runtime).and_then(Option::as_ref).zip(view.runtimes.get(runtime));
    setting.map_or_else(String::new, |(setting, name)| format!(" (--set {name}.{setting}=1000)"))
}

/// Whether a runtime whose memory grows replaces workers in time under some size; nothing where it replaces none.
fn replaced(view: &SizeView<'_>, runtime: usize) -> Option<bool> {
    let cells = view.grid.cells().iter().zip(&view.found.fates);
    let ours: Vec<&SizeFate> = cells.filter(|(cell, _)| cell.runtime == runtime).map(|(_, fate)| fate).collect();
    let is_endless = |fate: &&SizeFate| matches!(fate, SizeFate::Hopeless(Hopeless::Grows { needed: None, .. }));
    let is_short = |fate: &&SizeFate| matches!(fate, SizeFate::Hopeless(Hopeless::Grows { needed: Some(_), .. }));
    (!ours.iter().any(is_endless)).then(|| !ours.iter().all(is_short))
}

/// `at 100 requests a second 256Mi are full after 35 minutes`
fn full(view: &SizeView<'_>, runtime: usize, each: &Interval) -> String {
    let most = view.grid.cells().iter().filter(|cell| cell.runtime == runtime).map(|cell: &SizeCell| cell.memory).max();
    let most = most.unwrap_or(Bytes::new(0));
    let seconds = most.get() as f64 / (each.value.max(1.0) / 1_000.0 * view.rate);
    let time = match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 7_200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.0} hours", seconds / 3_600.0),
        seconds => format!("{:.0} days", seconds / 86_400.0),
    };
    format!("at {} requests a second {most}, the most that was searched, are full after {time}", view.rate)
}

/// Whether no size is named for this reason alone: the memory of every runtime that served grows.
pub(super) fn is_all_that_stops(view: &SizeView<'_>) -> bool {
    let is_endless = |growth: &SizeGrowth| matches!(growth, SizeGrowth::Endless { .. });
    view.found.nearest.is_none() && view.found.growths.iter().any(is_endless)
}

/// What is known of a runtime's memory.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizeMemory")]
pub(super) struct WireMemory<'a> {
    runtime: &'a str,
    /// `level` (or unknown), `filled`, `suspected`, `unwatched` or `endless`.
    growth: &'static str,
    /// Absent where it is level.
    growth_bytes_per_1000_requests: Option<WireGrowth>,
    /// Absent where workers are no processes, or could not be looked into.
    workers: Option<WireWorkers>,
}

/// The mean of all trials with its 95 % interval.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizeMemoryGrowth")]
struct WireGrowth {
    value: f64,
    low: f64,
    high: f64,
}

/// In the trial with the most of them, in bytes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SizeWorkers")]
struct WireWorkers {
    seen: u32,
    /// To which they belong, each of which has the limit and what follows; absent where there are none.
    replicas: Option<u32>,
    private_mean: f64,
    private_max: f64,
    /// With what is shared.
    resident_mean: f64,
    /// Of each.
    kernel: f64,
    /// What the deployment, or a replica on average, needs besides.
    rest: f64,
    /// How many fit this limit with a tenth left, and how many the limit by the resident memory is.
    limit: u64,
    fit: u32,
    by_resident: u32,
}

impl<'a> WireMemory<'a> {
    pub(super) fn all(view: &'a SizeView<'a>) -> Vec<Self> {
        let of = |((name, growth), workers): ((&'a String, &SizeGrowth), &Option<WorkerMemory>)| {
            let (word, each) = match growth {
                SizeGrowth::Level => ("level", None),
                SizeGrowth::Filled { .. } => ("filled", None),
                SizeGrowth::Suspected { each } => ("suspected", Some(each)),
                SizeGrowth::Unwatched { each } => ("unwatched", Some(each)),
                SizeGrowth::Endless { each } => ("endless", Some(each)),
            };
            let workers = workers.as_ref().zip(limit(view));
            Self {
                runtime: name,
                growth: word,
                growth_bytes_per_1000_requests: each.map(|Interval { value, low, high }| WireGrowth {
                    value: *value,
                    low: *low,
                    high: *high,
                }),
                workers: workers.map(|(workers, limit)| WireWorkers {
                    seen: workers.workers,
                    replicas: workers.replicas,
                    private_mean: workers.private,
                    private_max: workers.private_most,
                    resident_mean: workers.resident,
                    kernel: workers.kernel,
                    rest: workers.rest,
                    limit: limit.get(),
                    fit: workers.fit(limit),
                    by_resident: workers.by_resident(limit),
                }),
            }
        };
        view.runtimes.iter().zip(&view.found.growths).zip(&view.found.workers).map(of).collect()
    }
}
