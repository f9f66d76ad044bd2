//! Names of types: one that crates give to others stands for one thing in the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::files::tracked;

/// Names that still stand for several things. None is added, and one that stands for one thing is taken out.
const SEVERAL: [&str; 26] = [
    "Calibration",
    "Cause",
    "ChangeError",
    "Counters",
    "Decision",
    "Failure",
    "Found",
    "Limits",
    "LoadView",
    "Look",
    "Moment",
    "Order",
    "Outcome",
    "Population",
    "Program",
    "Progress",
    "Record",
    "Scenario",
    "Service",
    "Session",
    "SessionError",
    "Standing",
    "Stop",
    "Table",
    "Test",
    "Unit",
];

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
    problems(&places, &SEVERAL)
}

fn problems(places: &BTreeMap<String, Vec<String>>, several: &[&str]) -> Vec<String> {
    let is_known = |name: &str| several.contains(&name);
    let again = places.iter().filter(|(name, places)| places.len() > 1 && !is_known(name)).map(|(name, places)| {
        format!("the type {name} is declared in {}: give each a name of its own", places.join(" and in "))
    });
    let once = several.iter().filter(|name| places.get(**name).is_none_or(|places| places.len() < 2));
    let once = once.map(|name| format!("{name} stands for one thing now: take it out of xtask/src/names.rs"));
    again.chain(once).collect()
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
        let places = BTreeMap::from([places("A", &["a", "b"]), places("B", &["a", "b"]), places("C", &["a"])]);
        let told = problems(&places, &["A", "C"]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("B is declared in a and in b") && told[1].starts_with("C stands for one thing"));
    }
}
