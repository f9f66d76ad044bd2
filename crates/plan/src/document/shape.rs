//! Checks a document with a JSON Schema, as far as the schemas of sections go: keys, types and words.

use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::node::Node;
use super::{Document, Grammar, Place};
use crate::mistake::{Gathered, Mistakes};
use crate::suggestion::suggest;

/// Finds every key and type that is wrong.
pub(super) fn check(document: &Document, grammar: &Grammar) -> Result<(), Mistakes> {
    let Grammar { schema, is, begin } = grammar;
    let mut shape = Shape { root: schema, mistakes: Gathered::default() };
    let place = document.place();
    match &document.root.value {
        node @ Node::Map(_) => shape.check(&place, node, schema),
        Node::Null => shape.mistakes.add(place, "is empty", *begin),
        _ => shape.mistakes.add(place, format!("is not {is}"), *begin),
    }
    shape.mistakes.finish(Ok(()))
}

struct Shape<'a> {
    root: &'a Value,
    mistakes: Gathered,
}

impl<'a> Shape<'a> {
    fn check(&mut self, place: &Place<'_>, node: &Node, schema: &'a Value) {
        let branches = self.branches(schema);
        let Some(schema) = branches.iter().find(|branch| accepts(branch, node)) else {
            let wanted: Vec<_> = branches.iter().flat_map(|branch| types(branch)).collect();
            let example = example(schema).or_else(|| branches.iter().find_map(|branch| example(branch)));
            self.wrong(place, node, &wanted, example);
            return;
        };
        match node {
            Node::Map(entries) => self.check_map(place, entries, schema),
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = schema.get("items") {
                        self.check(&place.item(index), &item.value, schema);
                    }
                }
            }
            Node::Text(word) => {
                let words = words(schema);
                if !words.is_empty() && !words.contains(&word.as_str()) {
                    self.mistakes.add(place, "is not known", suggest(word, words));
                }
            }
            Node::Null | Node::Boolean(_) | Node::Integer(_) | Node::Number(_) => {}
        }
    }

    fn check_map(&mut self, place: &Place<'_>, entries: &[(Spanned<String>, Spanned<Node>)], schema: &'a Value) {
        let nothing = Map::new();
        let known = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required.filter(|name| !entries.iter().any(|(key, _)| key.value == *name)) {
            let example = known.unwrap_or(&nothing).get(name).and_then(example);
            let value = example.map(|example| format!(": {example}")).unwrap_or_default();
            self.mistakes.add(place, format!("has no {name}"), format!("add {name}{value}"));
        }
        for (key, value) in entries {
            let name = place.name(key);
            let more = schema.get("additionalProperties").filter(|more| more.is_object());
            match known.and_then(|known| known.get(&key.value)).or(more) {
                Some(schema) => self.check(&name.with(value), &value.value, schema),
                None => {
                    let names: Vec<_> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    self.mistakes.add(name, "is not known", suggest(&key.value, names));
                }
            }
        }
    }

    fn wrong(&mut self, place: &Place<'_>, node: &Node, wanted: &[&str], example: Option<String>) {
        const NAMES: [(&str, &str); 6] = [
            ("object", "keys with values"),
            ("array", "a list"),
            ("string", "a text"),
            ("integer", "a whole number"),
            ("number", "a number"),
            ("boolean", "true or false"),
        ];
        let any_scalar = ["string", "number", "boolean"].iter().all(|kind| wanted.contains(kind));
        let names: Vec<_> = match any_scalar {
            true => vec!["one value"],
            false => NAMES.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, name)| *name).collect(),
        };
        let is = match node {
            Node::Null => "is nothing",
            Node::List(_) => "is a list",
            Node::Map(_) => "has keys of its own",
            Node::Boolean(_) => "is true or false",
            Node::Integer(_) | Node::Number(_) => "is a number",
            Node::Text(_) => "is a text",
        };
        let fix = match example {
            Some(example) => format!("for example {}: {example}", place.last()),
            None => format!("give it {}", names.join(" or ")),
        };
        self.mistakes.add(place, format!("{is} where {} must be", names.join(" or ")), fix);
    }

    /// The alternatives that a schema gives, itself where it gives none. Words have alternatives too, but of one type.
    fn branches(&self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        match schema.get("anyOf").and_then(Value::as_array) {
            Some(branches) => branches.iter().flat_map(|branch| self.branches(branch)).collect(),
            None => vec![schema],
        }
    }

    /// What a reference refers to.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
        name.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(schema)
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        // Words, each described by itself.
        _ if schema.get("oneOf").is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

fn accepts(schema: &Value, node: &Node) -> bool {
    let types = types(schema);
    let any = |names: &[&str]| names.iter().any(|name| types.contains(name));
    match node {
        Node::Null => any(&["null"]),
        Node::Boolean(_) => any(&["boolean"]),
        Node::Integer(_) => any(&["integer", "number"]),
        Node::Number(_) => any(&["number"]),
        Node::Text(_) => any(&["string"]),
        Node::List(_) => any(&["array"]),
        Node::Map(_) => any(&["object"]),
    }
}

/// The words that a schema allows; none where it allows any text.
fn words(schema: &Value) -> Vec<&str> {
    let plain = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let described = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten().flat_map(|branch| {
        let one = branch.get("const").and_then(Value::as_str);
        let several = branch.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        one.into_iter().chain(several)
    });
    plain.chain(described).collect()
}

fn example(schema: &Value) -> Option<String> {
    match schema.get("examples")?.get(0)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
