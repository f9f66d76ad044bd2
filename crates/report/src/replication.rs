//! A published experiment beside what was measured here.
//!
//! What there is to say is put together once, as a row of blocks; the terminal and Markdown only lay them out.

mod digest;
mod json;
mod score;

use stampede_analysis::{CheckedClaim, Replication, TableRun};
use stampede_core::Publication;

pub(crate) use self::digest::Block;
pub(crate) use self::digest::lead;
use self::digest::{Medium, blocks};
use crate::layout::{fitting, table, wrap};
use crate::markdown_text::{escaped, row};

/// What a report on a published experiment is made from.
#[derive(Clone, Copy, Debug)]
pub struct ReplicationView<'a> {
    /// What was published.
    pub publication: &'a Publication,
    /// The published times were multiplied with this.
    pub scale: f64,
    /// The published rates were multiplied with this.
    pub rate_scale: f64,
    /// Its tables that were measured.
    pub tables: &'a [ReplicatedTable<'a>],
    /// Its claims.
    pub claims: &'a [CheckedClaim<'a>],
}

/// A table with its study.
#[derive(Clone, Debug)]
pub struct ReplicatedTable<'a> {
    /// The table and its study.
    pub run: TableRun<'a>,
    /// Both beside each other.
    pub replication: Replication,
}

/// Lines of a table that are its heading.
const HEADING: usize = 2;

/// Renders it for a terminal of this many characters a line, with the first of the published figures where rows have it.
/// Without colour nothing is lost.
pub fn terminal(view: &ReplicationView<'_>, width: usize, color: bool) -> String {
    let strong = |line: &str| if color && !line.is_empty() { format!("\x1b[1m{line}\x1b[0m") } else { line.to_owned() };
    let mut lines = Vec::new();
    for block in blocks(view, Medium::Terminal) {
        match block {
            Block::Heading { text, level } => {
                lines.push(String::new());
                if level == 1 {
                    lines.push(String::new());
                }
                lines.extend(wrap("", &text, 0, width).iter().map(|line| strong(line)));
            }
            Block::Paragraph(text) => lines.extend(wrap("", &text, 0, width)),
            Block::Item(text) => lines.extend(wrap("  ", &text, 4, width)),
            Block::Table(columns) => lines.extend(lined_up(&columns, &strong)),
            Block::Wide(columns) => lines.extend(lined_up(&fitting(columns, width), &strong)),
        }
    }
    lines.iter().skip_while(|line| line.is_empty()).map(|line| format!("{line}\n")).collect()
}

fn lined_up(columns: &[Vec<String>], strong: &dyn Fn(&str) -> String) -> Vec<String> {
    let rows = table(columns).into_iter().enumerate();
    let rows = rows.map(|(row, line)| if row < HEADING { strong(&line) } else { line });
    [String::new()].into_iter().chain(rows).collect()
}

/// Renders it as GitHub-flavoured Markdown.
pub fn markdown(view: &ReplicationView<'_>) -> String {
    let mut text = String::new();
    let mut in_list = false;
    for block in blocks(view, Medium::Markdown) {
        let is_item = matches!(block, Block::Item(_));
        if in_list && !is_item {
            text.push('\n');
        }
        in_list = is_item;
        match block {
            Block::Heading { text: heading, level } => {
                text.push_str(&format!("{} {}\n\n", "#".repeat(level), escaped(&heading)));
            }
            Block::Paragraph(paragraph) => text.push_str(&format!("{}\n\n", escaped(&paragraph))),
            Block::Item(item) => text.push_str(&format!("- {}\n", escaped(&item))),
            Block::Table(columns) => text.push_str(&markdown_table(&columns)),
            Block::Wide(columns) => text.push_str(&markdown_table(&without_ranks(columns))),
        }
    }
    format!("{}\n", text.trim_end())
}

/// What there is to say above the studies themselves.
pub(crate) fn blocks_of_page(view: &ReplicationView<'_>) -> Vec<Block> {
    blocks(view, Medium::Page)
}

/// All columns, whatever room there is.
pub(crate) fn without_ranks(columns: Vec<(u8, Vec<String>)>) -> Vec<Vec<String>> {
    columns.into_iter().map(|(_, cells)| cells).collect()
}

/// Renders it as JSON. It ends with a line break.
pub fn json(view: &ReplicationView<'_>) -> String {
    json::render(view)
}

fn markdown_table(columns: &[Vec<String>]) -> String {
    let rule = columns.iter().enumerate().map(|(column, _)| if column == 0 { "---" } else { "---:" });
    let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
    let mut text = row(columns.iter().map(|column| column[..HEADING].join(" "))) + &rule;
    for line in HEADING..columns.first().map_or(0, Vec::len) {
        text.push_str(&row(columns.iter().map(|column| &column[line])));
    }
    text + "\n"
}
