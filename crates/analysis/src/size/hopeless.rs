//! Sizes that are not tried, since the trials of others show that they cannot hold.

use std::cmp::Ordering;

use stampede_core::{Bytes, Cpus};
use stampede_stats::Interval;

use super::grid::{SizeCell, SizeFigures, SizeGrid, SizeReading};
use super::growth::SizeGrowth;
use super::peaks::Peaks;
use super::pool::Pool;
use super::question::SizeQuestion;
use super::shown::Shown;
use crate::worker_memory::MEMORY_MARGIN;

/// A size must lack more than this of what requests were seen to take to be given up without a trial: under other limits they take
/// somewhat less or more.
const DEMAND_MARGIN: f64 = 1.15;

/// Why a size is not tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hopeless {
    /// As many workers, or fewer, needed so much memory.
    Memory {
        /// What they needed.
        peak: Bytes,
    },
    /// The requests take more CPU than it has, each replica of it.
    Cpu {
        /// What they take.
        needed: Cpus,
    },
    /// The requests keep more workers busy than it has.
    Workers {
        /// How many.
        needed: u32,
    },
    /// A size with no less of anything missed the objective by far, in more than one trial.
    Beaten {
        /// Which.
        by: usize,
    },
    /// The memory of its runtime grows without end.
    Grows {
        /// By how many bytes per 1,000 requests.
        each: Interval,
        /// What it comes to where workers are replaced before that.
        needed: Option<Bytes>,
    },
}

/// What requests take of a runtime at the least, by all trials of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Demand {
    /// CPU time of a request, in seconds.
    pub(super) work: Option<f64>,
    /// Time of a request without CPU, in seconds.
    pub(super) wait: f64,
}

impl Demand {
    /// Of a runtime, by its trials and by those in which the next request always waited. Where each request is waited for, it takes up to
    /// twice the CPU (measured in ADR 55).
    pub(super) fn of(
        runtime: usize,
        question: &SizeQuestion,
        grid: &SizeGrid,
        readings: &[SizeReading],
        saturated: &[SizeReading],
    ) -> Self {
        let figures = |readings| figures_of(runtime, grid, readings);
        let work =
            figures(readings).chain(figures(saturated)).filter_map(|(.., figures)| figures.work).reduce(f64::min);
        // Queues are no part of it: what missed its limit had one.
        let held = || figures(readings).filter(|(.., figures)| figures.times < 1.0);
        // By the mean where one is known: of unlike requests half are quicker than the median and tell nothing of the others. Where most
        // CPU is there, least of it is a queue.
        let by_mean = held().filter(|(cell, reading, _)| question.is_hardest(cell, reading.role));
        let by_mean = by_mean.filter_map(|(cell, _, figures)| {
            let mean = figures.mean?.as_secs_f64();
            Some((cell.cpus, Pool::wait_of(cell, figures.work?, question.rate_of(cell), mean)))
        });
        let most_room = |best: (Cpus, f64), next: (Cpus, f64)| match next.0.cmp(&best.0) {
            Ordering::Greater => next,
            Ordering::Equal => (best.0, best.1.min(next.1)),
            Ordering::Less => best,
        };
        let by_median = || {
            held().filter_map(|(cell, _, figures)| {
                let own = figures.work? / cell.cpus.cores().min(1.0);
                Some((figures.median.as_secs_f64() - own).max(0.0))
            })
        };
        let wait = by_mean.reduce(most_room).map(|(_, wait)| wait).or_else(|| by_median().reduce(f64::min));
        Self { work, wait: wait.unwrap_or(0.0) }
    }
}

/// Trials of a runtime that served, each with its size and its figures.
fn figures_of<'a>(
    runtime: usize,
    grid: &'a SizeGrid,
    readings: &'a [SizeReading],
) -> impl Iterator<Item = (&'a SizeCell, &'a SizeReading, &'a SizeFigures)> {
    let ours = readings.iter().filter_map(|reading| Some((grid.cells().get(reading.cell)?, reading)));
    let ours = ours.filter(move |(cell, _)| cell.runtime == runtime);
    ours.filter_map(|(cell, reading)| Some((cell, reading, reading.outcome.figures()?)))
}

/// Why growth of memory rules a size out. Workers that are replaced give back what they have kept: then it is a matter of memory.
pub(super) fn grows(
    place: usize,
    question: &SizeQuestion,
    grid: &SizeGrid,
    peaks: &Peaks,
    growth: SizeGrowth,
) -> Option<Hopeless> {
    let SizeGrowth::Endless { each } = growth else { return None };
    let cell = grid.cells().get(place)?;
    let recycle = question.recycles.get(cell.runtime).copied().unwrap_or(0);
    if recycle == 0 || cell.workers == 0 {
        return Some(Hopeless::Grows { each, needed: None });
    }
    let kept = recycle as f64 * f64::from(cell.workers) * each.high.max(0.0) / 1_000.0;
    let needed = Bytes::new(peaks.up_to(cell.workers).map_or(0, Bytes::get) + kept as u64);
    let is_short = (cell.memory.get() as f64) < MEMORY_MARGIN * needed.get() as f64;
    is_short.then_some(Hopeless::Grows { each, needed: Some(needed) })
}

/// The most memory that a size is known to need: what as many workers or fewer took, and by how much they may grow beyond that.
fn needed(cell: &SizeCell, peaks: &Peaks, growth: SizeGrowth) -> Option<Bytes> {
    let peak = peaks.up_to(cell.workers)?;
    Some(Bytes::new(peak.get() + growth.fills(cell).get()))
}

/// Why a size is not worth a trial, where that is known; `shown` is what the trials show of sizes that have bad ones.
pub(super) fn hopeless(
    place: usize,
    question: &SizeQuestion,
    grid: &SizeGrid,
    (peaks, shown): (&Peaks, &[(usize, Shown)]),
    demand: Demand,
    growth: SizeGrowth,
) -> Option<Hopeless> {
    let cell = grid.cells().get(place)?;
    if let Some(grows) = grows(place, question, grid, peaks, growth) {
        return Some(grows);
    }
    if let Some(peak) = needed(cell, peaks, growth)
        && (cell.memory.get() as f64) < MEMORY_MARGIN * peak.get() as f64
    {
        return Some(Hopeless::Memory { peak });
    }
    if let Some(work) = demand.work {
        let rate = question.rate_of(cell);
        let needed = rate * work;
        if needed > DEMAND_MARGIN * cell.cpus.cores() {
            return Some(Hopeless::Cpu { needed: Cpus::from_millis((needed * 1000.0).ceil() as u32) });
        }
        let busy = rate * (work / cell.cpus.cores().min(1.0) + demand.wait);
        if cell.workers > 0 && busy > DEMAND_MARGIN * f64::from(cell.workers) {
            return Some(Hopeless::Workers { needed: busy.ceil() as u32 });
        }
    }
    let by = shown.iter().find(|(by, shown)| {
        *shown != Shown::Doubtful
            && grid.cells().get(*by).is_some_and(|other| *by != place && is_no_better(cell, other, *shown, question))
    });
    by.map(|(by, _)| Hopeless::Beaten { by: *by })
}

/// Whether what is shown of another size says that this one misses the objective too. Of one that is doubtful, whether it would.
pub(super) fn is_no_better(cell: &SizeCell, other: &SizeCell, shown: Shown, question: &SizeQuestion) -> bool {
    if cell.runtime != other.runtime || cell.cpus > other.cpus || cell.memory > other.memory {
        return false;
    }
    match shown {
        Shown::Misses | Shown::Doubtful => {
            cell.workers == other.workers && question.rate_of(cell) >= question.rate_of(other)
        }
        // More workers need more of what one that failed had too little of.
        Shown::Fails => cell.workers >= other.workers,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::grid::{SizeOutcome, SizeRole};
    use super::*;

    fn cell(cpus: u32, mib: u64, workers: u32) -> SizeCell {
        let (cpus, memory) = (Cpus::from_millis(cpus), Bytes::from_mib(mib));
        let price = f64::from(cpus.millis()) + memory.mib() / 100.0;
        SizeCell { runtime: 0, replicas: 1, spare: 0, cpus, memory, workers, price }
    }

    #[test]
    fn what_others_showed_to_be_too_little_is_not_tried() {
        let cells = [cell(250, 256, 4), cell(1000, 64, 4), cell(1000, 64, 2), cell(1000, 256, 1), cell(1000, 512, 4)];
        let grid = SizeGrid::new(cells.to_vec());
        let place = |wanted: &SizeCell| grid.cells().iter().position(|cell| cell == wanted).unwrap();
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.0,
            beyond: 0.01,
            below: 0.2,
            errors: None,
            most_cells: 9,
            recycles: Vec::new(),
        };
        let figures = SizeFigures {
            times: 0.5,
            over: 0.1,
            failed: 0,
            requests: 1_000,
            work: Some(0.004),
            median: Duration::from_millis(24),
            mean: None,
            memory_peak: Some(Bytes::from_mib(60)),
            throttled: 0.0,
            growth: None,
            workers: None,
        };
        let readings =
            [SizeReading { cell: place(&cells[4]), role: SizeRole::Search, outcome: SizeOutcome::Served(figures) }];
        let demand = Demand::of(0, &question, &grid, &readings, &[]);
        assert_eq!(demand, Demand { work: Some(0.004), wait: 0.02 });
        // What requests take at the least, and how long they wait beside what they took then.
        let busy = SizeOutcome::Served(SizeFigures { work: Some(0.003), median: Duration::from_secs(1), ..figures });
        let saturated = [SizeReading { cell: place(&cells[4]), role: SizeRole::Saturate, outcome: busy }];
        let least = Demand::of(0, &question, &grid, &readings, &saturated);
        assert_eq!(least, Demand { work: Some(0.003), wait: 0.02 });
        // A mean says more than a median does, and most of that with the most CPU.
        let with = |cell: &SizeCell, mean| SizeReading {
            cell: place(cell),
            role: SizeRole::Search,
            outcome: SizeOutcome::Served(SizeFigures { mean, ..figures }),
        };
        let mean = |ms| Some(Duration::from_millis(ms));
        let trials =
            [with(&cells[4], mean(30)), with(&cells[0], mean(90)), with(&cells[1], None), with(&cells[4], mean(40))];
        let by_mean = Demand::of(0, &question, &grid, &trials, &[]);
        assert_eq!(by_mean.wait, Pool::wait_of(&cells[4], 0.004, 100.0, 0.03));
        assert!((0.015..0.026).contains(&by_mean.wait), "{by_mean:?}");
        let (level, peaks) = (SizeGrowth::Level, Peaks::of(0, &grid, &readings, &[]));
        let told = |cell: &SizeCell| hopeless(place(cell), &question, &grid, (&peaks, &[]), demand, level);
        assert_eq!(told(&cells[0]), Some(Hopeless::Cpu { needed: Cpus::from_millis(400) }));
        assert_eq!(told(&cells[1]), Some(Hopeless::Memory { peak: Bytes::from_mib(60) }));
        // Two workers may need less memory, and they are too few.
        assert_eq!(told(&cells[2]), Some(Hopeless::Workers { needed: 3 }));
        assert_eq!(told(&cells[3]), Some(Hopeless::Workers { needed: 3 }));
        assert_eq!(told(&cells[4]), None);

        // A kibibyte of each request: without end, or until each of four workers has had 1,000 requests (4 MiB), or 100,000 (400 MiB).
        let each = Interval { value: 1_024_000.0, low: 1_000_000.0, high: 1_048_576.0 };
        let endless = SizeGrowth::Endless { each };
        for (recycles, expected) in [
            (vec![], Some(Hopeless::Grows { each, needed: None })),
            (vec![0], Some(Hopeless::Grows { each, needed: None })),
            (vec![1_000], None),
            (vec![100_000], Some(Hopeless::Grows { each, needed: Some(Bytes::from_mib(460)) })),
        ] {
            let question = SizeQuestion { recycles: recycles.clone(), ..question.clone() };
            // Of 512 MiB a tenth more than 460 is left over: 506. Workers of a smaller one are not enough.
            let large = hopeless(place(&cells[4]), &question, &grid, (&peaks, &[]), demand, endless);
            let smaller = grows(place(&cells[0]), &question, &grid, &peaks, endless);
            match expected {
                Some(Hopeless::Grows { needed: Some(_), .. }) => {
                    assert_eq!((large, smaller), (None, expected), "{recycles:?}");
                }
                expected => assert_eq!((large, smaller), (expected, expected), "{recycles:?}"),
            }
        }
        assert_eq!(grows(place(&cells[0]), &question, &grid, &peaks, SizeGrowth::Suspected { each }), None);
    }

    #[test]
    fn what_misses_by_far_or_does_not_live_says_so_of_what_is_smaller() {
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.2,
            beyond: 0.01,
            below: 0.2,
            errors: None,
            most_cells: 9,
            recycles: Vec::new(),
        };
        let (small, large) = (cell(500, 256, 4), cell(1000, 512, 4));
        let with = |workers, cell: &SizeCell| SizeCell { workers, ..cell.clone() };
        for (name, cell, other, shown, no_better) in [
            ("by far", small.clone(), large.clone(), Shown::Misses, true),
            ("a larger one", large.clone(), small.clone(), Shown::Misses, false),
            ("fewer workers", with(2, &small), large.clone(), Shown::Misses, false),
            (
                "as many replicas for less",
                SizeCell { replicas: 2, ..small.clone() },
                large.clone(),
                Shown::Misses,
                false,
            ),
            ("more workers of one that did not live", with(8, &small), large.clone(), Shown::Fails, true),
            ("fewer workers of one that did not live", with(2, &small), large.clone(), Shown::Fails, false),
        ] {
            assert_eq!(is_no_better(&cell, &other, shown, &question), no_better, "{name}");
        }
    }

    #[test]
    fn one_bad_trial_alone_rules_nothing_out() {
        let cells = [cell(500, 256, 4), cell(1000, 512, 4)];
        let grid = SizeGrid::new(cells.to_vec());
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.2,
            beyond: 0.01,
            below: 0.2,
            errors: None,
            most_cells: 9,
            recycles: Vec::new(),
        };
        let told = |shown| {
            let shown = [(1, shown)];
            hopeless(0, &question, &grid, (&Peaks::default(), &shown), Demand::default(), SizeGrowth::Level)
        };
        assert_eq!(told(Shown::Misses), Some(Hopeless::Beaten { by: 1 }));
        assert_eq!(told(Shown::Fails), Some(Hopeless::Beaten { by: 1 }));
        assert_eq!(told(Shown::Doubtful), None);
    }
}
