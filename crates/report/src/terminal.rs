//! A study for a terminal.

use stampede_analysis::Explanation;
use stampede_core::{CaseId, Study};

use crate::StudyView;
use crate::conclusion::Conclusion;
use crate::digest::{self, CaseSettings, Digest};
use crate::layout::wrap;
use crate::page::{Block, Column, Page, Table};
use crate::steps::{KINDS, by_kind};
use crate::study_page::{alarm, answers, audits, cases, changes, ground, parts, trouble, verdicts};
use crate::why;
use crate::{inside, open_part};

/// A study for a terminal.
///
/// What it comes to is the first line, unless its limits were not in force; the table follows, then what is to be known of it, and the
/// last line is how it follows. The table leaves out its least important columns until it fits. Settings are left out: see [`settings`].
#[must_use]
pub fn page(view: &StudyView<'_>) -> Page {
    let mut blocks = Vec::new();
    match why::explanation(view) {
        Some(explanation) => explained(view, &explanation, &mut blocks),
        None => compared(view, &mut blocks),
    }
    Page { answer: Vec::new(), blocks }
}

fn compared(view: &StudyView<'_>, blocks: &mut Vec<Block>) {
    let mut digest = Digest::of(view);
    let conclusion = digest.conclusion.take();
    let (plain, method) = conclusion.map(|Conclusion { plain, method }| (plain, method)).unzip();
    first(&digest, plain, blocks);
    blocks.extend([Block::Gap, Block::Strong(digest.question.clone())]);
    blocks.push(Block::Table(cases(view, &digest)));
    if !digest.kinds.is_empty() {
        let table = by_kind("case, request", &digest.kinds, |case| digest.name(case));
        blocks.extend([Block::Caption(KINDS.to_owned()), Block::Table(table)]);
    }
    blocks.extend(open_part::blocks(view));
    blocks.extend([trouble(&digest), verdicts(&digest)].concat());
    blocks.extend(inside::blocks(view));
    blocks.extend([parts(&digest), audits(&digest), answers(&digest)].concat());
    blocks.push(Block::Gap);
    blocks.extend(digest.bottlenecks.iter().cloned().map(Block::Paragraph));
    blocks.push(Block::Gap);
    blocks.extend(ground(&digest));
    blocks.extend(std::iter::once(digest.study).chain(method).map(Block::Paragraph));
}

/// What a study comes to, after what speaks against believing it.
fn first(digest: &Digest, conclusion: impl IntoIterator<Item = String>, blocks: &mut Vec<Block>) {
    blocks.push(alarm(digest).unwrap_or(Block::Gap));
    blocks.extend(conclusion.into_iter().map(Block::Strong));
}

/// What holds the first case back; of the changed ones there is only what they did to it.
fn explained(view: &StudyView<'_>, explanation: &Explanation, blocks: &mut Vec<Block>) {
    let digest = Digest::of_first(view);
    let told = why::told(view, explanation);
    first(&digest, told.outcome.into_iter().chain(told.remedy), blocks);
    for part in [parts, trouble, head] {
        blocks.extend(part(&digest));
    }
    blocks.extend(inside::of_named(view, explanation.base.as_str()));
    blocks.extend(changes(view, explanation));
    blocks.extend([Block::Gap, Block::Paragraph(digest.study), Block::Paragraph(told.method)]);
}

fn head(digest: &Digest) -> Vec<Block> {
    [Block::Gap, Block::Strong(digest.question.clone())].into_iter().chain(ground(digest)).collect()
}

/// Renders the settings of a study's cases, each with its reason; of a study of changes to one case, that one's.
pub fn settings(study: &Study, width: usize, color: bool) -> String {
    let mut blocks = vec![Block::Gap, Block::Caption("Settings".to_owned())];
    for case in digest::settings(digest::told_apart(study)) {
        let name = case.case.to_string();
        blocks.extend(of_case(&name, case));
    }
    Page { answer: Vec::new(), blocks }.terminal(width, color)
}

/// Renders those of them that a reader must see before anything is measured, and where the others are.
pub fn notable_settings(study: &Study, width: usize, color: bool) -> String {
    let (cases, others) = digest::notable_settings(digest::told_apart(study));
    let mut blocks = vec![Block::Gap, Block::Caption("Settings".to_owned())];
    for (names, case) in cases {
        let names: Vec<&str> = names.iter().map(CaseId::as_str).collect();
        blocks.extend(of_case(&names.join(", "), case));
    }
    if others > 0 {
        let more = if others == 1 { "1 more is a default".to_owned() } else { format!("{others} more are defaults") };
        blocks.push(Block::Item(format!("{more}: stampede show prints all, with a reason for each")));
    }
    Page { answer: Vec::new(), blocks }.terminal(width, color)
}

fn of_case(name: &str, case: CaseSettings) -> Vec<Block> {
    let heading = Block::Item(format!("{name}: {}", case.version));
    if case.settings.is_empty() {
        return vec![heading];
    }
    let (settings, reasons) = case.settings.into_iter().map(|(name, reason)| (format!("    {name}"), reason)).unzip();
    let columns = vec![Column::names("setting", settings), Column::prose("reason", reasons)];
    vec![heading, Block::Table(Table { columns })]
}

/// Renders where PHP's time went in one case of a study; nothing of one that was not sampled.
pub fn inside(view: &StudyView<'_>, case: &str, width: usize, color: bool) -> String {
    Page { answer: Vec::new(), blocks: inside::of_named(view, case) }.terminal(width, color)
}

/// A text of which lines that are too long are broken between words, with their further lines set in as a list has them.
pub fn fitted(text: &str, width: usize) -> String {
    let fit = |line: &str| match line.chars().count() <= width {
        true => line.to_owned(),
        false => paragraph(line, 4, width),
    };
    text.lines().map(|line| fit(line) + "\n").collect()
}

/// A text broken into lines between words; all but the first begin with as many blanks as `hang`.
pub fn paragraph(text: &str, hang: usize, width: usize) -> String {
    let first: String = text.chars().take_while(|character| *character == ' ').collect();
    wrap(&first, text, hang, width).join("\n")
}
