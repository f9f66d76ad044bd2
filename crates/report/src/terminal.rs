//! A study for a terminal.

use stampede_analysis::Explanation;
use stampede_core::{Severity, Study};

use crate::StudyView;
use crate::audits::MADE;
use crate::columns::{COLUMNS, Column, LEGEND};
use crate::conclusion::{Conclusion, VERDICTS};
use crate::digest::{self, CaseSettings, Digest};
use crate::layout::{fitting, table, wrap};
use crate::steps::{KIND_COLUMNS, KINDS};
use crate::why;

/// Fewer characters a line than this are taken for this many.
const LEAST_WIDTH: usize = 40;

/// Renders a study for a terminal of this many characters a line. Without colour nothing is lost.
///
/// The table and what it comes to are last, where the reader's eye is when the text has run through. The table leaves out its
/// least important columns until it fits. Settings are left out: see [`settings`]. It ends with a line break.
pub fn render(view: &StudyView<'_>, width: usize, color: bool) -> String {
    if let Some(explanation) = why::explanation(view) {
        return explained(view, &explanation, width, color);
    }
    let digest = Digest::of(view);
    let mut page = Page::new(width, color);
    page.alarm(&digest);
    page.answers(&digest);
    page.parts(&digest);
    page.uncounted(&digest);
    page.findings(&digest);
    page.activity(&digest);
    page.verdicts(&digest);
    page.head(&digest);
    page.cases(view, &digest);
    page.kinds(&digest);
    page.audits(&digest);
    page.section("");
    page.lines(Style::Plain, wrap("", &digest.study, 2, page.width));
    page.conclusion(&digest);
    page.text
}

/// What holds the first case back; of the changed ones there is only what they did to it.
fn explained(view: &StudyView<'_>, explanation: &Explanation, width: usize, color: bool) -> String {
    let digest = Digest::of_first(view);
    let told = why::told(view, explanation);
    let mut page = Page::new(width, color);
    page.alarm(&digest);
    page.parts(&digest);
    page.uncounted(&digest);
    page.findings(&digest);
    page.activity(&digest);
    page.head(&digest);
    page.section(why::CHANGES);
    let mut columns: Vec<(u8, Vec<String>)> =
        why::heading(view).map(|heading| (0, heading.map(str::to_owned).to_vec())).into();
    for row in &told.rows {
        columns.iter_mut().zip(row).for_each(|((_, column), cell)| column.push(cell.clone()));
    }
    page.table(columns);
    page.section("");
    page.lines(Style::Plain, wrap("", &digest.study, 2, page.width));
    page.lines(Style::Plain, wrap("", &told.method, 2, page.width));
    page.section("");
    told.outcome.iter().for_each(|line| page.lines(Style::Strong, wrap("", line, 2, page.width)));
    told.remedy.iter().for_each(|line| page.lines(Style::Strong, wrap("", line, 2, page.width)));
    page.text
}

/// Renders the settings of a study's cases, each with its reason; of a study of changes to one case, that one's.
pub fn settings(study: &Study, width: usize, color: bool) -> String {
    let mut page = Page::new(width, color);
    page.settings(&digest::settings(digest::told_apart(study)));
    page.text
}

/// A text broken into lines between words; all but the first begin with as many blanks as `hang`.
pub fn paragraph(text: &str, hang: usize, width: usize) -> String {
    let first: String = text.chars().take_while(|character| *character == ' ').collect();
    wrap(&first, text, hang, width).join("\n")
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Strong,
    Alarm,
    Warning,
}

struct Page {
    text: String,
    width: usize,
    color: bool,
}

impl Page {
    fn new(width: usize, color: bool) -> Self {
        Self { text: String::new(), width: width.max(LEAST_WIDTH), color }
    }

    fn alarm(&mut self, digest: &Digest) {
        if let Some(alarm) = &digest.alarm {
            self.lines(Style::Alarm, wrap("", alarm, 0, self.width));
        }
    }

    fn head(&mut self, digest: &Digest) {
        self.section("");
        self.lines(Style::Strong, wrap("", &digest.question, 2, self.width));
        for line in std::iter::once(&digest.ground).chain(&digest.trust) {
            self.lines(Style::Plain, wrap("", line, 2, self.width));
        }
    }

    fn cases(&mut self, view: &StudyView<'_>, digest: &Digest) {
        let mut columns: Vec<(u8, Vec<String>)> = vec![(0, names(view, digest))];
        columns.extend(COLUMNS.iter().map(|column| (column.rank, cells(view, column))));
        self.section("");
        self.table(columns);
        self.lines(Style::Plain, wrap("", LEGEND, 0, self.width));
    }

    /// A table without the columns for which there is no room: those of the highest rank go first.
    fn table(&mut self, columns: Vec<(u8, Vec<String>)>) {
        for (i, line) in table(&fitting(columns, self.width)).into_iter().enumerate() {
            self.line(if i < HEADING { Style::Strong } else { Style::Plain }, &line);
        }
    }

    fn kinds(&mut self, digest: &Digest) {
        if digest.kinds.is_empty() {
            return;
        }
        let heading = [String::new(), "case, request".to_owned()].into_iter();
        let named = digest.kinds.iter().flat_map(|case| {
            let kinds = case.kinds.iter().map(|kind| format!("  {}", kind.name));
            [digest.name(&case.case)].into_iter().chain(kinds)
        });
        let mut columns = vec![(0, heading.chain(named).collect())];
        for column in KIND_COLUMNS {
            let cells = digest
                .kinds
                .iter()
                .flat_map(|case| [String::new()].into_iter().chain(case.kinds.iter().map(|kind| (column.cell)(kind))));
            columns.push((column.rank, column.heading.map(str::to_owned).into_iter().chain(cells).collect()));
        }
        self.section(KINDS);
        self.table(columns);
    }

    fn audits(&mut self, digest: &Digest) {
        if digest.audits.is_empty() {
            return;
        }
        self.section(MADE);
        for line in &digest.audits {
            self.lines(Style::Plain, wrap("  ", line, 4, self.width));
        }
    }

    fn uncounted(&mut self, digest: &Digest) {
        if digest.uncounted.is_empty() {
            return;
        }
        self.section("Trials that do not count");
        for uncounted in &digest.uncounted {
            let begin = format!("  {} {}: ", uncounted.trials, uncounted.outcome);
            self.lines(Style::Warning, wrap(&begin, &uncounted.reason, 4, self.width));
        }
    }

    fn findings(&mut self, digest: &Digest) {
        if digest.findings.is_empty() {
            return;
        }
        self.section("Findings");
        for group in &digest.findings {
            let style = match group.severity {
                Severity::Info => Style::Plain,
                Severity::Warning => Style::Warning,
                Severity::Error => Style::Alarm,
            };
            let mut begin = format!("  {}: ", group.title);
            for text in &group.texts {
                self.lines(style, wrap(&begin, text, 6, self.width));
                begin = " ".repeat(6);
            }
            self.lines(Style::Plain, wrap("      -> ", &group.advice, 9, self.width));
        }
    }

    fn activity(&mut self, digest: &Digest) {
        if digest.activity.is_empty() {
            return;
        }
        self.section("While it ran");
        for line in &digest.activity {
            self.lines(Style::Plain, wrap("  ", line, 4, self.width));
        }
    }

    fn verdicts(&mut self, digest: &Digest) {
        if digest.verdicts.is_empty() {
            return;
        }
        self.section(VERDICTS);
        for verdict in &digest.verdicts {
            self.lines(Style::Plain, wrap("  ", verdict, 4, self.width));
        }
    }

    fn conclusion(&mut self, digest: &Digest) {
        if digest.conclusion.is_some() || !digest.bottlenecks.is_empty() {
            self.section("");
        }
        for bottleneck in &digest.bottlenecks {
            self.lines(Style::Plain, wrap("", bottleneck, 2, self.width));
        }
        if let Some(Conclusion { plain, method }) = &digest.conclusion {
            self.lines(Style::Strong, wrap("", plain, 2, self.width));
            self.lines(Style::Plain, wrap("", method, 2, self.width));
        }
    }

    fn answers(&mut self, digest: &Digest) {
        if digest.answers.is_empty() {
            return;
        }
        self.section("Bytes of verified bodies on the wire");
        for line in &digest.answers {
            self.lines(Style::Plain, wrap("  ", line, 4, self.width));
        }
    }

    fn parts(&mut self, digest: &Digest) {
        if digest.parts.is_empty() {
            return;
        }
        self.section("Parts: CPUs in use and peak of memory, medians of the trials");
        for line in &digest.parts {
            self.lines(Style::Plain, wrap("  ", line, 4, self.width));
        }
    }

    fn settings(&mut self, cases: &[CaseSettings]) {
        self.section("Settings");
        for case in cases {
            let begin = format!("  {}: ", case.case);
            self.lines(Style::Plain, wrap(&begin, &case.version, 4, self.width));
            let longest = case.settings.iter().map(|(setting, _)| setting.chars().count()).max();
            let column = longest.unwrap_or(0);
            for (setting, reason) in &case.settings {
                let begin = format!("    {setting:<column$}  ");
                self.lines(Style::Plain, wrap(&begin, reason, begin.chars().count(), self.width));
            }
        }
    }

    /// A blank line, and a title unless it is empty.
    fn section(&mut self, title: &str) {
        self.line(Style::Plain, "");
        if !title.is_empty() {
            self.line(Style::Strong, title);
        }
    }

    fn lines(&mut self, style: Style, lines: Vec<String>) {
        for line in lines {
            self.line(style, &line);
        }
    }

    fn line(&mut self, style: Style, line: &str) {
        let code = match style {
            _ if !self.color || line.is_empty() => None,
            Style::Plain => None,
            Style::Strong => Some("1"),
            Style::Alarm => Some("1;31"),
            Style::Warning => Some("33"),
        };
        match code {
            Some(code) => self.text.push_str(&format!("\x1b[{code}m{line}\x1b[0m\n")),
            None => {
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
    }
}

/// Lines of the table that are its heading.
const HEADING: usize = 2;

fn names(view: &StudyView<'_>, digest: &Digest) -> Vec<String> {
    let heading = [String::new(), "case".to_owned()].into_iter();
    let names = view.analysis.cases.iter().map(|summary| digest.name(&summary.case));
    heading.chain(names).collect()
}

fn cells(view: &StudyView<'_>, column: &Column) -> Vec<String> {
    let heading = column.heading().map(str::to_owned).into_iter();
    let cells = view.analysis.cases.iter().map(|summary| column.cell(view, summary));
    heading.chain(cells).collect()
}
