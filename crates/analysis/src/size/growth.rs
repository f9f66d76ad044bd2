//! Whether the memory of a runtime grows without end: then no limit of memory is enough for long, and a size would be a lie.
//!
//! Single windows are short, and memory that fills up looks like a leak in them. So growth in most trials of a runtime is a suspicion
//! alone; one longer trial (a watch) says whether it levels off.

use stampede_stats::{Confidence, Interval, mean, mean_interval};

use super::grid::{SizeFigures, SizeGrid, SizeOutcome, SizeReading, SizeRole};
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
        /// In bytes per 1,000 requests: the mean of all its trials, with its 95 % interval.
        each: Interval,
    },
}

impl SizeGrowth {
    /// Of a runtime.
    pub(super) fn of(runtime: usize, grid: &SizeGrid, readings: &[SizeReading]) -> Self {
        let is_ours =
            |reading: &&SizeReading| grid.cells().get(reading.cell).is_some_and(|cell| cell.runtime == runtime);
        let ours = || readings.iter().filter(is_ours);
        let growth = |reading: &SizeReading| reading.outcome.figures().and_then(|figures: &SizeFigures| figures.growth);
        let short: Vec<MemoryGrowth> =
            ours().filter(|reading| reading.role != SizeRole::Watch).filter_map(growth).collect();
        let grown = short.iter().filter(|growth| growth.is_notable && growth.goes_on && growth.is_long()).count();
        if grown < LEAST || (grown as f64) < MOST_TRIALS * short.len() as f64 {
            return Self::Level;
        }
        let all: Vec<f64> = ours().filter_map(growth).map(|growth| growth.each * 1_000.0).collect();
        let value = mean(&all).unwrap_or_default();
        let each = mean_interval(&all, Confidence::P95).unwrap_or(Interval { value, low: value, high: value });
        let watches: Vec<&SizeReading> = ours().filter(|reading| reading.role == SizeRole::Watch).collect();
        let decides = watches.iter().find_map(|watch| match &watch.outcome {
            SizeOutcome::Served(figures) => figures.growth.map(|growth| growth.is_notable && growth.goes_on),
            // With most memory of all sizes that served, and for longer, it did not live.
            SizeOutcome::Failed(_) => Some(true),
            SizeOutcome::Unusable(_) => None,
        });
        match decides {
            Some(true) => Self::Endless { each },
            Some(false) => Self::Level,
            None if watches.len() >= MOST_WATCHES => Self::Unwatched { each },
            None => Self::Suspected { each },
        }
    }
}

/// The size of a runtime that is watched: of those that served, the one with most memory.
pub(super) fn watched(runtime: usize, grid: &SizeGrid, readings: &[SizeReading]) -> Option<usize> {
    let served = readings.iter().filter(|reading| reading.outcome.figures().is_some());
    let ours = served.filter_map(|reading| Some((reading.cell, grid.cells().get(reading.cell)?)));
    let ours = ours.filter(|(_, cell)| cell.runtime == runtime);
    ours.max_by_key(|(_, cell)| (cell.memory, cell.cpus)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::{Bytes, Cpus};

    use super::super::grid::SizeCell;
    use super::*;

    fn served(each: f64, goes_on: bool, window: u64) -> SizeOutcome {
        let growth = MemoryGrowth {
            bytes: each * 1_000.0,
            share: 0.1,
            each,
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
        let grid = SizeGrid::new(vec![cell(0, 64), cell(0, 128), cell(1, 256)]);
        let told = |readings: &[(usize, SizeRole, SizeOutcome)]| {
            let reading = |(cell, role, outcome): &(usize, SizeRole, SizeOutcome)| SizeReading {
                cell: *cell,
                role: *role,
                outcome: outcome.clone(),
            };
            let readings: Vec<_> = readings.iter().map(reading).collect();
            (SizeGrowth::of(0, &grid, &readings), watched(0, &grid, &readings))
        };
        use SizeRole::{Load, Search, Watch};
        let [grows, fills, level] = [served(50.0, true, 10), served(50.0, false, 10), served(0.0, false, 10)];
        let (failed, nothing) = (SizeOutcome::Failed("killed".to_owned()), SizeOutcome::Unusable("late".to_owned()));
        assert_eq!(told(&[(1, Search, grows.clone())]).0, SizeGrowth::Level, "one trial");
        assert_eq!(told(&[(1, Search, grows.clone()), (2, Search, grows.clone())]).0, SizeGrowth::Level, "of another");
        assert_eq!(told(&[(1, Search, fills.clone()), (0, Load, fills.clone())]).0, SizeGrowth::Level, "fills up");
        assert_eq!(
            told(&[(1, Search, served(50.0, true, 3)), (0, Load, served(50.0, true, 3))]).0,
            SizeGrowth::Level,
            "short"
        );
        let most = [(1, Search, grows.clone()), (0, Load, level.clone()), (0, Load, level)];
        assert_eq!(told(&most).0, SizeGrowth::Level, "in few trials");
        let suspected = [(1, Search, grows.clone()), (0, Search, grows.clone())];
        let each = Interval { value: 50_000.0, low: 50_000.0, high: 50_000.0 };
        assert_eq!(told(&suspected), (SizeGrowth::Suspected { each }, Some(1)));
        for (name, watches, expected) in [
            ("it goes on", vec![served(50.0, true, 40)], SizeGrowth::Endless { each }),
            ("it fills up", vec![served(50.0, false, 40)], SizeGrowth::Level),
            ("it is killed", vec![failed], SizeGrowth::Endless { each }),
            ("the generator was late", vec![nothing.clone()], SizeGrowth::Suspected { each }),
            ("twice", vec![nothing.clone(), nothing], SizeGrowth::Unwatched { each }),
        ] {
            let watches = watches.into_iter().map(|outcome| (1, Watch, outcome));
            let readings: Vec<_> = suspected.iter().cloned().chain(watches).collect();
            assert_eq!(told(&readings).0, expected, "{name}");
        }
    }
}
