//! Files: none too long to read, none too large to keep.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MOST_LINES: usize = 800;
const MOST_BYTES: u64 = 1 << 20;
/// Module names that say nothing.
const NAMELESS: [&str; 5] = ["mod.rs", "utils.rs", "util.rs", "common.rs", "helpers.rs"];

pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for file in tracked(root) {
        let path = root.join(&file);
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let shown = file.display();
        if metadata.len() > MOST_BYTES {
            problems.push(format!("{shown} has {} bytes; the most is {MOST_BYTES}", metadata.len()));
        }
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if NAMELESS.contains(&name) {
            problems.push(format!("{shown} is named after nothing in particular"));
        }
        let is_code = [".rs", ".php", ".go", ".ts"].iter().any(|ending| name.ends_with(ending));
        if is_code && let Ok(text) = fs::read_to_string(&path) {
            let lines = text.lines().count();
            if lines > MOST_LINES {
                problems.push(format!("{shown} has {lines} lines; split it before {MOST_LINES}"));
            }
        }
    }
    problems
}

/// Files that git keeps or would keep; none where git is not there.
pub(crate) fn tracked(root: &Path) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}
