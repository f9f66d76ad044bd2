//! How well the errors of many pairs in few blocks may be known, and how they are spent: what is used beside what was not taken
//! (`docs/adr/0033-errors-of-many-pairs.md`). Studies of one look decide by Holm over all pairs at 5 %. Seeds are fixed.

use std::collections::HashMap;

use stampede_stats::{
    BlockRatios, InterimLook, PairSpread, Spending, SplitMix64, nominal_error, pair_spread, repeated_interval,
    step_down, t_quantile_above,
};
use statrs::function::gamma::digamma;

use crate::draws::{heavy, normal};
use crate::failure::Failure;

/// What scatters.
#[derive(Clone, Copy, Debug)]
enum Residuals {
    Alike,
    /// The first case five times as much.
    OneWild,
    /// With far outliers.
    Heavy,
    /// The machine does one thing to every other case and another to the rest, each of so many deviations of residuals.
    TwoKinds(f64),
}

/// How the error of a pair is found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// From its own ratios.
    Own,
    /// From all residuals: Holm on a pooled error.
    Pooled,
    /// The same with the quantile of the studentised range, which was simulated.
    TukeyKramer(f64),
    /// Smyth 2004: each case's variance drawn towards that of all.
    Moderated,
    Used,
}

/// A case's logarithms, one a block.
type Table = Vec<Vec<f64>>;

const DEVIATION: f64 = 0.03;

fn study(random: &mut SplitMix64, cases: usize, blocks: usize, residuals: Residuals, step: f64) -> Table {
    let of_blocks: Vec<f64> = (0..blocks).map(|_| 0.2 * normal(random)).collect();
    let of_kinds: Vec<[f64; 2]> = (0..blocks).map(|_| [normal(random), normal(random)]).collect();
    let mut one = |case: usize, block: usize| {
        let residual = match residuals {
            Residuals::Alike => normal(random),
            Residuals::OneWild if case == 0 => 5.0 * normal(random),
            Residuals::OneWild => normal(random),
            Residuals::Heavy => heavy(random),
            Residuals::TwoKinds(times) => normal(random) + times * of_kinds[block][case % 2],
        };
        step * case as f64 + of_blocks[block] + DEVIATION * residual
    };
    (0..cases).map(|case| (0..blocks).map(|block| one(case, block)).collect()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The variances of residuals around case and block, each of B - 1 degrees of freedom.
fn own_variances(table: &Table) -> Vec<f64> {
    let (cases, blocks) = (table.len() as f64, table[0].len());
    let centre: Vec<f64> = (0..blocks).map(|block| table.iter().map(|case| case[block]).sum::<f64>() / cases).collect();
    let apart = |case: &Vec<f64>| variance(&case.iter().zip(&centre).map(|(log, mean)| log - mean).collect::<Vec<_>>());
    table.iter().map(|case| apart(case) * cases / (cases - 1.0)).collect()
}

fn trigamma(x: f64) -> f64 {
    // Abramowitz and Stegun 6.4.12, after the recurrence 6.4.6.
    let shifts: f64 = (0..20).map(|step| 1.0 / (x + f64::from(step)).powi(2)).sum();
    let z = x + 20.0;
    shifts + 1.0 / z + 1.0 / (2.0 * z * z) + 1.0 / (6.0 * z.powi(3)) - 1.0 / (30.0 * z.powi(5))
}

/// Variances drawn together, and their degrees of freedom: Smyth, "Linear models and empirical Bayes methods for assessing
/// differential expression in microarray experiments", SAGMB 3 (2004), section 6.2.
fn moderated(variances: &[f64], degrees: f64) -> (Vec<f64>, f64) {
    let e: Vec<f64> = variances.iter().map(|v| v.ln() - digamma(degrees / 2.0) + (degrees / 2.0).ln()).collect();
    let excess = variance(&e) - trigamma(degrees / 2.0);
    if excess <= 0.0 {
        let all = mean(&e).exp();
        return (vec![all; variances.len()], degrees * variances.len() as f64);
    }
    let (mut low, mut high) = (1e-6, 1e6);
    while high / low > 1.0 + 1e-9 {
        let middle = f64::sqrt(low * high);
        if trigamma(middle) > excess { low = middle } else { high = middle }
    }
    let prior = 2.0 * low;
    let centre = (mean(&e) + digamma(prior / 2.0) - (prior / 2.0).ln()).exp();
    (variances.iter().map(|v| (prior * centre + degrees * v) / (prior + degrees)).collect(), prior + degrees)
}

/// The spread of each pair.
fn spreads(rule: Rule, table: &Table, pairs: &[(usize, usize)]) -> Option<Vec<PairSpread>> {
    let (cases, blocks) = (table.len(), table[0].len());
    let degrees = (blocks - 1) as f64;
    let each = own_variances(table);
    match rule {
        Rule::Own => pairs
            .iter()
            .map(|(a, b)| {
                let apart: Vec<f64> = table[*a].iter().zip(&table[*b]).map(|(a, b)| a - b).collect();
                Some(PairSpread { deviation: variance(&apart).sqrt(), degrees })
            })
            .collect(),
        Rule::Pooled | Rule::TukeyKramer(_) => {
            let all = PairSpread { deviation: (2.0 * mean(&each)).sqrt(), degrees: degrees * (cases - 1) as f64 };
            Some(vec![all; pairs.len()])
        }
        Rule::Moderated => {
            let (each, degrees) = moderated(&each, degrees);
            let pair = |(a, b): &(usize, usize)| PairSpread { deviation: (each[*a] + each[*b]).sqrt(), degrees };
            Some(pairs.iter().map(pair).collect())
        }
        Rule::Used => pairs
            .iter()
            .map(|(a, b)| {
                let others: Vec<&[f64]> =
                    (0..cases).filter(|case| case != a && case != b).map(|case| &table[case][..]).collect();
                pair_spread(&table[*a], &table[*b], &others)
            })
            .collect(),
    }
}

fn pairs(cases: usize) -> Vec<(usize, usize)> {
    (0..cases).flat_map(|a| (a + 1..cases).map(move |b| (a, b))).collect()
}

/// The differences of means in standard errors, and the degrees of freedom of each.
fn statistics(rule: Rule, table: &Table) -> Option<Vec<(f64, f64)>> {
    let pairs = pairs(table.len());
    let root = (table[0].len() as f64).sqrt();
    let statistic = |((a, b), spread): (&(usize, usize), PairSpread)| {
        ((mean(&table[*b]) - mean(&table[*a])) / spread.deviation * root, spread.degrees)
    };
    Some(pairs.iter().zip(spreads(rule, table, &pairs)?).map(statistic).collect())
}

/// Which pairs are given a direction.
fn told(rule: Rule, table: &Table) -> Option<Vec<bool>> {
    let statistics = statistics(rule, table)?;
    if let Rule::TukeyKramer(most) = rule {
        return Some(statistics.iter().map(|(statistic, _)| statistic.abs() > most).collect());
    }
    Some(step_down(0.05, &vec![false; statistics.len()], |place, error| {
        let (statistic, degrees) = statistics[place];
        t_quantile_above(error / 2.0, degrees).is_some_and(|quantile| statistic.abs() > quantile)
    }))
}

/// The share of studies in which something is found of the told pairs.
fn share(
    studies: u64,
    study: impl Fn(&mut SplitMix64) -> Table,
    rule: Rule,
    found: impl Fn(&[bool]) -> bool,
) -> Option<f64> {
    let one = |seed| Some(found(&told(rule, &study(&mut SplitMix64::new(seed)))?));
    let found: Vec<bool> = (0..studies).map(one).collect::<Option<_>>()?;
    Some(found.iter().filter(|found| **found).count() as f64 / studies as f64)
}

/// The quantile of the studentised range over the square root of 2, from studies of equal cases.
fn studentised_range(cases: usize, blocks: usize, studies: u64) -> Option<f64> {
    let widest = |seed: u64| {
        let table = study(&mut SplitMix64::new(1_000_000 + seed), cases, blocks, Residuals::Alike, 0.0);
        let statistics = statistics(Rule::Pooled, &table)?;
        Some(statistics.iter().map(|(statistic, _)| statistic.abs()).fold(0.0, f64::max))
    };
    let mut widest: Vec<f64> = (0..studies).map(widest).collect::<Option<_>>()?;
    widest.sort_by(f64::total_cmp);
    widest.get(widest.len() * 95 / 100).copied()
}

/// Prints in how many studies of one look each rule finds a direction of equal cases, and all directions of cases that differ.
pub(super) fn of_one_look(
    studies: impl Fn(u64) -> u64,
    print: impl Fn(&str) -> Result<(), Failure>,
) -> Result<Option<()>, Failure> {
    for (cases, blocks) in [(13, 3), (13, 4), (13, 6), (6, 3), (4, 3), (4, 6), (3, 3), (3, 4)] {
        let Some(range) = studentised_range(cases, blocks, studies(10_000)) else { return Ok(None) };
        for rule in [Rule::Own, Rule::TukeyKramer(range), Rule::Pooled, Rule::Moderated, Rule::Used] {
            let wrong = |residuals: Residuals| {
                let of = |random: &mut SplitMix64| study(random, cases, blocks, residuals, 0.0);
                share(studies(2_000), of, rule, |told| told.contains(&true))
            };
            let kinds = [Residuals::TwoKinds(1.0), Residuals::TwoKinds(3.0)];
            let all = [Residuals::Alike, Residuals::OneWild, Residuals::Heavy].into_iter().chain(kinds);
            let wrong: Option<Vec<f64>> = all.map(|residuals| Some(100.0 * wrong(residuals)?)).collect();
            let ladder = |random: &mut SplitMix64| study(random, cases, blocks, Residuals::Alike, 1.2_f64.ln());
            let right = share(studies(1_000), ladder, rule, |told| !told.contains(&false));
            let Some((wrong, right)) = wrong.zip(right) else { return Ok(None) };
            print(&format!(
                "{cases} cases, {blocks} blocks, {rule:?}: false {wrong:.1?}, every 1.2 found {:.1}",
                100.0 * right
            ))?;
        }
    }
    Ok(Some(()))
}

/// After so many blocks a study is looked at, when such shares of its time are used up.
const LOOKS: [(usize, f64); 5] = [(4, 0.4), (6, 0.55), (9, 0.7), (13, 0.85), (20, 1.0)];

/// How a study of several looks ends.
#[derive(Default)]
struct End {
    trials: usize,
    found: usize,
    equal: usize,
}

/// Nominal errors by spending, number of looks and bits of the error, which take a while.
type Known = HashMap<(bool, usize, u64), f64>;

/// Follows a study as `--rounds auto` does; cases whose pairs are all decided leave.
fn followed(spending: Spending, table: &Table, known_errors: &mut Known) -> Option<End> {
    let pairs = pairs(table.len());
    let (mut found, mut equal) = (vec![false; pairs.len()], vec![false; pairs.len()]);
    let mut looked: Vec<InterimLook> = Vec::new();
    let (mut open, mut end, mut before) = (vec![true; table.len()], End::default(), 0);
    for (blocks, spent) in LOOKS {
        end.trials += open.iter().filter(|open| **open).count() * (blocks - before);
        before = blocks;
        looked.push(InterimLook { spent, information: blocks as f64 });
        let known = |case: usize| &table[case][..blocks];
        let ratios: Option<Vec<BlockRatios>> = pairs
            .iter()
            .map(|(a, b)| {
                let others: Vec<&[f64]> =
                    (0..table.len()).filter(|case| case != a && case != b && open[*case]).map(known).collect();
                let logs = known(*b).iter().zip(known(*a)).map(|(b, a)| b - a).collect();
                BlockRatios::of_known(logs, pair_spread(known(*a), known(*b), &others), 0.0).ok()
            })
            .collect();
        let ratios = ratios?;
        let is_open = |place: usize, equal: &[bool]| open[pairs[place].0] && open[pairs[place].1] && !equal[place];
        let mut interval = |place: usize, spending, error: f64| {
            let key = (spending == Spending::Late, looked.len(), error.to_bits());
            let nominal = match known_errors.get(&key) {
                Some(nominal) => *nominal,
                None => nominal_error(spending, error, &looked).ok()?,
            };
            known_errors.insert(key, nominal);
            Some(repeated_interval(&ratios[place], nominal))
        };
        found = step_down(0.05, &found, |place, error| {
            let interval = if is_open(place, &equal) { interval(place, spending, error) } else { None };
            interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
        });
        for place in 0..pairs.len() {
            if is_open(place, &equal) && !found[place] {
                let interval = interval(place, Spending::Late, 0.10)?;
                equal[place] = interval.low > -1.03_f64.ln() && interval.high < 1.03_f64.ln();
            }
        }
        let undecided = |case: usize| {
            pairs.iter().enumerate().any(|(place, (a, b))| (*a == case || *b == case) && !found[place] && !equal[place])
        };
        open = (0..table.len()).map(|case| open[case] && undecided(case)).collect();
    }
    end.found = found.iter().filter(|found| **found).count();
    end.equal = equal.iter().filter(|equal| **equal).count();
    Some(end)
}

/// Prints how studies of several looks end that spend their error late or evenly.
pub(super) fn of_spending(
    studies: impl Fn(u64) -> u64,
    print: impl Fn(&str) -> Result<(), Failure>,
) -> Result<Option<()>, Failure> {
    let mut known = Known::new();
    for cases in [2, 3, 4, 6, 13] {
        for step in [0.0, 0.05, 0.1, 0.3] {
            for spending in [Spending::Late, Spending::Even] {
                let studies = studies(if cases > 6 { 200 } else { 1_000 });
                let end = |seed| {
                    let random = &mut SplitMix64::new(seed);
                    followed(spending, &study(random, cases, 20, Residuals::Alike, f64::ln_1p(step)), &mut known)
                };
                let ends: Option<Vec<End>> = (0..studies).map(end).collect();
                let Some(ends) = ends else { return Ok(None) };
                let per = |of: fn(&End) -> usize, all: usize| {
                    100.0 * ends.iter().map(of).sum::<usize>() as f64 / (studies as usize * all) as f64
                };
                let any = ends.iter().filter(|end| end.found > 0).count() as f64 / studies as f64;
                print(&format!(
                    "{cases} cases, step {step}, {spending:?}: {:.1} blocks, found {:.1} %, equal {:.1} %, any {:.1} %",
                    per(|end| end.trials, cases) / 100.0,
                    per(|end| end.found, cases * (cases - 1) / 2),
                    per(|end| end.equal, cases * (cases - 1) / 2),
                    100.0 * any
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
    fn of_equal_cases_few_studies_have_a_direction_and_a_pooled_error_is_fooled_by_a_wild_one() {
        let false_share = |rule, residuals| {
            let of = |random: &mut SplitMix64| study(random, 13, 3, residuals, 0.0);
            share(200, of, rule, |told| told.contains(&true)).unwrap()
        };
        assert!(false_share(Rule::Used, Residuals::OneWild) < 0.06);
        assert!(false_share(Rule::Pooled, Residuals::OneWild) > 0.12);
    }

    #[test]
    fn cases_that_are_far_apart_are_all_told_and_leave_early() {
        let table = study(&mut SplitMix64::new(1), 4, 20, Residuals::Alike, 0.5);
        let end = followed(Spending::Even, &table, &mut Known::new()).unwrap();
        assert_eq!((end.found, end.equal), (6, 0));
        assert!(end.trials <= 4 * 6, "{}", end.trials);
    }
}
