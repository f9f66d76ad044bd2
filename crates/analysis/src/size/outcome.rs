//! What a search for a size came to.

use super::confirmation::{Confirmation, SizeVerdict};
use super::grid::{SizeCell, SizeGrid, SizeOutcome, SizeReading};
use super::growth::SizeGrowth;
use super::hopeless::Hopeless;
use super::question::SizeQuestion;
use super::search::{Known, Parted};
use super::shown::best_trial;
use super::stop::{SizeStop, times_of};
use crate::worker_memory::WorkerMemory;

/// What became of a size.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeFate {
    /// Fresh blocks show that it holds.
    Confirmed,
    /// They do not.
    Refuted,
    /// It held in a trial of the search.
    Held,
    /// It missed the objective in every one of them.
    Missed,
    /// It did not start, or did not live.
    Failed(String),
    /// Its trial says nothing of it.
    Unusable(String),
    /// It was not worth a trial.
    Hopeless(Hopeless),
    /// It was not tried.
    Untried,
}

/// The size that is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeChoice {
    /// Which.
    pub cell: usize,
    /// What its blocks say.
    pub confirmation: Confirmation,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeFound {
    /// The cheapest that is shown to hold.
    pub choice: Option<SizeChoice>,
    /// What each size came to, in the order of the grid.
    pub fates: Vec<SizeFate>,
    /// What blocks say of each size that has some, in the order in which they were begun.
    pub confirmations: Vec<(usize, Confirmation)>,
    /// Sizes that were tried of which no cheaper one had shorter response times, the cheapest first.
    pub frontier: Vec<usize>,
    /// The best of those that were tried where none holds: the one that missed by least.
    pub nearest: Option<usize>,
    /// What keeps that one from the objective, by its trials.
    pub stop: Option<SizeStop>,
    /// How many sizes were tried.
    pub tried: usize,
    /// By runtime, how its memory grows.
    pub growths: Vec<SizeGrowth>,
    /// By runtime, what its workers have of memory, in the trial with the most of them.
    pub workers: Vec<Option<WorkerMemory>>,
}

impl SizeFound {
    /// Whether nothing smaller could have been chosen: no size of the search has less of CPU or memory.
    #[must_use]
    pub fn is_smallest(&self, grid: &SizeGrid) -> bool {
        let Some(choice) = self.choice.as_ref().and_then(|choice| grid.cells().get(choice.cell)) else { return false };
        let is_no_smaller = |cell: &SizeCell| {
            cell.cpus >= choice.cpus && cell.memory >= choice.memory && cell.replicas >= choice.replicas
        };
        grid.cells().iter().all(is_no_smaller)
    }
}

/// What these trials came to.
#[must_use]
pub fn size_found(question: &SizeQuestion, grid: &SizeGrid, readings: &[SizeReading]) -> SizeFound {
    let parted = Parted::of(readings);
    let known = Known::of(question, grid, &parted);
    let confirmations = known.confirmations();
    let of = |place: usize| confirmations.iter().find(|(cell, _)| *cell == place).map(|(_, confirmation)| confirmation);
    let fates = (0..grid.cells().len()).map(|place| fate(place, of(place), question, &known)).collect();
    let confirmed = confirmations.iter().filter(|(_, confirmation)| confirmation.verdict == SizeVerdict::Confirmed);
    // Places are in the order of prices.
    let choice = confirmed.min_by_key(|(cell, _)| *cell);
    let choice = choice.map(|(cell, confirmation)| SizeChoice { cell: *cell, confirmation: confirmation.clone() });
    let mut frontier = Vec::new();
    let mut shortest = f64::INFINITY;
    let mut nearest: Option<(usize, f64)> = None;
    for place in 0..grid.cells().len() {
        if known.grows(place).is_some() {
            continue;
        }
        let Some(times) = times_of(of(place), &known.of_cell(place)) else { continue };
        if times < shortest {
            shortest = times;
            frontier.push(place);
        }
        if nearest.is_none_or(|(_, least)| times < least) {
            nearest = Some((place, times));
        }
    }
    let nearest = nearest.filter(|_| choice.is_none()).map(|(place, _)| place);
    let stop =
        nearest.and_then(|place| SizeStop::of(grid.cells().get(place)?, question, of(place), &known.of_cell(place)));
    let tried = known.tried();
    let growths = known.growths();
    let workers = (0..growths.len()).map(|runtime| workers(runtime, grid, &parted.trials)).collect();
    SizeFound { choice, fates, confirmations, frontier, nearest, stop, tried, growths, workers }
}

/// What workers of a runtime have of memory, where most of them were seen; of as many, the larger ones.
fn workers(runtime: usize, grid: &SizeGrid, readings: &[SizeReading]) -> Option<WorkerMemory> {
    let is_ours = |cell: usize| grid.cells().get(cell).is_some_and(|cell| cell.runtime == runtime);
    let ours = readings.iter().filter(|reading| is_ours(reading.cell));
    let seen = ours.filter_map(|reading| reading.outcome.figures()?.workers);
    seen.max_by(|a, b| a.workers.cmp(&b.workers).then(a.private_most.total_cmp(&b.private_most)))
}

fn fate(place: usize, confirmation: Option<&Confirmation>, question: &SizeQuestion, known: &Known<'_>) -> SizeFate {
    // What it held was held for a while.
    if let Some(grows) = known.grows(place) {
        return SizeFate::Hopeless(grows);
    }
    match confirmation.map(|confirmation| confirmation.verdict) {
        Some(SizeVerdict::Confirmed) => return SizeFate::Confirmed,
        Some(SizeVerdict::Refuted) => return SizeFate::Refuted,
        Some(SizeVerdict::Open) | None => {}
    }
    let readings = known.of_cell(place);
    // What a trial says counts more than that another was needed.
    match best_trial(&readings).or(readings.first().copied()).map(|reading| &reading.outcome) {
        Some(SizeOutcome::Failed(reason)) => SizeFate::Failed(reason.clone()),
        Some(SizeOutcome::Unusable(reason)) => SizeFate::Unusable(reason.clone()),
        Some(outcome) if question.is_held(outcome) => SizeFate::Held,
        Some(_) => SizeFate::Missed,
        None => known.hopeless(place).map_or(SizeFate::Untried, SizeFate::Hopeless),
    }
}
