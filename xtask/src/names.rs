//! Names of types: one that crates give to others stands for one thing in the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::files::tracked;

pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in tracked(root) {
        let place = file.display().to_string();
        if !place.starts_with("crates/") || !place.contains("/src/") || !place.ends_with(".rs") {
            continue;
        }
        for name in fs::read_to_string(root.join(&file)).unwrap_or_default().lines().filter_map(declared) {
            places.entry(name.to_owned()).or_default().push(place.clone());
        }
    }
    problems(&places)
}

fn problems(places: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let several = places.iter().filter(|(_, places)| places.len() > 1);
    let told = several.map(|(name, places)| {
        format!("the type {name} is declared in {}: give each a name of its own", places.join(" and in "))
    });
    told.collect()
}

/// The type that a line declares for other crates.
fn declared(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(*kind))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_thing() {
        for (line, expected) in [
            ("pub struct Order {", Some("Order")),
            ("    pub enum Step<T> {", Some("Step")),
            ("pub(crate) struct Order;", None),
            ("pub fn order() {}", None),
        ] {
            assert_eq!(declared(line), expected, "{line}");
        }
        let places = |name: &str, of: &[&str]| (name.to_owned(), of.iter().map(|place| (*place).to_owned()).collect());
        let places = BTreeMap::from([places("A", &["a", "b"]), places("B", &["a"])]);
        assert_eq!(problems(&places), ["the type A is declared in a and in b: give each a name of its own"]);
    }
}
