//! `cargo xtask site PROGRAM`: the documents of the repository, and a reference that the program prints about itself, as pages in
//! `target/site` that open from a disk, without a network. A link that leads nowhere is a problem, and so is a document that no other
//! one links to ([ADR 48](../../docs/adr/0048-a-site-made-by-xtask.md)).

mod document;
mod links;
mod reference;
mod search;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use self::document::Document;
pub(crate) use self::links::check;

/// Its sections with their links are the site's contents.
const CONTENTS: &str = "docs/README.md";
const TEMPLATE: &str = include_str!("site/page.html");
const STYLE: &str = include_str!("site/style.css");
const SCRIPT: &str = include_str!("site/site.js");

/// All documents by their paths from the root, those of the reference among them.
type Documents = BTreeMap<String, Document>;

/// What the template is given.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    /// From the page's folder to the site's.
    up: &'a str,
    sections: &'a [Section],
    content: &'a str,
    is_first: bool,
}

#[derive(Serialize)]
struct Section {
    title: String,
    entries: Vec<Entry>,
    is_open: bool,
}

#[derive(Serialize)]
struct Entry {
    title: String,
    href: String,
    is_here: bool,
}

/// Writes the site, and gives how many pages it has.
pub(crate) fn build(root: &Path, program: &Path) -> Result<usize, Vec<String>> {
    let problems = check(root);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut documents = links::documents(root);
    let generated = reference::documents(root, program).map_err(|problem| vec![problem])?;
    let listed: Vec<(String, String)> =
        generated.iter().map(|(path, document)| (document.title.clone(), path.clone())).collect();
    documents.extend(generated);
    let out = root.join("target/site");
    write(root, &out, &documents, &listed).map_err(|error| vec![format!("{}: {error}", out.display())])?;
    Ok(documents.len())
}

fn write(root: &Path, out: &Path, documents: &Documents, listed: &[(String, String)]) -> std::io::Result<()> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    fs::create_dir_all(out)?;
    fs::write(out.join("style.css"), STYLE)?;
    fs::write(out.join("site.js"), SCRIPT)?;
    fs::write(out.join("search.js"), search::index(documents))?;
    let mut contents = documents.get(CONTENTS).map(Document::contents).unwrap_or_default();
    contents.push(("Reference, from the program".to_owned(), listed.to_vec()));

    let mut environment = Environment::new();
    environment.add_template("page.html", TEMPLATE).map_err(std::io::Error::other)?;
    let template = environment.get_template("page.html").map_err(std::io::Error::other)?;
    for (path, document) in documents {
        let here = page_of(path);
        let up = "../".repeat(here.matches('/').count());
        let sections: Vec<Section> = contents.iter().map(|(title, links)| section(title, links, path, &up)).collect();
        let html = document.html(&|target| resolved(root, path, target, documents));
        let page = Page {
            title: &document.title,
            up: &up,
            sections: &sections,
            content: &html,
            is_first: path == "README.md",
        };
        let page = template.render(Serde(page)).map_err(std::io::Error::other)?;
        let file = out.join(&here);
        fs::create_dir_all(file.parent().unwrap_or(out))?;
        fs::write(file, page)?;
        for target in document.links() {
            copy(root, out, path, target, documents)?;
        }
    }
    Ok(())
}

fn section(title: &str, links: &[(String, String)], here: &str, up: &str) -> Section {
    let entries: Vec<Entry> = links
        .iter()
        .map(|(title, path)| Entry {
            title: title.clone(),
            href: format!("{up}{}", page_of(path)),
            is_here: path == here,
        })
        .collect();
    let is_open = entries.iter().any(|entry| entry.is_here);
    Section { title: title.to_owned(), entries, is_open }
}

/// The page of a document: the same path, `index.html` for the first one.
fn page_of(path: &str) -> String {
    match path {
        "README.md" => "index.html".to_owned(),
        _ => format!("{}.html", path.trim_end_matches(".md")),
    }
}

/// Where a link of a page leads on the site; none where the site lacks that file, which is then only named.
fn resolved(root: &Path, from: &str, target: &str, documents: &Documents) -> Option<String> {
    if links::is_elsewhere(target) || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = links::joined(from, file);
    // A folder is what its README says of it.
    let document = documents.get_key_value(&path).or_else(|| documents.get_key_value(&format!("{path}/README.md")));
    let page = match document {
        Some((path, _)) => page_of(path),
        None if is_copied(root, &path) => path,
        None => return None,
    };
    let up = "../".repeat(from.matches('/').count());
    let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
    Some(format!("{up}{page}{anchor}"))
}

/// Pictures, schemas and sample reports come along; sources do not.
fn is_copied(root: &Path, path: &str) -> bool {
    path.starts_with("docs/") && root.join(path).is_file()
}

fn copy(root: &Path, out: &Path, from: &str, target: &str, documents: &Documents) -> std::io::Result<()> {
    let path = links::joined(from, target.split('#').next().unwrap_or_default());
    if links::is_elsewhere(target) || documents.contains_key(&path) || !is_copied(root, &path) {
        return Ok(());
    }
    let to: PathBuf = out.join(&path);
    fs::create_dir_all(to.parent().unwrap_or(out))?;
    fs::copy(root.join(&path), to).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#rrggbb`, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn text_has_the_contrast_that_wcag_aa_asks_for() {
        let schemes: Vec<&str> = STYLE.split("--paper:").skip(1).collect();
        assert_eq!(schemes.len(), 2, "a light and a dark scheme");
        for scheme in schemes {
            let scheme = format!("--paper:{scheme}");
            let colour = |name: &str| {
                let value = scheme.split(&format!("--{name}:")).nth(1).unwrap_or_else(|| panic!("no --{name}"));
                luminance(value.trim_start().split(';').next().unwrap())
            };
            for text in ["ink", "faint", "link"] {
                for ground in ["paper", "shade"] {
                    let (a, b) = (colour(text), colour(ground));
                    let ratio = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                    assert!(ratio >= 4.5, "{text} on {ground}: {ratio:.2}");
                }
            }
        }
    }

    #[test]
    fn links_lead_to_pages_and_copied_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("docs/adr")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        for (path, text) in [("docs/a.schema.json", "{}"), ("src/main.rs", "")] {
            fs::write(root.join(path), text).unwrap();
        }
        let documents: Documents = ["README.md", "docs/a.md", "docs/adr/1.md", "docs/b/README.md"]
            .map(|path| (path.to_owned(), Document::read("# A\n")))
            .into_iter()
            .collect();
        let rows = [
            ("README.md", "docs/a.md#b", Some("docs/a.html#b")),
            ("docs/a.md", "../README.md", Some("../index.html")),
            ("docs/adr/1.md", "../a.md", Some("../../docs/a.html")),
            ("docs/a.md", "a.schema.json", Some("../docs/a.schema.json")),
            ("docs/a.md", "../src/main.rs", None),
            ("docs/a.md", "b", Some("../docs/b/README.html")),
            ("docs/a.md", "#c", Some("#c")),
            ("docs/a.md", "https://example.org/", Some("https://example.org/")),
        ];
        for (from, target, to) in rows {
            assert_eq!(resolved(root, from, target, &documents).as_deref(), to, "{from} -> {target}");
        }
    }
}
