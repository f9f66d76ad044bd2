//! What is believed of sizes that were not tried: a model of queues, corrected by what trials showed.

use stampede_stats::{GaussianProcess, normal_above};

use super::grid::{SizeCell, SizeGrid, SizeReading, SizeRole};
use super::growth::SizeGrowth;
use super::hopeless::Demand;
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

/// More requests at once than these change nothing in the model.
const MOST_AT_ONCE: u32 = 256;

/// What is believed of a runtime that was not tried at all.
const UNKNOWN: f64 = 0.3;

/// Response times of one runtime, as logarithms of multiples of their limit.
pub(super) struct Belief<'a> {
    question: &'a SizeQuestion,
    /// The sizes that were tried, of which processes tell.
    tried: Vec<&'a SizeCell>,
    cases: Vec<WorkBelief>,
    /// Peaks of memory by workers, and how it grows.
    peaks: Vec<(u32, f64)>,
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
        (demand, growth): (Demand, SizeGrowth),
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
        let mut belief = Self { question, tried: Vec::new(), cases: Vec::new(), peaks: Vec::new(), growth, unknown };
        let mut times = Vec::new();
        for (cell, role, figures) in ours {
            if counts(cell, role) {
                belief.tried.push(cell);
                times.push(figures.times.max(1e-6).ln().clamp(LEAST, MOST));
            }
            if let Some(peak) = figures.memory_peak {
                let peak = peak.get() as f64;
                match belief.peaks.iter_mut().find(|(workers, _)| *workers == cell.workers) {
                    Some((_, known)) => *known = known.max(peak),
                    None => belief.peaks.push((cell.workers, peak)),
                }
            }
        }
        belief.peaks.sort_by_key(|(workers, _)| *workers);
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
        let (needed, off) = match self.peaks.as_slice() {
            [] => return 1.0,
            peaks if peaks.iter().any(|(workers, _)| *workers == cell.workers) => {
                let known = peaks.iter().find(|(workers, _)| *workers == cell.workers);
                (known.map_or(0.0, |(_, peak)| *peak), 0.03)
            }
            [(workers, peak)] => {
                (peak * (FIRST_WORKER + (1.0 - FIRST_WORKER) * at(cell.workers) / at(*workers)), MEMORY_OFF)
            }
            [.., (few, less), (many, more)] => {
                let each = ((more - less) / (at(*many) - at(*few))).max(0.0);
                ((more + each * (at(cell.workers) - at(*many))).max(1.0), MEMORY_OFF / 3.0)
            }
        };
        let needed = needed + self.growth.fills(cell).get() as f64;
        normal_above((needed / limit).ln() / off)
    }
}

/// What the queues of a size come to. Its pool is a closed network, whose requests share processors and otherwise wait; the whole is
/// a queue of random arrivals which that serves, at a rate that follows from how many are there (Chandy, Herzog and Woo, "Parametric
/// analysis of queuing networks", IBM Journal of Research and Development 19, 1975).
fn modelled(question: &SizeQuestion, demand: Demand, cell: &SizeCell) -> f64 {
    let Some(work) = demand.work else { return 0.0 };
    let cores = cell.cpus.cores();
    let service = work * cores.ceil().max(1.0) / cores;
    let workers = if cell.workers == 0 { MOST_AT_ONCE } else { cell.workers.min(MOST_AT_ONCE) };
    let pool = Pool { demand: work / cores, delay: demand.wait + service - work / cores, workers };
    let Some(response) = pool.response_beyond(question.rate_of(cell), question.beyond) else {
        return MOST;
    };
    ((response + service) / question.below).ln().clamp(LEAST, MOST)
}

/// A pool whose requests are each somewhere without a queue for a time, and then with one server.
#[derive(Clone, Copy, Debug)]
struct Pool {
    /// Time with the server.
    demand: f64,
    /// Time elsewhere.
    delay: f64,
    workers: u32,
}

impl Pool {
    /// Requests a second with 1, 2 and more at once, by mean value analysis (Reiser and Lavenberg, Journal of the ACM 27, 1980).
    fn throughputs(self) -> Vec<f64> {
        let mut queue = 0.0;
        let at = |n: u32| {
            let served = self.demand * (1.0 + queue);
            let throughput = f64::from(n) / (served + self.delay);
            queue = throughput * served;
            throughput
        };
        (1..=self.workers.max(1)).map(at).collect()
    }

    /// The response time that this share of requests is beyond, which come at random at this rate: that of one which finds as many as
    /// no larger share does. None where their queue grows without end.
    fn response_beyond(self, rate: f64, share: f64) -> Option<f64> {
        let throughputs = self.throughputs();
        let most = *throughputs.last()?;
        if rate >= most {
            return None;
        }
        // The probabilities of 0, 1 and more requests, of which those beyond the pool fall off by the same share.
        let mut weight = 1.0;
        let mut weights = vec![weight];
        for throughput in &throughputs {
            weight *= rate / throughput;
            weights.push(weight);
        }
        let falls = rate / most;
        let beyond_pool = weights.pop()? / (1.0 - falls);
        let all = weights.iter().sum::<f64>() + beyond_pool;
        let together = |there: usize| there as f64 / throughputs.get(there.max(1) - 1).copied().unwrap_or(most);
        let response = |found: f64| {
            let there = found.floor() as usize + 1;
            together(there) + found.fract() * (together(there + 1) - together(there))
        };
        let mut tail = beyond_pool / all;
        if tail > share {
            return Some(response(f64::from(self.workers.max(1)) + (share / tail).ln() / falls.ln()));
        }
        for (found, weight) in weights.iter().enumerate().rev() {
            let less = tail + weight / all;
            if less > share {
                let part = if tail > 0.0 { (less / share).ln() / (less / tail).ln() } else { 0.0 };
                return Some(response(found as f64 + part));
            }
            tail = less;
        }
        Some(response(0.0))
    }
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

    use stampede_core::{Bytes, Cpus};

    use super::super::grid::{SizeFigures, SizeOutcome};
    use super::*;

    #[test]
    fn a_pool_of_one_is_a_queue_whose_percentiles_are_known() {
        // M/M/1 at half its load of 100/s: N is geometric with 1/2, P(N >= 6.64) = 1 %, and each before it takes 10 ms.
        let pool = Pool { demand: 0.01, delay: 0.0, workers: 1 };
        let response = pool.response_beyond(50.0, 0.01).unwrap();
        assert!((response - 0.01 * (1.0 + 0.01_f64.ln() / 0.5_f64.ln())).abs() < 1e-9, "{response}");
        assert_eq!(pool.response_beyond(100.0, 0.01), None);
        // However many share a processor, it does as much.
        let shared = Pool { workers: 64, ..pool }.response_beyond(50.0, 0.01).unwrap();
        assert!((shared / response - 1.0).abs() < 0.06, "{shared} {response}");
        // Ten that wait 100 ms and use 1 ms of CPU: no more than 100/s.
        let waits = Pool { demand: 0.001, delay: 0.1, workers: 10 };
        assert!(waits.response_beyond(99.5, 0.01).is_none());
        let few = waits.response_beyond(20.0, 0.01).unwrap();
        assert!((0.1..0.11).contains(&few), "{few}");
    }

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
            memory_peak: Some(Bytes::from_mib(90)),
            throttled: 0.0,
            growth: None,
            workers: None,
        };
        let readings = [SizeReading { cell: 6, role: SizeRole::Search, outcome: SizeOutcome::Served(figures) }];
        let demand = Demand::of(0, &grid, &readings, &[]);
        let belief = Belief::of(0, &question, &grid, &readings, (demand, SizeGrowth::Level));
        let holds: Vec<f64> = grid.cells().iter().map(|cell| belief.holds(cell)).collect();
        assert!(holds[0] < 0.05 && holds[4] < 0.9 && holds[5] < 0.01, "{holds:?}");
        assert!(holds[0] < holds[1] && holds[1] < holds[2] && holds[2] < holds[3], "{holds:?}");
        assert!(holds[3] > 0.8 && holds[6] > 0.95, "{holds:?}");
    }
}
