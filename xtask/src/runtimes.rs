//! Runtimes: one file, one template folder and one catalogue row each.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(crate) fn check(root: &Path) -> Vec<String> {
    let templates = root.join("crates/runtimes/templates");
    let folders: BTreeSet<String> = match fs::read_dir(&templates) {
        Ok(entries) => {
            entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
        }
        Err(error) => return vec![format!("{}: {error}", templates.display())],
    };
    let ids: BTreeSet<String> = stampede_runtimes::all().iter().map(|runtime| runtime.id().to_string()).collect();
    let mut problems = Vec::new();
    for id in &ids {
        let file = format!("crates/runtimes/src/{}.rs", id.replace('-', "_"));
        if !root.join(&file).is_file() {
            problems.push(format!("runtime {id} has no {file}"));
        }
    }
    // `php` holds the settings that all runtimes of PHP share, the other two what stands around a runtime; a runtime that is
    // configured by its environment alone has nothing to render and so no folder.
    problems.extend(
        folders
            .iter()
            .filter(|folder| {
                !["apache", "balancers", "caddy", "php", "services"].contains(&folder.as_str())
                    && !ids.contains(*folder)
            })
            .map(|folder| format!("crates/runtimes/templates/{folder} belongs to no runtime in the catalogue")),
    );
    problems
}
