//! Links: every relative link of every document leads to a file, and its anchor to a heading.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::document::Document;
use super::{CONTENTS, Documents};

/// Where readers begin.
const FIRST: [&str; 2] = ["README.md", CONTENTS];

/// All Markdown that git keeps.
pub(crate) fn documents(root: &Path) -> Documents {
    let mut documents = BTreeMap::new();
    for path in crate::files::tracked(root) {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".md")
            && !name.starts_with(".github")
            && let Ok(text) = fs::read_to_string(root.join(&path))
        {
            documents.insert(name, Document::read(&text));
        }
    }
    documents
}

pub(crate) fn check(root: &Path) -> Vec<String> {
    let documents = documents(root);
    let mut problems = Vec::new();
    for (path, document) in &documents {
        problems.extend(document.links().filter_map(|target| problem(root, path, target, &documents)));
    }
    let reached = reached(&documents);
    let unread = documents.keys().filter(|path| path.starts_with("docs/") && !reached.contains(path.as_str()));
    problems.extend(unread.map(|path| format!("{path} is linked from no document; add it to {CONTENTS}")));
    problems
}

fn problem(root: &Path, from: &str, target: &str, documents: &Documents) -> Option<String> {
    if is_elsewhere(target) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { from.to_owned() } else { joined(from, file) };
    if !root.join(&path).exists() {
        return Some(format!("{from} links to {target}: there is no {path}"));
    }
    let document = documents.get(&path).filter(|_| !anchor.is_empty())?;
    (!document.has_anchor(anchor)).then(|| format!("{from} links to {target}: {path} has no heading #{anchor}"))
}

/// Documents that are reached from the first ones by links.
fn reached(documents: &Documents) -> BTreeSet<&str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<String> = FIRST.map(str::to_owned).to_vec();
    while let Some(path) = next.pop() {
        let Some((path, document)) = documents.get_key_value(&path) else { continue };
        if reached.insert(path.as_str()) {
            let files = document.links().filter(|target| !is_elsewhere(target));
            next.extend(files.map(|target| joined(path, target.split('#').next().unwrap_or_default())));
        }
    }
    reached
}

/// An address of the web, which no build looks for.
pub(crate) fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// A relative path of a document, from the root.
pub(crate) fn joined(from: &str, to: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_and_lost_documents_are_problems() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("docs")).unwrap();
        for (path, text) in [
            ("README.md", "# A\n\n[b](docs/b.md#b-c) [gone](docs/gone.md) [web](https://example.org/x)\n"),
            ("docs/b.md", "# B\n\n## B c\n\n[up](../README.md#z) [here](#b-c) [there](#d)\n"),
            ("docs/lost.md", "# Lost\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let git = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(root).status().unwrap();
        assert!(git.success());
        assert_eq!(
            check(root),
            [
                "README.md links to docs/gone.md: there is no docs/gone.md",
                "docs/b.md links to ../README.md#z: README.md has no heading #z",
                "docs/b.md links to #d: docs/b.md has no heading #d",
                "docs/lost.md is linked from no document; add it to docs/README.md",
            ]
        );
    }
}
