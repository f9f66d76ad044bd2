//! Files that are written by hand, in YAML. The types of a file's sections are its only description: the JSON Schema that
//! editors use is made from them, and a file is checked with that same schema, so that all keys and types that are wrong are
//! reported together with their places. serde, which stops at the first, then reads what is known to fit.

mod node;
mod place;
mod shape;
mod text;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Spanned;

use self::node::Node;
pub(crate) use self::node::deserialize;
pub(crate) use self::place::Place;
pub(crate) use self::text::{Text, named, scalar, texts};
use crate::mistake::Mistakes;

/// A file is written by hand; one of more bytes is something else.
const MOST_BYTES: u64 = 1 << 20;

/// What a kind of file may hold.
pub(crate) struct Grammar {
    /// Its JSON Schema.
    pub(crate) schema: Value,
    /// What such a file is: `a plan`.
    pub(crate) is: &'static str,
    /// How one begins.
    pub(crate) begin: &'static str,
}

/// The text of a file and where everything in it stands.
#[derive(Debug)]
pub(crate) struct Document {
    file: String,
    root: Spanned<Node>,
}

impl Document {
    /// All of it.
    pub(crate) fn place(&self) -> Place<'_> {
        Place::new(&self.file, &self.root)
    }

    /// What mistakes call the file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

/// The text of a file, within bounds.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// Reads the text of a file.
///
/// # Errors
///
/// The first error of its YAML, or all keys and types that are wrong.
pub(crate) fn read<T: DeserializeOwned>(text: &str, file: &str, grammar: &Grammar) -> Result<(T, Document), Mistakes> {
    let mistake = |error| node::mistake(&error, file);
    let document = Document { file: file.to_owned(), root: node::parse(text).map_err(mistake)? };
    shape::check(&document, grammar)?;
    Ok((node::deserialize(text, node::bounds()).map_err(mistake)?, document))
}

/// Takes keys of a section out of a schema, which files of this kind do not have, and makes others necessary. What only those
/// keys referred to goes too.
pub(crate) fn adapt(schema: &mut Value, section: &str, without: &[&str], with: &[&str]) {
    let section = &mut schema["$defs"][section];
    if let Some(keys) = section["properties"].as_object_mut() {
        keys.retain(|key, _| !without.contains(&key.as_str()));
    }
    let mut required = section["required"].as_array().cloned().unwrap_or_default();
    required.extend(with.iter().map(|key| Value::from(*key)));
    section["required"] = required.into();
    let text = schema.to_string();
    if let Some(sections) = schema["$defs"].as_object_mut() {
        sections.retain(|name, _| text.contains(&format!("/$defs/{name}\"")));
    }
}
