//! Feeders: tables whose rows give the users of a load different values.

use std::fmt;
use std::ops::ControlFlow;

use csv::{ReaderBuilder, StringRecord};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::json;

/// A table and how its rows are taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feeder {
    /// Its name in templates.
    pub name: String,
    /// Its rows.
    pub table: Table,
    /// How they are taken.
    pub order: RowOrder,
}

/// How the rows of a feeder are taken. A flow takes one row of each feeder that it uses when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// One after the other, then again from the first.
    #[default]
    Loop,
    /// One after the other; when there is no more, the users who need one end.
    Once,
    /// Any, each time anew.
    Random,
    /// The row of the identity that runs the flow, by its number: each user's first identity has the first row.
    Identity,
}

/// Rows of values with named columns, as text. It has at least a column and a row.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    columns: Vec<String>,
    /// All values, row by row.
    bytes: Vec<u8>,
    /// Where each value ends.
    ends: Vec<u32>,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeederFormat {
    /// Commas between values, names of columns in the first line, quotes as in RFC 4180.
    Csv,
    /// The same with tabs, so a value that begins with a quote ends with one, and any other quote is itself, as in JSON.
    /// Gatling's `tsv` reads its files the same way.
    Tsv,
    /// A JSON object a line, all with the same members. The value of a string is its text, of anything else its JSON.
    #[serde(rename = "jsonl")]
    JsonLines,
}

impl Table {
    /// A table of these columns, each with its name and its values from the first row on. Nothing where there is none, or they are not
    /// of one length.
    #[must_use]
    pub fn of_columns(columns: Vec<(String, Vec<String>)>) -> Option<Self> {
        let rows = columns.first().map(|(_, values)| values.len()).filter(|rows| *rows > 0)?;
        if columns.iter().any(|(_, values)| values.len() != rows) {
            return None;
        }
        let mut table = Self { columns: Vec::new(), bytes: Vec::new(), ends: Vec::new() };
        for row in 0..rows {
            columns.iter().for_each(|(_, values)| table.push(&values[row]));
        }
        table.columns = columns.into_iter().map(|(name, _)| name).collect();
        Some(table)
    }

    /// Reads a table. A byte order mark at the beginning and empty lines are left out.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its line.
    pub fn parse(format: FeederFormat, text: &[u8]) -> Result<Self, FeederError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if let Err(error) = std::str::from_utf8(text) {
            return Err(fail(line_of(text, error.valid_up_to()), FeederProblem::NotUtf8));
        }
        if u32::try_from(text.len()).is_err() {
            return Err(fail(1, FeederProblem::TooLarge));
        }
        let table = match format {
            FeederFormat::Csv => Self::parse_separated(b',', text)?,
            FeederFormat::Tsv => Self::parse_separated(b'\t', text)?,
            FeederFormat::JsonLines => Self::parse_json_lines(text)?,
        };
        if table.ends.is_empty() {
            return Err(fail(1, FeederProblem::NoRows));
        }
        Ok(table)
    }

    fn parse_separated(separator: u8, text: &[u8]) -> Result<Self, FeederError> {
        // The reader takes a quote that is never closed for a value up to the end. A last line of our own tells: such a value
        // swallows it, any other ends before.
        let with_last = [text, b"\n."].concat();
        let mut reader = ReaderBuilder::new()
            .delimiter(separator)
            .flexible(true)
            .has_headers(false)
            .from_reader(with_last.as_slice());
        let mut table = Self { columns: Vec::new(), bytes: Vec::new(), ends: Vec::new() };
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|_| fail(1, FeederProblem::NotUtf8))? {
            let begins = record.position().map_or(0, |position| position.byte()) as usize;
            // The reader counts empty lines before a record to it.
            let begins = begins + text.get(begins..).map_or(0, count_line_ends);
            if begins >= text.len() {
                break;
            }
            let line = || line_of(text, begins);
            if reader.position().byte() as usize > text.len() + 1 {
                return Err(fail(line(), FeederProblem::OpenQuote));
            }
            if table.columns.is_empty() {
                table.columns = record.iter().map(str::to_owned).collect();
                check_columns(&table.columns).map_err(|problem| fail(line(), problem))?;
            } else if record.len() == table.columns.len() {
                record.iter().for_each(|value| table.push(value));
            } else {
                return Err(fail(line(), FeederProblem::Ragged { values: record.len(), columns: table.columns.len() }));
            }
        }
        Ok(table)
    }

    fn parse_json_lines(text: &[u8]) -> Result<Self, FeederError> {
        let mut table = Self { columns: Vec::new(), bytes: Vec::new(), ends: Vec::new() };
        let mut values = Vec::new();
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let number = number as u64 + 1;
            let Members(members) = serde_json::from_slice(line).map_err(|error| {
                fail(number, FeederProblem::Json { column: error.column().max(1), source: error.into() })
            })?;
            if table.columns.is_empty() {
                table.columns = members.iter().map(|(name, _)| name.clone()).collect();
            }
            let names: Vec<_> = members.iter().map(|(name, _)| name.clone()).collect();
            check_columns(&names).map_err(|problem| fail(number, problem))?;
            if let Some(name) = names.iter().find(|name| !table.columns.contains(name)) {
                return Err(fail(number, FeederProblem::UnknownColumn(name.clone())));
            }
            values.clear();
            for column in &table.columns {
                let member = members.iter().find(|(name, _)| name == column);
                values.push(member.ok_or_else(|| fail(number, FeederProblem::MissingColumn(column.clone())))?.1);
            }
            for value in &values {
                table.push(&json::text(value));
            }
        }
        Ok(table)
    }

    fn push(&mut self, value: &str) {
        self.bytes.extend_from_slice(value.as_bytes());
        // A value is no longer than its text, and the whole text fits.
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.ends.len() / self.columns.len().max(1)
    }

    /// The value in a row and a column; empty where there is none.
    pub fn cell(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.columns.len() + column;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(begin);
        self.bytes.get(begin as usize..end as usize).unwrap_or_default()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("columns", &self.columns).field("rows", &self.rows()).finish_non_exhaustive()
    }
}

/// The members of an object in their order, a member that comes twice included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

fn check_columns(columns: &[String]) -> Result<(), FeederProblem> {
    let checked = columns.iter().enumerate().try_for_each(|(number, column)| {
        if column.is_empty() {
            ControlFlow::Break(FeederProblem::EmptyColumn(number + 1))
        } else if columns[..number].contains(column) {
            ControlFlow::Break(FeederProblem::TwiceColumn(column.clone()))
        } else {
            ControlFlow::Continue(())
        }
    });
    match checked {
        ControlFlow::Break(problem) => Err(problem),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn count_line_ends(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

/// The line, from 1, of a place.
fn line_of(text: &[u8], at: usize) -> u64 {
    text.iter().take(at).filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn fail(line: u64, problem: FeederProblem) -> FeederError {
    FeederError { line, problem }
}

/// Why a table could not be read.
#[derive(Debug, Error)]
#[error("line {line} {problem}")]
pub struct FeederError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: FeederProblem,
}

/// What is wrong with a table.
#[derive(Debug, Error)]
pub enum FeederProblem {
    /// Bytes are not UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// There are more bytes than are kept.
    #[error("begins a file of 4 GiB or more")]
    TooLarge,
    /// There is no row.
    #[error("is followed by no row of values")]
    NoRows,
    /// A column has no name.
    #[error("gives column {0} no name")]
    EmptyColumn(usize),
    /// Two columns have one name.
    #[error("names the column {0} twice")]
    TwiceColumn(String),
    /// A row has more or fewer values than there are columns.
    #[error("has {values} values for {columns} columns")]
    Ragged {
        /// How many values it has.
        values: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// A quote is never closed.
    #[error("begins a value with a quote that is never closed")]
    OpenQuote,
    /// A line is not a JSON object.
    #[error("is not a JSON object (at character {column})")]
    Json {
        /// The character.
        column: usize,
        /// Why not.
        source: Box<serde_json::Error>,
    },
    /// An object lacks a member that the first one has.
    #[error("lacks {0}, which the first object has")]
    MissingColumn(String),
    /// An object has a member that the first one lacks.
    #[error("has {0}, which the first object lacks")]
    UnknownColumn(String),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(table: &Table) -> Vec<Vec<&str>> {
        let cell = |row, column| std::str::from_utf8(table.cell(row, column)).unwrap();
        (0..table.rows()).map(|row| (0..table.columns().len()).map(|column| cell(row, column)).collect()).collect()
    }

    #[test]
    fn tables_are_read() {
        use FeederFormat::{Csv, JsonLines, Tsv};
        for (format, text, columns, expected) in [
            (Csv, "a,b\n1,2\n", vec!["a", "b"], vec![vec!["1", "2"]]),
            (Csv, "\u{feff}a\r\n1\r\n\r\n2", vec!["a"], vec![vec!["1"], vec!["2"]]),
            // RFC 4180, section 2, rules 5 to 7.
            (Csv, "a,b\n\"x\r\ny\",\"z\"\"z\"\n,\n", vec!["a", "b"], vec![vec!["x\r\ny", "z\"z"], vec!["", ""]]),
            (Csv, "a\n say \"hi\"\n", vec!["a"], vec![vec![" say \"hi\""]]),
            // A JSON text does not begin with a quote, so its quotes are its own.
            (Tsv, "payload\n{\"a\": \"b, c\"}\n", vec!["payload"], vec![vec!["{\"a\": \"b, c\"}"]]),
            (Tsv, "a\tb\n\"x\ty\"\té\n", vec!["a", "b"], vec![vec!["x\ty", "é"]]),
            (
                JsonLines,
                "{\"a\": \"x\\u00e9\\n\", \"b\": 1.50}\n\n{\"b\": {\"c\": [ null ]}, \"a\": true}\r\n",
                vec!["a", "b"],
                vec![vec!["xé\n", "1.50"], vec!["true", "{\"c\": [ null ]}"]],
            ),
        ] {
            let table = Table::parse(format, text.as_bytes()).unwrap();
            assert_eq!(table.columns(), columns, "{text}");
            assert_eq!(rows(&table), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_table_says_in_which_line() {
        use FeederFormat::{Csv, JsonLines, Tsv};
        for (format, text, error) in [
            (Csv, &b""[..], "line 1 is followed by no row of values"),
            (Csv, b"\n\n", "line 1 is followed by no row of values"),
            (Csv, b"a,b\n", "line 1 is followed by no row of values"),
            (JsonLines, b"", "line 1 is followed by no row of values"),
            (Csv, b"a,b\n1,2\n\n1,2,3\n", "line 4 has 3 values for 2 columns"),
            (Csv, b"a,b\r\n\"1\r\n\",2\r\n3\r\n", "line 4 has 1 values for 2 columns"),
            (Csv, b"a,b\n1,2\n3,\"4\n5,6\n", "line 3 begins a value with a quote that is never closed"),
            (Tsv, b"a\n\"", "line 2 begins a value with a quote that is never closed"),
            (Csv, b"\"a\n1\n", "line 1 begins a value with a quote that is never closed"),
            (Csv, b"\na,,c\n1,2,3", "line 2 gives column 2 no name"),
            (Csv, b"a,b,a\n1,2,3", "line 1 names the column a twice"),
            (Csv, b"a\nx\n\xff\n", "line 3 is not UTF-8"),
            (JsonLines, b"{\"a\":1}\n{\"a\":}\n", "line 2 is not a JSON object (at character 6)"),
            (JsonLines, b"{\"a\":1}\n[1]\n", "line 2 is not a JSON object (at character 1)"),
            (JsonLines, b"{\"a\":1}\n{}\n", "line 2 lacks a, which the first object has"),
            (JsonLines, b"{\"a\":1}\n{\"a\":1,\"b\":2}\n", "line 2 has b, which the first object lacks"),
            (JsonLines, b"{\"a\":1,\"a\":2}\n", "line 1 names the column a twice"),
            (JsonLines, b"{\"\":1}\n", "line 1 gives column 1 no name"),
        ] {
            assert_eq!(Table::parse(format, text).unwrap_err().to_string(), error, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn many_rows_take_little_more_than_their_text() {
        let text: String = (0..100_000).fold("id,name\n".to_owned(), |text, n| text + &format!("{n},name{n}\n"));
        let table = Table::parse(FeederFormat::Csv, text.as_bytes()).unwrap();
        assert_eq!((table.rows(), table.cell(99_999, 1)), (100_000, &b"name99999"[..]));
        assert!(table.bytes.len() + 4 * table.ends.len() < 2 * text.len());
    }

    proptest! {
        #[test]
        fn what_is_written_as_rfc_4180_says_is_read_back(
            cells in prop::collection::vec(["\\PC*", "[a,\"\r\n\t ]*"].map(|cell| cell.prop_map(|cell: String| cell)), 1..20)
        ) {
            let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
            for (format, separator) in [(FeederFormat::Csv, ","), (FeederFormat::Tsv, "\t")] {
                let lines: Vec<_> =
                    cells.iter().map(|[a, b]| format!("{}{separator}{}", quoted(a), quoted(b))).collect();
                let text = format!("x{separator}y\r\n{}", lines.join("\r\n"));
                let table = Table::parse(format, text.as_bytes()).unwrap();
                prop_assert_eq!(rows(&table), cells.iter().map(|cells| cells.to_vec()).collect::<Vec<_>>());
            }
        }
    }
}
