//! A table: columns that line up on a terminal as far as there is room, and all of them in Markdown.

use stampede_core::shortened;

use crate::layout::wrap;
use crate::markdown_text::{escaped, row};

/// The gap between two columns.
const GAP: usize = 2;

/// Names are not shortened below this many characters.
const LEAST_NAME: usize = 24;

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
    /// What a reader must know of its cells, a sentence each.
    notes: Vec<String>,
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
        self.columns.iter().map(move |column| column.cell(row))
    }

    /// What its cells mean, of all columns; none where they explain themselves.
    pub(crate) fn legend(&self) -> Option<String> {
        legend(self.columns.iter())
    }

    /// The same of the columns for which there is room.
    pub(super) fn legend_within(&self, width: usize) -> Option<String> {
        let others = self.columns.iter().filter(|column| matches!(column.kind, Kind::Prose | Kind::Below));
        legend(self.fitting(width).into_iter().chain(others))
    }

    /// The lines of the heading and those of the rows. Names and prose explain themselves: they have a heading beside figures only.
    pub(super) fn lines(&self, width: usize) -> (Vec<String>, Vec<String>) {
        let headings = self.headings();
        let mut columns: Vec<(&Column, usize)> =
            self.fitting(width).into_iter().map(|column| (column, column.width(headings))).collect();
        let needed: usize = columns.iter().map(|(_, width)| width + GAP).sum();
        let longest =
            columns.iter_mut().filter(|(column, _)| column.kind == Kind::Name).max_by_key(|(_, width)| *width);
        if let Some((_, name)) = longest {
            let excess = needed.saturating_sub(width.saturating_add(GAP));
            *name = name.saturating_sub(excess).max(LEAST_NAME.min(*name));
        }
        let line = |cell: &dyn Fn(&Column) -> &str| {
            let cells = columns.iter().map(|(column, width)| match column.kind {
                Kind::Figure => format!("{:>width$}", cell(column)),
                _ => format!("{:<width$}", shortened(cell(column), *width)),
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        let heading: Vec<String> = (2 - headings..2).map(|place| line(&|column| &column.heading[place])).collect();
        let rows: Vec<String> = (0..self.rows()).map(|row| line(&|column| column.cell(row))).collect();
        let hang = heading.iter().chain(&rows).map(|line| line.chars().count()).max().unwrap_or(0) + GAP;
        let text_of = |kind, row: usize| {
            self.columns.iter().find(|column| column.kind == kind).map_or("", |column| column.cell(row))
        };
        let row = |(row, line): (usize, String)| {
            let prose = wrap(&format!("{line:<hang$}"), text_of(Kind::Prose, row), hang, width);
            let below = wrap(&" ".repeat(6), text_of(Kind::Below, row), 6, width);
            let first = if prose.is_empty() { vec![line] } else { prose };
            first.into_iter().chain(below)
        };
        (heading, rows.into_iter().enumerate().flat_map(row).collect())
    }

    /// How many lines the heading has.
    fn headings(&self) -> usize {
        let has_two = |column: &Column| !column.heading[0].is_empty();
        match self.lined_up().any(|column| column.kind == Kind::Figure) {
            false => 0,
            true if self.lined_up().any(has_two) => 2,
            true => 1,
        }
    }

    fn lined_up(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| matches!(column.kind, Kind::Name | Kind::Figure))
    }

    /// The columns that line up and for which there is room: those of the highest rank go first, the last of them before the others.
    fn fitting(&self, width: usize) -> Vec<&Column> {
        let headings = self.headings();
        let mut columns: Vec<&Column> = self.lined_up().collect();
        loop {
            let highest = columns.iter().map(|column| column.rank).max().unwrap_or(0);
            let needed: usize = columns.iter().map(|column| column.width(headings) + GAP).sum();
            if highest == 0 || needed <= width + GAP {
                return columns;
            }
            let last = columns.iter().rposition(|column| column.rank == highest);
            columns.remove(last.unwrap_or(0));
        }
    }

    pub(super) fn markdown(&self) -> String {
        let rules = self.columns.iter().map(|column| if column.kind == Kind::Figure { "---:" } else { "---" });
        let rules: Vec<&str> = rules.collect();
        let heading = row(self.columns.iter().map(|column| &column.title));
        let rows: String = (0..self.rows()).map(|number| row(self.row(number))).collect();
        let legend = self.legend().map(|legend| escaped(&legend) + "\n\n").unwrap_or_default();
        format!("{heading}| {} |\n{rows}\n{legend}", rules.join(" | "))
    }
}

/// What these columns say of their cells, each sentence once.
fn legend<'a>(columns: impl Iterator<Item = &'a Column>) -> Option<String> {
    let mut sentences: Vec<&str> = Vec::new();
    for note in columns.flat_map(|column| &column.notes) {
        if !sentences.contains(&note.as_str()) {
            sentences.push(note);
        }
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

impl Column {
    fn new(kind: Kind, title: &str, cells: Vec<String>) -> Self {
        Self {
            heading: [String::new(), title.to_owned()],
            title: title.to_owned(),
            kind,
            rank: 0,
            cells,
            notes: Vec::new(),
        }
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

    /// With what its cells mean.
    pub(crate) fn noted(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    fn cell(&self, row: usize) -> &str {
        self.cells.get(row).map_or("", String::as_str)
    }

    /// With so many lines of its heading.
    fn width(&self, headings: usize) -> usize {
        self.heading.iter().skip(2 - headings).chain(&self.cells).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(of: fn(&str, Vec<String>) -> Column, cells: &[&str]) -> Column {
        of(cells[0], cells[1..].iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn columns_line_up_by_characters() {
        let names = column(Column::names, &["case", "go", "php-cli-server"]);
        let columns = vec![names, column(Column::figures, &["req/s", "±80", "1,002"])];
        let (heading, rows) = Table { columns }.lines(80);
        assert_eq!(heading, ["case            req/s"]);
        assert_eq!(rows, ["go                ±80", "php-cli-server  1,002"]);
        assert_eq!(Table { columns: Vec::new() }.lines(80), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_name_that_is_too_long_loses_its_middle() {
        let names =
            column(Column::names, &["request", "GET /a/very/long/address/of/a/script.js?version=1.2.3", "GET /"]);
        let table = Table { columns: vec![names, column(Column::figures, &["ok", "12", "3"])] };
        for (width, first) in [
            (80, "GET /a/very/long/address/of/a/script.js?version=1.2.3  12"),
            (36, "GET /a/very/long…s?version=1.2.3  12"),
            (10, "GET /a/very/…rsion=1.2.3  12"),
        ] {
            assert_eq!(table.lines(width).1[0], first, "{width}");
        }
    }

    #[test]
    fn columns_of_the_highest_rank_make_room() {
        let columns = [(0, "name"), (2, "second"), (1, "first"), (2, "third")]
            .map(|(rank, title)| column(Column::figures, &[title]).ranked(rank));
        let table = Table { columns: columns.to_vec() };
        for (width, left) in
            [(26, "name  second  first  third"), (25, "name  second  first"), (18, "name  first"), (1, "name")]
        {
            assert_eq!(table.lines(width).0, [left], "{width}");
        }
    }

    #[test]
    fn a_legend_is_of_the_columns_that_are_shown() {
        let noted =
            |rank, title: &str, note: &str| column(Column::figures, &[title]).ranked(rank).noted(vec![note.to_owned()]);
        let columns =
            vec![noted(0, "name", "Of names."), noted(1, "first", "Of both."), noted(2, "second", "Of both.")];
        let table = Table { columns };
        for (width, legend) in [(80, "Of names. Of both."), (12, "Of names. Of both."), (4, "Of names.")] {
            assert_eq!(table.legend_within(width).as_deref(), Some(legend), "{width}");
        }
        assert_eq!(table.legend().as_deref(), Some("Of names. Of both."));
        assert_eq!(Table { columns: vec![column(Column::figures, &["name"])] }.legend(), None);
    }
}
