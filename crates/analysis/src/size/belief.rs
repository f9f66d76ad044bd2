//! What is believed of sizes that were not tried: a model of queues, corrected by what trials showed.

use stampede_core::Bytes;
use stampede_stats::{GaussianProcess, normal_above};

use super::grid::{SizeCell, SizeGrid, SizeReading, SizeRole};
use super::growth::SizeGrowth;
use super::hopeless::Demand;
use super::peaks::Peaks;
use super::pool::Pool;
use super::question::SizeQuestion;
use super::shown::best_trial;
use crate::worker_memory::MEMORY_MARGIN;

/// Response times further from their limit than these, as logarithms of multiples of it, say no more than that.
const LEAST: f64 = -4.0;
const MOST: f64 = 3.0;

/// How far off the model is anywhere, and beside that from place to place: standard deviations of the logarithm.
const OFF_EVERYWHERE: f64 = 0.6;
const OFF_HERE: f64 = 0.5;

/// What requests take under other limits than those that they were seen under: some less or more, with a standard deviation of the
/// logarithm of 0.08, by the three points and weights of Gauss and Hermite (Abramowitz and Stegun, Handbook of Mathematical Functions,
/// table 25.10).
const WORK: [(f64, f64); 3] = [(1.0 / 6.0, 0.871), (2.0 / 3.0, 1.0), (1.0 / 6.0, 1.149)];

/// How far a trial is off by chance.
const NOISE: f64 = 0.12;

/// So much further away, in logarithms, CPU, workers and replicas tell little of each other.
const CPU_SCALE: f64 = 0.5;
const WORKERS_SCALE: f64 = 1.0;
const REPLICAS_SCALE: f64 = 1.0;

/// The share of a pool's memory that is there with the first worker, where one pool alone was seen; and how far off, as a standard
/// deviation of the logarithm.
const FIRST_WORKER: f64 = 0.4;
const MEMORY_OFF: f64 = 0.3;

/// What is believed of a runtime that was not tried at all.
const UNKNOWN: f64 = 0.3;

/// Response times of one runtime, as logarithms of multiples of their limit.
pub(super) struct Belief<'a> {
    question: &'a SizeQuestion,
    /// The sizes that were tried, of which processes tell.
    tried: Vec<&'a SizeCell>,
    cases: Vec<WorkBelief>,
    /// Peaks of memory, and how it grows.
    peaks: Peaks,
    growth: SizeGrowth,
    /// What is believed where no trial served: less where some did not.
    unknown: f64,
}

/// What is believed if requests take so much.
struct WorkBelief {
    /// How probable that is.
    weight: f64,
    demand: Demand,
    process: Option<GaussianProcess>,
}

impl<'a> Belief<'a> {
    /// From all trials of a runtime, whose requests take so much and whose memory grows like this.
    pub(super) fn of(
        runtime: usize,
        question: &'a SizeQuestion,
        grid: &'a SizeGrid,
        readings: &[SizeReading],
        (demand, peaks, growth): (Demand, &Peaks, SizeGrowth),
    ) -> Self {
        // Trials where a size has more room tell of a lower rate.
        let counts = |cell, role| question.is_hardest(cell, role);
        let ours = readings.iter().filter_map(|reading| Some((grid.cells().get(reading.cell)?, reading)));
        let ours: Vec<_> = ours.filter(|(cell, _)| cell.runtime == runtime).collect();
        let unknown = if ours.is_empty() { UNKNOWN } else { 0.0 };
        // Of a size that was tried again the better trial counts.
        let is_best = |reading: &SizeReading| {
            let of_cell: Vec<&SizeReading> = readings.iter().filter(|other| other.cell == reading.cell).collect();
            reading.role != SizeRole::Search || best_trial(&of_cell).is_some_and(|best| std::ptr::eq(best, reading))
        };
        let ours = ours.into_iter().filter(|(_, reading)| is_best(reading));
        let ours = ours.filter_map(|(cell, reading)| Some((cell, reading.role, reading.outcome.figures()?)));
        let mut belief = Self { question, tried: Vec::new(), cases: Vec::new(), peaks: peaks.clone(), growth, unknown };
        let mut times = Vec::new();
        for (cell, role, figures) in ours {
            if counts(cell, role) {
                belief.tried.push(cell);
                times.push(figures.times.max(1e-6).ln().clamp(LEAST, MOST));
            }
        }
        let tried = &belief.tried;
        let case = |(weight, factor): (f64, f64)| {
            let demand = Demand { work: demand.work.map(|work| factor * work), ..demand };
            let values: Vec<f64> =
                times.iter().zip(tried).map(|(times, cell)| times - modelled(question, demand, cell)).collect();
            let process = GaussianProcess::of(&values, |a, b| covariance(tried[a], tried[b]), NOISE * NOISE);
            WorkBelief { weight, demand, process }
        };
        belief.cases = WORK.map(case).into();
        belief
    }

    /// How probable it is that a size holds.
    pub(super) fn holds(&self, cell: &SizeCell) -> f64 {
        if self.tried.is_empty() {
            return self.unknown;
        }
        let covariances: Vec<f64> = self.tried.iter().map(|tried| covariance(tried, cell)).collect();
        let holds = |case: &WorkBelief| {
            let (residual, deviation) = case.process.as_ref()?.at(&covariances, covariance(cell, cell));
            let deviation = (deviation * deviation + NOISE * NOISE / 4.0).sqrt();
            let modelled = modelled(self.question, case.demand, cell);
            Some(case.weight * normal_above((modelled + residual) / deviation))
        };
        let holds: Option<f64> = self.cases.iter().map(holds).sum();
        holds.map_or(self.unknown, |holds| holds * self.has_memory(cell))
    }

    /// How probable it is that its memory is enough.
    fn has_memory(&self, cell: &SizeCell) -> f64 {
        let limit = cell.memory.get() as f64 / MEMORY_MARGIN;
        let at = |workers: u32| f64::from(workers.max(1));
        let bytes = |peak: &Bytes| peak.get() as f64;
        let known = self.peaks.all().iter().find(|(workers, _)| *workers == cell.workers);
        let (needed, off) = match (known, self.peaks.all()) {
            (Some((_, peak)), _) => (bytes(peak), 0.03),
            (None, []) => return 1.0,
            (None, [(workers, peak)]) => {
                (bytes(peak) * (FIRST_WORKER + (1.0 - FIRST_WORKER) * at(cell.workers) / at(*workers)), MEMORY_OFF)
            }
            (None, [.., (few, less), (many, more)]) => {
                let each = ((bytes(more) - bytes(less)) / (at(*many) - at(*few))).max(0.0);
                ((bytes(more) + each * (at(cell.workers) - at(*many))).max(1.0), MEMORY_OFF / 3.0)
            }
        };
        let needed = needed + self.growth.fills(cell).get() as f64;
        normal_above((needed / limit).ln() / off)
    }
}

/// What the queues of a size come to.
fn modelled(question: &SizeQuestion, demand: Demand, cell: &SizeCell) -> f64 {
    let Some(work) = demand.work else { return 0.0 };
    let Some(response) = Pool::of(cell, work, demand.wait).response_beyond(question.rate_of(cell), question.beyond)
    else {
        return MOST;
    };
    ((response + Pool::service(cell, work)) / question.below).ln().clamp(LEAST, MOST)
}

/// Memory that is enough has no part in response times.
fn covariance(a: &SizeCell, b: &SizeCell) -> f64 {
    let cpus = (a.cpus.cores() / b.cpus.cores()).ln() / CPU_SCALE;
    let workers = (f64::from(a.workers.max(1)) / f64::from(b.workers.max(1))).ln() / WORKERS_SCALE;
    let replicas = (f64::from(a.replicas.max(1)) / f64::from(b.replicas.max(1))).ln() / REPLICAS_SCALE;
    let apart = cpus * cpus + workers * workers + replicas * replicas;
    OFF_EVERYWHERE.powi(2) + OFF_HERE.powi(2) * (-0.5 * apart).exp()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_core::Cpus;

    use super::super::grid::{SizeFigures, SizeOutcome};
    use super::*;

    #[test]
    fn one_trial_says_which_sizes_may_hold() {
        let cell = |cpus, mib, workers, price| SizeCell {
            runtime: 0,
            replicas: 1,
            spare: 0,
            cpus: Cpus::from_millis(cpus),
            memory: Bytes::from_mib(mib),
            workers,
            price,
        };
        let grid = SizeGrid::new(vec![
            cell(250, 128, 4, 1.0),
            cell(500, 128, 4, 2.0),
            cell(600, 128, 4, 3.0),
            cell(1000, 128, 4, 4.0),
            cell(1000, 128, 1, 5.0),
            cell(1000, 64, 4, 6.0),
            cell(2000, 128, 4, 7.0),
        ]);
        let question = SizeQuestion {
            rate: 100.0,
            headroom: 0.0,
            beyond: 0.01,
            below: 0.1,
            errors: None,
            most_cells: 9,
            recycles: Vec::new(),
        };
        let figures = SizeFigures {
            times: 0.2,
            over: 0.1,
            failed: 0,
            requests: 2_000,
            work: Some(0.004),
            median: Duration::from_millis(9),
            mean: None,
            memory_peak: Some(Bytes::from_mib(90)),
            throttled: 0.0,
            growth: None,
            workers: None,
        };
        let readings = [SizeReading { cell: 6, role: SizeRole::Search, outcome: SizeOutcome::Served(figures) }];
        let demand = Demand::of(0, &question, &grid, &readings, &[]);
        let peaks = Peaks::of(0, &grid, &readings, &[]);
        let belief = Belief::of(0, &question, &grid, &readings, (demand, &peaks, SizeGrowth::Level));
        let holds: Vec<f64> = grid.cells().iter().map(|cell| belief.holds(cell)).collect();
        assert!(holds[0] < 0.05 && holds[4] < 0.9 && holds[5] < 0.01, "{holds:?}");
        assert!(holds[0] < holds[1] && holds[1] < holds[2] && holds[2] < holds[3], "{holds:?}");
        assert!(holds[3] > 0.8 && holds[6] > 0.95, "{holds:?}");
    }
}
