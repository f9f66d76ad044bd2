//! Two cases: is it better to start each once in a block, or twice?
//!
//! With two starts of each in a block, what a case differs by from itself within a block tells how well the ratio is known, with 3B - 1
//! degrees of freedom of B blocks. In the same time there are twice as many blocks of one start each, with 2B - 1. The figures
//! stand in `docs/adr/0036-one-lifetime-of-a-case-in-a-block.md`: `cargo test -p stampede-stats --test two_lifetimes -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::HashMap;
use std::fs;

use stampede_stats::{
    BlockRatios, Confidence, Look, PairSpread, Spending, SplitMix64, nominal_error, repeated_interval,
};

/// The standard deviation of the ratio of two lifetimes that follow each other.
const PAIRED: f64 = 0.04;

#[path = "shared/nature.rs"]
mod nature;

use nature::Nature;

impl Nature {
    fn below(&mut self, count: usize) -> usize {
        self.0.index(count)
    }
}

/// What scatters, from one lifetime to the next.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Normal, without a memory.
    White,
    /// Half of the variance is a memory of which 0.7 is left one lifetime later.
    Memory,
    /// Student's t with 3 degrees of freedom.
    Heavy,
    /// For four lifetimes at a time the machine favours one case or the other, by as much again.
    Favours,
    /// As it was recorded; runs of even pieces from 22 on, which nothing was chosen by.
    Recorded,
}

const NOISES: [Noise; 5] = [Noise::White, Noise::Memory, Noise::Heavy, Noise::Favours, Noise::Recorded];

/// Which case is at which place, and how the error is found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Each case once a block.
    One,
    /// Each twice: ABBA or BAAB.
    Mirrored(Error),
    /// Each twice, in any order.
    Shuffled(Error),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Error {
    /// From the blocks' ratios alone.
    Between,
    /// From all that is left without cases and blocks.
    Pooled,
    /// The larger of the two, with its degrees of freedom.
    Larger,
}

const DESIGNS: [Design; 6] = [
    Design::One,
    Design::Mirrored(Error::Between),
    Design::Mirrored(Error::Pooled),
    Design::Mirrored(Error::Larger),
    Design::Shuffled(Error::Pooled),
    Design::Shuffled(Error::Larger),
];

impl Design {
    fn lifetimes(self) -> usize {
        if self == Self::One { 2 } else { 4 }
    }

    /// Which places of a block are the second case's.
    fn block(self, nature: &mut Nature) -> Vec<bool> {
        let mut block = match self {
            Self::One => vec![false, true],
            Self::Mirrored(_) => vec![false, true, true, false],
            Self::Shuffled(_) => vec![false, false, true, true],
        };
        if let Self::Shuffled(_) = self {
            (1..4).rev().for_each(|last| block.swap(last, nature.below(last + 1)));
        } else if nature.below(2) == 0 {
            block.iter_mut().for_each(|second| *second = !*second);
        }
        block
    }

    /// What blocks say of the ratio: each block's logarithms of the first and of the second case.
    fn ratios(self, blocks: &[[Vec<f64>; 2]]) -> BlockRatios {
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
        let apart: Vec<f64> = blocks.iter().map(|[a, b]| mean(b) - mean(a)).collect();
        let squares = |logs: &[f64]| logs.iter().map(|log| (log - mean(logs)).powi(2)).sum::<f64>();
        let (between, own) = (squares(&apart), blocks.len() - 1);
        let within: f64 = blocks.iter().flatten().map(|logs| squares(logs)).sum();
        let degrees = own + 2 * blocks.len();
        let own = PairSpread { deviation: (between / own as f64).sqrt(), degrees: own as f64 };
        let pooled = PairSpread { deviation: ((between + within) / degrees as f64).sqrt(), degrees: degrees as f64 };
        let few = match self {
            Self::One | Self::Mirrored(Error::Between) | Self::Shuffled(Error::Between) => None,
            Self::Mirrored(Error::Pooled) | Self::Shuffled(Error::Pooled) => Some(pooled),
            Self::Mirrored(Error::Larger) | Self::Shuffled(Error::Larger) => {
                Some(if own.deviation > pooled.deviation { own } else { pooled })
            }
        };
        BlockRatios::of_known(apart, few, 0.0).unwrap()
    }
}

/// Pieces, and the logarithms of their trials' figures.
type Runs = Vec<(u32, Vec<f64>)>;

/// Runs of recorded trials, each setting grown or shrunk to the same scatter of trials that follow each other.
fn recorded() -> Vec<Vec<Vec<f64>>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/data/identical-trials.csv");
    let text = fs::read_to_string(path).unwrap();
    let mut settings: Vec<(String, Runs)> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
        let cells: Vec<&str> = line.split(',').collect();
        let (piece, name) = (cells[0].parse::<u32>().unwrap(), cells[1]);
        // Of an open load, whose rate is given, throughput tells nothing.
        if piece < 22 || piece % 2 == 1 || name.ends_with("open") {
            continue;
        }
        let log = cells[5].parse::<f64>().unwrap().ln();
        if !settings.iter().any(|(known, _)| known == name) {
            settings.push((name.to_owned(), Vec::new()));
        }
        let runs = &mut settings.iter_mut().find(|(known, _)| known == name).unwrap().1;
        match runs.last_mut().filter(|(of, _)| *of == piece) {
            Some((_, run)) => run.push(log),
            None => runs.push((piece, vec![log])),
        }
    }
    settings
        .into_iter()
        .map(|(_, runs)| {
            let steps: Vec<f64> =
                runs.iter().flat_map(|(_, run)| run.windows(2).map(|pair| pair[1] - pair[0])).collect();
            let paired = (steps.iter().map(|step| step * step).sum::<f64>() / steps.len() as f64).sqrt();
            runs.into_iter().map(|(_, run)| run.iter().map(|log| log * PAIRED / paired).collect()).collect()
        })
        .collect()
}

/// The noise of so many lifetimes, and by how much the second case is favoured at each.
fn noise(noise: Noise, lifetimes: usize, known: &[Vec<Vec<f64>>], nature: &mut Nature) -> (Vec<f64>, Vec<f64>) {
    let one = PAIRED / 2.0_f64.sqrt();
    let mut favours = vec![0.0; lifetimes];
    let logs = match noise {
        Noise::White => (0..lifetimes).map(|_| one * nature.normal()).collect(),
        Noise::Heavy => (0..lifetimes)
            .map(|_| {
                let chi: f64 = (0..3).map(|_| nature.normal().powi(2)).sum();
                one * nature.normal() / chi.sqrt()
            })
            .collect(),
        Noise::Memory => {
            let mut slow = nature.normal();
            (0..lifetimes)
                .map(|_| {
                    slow = 0.7 * slow + (1.0_f64 - 0.49).sqrt() * nature.normal();
                    one * (slow + nature.normal()) / 2.0_f64.sqrt()
                })
                .collect()
        }
        Noise::Favours => {
            for four in favours.chunks_mut(4) {
                four.fill(PAIRED * nature.normal());
            }
            (0..lifetimes).map(|_| one * nature.normal()).collect()
        }
        Noise::Recorded => {
            let runs = &known[nature.below(known.len())];
            let mut logs = Vec::new();
            while logs.len() < lifetimes {
                let run = &runs[nature.below(runs.len())];
                logs.extend_from_slice(&run[nature.below(run.len())..]);
            }
            logs.truncate(lifetimes);
            logs
        }
    };
    (logs, favours)
}

/// Blocks of a study of so many lifetimes, whose second case is so much faster.
fn study(
    design: Design,
    of: Noise,
    lifetimes: usize,
    effect: f64,
    known: &[Vec<Vec<f64>>],
    nature: &mut Nature,
) -> Vec<[Vec<f64>; 2]> {
    let (logs, favours) = noise(of, lifetimes, known, nature);
    let at = |place: usize, second: bool| logs[place] + if second { effect + favours[place] } else { 0.0 };
    let of_block = |block: usize, nature: &mut Nature| {
        let mut cases = [Vec::new(), Vec::new()];
        for (place, second) in design.block(nature).into_iter().enumerate() {
            cases[usize::from(second)].push(at(block * design.lifetimes() + place, second));
        }
        cases
    };
    (0..lifetimes / design.lifetimes()).map(|block| of_block(block, nature)).collect()
}

#[test]
#[ignore = "a minute; prints figures for docs/adr/0036-one-lifetime-of-a-case-in-a-block.md"]
fn figures_of_one_look() {
    const STUDIES: u64 = 10_000;
    let known = recorded();
    for of in NOISES {
        for lifetimes in [12, 16, 24, 36] {
            for design in DESIGNS {
                let (mut missed, mut found, mut half) = (0, 0, 0.0);
                for seed in 0..STUDIES {
                    let nature = &mut Nature(SplitMix64::new(seed));
                    let effect = 0.05_f64.ln_1p();
                    let ratios = design.ratios(&study(design, of, lifetimes, effect, &known, nature));
                    let interval = ratios.t_interval(Confidence::P95);
                    missed += u64::from(interval.low > effect || interval.high < effect);
                    found += u64::from(interval.low > 0.0);
                    half += (interval.high - interval.low) / 2.0;
                }
                let share = |count: u64| 100.0 * count as f64 / STUDIES as f64;
                println!(
                    "{of:?}, {lifetimes} lifetimes, {design:?}: missed {:.1} %, 5 % found {:.1} %, half {:.2} %",
                    share(missed),
                    share(found),
                    100.0 * half / STUDIES as f64
                );
            }
        }
    }
}

/// After so many blocks a study is looked at in ten minutes, when such shares of its budget are used up.
const LOOKS_OF_ONE: [(usize, f64); 5] = [(4, 0.4), (6, 0.55), (10, 0.7), (17, 0.85), (26, 1.0)];
const LOOKS_OF_TWO: [(usize, f64); 5] = [(3, 0.4), (4, 0.55), (6, 0.7), (9, 0.85), (13, 1.0)];

#[test]
#[ignore = "a minute; prints figures for docs/adr/0036-one-lifetime-of-a-case-in-a-block.md"]
fn figures_of_several_looks() {
    const STUDIES: u64 = 4_000;
    let known = recorded();
    let mut nominal: HashMap<(bool, usize, u64), f64> = HashMap::new();
    for of in NOISES {
        for step in [0.0, 0.05, 0.10, 0.40] {
            for design in DESIGNS {
                let looks = if design == Design::One { LOOKS_OF_ONE } else { LOOKS_OF_TWO };
                let (mut ends, mut wrong, mut found, mut missed) = (Vec::new(), 0, 0, 0);
                for seed in 0..STUDIES {
                    let nature = &mut Nature(SplitMix64::new(seed));
                    let effect = f64::ln_1p(step);
                    let blocks = study(design, of, 52, effect, &known, nature);
                    let mut seen: Vec<Look> = Vec::new();
                    let mut end = usize::MAX;
                    for (count, spent) in looks {
                        seen.push(Look { spent, information: count as f64 });
                        let ratios = design.ratios(&blocks[..count]);
                        let mut at = |error: f64| {
                            let key = (design == Design::One, seen.len(), error.to_bits());
                            let nominal = nominal
                                .entry(key)
                                .or_insert_with(|| nominal_error(Spending::Late, error, &seen).unwrap());
                            repeated_interval(&ratios, *nominal)
                        };
                        let (interval, narrow) = (at(0.05), at(0.10));
                        let is_last = count == looks[4].0;
                        let differs = interval.low > 0.0 || interval.high < 0.0;
                        let is_equal = narrow.low > -1.03_f64.ln() && narrow.high < 1.03_f64.ln();
                        if differs || is_equal || is_last {
                            found += u64::from(interval.low > 0.0 && step > 0.0);
                            wrong += u64::from(if step > 0.0 { interval.high < 0.0 } else { differs });
                            missed += u64::from(interval.low > effect || interval.high < effect);
                            if differs || is_equal {
                                end = count * design.lifetimes();
                            }
                            break;
                        }
                    }
                    ends.push(end);
                }
                ends.sort_unstable();
                let quantile = |share: f64| ends[((ends.len() - 1) as f64 * share) as usize];
                let told = |end: usize| if end == usize::MAX { "never".to_owned() } else { end.to_string() };
                let share = |count: u64| 100.0 * count as f64 / STUDIES as f64;
                println!(
                    "{of:?}, {step}, {design:?}: lifetimes to a verdict: median {}, 9 of 10 {}; found {:.1} %, wrong {:.1} %, missed {:.1} %",
                    told(quantile(0.5)),
                    told(quantile(0.9)),
                    share(found),
                    share(wrong),
                    share(missed)
                );
            }
        }
    }
}
