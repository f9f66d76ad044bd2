//! The libraries inside a program, from `cargo metadata`: their licences, and a bill of materials.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::json;

/// Files with the text of a licence begin so, whatever their case.
const TEXTS: [&str; 4] = ["licen", "copying", "copyright", "notice"];

/// What is inside beside crates.
const OTHERS: &str = "\
Rust standard library: MIT OR Apache-2.0, https://www.rust-lang.org
GNU C Library, in programs that are linked with it: LGPL-2.1-or-later. Its source is that of the distribution that built the program; the
program can be linked again with another version of it by scripts/static.sh from Stampede's source.
SQLite, in libsqlite3-sys: public domain, https://www.sqlite.org/copyright.html
";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Clone, Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    source: Option<String>,
    manifest_path: String,
    targets: Vec<Target>,
}

#[derive(Clone, Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

impl Package {
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

/// The program, its libraries for a target, and which of them each one uses.
struct Libraries {
    program: Package,
    libraries: Vec<Package>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Libraries {
    fn read(root: &Path, target: &str) -> Result<Self, String> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
            .current_dir(root)
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        Self::of(metadata)
    }

    fn of(metadata: Metadata) -> Result<Self, String> {
        let Metadata { mut packages, resolve: Resolve { nodes } } = metadata;
        let program =
            packages.iter().find(|package| package.name == "stampede").cloned().ok_or("no package stampede")?;
        // What only builds is not inside: build scripts, macros, and their own libraries.
        let macros: BTreeSet<&str> =
            packages.iter().filter(|package| package.is_macro()).map(|package| package.id.as_str()).collect();
        let inside = |dependency: &&Dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()) && !macros.contains(dependency.pkg.as_str())
        };
        let all: BTreeMap<String, BTreeSet<String>> = nodes
            .into_iter()
            .map(|node| (node.id, node.deps.iter().filter(inside).map(|dependency| dependency.pkg.clone()).collect()))
            .collect();
        let mut uses = BTreeMap::new();
        let mut open = vec![program.id.clone()];
        while let Some(id) = open.pop() {
            if uses.contains_key(&id) {
                continue;
            }
            let used = all.get(&id).cloned().unwrap_or_default();
            open.extend(used.iter().cloned());
            uses.insert(id, used);
        }
        packages.retain(|package| package.source.is_some() && uses.contains_key(&package.id));
        packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(Self { program, libraries: packages, uses })
    }
}

/// Each library with its licence, then each text once with the libraries that bring it.
pub(crate) fn licences(root: &Path, target: &str) -> Result<String, String> {
    let Libraries { libraries, .. } = Libraries::read(root, target)?;
    let mut rows = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for Package { name, version, license, manifest_path, .. } in &libraries {
        match license {
            Some(license) => rows.push_str(&format!("{name} {version}: {license}\n")),
            None => problems.push(format!("{name} {version} names no licence")),
        }
        for text in texts_in(Path::new(manifest_path).parent().unwrap_or(root)) {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|(_, a), (_, b)| a.cmp(b));
    let texts = texts.into_iter().map(|(text, of)| format!("\n{}\n{}:\n\n{text}\n", "-".repeat(79), of.join(", ")));
    Ok(format!("Libraries inside Stampede, and their licences.\n\n{OTHERS}{rows}{}", texts.collect::<String>()))
}

/// The texts of licences in a crate's folder.
fn texts_in(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = files
        .filter(|file| {
            let name = file.file_name().to_string_lossy().to_lowercase();
            TEXTS.iter().any(|text| name.starts_with(text)) && file.file_type().is_ok_and(|kind| kind.is_file())
        })
        .map(|file| file.path())
        .collect();
    found.sort();
    let text = |path| fs::read_to_string(path).ok().map(|text| text.replace("\r\n", "\n").trim().to_owned());
    found.iter().filter_map(text).filter(|text| !text.is_empty()).collect()
}

/// The bill of materials, as CycloneDX 1.5 (<https://cyclonedx.org/docs/1.5/json/>). Without a serial number and a time: the same commit
/// has the same bill.
pub(crate) fn bill(root: &Path, target: &str) -> Result<String, String> {
    let Libraries { program, libraries, uses } = Libraries::read(root, target)?;
    // Older crates write a slash between alternatives.
    let expression = |license: &str| license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ");
    let reference = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
    let component = |package: &Package, kind: &str| {
        json!({
            "type": kind,
            "bom-ref": reference(package),
            "name": package.name,
            "version": package.version,
            "description": package.description.as_deref().unwrap_or_default().trim(),
            "licenses": [{"expression": expression(package.license.as_deref().unwrap_or("NOASSERTION"))}],
            "purl": reference(package),
        })
    };
    let known: BTreeMap<&str, &Package> = libraries.iter().map(|package| (package.id.as_str(), package)).collect();
    let dependencies = libraries.iter().map(|package| {
        let used = uses.get(&package.id).into_iter().flatten().filter_map(|id| known.get(id.as_str()));
        json!({"ref": reference(package), "dependsOn": used.map(|used| reference(used)).collect::<Vec<_>>()})
    });
    // Crates of the workspace are the program.
    let own = uses.iter().filter(|(id, _)| !known.contains_key(id.as_str())).flat_map(|(_, used)| used);
    let direct: BTreeSet<String> = own.filter_map(|id| known.get(id.as_str())).map(|used| reference(used)).collect();
    let dependencies = std::iter::once(json!({"ref": reference(&program), "dependsOn": direct})).chain(dependencies);
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(&program, "application")},
        "components": libraries.iter().map(|package| component(package, "library")).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&bill).map(|text| text + "\n").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const TARGET: &str = "x86_64-unknown-linux-gnu";

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn every_library_inside_has_its_licence() {
        let text = licences(&root(), TARGET).unwrap();
        for part in
            ["\nclap 4.", "\nlibsqlite3-sys ", "GNU C Library", "Permission is hereby granted", "Apache License"]
        {
            assert!(text.contains(part), "{part}");
        }
        for part in ["\ninsta ", "\nstampede-core ", "\nwindows-sys ", "\nserde_derive ", "\nsyn "] {
            assert!(!text.contains(part), "{part} is not inside");
        }
    }

    #[test]
    fn a_bill_names_what_each_library_uses() {
        let bill: Value = serde_json::from_str(&bill(&root(), TARGET).unwrap()).unwrap();
        let all = bill["dependencies"].as_array().unwrap();
        let used_by = |name: &str| {
            let found = all.iter().find(|one| one["ref"].as_str().unwrap().starts_with(&format!("pkg:cargo/{name}@")));
            found.unwrap_or_else(|| panic!("{name}"))["dependsOn"].to_string()
        };
        assert!(used_by("stampede").contains("pkg:cargo/rusqlite@"));
        assert!(used_by("rusqlite").contains("pkg:cargo/libsqlite3-sys@"));
        let refs: BTreeSet<&str> = all.iter().map(|one| one["ref"].as_str().unwrap()).collect();
        let components = bill["components"].as_array().unwrap();
        assert_eq!(refs.len(), components.len() + 1, "each once");
    }
}
