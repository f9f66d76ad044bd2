//! The tables, as Markdown that reads well as plain text.

use crate::race::{Course, Lane, Outcome, Results};
use crate::spread::Spread;
use crate::target::Target;
use crate::tool::{FLOOR, WRK};

/// Longest line of a paragraph.
const WIDTH: usize = 110;

/// A part of the document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// Paragraphs and tables, an empty line after each.
    pub(crate) text: String,
    pub(crate) targets: Vec<Target>,
    /// Command lines that were measured, with PORT for the port.
    pub(crate) commands: Vec<String>,
}

impl Section {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, ..Self::default() }
    }

    /// Adds a paragraph, broken into lines.
    pub(crate) fn paragraph(&mut self, text: &str) {
        let mut width = 0;
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if width > 0 && width + 1 + length > WIDTH {
                self.text.push('\n');
                width = 0;
            } else if width > 0 {
                self.text.push(' ');
                width += 1;
            }
            self.text.push_str(word);
            width += length;
        }
        self.text.push_str("\n\n");
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) {
        self.text.push_str(&table(rows, Cells::Figures));
        self.text.push('\n');
    }

    /// Adds lines, each an item of a list.
    pub(crate) fn list(&mut self, items: &[String]) {
        for item in items {
            self.text.push_str(&format!("- {item}\n"));
        }
        if !items.is_empty() {
            self.text.push('\n');
        }
    }

    /// Adds a race: a table for each course, then how counts compare, and what went wrong.
    pub(crate) fn race(&mut self, results: &Results, courses: &[Course]) {
        for outcome in &results.outcomes {
            self.text.push_str(&format!("{}\n\n", outcome.name));
            self.table(&race_rows(outcome));
        }
        let agreement = results.agreement;
        self.paragraph(&format!(
            "Requests counted by the tool and by the server: alike in {} of {} runs, up to what was in flight at the end.",
            agreement.agreed, agreement.runs
        ));
        self.list(&results.notes);
        let mut told: Vec<&str> = Vec::new();
        for runner in courses.iter().rev().flat_map(|course| &course.runners) {
            if !told.contains(&runner.label.as_str()) {
                told.push(&runner.label);
                self.commands.push(shown(&runner.line));
            }
        }
    }
}

fn race_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let bases: Vec<&Lane> = [FLOOR.name, WRK.name].iter().filter_map(|name| outcome.lane(name)).collect();
    let mut head = head("client | CPU us a request | req/s | server busy");
    head.extend(bases.iter().map(|base| format!("CPU x {}", base.tool)));
    let mut rows = vec![head];
    for lane in &outcome.lanes {
        let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
        let mut row = vec![
            lane.label.clone(),
            cell(lane.spread(|sample| sample.cpu_us).map(|spread| spread.show(2))),
            cell(median(lane.spread(|sample| sample.rate)).map(|rate| grouped(rate.round() as u64))),
            cell(median(lane.spread(|sample| sample.server_busy)).map(|share| format!("{:.0} %", share * 100.0))),
        ];
        row.extend(
            bases.iter().map(|base| cell(lane.ratio(base, |sample| sample.cpu_us).map(|spread| spread.show(2)))),
        );
        rows.push(row);
    }
    rows
}

fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A command line with nothing of this machine in it.
pub(crate) fn shown(line: &[String]) -> String {
    line.iter().map(|argument| quoted(&without_port(argument))).collect::<Vec<_>>().join(" ")
}

/// Hides a port after `127.0.0.1:`: it is another each time.
fn without_port(text: &str) -> String {
    let host = "127.0.0.1:";
    match text.split_once(host) {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{before}{host}PORT{rest}")
        }
        None => text.to_owned(),
    }
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) { argument.to_owned() } else { format!("'{argument}'") }
}

/// `98,765`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cells {
    /// Columns are aligned to the left.
    Words,
    /// All columns but the first are aligned to the right.
    Figures,
}

/// A table with aligned columns.
fn table(rows: &[Vec<String>], cells: Cells) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = "```\n".to_owned();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str(if column == 0 { "" } else { "  " });
            line.push_str(&match (column, cells) {
                (0, _) | (_, Cells::Words) => format!("{cell:<width$}"),
                (_, Cells::Figures) => format!("{cell:>width$}"),
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("```\n");
    text
}

/// A table of words.
pub(crate) fn words(rows: &[Vec<String>]) -> String {
    table(rows, Cells::Words)
}

/// A table of targets.
pub(crate) fn targets<'a>(targets: impl IntoIterator<Item = &'a Target>) -> String {
    let mut rows = vec![["target", "wanted", "seen", ""].map(str::to_owned).to_vec()];
    for target in targets {
        let Target { what, wanted, seen, .. } = target.clone();
        rows.push(vec![what, wanted, seen, target.verdict().to_owned()]);
    }
    table(&rows, Cells::Words)
}

/// The first row of a table: names with ` | ` between them.
pub(crate) fn head(names: &str) -> Vec<String> {
    names.split(" | ").map(str::to_owned).collect()
}

/// A document: what it is about, what is to be reached, and the sections.
pub(crate) fn of_targets<'a>(
    title: &str,
    summary: &Section,
    targets: impl IntoIterator<Item = &'a Target>,
    sections: &[Section],
) -> String {
    let mut text = format!("# {title}\n\n{}## Targets\n\n{}\n", summary.text, self::targets(targets));
    for section in sections {
        text.push_str(&format!("## {}\n\n{}", section.title, section.text));
    }
    text.trim_end().to_owned() + "\n"
}

/// The whole document of the load engine.
pub(crate) fn render(command: &str, machine: &[String], versions: &[Vec<String>], sections: &[Section]) -> String {
    let mut summary = Section::default();
    summary.paragraph(
        "What `stampede load` costs, held against a bare client that only sends and receives (the floor) and against \
         other tools. One server process and one client process, each pinned to a processor of its own; the server gives \
         one fixed answer. Tools take turns in random order; ratios are taken within each round. Figures are the median \
         of the rounds, and in brackets the least and the most. CPU is user and system time of the whole client process, \
         from its start to its end, for each answered request. `stampede load` checks the status and the whole body of \
         every answer; the others check what they always check.",
    );
    summary.paragraph(&format!("Made by `{command}`."));
    summary.text.push_str("```\n");
    machine.iter().for_each(|line| summary.text.push_str(&format!("{line}\n")));
    summary.text.push_str("```\n\n");
    let targets = sections.iter().flat_map(|section| &section.targets);
    let mut text = of_targets("Speed of the load engine", &summary, targets, sections);
    text.push_str(&format!("\n## Versions\n\n{}\n## Command lines\n\n```\n", table(versions, Cells::Words)));
    for section in sections.iter().filter(|section| !section.commands.is_empty()) {
        text.push_str(&format!("# {}\n", section.title));
        section.commands.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text.push_str("```\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["client", "us"], ["wrk", "10.00"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows, Cells::Figures), "```\nclient     us\nwrk     10.00\n```\n");
    }

    #[test]
    fn ports_are_hidden_and_arguments_quoted() {
        assert_eq!(without_port("http://127.0.0.1:40123/x"), "http://127.0.0.1:PORT/x");
        assert_eq!(without_port("127.0.0.1:1"), "127.0.0.1:PORT");
        assert_eq!(quoted("Hello, World!"), "'Hello, World!'");
    }
}
