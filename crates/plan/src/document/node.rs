//! A YAML document with the place of every key and value, read within bounds.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, Options, Spanned, UserMessageFormatter};

use crate::mistake::Mistakes;

/// A value of a document.
#[derive(Debug)]
pub(super) enum Node {
    Null,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

/// The most characters of a value that are shown.
const SHOWN: usize = 60;

impl Node {
    /// A scalar for a message; nothing of what holds others.
    pub(super) fn shown(&self) -> String {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Null | Self::List(_) | Self::Map(_) => String::new(),
        };
        let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if text.chars().count() > SHOWN {
            shown.push_str("...");
        }
        shown
    }
}

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Spanned<Node>, Error> {
    serde_saphyr::from_str_with_options(text, bounds())
}

/// Reads a document into a type, whose visitors are erased: so the reader of YAML is compiled once, and not once for each of a
/// plan's types, which took 0.3 MB more of the program (docs/static-program.md). An error within a value keeps the line in its text alone.
pub(crate) fn deserialize<T: DeserializeOwned>(text: &str, options: Options) -> Result<T, Error> {
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
        let mut yaml = <dyn erased_serde::Deserializer<'_>>::erase(yaml);
        erased_serde::deserialize(&mut yaml).map_err(|error| Error::custom(innermost(&error.to_string())))
    })
}

/// What is wrong and where, without the places of all that holds it: each value that is left because of a mistake within it adds
/// its own.
fn innermost(text: &str) -> &str {
    const AT: &str = " at line ";
    text.match_indices(AT).nth(1).map_or(text, |(next, _)| &text[..next])
}

/// What such a file never needs more of. Aliases are counted after they are followed, so that few bytes cannot become many.
pub(super) fn bounds() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            flow_nesting_limit: 16,
            max_nodes: 20_000,
            max_events: 50_000,
            max_documents: 1,
            max_aliases: 200,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 200,
        },
    }
}

/// An error of the YAML as a mistake with its place.
pub(super) fn mistake(error: &Error, place: &str) -> Mistakes {
    let text = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let (place, text) = match error.location() {
        // The place is told already.
        Some(at) if at.line() > 0 => {
            (format!("{place}:{}:{}", at.line(), at.column()), text.split(" at line ").next().unwrap_or_default())
        }
        _ => (place.to_owned(), text.as_str()),
    };
    Mistakes::one(place, format!("is not YAML that can be used: {text}"), "correct it there")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn a_mistake_within_values_has_one_place() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            #[expect(dead_code, reason = "it is read, and that is the test")]
            path: String,
        }
        #[derive(Debug, Deserialize)]
        struct Outer {
            #[expect(dead_code, reason = "it is read, and that is the test")]
            all: Vec<Inner>,
        }
        let text = "all:\n  - path: /\n    pth: /\n";
        let error = deserialize::<Outer>(text, Options::default()).unwrap_err().to_string();
        assert_eq!(error, "unknown field `pth`, expected one of path at line 3, column 5");
    }
}
