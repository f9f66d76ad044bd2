//! A study as GitHub-flavoured Markdown.

use std::fmt::Write;

use stampede_analysis::Explanation;

use crate::StudyView;
use crate::audits::MADE;
use crate::columns::{COLUMNS, Column, LEGEND};
use crate::conclusion::VERDICTS;
use crate::digest::Digest;
use crate::markdown_text::{self, escaped};
use crate::steps::{KIND_COLUMNS, KINDS, Kinds};
use crate::why;

/// Renders a study as a table with its notes. It ends with a line break.
pub fn render(view: &StudyView<'_>) -> String {
    if let Some(explanation) = why::explanation(view) {
        return explained(view, &explanation);
    }
    let digest = Digest::of(view);
    let mut text = String::new();
    if let Some(alarm) = &digest.alarm {
        strong(&mut text, alarm);
    }
    if let Some(conclusion) = &digest.conclusion {
        strong(&mut text, &conclusion.plain);
        paragraph(&mut text, &conclusion.method);
    }
    for bottleneck in &digest.bottlenecks {
        paragraph(&mut text, bottleneck);
    }
    paragraph(&mut text, &digest.question);
    paragraph(&mut text, &digest.ground);
    digest.trust.iter().for_each(|line| paragraph(&mut text, line));
    cases(&mut text, view, &digest);
    paragraph(&mut text, LEGEND);
    kinds(&mut text, &digest.kinds);
    list(&mut text, MADE, digest.audits.iter().cloned());
    uncounted(&mut text, &digest);
    list(&mut text, "Findings", findings(&digest));
    list(&mut text, "While it ran", digest.activity.iter().cloned());
    list(&mut text, VERDICTS, digest.verdicts.iter().cloned());
    list(&mut text, "Bytes of verified bodies on the wire", digest.answers.iter().cloned());
    list(&mut text, "Parts: CPUs in use and peak of memory, medians of the trials", digest.parts.iter().cloned());
    settings(&mut text, &digest);
    text.push_str(&escaped(&digest.study));
    text.push('\n');
    text
}

/// What holds the first case back.
fn explained(view: &StudyView<'_>, explanation: &Explanation) -> String {
    let digest = Digest::of_first(view);
    let told = why::told(view, explanation);
    let mut text = String::new();
    if let Some(alarm) = &digest.alarm {
        strong(&mut text, alarm);
    }
    told.outcome.iter().chain(&told.remedy).for_each(|line| strong(&mut text, line));
    paragraph(&mut text, &told.method);
    paragraph(&mut text, &digest.question);
    paragraph(&mut text, &digest.ground);
    digest.trust.iter().for_each(|line| paragraph(&mut text, line));
    section(&mut text, why::CHANGES);
    row(&mut text, why::heading(view).into_iter().map(|heading| heading.join(" ").trim().to_owned()));
    row(&mut text, ["---", "---:", "---:", "---:", "---"].map(str::to_owned).into_iter());
    told.rows.iter().for_each(|cells| row(&mut text, cells.iter().cloned()));
    text.push('\n');
    uncounted(&mut text, &digest);
    list(&mut text, "Findings", findings(&digest));
    list(&mut text, "While it ran", digest.activity.iter().cloned());
    settings(&mut text, &digest);
    text.push_str(&escaped(&digest.study));
    text.push('\n');
    text
}

fn cases(text: &mut String, view: &StudyView<'_>, digest: &Digest) {
    let titles = COLUMNS.iter().map(Column::title);
    row(text, std::iter::once("case".to_owned()).chain(titles));
    let rules = COLUMNS.iter().map(|_| "---:".to_owned());
    row(text, std::iter::once("---".to_owned()).chain(rules));
    for summary in &view.analysis.cases {
        let name = std::iter::once(digest.name(&summary.case));
        row(text, name.chain(COLUMNS.iter().map(|column| column.cell(view, summary))));
    }
    text.push('\n');
}

fn kinds(text: &mut String, cases: &[Kinds]) {
    if cases.is_empty() {
        return;
    }
    section(text, KINDS);
    row(text, ["case", "request"].into_iter().chain(KIND_COLUMNS.iter().map(|column| column.title)).map(str::to_owned));
    let rules = KIND_COLUMNS.iter().map(|_| "---:".to_owned());
    row(text, ["---", "---"].map(str::to_owned).into_iter().chain(rules));
    for (case, kind) in cases.iter().flat_map(|case| case.kinds.iter().map(move |kind| (&case.case, kind))) {
        let cells = KIND_COLUMNS.iter().map(|column| (column.cell)(kind));
        row(text, [case.to_string(), kind.name.clone()].into_iter().chain(cells));
    }
    text.push('\n');
}

fn uncounted(text: &mut String, digest: &Digest) {
    let told = digest.uncounted.iter().map(|trial| format!("{} {}: {}", trial.trials, trial.outcome, trial.reason));
    list(text, "Trials that do not count", told);
}

fn findings(digest: &Digest) -> impl Iterator<Item = String> {
    digest.findings.iter().map(|group| format!("{}: {} {}", group.title, group.texts.join(" "), group.advice))
}

fn settings(text: &mut String, digest: &Digest) {
    let lines = digest.settings.iter().map(|case| {
        let settings =
            case.settings.iter().map(|(setting, reason)| format!("\n  - {}", escaped(&format!("{setting}: {reason}"))));
        format!("{}{}", escaped(&format!("{}: {}", case.case, case.version)), settings.collect::<String>())
    });
    // Nested lists keep their line breaks, so this is not `list`.
    section(text, "Settings");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
    text.push('\n');
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    section(text, title);
    for line in lines {
        let _ = writeln!(text, "- {}", escaped(&line));
    }
    text.push('\n');
}

fn section(text: &mut String, title: &str) {
    paragraph(text, &format!("{title}:"));
}

fn paragraph(text: &mut String, paragraph: &str) {
    let _ = writeln!(text, "{}\n", escaped(paragraph));
}

fn strong(text: &mut String, paragraph: &str) {
    let _ = writeln!(text, "**{}**\n", escaped(paragraph));
}

fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    text.push_str(&markdown_text::row(cells));
}
