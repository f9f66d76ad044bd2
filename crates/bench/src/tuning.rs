//! How good the search for settings is: `make bench-tune`.
//!
//! The search is replayed on grids: every setting of a space with several trials each, recorded on a real machine
//! (`crates/bench/data/grids/*.json`) or made up. It sees three trials of each cell that it asks for, and is scored by the mean of the
//! others, beside a random search of as many cells; which three chance decides anew for each search.

mod grid;
pub(crate) mod recorder;
mod simulated;

use std::fs;
use std::path::PathBuf;

use stampede_analysis::{Point, Search, Tried, best};
use stampede_stats::{SplitMix64, median};

use self::grid::{Grid, SEEN, Split};
use crate::circumstances::Circumstances;
use crate::failure::Failure;
use crate::files::{self, FileError};

/// The share of a grid's cells that a search may try.
const SHARE: f64 = 0.15;

/// The share of the optimum that the median search must reach.
const NEAR: f64 = 0.95;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Replay {
    /// Searches of each kind on each grid
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) searches: u32,
    /// Seed; the same one gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder of recorded grids
    #[arg(long, value_name = "DIR", default_value = "crates/bench/data/grids")]
    pub(crate) data: PathBuf,
    /// The document [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What searches reached on one grid, as shares of its optimum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    pub(crate) name: String,
    pub(crate) cells: usize,
    pub(crate) tried: usize,
    pub(crate) default: f64,
    pub(crate) search: Spread,
    pub(crate) random: Spread,
    /// The median of what is best of all cells by the trials that a search sees.
    pub(crate) exhaustive: f64,
    /// The median of searches as a share of the luckiest cell's mean.
    pub(crate) of_luckiest: f64,
}

/// The tenth and the half of some shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) tenth: f64,
}

impl Spread {
    fn of(mut shares: Vec<f64>) -> Self {
        shares.sort_by(f64::total_cmp);
        let tenth = shares.get(shares.len() / 10).copied().unwrap_or_default();
        Self { median: median(&shares).unwrap_or_default(), tenth }
    }
}

/// Replays every grid and writes the document.
pub(crate) fn run(replay: &Replay) -> Result<(), Failure> {
    let mut grids = Vec::new();
    if replay.data.is_dir() {
        let entries =
            fs::read_dir(&replay.data).map_err(|source| FileError::Read { path: replay.data.clone(), source })?;
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|found| found == "json")) {
            grids.push(Grid::read(&path)?);
        }
    }
    let under: Vec<Vec<Circumstances>> = grids.iter().map(|grid| grid.under.clone()).collect();
    grids.extend(simulated::grids(replay.seed));
    let reached: Vec<Reached> = grids.iter().map(|grid| reach(grid, replay.searches, replay.seed)).collect();
    Ok(files::write_or_print(replay.output.as_deref(), &document(&reached, &under, replay))?)
}

/// Searches on a grid with as many seeds.
pub(crate) fn reach(grid: &Grid, searches: u32, seed: u64) -> Reached {
    let budget = ((grid.cells.len() as f64 * SHARE) as usize).max(2);
    let [mut default, mut search, mut random, mut exhaustive, mut of_luckiest] = [const { Vec::new() }; 5];
    for seed in (0..u64::from(searches)).map(|run| seed + run) {
        let split = grid.split(seed);
        let (optimum, found) = (split.optimum(), split.score(&searched(&split, seed, budget)));
        default.push(split.score(&grid.space.default) / optimum);
        search.push(found / optimum);
        random.push(split.score(&drawn(&split, seed, budget)) / optimum);
        exhaustive.push(split.score(&drawn(&split, seed, grid.cells.len())) / optimum);
        of_luckiest.push(found / split.luckiest());
    }
    Reached {
        name: grid.name.clone(),
        cells: grid.cells.len(),
        tried: budget,
        default: Spread::of(default).median,
        search: Spread::of(search),
        random: Spread::of(random),
        exhaustive: Spread::of(exhaustive).median,
        of_luckiest: Spread::of(of_luckiest).median,
    }
}

fn searched(split: &Split<'_>, seed: u64, budget: usize) -> Point {
    let grid = split.grid;
    let search = Search::new(&grid.space, seed, budget);
    let mut tried: Vec<Tried> = Vec::new();
    loop {
        let next = search.next(&tried, &|point| grid.cells.contains_key(point));
        if next.is_empty() {
            break;
        }
        for point in next {
            if tried.iter().all(|tried| tried.point != point) {
                tried.push(Tried { score: split.seen(&point), point });
            }
        }
    }
    best(&tried).map_or_else(|| grid.space.default.clone(), |best| best.point.clone())
}

/// The best of cells that were drawn, the default among them.
fn drawn(split: &Split<'_>, seed: u64, budget: usize) -> Point {
    let grid = split.grid;
    let mut random = SplitMix64::new(seed ^ 0x5eed);
    let mut left: Vec<&Point> = grid.cells.keys().filter(|point| **point != grid.space.default).collect();
    let mut tried = vec![Tried { score: split.seen(&grid.space.default), point: grid.space.default.clone() }];
    while tried.len() < budget && !left.is_empty() {
        let point = left.swap_remove(random.index(left.len())).clone();
        tried.push(Tried { score: split.seen(&point), point });
    }
    best(&tried).map_or_else(|| grid.space.default.clone(), |best| best.point.clone())
}

/// `under`: of each recorded grid, which are the first, under which circumstances it was recorded.
fn document(reached: &[Reached], under: &[Vec<Circumstances>], replay: &Replay) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut text = format!(
        "# How good the search for settings is\n\nWritten by `make bench-tune`, seed {}: {} searches on each grid, each of at most \
         {} of its cells. A search sees {SEEN} trials of a cell, by chance, and is scored by the others, as a share of what the best cell \
         reaches there; the target is a median of {}. Each of these trials is read of the cell that is best in all the others, as the \
         largest mean of many that are about as good is the luckiest one's: the last column has the shares of that. The optimum so read is too \
         small where five trials do not tell cells apart, and three readings tell it: a share can be above 100 %, of the default too. \
         An exhaustive search takes the best of all cells by as many trials of each.\n\n",
        replay.seed,
        replay.searches,
        percent(SHARE),
        percent(NEAR)
    );
    text.push_str(&match under.len() {
        0 => "No grid was recorded on a real machine yet: these are made up, with normal noise of 3 %.\n\n".to_owned(),
        count => format!(
            "The first {count} grids were recorded by `make bench-grids`, one trial of each cell after another in an order by chance, and \
             the next order after that; the others are made up, with normal noise of 3 %. {}\n\n",
            Circumstances::sentences(under.iter().flatten())
        ),
    });
    text.push_str(
        "| grid | cells | tried | default | search: median | a tenth is below | random: median | a tenth is below | exhaustive: median | search, of the luckiest |\n",
    );
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for Reached { name, cells, tried, default, search, random, exhaustive, of_luckiest } in reached {
        let figures = [*default, search.median, search.tenth, random.median, random.tenth, *exhaustive, *of_luckiest]
            .map(percent);
        text.push_str(&format!("| {name} | {cells} | {tried} | {} |\n", figures.join(" | ")));
    }
    let met =
        reached.iter().filter(|grid| grid.search.median >= NEAR && grid.search.median >= grid.random.median).count();
    text.push_str(&format!("\n{met} of {} grids meet the target and are no worse than random.\n", reached.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_comes_near_the_optimum_of_made_up_grids_and_beats_chance() {
        let grids = simulated::grids(1);
        let reached: Vec<Reached> = grids.iter().map(|grid| reach(grid, 200, 1)).collect();
        for grid in &reached {
            assert!(grid.search.median >= NEAR, "{grid:?}");
            assert!(grid.tried as f64 <= SHARE * grid.cells as f64 && grid.cells >= 100, "{grid:?}");
        }
        let mean = |of: fn(&Reached) -> f64| reached.iter().map(of).sum::<f64>() / reached.len() as f64;
        let (search, random) = (mean(|grid| grid.search.median), mean(|grid| grid.random.median));
        assert!(search > random + 0.02, "{search} {random}");
        let poor = reached.iter().filter(|grid| grid.default <= 0.8).count();
        assert!(poor * 2 >= reached.len(), "the default is too good for a test in all but {poor} grids");
    }

    #[test]
    fn a_document_tells_what_is_made_up() {
        let spread = Spread { median: 0.97, tenth: 0.9 };
        let reached = Reached {
            name: "g".to_owned(),
            cells: 100,
            tried: 15,
            default: 0.5,
            search: spread,
            random: spread,
            exhaustive: 0.98,
            of_luckiest: 0.93,
        };
        let text = document(&[reached], &[], &crate::args::defaults());
        for part in ["No grid was recorded", "| g | 100 | 15 | 50.0 % | 97.0 % | 90.0 % |", "1 of 1 grids meet"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
