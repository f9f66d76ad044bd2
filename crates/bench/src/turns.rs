//! Where the scatter of trials comes from, and what turns take away of it: `stampede-bench turns`.
//!
//! The same three runtimes at equal measuring time, in turns and in windows one after the other, on a quiet machine and beside a
//! neighbour. A study of three blocks is a piece; its lines are kept as it ends, and the document is written again after each, so that
//! hours can be measured in pieces.

mod carry_over;
mod neighbour;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stampede_stats::{NestedVariances, Variance, mean};

use crate::compare::Compare;
use crate::document::{self, Section};
use crate::failure::Failure;
use crate::files;
use crate::flags::UnderTest;
use crate::jsonl;
use crate::progress::tell;

use self::carry_over::{CarryOver, TurnBlock, carry_over};
pub(crate) use self::neighbour::{Neighbour, disturb};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Turns {
    /// Studies of each kind that the file is to hold
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pieces: u32,
    /// What was measured so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/turns.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-turns.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

const CASES: [&str; 3] = ["nginx-fpm", "apache-mod-php", "php-cli-server"];

/// How cases are measured, beside what. A piece of each, one after the other.
const KINDS: [(&str, &str); 4] = [("turns", "quiet"), ("windows", "quiet"), ("turns", "busy"), ("windows", "busy")];

/// Blocks of a study, which enter nothing with those of others but their differences between cases.
const BLOCKS: u32 = 3;

const PLAN: &str = "workload: hello\nruntimes: [nginx-fpm, apache-mod-php, php-cli-server]\n\
                    limits: {cpus: 1, memory: 256Mi}\nload: closed:16\n\
                    study: {rounds: 3, duration: 6s, warm_up: 1s}\n";

/// One turn of a lifetime; a window is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    piece: u32,
    order: String,
    machine: String,
    block: u32,
    case: String,
    turn: u32,
    ok: u64,
    window_s: f64,
    /// What its block took, starts and stops and warm-ups included: the study's time by its blocks.
    block_s: f64,
}

impl Line {
    fn logarithm(&self) -> f64 {
        (self.ok.max(1) as f64 / self.window_s).ln()
    }
}

/// The lines of a study, of its trials that count.
fn lines_of(piece: u32, (order, machine): (&str, &str), study: &Value) -> Option<Vec<Line>> {
    let at = |key: &str| study[key].as_str()?.parse::<Timestamp>().ok();
    let block_s = at("finished_at")?.duration_since(at("started_at")?).as_secs_f64() / f64::from(BLOCKS);
    let mut lines = Vec::new();
    for case in study["cases"].as_array()? {
        for trial in case["trials"].as_array()?.iter().filter(|trial| trial["outcome"] == "measured") {
            let of = |turn: u32, told: &Value, ok: &Value| {
                Some(Line {
                    piece,
                    order: order.to_owned(),
                    machine: machine.to_owned(),
                    block: trial["block"].as_u64()? as u32,
                    case: case["id"].as_str()?.to_owned(),
                    turn,
                    ok: ok.as_u64()?,
                    window_s: told["window_s"].as_f64()?,
                    block_s,
                })
            };
            match trial["turns"].as_array() {
                Some(turns) => {
                    for (number, turn) in (1..).zip(turns) {
                        lines.push(of(number, turn, &turn["ok"])?);
                    }
                }
                None => lines.push(of(1, trial, &trial["requests"]["ok"])?),
            }
        }
    }
    Some(lines)
}

/// Measures the pieces that are missing.
pub(crate) fn run(turns: &Turns) -> Result<(), Failure> {
    let compare = Compare::new(turns.under.stampede.clone())?;
    let mut lines: Vec<Line> = jsonl::read(&turns.data)?;
    let mut done = lines.iter().map(|line| line.piece).max().unwrap_or(0);
    let all = turns.pieces * KINDS.len() as u32;
    loop {
        files::write(&turns.output, &document(&lines, turns, &compare.version()?))?;
        if done >= all {
            return Ok(());
        }
        let kind = KINDS[done as usize % KINDS.len()];
        tell(&format!("study {} of {all}: {}, {}", done + 1, kind.0, kind.1));
        let neighbour = (kind.1 == "busy").then(|| Neighbour::start(u64::from(done))).transpose();
        let neighbour = neighbour.map_err(Failure::Prepare)?;
        let seed = (done + 1).to_string();
        let study = compare.run(PLAN, &["--order", kind.0, "--seed", &seed])?;
        drop(neighbour);
        let more = lines_of(done + 1, kind, &study).filter(|lines| !lines.is_empty());
        let more = more.ok_or_else(|| Failure::Unusable("the study has no trial that counts".to_owned()))?;
        jsonl::append(&turns.data, &more)?;
        lines.extend(more);
        done += 1;
    }
}

/// The blocks of a kind in which every case has all its turns.
fn turn_blocks(lines: &[Line], (order, machine): (&str, &str)) -> Vec<TurnBlock> {
    let mut found: BTreeMap<(u32, u32), BTreeMap<&str, Vec<&Line>>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.order == order && line.machine == machine) {
        found.entry((line.piece, line.block)).or_default().entry(&line.case).or_default().push(line);
    }
    let most = found.values().flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(0);
    let whole = |block: &BTreeMap<&str, Vec<&Line>>| {
        CASES.iter().all(|case| block.get(case).is_some_and(|turns| turns.len() == most))
    };
    let logarithms = |block: BTreeMap<&str, Vec<&Line>>| -> Vec<Vec<f64>> {
        CASES.iter().map(|case| block[case].iter().map(|line| line.logarithm()).collect()).collect()
    };
    let blocks = found.into_iter().filter(|(_, block)| whole(block));
    // A piece's number is its seed.
    blocks
        .map(|((piece, number), block)| TurnBlock { seed: u64::from(piece), number, logarithms: logarithms(block) })
        .collect()
}

/// The same as `blocks[block][case][turn]`, natural logarithms of rates.
fn blocks(lines: &[Line], kind: (&str, &str)) -> Vec<Vec<Vec<f64>>> {
    turn_blocks(lines, kind).into_iter().map(|block| block.logarithms).collect()
}

/// The variance of the log ratio of two lifetimes in a block, through all pairs; and each pair's mean.
fn pairs(blocks: &[Vec<Vec<f64>>]) -> Option<(Variance, Vec<f64>)> {
    if blocks.len() < 2 {
        return None;
    }
    let (mut squares, mut means) = (0.0, Vec::new());
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let ratio = |block: &Vec<Vec<f64>>| Some(mean(&block[a])? - mean(&block[b])?);
        let ratios: Vec<f64> = blocks.iter().map(ratio).collect::<Option<_>>()?;
        let middle = mean(&ratios)?;
        squares += ratios.iter().map(|ratio| (ratio - middle).powi(2)).sum::<f64>() / (ratios.len() - 1) as f64;
        means.push(middle);
    }
    // All pairs together have the freedom of the residuals of cases in blocks, as their mean square is twice those'.
    let freedom = ((blocks.len() - 1) * (CASES.len() - 1)) as f64;
    Some((Variance::of(squares / means.len() as f64 * freedom, freedom)?, means))
}

/// What a block took, on average.
fn block_s(lines: &[Line], (order, machine): (&str, &str)) -> Option<f64> {
    let of_kind = lines.iter().filter(|line| line.order == order && line.machine == machine);
    let pieces: BTreeMap<u32, f64> = of_kind.map(|line| (line.piece, line.block_s)).collect();
    mean(&pieces.into_values().collect::<Vec<_>>())
}

/// Blocks that were begun.
fn begun(lines: &[Line], (order, machine): (&str, &str)) -> u32 {
    let of_kind = lines.iter().filter(|line| line.order == order && line.machine == machine);
    of_kind.map(|line| line.piece).collect::<BTreeSet<_>>().len() as u32 * BLOCKS
}

fn document(lines: &[Line], turns: &Turns, version: &str) -> String {
    let mut section = Section::new("Turns and windows");
    section.paragraph(&format!(
        "Where the scatter of trials comes from, and what turns take away of it: {} under the workload hello, 1 CPU, 16 \
         connections, 6 s of measuring a lifetime. In turns, all three are up together and alternate in turns of about 0.4 s; in \
         windows they follow each other. Quiet: nothing else was started. Busy: beside a neighbour that takes each processor \
         for 0.3 to 5 s and leaves it for as long.",
        CASES.join(", ")
    ));
    section.paragraph(&format!(
        "Made by `stampede-bench turns`, which continues where it was left: {} blocks of each kind were wanted. {version}. While they \
         were measured: {}.",
        turns.pieces * BLOCKS,
        turns.under.remark
    ));
    let share = |share: f64| format!("{:.2} %", 100.0 * share);
    let deviation = |variance: &Variance| {
        format!(
            "{} ({:.2} to {:.2})",
            share(variance.value.sqrt()),
            100.0 * variance.low.sqrt(),
            100.0 * variance.high.sqrt()
        )
    };
    let mut components = vec![document::head("machine | blocks | one turn | turns' mean | between lifetimes")];
    let head =
        "machine | order | blocks | s a block | a pair's ratio | time | nginx/apache | nginx/php -S | apache/php -S";
    let mut ratios = vec![document::head(head)];
    let cost_of = |(order, machine): (&str, &str)| {
        let (scatter, _) = pairs(&blocks(lines, (order, machine)))?;
        Some(scatter.value * block_s(lines, (order, machine))?)
    };
    for (order, machine) in KINDS {
        let begun = begun(lines, (order, machine));
        let blocks = blocks(lines, (order, machine));
        if let Some(NestedVariances { within, between }) = NestedVariances::of(&blocks) {
            let turns = blocks[0][0].len() as f64;
            components.push(vec![
                machine.to_owned(),
                format!("{} of {begun}", blocks.len()),
                deviation(&within),
                share((within.value / turns).sqrt()),
                deviation(&between),
            ]);
        }
        if let Some((scatter, means)) = pairs(&blocks) {
            let error = (scatter.value / blocks.len() as f64).sqrt();
            let cost = cost_of((order, machine)).zip(cost_of(("windows", machine)));
            let mut row = vec![
                machine.to_owned(),
                order.to_owned(),
                format!("{} of {begun}", blocks.len()),
                block_s(lines, (order, machine)).map_or_else(String::new, |seconds| format!("{seconds:.0}")),
                deviation(&scatter),
                cost.map_or_else(String::new, |(own, windows)| format!("{:.2}", own / windows)),
            ];
            row.extend(means.iter().map(|mean| format!("{:.3} ± {:.3}", mean.exp(), mean.exp() * error)));
            ratios.push(row);
        }
    }
    section.text.push_str("## Where scatter comes from\n\n");
    section.paragraph(
        "Standard deviations of a rate as shares of it, with 90 % intervals: of one turn; of the mean of a lifetime's turns, as \
         far as turns alone scatter; and from one lifetime to the next, which no length of measuring takes away.",
    );
    section.table(&components);
    section.text.push_str("## At equal measuring time\n\n");
    section.paragraph(
        "The standard deviation of the ratio of two lifetimes in a block, with its 90 % interval; the time that a study takes to the \
         same standard error, where one in windows takes 1; and each pair's mean ratio with its standard error: what turns make of \
         it must not differ from what windows make of it. Blocks are those in which all trials count, of those begun.",
    );
    section.table(&ratios);
    section.text.push_str("## After whom\n\n");
    section.paragraph(
        "By how much the rate of a turn differs from the mean of its lifetime's turns, by the case that had the turn before it (its own \
         too: a round begins with any of them), with the standard error over blocks. On the quiet machine 0.5 % is wanted at most.",
    );
    let head: Vec<String> = CASES.iter().map(|case| format!("after {case}")).collect();
    let mut after = vec![document::head(&format!("machine | case | {}", head.join(" | ")))];
    for (order, machine) in KINDS.into_iter().filter(|(order, _)| *order == "turns") {
        let found = carry_over(&turn_blocks(lines, (order, machine)));
        for (place, case) in CASES.iter().enumerate() {
            let of = found.iter().filter(|one| one.case == place);
            let told = |one: &CarryOver| format!("{:+.2} ± {:.2} %", 100.0 * one.mean, 100.0 * one.error);
            let row: Vec<String> = of.map(told).collect();
            if row.len() == CASES.len() {
                after.push([vec![machine.to_owned(), (*case).to_owned()], row].concat());
            }
        }
    }
    section.table(&after);
    format!("# {}\n\n{}\n", section.title, section.text.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_study_is_kept_by_its_turns_or_its_windows() {
        let trial = json!({"block": 2, "outcome": "measured", "window_s": 6.0, "requests": {"ok": 600},
            "turns": [{"ok": 90, "window_s": 1.0}, {"ok": 99, "window_s": 1.1}]});
        let window = json!({"block": 1, "outcome": "measured", "window_s": 6.0, "requests": {"ok": 600}});
        let failed = json!({"block": 3, "outcome": "failed"});
        let cut_short = json!({"block": 3, "outcome": "invalid", "window_s": 6.0, "requests": {"ok": 1},
            "turns": [{"ok": 1, "window_s": 1.0}]});
        let study = json!({"started_at": "2026-11-26T10:00:00Z", "finished_at": "2026-11-26T10:01:03Z",
            "cases": [{"id": "nginx-fpm", "trials": [trial, window, failed, cut_short]}]});
        let lines = lines_of(4, ("turns", "busy"), &study).unwrap();
        let told: Vec<_> = lines.iter().map(|line| (line.block, line.turn, line.ok, line.window_s)).collect();
        assert_eq!(told, [(2, 1, 90, 1.0), (2, 2, 99, 1.1), (1, 1, 600, 6.0)]);
        assert!(lines.iter().all(|line| line.block_s == 21.0));
        assert!(
            lines.iter().all(|line| (line.piece, line.order.as_str(), line.case.as_str()) == (4, "turns", "nginx-fpm"))
        );
    }

    #[test]
    fn ratios_are_taken_in_blocks_that_are_whole() {
        let mut lines = Vec::new();
        for (block, shift) in [(1, 1.0), (2, 1.5), (3, 1.2)] {
            for (case, rate) in CASES.into_iter().zip([1000.0, 500.0, 250.0]) {
                for turn in 1..=2 {
                    lines.push(Line {
                        piece: 1,
                        order: "turns".to_owned(),
                        machine: "quiet".to_owned(),
                        block,
                        case: case.to_owned(),
                        turn,
                        ok: (rate * shift) as u64 + u64::from(turn),
                        window_s: 1.0,
                        block_s: 20.0,
                    });
                }
            }
        }
        lines.pop();
        let blocks = blocks(&lines, ("turns", "quiet"));
        assert_eq!(blocks.len(), 2);
        let (scatter, means) = pairs(&blocks).unwrap();
        assert!(
            scatter.value.sqrt() < 0.01 && (means[0] - 2_f64.ln()).abs() < 0.01 && (means[1] - 4_f64.ln()).abs() < 0.02
        );
    }
}
