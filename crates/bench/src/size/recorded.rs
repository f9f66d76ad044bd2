//! Grids that were recorded on a real machine: what a cell's trials showed, and searches that draw from them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_analysis::{MEMORY_MARGIN, SizeCell, SizeFigures, SizeGrid, SizeOutcome, SizeQuestion, SizeRole};
use stampede_core::{Bytes, Cpus};

use super::{HEADROOM, MONTH, PRICES, Reached, SHARE, search};
use crate::circumstances::Circumstances;
use crate::draws::draws;

/// Trials that every cell of a grid has before it is searched, and those near the objective after that.
pub(super) const TRIALS: usize = 3;
pub(super) const TRIALS_NEAR: usize = 10;

/// By how much a cell may miss or hold the objective to be near it.
const NEAR_BY: f64 = 0.3;

/// What is served under which load, and what it must hold there. Limits are such that some runtimes hold it and others do not, and
/// none under the least CPU, where a recording was tried first (AMD EPYC): a request took 0.22 to 0.5 ms of CPU there (markdown) and 3 to
/// 4 ms (mix), and one worker was too few for the waits of mix.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) workload: &'static str,
    /// Requests a second of the load without its headroom.
    pub(super) rate: f64,
    /// The share of requests that may be beyond the limit, in seconds.
    pub(super) beyond: f64,
    pub(super) below: f64,
    /// Seconds of a window: reports have no percentile that fewer than 50 requests are beyond, and this many seconds have 66 and 72.
    pub(super) window: u64,
    pub(super) cpus: [u32; 3],
    pub(super) memory: [u64; 3],
}

pub(super) const RUNTIMES: [&str; 3] = ["nginx-fpm", "caddy-fpm", "php-cli-server"];
pub(super) const WORKERS: [u32; 3] = [1, 2, 4];

pub(super) const SUBJECTS: [Subject; 2] = [
    Subject {
        workload: "markdown",
        rate: 275.0,
        beyond: 0.01,
        below: 0.15,
        window: 20,
        cpus: [60, 75, 110],
        memory: [32, 48, 96],
    },
    Subject {
        workload: "mix",
        rate: 80.0,
        beyond: 0.05,
        below: 0.3,
        window: 15,
        cpus: [250, 350, 500],
        memory: [48, 96, 192],
    },
];

/// A trial of a cell, at the load with its headroom.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) workload: String,
    pub(super) runtime: String,
    pub(super) cpus_millis: u32,
    pub(super) memory_mib: u64,
    pub(super) workers: u32,
    /// Whether it had all it can do, and not the load.
    #[serde(default)]
    pub(super) saturated: bool,
    /// Absent where it did not serve.
    pub(super) figures: Option<Figures>,
    /// Why it did not.
    pub(super) reason: Option<String>,
    pub(super) under: Circumstances,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figures {
    /// The response time at the percentile, and the share of requests beyond the limit, as multiples of what may be.
    pub(super) times: f64,
    pub(super) over: f64,
    pub(super) failed: u64,
    pub(super) requests: u64,
    pub(super) work_us: Option<f64>,
    pub(super) median_us: f64,
    /// Absent in trials of before 2026-11-29, 15:00 UTC.
    pub(super) mean_us: Option<f64>,
    pub(super) memory_peak_bytes: Option<u64>,
    pub(super) throttled: f64,
}

/// Which cell it is: runtime, thousandths of a CPU, MiB, workers.
pub(super) type Place = (String, u32, u64, u32);

impl Line {
    pub(super) fn place(&self) -> Place {
        (self.runtime.clone(), self.cpus_millis, self.memory_mib, self.workers)
    }

    fn outcome(&self) -> SizeOutcome {
        let Some(figures) = &self.figures else {
            return SizeOutcome::Failed(self.reason.clone().unwrap_or_default());
        };
        SizeOutcome::Served(SizeFigures {
            times: figures.times,
            over: figures.over,
            failed: figures.failed,
            requests: figures.requests,
            work: figures.work_us.map(|us| us / 1e6),
            median: Duration::from_secs_f64(figures.median_us / 1e6),
            mean: figures.mean_us.map(|us| Duration::from_secs_f64(us / 1e6)),
            memory_peak: figures.memory_peak_bytes.map(Bytes::new),
            throttled: figures.throttled,
            growth: None,
            workers: None,
        })
    }
}

impl Subject {
    /// The largest cell of each runtime.
    pub(super) fn largest(&self) -> impl Iterator<Item = Place> {
        let [_, _, cpus] = self.cpus;
        let ([_, _, memory], [_, _, workers]) = (self.memory, WORKERS);
        RUNTIMES.into_iter().map(move |runtime| (runtime.to_owned(), cpus, memory, workers))
    }

    /// All of its cells.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for cpus in self.cpus {
            for memory in self.memory {
                for runtime in RUNTIMES {
                    places.extend(WORKERS.map(|workers| (runtime.to_owned(), cpus, memory, workers)));
                }
            }
        }
        places
    }
}

/// What is recorded of a subject.
pub(super) struct Grid<'a> {
    pub(super) subject: &'static Subject,
    /// By cell, all of which are there.
    pub(super) trials: BTreeMap<Place, Vec<&'a Line>>,
    /// The largest cell of each runtime, with what requests take of CPU where all it can do is asked of it.
    pub(super) saturated: BTreeMap<Place, Vec<&'a Line>>,
}

/// What is recorded of each subject.
pub(super) fn grids(lines: &[Line]) -> Vec<Grid<'_>> {
    let grid = |subject: &'static Subject| {
        let mut trials: BTreeMap<Place, Vec<&Line>> =
            subject.places().into_iter().map(|place| (place, Vec::new())).collect();
        let mut saturated: BTreeMap<Place, Vec<&Line>> = subject.largest().map(|place| (place, Vec::new())).collect();
        for line in lines.iter().filter(|line| line.workload == subject.workload) {
            let of_kind = if line.saturated { &mut saturated } else { &mut trials };
            if let Some(trials) = of_kind.get_mut(&line.place()) {
                trials.push(line);
            }
        }
        Grid { subject, trials, saturated }
    };
    SUBJECTS.iter().map(grid).collect()
}

/// The mean response time of a cell as a multiple of the limit: infinite where it did not serve, or has too little memory.
pub(super) fn truth(memory_mib: u64, trials: &[&Line]) -> f64 {
    let logs: Option<Vec<f64>> = trials
        .iter()
        .map(|line| {
            let figures = line.figures.as_ref()?;
            let needed = figures.memory_peak_bytes.unwrap_or_default() as f64 * MEMORY_MARGIN;
            (needed <= (memory_mib << 20) as f64).then(|| figures.times.max(1e-6).ln())
        })
        .collect();
    match logs {
        Some(logs) if !logs.is_empty() => (logs.iter().sum::<f64>() / logs.len() as f64).exp(),
        _ => f64::INFINITY,
    }
}

/// How many trials a cell is to have, by those that it has.
pub(super) fn wanted(memory_mib: u64, trials: &[&Line]) -> usize {
    let is_near = || (1.0 - NEAR_BY..=1.0 + NEAR_BY).contains(&truth(memory_mib, trials));
    if trials.len() >= TRIALS && is_near() { TRIALS_NEAR } else { TRIALS }
}

impl Grid<'_> {
    /// Whether every cell has its trials.
    pub(super) fn is_whole(&self) -> bool {
        self.trials.iter().all(|((_, _, memory, _), trials)| trials.len() >= wanted(*memory, trials))
            && self.saturated.values().all(|trials| trials.len() >= TRIALS)
    }

    /// Searches on it.
    pub(super) fn reach(&self, searches: u32, seed: u64) -> Reached {
        let cells = self.trials.keys().map(|(runtime, cpus, memory, workers)| {
            let (cpus, memory) = (Cpus::from_millis(*cpus), Bytes::from_mib(*memory));
            let price = MONTH * (PRICES[0] * cpus.cores() + PRICES[1] * memory.mib() / 1024.0);
            let runtime = RUNTIMES.iter().position(|known| known == runtime).unwrap_or_default();
            SizeCell { runtime, replicas: 1, spare: 0, cpus, memory, workers: *workers, price }
        });
        let grid = SizeGrid::new(cells.collect());
        let of = |cell: &SizeCell| -> &[&Line] {
            let runtime = RUNTIMES.get(cell.runtime).copied().unwrap_or_default();
            let place = (runtime.to_owned(), cell.cpus.millis(), cell.memory.mib() as u64, cell.workers);
            self.trials.get(&place).map_or(&[], Vec::as_slice)
        };
        let question = SizeQuestion {
            rate: self.subject.rate,
            headroom: HEADROOM,
            beyond: self.subject.beyond,
            below: self.subject.below,
            errors: None,
            most_cells: (SHARE * grid.cells().len() as f64) as usize,
            recycles: Vec::new(),
        };
        let truths: Vec<f64> = grid.cells().iter().map(|cell| truth(cell.memory.mib() as u64, of(cell))).collect();
        let found = draws(seed, searches, |random| {
            search(&question, &grid, |cell, role| {
                let cell = &grid.cells()[cell];
                let saturated = self.saturated.iter().find(|((runtime, ..), _)| *runtime == RUNTIMES[cell.runtime]);
                let trials = match saturated.filter(|_| role == SizeRole::Saturate) {
                    Some((_, trials)) => trials,
                    None => of(cell),
                };
                trials[random.index(trials.len())].outcome()
            })
        });
        Reached::of(format!("{}, recorded", self.subject.workload), &grid, &truths, &found)
    }
}

/// What is recorded, in words.
pub(super) fn told(grids: &[Grid<'_>], lines: &[Line]) -> String {
    let of = |grid: &Grid<'_>| {
        let done = grid.trials.iter().filter(|((_, _, memory, _), trials)| trials.len() >= wanted(*memory, trials));
        format!("{} of {} cells of {}", done.count(), grid.trials.len(), grid.subject.workload)
    };
    let parts: Vec<String> = grids.iter().map(of).collect();
    let under = Circumstances::sentences(lines.iter().map(|line| &line.under));
    let replayed = match grids.iter().all(|grid| !grid.is_whole()) {
        true => "None is replayed before it is whole.",
        false => {
            "Those that are whole are replayed: a search draws from the trials of a cell, whose mean is the truth."
        }
    };
    format!(
        "Recorded on a real machine ({} trials, `make bench-sizes`): {}; {TRIALS} trials each, {TRIALS_NEAR} of those within {:.0} % of \
         the limit. {replayed} {under}",
        lines.len(),
        parts.join(", "),
        NEAR_BY * 100.0
    )
    .trim_end()
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: &Place, times: f64) -> Line {
        let (runtime, cpus_millis, memory_mib, workers) = place.clone();
        let figures = Figures {
            times,
            over: times,
            failed: 0,
            requests: 3_000,
            work_us: Some(200.0),
            median_us: 900.0,
            mean_us: None,
            memory_peak_bytes: Some(20 << 20),
            throttled: 0.0,
        };
        Line {
            workload: "markdown".to_owned(),
            runtime,
            cpus_millis,
            memory_mib,
            workers,
            saturated: false,
            figures: Some(figures),
            reason: None,
            under: Circumstances::now("stampede 1", "nothing"),
        }
    }

    #[test]
    fn a_grid_is_whole_when_cells_near_the_objective_have_more_trials() {
        let places = SUBJECTS[0].places();
        assert_eq!(places.len() * SUBJECTS.len(), 162);
        // A percentile is in a report where 50 requests are beyond it, and random arrivals may be a few less.
        for Subject { rate, beyond, window, .. } in &SUBJECTS {
            assert!(rate * (1.0 + HEADROOM) * *window as f64 * beyond >= 55.0);
        }
        // What has 0.11 CPU holds, 0.075 is near the limit, and 0.06 misses.
        let times = |place: &Place| match place.1 {
            110 => 0.4,
            75 => 0.95,
            _ => 3.0,
        };
        let mut lines: Vec<Line> =
            places.iter().flat_map(|place| (0..TRIALS).map(|_| line(place, times(place)))).collect();
        let largest: Vec<Place> = SUBJECTS[0].largest().collect();
        lines.extend(
            largest.iter().flat_map(|place| (0..TRIALS).map(|_| Line { saturated: true, ..line(place, times(place)) })),
        );
        let whole = |lines: &[Line]| grids(lines)[0].is_whole();
        assert!(!whole(&lines) && !whole(&lines[1..]));
        let near = places.iter().filter(|place| place.1 == 75);
        lines.extend(near.flat_map(|place| (TRIALS..TRIALS_NEAR).map(|_| line(place, times(place)))));
        assert!(whole(&lines));
        let reached = grids(&lines)[0].reach(4, 1);
        assert!(reached.nothing < 1.0 && reached.broken == 0 && reached.worst < 1.0, "{}", reached.worst);
        let told = told(&grids(&lines), &lines);
        assert!(told.contains("81 of 81 cells of markdown, 0 of 81 cells of mix"), "{told}");
        let text = serde_json::to_string(&lines[0]).unwrap();
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), lines[0]);
    }

    #[test]
    fn a_cell_without_memory_enough_does_not_hold() {
        let place = ("nginx-fpm".to_owned(), 250, 21, 1);
        let trial = line(&place, 0.5);
        assert!(truth(21, &[&trial]).is_infinite() && truth(48, &[&trial]) < 1.0);
        let failed = Line { figures: None, ..trial.clone() };
        assert!(truth(48, &[&trial, &failed]).is_infinite());
    }
}
