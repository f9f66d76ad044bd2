//! Where something stands that is mistaken.

use std::fmt;

use serde_saphyr::{Location, Spanned};

use super::node::Node;

/// A value in a file, with its key: `stampede.yaml:3:10 app.index web/index.php`.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    file: &'a str,
    /// None where nothing is written: a folder that was looked at.
    at: Option<Location>,
    key: String,
    value: Option<&'a Node>,
}

impl<'a> Place<'a> {
    /// All of a document.
    pub(super) fn new(file: &'a str, root: &'a Spanned<Node>) -> Self {
        Self { file, at: Some(root.referenced), key: String::new(), value: Some(&root.value) }
    }

    /// What is no value of a file.
    pub(crate) fn of(name: &'a str) -> Self {
        Self { file: name, at: None, key: String::new(), value: None }
    }

    /// A key alone, whatever its value is.
    pub(super) fn name(&self, name: &Spanned<String>) -> Self {
        let key = if self.key.is_empty() { name.value.clone() } else { format!("{}.{}", self.key, name.value) };
        Self { file: self.file, at: Some(name.referenced), key, value: None }
    }

    /// The last key alone: `cpus`.
    pub(super) fn last(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }

    /// The value of a key, where one is given.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let Node::Map(entries) = self.value? else { return None };
        let (key, node) = entries.iter().find(|(key, node)| key.value == name && !matches!(node.value, Node::Null))?;
        Some(self.name(key).with(node))
    }

    /// The value of a key, or what lacks it.
    pub(crate) fn key(&self, name: &str) -> Self {
        self.get(name).unwrap_or_else(|| self.clone())
    }

    /// An item of a list, from 0.
    pub(crate) fn item(&self, index: usize) -> Self {
        match self.value {
            Some(Node::List(items)) => items.get(index).map(|item| {
                let key = format!("{}[{index}]", self.key);
                Self { key, ..self.clone() }.with(item)
            }),
            _ => None,
        }
        .unwrap_or_else(|| self.clone())
    }

    pub(super) fn with(self, node: &'a Spanned<Node>) -> Self {
        Self { at: Some(node.referenced), value: Some(&node.value), ..self }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, at, key, value } = self;
        f.write_str(file)?;
        if let Some(at) = at {
            write!(f, ":{}:{}", at.line(), at.column())?;
        }
        let value = value.map(Node::shown).unwrap_or_default();
        [key, &value].into_iter().filter(|part| !part.is_empty()).try_for_each(|part| write!(f, " {part}"))
    }
}

impl From<Place<'_>> for String {
    fn from(place: Place<'_>) -> Self {
        place.to_string()
    }
}

impl From<&Place<'_>> for String {
    fn from(place: &Place<'_>) -> Self {
        place.to_string()
    }
}
