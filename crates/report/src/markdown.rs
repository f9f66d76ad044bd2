//! A study as GitHub-flavoured Markdown.

use stampede_analysis::Explanation;

use crate::StudyView;
use crate::digest::Digest;
use crate::format::Format;
use crate::page::{Block, Page};
use crate::steps::{KINDS, each_kind};
use crate::study_page::{alarm, answers, audits, cases, changes, ground, parts, trouble, verdicts};
use crate::why;
use crate::{inside, open_part};

/// `--markdown`.
pub(crate) const FORMAT: Format = Format {
    flag: "--markdown",
    help: "Write the table as Markdown (`-` is stdout, in place of the table)",
    write: |answer| answer.markdown(),
};

/// A study as a table with its notes.
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
    let digest = Digest::of(view);
    blocks.extend(alarm(&digest));
    if let Some(conclusion) = &digest.conclusion {
        blocks.push(Block::Strong(conclusion.plain.clone()));
    }
    blocks.extend(digest.bottlenecks.iter().cloned().map(Block::Paragraph));
    blocks.push(Block::Paragraph(digest.question.clone()));
    blocks.extend(ground(&digest));
    blocks.push(Block::Table(cases(view, &digest)));
    if !digest.kinds.is_empty() {
        blocks.extend([Block::Caption(KINDS.to_owned()), Block::Table(each_kind(&digest.kinds))]);
    }
    for part in [audits, trouble, verdicts, answers, parts] {
        blocks.extend(part(&digest));
    }
    blocks.extend(inside::blocks(view));
    blocks.extend(open_part::blocks(view));
    blocks.extend(settings(&digest));
    blocks.extend(digest.conclusion.map(|conclusion| Block::Paragraph(conclusion.method)));
    blocks.push(Block::Paragraph(digest.study));
}

/// What holds the first case back.
fn explained(view: &StudyView<'_>, explanation: &Explanation, blocks: &mut Vec<Block>) {
    let digest = Digest::of_first(view);
    let told = why::told(view, explanation);
    blocks.extend(alarm(&digest));
    blocks.extend(told.outcome.into_iter().chain(told.remedy).map(Block::Strong));
    blocks.extend([told.method, digest.question.clone()].map(Block::Paragraph));
    blocks.extend(ground(&digest));
    blocks.extend(changes(view, explanation));
    blocks.extend(trouble(&digest));
    blocks.extend(inside::of_named(view, explanation.base.as_str()));
    blocks.extend(settings(&digest));
    blocks.push(Block::Paragraph(digest.study));
}

fn settings(digest: &Digest) -> Vec<Block> {
    let of_case = digest.settings.iter().flat_map(|case| {
        let settings = case.settings.iter().map(|(setting, reason)| Block::SubItem(format!("{setting}: {reason}")));
        [Block::Item(format!("{}: {}", case.case, case.version))].into_iter().chain(settings)
    });
    Block::list("Settings", of_case)
}
