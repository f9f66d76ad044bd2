//! The reference server: a fixed server that is measured in every block, to show drift of the machine.

use std::time::Duration;

use jiff::Timestamp;

use crate::Outcome;

/// A reading of the reference server in a block. It enters no verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct YardStickReading {
    /// Number of the block, from 1. A block that was interrupted and resumed has two readings.
    pub block: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// What was counted; absent where nothing could be.
    pub pace: Option<Pace>,
}

/// How fast a server was, in raw figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Length of the window.
    pub window: Duration,
    /// Right answers of the window.
    pub ok: u64,
    /// CPU time between two readings of the counter, and the time between them; absent where nothing counts it.
    pub cpu: Option<(Duration, Duration)>,
}

impl Pace {
    /// Right answers a second: falls when the processor is slower, and when others take it away.
    pub fn throughput(&self) -> Option<f64> {
        let seconds = self.window.as_secs_f64();
        (seconds > 0.0 && self.ok > 0).then(|| self.ok as f64 / seconds)
    }

    /// Right answers for a second of CPU time: falls when the processor itself is slower.
    pub fn requests_per_cpu_second(&self) -> Option<f64> {
        let (cpu, between) = self.cpu?;
        let cores = cpu.as_secs_f64() / between.as_secs_f64();
        (cores > 0.0 && cores.is_finite()).then_some(self.throughput()? / cores)
    }
}
