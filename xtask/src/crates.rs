//! The crate graph: who may know whom (ARCHITECTURE.md), held against `cargo metadata`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// Each crate and the crates of this workspace that it may use.
const MAY_USE: [(&str, &[&str]); 38] = [
    ("core", &[]),
    ("stats", &[]),
    ("cgroup", &[]),
    ("priority", &[]),
    ("traffic", &["core"]),
    ("wire", &["core"]),
    ("scenario", &["core"]),
    ("seam", &["core", "scenario"]),
    ("load", &["core", "wire", "scenario", "seam", "priority"]),
    ("lua", &["core", "seam"]),
    ("answers", &["analysis", "conduct", "core", "plan", "report"]),
    ("catalogue", &["core", "plan", "runtimes"]),
    ("plan", &["core", "forecast", "scale", "scenario"]),
    ("runtimes", &["core"]),
    ("platforms", &["core", "cgroup", "export", "seam"]),
    ("observe", &["core", "cgroup", "wire", "seam", "priority"]),
    ("vantage", &["core", "inside", "wire", "load", "observe", "seam", "priority"]),
    ("inside", &["core", "stats", "priority"]),
    ("agent", &["core", "seam"]),
    ("generators", &["agent", "core", "seam"]),
    ("kubernetes", &[]),
    ("cluster", &["agent", "core", "kubernetes", "seam"]),
    ("analysis", &["core", "stats"]),
    ("scale", &["core"]),
    ("export", &["core"]),
    ("forecast", &["core", "stats", "scale"]),
    ("gateway", &["core", "scale", "priority"]),
    ("harness", &["core", "seam", "analysis", "scale", "gateway"]),
    ("store", &["core"]),
    ("conduct", &["core", "seam", "plan", "runtimes", "analysis", "scale", "forecast", "harness", "store", "traffic"]),
    (
        "drive",
        &[
            "conduct",
            "core",
            "generators",
            "kubernetes",
            "load",
            "lua",
            "mimic",
            "plan",
            "priority",
            "report",
            "seam",
            "vantage",
        ],
    ),
    (
        "machine",
        &[
            "agent",
            "catalogue",
            "cluster",
            "conduct",
            "core",
            "drive",
            "export",
            "kubernetes",
            "load",
            "plan",
            "platforms",
            "priority",
            "runtimes",
            "seam",
            "vantage",
        ],
    ),
    ("mimic", &["core", "plan", "seam", "report"]),
    ("report", &["core", "seam", "analysis", "scale", "forecast"]),
    ("progress", &["core", "analysis", "harness", "conduct", "report"]),
    ("serve", &["core", "analysis", "store", "report"]),
    ("testkit", &["core", "seam"]),
    ("bench", &["core", "stats", "analysis", "runtimes", "scale", "harness", "forecast"]),
];

/// The binary wires everything together, and these checks look at everything.
const KNOW_ALL: [&str; 2] = ["stampede", "xtask"];

/// Libraries that these crates alone may use.
const OWNED: [(&str, &[&str]); 6] = [
    ("bollard", &["stampede-platforms"]),
    ("clap", &["stampede", "stampede-plan", "stampede-bench"]),
    ("k8s-openapi", &["stampede-kubernetes"]),
    ("kube", &["stampede-kubernetes"]),
    ("mlua", &["stampede-lua"]),
    ("rusqlite", &["stampede-store"]),
];

/// Not among the crates that cargo takes where none is named: `make check-bench` checks it.
const APART: &str = "stampede-bench";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_default_members: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

pub(crate) fn check(root: &Path) -> Vec<String> {
    let metadata = match metadata(root) {
        Ok(metadata) => metadata,
        Err(problem) => return vec![format!("cargo metadata: {problem}")],
    };
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for package in &metadata.packages {
        if metadata.workspace_default_members.contains(&package.id) == (package.name == APART) {
            problems.push(if package.name == APART {
                format!("{APART} is in default-members of Cargo.toml: take it out, make check-bench checks it")
            } else {
                format!(
                    "{} is not in default-members of Cargo.toml, so make check does not check it: add it",
                    package.name
                )
            });
        }
        let may_use = MAY_USE.iter().find(|(name, _)| package.name == format!("stampede-{name}"));
        seen.extend(may_use.map(|(name, _)| *name));
        for Dependency { name, kind } in &package.dependencies {
            // What a crate's tests use is its own affair.
            if kind.as_deref() == Some("dev") {
                continue;
            }
            if name == "stampede-testkit" {
                problems.push(format!("{} uses {name}, which is for tests only", package.name));
            }
            let is_foreign = |owners: &[&str]| !owners.contains(&package.name.as_str());
            if let Some((_, owners)) = OWNED.iter().find(|(library, owners)| library == name && is_foreign(owners)) {
                problems.push(format!("{} uses {name}, which belongs to {} alone", package.name, owners.join(" and ")));
            }
            let Some(ours) = name.strip_prefix("stampede-") else { continue };
            match may_use {
                Some((_, allowed)) if !allowed.contains(&ours) => {
                    problems.push(format!("{} may not use {name}", package.name));
                }
                None if !KNOW_ALL.contains(&package.name.as_str()) => {
                    problems.push(format!("{} is not in the crate table", package.name));
                }
                _ => {}
            }
        }
    }
    problems.extend(
        MAY_USE.iter().filter(|(name, _)| !seen.contains(name)).map(|(name, _)| format!("there is no stampede-{name}")),
    );
    problems
}

fn metadata(root: &Path) -> Result<Metadata, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}
