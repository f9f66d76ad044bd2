//! Records grids on this machine: `stampede-bench grid`.
//!
//! A piece is one trial of every cell of a grid, in an order by chance. What is there is written after each, so that it can be done in
//! pieces; all grids get their first one before any gets its second, and a grid is replayed once it is whole.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_analysis::{Point, Space};
use stampede_core::{Load, Tuning};

use super::grid::{TRIALS, WireCell, WireGrid, WireKnob};
use crate::circumstances::Circumstances;
use crate::compare::Compare;
use crate::failure::Failure;
use crate::files::FileError;
use crate::flags::UnderTest;
use crate::progress::tell;

/// A trial that could not be measured answered nothing: this many requests a second, since a search compares logarithms.
const NOTHING: f64 = 0.001;

/// What is recorded.
#[derive(Debug)]
struct Subject {
    runtime: &'static str,
    workload: &'static str,
    /// The settings that are searched, among those that `stampede tune` searches: a hundred points or more, and not a thousand.
    knobs: &'static [&'static str],
    cpus: &'static str,
    memory: &'static str,
    load: &'static str,
}

const NGINX: &[&str] = &["pm.max_children", "pm", "worker_processes", "fastcgi_keep_conn"];
const CADDY: &[&str] = &["pm.max_children", "pm", "GOMAXPROCS", "listen"];
const APACHE: &[&str] = &["pm.max_children", "pm", "ThreadsPerChild"];

const fn mix(runtime: &'static str, knobs: &'static [&'static str]) -> Subject {
    Subject { runtime, workload: "mix", knobs, cpus: "1", memory: "512Mi", load: "closed:32" }
}

const fn markdown(runtime: &'static str, knobs: &'static [&'static str]) -> Subject {
    Subject { runtime, workload: "markdown", knobs, cpus: "0.5", memory: "128Mi", load: "closed:64" }
}

const SUBJECTS: [Subject; 6] = [
    mix("nginx-fpm", NGINX),
    markdown("nginx-fpm", NGINX),
    mix("caddy-fpm", CADDY),
    markdown("caddy-fpm", CADDY),
    mix("apache-fpm", APACHE),
    markdown("apache-fpm", APACHE),
];

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GridRecording {
    /// Pieces to record now, at most [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pieces: Option<u32>,
    /// The folder of grids
    #[arg(long, value_name = "DIR", default_value = "crates/bench/data/grids")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

impl Subject {
    fn name(&self) -> String {
        format!("{} {}", self.runtime, self.workload)
    }

    /// Where it is written while pieces are missing, and where it is when it is whole.
    fn paths(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let name = format!("{}-{}", self.runtime, self.workload);
        (folder.join(format!("{name}.unfinished")), folder.join(format!("{name}.json")))
    }

    /// A plan with a case for each of these settings.
    fn plan<'a>(&self, cases: impl Iterator<Item = (String, &'a Tuning)>) -> String {
        let Self { runtime, workload, knobs: _, cpus, memory, load } = self;
        let cases: String = cases
            .map(|(id, tuning)| {
                let set: Vec<String> =
                    tuning.iter().map(|(name, setting)| format!("{name}: '{}'", setting.value)).collect();
                format!("  - {{id: {id}, runtime: {runtime}, set: {{{}}}}}\n", set.join(", "))
            })
            .collect();
        format!(
            "workload: {workload}\ncases:\n{cases}limits: {{cpus: {cpus}, memory: {memory}}}\nload: {load}\n\
             study: {{rounds: 1, duration: 800ms, warm_up: 200ms}}\n"
        )
    }

    /// The space that `stampede tune` would search, of these settings alone.
    fn space(&self, compare: &Compare) -> Result<Space, Failure> {
        let study = compare.run(&self.plan(std::iter::once(("default".to_owned(), &Tuning::new()))), FLAGS)?;
        let missing = || {
            Failure::Missing(format!(
                "record {}: its settings could not be read; is the runtime installed?",
                self.name()
            ))
        };
        let told = study["cases"][0]["tuning"].as_object().ok_or_else(missing)?;
        let default = told.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let default = default.fold(Tuning::new(), |tuning, (name, value)| tuning.with_default(name, value, ""));
        let runtime = stampede_runtimes::by_id(self.runtime).ok_or_else(missing)?;
        let tunables: Vec<_> =
            runtime.tunables().iter().filter(|tunable| self.knobs.contains(&tunable.name)).copied().collect();
        let load: Load = self.load.parse().map_err(|_| missing())?;
        let space = Space::of(&tunables, &default, &Tuning::new(), &load);
        (space.knobs.len() == self.knobs.len()).then_some(space).ok_or_else(missing)
    }

    /// One trial of each cell, in their order.
    fn piece(&self, compare: &Compare, space: &Space, cells: &[WireCell]) -> Result<Vec<f64>, Failure> {
        let settings: Vec<Tuning> = cells.iter().map(|cell| space.settings(&cell.point)).collect();
        let cases = || settings.iter().enumerate().map(|(number, tuning)| (format!("cell-{number}"), tuning));
        let study = compare.run(&self.plan(cases()), FLAGS)?;
        let rate = |id: &str| rate(&study, id);
        let mut rates: Vec<Option<f64>> = cases().map(|(id, _)| rate(&id)).collect();
        // Once more, lest a hiccup of the machine counts as a setting that does not work; not where an earlier piece told the same.
        let again: Vec<_> = cases()
            .zip(cells.iter().zip(&rates))
            .filter(|(_, (cell, rate))| rate.is_none() && !cell.trials.contains(&NOTHING))
            .map(|(case, _)| case)
            .collect();
        if !again.is_empty() {
            let study = compare.run(&self.plan(again.into_iter()), FLAGS)?;
            for ((id, _), rate) in cases().zip(&mut rates) {
                *rate = rate.or_else(|| self::rate(&study, &id));
            }
        }
        Ok(rates.into_iter().map(|rate| rate.unwrap_or(NOTHING)).collect())
    }
}

/// Every one of these runtimes answers within a second; a setting that starves it would be waited for 30 s in vain.
const FLAGS: &[&str] = &["--no-yard-stick", "--ready-timeout", "2s"];

/// What a case's only trial measured.
fn rate(study: &Value, id: &str) -> Option<f64> {
    let case = study["cases"].as_array()?.iter().find(|case| case["id"] == id)?;
    let trial = &case["trials"][0];
    (trial["outcome"] == "measured").then(|| trial["throughput_rps"].as_f64()).flatten().filter(|rate| *rate > 0.0)
}

/// All points of a space.
fn points(space: &Space) -> Vec<Point> {
    let extend = |points: Vec<Point>, levels: usize| -> Vec<Point> {
        points.iter().flat_map(|point| (0..levels).map(move |level| [point.as_slice(), &[level]].concat())).collect()
    };
    space.knobs.iter().map(|knob| knob.levels.len()).fold(vec![Vec::new()], extend)
}

/// Records what is missing.
pub(crate) fn run(recording: &GridRecording) -> Result<(), Failure> {
    let GridRecording { pieces, data, under: UnderTest { stampede, remark } } = recording;
    let compare = Compare::new(stampede.clone())?;
    let under = Circumstances::now(&compare.version()?, remark);
    fs::create_dir_all(data).map_err(|source| FileError::Write { path: data.clone(), source })?;
    let mut left = pieces.unwrap_or(u32::MAX);
    for (piece, subject) in (1..=TRIALS).flat_map(|piece| SUBJECTS.iter().map(move |subject| (piece, subject))) {
        let (unfinished, whole) = subject.paths(data);
        if whole.is_file() {
            continue;
        }
        let mut grid = if unfinished.is_file() {
            WireGrid::read(&unfinished)?
        } else {
            begin(subject.name(), &subject.space(&compare)?)
        };
        if grid.trials() >= piece {
            continue;
        }
        if left == 0 {
            return Ok(());
        }
        left -= 1;
        tell(&format!("{}: piece {piece} of {TRIALS}, {} cells", grid.name, grid.cells.len()));
        let space = grid.space();
        let rates = subject.piece(&compare, &space, &grid.cells)?;
        for (cell, rate) in grid.cells.iter_mut().zip(rates) {
            cell.trials.push(rate);
        }
        grid.under.push(under.clone());
        write(&unfinished, &grid)?;
        if piece == TRIALS {
            fs::rename(&unfinished, &whole).map_err(|source| FileError::Write { path: whole, source })?;
        }
    }
    Ok(())
}

/// A grid without a trial.
fn begin(name: String, space: &Space) -> WireGrid {
    let knobs = space.knobs.iter().map(|knob| WireKnob {
        name: knob.name.clone(),
        role: knob.role,
        levels: knob.levels.clone(),
        ordered: knob.ordered,
    });
    let cells = points(space).into_iter().map(|point| WireCell { point, trials: Vec::new() });
    WireGrid { name, under: Vec::new(), knobs: knobs.collect(), default: space.default.clone(), cells: cells.collect() }
}

/// A line for each cell, all or nothing.
fn write(path: &Path, grid: &WireGrid) -> Result<(), FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    let new = path.with_extension("new");
    fs::write(&new, grid.text()).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use stampede_analysis::Knob;
    use stampede_core::Role;

    use super::*;

    fn space() -> Space {
        let knob = |name: &str, levels: &[&str]| Knob {
            name: name.to_owned(),
            role: Role::PoolSize,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            ordered: true,
        };
        Space { knobs: vec![knob("a", &["1", "2"]), knob("b", &["x", "y", "z"])], default: vec![1, 0] }
    }

    #[test]
    fn a_plan_has_a_case_for_each_point() {
        let space = space();
        let points = points(&space);
        assert_eq!((points.len(), &points[0], &points[5]), (6, &vec![0, 0], &vec![1, 2]));
        let settings: Vec<Tuning> = points.iter().map(|point| space.settings(point)).collect();
        let plan = SUBJECTS[0].plan(settings.iter().enumerate().map(|(n, tuning)| (format!("cell-{n}"), tuning)));
        for line in
            ["{id: cell-2, runtime: nginx-fpm, set: {a: '1', b: 'z'}}", "{id: cell-3, runtime: nginx-fpm, set: {}}"]
        {
            assert!(plan.contains(line), "{line}\n{plan}");
        }
    }

    #[test]
    fn a_grid_is_as_it_was_written() {
        let mut grid = begin("made up".to_owned(), &space());
        assert_eq!(grid.trials(), 0);
        grid.cells.iter_mut().for_each(|cell| cell.trials.extend([1.5, 2.0]));
        let again: WireGrid = serde_json::from_str(&grid.text()).unwrap();
        assert_eq!((again.trials(), again.space(), again.text()), (2, space(), grid.text()));
    }
}
