//! How good the search for a size is: `make bench-size`.
//!
//! Applications whose response times under any limits can be computed are sized as real ones are: the code that proposes sizes,
//! gives them up and confirms them is the one that `stampede size` runs; only the trials are computed.

mod autoscaled;
mod recorded;
pub(crate) mod recorder;
mod service;

use std::path::PathBuf;
use std::time::Duration;

use stampede_analysis::{
    MEMORY_MARGIN, SizeCell, SizeFigures, SizeFound, SizeGrid, SizeOutcome, SizeQuestion, SizeReading, SizeRole,
    SizeStage, SizeStep, size_found, size_step,
};
use stampede_core::{Bytes, Cpus, Random};

use self::service::{Served, Under};
use crate::document::{self, Section};
use crate::draws::{draws, on_all_processors};
use crate::failure::Failure;
use crate::files;
use crate::jsonl;
use crate::target::{Bound, Target};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Sizes {
    /// Searches of each application
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) searches: u32,
    /// Seed; the same one gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Applications, by their names [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Trials that were recorded on a real machine
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/sizes.jsonl")]
    pub(crate) data: PathBuf,
    /// The document [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How much dearer than the cheapest a choice may be, and in how many of 100 searches.
const NEAR: f64 = 0.05;
const WANTED: f64 = 90.0;
/// The share of all sizes that a search may try.
const SHARE: f64 = 0.12;
/// A choice whose response time is this many times the limit breaks the objective.
const BROKEN: f64 = 1.1;
/// By how much more than the load a size must hold, as `stampede size` has it by default.
const HEADROOM: f64 = 0.2;
/// The warm-up of a trial, in seconds; its window has 20 requests beyond the percentile, as that of `stampede size` by default.
const WARM_UP: f64 = 2.0;
const WINDOWS: [f64; 2] = [10.0, 60.0];
/// Warm-up and window of what is taken for the truth.
const TRUTH: [f64; 2] = [20.0, 10_000.0];
/// How much CPU time the same requests take differs from trial to trial: a standard deviation of its logarithm.
const SCATTER: f64 = 0.03;

const CPUS: [u32; 6] = [250, 350, 500, 700, 1000, 1400];
const MEMORY: [u64; 4] = [96, 160, 256, 512];
const WORKERS: [u32; 3] = [2, 6, 16];
/// Of a core and of a GiB for an hour, in some currency; a month has 730 hours.
const PRICES: [f64; 2] = [0.04048, 0.004_445];
const MONTH: f64 = 730.0;

/// An application with an objective.
struct Subject {
    name: &'static str,
    rate: f64,
    /// The limit of the response time that one of a hundred may be beyond, in seconds.
    below: f64,
    /// How three runtimes serve it.
    runtimes: [Served; 3],
}

const fn served(work: f64, wait: f64, slow: u32, memory: (f64, f64)) -> Served {
    Served { work, wait, slow, memory }
}

/// A process a worker, threads that share what is loaded, and an application that stays in memory.
const POOL: (f64, f64) = (22.0, 14.0);
const THREADS: (f64, f64) = (55.0, 5.0);
const RESIDENT: (f64, f64) = (40.0, 24.0);

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "computes",
        rate: 100.0,
        below: 0.2,
        runtimes: [
            served(0.0042, 0.0005, 0, POOL),
            served(0.0034, 0.0005, 0, THREADS),
            served(0.0026, 0.0005, 0, RESIDENT),
        ],
    },
    Subject {
        name: "waits",
        rate: 120.0,
        below: 0.3,
        runtimes: [served(0.002, 0.04, 0, POOL), served(0.0018, 0.04, 0, THREADS), served(0.0012, 0.04, 0, RESIDENT)],
    },
    Subject {
        name: "short",
        rate: 400.0,
        below: 0.05,
        runtimes: [served(0.0011, 0.0, 0, POOL), served(0.0009, 0.0, 0, THREADS), served(0.0007, 0.0, 0, RESIDENT)],
    },
    Subject {
        name: "few slow requests",
        rate: 60.0,
        below: 0.4,
        runtimes: [served(0.006, 0.005, 1, POOL), served(0.0055, 0.005, 1, THREADS), served(0.005, 0.005, 1, RESIDENT)],
    },
    Subject {
        name: "runtimes alike",
        rate: 100.0,
        below: 0.15,
        runtimes: [served(0.004, 0.01, 0, POOL), served(0.0041, 0.01, 0, THREADS), served(0.0039, 0.01, 0, RESIDENT)],
    },
    Subject {
        name: "much memory",
        rate: 80.0,
        below: 0.25,
        runtimes: [
            served(0.005, 0.02, 0, (40.0, 30.0)),
            served(0.004, 0.02, 0, (120.0, 12.0)),
            served(0.003, 0.02, 0, (80.0, 40.0)),
        ],
    },
];

fn grid() -> SizeGrid {
    let mut cells = Vec::new();
    for runtime in 0..3 {
        for cpus in CPUS {
            for mib in MEMORY {
                for workers in WORKERS {
                    let (cpus, memory) = (Cpus::from_millis(cpus), Bytes::from_mib(mib));
                    let price = MONTH * (PRICES[0] * cpus.cores() + PRICES[1] * memory.mib() / 1024.0);
                    cells.push(SizeCell { runtime, replicas: 1, spare: 0, cpus, memory, workers, price });
                }
            }
        }
    }
    SizeGrid::new(cells)
}

impl Subject {
    fn question(&self, grid: &SizeGrid) -> SizeQuestion {
        SizeQuestion {
            rate: self.rate,
            headroom: HEADROOM,
            beyond: 0.01,
            below: self.below,
            errors: Some(0.001),
            most_cells: (SHARE * grid.cells().len() as f64) as usize,
            recycles: Vec::new(),
        }
    }

    fn served(&self, cell: &SizeCell) -> Served {
        self.runtimes[cell.runtime.min(2)]
    }

    /// Response times of all sizes as multiples of the limit, in truth: infinite where there is too little memory or a queue without
    /// end.
    fn truths(&self, grid: &SizeGrid) -> Vec<f64> {
        let is_short = |cell: &SizeCell| self.served(cell).needs(cell.workers) * MEMORY_MARGIN > cell.memory.mib();
        // Memory that is enough has no part in response times: each of the others is computed once.
        let of = |cell: &SizeCell| (cell.runtime, cell.cpus, cell.workers);
        let mut known: Vec<&SizeCell> = Vec::new();
        for cell in grid.cells().iter().filter(|cell| !is_short(cell)) {
            if !known.iter().any(|other| of(other) == of(cell)) {
                known.push(cell);
            }
        }
        let computed = on_all_processors(known.len(), |place| self.response(known[place]));
        let truth = |cell: &SizeCell| {
            let place = known.iter().position(|other| of(other) == of(cell)).filter(|_| !is_short(cell));
            place.map_or(f64::INFINITY, |place| computed[place])
        };
        grid.cells().iter().map(truth).collect()
    }

    /// The same of a size with memory enough.
    fn response(&self, cell: &SizeCell) -> f64 {
        let served = self.served(cell);
        let rate = self.rate * (1.0 + HEADROOM);
        let busy = rate * (served.work / cell.cpus.cores().min(1.0) + served.wait);
        if rate * served.work >= cell.cpus.cores() || busy >= f64::from(cell.workers) {
            return f64::INFINITY;
        }
        let under = Under { cores: cell.cpus.cores(), workers: cell.workers, rate };
        served.window(under, TRUTH, &mut Random(u64::from(cell.workers))).beyond(0.01) / self.below
    }

    fn trial(&self, cell: &SizeCell, role: SizeRole, random: &mut Random) -> SizeOutcome {
        let served = self.served(cell);
        let peak = served.needs(cell.workers);
        if peak > cell.memory.mib() {
            return SizeOutcome::Failed("the kernel killed a process for its memory".to_owned());
        }
        let normal = (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos();
        let served = Served { work: served.work * (SCATTER * normal).exp(), ..served };
        let rate = if role == SizeRole::Load { self.rate } else { self.rate * (1.0 + HEADROOM) };
        let length = (20.0 / 0.01 / self.rate).clamp(WINDOWS[0], WINDOWS[1]);
        let under = Under { cores: cell.cpus.cores(), workers: cell.workers, rate };
        let mut window = served.window(under, [WARM_UP, length], random);
        SizeOutcome::Served(SizeFigures {
            times: window.beyond(0.01) / self.below,
            over: window.over(self.below) as f64 / window.responses.len() as f64 / 0.01,
            failed: window.unanswered,
            requests: window.responses.len() as u64,
            work: Some(window.work),
            median: Duration::from_secs_f64(window.beyond(0.5)),
            mean: Some(Duration::from_secs_f64(window.mean())),
            memory_peak: Some(Bytes::from_mib(peak.ceil() as u64)),
            throttled: 0.0,
            growth: None,
            workers: None,
        })
    }
}

/// A search whose trials come of this: what it found, and in how many trials.
fn search(
    question: &SizeQuestion,
    grid: &SizeGrid,
    mut trial: impl FnMut(usize, SizeRole) -> SizeOutcome,
) -> (SizeFound, usize) {
    let mut readings: Vec<SizeReading> = Vec::new();
    loop {
        let step = size_step(question, grid, &readings, SizeStage::Search, u32::MAX);
        let (cell, roles): (usize, Vec<SizeRole>) = match step {
            SizeStep::Try { cell } => (cell, vec![SizeRole::Search]),
            // Their memory does not grow.
            SizeStep::Watch { cell } => (cell, vec![SizeRole::Watch]),
            SizeStep::Saturate { cell } => (cell, vec![SizeRole::Saturate]),
            SizeStep::Confirm { cell, blocks, sides } => (cell, (0..blocks).flat_map(|_| sides.roles()).collect()),
            SizeStep::Done => return (size_found(question, grid, &readings), readings.len()),
        };
        for role in roles {
            let outcome = trial(cell, role);
            readings.push(SizeReading { cell, role, outcome });
        }
    }
}

/// What searches of a subject came to.
struct Reached {
    name: String,
    /// The cheapest size that holds.
    cheapest: f64,
    /// How many sizes hold.
    holding: usize,
    /// The share of searches with a choice within [`NEAR`] of it.
    near: f64,
    /// The share of searches without a choice.
    nothing: f64,
    /// Choices by how much dearer they are: the median and the worst.
    dearer: [f64; 2],
    /// The greatest share of sizes that a search tried, and the mean number of trials.
    most_tried: f64,
    trials: f64,
    /// Choices that miss the objective, and those that break it.
    missed: usize,
    broken: usize,
    /// The greatest response time of a choice, as a multiple of the limit.
    worst: f64,
}

fn reach(subject: &Subject, searches: u32, seed: u64) -> Reached {
    let grid = grid();
    let question = subject.question(&grid);
    let truths = subject.truths(&grid);
    let found = draws(seed, searches, |random| {
        let mut random = Random(random.next_u64());
        search(&question, &grid, |cell, role| subject.trial(&grid.cells()[cell], role, &mut random))
    });
    Reached::of(subject.name.to_owned(), &grid, &truths, &found)
}

impl Reached {
    /// Of searches on a grid whose response times are these in truth, as multiples of the limit.
    fn of(name: String, grid: &SizeGrid, truths: &[f64], found: &[(SizeFound, usize)]) -> Self {
        let price = |place: usize| grid.cells()[place].price;
        let cheapest = truths.iter().position(|truth| *truth < 1.0).map_or(f64::INFINITY, price);
        let all = found.len() as f64;
        let choices: Vec<usize> = found.iter().filter_map(|(found, _)| Some(found.choice.as_ref()?.cell)).collect();
        let mut dearer: Vec<f64> = choices.iter().map(|place| price(*place) / cheapest - 1.0).collect();
        dearer.sort_by(f64::total_cmp);
        let count = |holds: &dyn Fn(f64) -> bool| choices.iter().filter(|place| holds(truths[**place])).count();
        let near = choices
            .iter()
            .filter(|place| price(**place) <= (1.0 + NEAR) * cheapest && truths[**place] < BROKEN)
            .count();
        let most_tried = found.iter().map(|(found, _)| found.tried).max().unwrap_or(0);
        Self {
            name,
            cheapest,
            holding: truths.iter().filter(|truth| **truth < 1.0).count(),
            near: 100.0 * near as f64 / all,
            nothing: 100.0 * (found.len() - choices.len()) as f64 / all,
            dearer: [dearer.get(dearer.len() / 2), dearer.last()].map(|share| share.copied().unwrap_or(f64::NAN)),
            most_tried: most_tried as f64 / grid.cells().len() as f64,
            trials: found.iter().map(|(_, trials)| *trials as f64).sum::<f64>() / all,
            missed: count(&|truth| truth >= 1.0),
            broken: count(&|truth| truth > BROKEN),
            worst: choices.iter().map(|place| truths[*place]).fold(0.0, f64::max),
        }
    }
}

/// Searches everything, and writes the document.
pub(crate) fn run(asked: &Sizes) -> Result<(), Failure> {
    let is_asked = |name: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == name);
    let subjects = SUBJECTS.iter().filter(|subject| is_asked(subject.name));
    let mut reached: Vec<Reached> = subjects.map(|subject| reach(subject, asked.searches, asked.seed)).collect();
    reached.extend(autoscaled::reach_all(asked.searches, asked.seed, is_asked));
    let lines = jsonl::read(&asked.data)?;
    let grids = recorded::grids(&lines);
    let whole = grids.iter().filter(|grid| grid.is_whole() && is_asked(grid.subject.workload));
    reached.extend(whole.map(|grid| grid.reach(asked.searches, asked.seed)));
    Ok(files::write_or_print(asked.output.as_deref(), &render(asked, &reached, &recorded::told(&grids, &lines)))?)
}

fn render(asked: &Sizes, reached: &[Reached], recorded: &str) -> String {
    let mut targets = Vec::new();
    let mut rows = vec![document::head(
        "application | cheapest | hold | within 5 % | no choice | dearer: median | worst | tried | trials | miss | break | longest",
    )];
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for one in reached {
        rows.push(vec![
            one.name.clone(),
            format!("{:.2}", one.cheapest),
            one.holding.to_string(),
            format!("{:.0} %", one.near),
            format!("{:.0} %", one.nothing),
            percent(one.dearer[0]),
            percent(one.dearer[1]),
            format!("{:.1} %", 100.0 * one.most_tried),
            format!("{:.0}", one.trials),
            one.missed.to_string(),
            one.broken.to_string(),
            format!("{:.2}", one.worst),
        ]);
        let near = format!("{}: within 5 % of the cheapest", one.name);
        targets.push(Target::value(near, Bound::AtLeast(WANTED), Some(one.near), 0, " %"));
        let tried = format!("{}: sizes tried", one.name);
        targets.push(Target::value(tried, Bound::AtMost(100.0 * SHARE), Some(100.0 * one.most_tried), 1, " %"));
        let broken = format!("{}: choices beyond 1.1 times the limit", one.name);
        targets.push(Target::value(broken, Bound::AtMost(0.0), Some(one.broken as f64), 0, ""));
    }
    let cells = grid().cells().len();
    let mut summary = Section::default();
    summary.paragraph(&format!(
        "How near `stampede size` comes to the cheapest size that holds an objective, where that is known. {} searches of each \
         application, each among {cells} sizes: three runtimes under limits of CPU and memory with pools of workers. Its trials are \
         computed: random arrivals to a pool whose requests wait and then share processors; whatever proposes sizes, gives them up and \
         confirms them is the code that measures real servers.",
        asked.searches
    ));
    summary.paragraph(&format!(
        "A trial has a window of {} to {} s, so that 20 requests are beyond the percentile, and the CPU time of all its requests is off by {SCATTER} (a standard deviation of its \
         logarithm). The truth is that of a window of {} s without that, at {} times the load, which is what a size must hold; and a \
         size must have {MEMORY_MARGIN} times the memory that it needs.",
        WINDOWS[0],
        WINDOWS[1],
        TRUTH[1],
        1.0 + HEADROOM
    ));
    summary.paragraph(&format!(
        "\"Service\" are autoscaled ones (Knative) of two runtimes, each among {} by CPU, workers, requests at once, target and \
         minimum of instances: forecasts whose request is off by 0.05 propose, and trials of what is true confirm, with windows of \
         {} to {} s after {} s, as long as the forecast lets expect that four rounds decide. Their truth is the mean of three simulations of 2000 s, and their price one by requests.",
        autoscaled::count(),
        autoscaled::WINDOWS[0].as_secs(),
        autoscaled::WINDOWS[2].as_secs(),
        autoscaled::WARM_UP.as_secs()
    ));
    summary.paragraph(recorded);
    summary.paragraph(&format!(
        "Made by `stampede-bench size --searches {} --seed {}` (`make bench-size`). The same seed gives the same figures.",
        asked.searches, asked.seed
    ));
    let mut section = Section::new("Searches");
    section.paragraph(
        "\"Cheapest\" is the price of the cheapest size that holds, \"hold\" how many do. \"Dearer\" is by how much choices are dearer \
         than that: less than 0 where one is cheaper and misses the objective. \"Tried\" is the greatest share of sizes that any search \
         tried, \"trials\" their mean number with all blocks, \"miss\" and \"break\" count choices beyond the limit and beyond 1.1 times \
         it, and \"longest\" is the longest response time of a choice, as a multiple of the limit.",
    );
    section.table(&rows);
    document::of_targets("How good the search for a size is", &summary, &targets, &[section])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_come_near_the_cheapest_and_name_none_that_breaks_its_objective() {
        for subject in &SUBJECTS[..2] {
            let reached = reach(subject, 12, 5);
            assert!(reached.near >= 60.0 && reached.broken == 0, "{}: {} %", reached.name, reached.near);
            assert!(reached.most_tried <= SHARE, "{}", reached.most_tried);
        }
    }
}
