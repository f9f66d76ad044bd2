//! A page: what a question comes to, and the blocks of text that show it. A terminal and Markdown write it.
//!
//! It knows no question, and no figures: cells are text already.

use stampede_core::Severity;

use crate::layout::{fitting, table, wrap};
use crate::markdown_text::{escaped, row};

/// Fewer characters a line than this are taken for this many.
const LEAST_WIDTH: usize = 40;

/// What there is to say of a question.
pub(crate) struct Page {
    /// What it comes to: last on a terminal, where the reader's eye is when the text has run through, elsewhere first.
    pub(crate) answer: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Clone)]
pub(crate) enum Block {
    Heading {
        text: String,
        level: usize,
    },
    /// The name of the table or list that follows.
    Caption(String),
    Paragraph(String),
    /// A paragraph that matters more than others.
    Strong(String),
    /// A paragraph without which everything else would be misread.
    Alarm(String),
    /// What the cells of the table above mean.
    Legend(String),
    Item(String),
    /// An item that is about trouble.
    Warning(String),
    /// An item of the item above.
    SubItem(String),
    Finding {
        title: String,
        severity: Severity,
        texts: Vec<String>,
        advice: String,
    },
    Table(Table),
    /// What follows is about something else: a terminal has a blank line here, and Markdown one between all blocks.
    Gap,
}

/// Columns of the same length.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone)]
pub(crate) struct Column {
    /// Two lines for a terminal.
    heading: [String; 2],
    /// The heading elsewhere.
    pub(crate) title: String,
    kind: Kind,
    /// Where a terminal has no room, columns of the highest rank go first. Those of rank 0 stay.
    rank: u8,
    pub(crate) cells: Vec<String>,
}

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Figure,
    /// Text that a terminal breaks into lines at the end of a row.
    Prose,
    /// Text that a terminal writes below a row.
    Below,
}

/// How a terminal paints a line.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    Strong,
    Warning,
    Alarm,
}

impl Page {
    /// For a terminal of this many characters a line. Without colour nothing is lost. It ends with a line break.
    pub(crate) fn terminal(&self, width: usize, color: bool) -> String {
        let mut screen = Screen { text: String::new(), width: width.max(LEAST_WIDTH), color };
        let mut is_named = false;
        for block in &self.blocks {
            if matches!(block, Block::Table(_)) && !is_named {
                screen.part();
            }
            screen.block(block);
            is_named = matches!(block, Block::Caption(_) | Block::Item(_));
        }
        if !self.answer.is_empty() {
            screen.part();
        }
        self.answer.iter().for_each(|sentence| screen.wrapped(Style::Strong, "", sentence, 2));
        screen.text
    }

    /// As GitHub-flavoured Markdown. It ends with a line break.
    pub(crate) fn markdown(&self) -> String {
        let mut text: String = self.answer.iter().map(|sentence| format!("**{}**\n\n", escaped(sentence))).collect();
        let mut blocks = self.blocks.iter().peekable();
        while let Some(block) = blocks.next() {
            text.push_str(&match block {
                Block::Heading { text, level } => format!("{} {}\n\n", "#".repeat(*level), escaped(text)),
                Block::Caption(text) => format!("{}:\n\n", escaped(text)),
                Block::Paragraph(text) | Block::Legend(text) => format!("{}\n\n", escaped(text)),
                Block::Strong(text) | Block::Alarm(text) => format!("**{}**\n\n", escaped(text)),
                Block::Item(text) | Block::Warning(text) => format!("- {}\n", escaped(text)),
                Block::SubItem(text) => format!("  - {}\n", escaped(text)),
                Block::Finding { title, texts, advice, .. } => {
                    format!("- {}\n", escaped(&format!("{title}: {} {advice}", texts.join(" "))))
                }
                Block::Table(table) => table.markdown(),
                Block::Gap => String::new(),
            });
            if block.is_item() && !blocks.peek().is_some_and(|next| next.is_item()) {
                text.push('\n');
            }
        }
        format!("{}\n", text.trim_end())
    }
}

/// The lines of a terminal.
struct Screen {
    text: String,
    width: usize,
    color: bool,
}

impl Screen {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading { text, .. } | Block::Caption(text) => {
                self.part();
                self.wrapped(Style::Strong, "", text, 2);
            }
            Block::Paragraph(text) => self.wrapped(Style::Plain, "", text, 2),
            Block::Strong(text) => self.wrapped(Style::Strong, "", text, 2),
            Block::Alarm(text) => self.wrapped(Style::Alarm, "", text, 0),
            Block::Legend(text) => self.wrapped(Style::Plain, "", text, 0),
            Block::Item(text) => self.wrapped(Style::Plain, "  ", text, 4),
            Block::Warning(text) => self.wrapped(Style::Warning, "  ", text, 4),
            Block::SubItem(text) => self.wrapped(Style::Plain, "    ", text, 6),
            Block::Finding { title, severity, texts, advice } => {
                let style = match severity {
                    Severity::Info => Style::Plain,
                    Severity::Warning => Style::Warning,
                    Severity::Error => Style::Alarm,
                };
                let begins = [format!("  {title}: ")].into_iter().chain(std::iter::repeat(" ".repeat(6)));
                texts.iter().zip(begins).for_each(|(text, begin)| self.wrapped(style, &begin, text, 6));
                self.wrapped(Style::Plain, "      -> ", advice, 9);
            }
            Block::Table(table) => {
                let (heading, rows) = table.lines(self.width);
                heading.iter().for_each(|line| self.line(Style::Strong, line));
                rows.iter().for_each(|line| self.line(Style::Plain, line));
            }
            Block::Gap if self.text.is_empty() => self.text.push('\n'),
            Block::Gap => self.part(),
        }
    }

    /// A blank line, but no second one and none before everything.
    fn part(&mut self) {
        if !self.text.is_empty() && self.text != "\n" && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn wrapped(&mut self, style: Style, first: &str, text: &str, hang: usize) {
        wrap(first, text, hang, self.width).iter().for_each(|line| self.line(style, line));
    }

    fn line(&mut self, style: Style, line: &str) {
        let code = match style {
            _ if !self.color || line.is_empty() => None,
            Style::Plain => None,
            Style::Strong => Some("1"),
            Style::Alarm => Some("1;31"),
            Style::Warning => Some("33"),
        };
        self.text.push_str(&match code {
            Some(code) => format!("\x1b[{code}m{line}\x1b[0m\n"),
            None => format!("{line}\n"),
        });
    }
}

impl Block {
    /// Items with their name; nothing without items.
    pub(crate) fn list(caption: &str, items: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut items = items.into_iter().peekable();
        let caption = items.peek().map(|_| Self::Caption(caption.to_owned()));
        caption.into_iter().chain(items).collect()
    }

    fn is_item(&self) -> bool {
        matches!(self, Self::Item(_) | Self::Warning(_) | Self::SubItem(_) | Self::Finding { .. })
    }
}

impl Table {
    /// From rows of which the first is the heading: a name each, and figures.
    pub(crate) fn of_rows(rows: &[Vec<String>]) -> Self {
        let Some((heading, rows)) = rows.split_first() else { return Self { columns: Vec::new() } };
        let column = |(place, title): (usize, &String)| {
            let cells = rows.iter().map(|row| row.get(place).cloned().unwrap_or_default()).collect();
            if place == 0 { Column::names(title, cells) } else { Column::figures(title, cells) }
        };
        Self { columns: heading.iter().enumerate().map(column).collect() }
    }

    /// How many rows there are below the heading.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The cells of a row.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        self.columns.iter().map(move |column| column.cells.get(row).map_or("", String::as_str))
    }

    /// The lines of the heading and those of the rows. Names and prose explain themselves: they have a heading beside figures only.
    fn lines(&self, width: usize) -> (Vec<String>, Vec<String>) {
        let lined_up = || self.columns.iter().filter(|column| matches!(column.kind, Kind::Name | Kind::Figure));
        let text_of = |kind, row: usize| {
            let column = self.columns.iter().find(|column| column.kind == kind);
            column.and_then(|column| column.cells.get(row)).map_or("", String::as_str)
        };
        let headings = match lined_up().any(|column| column.kind == Kind::Figure) {
            false => 0,
            true if lined_up().all(|column| column.heading[0].is_empty()) => 1,
            true => 2,
        };
        let columns = lined_up().map(|column| {
            let heading = column.heading.iter().skip(2 - headings);
            (column.rank, heading.chain(&column.cells).cloned().collect())
        });
        let mut heading = table(&fitting(columns.collect(), width));
        let rows = heading.split_off(headings);
        let hang = rows.iter().chain(&heading).map(|line| line.chars().count()).max().unwrap_or(0) + 2;
        let row = |(row, line): (usize, String)| {
            let prose = wrap(&format!("{line:<hang$}"), text_of(Kind::Prose, row), hang, width);
            let below = wrap(&" ".repeat(6), text_of(Kind::Below, row), 6, width);
            let first = if prose.is_empty() { vec![line] } else { prose };
            first.into_iter().chain(below)
        };
        let rows = rows.into_iter().enumerate().flat_map(row).collect();
        (heading, rows)
    }

    fn markdown(&self) -> String {
        let rules = self.columns.iter().map(|column| if column.kind == Kind::Figure { "---:" } else { "---" });
        let rules: Vec<&str> = rules.collect();
        let heading = row(self.columns.iter().map(|column| &column.title));
        let rows: String = (0..self.rows()).map(|number| row(self.row(number))).collect();
        format!("{heading}| {} |\n{rows}\n", rules.join(" | "))
    }
}

impl Column {
    fn new(kind: Kind, title: &str, cells: Vec<String>) -> Self {
        Self { heading: [String::new(), title.to_owned()], title: title.to_owned(), kind, rank: 0, cells }
    }

    pub(crate) fn names(title: &str, cells: Vec<String>) -> Self {
        Self::new(Kind::Name, title, cells)
    }

    pub(crate) fn figures(title: &str, cells: Vec<String>) -> Self {
        Self::new(Kind::Figure, title, cells)
    }

    pub(crate) fn prose(title: &str, cells: Vec<String>) -> Self {
        Self::new(Kind::Prose, title, cells)
    }

    pub(crate) fn below(title: &str, cells: Vec<String>) -> Self {
        Self::new(Kind::Below, title, cells)
    }

    /// With another heading on a terminal.
    pub(crate) fn headed(self, heading: [&str; 2]) -> Self {
        Self { heading: heading.map(str::to_owned), ..self }
    }

    pub(crate) fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(cells: [&str; 2]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn both_texts_have_all_blocks() {
        let table = Table {
            columns: vec![
                Column::names("case", cells(["a|b", "go"])),
                Column::figures("requests per second", cells(["9", "1,002"])).headed(["", "req/s"]),
                Column::prose("change", cells(["one two three four five six seven", ""])),
                Column::below("why", cells(["it is slow", ""])),
            ],
        };
        let page = Page {
            answer: vec!["It is <fast>.".to_owned()],
            blocks: vec![
                Block::Paragraph("asked".to_owned()),
                Block::Table(table),
                Block::Caption("Findings".to_owned()),
                Block::Item("one".to_owned()),
                Block::Item("two".to_owned()),
                Block::Gap,
                Block::Paragraph("Method: none.".to_owned()),
            ],
        };
        let lines = [
            "asked",
            "",
            "case  req/s",
            "a|b       9  one two three four five six",
            "             seven",
            "      it is slow",
            "go    1,002",
            "",
            "Findings",
            "  one",
            "  two",
            "",
            "Method: none.",
            "",
            "It is <fast>.",
        ];
        assert_eq!(page.terminal(40, false).lines().collect::<Vec<_>>(), lines);
        let bold = page.terminal(40, true);
        assert!(bold.contains("\x1b[1mcase  req/s\x1b[0m\n") && bold.ends_with("\x1b[1mIt is <fast>.\x1b[0m\n"));
        let lines = [
            r"**It is \<fast\>.**",
            "",
            "asked",
            "",
            "| case | requests per second | change | why |",
            "| --- | ---: | --- | --- |",
            r"| a\|b | 9 | one two three four five six seven | it is slow |",
            "| go | 1,002 |  |  |",
            "",
            "Findings:",
            "",
            "- one",
            "- two",
            "",
            "Method: none.",
        ];
        assert_eq!(page.markdown().lines().collect::<Vec<_>>(), lines);
    }
}
