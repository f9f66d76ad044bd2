//! A space whose every point was measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stampede_analysis::{Knob, Point, Space};
use stampede_core::Role;
use stampede_stats::SplitMix64;

use crate::circumstances::Circumstances;

use crate::failure::Failure;
use crate::files::FileError;

/// Trials of a cell that a search sees; as many others score.
pub(crate) const SEEN: usize = 3;
/// Trials of a cell.
pub(crate) const TRIALS: usize = 6;

/// A grid: for each point the primary figure of each of its trials, larger is better.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) name: String,
    /// Under which each piece was recorded; nothing of what is made up.
    pub(crate) under: Vec<Circumstances>,
    pub(crate) space: Space,
    pub(crate) cells: BTreeMap<Point, Vec<f64>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireGrid {
    pub(super) name: String,
    pub(super) under: Vec<Circumstances>,
    pub(super) knobs: Vec<WireKnob>,
    pub(super) default: Point,
    pub(super) cells: Vec<WireCell>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireKnob {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) levels: Vec<String>,
    pub(super) ordered: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireCell {
    pub(super) point: Point,
    pub(super) trials: Vec<f64>,
}

impl WireGrid {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::Unusable(format!("read the grid in {}: {error}", path.display())))
    }

    /// How many trials every cell has.
    pub(super) fn trials(&self) -> usize {
        self.cells.iter().map(|cell| cell.trials.len()).min().unwrap_or_default()
    }

    pub(super) fn space(&self) -> Space {
        let knob = |WireKnob { name, role, levels, ordered }: &WireKnob| Knob {
            name: name.clone(),
            role: *role,
            levels: levels.clone(),
            ordered: *ordered,
        };
        Space { knobs: self.knobs.iter().map(knob).collect(), default: self.default.clone() }
    }

    /// Its JSON, with a line for each knob and each cell.
    pub(super) fn text(&self) -> String {
        let lines = |all: Vec<String>| all.join(",\n    ");
        format!(
            "{{\n  \"name\": {},\n  \"under\": [\n    {}\n  ],\n  \"knobs\": [\n    {}\n  ],\n  \"default\": {},\n  \"cells\": [\n    {}\n  ]\n}}\n",
            line(&self.name),
            lines(self.under.iter().map(line).collect()),
            lines(self.knobs.iter().map(line).collect()),
            line(&self.default),
            lines(self.cells.iter().map(line).collect()),
        )
    }
}

fn line(value: &impl Serialize) -> String {
    // What has text keys, texts and numbers alone always has a text.
    serde_json::to_string(value).unwrap_or_default()
}

impl Grid {
    /// Reads a recorded grid.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Self::of(WireGrid::read(path)?).ok_or_else(|| {
            Failure::Unusable(format!(
                "the grid in {} has a cell outside its space, one with too few trials, or lacks its default",
                path.display()
            ))
        })
    }

    fn of(wire: WireGrid) -> Option<Self> {
        let Space { knobs, default } = wire.space();
        let WireGrid { name, under, cells, .. } = wire;
        let fits = |point: &Point| {
            point.len() == knobs.len() && point.iter().zip(&knobs).all(|(level, knob)| *level < knob.levels.len())
        };
        let whole = cells
            .iter()
            .all(|cell| fits(&cell.point) && cell.trials.len() > SEEN && cell.trials.iter().all(|value| *value > 0.0));
        let cells: BTreeMap<Point, Vec<f64>> = cells.into_iter().map(|cell| (cell.point, cell.trials)).collect();
        (whole && cells.contains_key(&default)).then_some(Self { name, under, space: Space { knobs, default }, cells })
    }

    /// The same pieces of every cell are seen; which ones chance decides.
    pub(crate) fn split(&self, seed: u64) -> Split<'_> {
        let mut random = SplitMix64::new(seed ^ 0x5911);
        let pieces = self.cells.values().map(Vec::len).min().unwrap_or_default();
        let mut held_back: Vec<usize> = (0..pieces).collect();
        let seen = (0..SEEN.min(pieces)).map(|_| held_back.swap_remove(random.index(held_back.len()))).collect();
        Split { grid: self, seen, held_back }
    }
}

/// A grid whose pieces are dealt into those that a search sees and those that it is scored by.
#[derive(Clone, Debug)]
pub(crate) struct Split<'a> {
    pub(crate) grid: &'a Grid,
    seen: Vec<usize>,
    held_back: Vec<usize>,
}

impl Split<'_> {
    /// The score that a search sees, where there is such a cell: the mean of logarithms.
    pub(crate) fn seen(&self, point: &Point) -> Option<f64> {
        self.grid.cells.get(point).map(|trials| mean(self.seen.iter().map(|piece| trials[*piece].ln())))
    }

    /// The mean of the trials that it does not see.
    pub(crate) fn score(&self, point: &Point) -> f64 {
        self.grid.cells.get(point).map_or(0.0, |trials| mean(self.held_back.iter().map(|piece| trials[*piece])))
    }

    /// What the best cell reaches in the trials that no search sees. Each of them is read of the cell that is best in all other pieces:
    /// the largest mean would be the luckiest cell's, too large by a standard error or two where many are about as good, and this
    /// is at most too small by what cells differ that five trials do not tell apart (van Hasselt, Estimating the Maximum
    /// Expected Value: An Analysis of (Nested) Cross Validation and the Maximum Sample Average, arXiv:1302.7175).
    pub(crate) fn optimum(&self) -> f64 {
        let pieces = || self.seen.iter().chain(&self.held_back);
        mean(self.held_back.iter().filter_map(|read| {
            let others =
                |trials: &[f64]| mean(pieces().filter(|piece| *piece != read).map(|piece| trials[*piece].ln()));
            let best = self.grid.cells.values().max_by(|a, b| others(a).total_cmp(&others(b)))?;
            Some(best[*read])
        }))
    }

    /// The largest mean of the trials that no search sees: what the optimum is at most, as luck makes it larger.
    pub(crate) fn luckiest(&self) -> f64 {
        self.grid.cells.keys().map(|point| self.score(point)).fold(0.0, f64::max)
    }
}

/// Nothing has none: 0.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    stampede_stats::mean(&values.collect::<Vec<_>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_recorded_grid_is_read_and_a_broken_one_is_not() {
        let text = r#"{"name": "nginx-fpm mix", "under": [], "knobs": [{"name": "pm.max_children", "role": "pool_size",
            "levels": ["1", "2"], "ordered": true}], "default": [0],
            "cells": [{"point": [0], "trials": [10, 11, 12, 13, 15]}, {"point": [1], "trials": [20, 20, 20, 30, 10]}]}"#;
        let grid = Grid::of(serde_json::from_str(text).unwrap()).unwrap();
        let split = Split { grid: &grid, seen: vec![0, 1, 2], held_back: vec![3, 4] };
        assert!((split.seen(&vec![1]).unwrap() - 20.0_f64.ln()).abs() < 1e-12);
        assert_eq!((split.score(&vec![0]), split.optimum(), split.luckiest()), (14.0, 20.0, 20.0));
        for (from, to) in [
            ("[1], \"trials\"", "[2], \"trials\""),
            ("30, 10]", "]"),
            ("\"default\": [0]", "\"default\": [5]"),
            ("20, 20, 20", "0, 20, 20"),
        ] {
            let broken = text.replace(from, to).replace(", ]", "]");
            let wire: WireGrid = serde_json::from_str(&broken).unwrap();
            assert!(Grid::of(wire).is_none(), "{to}");
        }
    }

    #[test]
    fn the_optimum_of_cells_that_are_all_as_good_is_not_the_luckiest_one() {
        let mut random = SplitMix64::new(1);
        let mut trial = || 1.0 + 0.1 * (random.index(1001) as f64 / 500.0 - 1.0);
        let cells = (0..100).map(|cell| (vec![cell], (0..TRIALS).map(|_| trial()).collect())).collect();
        let space = Space { knobs: Vec::new(), default: vec![0] };
        let grid = Grid { name: "flat".to_owned(), under: Vec::new(), space, cells };
        let splits: Vec<Split<'_>> = (0..200).map(|seed| grid.split(seed)).collect();
        let of = |figure: fn(&Split<'_>) -> f64| mean(splits.iter().map(figure));
        let (optimum, luckiest) = (of(|split| split.optimum()), of(|split| split.luckiest()));
        assert!((optimum - 1.0).abs() < 0.05 && luckiest > 1.05, "{optimum} {luckiest}");
        let dealt: BTreeSet<Vec<usize>> = splits.iter().map(|split| split.held_back.clone()).collect();
        assert!(dealt.len() >= 20 && splits.iter().all(|split| split.seen.len() == SEEN), "{dealt:?}");
    }
}
