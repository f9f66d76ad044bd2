//! Two cases: is it better to start each once in a block, or twice (`docs/adr/0036-one-lifetime-of-a-case-in-a-block.md`)?
//!
//! With two starts of each in a block, what a case differs by from itself within a block tells how well the ratio is known, with 3B - 1
//! degrees of freedom of B blocks. In the same time there are twice as many blocks of one start each, with 2B - 1. Seeds are fixed.

use std::collections::HashMap;
use std::path::Path;

use stampede_stats::{
    BlockRatios, Confidence, InterimLook, PairSpread, Spending, SplitMix64, nominal_error, repeated_interval,
};

use crate::draws::{heavy, normal};
use crate::failure::Failure;
use crate::proof;
use crate::trials::{self, Figure, TrialRow};

/// The standard deviation of the ratio of two lifetimes that follow each other.
const PAIRED: f64 = 0.04;

/// Even pieces from this one on: nothing was chosen by them.
const FIRST_PIECE: u32 = 22;

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
    /// As it was recorded.
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
    fn block(self, random: &mut SplitMix64) -> Vec<bool> {
        let mut block = match self {
            Self::One => vec![false, true],
            Self::Mirrored(_) => vec![false, true, true, false],
            Self::Shuffled(_) => vec![false, false, true, true],
        };
        if let Self::Shuffled(_) = self {
            (1..4).rev().for_each(|last| block.swap(last, random.index(last + 1)));
        } else if random.index(2) == 0 {
            block.iter_mut().for_each(|second| *second = !*second);
        }
        block
    }

    /// What blocks say of the ratio: each block's logarithms of the first and of the second case.
    fn ratios(self, blocks: &[[Vec<f64>; 2]]) -> Option<BlockRatios> {
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
        BlockRatios::of_known(apart, few, 0.0).ok()
    }
}

/// Runs of recorded trials, each setting grown or shrunk to the same scatter of trials that follow each other.
pub(super) fn recorded(path: &Path) -> Result<Vec<Vec<Vec<f64>>>, Failure> {
    let rows = trials::read(path)?;
    // Of an open load, whose rate is given, throughput tells nothing.
    let is_kept = |row: &&TrialRow| {
        row.piece >= FIRST_PIECE && row.piece.is_multiple_of(2) && row.setting.figure == Figure::Throughput
    };
    match proof::Noise::recorded(&rows.iter().filter(is_kept).collect::<Vec<_>>()).scaled(PAIRED) {
        proof::Noise::Recorded(settings) if !settings.is_empty() => {
            Ok(settings.into_iter().map(|setting| setting.runs).collect())
        }
        _ => Err(Failure::Unusable(format!(
            "{} holds no trials that nothing was chosen by; stampede-bench record makes them",
            path.display()
        ))),
    }
}

/// The noise of so many lifetimes, and by how much the second case is favoured at each.
fn noise(noise: Noise, lifetimes: usize, known: &[Vec<Vec<f64>>], random: &mut SplitMix64) -> (Vec<f64>, Vec<f64>) {
    let one = PAIRED / 2.0_f64.sqrt();
    let mut favours = vec![0.0; lifetimes];
    let logs = match noise {
        Noise::White => (0..lifetimes).map(|_| one * normal(random)).collect(),
        Noise::Heavy => (0..lifetimes).map(|_| one * heavy(random)).collect(),
        Noise::Memory => {
            let mut slow = normal(random);
            (0..lifetimes)
                .map(|_| {
                    slow = 0.7 * slow + (1.0_f64 - 0.49).sqrt() * normal(random);
                    one * (slow + normal(random)) / 2.0_f64.sqrt()
                })
                .collect()
        }
        Noise::Favours => {
            for four in favours.chunks_mut(4) {
                four.fill(PAIRED * normal(random));
            }
            (0..lifetimes).map(|_| one * normal(random)).collect()
        }
        Noise::Recorded => {
            let runs = &known[random.index(known.len())];
            let mut logs = Vec::new();
            while logs.len() < lifetimes {
                let run = &runs[random.index(runs.len())];
                logs.extend_from_slice(&run[random.index(run.len())..]);
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
    random: &mut SplitMix64,
) -> Vec<[Vec<f64>; 2]> {
    let (logs, favours) = noise(of, lifetimes, known, random);
    let at = |place: usize, second: bool| logs[place] + if second { effect + favours[place] } else { 0.0 };
    let of_block = |block: usize, random: &mut SplitMix64| {
        let mut cases = [Vec::new(), Vec::new()];
        for (place, second) in design.block(random).into_iter().enumerate() {
            cases[usize::from(second)].push(at(block * design.lifetimes() + place, second));
        }
        cases
    };
    (0..lifetimes / design.lifetimes()).map(|block| of_block(block, random)).collect()
}

/// Prints what studies of one look find by each design.
pub(super) fn of_one_look(
    studies: impl Fn(u64) -> u64,
    known: &[Vec<Vec<f64>>],
    print: impl Fn(&str) -> Result<(), Failure>,
) -> Result<Option<()>, Failure> {
    let studies = studies(10_000);
    for of in NOISES {
        for lifetimes in [12, 16, 24, 36] {
            for design in DESIGNS {
                let (mut missed, mut found, mut half) = (0, 0, 0.0);
                for seed in 0..studies {
                    let random = &mut SplitMix64::new(seed);
                    let effect = 0.05_f64.ln_1p();
                    let ratios = design.ratios(&study(design, of, lifetimes, effect, known, random));
                    let Some(ratios) = ratios else { return Ok(None) };
                    let interval = ratios.t_interval(Confidence::P95);
                    missed += u64::from(interval.low > effect || interval.high < effect);
                    found += u64::from(interval.low > 0.0);
                    half += (interval.high - interval.low) / 2.0;
                }
                let share = |count: u64| 100.0 * count as f64 / studies as f64;
                print(&format!(
                    "{of:?}, {lifetimes} lifetimes, {design:?}: missed {:.1} %, 5 % found {:.1} %, half {:.2} %",
                    share(missed),
                    share(found),
                    100.0 * half / studies as f64
                ))?;
            }
        }
    }
    Ok(Some(()))
}

/// After so many blocks a study is looked at in ten minutes, when such shares of its budget are used up.
const LOOKS_OF_ONE: [(usize, f64); 5] = [(4, 0.4), (6, 0.55), (10, 0.7), (17, 0.85), (26, 1.0)];
const LOOKS_OF_TWO: [(usize, f64); 5] = [(3, 0.4), (4, 0.55), (6, 0.7), (9, 0.85), (13, 1.0)];

/// How a study of several looks ends.
struct End {
    /// After so many lifetimes, where there was a verdict.
    after: Option<usize>,
    low: f64,
    high: f64,
    differs: bool,
}

/// Nominal errors by design, number of looks and bits of the error, which take a while.
type Nominal = HashMap<(bool, usize, u64), f64>;

/// Looks at blocks as they come, until there is a verdict or no more look.
fn followed(design: Design, blocks: &[[Vec<f64>; 2]], nominal: &mut Nominal) -> Option<End> {
    let looks = if design == Design::One { LOOKS_OF_ONE } else { LOOKS_OF_TWO };
    let mut seen: Vec<InterimLook> = Vec::new();
    let mut last = None;
    for (count, spent) in looks {
        seen.push(InterimLook { spent, information: count as f64 });
        let ratios = design.ratios(&blocks[..count])?;
        let mut at = |error: f64| {
            let key = (design == Design::One, seen.len(), error.to_bits());
            let found = match nominal.get(&key) {
                Some(found) => *found,
                None => nominal_error(Spending::Late, error, &seen).ok()?,
            };
            nominal.insert(key, found);
            Some(repeated_interval(&ratios, found))
        };
        let (interval, narrow) = (at(0.05)?, at(0.10)?);
        let differs = interval.low > 0.0 || interval.high < 0.0;
        let is_equal = narrow.low > -1.03_f64.ln() && narrow.high < 1.03_f64.ln();
        let after = (differs || is_equal).then(|| count * design.lifetimes());
        last = Some(End { after, low: interval.low, high: interval.high, differs });
        if after.is_some() {
            break;
        }
    }
    last
}

/// Prints how studies of several looks end by each design.
pub(super) fn of_several_looks(
    studies: impl Fn(u64) -> u64,
    known: &[Vec<Vec<f64>>],
    print: impl Fn(&str) -> Result<(), Failure>,
) -> Result<Option<()>, Failure> {
    let studies = studies(4_000);
    let mut nominal = Nominal::new();
    for of in NOISES {
        for step in [0.0, 0.05, 0.10, 0.40] {
            for design in DESIGNS {
                let effect = f64::ln_1p(step);
                let end = |seed| {
                    let random = &mut SplitMix64::new(seed);
                    followed(design, &study(design, of, 52, effect, known, random), &mut nominal)
                };
                let ends: Option<Vec<End>> = (0..studies).map(end).collect();
                let Some(ends) = ends else { return Ok(None) };
                let share = |is: &dyn Fn(&End) -> bool| {
                    100.0 * ends.iter().filter(|end| is(end)).count() as f64 / studies as f64
                };
                let mut after: Vec<usize> = ends.iter().map(|end| end.after.unwrap_or(usize::MAX)).collect();
                after.sort_unstable();
                let quantile = |share: f64| match after[((after.len() - 1) as f64 * share) as usize] {
                    usize::MAX => "never".to_owned(),
                    lifetimes => lifetimes.to_string(),
                };
                print(&format!(
                    "{of:?}, {step}, {design:?}: lifetimes to a verdict: median {}, 9 of 10 {}; found {:.1} %, wrong {:.1} %, missed {:.1} %",
                    quantile(0.5),
                    quantile(0.9),
                    share(&|end| end.low > 0.0 && step > 0.0),
                    share(&|end| if step > 0.0 { end.high < 0.0 } else { end.differs }),
                    share(&|end| end.low > effect || end.high < effect)
                ))?;
            }
        }
    }
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooled_error_misses_more_where_the_machine_favours_a_case() {
        let missed = |design: Design| {
            let is_missed = |seed: &u64| {
                let random = &mut SplitMix64::new(*seed);
                let interval = design.ratios(&study(design, Noise::Favours, 12, 0.05, &[], random)).unwrap();
                let interval = interval.t_interval(Confidence::P95);
                interval.low > 0.05 || interval.high < 0.05
            };
            (0..1000_u64).filter(is_missed).count()
        };
        let (between, pooled) = (missed(Design::Mirrored(Error::Between)), missed(Design::Mirrored(Error::Pooled)));
        assert!(between < 80 && pooled > 100, "{between} {pooled}");
    }

    #[test]
    fn a_study_ends_with_its_first_verdict() {
        let random = &mut SplitMix64::new(1);
        let blocks = study(Design::One, Noise::White, 52, 1.0, &[], random);
        let end = followed(Design::One, &blocks, &mut Nominal::new()).unwrap();
        assert_eq!((end.after, end.differs), (Some(8), true));
    }
}
