//! How often a direction is claimed that is not there, how often intervals hold the truth, and what is made of all runtimes.

use std::collections::BTreeMap;

use stampede_core::VerdictWord;
use stampede_stats::{SplitMix64, mean};

use super::Blocks;
use super::kind::{KINDS, Kind, What};
use super::piece::{Figures, Pair, Piece};
use crate::document::{self, Section};
use crate::draws::draws;
use crate::proof::{Compared, decided};
use crate::target::{Bound, Target};

type Figure = fn(&Figures) -> Option<f64>;

/// What is compared: its name, and how it is read.
const FIGURES: [(&str, Figure); 3] = [
    ("throughput", |trial| Some(trial.throughput_rps)),
    ("CPU a request", |trial| trial.cpu_us_per_request),
    ("p99", |trial| trial.response_p99_us),
];

/// The blocks of a piece in which every case has this figure, as `blocks[block][case]`.
pub(super) fn blocks_of(piece: &Piece, figure: impl Fn(&Figures) -> Option<f64>) -> Vec<Vec<f64>> {
    let mut blocks: BTreeMap<u32, BTreeMap<usize, f64>> = BTreeMap::new();
    for trial in &piece.trials {
        if let Some(value) = figure(trial).filter(|value| *value > 0.0) {
            blocks.entry(trial.block).or_default().insert(trial.case, value);
        }
    }
    let whole = |block: BTreeMap<usize, f64>| (block.len() == piece.cases.len()).then(|| block.into_values().collect());
    blocks.into_values().filter_map(whole).collect()
}

/// Those of all pieces of a kind.
pub(super) fn all_blocks(pieces: &[Piece], kind: &Kind, figure: impl Fn(&Figures) -> Option<f64>) -> Vec<Vec<f64>> {
    pieces.iter().filter(|piece| piece.kind == kind.name).flat_map(|piece| blocks_of(piece, &figure)).collect()
}

/// So many of these, none twice, in random order.
pub(super) fn some(of: usize, count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..of).collect();
    let count = count.min(of);
    for place in 0..count {
        all.swap(place, place + random.index(of - place));
    }
    all.truncate(count);
    all
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Studies of identical cases, whose labels are permuted within blocks.
pub(super) fn identical(pieces: &[Piece], Blocks { studies, seed, .. }: &Blocks) -> Section {
    const CASES: [usize; 4] = [2, 4, 8, 13];
    const ROUNDS: [usize; 4] = [3, 4, 6, 10];
    let mut section = Section::new("Identical deployments");
    section.paragraph(&format!(
        "In how many of {studies} studies any pair is given a direction. Each takes its blocks from those that were recorded, none twice, \
         and so many of a block's thirteen deployments, whose labels are drawn again in each block.",
    ));
    let mut rows = vec![document::head("machine | figure | rounds")];
    rows[0].extend(CASES.map(|cases| format!("{cases} cases")));
    for (name, figure) in FIGURES {
        let mut worst: Option<f64> = None;
        let mut is_whole = true;
        for kind in KINDS.iter().filter(|kind| kind.what == What::Identical) {
            let blocks = all_blocks(pieces, kind, figure);
            is_whole &= blocks.len() as u32 >= kind.blocks * kind.pieces;
            for rounds in ROUNDS.into_iter().filter(|rounds| *rounds <= blocks.len()) {
                let wrong = CASES.map(|cases| {
                    let one = |random: &mut SplitMix64| {
                        let chosen = some(blocks.len(), rounds, random);
                        let of_block = |block: usize| {
                            let places = some(blocks[block].len(), cases, random);
                            places.into_iter().map(|place| blocks[block][place]).collect::<Vec<_>>()
                        };
                        let drawn: Vec<_> = chosen.into_iter().map(of_block).collect();
                        decided(&drawn, &vec![1.0; cases]).iter().any(Compared::is_false)
                    };
                    let drawn = draws(*seed, *studies, one);
                    drawn.iter().filter(|is_false| **is_false).count() as f64 / f64::from(*studies)
                });
                worst = wrong.into_iter().chain(worst).reduce(f64::max);
                let first = [kind.machine().to_owned(), name.to_owned(), rounds.to_string()];
                rows.push(first.into_iter().chain(wrong.map(percent)).collect());
            }
        }
        section.targets.push(kept(
            Target::value(
                format!("a false direction among identical deployments, {name}, at worst"),
                Bound::AtMost(6.0),
                worst.map(|worst| 100.0 * worst),
                1,
                " %",
            ),
            is_whole,
        ));
    }
    section.table(&rows);
    section
}

/// Whether the intervals of whole studies hold the truth.
pub(super) fn intervals(pieces: &[Piece]) -> Section {
    let mut section = Section::new("Intervals");
    section.paragraph(
        "How many of the 95 % intervals that studies printed hold the true ratio: all pairs of six servers that do a known share of work \
         more. Pairs of a study share its deployments, so their number says less than so many pairs apart.",
    );
    let head = "what | studies | pairs | with an interval | hold the truth | a false direction";
    let mut rows = vec![document::head(head)];
    let (mut all, mut held) = (0, 0);
    for kind in KINDS.iter().filter(|kind| matches!(kind.what, What::Work(_))) {
        let of: Vec<&Piece> = pieces.iter().filter(|piece| piece.kind == kind.name).collect();
        let judged: Vec<Compared> =
            of.iter().flat_map(|piece| &piece.pairs).filter_map(|pair| judged(kind, pair)).collect();
        let holds = judged.iter().filter(|pair| pair.covers() == Some(true)).count();
        let told = judged.iter().filter(|pair| pair.covers().is_some()).count();
        let wrong = judged.iter().filter(|pair| pair.is_false()).count();
        (all, held) = (all + told, held + holds);
        rows.push(vec![
            kind.name.to_owned(),
            of.len().to_string(),
            judged.len().to_string(),
            told.to_string(),
            holds.to_string(),
            wrong.to_string(),
        ]);
    }
    section.table(&rows);
    let seen = (all > 0).then(|| 100.0 * held as f64 / all as f64);
    let what = format!("intervals that hold the truth, of {all}");
    section.targets.push(kept(Target::value(what, Bound::AtLeast(92.0), seen, 1, " %"), all >= 200));
    section
}

/// What a study made of a pair, beside the truth.
fn judged(kind: &Kind, pair: &Pair) -> Option<Compared> {
    let truth = kind.truth(&pair.a, &pair.b)?.exp();
    Some(Compared { truth, low: pair.low, high: pair.high, verdict: pair.verdict })
}

/// All runtimes: whether differences are told, and rightly.
pub(super) fn runtimes(pieces: &[Piece]) -> Section {
    let mut section = Section::new("All runtimes");
    section.paragraph(
        "Studies of every runtime that is installed, under the workload hello. The true ratios are those of the means of all quiet blocks, \
         of which each study is a part. \"Told\" are pairs that are given the right direction; \"wrong\" those that are given the other one, \
         where they differ by more than 1 %.",
    );
    let head =
        "machine | studies | cases | s at most | all of 1.3 told | all of 1.5, 3 blocks | pairs of 1.5 told | wrong";
    let mut rows = vec![document::head(head)];
    let of = |is_busy: bool| KINDS.iter().find(|kind| kind.what == What::Runtimes && kind.is_busy == is_busy);
    let truths = of(false).map(|kind| truths(pieces, kind)).unwrap_or_default();
    for kind in [false, true].into_iter().filter_map(of) {
        let studies: Vec<Told> = pieces
            .iter()
            .filter(|piece| piece.kind == kind.name && !truths.is_empty())
            .map(|piece| Told::of(piece, &truths))
            .collect();
        let count = |test: fn(&Told) -> bool| studies.iter().filter(|told| test(told)).count();
        let share = |count: usize| (!studies.is_empty()).then(|| 100.0 * count as f64 / studies.len() as f64);
        let (wide, told): (usize, usize) =
            studies.iter().fold((0, 0), |(all, told), study| (all + study.wide, told + study.wide_told));
        let seconds = studies.iter().map(|told| told.seconds).reduce(f64::max);
        let wrong: usize = studies.iter().map(|told| told.wrong).sum();
        rows.push(vec![
            kind.machine().to_owned(),
            studies.len().to_string(),
            truths.len().to_string(),
            seconds.map_or_else(String::new, |seconds| format!("{seconds:.0}")),
            count(|told| told.every_medium).to_string(),
            count(|told| told.every_wide_in_three).to_string(),
            format!("{told} of {wide}"),
            wrong.to_string(),
        ]);
        let is_whole = studies.len() as u32 >= kind.pieces;
        let mut aim = |what: &str, bound, seen, digits, unit| {
            section.targets.push(kept(Target::value(what, bound, seen, digits, unit), is_whole));
        };
        if kind.is_busy {
            let part = (wide > 0).then(|| 100.0 * told as f64 / wide as f64);
            aim("all runtimes, busy: pairs that differ by 1.5 times, told", Bound::AtLeast(95.0), part, 1, " %");
            let wrong = (!studies.is_empty()).then_some(wrong as f64);
            aim("all runtimes, busy: wrong directions", Bound::AtMost(0.0), wrong, 0, "");
        } else {
            let medium = share(count(|told| told.every_medium));
            aim("all runtimes, four blocks: every ratio of 1.3 told, studies", Bound::AtLeast(90.0), medium, 0, " %");
            let three = share(count(|told| told.every_wide_in_three));
            aim("all runtimes, three blocks: every ratio of 1.5 told, studies", Bound::AtLeast(90.0), three, 0, " %");
            aim("all runtimes, four blocks: the longest study", Bound::AtMost(300.0), seconds, 0, " s");
        }
    }
    section.table(&rows);
    section
}

/// Each case's logarithm of throughput beside the mean of its block, over all blocks of a kind.
fn truths(pieces: &[Piece], kind: &Kind) -> BTreeMap<String, f64> {
    let mut logs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| piece.kind == kind.name) {
        for block in blocks_of(piece, |trial| Some(trial.throughput_rps)) {
            let block: Vec<f64> = block.into_iter().map(f64::ln).collect();
            let Some(middle) = mean(&block) else { continue };
            for (case, log) in piece.cases.iter().zip(block) {
                logs.entry(case.clone()).or_default().push(log - middle);
            }
        }
    }
    logs.into_iter().filter_map(|(case, logs)| Some((case, mean(&logs)?))).collect()
}

/// What a study of all runtimes told.
struct Told {
    seconds: f64,
    /// Every pair of a true ratio of 1.3 and more was given its direction.
    every_medium: bool,
    /// Every pair of 1.5 and more, by its first three blocks.
    every_wide_in_three: bool,
    /// Pairs of 1.5 and more, and how many of them were told.
    wide: usize,
    wide_told: usize,
    wrong: usize,
}

impl Told {
    fn of(piece: &Piece, truths: &BTreeMap<String, f64>) -> Self {
        let (medium, wide) = (1.3_f64.ln(), 1.5_f64.ln());
        let truth = |a: &str, b: &str| Some(truths.get(a)? - truths.get(b)?);
        let told = |verdict: VerdictWord, truth: f64| {
            verdict == if truth > 0.0 { VerdictWord::Faster } else { VerdictWord::Slower }
        };
        let mut study = Self {
            seconds: piece.seconds,
            every_medium: true,
            every_wide_in_three: true,
            wide: 0,
            wide_told: 0,
            wrong: 0,
        };
        for pair in &piece.pairs {
            let Some(truth) = truth(&pair.a, &pair.b) else { continue };
            let is_told = told(pair.verdict, truth);
            study.every_medium &= is_told || truth.abs() < medium;
            study.wide += usize::from(truth.abs() >= wide);
            study.wide_told += usize::from(truth.abs() >= wide && is_told);
            let is_directed = matches!(pair.verdict, VerdictWord::Faster | VerdictWord::Slower);
            study.wrong += usize::from(is_directed && !is_told && truth.abs() > 0.01);
        }
        let blocks = blocks_of(piece, |trial| Some(trial.throughput_rps));
        let three: Vec<Vec<f64>> = blocks.into_iter().take(3).collect();
        let levels: Vec<f64> =
            piece.cases.iter().map(|case| truths.get(case).copied().unwrap_or_default().exp()).collect();
        let is_wide = |pair: &&Compared| pair.truth.ln().abs() >= wide;
        study.every_wide_in_three =
            three.len() == 3 && decided(&three, &levels).iter().filter(is_wide).all(Compared::is_found);
        study
    }
}

/// A target that part of the data keeps to may still be missed by what is not measured.
pub(super) fn kept(mut target: Target, is_whole: bool) -> Target {
    if !is_whole {
        target.met = target.met.filter(|met| !met);
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(kind: &str, rates: &[[f64; 3]]) -> Piece {
        let trial = |block: usize, case: usize, throughput_rps: f64| Figures {
            block: block as u32,
            case,
            throughput_rps,
            cpu_us_per_request: None,
            response_p99_us: None,
        };
        let of_block = |(block, rates): (usize, &[f64; 3])| {
            rates.iter().enumerate().map(move |(case, rate)| trial(block, case, *rate)).collect::<Vec<_>>()
        };
        Piece {
            kind: kind.to_owned(),
            began: String::new(),
            seconds: 100.0,
            remark: String::new(),
            cases: ["x", "y", "z"].map(str::to_owned).to_vec(),
            trials: rates.iter().enumerate().flat_map(of_block).collect(),
            pairs: Vec::new(),
        }
    }

    #[test]
    fn blocks_that_lack_a_case_do_not_count() {
        let mut piece = piece("runtimes, quiet", &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        piece.trials.pop();
        assert_eq!(blocks_of(&piece, |trial| Some(trial.throughput_rps)), [[1.0, 2.0, 3.0]]);
        assert!(blocks_of(&piece, |trial| trial.response_p99_us).is_empty());
    }

    #[test]
    fn draws_are_of_all_and_none_twice() {
        let mut random = SplitMix64::new(4);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            let drawn = some(5, 3, &mut random);
            assert!(drawn.len() == 3 && drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
            drawn.into_iter().for_each(|place| seen[place] += 1);
        }
        // 600 each; the standard deviation is 15.
        assert!(seen.iter().all(|count| (530..670).contains(count)), "{seen:?}");
    }

    #[test]
    fn what_is_told_of_runtimes_is_compared_with_the_means_of_all_blocks() {
        let rates = [[400.0, 200.0, 100.0], [410.0, 199.0, 101.0], [395.0, 202.0, 99.0]];
        let mut piece = piece("runtimes, quiet", &rates);
        let pair = |a: &str, b: &str, verdict| Pair {
            a: a.to_owned(),
            b: b.to_owned(),
            ratio: 2.0,
            low: None,
            high: None,
            verdict,
        };
        piece.pairs = vec![
            pair("x", "y", VerdictWord::Faster),
            pair("x", "z", VerdictWord::Undecided),
            pair("z", "y", VerdictWord::Faster),
        ];
        let truths = truths(std::slice::from_ref(&piece), &KINDS[10]);
        assert!((truths["x"] - truths["y"] - 2.0_f64.ln()).abs() < 0.02);
        let told = Told::of(&piece, &truths);
        assert_eq!((told.wide, told.wide_told, told.wrong, told.every_medium), (3, 1, 1, false));
        assert!(told.every_wide_in_three);
    }
}
