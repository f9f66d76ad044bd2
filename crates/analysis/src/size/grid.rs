//! Sizes, and what trials of them showed.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

/// A deployment that can be bought.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCell {
    /// Which of the runtimes.
    pub runtime: usize,
    /// The limit of CPU.
    pub cpus: Cpus,
    /// The limit of memory.
    pub memory: Bytes,
    /// How many requests it works on at once; of a runtime without such a setting, 0.
    pub workers: u32,
    /// Of a month, in whichever currency.
    pub price: f64,
}

impl SizeCell {
    /// `nginx-fpm, 0.5 CPU, 192Mi, 6 workers`, of a runtime with this name.
    #[must_use]
    pub fn named(&self, runtime: &str) -> String {
        let pool = match self.workers {
            0 => String::new(),
            1 => ", 1 worker".to_owned(),
            workers => format!(", {workers} workers"),
        };
        format!("{runtime}, {} CPU, {}{pool}", self.cpus, self.memory)
    }
}

/// All sizes of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeGrid {
    cells: Vec<SizeCell>,
}

impl SizeGrid {
    /// Of these sizes, in any order.
    #[must_use]
    pub fn new(mut cells: Vec<SizeCell>) -> Self {
        let shape = |cell: &SizeCell| (cell.cpus, cell.memory, cell.runtime, cell.workers);
        cells.sort_by(|a, b| a.price.total_cmp(&b.price).then_with(|| shape(a).cmp(&shape(b))));
        Self { cells }
    }

    /// The sizes, the cheapest first; others name one by its place here.
    #[must_use]
    pub fn cells(&self) -> &[SizeCell] {
        &self.cells
    }
}

/// What a trial of a size was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeRole {
    /// To find sizes worth confirming; at the load with its headroom.
    Search,
    /// A block of a confirmation, at the load itself.
    Load,
    /// The same, at the load with its headroom.
    Headroom,
}

/// A trial of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeReading {
    /// Which size.
    pub cell: usize,
    /// What for.
    pub role: SizeRole,
    /// What came of it.
    pub outcome: SizeOutcome,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeOutcome {
    /// It served.
    Served(SizeFigures),
    /// It did not start, or did not live: a size that does not hold.
    Failed(String),
    /// Says nothing of the size: the generator was the limit, or limits were not held.
    Unusable(String),
}

/// What a trial that served showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeFigures {
    /// How many times its limit the worst response time of the objective was: below 1 it held.
    pub times: f64,
    /// How many times as many requests were beyond the limit as may be: below 1 it held.
    pub over: f64,
    /// Requests without a right answer.
    pub failed: u64,
    /// All requests.
    pub requests: u64,
    /// CPU time of a request, in seconds.
    pub work: Option<f64>,
    /// The median response time.
    pub median: Duration,
    /// The peak of what it needs of memory, without page cache.
    pub memory_peak: Option<Bytes>,
    /// The share of quota periods in which the quota ran out.
    pub throttled: f64,
}

impl SizeOutcome {
    /// The figures of one that served.
    pub(super) fn figures(&self) -> Option<&SizeFigures> {
        match self {
            Self::Served(figures) => Some(figures),
            Self::Failed(_) | Self::Unusable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_comes_first_and_of_equal_prices_the_smallest() {
        let cell = |cpus, mib, price| SizeCell {
            runtime: 0,
            cpus: Cpus::from_millis(cpus),
            memory: Bytes::from_mib(mib),
            workers: 2,
            price,
        };
        let grid = SizeGrid::new(vec![cell(1000, 256, 9.0), cell(500, 512, 4.0), cell(500, 256, 4.0)]);
        let order: Vec<_> = grid.cells().iter().map(|cell| (cell.price, cell.memory.mib())).collect();
        assert_eq!(order, [(4.0, 256.0), (4.0, 512.0), (9.0, 256.0)]);
    }
}
