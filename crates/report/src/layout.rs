//! Columns that line up and lines that fit.

/// The gap between two columns.
const GAP: usize = 2;

/// How wide a table of these columns is. A column is its cells, headings included.
fn table_width(columns: &[Vec<String>]) -> usize {
    let cells: usize = columns.iter().map(|column| column_width(column)).sum();
    cells + GAP * columns.len().saturating_sub(1)
}

/// The columns of a table for which there is room: those of the highest rank go first, the last of them before the others.
/// Those of rank 0 stay.
pub(crate) fn fitting(mut columns: Vec<(u8, Vec<String>)>, width: usize) -> Vec<Vec<String>> {
    loop {
        let cells: Vec<Vec<String>> = columns.iter().map(|(_, cells)| cells.clone()).collect();
        let highest = columns.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
        if highest == 0 || table_width(&cells) <= width {
            return cells;
        }
        let last = columns.iter().rposition(|(rank, _)| *rank == highest);
        columns.remove(last.unwrap_or(0));
    }
}

/// The lines of a table: the first column flush left, the others flush right.
pub(crate) fn table(columns: &[Vec<String>]) -> Vec<String> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows)
        .map(|row| {
            let cells = columns.iter().enumerate().map(|(i, column)| {
                let cell = column.get(row).map_or("", String::as_str);
                let width = column_width(column);
                match i {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                }
            });
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            line.trim_end().to_owned()
        })
        .collect()
}

fn column_width(column: &[String]) -> usize {
    column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// Breaks a text between words into lines of at most `width` characters. The first line begins with `first`, the others
/// with as many blanks as `hang`; a line of the text begins a new line. A word that is longer than a line has one to
/// itself.
pub(crate) fn wrap(first: &str, text: &str, hang: usize, width: usize) -> Vec<String> {
    let indent = " ".repeat(hang);
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    for paragraph in text.lines() {
        if line.trim().is_empty() && !lines.is_empty() {
            line.clone_from(&indent);
        }
        // Whether the line has only what it begins with.
        let mut fresh = true;
        for word in paragraph.split_whitespace() {
            let gap = usize::from(!fresh);
            if !fresh && line.chars().count() + gap + word.chars().count() > width {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            // A server's log may hold codes that would paint or clear the terminal.
            line.extend(word.chars().filter(|character| !character.is_control()));
            fresh = false;
        }
        lines.push(std::mem::replace(&mut line, indent.clone()));
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_line_up_by_characters() {
        let columns = [column(&["case", "go", "php-cli-server"]), column(&["req/s", "±80", "1,002"])];
        let lines = table(&columns);
        assert_eq!(lines, ["case            req/s", "go                ±80", "php-cli-server  1,002"]);
        assert_eq!(table_width(&columns), 21);
        assert!(table(&[]).is_empty());
    }

    #[test]
    fn columns_of_the_highest_rank_make_room() {
        let columns =
            || [(0, "name"), (2, "second"), (1, "first"), (2, "third")].map(|(rank, cell)| (rank, column(&[cell])));
        for (width, left) in [
            (26, &["name", "second", "first", "third"][..]),
            (25, &["name", "second", "first"]),
            (18, &["name", "first"]),
            (1, &["name"]),
        ] {
            assert_eq!(fitting(columns().to_vec(), width).concat(), left, "{width}");
        }
    }

    #[test]
    fn lines_break_between_words_and_hang() {
        assert_eq!(wrap("[1] ", "one two three four", 4, 12), ["[1] one two", "    three", "    four"]);
        assert_eq!(wrap("", "anunbreakableword x", 2, 5), ["anunbreakableword", "  x"]);
        assert_eq!(wrap("- ", "a\n\nb c", 2, 20), ["- a", "  b c"]);
        assert!(wrap("", "", 2, 20).is_empty());
    }
}
