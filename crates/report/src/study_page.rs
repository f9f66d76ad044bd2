//! The blocks of a page about a study; a terminal and Markdown have them in different orders.

use stampede_analysis::Explanation;

use crate::StudyView;
use crate::audits::MADE;
use crate::columns::{COLUMNS, notes_on_names};
use crate::conclusion::VERDICTS;
use crate::digest::Digest;
use crate::page::{Block, Column, Table};
use crate::why;

pub(crate) fn alarm(digest: &Digest) -> Option<Block> {
    digest.alarm.clone().map(Block::Alarm)
}

/// How much was measured, and what bounds it.
pub(crate) fn ground(digest: &Digest) -> impl Iterator<Item = Block> {
    std::iter::once(&digest.ground).chain(&digest.trust).cloned().map(Block::Paragraph)
}

/// The figures of all cases.
pub(crate) fn cases(view: &StudyView<'_>, digest: &Digest) -> Table {
    let summaries = &view.analysis.cases;
    let names: Vec<String> = summaries.iter().map(|summary| digest.name(&summary.case)).collect();
    let notes = notes_on_names(view, &names);
    let figures = COLUMNS
        .iter()
        .map(|column| column.of_cells(summaries.iter().map(|summary| column.cell(view, summary)).collect()));
    Table { columns: [Column::names("case", names).noted(notes)].into_iter().chain(figures).collect() }
}

/// The changes that were tried.
pub(crate) fn changes(view: &StudyView<'_>, explanation: &Explanation) -> [Block; 2] {
    [Block::Caption(why::CHANGES.to_owned()), Block::Table(why::changes(view, explanation))]
}

pub(crate) fn audits(digest: &Digest) -> Vec<Block> {
    items(MADE, &digest.audits)
}

/// Trials that do not count, findings, and what servers and kernel said.
pub(crate) fn trouble(digest: &Digest) -> Vec<Block> {
    let uncounted = digest.uncounted.iter().map(|of| Block::Warning(of.text()));
    let findings = digest.findings.iter().map(|group| Block::Finding {
        title: group.title.clone(),
        severity: group.severity,
        texts: group.texts.clone(),
        advice: group.advice.clone(),
    });
    [
        Block::list("Trials that do not count", uncounted),
        Block::list("Findings", findings),
        items("While it ran", &digest.activity),
    ]
    .concat()
}

pub(crate) fn verdicts(digest: &Digest) -> Vec<Block> {
    items(VERDICTS, &digest.verdicts)
}

pub(crate) fn answers(digest: &Digest) -> Vec<Block> {
    items("Response sizes in bytes", &digest.answers)
}

pub(crate) fn parts(digest: &Digest) -> Vec<Block> {
    items("Parts: CPUs in use and peak of memory, medians of the trials", &digest.parts)
}

fn items(caption: &str, texts: &[String]) -> Vec<Block> {
    Block::list(caption, texts.iter().cloned().map(Block::Item))
}
