//! `stampede.yaml`: a comparison with everything that the command line could say of it, but for how it is watched and sent.

mod sections;
mod topology;

use std::path::{Path, PathBuf};

pub(crate) use self::sections::{CaseSection, LoadEntry, PlanSections, RoleEntry, SloSection};
pub(crate) use self::topology::{ClientSection, ServiceSection, ServicesSection, ShareSection, TopologySection};
use crate::document::{self, Document, Grammar, Place, adapt};
use crate::mistake::Mistakes;

/// The name of a plan file that is found without being named.
pub const PLAN_FILE: &str = "stampede.yaml";

/// A plan file that fits its schema. Its values are still to be read.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub(crate) document: Document,
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
        let text = document::text(file).map_err(|error| {
            Mistakes::one(
                &place,
                format!("cannot be read: {error}"),
                "name a plan file, or write one with stampede init",
            )
        })?;
        let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        Self::parse(&text, &place, folder)
    }

    /// Reads the text of a file.
    pub(crate) fn parse(text: &str, place: &str, folder: &Path) -> Result<Self, Mistakes> {
        let begin = "begin with workload: markdown, or app: {dir: .}";
        let grammar = Grammar { schema: schema_value(), is: "a plan", begin };
        let (sections, document) = document::read(text, place, &grammar)?;
        Ok(Self { document, folder: folder.to_owned(), sections })
    }

    /// Whether it compares images, which bring their applications.
    pub(crate) fn has_images(&self) -> bool {
        self.sections.cases.iter().flatten().any(|case| case.image.is_some())
    }

    /// Where the value of a key stands: `limits.cpus`.
    pub(crate) fn place(&self, key: &str) -> Place<'_> {
        key.split('.').fold(self.document.place(), |place, key| place.key(key))
    }
}

/// The JSON Schema of plan files (draft 2020-12), as text.
pub fn schema() -> String {
    format!("{:#}\n", schema_value())
}

fn schema_value() -> serde_json::Value {
    let mut schema = schemars::schema_for!(PlanSections).to_value();
    schema["title"] = "Stampede plan".into();
    adapt(&mut schema, "AppSection", &["name", "needs"], &[]);
    schema
}

#[cfg(test)]
mod tests;
