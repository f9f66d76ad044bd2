//! How much is found in how much time, beside simpler rules on the same recorded blocks.

use stampede_core::VerdictWord;
use stampede_stats::{SplitMix64, mean};

use super::Blocks;
use super::drawn::{all_blocks, kept, percent, some};
use super::kind::{KINDS, Kind, What};
use super::piece::Piece;
use crate::document::{self, Section};
use crate::draws::draws;
use crate::proof::{Compared, decided};
use crate::target::{Bound, Target};

/// A difference that tools with a threshold call a change when one run of each shows it.
const THRESHOLD: f64 = 0.05;

/// What perfgate's default calls significant, whatever the number of pairs.
const T: f64 = 2.0;

/// Pairs of servers, the second of which does so many per cent more work.
const PAIRS: [(usize, usize, u32); 4] = [(0, 1, 0), (1, 3, 3), (0, 4, 5), (1, 5, 10)];

/// Times that a study of two cases has, in seconds.
const TIMES: [f64; 2] = [120.0, 300.0];

/// What a rule makes of the pairs of blocks, each the logarithm of the ratio of the two: whether it calls them different, and which
/// of the two the better one.
type Rule = fn(&[f64]) -> Option<bool>;

const RULES: [(&str, Rule); 4] = [
    ("Stampede", stampede),
    ("one run each, 5 %", |logs| logs.first().and_then(|log| (log.abs() > THRESHOLD.ln_1p()).then_some(*log > 0.0))),
    ("t of 2", t_of_two),
    ("pairs added until t is 2", |logs| (3..=logs.len()).find_map(|pairs| t_of_two(&logs[..pairs]))),
];

/// The verdict of a study with fixed rounds.
fn stampede(logs: &[f64]) -> Option<bool> {
    let blocks: Vec<Vec<f64>> = logs.iter().map(|log| vec![log.exp(), 1.0]).collect();
    // The truth is judged by who asks.
    decided(&blocks, &[1.0, 1.0]).into_iter().find_map(|Compared { verdict, .. }| match verdict {
        VerdictWord::Faster | VerdictWord::Slower => Some(mean(logs)? > 0.0),
        VerdictWord::Equivalent | VerdictWord::Undecided => None,
    })
}

fn t_of_two(logs: &[f64]) -> Option<bool> {
    let middle = mean(logs)?;
    let squares: f64 = logs.iter().map(|log| (log - middle).powi(2)).sum();
    let error = (squares / (logs.len() - 1) as f64 / logs.len() as f64).sqrt();
    (logs.len() > 1 && middle.abs() > T * error).then_some(middle > 0.0)
}

/// Shares of studies that find a difference of work, by rule, machine and time.
pub(super) fn power(pieces: &[Piece], blocks: &Blocks) -> Section {
    let mut section = Section::new("Found in how much time");
    section.paragraph(&format!(
        "In how many of {} studies of two servers the second is found to be slower (of 0 %: in how many one of the two is), by rules on the same \
         recorded blocks. A study has as many blocks, none twice, as fit into its time, at what a block of six took, a third for two: starts, \
         warm-ups and stops are in it. \"t of 2\" is perfgate's rule, which takes any number of pairs; \"until\" adds pairs until it holds. \
         1 CPU.",
        blocks.studies
    ));
    let mut rows = vec![document::head("machine | order | s | blocks | rule")];
    rows[0].extend(PAIRS.map(|(_, _, percent)| format!("{percent} %")));
    for kind in KINDS.iter().filter(|kind| kind.what == What::Work(1.0)) {
        let all = all_blocks(pieces, kind, |trial| Some(trial.throughput_rps));
        let of: Vec<&Piece> = pieces.iter().filter(|piece| piece.kind == kind.name).collect();
        let is_whole = of.len() as u32 >= kind.pieces;
        let seconds: f64 = of.iter().map(|piece| piece.seconds).sum();
        let cost = seconds / (of.len() as u32 * kind.blocks) as f64 / 3.0;
        for time in TIMES {
            let fit = if of.is_empty() { 0 } else { ((time / cost) as usize).min(all.len()) };
            for (name, rule) in RULES.into_iter().filter(|_| fit > 1) {
                let found = PAIRS.map(|pair| found(&all, fit, pair, rule, blocks));
                let first =
                    [kind.machine(), kind.order, &format!("{time:.0}"), &fit.to_string(), name].map(str::to_owned);
                rows.push(first.into_iter().chain(found.map(percent)).collect());
                if let Some((percent, place)) = aim(kind, time).filter(|_| name == RULES[0].0) {
                    let what = format!("{percent} % more work found within {time:.0} s, busy");
                    let seen = Some(100.0 * found[place]);
                    section.targets.push(kept(Target::value(what, Bound::AtLeast(90.0), seen, 0, " %"), is_whole));
                }
            }
        }
    }
    section.table(&rows);
    section
}

/// The share of work that is to be found beside the neighbour within a time, and its place among the pairs.
fn aim(kind: &Kind, time: f64) -> Option<(u32, usize)> {
    let percent = match (kind.is_busy && kind.order == "turns", time) {
        (true, 120.0) => 10,
        (true, 300.0) => 5,
        _ => return None,
    };
    PAIRS.iter().position(|(_, _, of)| *of == percent).map(|place| (percent, place))
}

fn found(all: &[Vec<f64>], rounds: usize, pair: (usize, usize, u32), rule: Rule, blocks: &Blocks) -> f64 {
    let (a, b, percent) = pair;
    let one = |random: &mut SplitMix64| {
        let logs: Vec<f64> =
            some(all.len(), rounds, random).into_iter().map(|block| (all[block][a] / all[block][b]).ln()).collect();
        match rule(&logs) {
            Some(is_first) => percent == 0 || is_first,
            None => false,
        }
    };
    let drawn = draws(blocks.seed, blocks.studies, one);
    drawn.iter().filter(|is_found| **is_found).count() as f64 / f64::from(blocks.studies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_give_the_direction_of_what_they_find() {
        let faster = [0.11, 0.10, 0.12, 0.09, 0.10];
        let slower = faster.map(|log| -log);
        let nothing = [0.02, -0.02, 0.01, -0.01, 0.0];
        for (name, rule) in RULES {
            assert_eq!(rule(&faster), Some(true), "{name}");
            assert_eq!(rule(&slower), Some(false), "{name}");
            assert_eq!(rule(&nothing), None, "{name}");
        }
    }
}
