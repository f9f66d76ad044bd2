//! How short a sequential comparison of two cases can be: with the best looks and boundaries for noise that is known to be
//! normal, and with those of `--rounds auto` when their settings are other ones. The figures are in `docs/bench-stats.md`.
//!
//! `cargo test --release -p stampede-stats --test shortest -- --ignored --nocapture`

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::f64::consts::TAU;

use stampede_stats::{
    BlockRatios, Confidence, InterimLook, MOST_LOOKS, Spending, SplitMix64, nominal_error, power, repeated_interval,
};

/// Between the two trials of a pair.
const DEVIATION: f64 = 0.04;
/// True differences; the third is to be found, and is what equality is held against.
const EFFECTS: [f64; 5] = [0.0, 0.02, 0.05, 0.10, 0.50];
const MARGIN: f64 = 0.05;
const STUDIES: usize = 20_000;

struct Nature(SplitMix64);

impl Nature {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// The mean of a study's blocks and its standard error, after each block.
type Path = Vec<(f64, f64)>;

fn paths(seed: u64, blocks: usize) -> Vec<Path> {
    let mut nature = Nature(SplitMix64::new(seed));
    let mut path = || {
        let (mut sum, mut squares) = (0.0, 0.0);
        let step = |block: usize| {
            let log = DEVIATION * nature.normal();
            sum += log;
            squares += log * log;
            let n = block as f64;
            let mean = sum / n;
            (mean, ((squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0) / n).sqrt())
        };
        (1..=blocks).map(step).collect()
    };
    (0..STUDIES).map(|_| path()).collect()
}

/// When to look, and how much error each look spends: on directions, and on stopping because there is no difference of the margin.
#[derive(Clone)]
struct Design {
    looks: [usize; MOST_LOOKS],
    direction: [f64; MOST_LOOKS],
    margin: [f64; MOST_LOOKS],
}

/// The critical value of t at each look: of those that were not beyond one before, so many are beyond this one.
fn critical(
    paths: &[Path],
    looks: [usize; MOST_LOOKS],
    spends: [f64; MOST_LOOKS],
    two_sided: bool,
) -> [f64; MOST_LOOKS] {
    let mut rest: Vec<&Path> = paths.iter().collect();
    let mut critical = [f64::INFINITY; MOST_LOOKS];
    for look in 0..MOST_LOOKS {
        let t = |path: &Path| {
            let (mean, error) = path[looks[look] - 1];
            if two_sided { mean.abs() / error } else { mean / error }
        };
        let mut values: Vec<f64> = rest.iter().map(|path| t(path)).collect();
        let beyond = (spends[look] * paths.len() as f64).round() as usize;
        if beyond > 0 {
            critical[look] = *values.select_nth_unstable_by(beyond, |a, b| b.total_cmp(a)).1;
            rest.retain(|path| t(path) <= critical[look]);
        }
    }
    critical
}

/// Mean blocks by effect, and how often the effect of the margin is found.
fn performance(design: &Design, boundaries: &[[f64; MOST_LOOKS]; 2], paths: &[Path]) -> ([f64; EFFECTS.len()], f64) {
    let mut found = 0;
    let blocks = EFFECTS.map(|effect| {
        let (effect, margin) = (effect.ln_1p(), MARGIN.ln_1p());
        let mut blocks = 0;
        for path in paths {
            let (mut end, mut up) = (*design.looks.last().unwrap(), false);
            for look in 0..MOST_LOOKS {
                let (mean, error) = path[design.looks[look] - 1];
                let [direction, equal] = boundaries.map(|values| values[look] * error);
                let mean = mean + effect;
                up = mean > direction;
                if mean.abs() > direction || margin - mean.abs() > equal {
                    end = design.looks[look];
                    break;
                }
            }
            blocks += end;
            found += usize::from(up && effect == margin);
        }
        blocks as f64 / paths.len() as f64
    });
    (blocks, found as f64 / paths.len() as f64)
}

/// A random step away from a design.
fn varied(design: &Design, may_give_up: bool, nature: &mut Nature) -> Design {
    let mut varied = design.clone();
    if nature.uniform() < 0.3 {
        let look = (nature.uniform() * (MOST_LOOKS - 1) as f64) as usize;
        varied.looks[look] = if nature.uniform() < 0.5 { varied.looks[look] + 1 } else { varied.looks[look] - 1 };
        if varied.looks[0] < 3 || !varied.looks.is_sorted_by(|a, b| a < b) {
            return design.clone();
        }
    }
    let mut step = |spends: &mut [f64; MOST_LOOKS], total: f64| {
        spends.iter_mut().for_each(|spend| *spend = (*spend).max(1e-5) * (0.25 * nature.normal()).exp());
        let sum: f64 = spends.iter().sum();
        spends.iter_mut().for_each(|spend| *spend *= total / sum);
    };
    step(&mut varied.direction, 0.05);
    let total: f64 = design.margin.iter().sum();
    step(&mut varied.margin, total);
    if may_give_up {
        let factor = (0.15 * nature.normal()).exp().min(0.6 / total);
        varied.margin.iter_mut().for_each(|spend| *spend *= factor);
    }
    varied
}

/// The fastest design that a search finds which wrongly gives 5 % of equal cases a direction, and finds the effect in 90 %. With
/// `may_give_up`, it may also end as if there were no difference more often than in the 5 % that a proof of equality allows.
fn shortest(most: usize, may_give_up: bool) -> Design {
    let (paths, mut nature) = (paths(1, most), Nature(SplitMix64::new(2)));
    let even = [0.01; MOST_LOOKS];
    let mut best = Design { looks: [3, 5, 7, 9, most], direction: even, margin: even };
    let time = |design: &Design| {
        let of = |spends, two_sided| critical(&paths, design.looks, spends, two_sided);
        let (blocks, found) = performance(design, &[of(design.direction, true), of(design.margin, false)], &paths);
        // What is missing of the power is made dear, so that a search that begins without it gets there.
        blocks.iter().sum::<f64>() + 1000.0 * (0.9 - found).max(0.0)
    };
    let mut least = time(&best);
    for _ in 0..4000 {
        let candidate = varied(&best, may_give_up, &mut nature);
        let time = time(&candidate);
        if time < least {
            (best, least) = (candidate, time);
        }
    }
    best
}

/// Blocks of a study of fixed length that finds the effect 9 times of 10.
fn fixed_blocks() -> usize {
    let finds = |blocks: &usize| power(*blocks, MARGIN.ln_1p(), DEVIATION, Confidence::P95).unwrap() >= 0.9;
    (2..100).find(finds).unwrap()
}

#[test]
#[ignore = "some minutes; prints figures for docs/bench-stats.md"]
fn figures_of_the_shortest_designs() {
    let fixed = fixed_blocks();
    for (most, may_give_up) in [(27, false), (12, false), (27, true), (16, true)] {
        let design = shortest(most, may_give_up);
        // Held against noise that nothing was chosen by.
        let (chosen, fresh) = (paths(1, most), paths(3, most));
        let of = |spends, two_sided| critical(&chosen, design.looks, spends, two_sided);
        let boundaries = [of(design.direction, true), of(design.margin, false)];
        let (blocks, found) = performance(&design, &boundaries, &fresh);
        let mean = blocks.iter().sum::<f64>() / blocks.len() as f64;
        println!(
            "up to {most} blocks, {}: looks {:?}, blocks {blocks:.1?}, mean {mean:.2} of {fixed}: x {:.3}, found {:.1} %",
            if may_give_up { "may give up" } else { "until decided" },
            design.looks,
            mean / fixed as f64,
            100.0 * found
        );
    }
}

/// How far from 0 a statistic may be at each look, when the error is spent by a clock that stands at `from` at the first look and
/// goes on in equal steps.
fn by_clock(error: f64, blocks: [usize; MOST_LOOKS], from: f64) -> [f64; MOST_LOOKS] {
    let step = (1.0 - from) / (MOST_LOOKS - 1) as f64;
    let spent = |look: usize| (from + step * look as f64).min(1.0);
    let looks = std::array::from_fn(|look| InterimLook { spent: spent(look), information: blocks[look] as f64 });
    let looks: [InterimLook; MOST_LOOKS] = looks;
    std::array::from_fn(|look| {
        // In standard errors, the half-width of an interval depends on nothing but the number of blocks.
        let ratios = BlockRatios::of_logs((0..blocks[look]).map(|block| block as f64).collect()).unwrap();
        let interval = repeated_interval(&ratios, nominal_error(Spending::Late, error, &looks[..=look]).unwrap());
        (interval.high - interval.value) / ratios.standard_error()
    })
}

#[test]
#[ignore = "some seconds; prints figures for docs/bench-stats.md"]
fn figures_of_clocks() {
    let (fixed, paths) = (fixed_blocks(), paths(4, 27));
    for looks in [[4, 6, 10, 17, 27], [3, 5, 9, 16, 27], [4, 5, 7, 10, 13], [3, 4, 6, 9, 13]] {
        for from in [0.4, 0.5, 0.6, 0.7] {
            let boundaries = [by_clock(0.05, looks, from), by_clock(0.10, looks, from)];
            let design = Design { looks, direction: [0.0; MOST_LOOKS], margin: [0.0; MOST_LOOKS] };
            let (blocks, found) = performance(&design, &boundaries, &paths);
            let misses = |path: &&Path| {
                (0..MOST_LOOKS)
                    .any(|look| path[looks[look] - 1].0.abs() > boundaries[0][look] * path[looks[look] - 1].1)
            };
            let missed = paths.iter().filter(misses).count() as f64 / paths.len() as f64;
            println!(
                "looks {looks:?}, clock from {from}: blocks {blocks:.1?}, x {:.2}, found {:.1} %, some interval misses {:.2} %",
                blocks.iter().sum::<f64>() / (blocks.len() * fixed) as f64,
                100.0 * found,
                100.0 * missed
            );
        }
    }
}
