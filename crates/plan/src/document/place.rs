//! Where something stands that is mistaken.

use std::fmt;

use serde_saphyr::Spanned;

use super::node::Node;
use super::spot;

/// A value in a file, with its key: `stampede.yaml:3:10 app.index web/index.php`.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    file: &'a str,
    /// None where nothing is written: a folder that was looked at.
    node: Option<&'a Spanned<Node>>,
    key: String,
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a str, root: &'a Spanned<Node>) -> Self {
        Self { file, node: Some(root), key: String::new() }
    }

    /// What is no value of a file.
    pub(crate) fn of(name: &'a str) -> Self {
        Self { file: name, node: None, key: String::new() }
    }

    /// The value of a key, where one is given.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let Node::Map(entries) = &self.node?.value else { return None };
        let (_, node) = entries.iter().find(|(key, value)| key.value == name && !matches!(value.value, Node::Null))?;
        let key = if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) };
        Some(Self { file: self.file, node: Some(node), key })
    }

    /// The value of a key, or what lacks it.
    pub(crate) fn key(&self, name: &str) -> Self {
        self.get(name).unwrap_or_else(|| self.clone())
    }

    /// An item of a list, from 0.
    pub(crate) fn item(&self, index: usize) -> Self {
        match self.node.map(|node| &node.value) {
            Some(Node::List(items)) if index < items.len() => {
                Self { file: self.file, node: items.get(index), key: format!("{}[{index}]", self.key) }
            }
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, node, key } = self;
        let Some(node) = node else { return f.write_str(file) };
        f.write_str(&spot(file, node.referenced.line(), node.referenced.column()))?;
        let value = node.value.shown();
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
