//! Blocks of deployments whose true ratios are known, recorded once, and what the methods make of them: `stampede-bench blocks`.
//!
//! Identical deployments, servers that do a known share more work, and all runtimes; in turns and in windows, quiet and beside the
//! neighbour. A study is a line of the data, kept as it ends, and the document is written again after each, so that hours can be
//! measured in pieces. Studies of fewer cases and blocks are drawn from what was recorded.

mod drawn;
mod kind;
mod piece;
mod rules;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::kind::{KINDS, Kind};
use self::piece::Piece;
use crate::compare::Compare;
use crate::document::{self, Section};
use crate::failure::Failure;
use crate::files;
use crate::flags::UnderTest;
use crate::jsonl;
use crate::progress::tell;
use crate::turns::Neighbour;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Blocks {
    /// Begin no study after this; all that are missing by default
    #[arg(long, value_name = "TIME", value_parser = crate::flags::seconds)]
    pub(crate) time: Option<Duration>,
    /// Record kinds alone whose names have this in them
    #[arg(long, value_name = "KIND", default_value = "")]
    pub(crate) only: String,
    /// Studies of each shape that are drawn from what was recorded
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// Seed of what is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What was recorded so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/blocks.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-blocks.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

/// Records the studies that are missing, and writes the document.
pub(crate) fn run(blocks: &Blocks) -> Result<(), Failure> {
    let bench = std::env::current_exe().map_err(Failure::Prepare)?;
    let begun = Instant::now();
    let mut pieces: Vec<Piece> = jsonl::read(&blocks.data)?;
    let compare = Compare::new(blocks.under.stampede.clone())?;
    while let Some(kind) = next(&pieces, &blocks.only) {
        if blocks.time.is_some_and(|time| begun.elapsed() >= time) {
            break;
        }
        let number = recorded(&pieces, kind) + 1;
        tell(&format!("{}: study {number} of {}", kind.name, kind.pieces));
        let seed = u64::from(number);
        let neighbour = kind.is_busy.then(|| Neighbour::start(seed)).transpose().map_err(Failure::Prepare)?;
        let seed = seed.to_string();
        let flags = [&["--order", kind.order, "--seed", &seed], kind.flags()].concat();
        let study = compare.run(&kind.plan(&bench), &flags)?;
        drop(neighbour);
        let piece = Piece::of(kind.name, &blocks.under.remark, &study).ok_or_else(|| Failure::lacks("the study"))?;
        jsonl::append(&blocks.data, std::slice::from_ref(&piece))?;
        pieces.push(piece);
    }
    tell("studies are drawn from what was recorded");
    let text = document(&pieces, blocks, &compare.version()?);
    Ok(files::write(&blocks.output, &text)?)
}

fn recorded(pieces: &[Piece], kind: &Kind) -> u32 {
    pieces.iter().filter(|piece| piece.kind == kind.name).count() as u32
}

/// The kind that has the smallest share of its target; `None` where all have it.
fn next(pieces: &[Piece], only: &str) -> Option<&'static Kind> {
    let part = |kind: &Kind| f64::from(recorded(pieces, kind)) / f64::from(kind.pieces);
    let open = KINDS.iter().filter(|kind| kind.name.contains(only) && part(kind) < 1.0);
    open.min_by(|a, b| part(a).total_cmp(&part(b)))
}

fn document(pieces: &[Piece], blocks: &Blocks, version: &str) -> String {
    let mut summary = Section::new("Verdicts in turns");
    summary.paragraph(
        "What the methods make of deployments whose true ratios are known, recorded on a real machine: thirteen that do not differ; \
         six servers that do 0, 0, 2, 3, 5 and 10 % more work a request; and every runtime that is installed. In turns of about 0.4 s, \
         or in windows one after the other. Quiet: nothing else was started. Busy: beside a neighbour that takes each processor for \
         0.3 to 5 s and leaves it for as long.",
    );
    summary.paragraph(&format!(
        "Made by `stampede-bench blocks --studies {} --seed {}` (`make bench-blocks`), which continues where it was left. {version}.",
        blocks.studies, blocks.seed
    ));
    let mut rows = vec![document::head("what | studies | blocks | s a study")];
    for kind in &KINDS {
        let of = || pieces.iter().filter(|piece| piece.kind == kind.name);
        let seconds: Vec<f64> = of().map(|piece| piece.seconds).collect();
        rows.push(vec![
            kind.name.to_owned(),
            format!("{} of {}", seconds.len(), kind.pieces),
            format!("{}", seconds.len() as u32 * kind.blocks),
            stampede_stats::mean(&seconds).map_or_else(String::new, |seconds| format!("{seconds:.0}")),
        ]);
    }
    summary.table(&rows);
    let mut remarks: Vec<&str> = Vec::new();
    for piece in pieces {
        if !remarks.contains(&piece.remark.as_str()) {
            remarks.push(&piece.remark);
        }
    }
    summary.paragraph(&format!("While they were measured: {}.", remarks.join("; ")));
    let sections = [
        drawn::identical(pieces, blocks),
        drawn::intervals(pieces),
        rules::power(pieces, blocks),
        drawn::runtimes(pieces),
    ];
    let targets: Vec<_> = sections.iter().flat_map(|section| section.targets.clone()).collect();
    document::of_targets(summary.title, &summary, &targets, &sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::defaults;

    fn piece(kind: &str) -> Piece {
        Piece {
            kind: kind.to_owned(),
            began: String::new(),
            seconds: 10.0,
            remark: "nothing".to_owned(),
            cases: Vec::new(),
            trials: Vec::new(),
            pairs: Vec::new(),
        }
    }

    #[test]
    fn the_kind_that_lacks_most_is_next() {
        let names = |pieces: &[Piece], only: &str| next(pieces, only).map(|kind| kind.name);
        assert_eq!(names(&[], ""), Some(KINDS[0].name));
        assert_eq!(names(&[piece(KINDS[0].name)], ""), Some(KINDS[1].name));
        assert_eq!(names(&[], "busy, windows"), Some("work, 1 CPU, busy, windows"));
        let all: Vec<Piece> = (0..7).map(|_| piece("work, 1 CPU, busy, windows")).collect();
        assert_eq!(names(&all, "busy, windows"), None);
    }

    #[test]
    fn a_document_of_nothing_has_no_target_that_is_met() {
        let text = document(&[], &Blocks { studies: 10, ..defaults() }, "stampede 0");
        assert!(text.contains("not measured") && !text.contains(" met\n"), "{text}");
    }
}
