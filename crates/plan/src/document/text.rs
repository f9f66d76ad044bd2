//! Scalars as they were written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// A scalar as it was written: `0.5`, `256Mi` and `"8"` are texts that flags could have held.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub(crate) struct Text(pub(crate) String);

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

/// A section of which only the name is there (`postgres:`) is one with its defaults.
pub(crate) fn named<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Some(Option::<T>::deserialize(from)?.unwrap_or_default()))
}

/// Scalars as the texts that they are.
pub(crate) fn texts(values: BTreeMap<String, Text>) -> BTreeMap<String, String> {
    values.into_iter().map(|(name, Text(value))| (name, value)).collect()
}

/// A text that YAML reads as it is; in quotes, as JSON writes them, unless it is a plain word.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "._/-".contains(character))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_would_read_otherwise_is_quoted() {
        for (text, written) in [
            ("bin/console", "bin/console"),
            ("/a", "/a"),
            ("GET /", "\"GET /\""),
            ("cache:warmup", "\"cache:warmup\""),
            ("--no-dev", "\"--no-dev\""),
            ("0", "\"0\""),
            ("false", "\"false\""),
            ("No", "\"No\""),
            ("", "\"\""),
            ("a\"b", "\"a\\\"b\""),
        ] {
            assert_eq!(scalar(text), written);
            assert_eq!(serde_saphyr::from_str::<String>(written).unwrap(), text);
        }
    }
}
