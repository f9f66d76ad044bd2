//! A page: what a question comes to, and the blocks of text that show it. A terminal and Markdown write it.
//!
//! It knows no question, and no figures: cells are text already.

mod table;

use stampede_core::Severity;

pub(crate) use self::table::{Column, Table};
use crate::layout::wrap;
use crate::markdown_text::escaped;

/// Fewer characters a line than this are taken for this many.
const LEAST_WIDTH: usize = 40;

/// Where a page is written, which decides what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A terminal: of published figures those that decide.
    Terminal,
    /// Markdown: all figures.
    Markdown,
    /// The head of a page for a browser: all figures, above the studies themselves, which say what the loads made.
    Html,
}

/// What there is to say of a question.
pub struct Page {
    /// What it comes to: first.
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
    #[must_use]
    pub fn terminal(&self, width: usize, color: bool) -> String {
        let mut screen = Screen { text: String::new(), width: width.max(LEAST_WIDTH), color };
        self.answer.iter().for_each(|sentence| screen.wrapped(Style::Strong, "", sentence, 2));
        if !self.answer.is_empty() {
            screen.part();
        }
        let mut is_named = false;
        for block in &self.blocks {
            if matches!(block, Block::Table(_)) && !is_named {
                screen.part();
            }
            screen.block(block);
            is_named = matches!(block, Block::Caption(_) | Block::Item(_));
        }
        screen.text
    }

    /// As GitHub-flavoured Markdown. It ends with a line break.
    #[must_use]
    pub fn markdown(&self) -> String {
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
                if let Some(legend) = table.legend_within(self.width) {
                    self.wrapped(Style::Plain, "", &legend, 0);
                }
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
            "It is <fast>.",
            "",
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
        ];
        assert_eq!(page.terminal(40, false).lines().collect::<Vec<_>>(), lines);
        let bold = page.terminal(40, true);
        assert!(bold.contains("\x1b[1mcase  req/s\x1b[0m\n") && bold.starts_with("\x1b[1mIt is <fast>.\x1b[0m\n"));
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
