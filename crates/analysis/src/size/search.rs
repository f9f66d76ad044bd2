//! Which size to try or to confirm next.
//!
//! The search tries what is expected to save most: the probability that a size holds times what it costs less than the cheapest
//! that seemed to hold. Then sizes are confirmed in fresh blocks from dear to cheap. A confirmed size is never given up for a dearer
//! one, and the first that cannot be confirmed below it ends that, but for [`MOST_REFUTED`]: so as many chances there are, and no
//! more, that a size is chosen which misses its objective.

use super::belief::Belief;
use super::confirmation::{Confirmation, FIRST_BLOCKS, MOST_BLOCKS, SizeVerdict};
use super::grid::{SizeGrid, SizeOutcome, SizeReading, SizeRole};
use super::hopeless::{Demand, hopeless};

/// A size that is expected to save less than this share of what the cheapest costs that seems to hold is not tried.
const LEAST_GAIN: f64 = 0.01;

/// The same of a confirmation, which takes many trials, and what must be believed of its size at least.
const LEAST_SAVING: f64 = 0.005;
const PLAUSIBLE: f64 = 0.15;

/// What must be believed of the first size that is confirmed.
const BELIEVED: f64 = 0.7;

/// Sizes that are refuted before confirmations end where one was confirmed, and where none was.
const MOST_REFUTED: usize = 2;
const MOST_REFUTED_OF_NONE: usize = 5;

/// Cells that the search leaves to confirmations.
const KEPT: usize = 3;

/// What is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeQuestion {
    /// Requests a second.
    pub rate: f64,
    /// By how much more of them it must hold, as a share.
    pub headroom: f64,
    /// The share of requests that may be beyond the limit of the response time.
    pub beyond: f64,
    /// That limit, in seconds.
    pub below: f64,
    /// The share of requests that may have no right answer, where that is asked for.
    pub errors: Option<f64>,
    /// Sizes that are tried at most.
    pub most_cells: usize,
}

impl SizeQuestion {
    /// Requests a second with the headroom.
    pub fn sized_rate(&self) -> f64 {
        self.rate * (1.0 + self.headroom)
    }

    /// Whether a trial of a search held the objective.
    pub(super) fn is_held(&self, outcome: &SizeOutcome) -> bool {
        outcome.figures().is_some_and(|figures| {
            let errors = figures.failed as f64 / (figures.requests as f64).max(1.0);
            figures.times < 1.0 && self.errors.is_none_or(|allowed| errors < allowed)
        })
    }
}

/// How far a search may go: its time decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStage {
    /// It may try other sizes.
    Search,
    /// It may confirm what it found.
    Confirm,
    /// It ends.
    Over,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStep {
    /// A trial of a size, at the load with its headroom.
    Try {
        /// Which.
        cell: usize,
    },
    /// Blocks of a size, each at the load and at the load with its headroom.
    Confirm {
        /// Which.
        cell: usize,
        /// How many more.
        blocks: u32,
    },
    /// The search is over.
    Done,
}

/// What comes next after these trials.
#[must_use]
pub fn size_step(question: &SizeQuestion, grid: &SizeGrid, readings: &[SizeReading], stage: SizeStage) -> SizeStep {
    let known = Known::of(question, grid, readings);
    if stage == SizeStage::Over {
        return SizeStep::Done;
    }
    let confirmed = known.confirmations();
    if stage == SizeStage::Search
        && confirmed.is_empty()
        && let Some(cell) = known.next_trial()
    {
        return SizeStep::Try { cell };
    }
    match known.next_confirmation(&confirmed) {
        Some((cell, blocks)) => SizeStep::Confirm { cell, blocks },
        None => SizeStep::Done,
    }
}

/// What the trials so far say.
pub(super) struct Known<'a> {
    question: &'a SizeQuestion,
    grid: &'a SizeGrid,
    readings: &'a [SizeReading],
    /// By runtime.
    beliefs: Vec<(Belief<'a>, Demand)>,
}

impl<'a> Known<'a> {
    pub(super) fn of(question: &'a SizeQuestion, grid: &'a SizeGrid, readings: &'a [SizeReading]) -> Self {
        let runtimes = grid.cells().iter().map(|cell| cell.runtime + 1).max().unwrap_or(0);
        let of_runtime = |runtime| {
            (Belief::of(runtime, question, grid, readings), Demand::of(runtime, grid, readings))
        };
        Self { question, grid, readings, beliefs: (0..runtimes).map(of_runtime).collect() }
    }

    /// Trials of a size, in their order.
    pub(super) fn of_cell(&self, cell: usize) -> Vec<&'a SizeReading> {
        self.readings.iter().filter(|reading| reading.cell == cell).collect()
    }

    /// Why a size is not worth a trial.
    pub(super) fn hopeless(&self, place: usize) -> Option<super::Hopeless> {
        let (_, demand) = self.beliefs.get(self.grid.cells().get(place)?.runtime)?;
        hopeless(place, self.question, self.grid, self.readings, *demand)
    }

    /// How probable it is that a size holds.
    pub(super) fn holds(&self, place: usize) -> f64 {
        let cell = self.grid.cells().get(place);
        cell.and_then(|cell| Some(self.beliefs.get(cell.runtime)?.0.holds(cell))).unwrap_or(0.0)
    }

    fn is_tried(&self, place: usize) -> bool {
        self.readings.iter().any(|reading| reading.cell == place)
    }

    /// How many sizes were tried.
    pub(super) fn tried(&self) -> usize {
        (0..self.grid.cells().len()).filter(|place| self.is_tried(*place)).count()
    }

    /// What each size came to that was confirmed or refuted in blocks, or is being so.
    pub(super) fn confirmations(&self) -> Vec<(usize, Confirmation)> {
        let mut places: Vec<usize> = Vec::new();
        for reading in self.readings.iter().filter(|reading| reading.role != SizeRole::Search) {
            if !places.contains(&reading.cell) {
                places.push(reading.cell);
            }
        }
        let of = |place| {
            Confirmation::of(&self.of_cell(place), self.question.errors, self.question.headroom > 0.0)
        };
        places.into_iter().map(|place| (place, of(place))).collect()
    }

    /// The size that a search tries next.
    fn next_trial(&self) -> Option<usize> {
        if self.tried() + KEPT >= self.question.most_cells.max(KEPT + 1) {
            return None;
        }
        if let Some(runtime) = (0..self.beliefs.len()).find(|runtime| !self.is_known(*runtime)) {
            return self.largest(runtime);
        }
        let held = self.readings.iter().filter(|reading| self.question.is_held(&reading.outcome));
        let cheapest = held.filter_map(|reading| self.grid.cells().get(reading.cell)).map(|cell| cell.price);
        let cheapest = cheapest.reduce(f64::min);
        let dearest = self.grid.cells().last().map_or(0.0, |cell| cell.price);
        let bound = cheapest.unwrap_or(1.5 * dearest);
        let gain = |place: usize| {
            let price = self.grid.cells().get(place).map_or(f64::INFINITY, |cell| cell.price);
            self.holds(place) * (bound - price) / bound
        };
        let open = (0..self.grid.cells().len()).filter(|place| !self.is_tried(*place) && self.hopeless(*place).is_none());
        let best = open.map(|place| (place, gain(place))).reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|(_, gain)| *gain > LEAST_GAIN).map(|(place, _)| place)
    }

    /// Whether any trial of a runtime was made.
    fn is_known(&self, runtime: usize) -> bool {
        let of = |reading: &SizeReading| self.grid.cells().get(reading.cell).map(|cell| cell.runtime);
        self.readings.iter().any(|reading| of(reading) == Some(runtime))
    }

    /// The largest size of a runtime, of the pool in the middle: what requests take is seen best where nothing is short.
    fn largest(&self, runtime: usize) -> Option<usize> {
        let ours = || self.grid.cells().iter().enumerate().filter(move |(_, cell)| cell.runtime == runtime);
        let mut pools: Vec<u32> = ours().map(|(_, cell)| cell.workers).collect();
        pools.sort_unstable();
        pools.dedup();
        let middle = *pools.get(pools.len() / 2)?;
        let largest = ours().filter(|(_, cell)| cell.workers == middle).max_by_key(|(_, cell)| (cell.cpus, cell.memory));
        largest.map(|(place, _)| place)
    }

    /// The size whose blocks are measured next, and how many of them.
    fn next_confirmation(&self, confirmations: &[(usize, Confirmation)]) -> Option<(usize, u32)> {
        let with = |verdict| confirmations.iter().filter(move |(_, confirmation)| confirmation.verdict == verdict);
        if let Some((cell, open)) = with(SizeVerdict::Open).next() {
            let next = [FIRST_BLOCKS, 2 * FIRST_BLOCKS, MOST_BLOCKS].into_iter().find(|look| *look > open.blocks);
            return Some((*cell, next.unwrap_or(MOST_BLOCKS).saturating_sub(open.blocks).max(1)));
        }
        let price = |place: usize| self.grid.cells().get(place).map_or(f64::INFINITY, |cell| cell.price);
        let cheapest = with(SizeVerdict::Confirmed).map(|(cell, _)| price(*cell)).reduce(f64::min);
        let refuted = with(SizeVerdict::Refuted).count();
        let most = if cheapest.is_some() { MOST_REFUTED } else { MOST_REFUTED_OF_NONE };
        if refuted >= most {
            return None;
        }
        let known = |place: usize| confirmations.iter().any(|(cell, _)| *cell == place);
        let open: Vec<(usize, f64)> = (0..self.grid.cells().len())
            .filter(|place| !known(*place) && self.hopeless(*place).is_none())
            .map(|place| (place, self.holds(place)))
            .collect();
        let next = match cheapest {
            Some(cheapest) => {
                let saving = |(place, holds): &(usize, f64)| holds * (cheapest - price(*place)) / cheapest;
                let better = open.into_iter().filter(|one| one.1 >= PLAUSIBLE && saving(one) > LEAST_SAVING);
                better.reduce(|best, next| if saving(&next) > saving(&best) { next } else { best })
            }
            None => {
                // The cheapest first: places are in the order of prices.
                let believed = open.iter().find(|(_, holds)| *holds >= BELIEVED).copied();
                let likely = || open.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
                believed.or_else(|| likely().filter(|(_, holds)| *holds >= PLAUSIBLE))
            }
        };
        next.map(|(cell, _)| (cell, FIRST_BLOCKS))
    }
}
