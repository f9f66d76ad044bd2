//! Which size to try or to confirm next.
//!
//! The search tries what is expected to save most: the probability that a size holds times what it costs less than the cheapest
//! that seemed to hold. A size whose one trial is bad is tried again before that rules out any other. Then sizes are confirmed in
//! fresh blocks from dear to cheap. A confirmed size is never given up for a dearer one, and the first that cannot be confirmed below it
//! ends that, but for [`MOST_REFUTED`]: so as many chances there are, and no more, that a size is chosen which misses its objective.

use std::cmp::Reverse;

use super::belief::Belief;
use super::confirmation::{Confirmation, FIRST_BLOCKS, SizeSides, SizeVerdict};
use super::grid::{SizeCell, SizeGrid, SizeReading, SizeRole};
use super::growth::{SizeGrowth, watched};
use super::hopeless::{Demand, Hopeless, grows, hopeless, is_no_better};
use super::peaks::Peaks;
use super::question::SizeQuestion;
use super::shown::{Shown, may_repeat};
use crate::worker_memory::MEMORY_MARGIN;

/// A size that is expected to save less than this share of what the cheapest costs that seems to hold is not tried.
const LEAST_GAIN: f64 = 0.004;

/// The same of a confirmation, which takes many trials, and what must be believed of its size at least.
const LEAST_SAVING: f64 = 0.005;
const PLAUSIBLE: f64 = 0.15;

/// What must be believed of a size that is confirmed first, and how much more after each that was refuted. Where one was confirmed,
/// what is so much believed of comes before what would save more: each that is refuted is one chance less.
const BELIEVED: f64 = 0.7;
const BELIEVED_MORE: f64 = 0.07;
const MOST_BELIEVED: f64 = 0.97;

/// Sizes that are refuted before confirmations end where one was confirmed, and where none was.
const MOST_REFUTED: usize = 3;
const MOST_REFUTED_OF_NONE: usize = 5;

/// Sizes of a runtime that are tried before it is given up as one that does not serve.
const FIRST_TRIES: usize = 4;

/// From this share of its CPU on a size is so busy that it matters what requests take at the least.
const BUSY: f64 = 0.5;

/// Cells that the search leaves to confirmations.
const KEPT: usize = 3;

/// How far a search may go: its time decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStage {
    /// It may try other sizes.
    Search,
    /// It may confirm what it found.
    Confirm,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStep {
    /// A trial of a size, where it has least room.
    Try {
        /// Which.
        cell: usize,
    },
    /// A longer trial of a size with all it can do: memory grew in trials of its runtime, and this shows whether it levels off.
    Watch {
        /// Which.
        cell: usize,
    },
    /// A trial of a size with all it can do, for what a request of its runtime takes of CPU at the least, and for what its pool takes of
    /// memory: smaller sizes follow from that.
    Saturate {
        /// Which.
        cell: usize,
    },
    /// Blocks of a size, each at the load, at the load with its headroom, and with replicas gone where some may be.
    Confirm {
        /// Which.
        cell: usize,
        /// How many more.
        blocks: u32,
        /// Of which loads.
        sides: SizeSides,
    },
    /// The search is over.
    Done,
}

/// What comes next after these trials, of which there is time for so many more.
#[must_use]
pub fn size_step(
    question: &SizeQuestion,
    grid: &SizeGrid,
    readings: &[SizeReading],
    stage: SizeStage,
    room: u32,
) -> SizeStep {
    let parted = Parted::of(readings);
    let known = Known::of(question, grid, &parted);
    if room == 0 {
        return SizeStep::Done;
    }
    // Whatever else is found of it may be worth nothing.
    if let Some(cell) = known.next_watch() {
        return SizeStep::Watch { cell };
    }
    let confirmed = known.confirmations();
    if stage == SizeStage::Search && confirmed.is_empty() {
        if let Some(cell) = known.next_repeat() {
            return SizeStep::Try { cell };
        }
        if let Some(cell) = known.next_saturated() {
            return SizeStep::Saturate { cell };
        }
        if let Some(cell) = known.next_trial() {
            return SizeStep::Try { cell };
        }
    }
    match known.next_confirmation(&confirmed, room) {
        Some((cell, blocks, sides)) => SizeStep::Confirm { cell, blocks, sides },
        None => SizeStep::Done,
    }
}

/// Trials by what they tell.
pub(super) struct Parted {
    /// Of response times, and of all else.
    pub(super) trials: Vec<SizeReading>,
    /// Of how memory grows.
    pub(super) watches: Vec<SizeReading>,
    /// Of what requests take at the least, and of what all workers of a pool need.
    pub(super) saturated: Vec<SizeReading>,
}

impl Parted {
    pub(super) fn of(readings: &[SizeReading]) -> Self {
        let with =
            |is_it: fn(SizeRole) -> bool| readings.iter().filter(|reading| is_it(reading.role)).cloned().collect();
        Self {
            trials: with(SizeRole::tells_of_times),
            watches: with(|role| role == SizeRole::Watch),
            saturated: with(|role| role == SizeRole::Saturate),
        }
    }
}

/// What the trials so far say.
pub(super) struct Known<'a> {
    question: &'a SizeQuestion,
    grid: &'a SizeGrid,
    readings: &'a [SizeReading],
    saturated: &'a [SizeReading],
    /// What trials show of sizes that have bad ones.
    shown: Vec<(usize, Shown)>,
    /// By runtime.
    beliefs: Vec<KnownRuntime<'a>>,
}

/// What is known of a runtime.
struct KnownRuntime<'a> {
    belief: Belief<'a>,
    demand: Demand,
    peaks: Peaks,
    growth: SizeGrowth,
}

impl<'a> Known<'a> {
    pub(super) fn of(question: &'a SizeQuestion, grid: &'a SizeGrid, parted: &'a Parted) -> Self {
        let Parted { trials: readings, watches, saturated } = parted;
        let runtimes = grid.cells().iter().map(|cell| cell.runtime + 1).max().unwrap_or(0);
        let of_runtime = |runtime| {
            let growth = SizeGrowth::of(runtime, grid, readings, watches);
            let demand = Demand::of(runtime, question, grid, readings, saturated);
            let peaks = Peaks::of(runtime, grid, readings, saturated);
            let belief = Belief::of(runtime, question, grid, readings, (demand, &peaks, growth));
            KnownRuntime { belief, demand, peaks, growth }
        };
        let shown = Shown::all(question, grid, readings);
        Self { question, grid, readings, saturated, shown, beliefs: (0..runtimes).map(of_runtime).collect() }
    }

    /// Trials of a size, in their order.
    pub(super) fn of_cell(&self, cell: usize) -> Vec<&'a SizeReading> {
        self.readings.iter().filter(|reading| reading.cell == cell).collect()
    }

    /// Why a size is not worth a trial.
    pub(super) fn hopeless(&self, place: usize) -> Option<Hopeless> {
        let KnownRuntime { demand, peaks, growth, .. } = self.beliefs.get(self.grid.cells().get(place)?.runtime)?;
        hopeless(place, self.question, self.grid, (peaks, &self.shown), *demand, *growth)
    }

    /// Whether growth of memory rules a size out, whatever its trials showed.
    pub(super) fn grows(&self, place: usize) -> Option<Hopeless> {
        let runtime = self.beliefs.get(self.grid.cells().get(place)?.runtime)?;
        grows(place, self.question, self.grid, &runtime.peaks, runtime.growth)
    }

    /// How the memory of each runtime grows.
    pub(super) fn growths(&self) -> Vec<SizeGrowth> {
        self.beliefs.iter().map(|runtime| runtime.growth).collect()
    }

    /// The size that is watched, where memory is suspected to grow without end.
    fn next_watch(&self) -> Option<usize> {
        let suspected = |runtime: &KnownRuntime<'_>| matches!(runtime.growth, SizeGrowth::Suspected { .. });
        let runtime = self.beliefs.iter().position(suspected)?;
        watched(runtime, self.grid)
    }

    /// The size that is given all it can do: the first of a runtime that served, once, where what requests took of it would leave smaller
    /// ones much to do.
    fn next_saturated(&self) -> Option<usize> {
        let cells = self.grid.cells();
        (0..self.beliefs.len()).find_map(|runtime| {
            let is_ours = |reading: &&SizeReading| cells.get(reading.cell).is_some_and(|cell| cell.runtime == runtime);
            if self.saturated.iter().any(|reading| is_ours(&reading)) {
                return None;
            }
            let served = self.readings.iter().filter(is_ours).find(|reading| reading.outcome.figures().is_some())?;
            let work = self.beliefs.get(runtime)?.demand.work?;
            let is_busy = |cell: &SizeCell| self.question.rate_of(cell) * work > BUSY * cell.cpus.cores();
            cells.iter().any(|cell| cell.runtime == runtime && is_busy(cell)).then_some(served.cell)
        })
    }

    /// How probable it is that a size holds.
    pub(super) fn holds(&self, place: usize) -> f64 {
        let cell = self.grid.cells().get(place);
        cell.and_then(|cell| Some(self.beliefs.get(cell.runtime)?.belief.holds(cell))).unwrap_or(0.0)
    }

    fn is_tried(&self, place: usize) -> bool {
        self.readings.iter().any(|reading| reading.cell == place)
    }

    /// How many sizes were tried.
    pub(super) fn tried(&self) -> usize {
        (0..self.grid.cells().len()).filter(|place| self.is_tried(*place)).count()
    }

    /// How many may be.
    fn most_tried(&self) -> usize {
        self.question.most_cells.max(KEPT + 1)
    }

    /// What each size came to that was confirmed or refuted in blocks, or is being so.
    pub(super) fn confirmations(&self) -> Vec<(usize, Confirmation)> {
        let mut places: Vec<usize> = Vec::new();
        for reading in self.readings.iter().filter(|reading| reading.role.is_block()) {
            if !places.contains(&reading.cell) && self.grows(reading.cell).is_none() {
                places.push(reading.cell);
            }
        }
        let of = |place: usize| Confirmation::of(&self.of_cell(place), self.question.errors, self.sides(place));
        places.into_iter().map(|place| (place, of(place))).collect()
    }

    /// All loads that a size must hold.
    fn sides(&self, place: usize) -> SizeSides {
        let spare = self.grid.cells().get(place).map_or(0, |cell| cell.spare);
        SizeSides { load: true, headroom: self.question.headroom > 0.0, gone: spare > 0 }
    }

    /// The size that is tried again: its one trial is bad, and would rule out others that are open.
    fn next_repeat(&self) -> Option<usize> {
        let doubtful = self.shown.iter().filter(|(_, shown)| *shown == Shown::Doubtful).map(|(place, _)| *place);
        doubtful.filter(|place| may_repeat(*place, self.readings)).find(|place| self.would_rule_out(*place))
    }

    /// Whether a bad trial of a size, if it is true of it, rules out others. It does where nothing else tells what requests take of its
    /// runtime.
    fn would_rule_out(&self, place: usize) -> bool {
        let Some(cell) = self.grid.cells().get(place) else { return false };
        let is_ours = |reading: &&SizeReading| {
            self.grid.cells().get(reading.cell).is_some_and(|other| other.runtime == cell.runtime)
        };
        let mut served = self.readings.iter().filter(is_ours).filter(|reading| reading.outcome.figures().is_some());
        let is_served = self.of_cell(place).iter().any(|reading| reading.outcome.figures().is_some());
        let shown = if is_served { Shown::Misses } else { Shown::Fails };
        let is_open = |(other, smaller): (usize, &SizeCell)| {
            other != place
                && !self.is_tried(other)
                && is_no_better(smaller, cell, shown, self.question)
                && self.hopeless(other).is_none()
        };
        served.all(|reading| reading.cell == place) || self.grid.cells().iter().enumerate().any(is_open)
    }

    /// The size that a search tries next.
    fn next_trial(&self) -> Option<usize> {
        if self.tried() + KEPT >= self.most_tried() {
            return None;
        }
        if let Some(first) = (0..self.beliefs.len()).find_map(|runtime| self.first_of(runtime)) {
            return Some(first);
        }
        let held = self
            .readings
            .iter()
            .filter(|reading| self.question.is_held(&reading.outcome) && self.grows(reading.cell).is_none());
        let cheapest = held.filter_map(|reading| self.grid.cells().get(reading.cell)).map(|cell| cell.price);
        let cheapest = cheapest.reduce(f64::min);
        let dearest = self.grid.cells().last().map_or(0.0, |cell| cell.price);
        let bound = cheapest.unwrap_or(1.5 * dearest);
        let gain = |place: usize| {
            let price = self.grid.cells().get(place).map_or(f64::INFINITY, |cell| cell.price);
            self.holds(place) * (bound - price) / bound
        };
        let open =
            (0..self.grid.cells().len()).filter(|place| !self.is_tried(*place) && self.hopeless(*place).is_none());
        let best =
            open.map(|place| (place, gain(place))).reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|(_, gain)| *gain > LEAST_GAIN).map(|(place, _)| place)
    }

    /// The size of a runtime that is tried first: the largest, since what requests take is seen best where nothing is short; where
    /// that did not serve, the next smaller pool. None of one that served, or that no pool lets serve.
    fn first_of(&self, runtime: usize) -> Option<usize> {
        let is_ours = |place: usize| self.grid.cells().get(place).is_some_and(|cell| cell.runtime == runtime);
        let served = |reading: &SizeReading| reading.outcome.figures().is_some();
        let tried = (0..self.grid.cells().len()).filter(|place| is_ours(*place) && self.is_tried(*place)).count();
        if tried >= FIRST_TRIES || self.readings.iter().any(|reading| is_ours(reading.cell) && served(reading)) {
            return None;
        }
        let ours = self.grid.cells().iter().enumerate().filter(|(place, _)| is_ours(*place) && !self.is_tried(*place));
        let open = ours.filter(|(place, _)| self.hopeless(*place).is_none());
        // A single one where there is one: no balancer is in its figures.
        let largest = open.max_by_key(|(_, cell)| (cell.cpus, cell.memory, cell.workers, Reverse(cell.replicas)));
        largest.map(|(place, _)| place)
    }

    /// Whether a refuted size tells of another one, which differs in memory alone: where memory was enough, more of it makes nothing
    /// quicker, and less does not either.
    fn tells_of(&self, by: usize, refuted: &Confirmation, place: usize) -> bool {
        let readings = self.of_cell(by);
        let (Some(by), Some(cell)) = (self.grid.cells().get(by), self.grid.cells().get(place)) else { return false };
        let is_alike = SizeCell { memory: by.memory, price: by.price, ..cell.clone() } == *by;
        is_alike && refuted.reason.is_none() && (cell.memory < by.memory || !is_short_of_memory(by, &readings))
    }

    /// The size whose blocks are measured next, how many of them, and of what, where that is no more than so many trials. While none is
    /// confirmed there stays time for the one that is likeliest to hold: a search that ends without a choice helps nobody.
    fn next_confirmation(&self, confirmations: &[(usize, Confirmation)], room: u32) -> Option<(usize, u32, SizeSides)> {
        let trials = |(_, blocks, sides): &(usize, u32, SizeSides)| sides.trials(*blocks);
        let next = self.cheapest_to_confirm(confirmations, room)?;
        let is_confirmed = |(_, confirmation): &(usize, Confirmation)| confirmation.verdict == SizeVerdict::Confirmed;
        let safest = if confirmations.iter().any(is_confirmed) { None } else { self.safest_to_confirm(confirmations) };
        let safest =
            safest.filter(|safest| trials(safest) <= room && trials(&next).saturating_add(trials(safest)) > room);
        safest.or((trials(&next) <= room).then_some(next))
    }

    /// The size that is likeliest to hold of those that did in a trial and have no rounds yet.
    fn safest_to_confirm(&self, confirmations: &[(usize, Confirmation)]) -> Option<(usize, u32, SizeSides)> {
        let is_known = |place: usize| confirmations.iter().any(|(cell, _)| *cell == place);
        let held = self.readings.iter().filter(|reading| self.question.is_held(&reading.outcome)).map(|held| held.cell);
        let open = held.filter(|place| !is_known(*place) && self.hopeless(*place).is_none());
        let likely = open.map(|place| (place, self.holds(place)));
        let safest = likely.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some((safest.0, FIRST_BLOCKS, self.sides(safest.0)))
    }

    /// The size that is confirmed next, from dear to cheap; of those that are looked at again, one for which so many trials are enough.
    fn cheapest_to_confirm(
        &self,
        confirmations: &[(usize, Confirmation)],
        room: u32,
    ) -> Option<(usize, u32, SizeSides)> {
        let with = |verdict| confirmations.iter().filter(move |(_, confirmation)| confirmation.verdict == verdict);
        let has_room = |(_, blocks, sides): &(usize, u32, SizeSides)| sides.trials(*blocks) <= room;
        if let Some((cell, open)) = with(SizeVerdict::Open).next() {
            return Some((*cell, open.missing, open.sides));
        }
        let price = |place: usize| self.grid.cells().get(place).map_or(f64::INFINITY, |cell| cell.price);
        let cheapest = with(SizeVerdict::Confirmed).map(|(cell, _)| price(*cell)).reduce(f64::min);
        // One that would be cheaper than what is confirmed, and was near.
        let is_worth = |(cell, ..): &(usize, u32, SizeSides)| {
            cheapest.is_some_and(|cheapest| price(*cell) < cheapest * (1.0 - LEAST_SAVING))
        };
        let near = with(SizeVerdict::Refuted).filter_map(|(cell, near)| Some((*cell, near.later?, near.sides)));
        let near = near.filter(is_worth).filter(has_room);
        if let Some(near) = near.min_by(|(a, ..), (b, ..)| price(*a).total_cmp(&price(*b))) {
            return Some(near);
        }
        let refuted = with(SizeVerdict::Refuted).count();
        let most = if cheapest.is_some() { MOST_REFUTED } else { MOST_REFUTED_OF_NONE };
        if refuted >= most {
            return None;
        }
        let known = |place: usize| confirmations.iter().any(|(cell, _)| *cell == place);
        let told_by = |place: usize| with(SizeVerdict::Refuted).any(|(by, refuted)| self.tells_of(*by, refuted, place));
        let may_be_tried = self.tried() < self.most_tried();
        let open: Vec<(usize, f64)> = (0..self.grid.cells().len())
            .filter(|place| may_be_tried || self.is_tried(*place))
            .filter(|place| !known(*place) && !told_by(*place) && self.hopeless(*place).is_none())
            .map(|place| (place, self.holds(place)))
            .collect();
        let next = match cheapest {
            Some(cheapest) => {
                let saving = |(place, holds): &(usize, f64)| holds * (cheapest - price(*place)) / cheapest;
                let better = open.into_iter().filter(|one| one.1 >= PLAUSIBLE && saving(one) > LEAST_SAVING);
                let rank = |one: &(usize, f64)| (one.1 >= BELIEVED, saving(one));
                better.reduce(|best, next| if rank(&next) > rank(&best) { next } else { best })
            }
            None => {
                // The cheapest first: places are in the order of prices.
                let least = (BELIEVED + BELIEVED_MORE * refuted as f64).min(MOST_BELIEVED);
                let believed = open.iter().find(|(_, holds)| *holds >= least).copied();
                let likely = || open.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
                believed.or_else(|| likely().filter(|(_, holds)| *holds >= PLAUSIBLE))
            }
        };
        next.map(|(cell, _)| (cell, FIRST_BLOCKS, self.sides(cell)))
    }
}

/// Whether a size needed more memory in some trial than it should have had at the least.
fn is_short_of_memory(cell: &SizeCell, readings: &[&SizeReading]) -> bool {
    let peaks = readings.iter().filter_map(|reading| reading.outcome.figures()?.memory_peak);
    peaks.max().is_some_and(|peak| (cell.memory.get() as f64) < MEMORY_MARGIN * peak.get() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Bytes, Cpus};
    use stampede_stats::Interval;

    use super::super::grid::{SizeFigures, SizeOutcome};
    use super::super::outcome::{SizeFate, SizeFound, size_found};
    use super::*;
    use crate::memory_growth::MemoryGrowth;

    const QUESTION: SizeQuestion = SizeQuestion {
        rate: 100.0,
        headroom: 0.2,
        beyond: 0.01,
        below: 0.2,
        errors: Some(0.01),
        most_cells: 14,
        recycles: Vec::new(),
    };

    fn grid() -> SizeGrid {
        let mut cells = Vec::new();
        for (cpus, mib, workers) in [250, 500, 700, 1000]
            .into_iter()
            .flat_map(|cpus| [64, 128, 256].map(move |mib| (cpus, mib)))
            .flat_map(|(cpus, mib)| [2, 4].map(move |workers| (cpus, mib, workers)))
        {
            let (cpus, memory) = (Cpus::from_millis(cpus), Bytes::from_mib(mib));
            let price = 30.0 * cpus.cores() + memory.mib() / 256.0;
            cells.push(SizeCell { runtime: 0, replicas: 1, spare: 0, cpus, memory, workers, price });
        }
        SizeGrid::new(cells)
    }

    /// A runtime whose response time is `limit` times 0.3 core over what it has, and that needs 40 MiB and 10 for each worker.
    fn outcome(cell: &SizeCell, limit: f64) -> SizeOutcome {
        let peak = 40 + 10 * u64::from(cell.workers);
        if (peak as f64) > cell.memory.mib() {
            return SizeOutcome::Failed("killed for its memory".to_owned());
        }
        let times = limit * 0.3 / cell.cpus.cores();
        SizeOutcome::Served(SizeFigures {
            times,
            over: times,
            failed: 0,
            requests: 2_000,
            work: Some(0.002),
            median: Duration::from_millis(5),
            mean: None,
            memory_peak: Some(Bytes::from_mib(peak)),
            throttled: 0.0,
            growth: None,
            workers: None,
        })
    }

    fn searched(limit: f64) -> Vec<SizeReading> {
        searched_with(limit, |_, _, outcome| outcome)
    }

    /// A search in which trials, by how many there were before and what they are for, may come out otherwise.
    fn searched_with(limit: f64, otherwise: impl Fn(usize, SizeRole, SizeOutcome) -> SizeOutcome) -> Vec<SizeReading> {
        searched_among(QUESTION.most_cells, limit, otherwise)
    }

    /// The same, with so many sizes at most.
    fn searched_among(
        most_cells: usize,
        limit: f64,
        otherwise: impl Fn(usize, SizeRole, SizeOutcome) -> SizeOutcome,
    ) -> Vec<SizeReading> {
        let (grid, question) = (grid(), SizeQuestion { most_cells, ..QUESTION });
        let mut readings: Vec<SizeReading> = Vec::new();
        loop {
            let (cell, roles): (usize, Vec<SizeRole>) =
                match size_step(&question, &grid, &readings, SizeStage::Search, u32::MAX) {
                    SizeStep::Try { cell } => (cell, vec![SizeRole::Search]),
                    SizeStep::Confirm { cell, blocks, sides } => {
                        (cell, (0..blocks).flat_map(|_| sides.roles()).collect())
                    }
                    SizeStep::Done => return readings,
                    SizeStep::Saturate { cell } => (cell, vec![SizeRole::Saturate]),
                    SizeStep::Watch { .. } => panic!("memory does not grow"),
                };
            for role in roles {
                let outcome = otherwise(readings.len(), role, outcome(&grid.cells()[cell], limit));
                readings.push(SizeReading { cell, role, outcome });
            }
            assert!(readings.len() < 500);
        }
    }

    #[test]
    fn the_cheapest_that_holds_is_confirmed_and_what_is_smaller_is_not() {
        let (grid, readings) = (grid(), searched(1.5));
        let found = size_found(&QUESTION, &grid, &readings);
        let choice = &grid.cells()[found.choice.as_ref().unwrap().cell];
        // 1.5 x 0.3 / 0.5 is 0.9; with a quarter of a core it is 1.8. Two workers need 60 MiB, and a tenth more: 66.
        assert_eq!((choice.cpus.millis(), choice.memory.mib(), choice.workers), (500, 128.0, 2), "{found:?}");
        assert!(found.tried <= QUESTION.most_cells);
        assert!(!found.is_smallest(&grid));
        let is_hopeless = |fate: &SizeFate| matches!(fate, SizeFate::Hopeless(_));
        assert!(found.fates.iter().any(is_hopeless), "{:?}", found.fates);
    }

    #[test]
    fn no_more_sizes_are_tried_than_may_be() {
        // Single trials hold, and blocks miss by little: each confirmation is followed by another.
        let blocks_miss = |_, role: SizeRole, outcome| match outcome {
            SizeOutcome::Served(figures) if role.is_block() => {
                SizeOutcome::Served(SizeFigures { times: 1.05, over: 1.05, ..figures })
            }
            other => other,
        };
        for most in 4..9 {
            let readings = searched_among(most, 0.5, blocks_miss);
            let found = size_found(&QUESTION, &grid(), &readings);
            assert!(found.choice.is_none() && found.confirmations.len() > 1, "{found:?}");
            assert!(found.tried <= most, "{} of {most}", found.tried);
        }
    }

    #[test]
    fn time_is_kept_for_the_size_that_is_likeliest_to_hold() {
        let (grid, all) = (grid(), searched(1.5));
        let first = all.iter().position(|reading| reading.role.is_block()).unwrap();
        let searched = &all[..first];
        let next = |readings: &[SizeReading], room| size_step(&QUESTION, &grid, readings, SizeStage::Confirm, room);
        let SizeStep::Confirm { cell: cheapest, blocks, sides } = next(searched, u32::MAX) else {
            panic!("a size holds")
        };
        let trials = sides.trials(blocks);
        let SizeStep::Confirm { cell: safest, .. } = next(searched, trials) else { panic!("there is time for one") };
        assert_ne!(cheapest, safest);
        assert!(grid.cells()[safest].cpus > grid.cells()[cheapest].cpus, "{safest} {cheapest}");
        assert!(searched.iter().any(|reading| reading.cell == safest));
        let with_room = |room| match next(searched, room) {
            SizeStep::Confirm { cell, .. } => Some(cell),
            _ => None,
        };
        for (room, expected) in
            [(trials - 1, None), (trials, Some(safest)), (2 * trials - 1, Some(safest)), (2 * trials, Some(cheapest))]
        {
            assert_eq!(with_room(room), expected, "{room}");
        }
        // Once one is confirmed, all time is for cheaper ones.
        let figures = SizeFigures { times: 0.2, over: 0.2, ..*outcome(&grid.cells()[safest], 0.5).figures().unwrap() };
        let block = |role| SizeReading { cell: safest, role, outcome: SizeOutcome::Served(figures) };
        let blocks = (0..blocks).flat_map(|_| sides.roles()).map(block);
        let confirmed: Vec<SizeReading> = searched.iter().cloned().chain(blocks).collect();
        assert!(size_found(&QUESTION, &grid, &confirmed).choice.is_some_and(|choice| choice.cell == safest));
        let SizeStep::Confirm { cell, .. } = next(&confirmed, trials) else { panic!("there is time for one") };
        assert!(grid.cells()[cell].price < grid.cells()[safest].price, "{cell} {safest}");
    }

    #[test]
    fn one_bad_trial_is_repeated_before_it_rules_out_anything() {
        let grid = grid();
        let cell = |readings: &[SizeReading]| {
            let found = size_found(&QUESTION, &grid, readings);
            found.choice.map(|choice| &grid.cells()[choice.cell]).map(|cell| (cell.cpus, cell.memory, cell.price))
        };
        let undisturbed = searched(1.5);
        let far = |times: f64| {
            move |outcome: SizeOutcome| match outcome {
                SizeOutcome::Served(figures) => SizeOutcome::Served(SizeFigures { times, ..figures }),
                other => other,
            }
        };
        let fails = |_: SizeOutcome| SizeOutcome::Failed("php ended with signal 11 (SIGSEGV)".to_owned());
        // Whichever trial of the search it is, and however bad.
        for bad in 0..4 {
            for readings in [
                searched_with(1.5, |number, _, outcome| if number == bad { far(4.5)(outcome) } else { outcome }),
                searched_with(1.5, |number, _, outcome| if number == bad { fails(outcome) } else { outcome }),
            ] {
                assert_eq!(cell(&readings), cell(&undisturbed), "{bad}");
                let trials = |place| {
                    let ours = readings.iter().filter(|reading| reading.cell == place);
                    ours.filter(|reading| reading.role == SizeRole::Search).count()
                };
                assert!((1..=2).contains(&trials(readings[bad].cell)), "{bad}");
            }
        }
        // The largest, which would rule out everything: it is tried again at once.
        let readings = searched_with(1.5, |number, _, outcome| if number == 0 { far(4.5)(outcome) } else { outcome });
        assert_eq!((readings[1].cell, readings[1].role), (readings[0].cell, SizeRole::Search));
        // What is as bad in both does.
        let readings = searched_with(1.5, |number, _, outcome| if number < 2 { fails(outcome) } else { outcome });
        let found = size_found(&QUESTION, &grid, &readings);
        let beaten = Hopeless::Beaten { by: readings[0].cell };
        assert!(found.fates.contains(&SizeFate::Hopeless(beaten)), "{:?}", found.fates);
        // The next largest pool is tried after that.
        assert_eq!(grid.cells()[readings[2].cell].workers, 2);
    }

    /// Two runtimes, of which the cheaper one takes memory with each request, and when it is watched.
    fn with_a_leak(window_of_watch: bool, recycles: &[u64]) -> (SizeGrid, SizeFound, usize) {
        let mut cells = grid().cells().to_vec();
        cells.extend(grid().cells().iter().map(|cell| SizeCell {
            runtime: 1,
            price: cell.price + 1.0,
            ..cell.clone()
        }));
        let grid = SizeGrid::new(cells);
        let question = SizeQuestion { most_cells: 24, recycles: recycles.to_vec(), ..QUESTION };
        let (mut readings, mut watches) = (Vec::new(), 0);
        loop {
            let (cell, roles): (usize, Vec<SizeRole>) =
                match size_step(&question, &grid, &readings, SizeStage::Search, u32::MAX) {
                    SizeStep::Try { cell } => (cell, vec![SizeRole::Search]),
                    SizeStep::Saturate { cell } => (cell, vec![SizeRole::Saturate]),
                    SizeStep::Watch { cell } => {
                        watches += 1;
                        (cell, vec![SizeRole::Watch])
                    }
                    SizeStep::Confirm { cell, blocks, sides } => {
                        (cell, (0..blocks).flat_map(|_| sides.roles()).collect())
                    }
                    SizeStep::Done => break,
                };
            for role in roles {
                let mut outcome = outcome(&grid.cells()[cell], 1.5);
                if let SizeOutcome::Served(figures) = &mut outcome
                    && grid.cells()[cell].runtime == 0
                {
                    let goes_on = role != SizeRole::Watch || window_of_watch;
                    let window = Duration::from_secs(10);
                    figures.growth = Some(MemoryGrowth {
                        bytes: 2e6,
                        share: 0.05,
                        each: Interval { value: 1_000.0, low: 900.0, high: 1_100.0 },
                        is_notable: true,
                        goes_on,
                        window,
                    });
                }
                readings.push(SizeReading { cell, role, outcome });
            }
            assert!(readings.len() < 500);
        }
        let found = size_found(&question, &grid, &readings);
        (grid, found, watches)
    }

    #[test]
    fn a_runtime_whose_memory_grows_without_end_has_no_size() {
        let runtime = |(grid, found, _): &(SizeGrid, SizeFound, usize)| {
            found.choice.as_ref().map(|choice| grid.cells()[choice.cell].runtime)
        };
        let leaks = with_a_leak(true, &[]);
        assert_eq!((runtime(&leaks), leaks.2), (Some(1), 1));
        assert!(matches!(leaks.1.growths[..], [SizeGrowth::Endless { .. }, SizeGrowth::Level]), "{:?}", leaks.1);
        let is_ruled_out = |(cell, fate): (&SizeCell, &SizeFate)| {
            cell.runtime == 1 || matches!(fate, SizeFate::Hopeless(Hopeless::Grows { .. }))
        };
        assert!(leaks.0.cells().iter().zip(&leaks.1.fates).all(is_ruled_out), "{:?}", leaks.1.fates);
        // It fills up, or is given back in time.
        let fills = with_a_leak(false, &[]);
        assert_eq!((runtime(&fills), fills.2), (Some(0), 1));
        assert!(matches!(fills.1.growths[0], SizeGrowth::Filled { .. }), "{:?}", fills.1.growths);
        let replaced = with_a_leak(true, &[1_000]);
        assert_eq!((runtime(&replaced), replaced.2), (Some(0), 1));
    }

    #[test]
    fn a_refuted_size_tells_of_those_that_differ_in_memory_alone() {
        let grid = grid();
        let place = |cpus: u32, mib: f64, workers: u32| {
            let is_it = |cell: &SizeCell| (cell.cpus.millis(), cell.memory.mib(), cell.workers) == (cpus, mib, workers);
            grid.cells().iter().position(is_it).unwrap()
        };
        let blocks = |cell: usize, peak: u64| -> Vec<SizeReading> {
            let SizeOutcome::Served(figures) = outcome(&grid.cells()[cell], 1.0) else { panic!() };
            let figures = SizeFigures { times: 1.3, memory_peak: Some(Bytes::from_mib(peak)), ..figures };
            let roles = (0..4).flat_map(|_| [SizeRole::Load, SizeRole::Headroom]);
            roles.map(|role| SizeReading { cell, role, outcome: SizeOutcome::Served(figures) }).collect()
        };
        let refuted = place(500, 128.0, 2);
        let tells_of = |peak: u64, other: usize| {
            let readings = blocks(refuted, peak);
            let question = QUESTION;
            let parted = Parted::of(&readings);
            let known = Known::of(&question, &grid, &parted);
            let confirmations = known.confirmations();
            assert_eq!(confirmations[0].1.verdict, SizeVerdict::Refuted);
            known.tells_of(refuted, &confirmations[0].1, other)
        };
        for (other, expected) in [
            (place(500, 256.0, 2), true),
            (place(500, 64.0, 2), true),
            (place(500, 256.0, 4), false),
            (place(700, 128.0, 2), false),
        ] {
            assert_eq!(tells_of(60, other), expected, "{:?}", grid.cells()[other]);
        }
        // It may have been slow for want of memory.
        assert!(!tells_of(120, place(500, 256.0, 2)) && tells_of(120, place(500, 64.0, 2)));
    }

    #[test]
    fn what_there_is_no_time_for_is_not_begun() {
        let (grid, readings) = (grid(), searched(1.5));
        let first = readings.iter().position(|reading| reading.role.is_block()).unwrap();
        let step = |room| size_step(&QUESTION, &grid, &readings[..first], SizeStage::Confirm, room);
        assert_eq!((step(0), step(7)), (SizeStep::Done, SizeStep::Done));
        assert!(matches!(step(8), SizeStep::Confirm { blocks: 4, .. }), "{:?}", step(8));
    }

    #[test]
    fn requests_that_take_less_where_the_next_one_waits_leave_smaller_sizes_open() {
        // 120 a second of 3 ms are 0.36 CPU, and a quarter of a core holds the objective all the same.
        let takes = |busy: f64| {
            let readings = searched_with(0.7, |_, role, outcome| match outcome {
                SizeOutcome::Served(figures) => SizeOutcome::Served(SizeFigures {
                    work: Some(if role == SizeRole::Saturate { busy } else { 0.003 }),
                    ..figures
                }),
                other => other,
            });
            let found = size_found(&QUESTION, &grid(), &readings);
            assert_eq!(readings.iter().filter(|reading| reading.role == SizeRole::Saturate).count(), 1);
            grid().cells()[found.choice.unwrap().cell].cpus.millis()
        };
        assert_eq!((takes(0.003), takes(0.0018)), (500, 250));
        // It tells of no response times: what it shows is neither tried nor confirmed.
        let served = outcome(&grid().cells()[23], 0.1);
        let readings = [SizeReading { cell: 23, role: SizeRole::Saturate, outcome: served }];
        let found = size_found(&QUESTION, &grid(), &readings);
        assert_eq!((found.tried, found.choice, found.frontier.len()), (0, None, 0));
    }

    #[test]
    fn where_nothing_holds_nothing_is_chosen() {
        let found = size_found(&QUESTION, &grid(), &searched(9.0));
        assert_eq!(found.choice, None);
        assert_eq!(grid().cells()[found.nearest.unwrap()].cpus.millis(), 1000);
    }

    #[test]
    fn what_is_next_follows_from_the_trials_alone_and_time_ends_it() {
        let (grid, readings) = (grid(), searched(1.5));
        let step = |before: usize| size_step(&QUESTION, &grid, &readings[..before], SizeStage::Search, u32::MAX);
        // Then it is given all it can do, for what requests take at the least.
        assert_eq!(step(1), SizeStep::Saturate { cell: readings[0].cell });
        assert_eq!((step(2), step(2)), (SizeStep::Try { cell: readings[2].cell }, step(2)));
        assert_eq!(size_step(&QUESTION, &grid, &readings[..1], SizeStage::Search, 0), SizeStep::Done);
        let confirmed = size_step(&QUESTION, &grid, &readings[..1], SizeStage::Confirm, u32::MAX);
        assert!(matches!(confirmed, SizeStep::Confirm { blocks: FIRST_BLOCKS, .. }), "{confirmed:?}");
        // The largest comes first, as what requests take is seen best there.
        let largest = &grid.cells()[readings[0].cell];
        assert_eq!((largest.cpus.millis(), largest.memory.mib(), largest.workers), (1000, 256.0, 4));
    }
}
