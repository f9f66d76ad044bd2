//! Text with places for values: `/people/${id}`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::feeder::Feeder;
use crate::request_target;

/// Text with places for values, which are known by number.
///
/// Written as text in which `${name}` stands for a capture, `${feeder.column}` for a column of a feeder, and `$$` for a
/// dollar. A `$` before anything else is a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Text(Vec<u8>),
    Value(Slot),
    /// A value in a form, percent-encoded.
    Field(Slot),
}

/// What a part of a text is while it is written.
#[derive(Clone, Copy)]
enum Piece {
    Text,
    Value,
    Field,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// The capture with this number among the captures of the flow.
    Capture(usize),
    /// A cell of the row that the flow has taken.
    Column {
        /// Number of the feeder in the scenario.
        feeder: usize,
        /// Number of the column in the feeder.
        column: usize,
    },
}

/// The names that a template may use.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The captures of the flow.
    pub captures: &'a [String],
    /// The feeders of the scenario.
    pub feeders: &'a [Feeder],
}

/// The values of one flow that is under way.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) captures: &'a [Captured],
    pub(crate) feeders: &'a [Feeder],
    /// The row that was taken from each feeder.
    pub(crate) rows: &'a [usize],
}

/// What a capture has taken, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    there: bool,
    bytes: Vec<u8>,
}

impl Captured {
    pub(crate) fn clear(&mut self) {
        self.there = false;
        self.bytes.clear();
    }

    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.clear();
        self.there = true;
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn get(&self) -> Option<&[u8]> {
        self.there.then_some(self.bytes.as_slice())
    }
}

/// Why a request could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RenderFault {
    /// No answer has given the value.
    #[error("no answer has given the value of a capture")]
    Missing(usize),
    /// A line break or a zero byte in a header would make another request of it.
    #[error("a value cannot stand in a header: it has a line break or a zero byte")]
    Header,
    /// The path does not begin with a slash, and is no address of this server either.
    #[error("a value is not a path of this server")]
    Target,
}

impl<'a> Values<'a> {
    fn get(self, slot: Slot) -> Result<&'a [u8], RenderFault> {
        match slot {
            Slot::Capture(number) => {
                self.captures.get(number).and_then(Captured::get).ok_or(RenderFault::Missing(number))
            }
            Slot::Column { feeder, column } => {
                let row = self.rows.get(feeder).copied().unwrap_or(0);
                Ok(self.feeders.get(feeder).map_or(&[][..], |feeder| feeder.table.cell(row, column)))
            }
        }
    }
}

impl Template {
    /// Text without values; a dollar is a dollar.
    pub fn fixed(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        Self { parts: if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] } }
    }

    /// Reads a template.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str, names: Names<'_>) -> Result<Self, TemplateError> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            template.push_text(before);
            let fail = |problem| {
                let at = text.len() - after.len() - 1;
                Err(TemplateError { column: text[..at].chars().count() + 1, problem })
            };
            rest = if let Some(after) = after.strip_prefix('$') {
                template.push_text("$");
                after
            } else if let Some(after) = after.strip_prefix('{') {
                let Some((name, after)) = after.split_once('}') else { return fail(TemplateProblem::Unclosed) };
                match names.find(name) {
                    Ok(slot) => template.parts.push(Part::Value(slot)),
                    Err(problem) => return fail(problem),
                }
                after
            } else {
                return fail(TemplateProblem::LoneDollar);
            };
        }
        template.push_text(rest);
        Ok(template)
    }

    /// A form with these fields as browsers send it: names and values percent-encoded, values read as templates
    /// (`application/x-www-form-urlencoded`, <https://url.spec.whatwg.org/#urlencoded-serializing>).
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with a value, with its place there.
    pub fn form<'f>(
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
        names: Names<'_>,
    ) -> Result<Self, TemplateError> {
        let mut form = Self::default();
        for (number, (name, value)) in fields.into_iter().enumerate() {
            let mut text = if number == 0 { Vec::new() } else { vec![b'&'] };
            request_target::write_component(name.as_bytes(), &mut text);
            text.push(b'=');
            for part in Self::parse(value, names)?.parts {
                match part {
                    Part::Text(part) => request_target::write_component(&part, &mut text),
                    Part::Value(slot) | Part::Field(slot) => {
                        form.parts.extend([Part::Text(std::mem::take(&mut text)), Part::Field(slot)]);
                    }
                }
            }
            match form.parts.last_mut() {
                Some(Part::Text(last)) => last.extend_from_slice(&text),
                _ => form.parts.push(Part::Text(text)),
            }
        }
        Ok(form)
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(last)) => last.extend_from_slice(text.as_bytes()),
            _ => self.parts.push(Part::Text(text.as_bytes().to_vec())),
        }
    }

    /// Where its values come from, in their order.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(slot) | Part::Field(slot) => Some(*slot),
            Part::Text(_) => None,
        })
    }

    /// Its text between the values, in its order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_slice()),
            Part::Value(_) | Part::Field(_) => None,
        })
    }

    /// Its text, where it is always the same.
    pub(crate) fn as_fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it begins with a value.
    pub fn begins_with_value(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Value(_)))
    }

    fn pieces<'a>(&'a self, values: Values<'a>) -> impl Iterator<Item = Result<(&'a [u8], Piece), RenderFault>> {
        self.parts.iter().map(move |part| match part {
            Part::Text(text) => Ok((text.as_slice(), Piece::Text)),
            Part::Value(slot) => values.get(*slot).map(|value| (value, Piece::Value)),
            Part::Field(slot) => values.get(*slot).map(|value| (value, Piece::Field)),
        })
    }

    /// How many bytes [`Template::write`] adds.
    pub(crate) fn length(&self, values: Values<'_>) -> Result<usize, RenderFault> {
        let length = |(bytes, piece)| match piece {
            Piece::Text | Piece::Value => <[u8]>::len(bytes),
            Piece::Field => request_target::component_length(bytes),
        };
        self.pieces(values).map(|piece| piece.map(length)).sum()
    }

    /// Adds the text with its values as they are.
    pub(crate) fn write(&self, values: Values<'_>, out: &mut Vec<u8>) -> Result<(), RenderFault> {
        for piece in self.pieces(values) {
            match piece? {
                (bytes, Piece::Text | Piece::Value) => out.extend_from_slice(bytes),
                (bytes, Piece::Field) => request_target::write_component(bytes, out),
            }
        }
        Ok(())
    }

    /// Adds the text as the value of a header.
    pub(crate) fn write_header(&self, values: Values<'_>, out: &mut Vec<u8>) -> Result<(), RenderFault> {
        for piece in self.pieces(values) {
            let (bytes, _) = piece?;
            if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                return Err(RenderFault::Header);
            }
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Adds the text as a request target. A value at its very beginning is a reference such as a `Location` header brings,
    /// and is used as it is, an absolute one reduced to its path; every other is encoded as a component.
    pub(crate) fn write_target(&self, values: Values<'_>, host: &str, out: &mut Vec<u8>) -> Result<(), RenderFault> {
        for (number, piece) in self.pieces(values).enumerate() {
            match piece? {
                (text, Piece::Text) => out.extend_from_slice(text),
                (reference, Piece::Value) if number == 0 => {
                    let path = request_target::path_of(reference, host).ok_or(RenderFault::Target)?;
                    request_target::write_reference(path, out);
                }
                (value, Piece::Value | Piece::Field) => request_target::write_component(value, out),
            }
        }
        Ok(())
    }
}

impl Names<'_> {
    fn find(&self, name: &str) -> Result<Slot, TemplateProblem> {
        let Some((feeder_name, column_name)) = name.split_once('.') else {
            let found = self.captures.iter().position(|known| known == name).map(Slot::Capture);
            return found.ok_or_else(|| self.unknown(name));
        };
        let feeder = self.feeders.iter().position(|feeder| feeder.name == feeder_name);
        let column = feeder
            .and_then(|feeder| self.feeders.get(feeder))
            .and_then(|feeder| feeder.table.columns().iter().position(|column| column == column_name));
        match (feeder, column) {
            (Some(feeder), Some(column)) => Ok(Slot::Column { feeder, column }),
            _ => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> TemplateProblem {
        let columns = self
            .feeders
            .iter()
            .flat_map(|feeder| feeder.table.columns().iter().map(move |column| format!("{}.{column}", feeder.name)));
        TemplateProblem::Unknown {
            name: name.to_owned(),
            known: self.captures.iter().cloned().chain(columns).collect(),
        }
    }
}

/// Why a template could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{problem} (at character {column})")]
pub struct TemplateError {
    /// The character at which it is wrong, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: TemplateProblem,
}

/// What is wrong with a template.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TemplateProblem {
    /// A dollar begins nothing.
    #[error("has a $ that begins no ${{name}}")]
    LoneDollar,
    /// A brace is not closed.
    #[error("has a ${{ without its }}")]
    Unclosed,
    /// Nothing has this name.
    #[error("uses ${{{name}}}, which is not known here")]
    Unknown {
        /// The name.
        name: String,
        /// What is known.
        known: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::feeder::{FeederFormat, RowOrder, Table};

    fn feeder() -> Feeder {
        let table = Table::parse(FeederFormat::Csv, b"id,full name\n7,Ann O'Hara\n8,\"a/b?c&\"\n").unwrap();
        Feeder { name: "users".to_owned(), table, order: RowOrder::Loop }
    }

    fn captured(values: &[Option<&[u8]>]) -> Vec<Captured> {
        let of = |value: &Option<&[u8]>| {
            let mut captured = Captured::default();
            if let Some(value) = value {
                captured.set(value);
            }
            captured
        };
        values.iter().map(of).collect()
    }

    #[test]
    fn values_are_put_in_their_places() {
        let (feeders, names) = ([feeder()], ["token".to_owned(), "gone".to_owned()]);
        let names = Names { captures: &names, feeders: &feeders };
        let captures = captured(&[Some(b"a b\xff"), None]);
        for (text, row, body, target) in [
            ("", 0, Ok("".as_bytes()), Ok("")),
            ("/fixed?a=b%20c", 0, Ok(b"/fixed?a=b%20c"), Ok("/fixed?a=b%20c")),
            ("/$$5", 0, Ok(b"/$5"), Ok("/$5")),
            ("/${users.id}", 0, Ok(b"/7"), Ok("/7")),
            ("/${users.id}${users.id}$$", 1, Ok(b"/88$"), Ok("/88$")),
            ("/?q=${users.full name}", 0, Ok(b"/?q=Ann O'Hara"), Ok("/?q=Ann%20O%27Hara")),
            ("/${users.full name}", 1, Ok(b"/a/b?c&"), Ok("/a%2Fb%3Fc%26")),
            ("/${token}!", 0, Ok(b"/a b\xff!"), Ok("/a%20b%FF!")),
            ("/${gone}", 0, Err(RenderFault::Missing(1)), Err(RenderFault::Missing(1))),
            ("${token}", 0, Ok(b"a b\xff"), Err(RenderFault::Target)),
        ] {
            let template = Template::parse(text, names).unwrap();
            let values = Values { captures: &captures, feeders: &feeders, rows: &[row] };
            let mut out = Vec::new();
            assert_eq!(template.write(values, &mut out).map(|()| out.as_slice()), body, "{text}");
            assert_eq!(template.length(values), body.map(<[u8]>::len), "{text}");
            let mut out = Vec::new();
            let wrote = template.write_target(values, "host", &mut out).map(|()| String::from_utf8(out).unwrap());
            assert_eq!(wrote, target.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_value_cannot_add_a_header() {
        let names = ["token".to_owned()];
        let template = Template::parse("Bearer ${token}", Names { captures: &names, feeders: &[] }).unwrap();
        for (value, written) in [("x", Ok("Bearer x")), ("x\r\nA: b", Err(RenderFault::Header))] {
            let captures = captured(&[Some(value.as_bytes())]);
            let mut out = Vec::new();
            let wrote = template.write_header(Values { captures: &captures, feeders: &[], rows: &[] }, &mut out);
            assert_eq!(wrote.map(|()| std::str::from_utf8(&out).unwrap()), written);
        }
    }

    #[test]
    fn what_is_no_template_says_where_and_why() {
        use TemplateProblem as P;
        let (feeders, names) = ([feeder()], ["token".to_owned()]);
        let unknown = |name: &str| P::Unknown {
            name: name.to_owned(),
            known: ["token", "users.id", "users.full name"].map(str::to_owned).to_vec(),
        };
        for (text, column, problem) in [
            ("$", 1, P::LoneDollar),
            ("é$5", 2, P::LoneDollar),
            ("$$$", 3, P::LoneDollar),
            ("a${token", 2, P::Unclosed),
            ("${}", 1, unknown("")),
            ("é${tokem}", 2, unknown("tokem")),
            ("${token} ${user.id}", 10, unknown("user.id")),
            ("${users.name}", 1, unknown("users.name")),
            ("${users}", 1, unknown("users")),
            ("${token.id}", 1, unknown("token.id")),
        ] {
            let names = Names { captures: &names, feeders: &feeders };
            assert_eq!(Template::parse(text, names), Err(TemplateError { column, problem }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_without_dollars_is_itself(text in "[^$]*") {
            let template = Template::parse(&text, Names { captures: &[], feeders: &[] }).unwrap();
            prop_assert_eq!(&template, &Template::fixed(text.as_str()));
            prop_assert_eq!(template.slots().count(), 0);
        }

        #[test]
        fn a_doubled_dollar_is_one(text in "\\PC*") {
            let template = Template::parse(&text.replace('$', "$$"), Names { captures: &[], feeders: &[] }).unwrap();
            let mut out = Vec::new();
            template.write(Values { captures: &[], feeders: &[], rows: &[] }, &mut out).unwrap();
            prop_assert_eq!(out, text.into_bytes());
        }
    }
}
