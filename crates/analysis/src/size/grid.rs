//! Sizes, and what trials of them showed.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use crate::memory_growth::MemoryGrowth;
use crate::worker_memory::WorkerMemory;

/// A deployment that can be bought.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCell {
    /// Which of the runtimes.
    pub runtime: usize,
    /// How many of it there are; each has the limits and the workers that follow.
    pub replicas: u32,
    /// How many of them may be gone while the others hold the load; fewer than there are.
    pub spare: u32,
    /// The limit of CPU.
    pub cpus: Cpus,
    /// The limit of memory.
    pub memory: Bytes,
    /// How many requests it works on at once; of a runtime without such a setting, 0.
    pub workers: u32,
    /// Of a month, of all replicas, in whichever currency.
    pub price: f64,
}

impl SizeCell {
    /// `nginx-fpm, 0.5 CPU, 192Mi, 6 workers`, of a runtime with this name; of more than one, `nginx-fpm, 2 replicas of 0.5 CPU, ...`.
    #[must_use]
    pub fn named(&self, runtime: &str) -> String {
        let pool = match self.workers {
            0 => String::new(),
            1 => ", 1 worker".to_owned(),
            workers => format!(", {workers} workers"),
        };
        format!("{runtime}, {}{} CPU, {}{pool}", self.copies(), self.cpus, self.memory)
    }

    /// `2 replicas of `; nothing of a single one.
    #[must_use]
    pub fn copies(&self) -> String {
        if self.replicas > 1 { format!("{} replicas of ", self.replicas) } else { String::new() }
    }

    /// What holds least room of what it must hold: the load with its headroom on all replicas, or the load on those that are left when
    /// some are gone. `headroom` is a share.
    #[must_use]
    pub fn hardest(&self, headroom: f64) -> SizeRole {
        let of_all = (1.0 + headroom) / f64::from(self.replicas.max(1));
        let of_rest = 1.0 / f64::from(self.replicas.saturating_sub(self.spare).max(1));
        match () {
            () if self.spare > 0 && of_rest > of_all => SizeRole::Gone,
            () if headroom > 0.0 => SizeRole::Headroom,
            () => SizeRole::Load,
        }
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
        let shape = |cell: &SizeCell| (cell.replicas, cell.cpus, cell.memory, cell.runtime, cell.workers);
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
    /// To find sizes worth confirming; where it has least room ([`SizeCell::hardest`]).
    Search,
    /// A block of a confirmation, at the load itself.
    Load,
    /// The same, at the load with its headroom.
    Headroom,
    /// The same, at the load on the replicas that are left when some are gone.
    Gone,
    /// To see for longer whether its memory grows without end, with all it can do: it says nothing of response times.
    Watch,
    /// To see what a request takes of CPU where the next one always waits already: it says nothing of response times either.
    Saturate,
}

impl SizeRole {
    /// Whether it is part of a confirmation.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Load | Self::Headroom | Self::Gone)
    }

    /// Whether it was loaded as the question asks, so that its response times count.
    #[must_use]
    pub fn tells_of_times(self) -> bool {
        !matches!(self, Self::Watch | Self::Saturate)
    }
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
    /// The mean response time; absent where a recording has none.
    pub mean: Option<Duration>,
    /// The peak of what it, or a replica of it, needs of memory, without page cache.
    pub memory_peak: Option<Bytes>,
    /// The share of quota periods in which the quota ran out.
    pub throttled: f64,
    /// How its memory grew in the window; absent where it was not sampled.
    pub growth: Option<MemoryGrowth>,
    /// What its workers have of memory, where they are processes that could be looked into.
    pub workers: Option<WorkerMemory>,
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
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(cpus),
            memory: Bytes::from_mib(mib),
            workers: 2,
            price,
        };
        let grid = SizeGrid::new(vec![cell(1000, 256, 9.0), cell(500, 512, 4.0), cell(500, 256, 4.0)]);
        let order: Vec<_> = grid.cells().iter().map(|cell| (cell.price, cell.memory.mib())).collect();
        assert_eq!(order, [(4.0, 256.0), (4.0, 512.0), (9.0, 256.0)]);
    }

    #[test]
    fn with_few_replicas_it_is_hardest_when_one_is_gone() {
        let of = |replicas, spare| SizeCell {
            runtime: 0,
            replicas,
            spare,
            cpus: Cpus::from_millis(500),
            memory: Bytes::from_mib(128),
            workers: 4,
            price: 1.0,
        };
        for (replicas, spare, headroom, hardest) in [
            (1, 0, 0.2, SizeRole::Headroom),
            (1, 0, 0.0, SizeRole::Load),
            (4, 0, 0.2, SizeRole::Headroom),
            (2, 1, 0.2, SizeRole::Gone),
            (5, 1, 0.2, SizeRole::Gone),
            (7, 1, 0.2, SizeRole::Headroom),
            (2, 1, 1.5, SizeRole::Headroom),
            (8, 3, 0.2, SizeRole::Gone),
        ] {
            assert_eq!(of(replicas, spare).hardest(headroom), hardest, "{replicas} {spare} {headroom}");
        }
        assert_eq!(of(2, 1).named("nginx-fpm"), "nginx-fpm, 2 replicas of 0.5 CPU, 128Mi, 4 workers");
        assert_eq!(of(1, 0).named("nginx-fpm"), "nginx-fpm, 0.5 CPU, 128Mi, 4 workers");
    }
}
