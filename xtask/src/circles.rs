//! Circles of modules: files of a crate that use each other in a ring, so that none can be read, moved or tested without the others.
//!
//! It reads the paths that begin with `crate`, `super` or `self`, follows what modules give on by `pub use`, and knows neither macros nor
//! traits. A module and those below it may use each other: they are one thing in several files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::files::tracked;

/// Crates in which some files still use each other, with how many such rings they have at the most.
const STILL: [(&str, usize); 8] = [
    ("agent", 1),
    ("cgroup", 1),
    ("core", 2),
    ("gateway", 1),
    ("load", 1),
    ("report", 3),
    ("runtimes", 2),
    ("wire", 1),
];

pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for file in tracked(root) {
        let path = file.display().to_string();
        let Some((name, inner)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
            continue;
        };
        if let Some(inner) = inner.strip_suffix(".rs") {
            let text = fs::read_to_string(root.join(&file)).unwrap_or_default();
            crates.entry(name.to_owned()).or_default().insert(module(inner), without_tests(&text));
        }
    }
    crates.iter().flat_map(|(name, files)| problems(name, &rings(files), &STILL)).collect()
}

fn problems(name: &str, rings: &[Vec<String>], still: &[(&str, usize)]) -> Vec<String> {
    let allowed = still.iter().find(|(known, _)| *known == name).map_or(0, |(_, rings)| *rings);
    if rings.len() > allowed {
        let told = |ring: &Vec<String>| {
            format!("{name}: {} use each other: move what they share into a file that uses neither", ring.join(", "))
        };
        return rings.iter().map(told).collect();
    }
    let fewer = format!("{name} has {} rings of files now: write that into xtask/src/circles.rs", rings.len());
    if rings.len() < allowed { vec![fewer] } else { Vec::new() }
}

/// A module by the names on the way to it; the crate itself has none.
type Module = Vec<String>;

fn module(file: &str) -> Module {
    if file == "lib" || file == "main" { Vec::new() } else { file.split('/').map(str::to_owned).collect() }
}

/// The text without comments and without what stands behind the first `#[cfg(test)]` of a line.
fn without_tests(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]") || line.contains("mod tests;"));
    lines.filter(|line| !line.trim_start().starts_with("//")).fold(String::new(), |all, line| all + line + "\n")
}

/// The rings, each with its modules by name.
fn rings(files: &BTreeMap<Module, String>) -> Vec<Vec<String>> {
    let given_on: BTreeMap<&Module, BTreeMap<String, Module>> =
        files.iter().map(|(module, text)| (module, given_on(files, module, text))).collect();
    let mut uses: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in files {
        for path in paths(text, &["crate", "super", "self"]) {
            let (mut place, item) = resolve(files, module, &path);
            let mut seen = BTreeSet::new();
            // To where the item is declared.
            while let Some(next) = item.as_ref().and_then(|item| given_on.get(&place)?.get(item)) {
                if !seen.insert(place.clone()) {
                    break;
                }
                place = next.clone();
            }
            let is_related = place.starts_with(module) || module.starts_with(&place);
            if !is_related {
                uses.entry(module).or_default().insert(place);
            }
        }
    }
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        files.keys().map(|module| (module, reached(&uses, module))).collect();
    let mut rings: BTreeSet<Vec<String>> = BTreeSet::new();
    for module in files.keys() {
        let ring = reached[module].iter().filter(|other| reached[**other].contains(module));
        let names: Vec<String> = ring.map(|module| module.join("::")).collect();
        if names.len() > 1 {
            rings.insert(names);
        }
    }
    rings.into_iter().collect()
}

/// All modules that a module uses, and those that they use.
fn reached<'a>(uses: &'a BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<&'a Module> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&Module> = uses.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if all.insert(module) {
            open.extend(uses.get(module).into_iter().flatten());
        }
    }
    all
}

/// What a module gives on under its own name, by item.
fn given_on(files: &BTreeMap<Module, String>, module: &Module, text: &str) -> BTreeMap<String, Module> {
    let mut items = BTreeMap::new();
    for statement in text.split(';') {
        let Some((before, used)) = statement.rsplit_once("use ") else { continue };
        if before.trim_end().rsplit('\n').next().is_none_or(|line| !line.trim_start().starts_with("pub")) {
            continue;
        }
        let used = used.trim();
        let first = used.split("::").next().unwrap_or_default();
        let is_below = files.contains_key(&[&module[..], &[first.to_owned()]].concat());
        let used = if is_below { format!("self::{used}") } else { used.to_owned() };
        for path in paths(&used, &["crate", "super", "self"]) {
            if let (place, Some(item)) = resolve(files, module, &path) {
                items.insert(item, place);
            }
        }
    }
    items
}

/// The module that a path leads to, and the item in it that it names.
fn resolve(files: &BTreeMap<Module, String>, from: &Module, path: &[String]) -> (Module, Option<String>) {
    let mut place = if path.first().is_some_and(|first| first == "crate") { Module::new() } else { from.clone() };
    for part in path {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => drop(place.pop()),
            name => {
                let below = [&place[..], &[name.to_owned()]].concat();
                if !files.contains_key(&below) {
                    return (place, Some(name.to_owned()));
                }
                place = below;
            }
        }
    }
    (place, None)
}

/// The paths in a text that begin with one of these words, each of a group in braces by itself.
fn paths(text: &str, roots: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in roots {
        let begin = format!("{root}::");
        for (at, _) in text.match_indices(&begin) {
            let is_word = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
            if !text[..at].ends_with(is_word) {
                follow(&text[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path, and returns what follows it.
fn follow<'a>(mut text: &'a str, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let length = path.len();
    loop {
        text = text.trim_start();
        let end = text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
        if end > 0 {
            path.push(text[..end].to_owned());
            text = &text[end..];
            match text.strip_prefix("::") {
                Some(rest) => text = rest,
                None => break found.push(path.clone()),
            }
        } else if let Some(mut group) = text.strip_prefix('{') {
            loop {
                group = follow(group, path, found).trim_start();
                // Another name for an item is no path of its own.
                let end = group.find([',', '}']).unwrap_or(group.len());
                group = &group[end..];
                match group.strip_prefix(',') {
                    Some(rest) => group = rest,
                    None => break text = group.strip_prefix('}').unwrap_or(group),
                }
                if let Some(rest) = group.trim_start().strip_prefix('}') {
                    text = rest;
                    break;
                }
            }
            break;
        } else {
            break found.push(path.clone());
        }
    }
    path.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        rings(&files.iter().map(|(file, text)| (module(file), without_tests(text))).collect())
    }

    #[test]
    fn files_that_use_each_other_are_a_ring() {
        let ring = [vec!["a".to_owned(), "b".to_owned()]];
        for (name, files, expected) in [
            ("each other", vec![("a", "use crate::b::B;"), ("b", "use crate::a::{self, A};")], &ring[..]),
            ("one way", vec![("a", "use crate::b::{B, c};"), ("b", "struct B;")], &[]),
            ("in tests alone", vec![("a", "use crate::b::B;"), ("b", "#[cfg(test)]\nuse crate::a::A;")], &[]),
            ("in a comment", vec![("a", "use crate::b::B;"), ("b", "/// See [`crate::a::A`].")], &[]),
            (
                "by what the crate gives on",
                vec![("lib", "pub use a::A;"), ("a", "use super::b::B;"), ("b", "fn b(_: crate::A) {}")],
                &ring,
            ),
            ("a module and one below it", vec![("a", "use self::b::B;"), ("a/b", "use super::A;")], &[]),
            (
                "by a third",
                vec![("a", "use crate::{c::C, d};"), ("b", "use crate::a::A;"), ("c", "use crate::b::B as Other;")],
                &[vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]],
            ),
        ] {
            assert_eq!(rings_of(&files), expected, "{name}");
        }
    }

    #[test]
    fn a_crate_may_have_as_many_as_it_still_has() {
        let ring = vec!["a".to_owned(), "b".to_owned()];
        let told = |rings: &[Vec<String>], still: &[(&str, usize)]| problems("plan", rings, still);
        assert!(told(std::slice::from_ref(&ring), &[("plan", 1)]).is_empty());
        assert!(told(&[], &[]).is_empty());
        assert_eq!(
            told(&[ring], &[]),
            ["plan: a, b use each other: move what they share into a file that uses neither"]
        );
        assert_eq!(told(&[], &[("plan", 1)]), ["plan has 0 rings of files now: write that into xtask/src/circles.rs"]);
    }
}
