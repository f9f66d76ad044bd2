//! Whether the memory of a runtime grows without end: then no limit of memory is enough for long, and a size would be a lie.
//!
//! Single windows are short, and memory that fills up looks like a leak in them: a pool of 32 workers has answered some dozens of
//! requests with each. So growth in most trials of a runtime is a suspicion alone. A watch says whether it levels off: a longer trial
//! of the smallest pool, which has all it can do, so that each worker answers as many requests as may be.

use stampede_core::{Bytes, Outcome};
use stampede_stats::{Confidence, Interval, mean, mean_interval};

use std::cmp::Reverse;

use super::grid::{SizeCell, SizeFigures, SizeGrid, SizeOutcome, SizeReading};
use crate::memory_growth::MemoryGrowth;

/// Memory must have grown in so many trials of a runtime, and in this share of them, to be watched.
const LEAST: usize = 2;
const MOST_TRIALS: f64 = 2.0 / 3.0;

/// Watches that say nothing are not repeated more often.
const MOST_WATCHES: usize = 2;

/// What trials say of how a runtime's memory grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeGrowth {
    /// It does not grow, or that is not known.
    Level,
    /// It grew in most trials and levelled off in a watch.
    Filled {
        /// In bytes, by how much each worker grew in that; of a runtime without a pool, all of it.
        worker: f64,
    },
    /// It grew in most trials: a watch is to decide.
    Suspected {
        /// In bytes per 1,000 requests.
        each: Interval,
    },
    /// It grew in most trials, and watches say nothing.
    Unwatched {
        /// In bytes per 1,000 requests.
        each: Interval,
    },
    /// It grew in most trials and to the end of a longer one, or did not live through that.
    Endless {
        /// In bytes per 1,000 requests: that of the longer trial, or where it did not live through that, the mean of all others; with
        /// its 95 % interval.
        each: Interval,
    },
}

impl SizeGrowth {
    /// Of a runtime, by its trials and its watches.
    pub(super) fn of(runtime: usize, grid: &SizeGrid, readings: &[SizeReading], watches: &[SizeReading]) -> Self {
        let is_ours =
            |reading: &&SizeReading| grid.cells().get(reading.cell).is_some_and(|cell| cell.runtime == runtime);
        let growth = |reading: &SizeReading| reading.outcome.figures().and_then(|figures: &SizeFigures| figures.growth);
        let short: Vec<MemoryGrowth> = readings.iter().filter(is_ours).filter_map(growth).collect();
        let grown = short.iter().filter(|growth| growth.is_notable && growth.goes_on && growth.is_long()).count();
        if grown < LEAST || (grown as f64) < MOST_TRIALS * short.len() as f64 {
            return Self::Level;
        }
        let all: Vec<f64> = short.iter().map(|growth| growth.each.value * 1_000.0).collect();
        let value = mean(&all).unwrap_or_default();
        let each = mean_interval(&all, Confidence::P95).unwrap_or(Interval { value, low: value, high: value });
        let watches: Vec<&SizeReading> = watches.iter().filter(is_ours).collect();
        let decides = watches.iter().find_map(|watch| match &watch.outcome {
            SizeOutcome::Served(figures) => figures.growth.map(|growth| Self::watched(watch.cell, grid, &growth)),
            // With most memory of all sizes, and for longer, it did not live.
            SizeOutcome::Failed(reason) if reason.contains(Outcome::MEMORY_LIMIT) => Some(Self::Endless { each }),
            // One worker may be too few for another reason.
            SizeOutcome::Failed(_) | SizeOutcome::Unusable(_) => None,
        });
        decides.unwrap_or(match watches.len() {
            MOST_WATCHES.. => Self::Unwatched { each },
            _ => Self::Suspected { each },
        })
    }

    /// What a watch of a size says.
    fn watched(cell: usize, grid: &SizeGrid, growth: &MemoryGrowth) -> Self {
        let Interval { value, low, high } = growth.each;
        if growth.is_notable && growth.goes_on && low > 0.0 {
            return Self::Endless { each: Interval { value: value * 1e3, low: low * 1e3, high: high * 1e3 } };
        }
        let workers = grid.cells().get(cell).map_or(1, |cell| cell.workers.max(1) * cell.replicas.max(1));
        Self::Filled { worker: growth.bytes.max(0.0) / f64::from(workers) }
    }

    /// By how much a size, or each of its replicas, may grow beyond what it took in a short trial.
    pub(super) fn fills(self, cell: &SizeCell) -> Bytes {
        Bytes::new(match self {
            Self::Filled { worker } => (worker * f64::from(cell.workers.max(1))) as u64,
            Self::Level | Self::Suspected { .. } | Self::Unwatched { .. } | Self::Endless { .. } => 0,
        })
    }
}

/// The size of a runtime that is watched: the fewest workers with most of everything else.
pub(super) fn watched(runtime: usize, grid: &SizeGrid) -> Option<usize> {
    let ours = grid.cells().iter().enumerate().filter(|(_, cell)| cell.runtime == runtime);
    ours.max_by_key(|(_, cell)| (Reverse((cell.replicas, cell.workers)), cell.memory, cell.cpus))
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Cpus;

    use super::super::grid::SizeRole;
    use super::*;

    fn served(each: f64, goes_on: bool, window: u64) -> SizeOutcome {
        let growth = MemoryGrowth {
            bytes: each * 1_000.0,
            share: 0.1,
            each: Interval { value: each, low: each, high: each },
            is_notable: each > 0.0,
            goes_on,
            window: Duration::from_secs(window),
        };
        SizeOutcome::Served(SizeFigures {
            times: 0.5,
            over: 0.1,
            failed: 0,
            requests: 1_000,
            work: None,
            median: Duration::from_millis(1),
            mean: None,
            memory_peak: None,
            throttled: 0.0,
            growth: Some(growth),
            workers: None,
        })
    }

    #[test]
    fn growth_is_suspected_from_trials_and_shown_by_a_watch() {
        let cell = |runtime, mib| SizeCell {
            runtime,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(500),
            memory: Bytes::from_mib(mib),
            workers: 2,
            price: mib as f64,
        };
        let one = SizeCell { workers: 1, ..cell(0, 128) };
        let grid = SizeGrid::new(vec![cell(0, 64), cell(0, 128), one, cell(1, 256)]);
        let told = |readings: &[(usize, SizeRole, SizeOutcome)]| {
            let reading = |(cell, role, outcome): &(usize, SizeRole, SizeOutcome)| SizeReading {
                cell: *cell,
                role: *role,
                outcome: outcome.clone(),
            };
            let (watches, readings): (Vec<_>, Vec<_>) =
                readings.iter().map(reading).partition(|reading| reading.role == Watch);
            SizeGrowth::of(0, &grid, &readings, &watches)
        };
        use SizeRole::{Load, Search, Watch};
        let [grows, fills, level] = [served(50.0, true, 10), served(50.0, false, 10), served(0.0, false, 10)];
        let failed = |reason: &str| SizeOutcome::Failed(reason.to_owned());
        let nothing = SizeOutcome::Unusable("late".to_owned());
        assert_eq!(told(&[(2, Search, grows.clone())]), SizeGrowth::Level, "one trial");
        assert_eq!(told(&[(2, Search, grows.clone()), (3, Search, grows.clone())]), SizeGrowth::Level, "of another");
        assert_eq!(told(&[(2, Search, fills.clone()), (0, Load, fills.clone())]), SizeGrowth::Level, "fills up");
        assert_eq!(
            told(&[(2, Search, served(50.0, true, 3)), (0, Load, served(50.0, true, 3))]),
            SizeGrowth::Level,
            "short"
        );
        let most = [(2, Search, grows.clone()), (0, Load, level.clone()), (0, Load, level.clone())];
        assert_eq!(told(&most), SizeGrowth::Level, "in few trials");
        let suspected = [(2, Search, grows.clone()), (0, Search, grows.clone())];
        let exact = |value: f64| Interval { value, low: value, high: value };
        let each = exact(50_000.0);
        assert_eq!(told(&suspected), SizeGrowth::Suspected { each });
        let unclear = match served(50.0, true, 40) {
            SizeOutcome::Served(figures) => {
                let growth =
                    figures.growth.map(|growth| MemoryGrowth { each: Interval { low: -1.0, ..growth.each }, ..growth });
                SizeOutcome::Served(SizeFigures { growth, ..figures })
            }
            other => other,
        };
        for (name, watches, expected) in [
            ("it goes on", vec![served(70.0, true, 40)], SizeGrowth::Endless { each: exact(70_000.0) }),
            ("it fills up", vec![served(50.0, false, 40)], SizeGrowth::Filled { worker: 50_000.0 }),
            ("it may go on", vec![unclear], SizeGrowth::Filled { worker: 50_000.0 }),
            ("it is level", vec![level], SizeGrowth::Filled { worker: 0.0 }),
            ("it is killed", vec![failed(Outcome::MEMORY_LIMIT)], SizeGrowth::Endless { each }),
            ("it does not answer", vec![failed("no request was answered")], SizeGrowth::Suspected { each }),
            ("the generator was late", vec![nothing.clone()], SizeGrowth::Suspected { each }),
            ("twice", vec![nothing.clone(), nothing], SizeGrowth::Unwatched { each }),
        ] {
            let watches = watches.into_iter().map(|outcome| (1, Watch, outcome));
            let readings: Vec<_> = suspected.iter().cloned().chain(watches).collect();
            assert_eq!(told(&readings), expected, "{name}");
        }
        // The place of one worker with most memory; what a worker takes on, all of a pool do.
        assert_eq!(watched(0, &grid).map(|place| &grid.cells()[place]), Some(&SizeCell { workers: 1, ..cell(0, 128) }));
        let filled = SizeGrowth::Filled { worker: 50_000.0 };
        assert_eq!(filled.fills(&SizeCell { workers: 4, ..cell(0, 64) }), Bytes::new(200_000));
    }
}
