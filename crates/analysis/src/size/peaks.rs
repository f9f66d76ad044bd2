//! What pools of a runtime need of memory.

use stampede_core::Bytes;

use super::grid::{SizeGrid, SizeReading};

/// The most that was seen with each number of workers, the fewest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Peaks(Vec<(u32, Bytes)>);

impl Peaks {
    /// Of a runtime, by its trials, and by those in which all workers of a pool were busy all the time: a burst of requests does that to a
    /// size as well, however seldom it comes in a short trial. Without a pool, how many are busy then says nothing of the load.
    pub(super) fn of(runtime: usize, grid: &SizeGrid, readings: &[SizeReading], saturated: &[SizeReading]) -> Self {
        let mut peaks: Vec<(u32, Bytes)> = Vec::new();
        let with_cell = |reading: &SizeReading| {
            let cell = grid.cells().get(reading.cell).filter(|cell| cell.runtime == runtime)?;
            Some((cell.workers, reading.outcome.figures()?.memory_peak?))
        };
        let busy = saturated.iter().filter_map(with_cell).filter(|(workers, _)| *workers > 0);
        for (workers, peak) in readings.iter().filter_map(with_cell).chain(busy) {
            match peaks.iter_mut().find(|(known, _)| *known == workers) {
                Some((_, known)) => *known = peak.max(*known),
                None => peaks.push((workers, peak)),
            }
        }
        peaks.sort_by_key(|(workers, _)| *workers);
        Self(peaks)
    }

    /// By numbers of workers.
    pub(super) fn all(&self) -> &[(u32, Bytes)] {
        &self.0
    }

    /// The most that as many workers or fewer were seen to need.
    pub(super) fn up_to(&self, workers: u32) -> Option<Bytes> {
        self.0.iter().filter(|(known, _)| *known <= workers).map(|(_, peak)| *peak).max()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Cpus;

    use super::super::grid::{SizeCell, SizeFigures, SizeOutcome, SizeRole};
    use super::*;

    #[test]
    fn a_pool_needs_room_for_all_its_workers_at_once() {
        let cell = |runtime, workers, price| SizeCell {
            runtime,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(500),
            memory: Bytes::from_mib(128),
            workers,
            price,
        };
        let grid = SizeGrid::new(vec![cell(0, 2, 1.0), cell(0, 4, 2.0), cell(1, 4, 3.0), cell(2, 0, 4.0)]);
        let reading = |cell, role, mib| SizeReading {
            cell,
            role,
            outcome: SizeOutcome::Served(SizeFigures {
                times: 0.5,
                over: 0.1,
                failed: 0,
                requests: 1_000,
                work: Some(0.002),
                median: Duration::from_millis(5),
                mean: None,
                memory_peak: Some(Bytes::from_mib(mib)),
                throttled: 0.0,
                growth: None,
                workers: None,
            }),
        };
        let failed = SizeOutcome::Failed("killed".to_owned());
        let trials = [
            reading(0, SizeRole::Search, 30),
            reading(1, SizeRole::Search, 34),
            reading(1, SizeRole::Headroom, 40),
            SizeReading { cell: 1, role: SizeRole::Load, outcome: failed },
            reading(2, SizeRole::Search, 200),
            reading(3, SizeRole::Search, 20),
        ];
        let saturated = [reading(1, SizeRole::Saturate, 56), reading(3, SizeRole::Saturate, 90)];
        let peaks = Peaks::of(0, &grid, &trials, &saturated);
        assert_eq!(peaks.all(), [(2, Bytes::from_mib(30)), (4, Bytes::from_mib(56))]);
        for (workers, most) in [(1, None), (2, Some(30)), (3, Some(30)), (4, Some(56)), (8, Some(56))] {
            assert_eq!(peaks.up_to(workers), most.map(Bytes::from_mib), "{workers}");
        }
        let without_pool = Peaks::of(2, &grid, &trials, &saturated);
        assert_eq!(without_pool.all(), [(0, Bytes::from_mib(20))]);
    }
}
