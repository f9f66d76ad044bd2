//! What a plan says of PHP's extensions and settings: those that are needed beside the owner's, or `minimal`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use stampede_core::PhpOrigin;

use crate::document::Text;

/// The word that leaves out what PHP's owner has enabled.
const MINIMAL: &str = "minimal";

/// Extensions: a list of names, `minimal`, or both: `[minimal, intl]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtensionsEntry {
    pub(crate) origin: PhpOrigin,
    /// Those that are named; none where nothing but `minimal` is said.
    pub(crate) names: Option<Vec<String>>,
}

/// Settings: a map, `minimal`, or both: `{minimal: true, memory_limit: 1G}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IniEntry {
    pub(crate) origin: PhpOrigin,
    pub(crate) settings: BTreeMap<String, String>,
}

impl Default for ExtensionsEntry {
    fn default() -> Self {
        Self { origin: PhpOrigin::Owner, names: None }
    }
}

impl Default for IniEntry {
    fn default() -> Self {
        Self { origin: PhpOrigin::Owner, settings: BTreeMap::new() }
    }
}

impl<'de> Deserialize<'de> for ExtensionsEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = ExtensionsEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of extensions, or minimal")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ExtensionsEntry, E> {
                match text {
                    MINIMAL => Ok(ExtensionsEntry { origin: PhpOrigin::Minimal, names: None }),
                    other => Err(E::custom(format!("write [{other}], a list, or minimal"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ExtensionsEntry, A::Error> {
                let mut entry = ExtensionsEntry { origin: PhpOrigin::Owner, names: Some(Vec::new()) };
                while let Some(name) = list.next_element::<String>()? {
                    match name.as_str() {
                        MINIMAL => entry.origin = PhpOrigin::Minimal,
                        _ => entry.names.get_or_insert_default().push(name),
                    }
                }
                Ok(entry)
            }
        }

        deserializer.deserialize_any(Names)
    }
}

impl<'de> Deserialize<'de> for IniEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Settings;

        impl<'de> Visitor<'de> for Settings {
            type Value = IniEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("settings with their values, or minimal")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<IniEntry, E> {
                match text {
                    MINIMAL => Ok(IniEntry { origin: PhpOrigin::Minimal, settings: BTreeMap::new() }),
                    _ => Err(E::custom("write {name: value}, or minimal")),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IniEntry, A::Error> {
                let mut entry = IniEntry::default();
                while let Some((name, Text(value))) = map.next_entry::<String, Text>()? {
                    match (name.as_str(), value.as_str()) {
                        (MINIMAL, "true") => entry.origin = PhpOrigin::Minimal,
                        (MINIMAL, "false") => entry.origin = PhpOrigin::Owner,
                        _ => {
                            entry.settings.insert(name, value);
                        }
                    }
                }
                Ok(entry)
            }
        }

        deserializer.deserialize_any(Settings)
    }
}

impl JsonSchema for ExtensionsEntry {
    fn schema_name() -> Cow<'static, str> {
        "Extensions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string", "enum": [MINIMAL]}, {"type": "array", "items": {"type": "string"}}]})
    }
}

impl JsonSchema for IniEntry {
    fn schema_name() -> Cow<'static, str> {
        "Ini".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let settings = generator.subschema_for::<BTreeMap<String, Text>>();
        json_schema!({"anyOf": [{"type": "string", "enum": [MINIMAL]}, settings]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_beside_the_owners_or_minimal() {
        use PhpOrigin::{Minimal, Owner};
        for (yaml, origin, names) in [
            ("[mbstring, intl]", Owner, Some("mbstring intl")),
            ("[]", Owner, Some("")),
            ("minimal", Minimal, None),
            ("[minimal, intl]", Minimal, Some("intl")),
            ("[minimal]", Minimal, Some("")),
        ] {
            let entry: ExtensionsEntry = serde_saphyr::from_str(yaml).unwrap();
            let read = entry.names.as_ref().map(|names| names.join(" "));
            assert_eq!((entry.origin, read.as_deref()), (origin, names), "{yaml}");
        }
        assert!(serde_saphyr::from_str::<ExtensionsEntry>("intl").unwrap_err().to_string().contains("[intl]"));
    }

    #[test]
    fn settings_are_over_the_owners_or_minimal() {
        use PhpOrigin::{Minimal, Owner};
        for (yaml, origin, settings) in [
            ("{memory_limit: 1G}", Owner, "memory_limit=1G"),
            ("minimal", Minimal, ""),
            ("{minimal: true, precision: 14}", Minimal, "precision=14"),
        ] {
            let entry: IniEntry = serde_saphyr::from_str(yaml).unwrap();
            let read: Vec<String> = entry.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!((entry.origin, read.join(" ").as_str()), (origin, settings), "{yaml}");
        }
    }
}
