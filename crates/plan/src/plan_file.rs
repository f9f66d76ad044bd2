//! `stampede.yaml`: a comparison with everything that the command line could say of it, but for how it is watched and sent.
//!
//! The types here are the file's only description. The JSON Schema that editors use is made from them, and that same
//! schema is what a file is held against, so that all keys and types that are wrong are told at once with their places;
//! serde, which stops at the first, then reads what is known to fit.

mod at;
mod document;
mod sections;
mod shape;
mod topology;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use self::at::{At, Text};
pub(crate) use self::sections::{
    AppSection, CaseSection, ExpectSection, LoadEntry, PlanSections, RequestSection, SloSection,
};
pub(crate) use self::topology::{ClientSection, ServiceSection, ShareSection, TopologySection};
use crate::mistake::Mistakes;

/// The name of a plan file that is found without being named.
pub const PLAN_FILE: &str = "stampede.yaml";

/// A plan is written by hand; a file of more bytes is something else.
const MOST_BYTES: u64 = 1 << 20;

/// A plan file that fits its schema. Its values are still to be read.
#[derive(Debug)]
pub(crate) struct PlanFile {
    /// What mistakes call it.
    pub(crate) place: String,
    /// Where its paths begin.
    pub(crate) folder: PathBuf,
    pub(crate) sections: PlanSections,
}

impl PlanFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// That it cannot be read, the first error of its YAML, or all keys and types that are wrong.
    pub(crate) fn read(file: &Path) -> Result<Self, Mistakes> {
        let place = file.display().to_string();
        let text = read_bounded(file).map_err(|error| {
            Mistakes::one(
                &place,
                format!("cannot be read: {error}"),
                "name a plan file, or write one with stampede init",
            )
        })?;
        let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        Ok(Self { sections: parse(&text, &place)?, place, folder: folder.to_owned() })
    }

    /// Where a value stands: `stampede.yaml:3:9`.
    pub(crate) fn spot<T>(&self, at: &At<T>) -> String {
        spot(&self.place, at.line, at.column)
    }
}

fn spot(place: &str, line: u64, column: u64) -> String {
    format!("{place}:{line}:{column}")
}

fn read_bounded(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// Reads the text of a plan file.
pub(crate) fn parse(text: &str, place: &str) -> Result<PlanSections, Mistakes> {
    let document = document::parse(text).map_err(|error| document::mistake(&error, place))?;
    shape::check(&document, &schema_value(), place)?;
    serde_saphyr::from_str_with_options(text, document::bounds()).map_err(|error| document::mistake(&error, place))
}

/// The JSON Schema of plan files (draft 2020-12), as text.
pub fn schema() -> String {
    format!("{:#}\n", schema_value())
}

fn schema_value() -> serde_json::Value {
    let mut schema = schemars::schema_for!(PlanSections);
    schema.insert("title".to_owned(), "Stampede plan".into());
    schema.to_value()
}

#[cfg(test)]
mod tests;
