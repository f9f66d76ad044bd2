//! Where the packages of an application are: Composer writes down where it put each.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// The folder that Composer puts packages into, unless they are of a type that has a place of its own: a Drupal core, WordPress, a
/// plugin of either. <https://getcomposer.org/doc/articles/custom-installers.md>
pub(super) const VENDOR: &str = "vendor";

/// Where Composer writes the places down, relative to its own folder.
const INSTALLED: &str = "installed.json";
const COMPOSER: &str = "vendor/composer";

/// The folders of an application's packages, by their paths in it: `vendor`, and those of packages beside it. None of them is, or is
/// below, a link.
pub(super) fn packages(app: &Path) -> Vec<PathBuf> {
    let text = fs::read(app.join(COMPOSER).join(INSTALLED)).unwrap_or_default();
    let installed: Value = serde_json::from_slice(&text).unwrap_or_default();
    let listed = installed["packages"].as_array().into_iter().flatten();
    let placed = listed.filter_map(|package| package["install-path"].as_str());
    let mut all = vec![PathBuf::from(VENDOR)];
    for folder in placed.filter_map(|place| within(&Path::new(COMPOSER).join(place))) {
        if !folder.starts_with(VENDOR) && !all.contains(&folder) {
            all.push(folder);
        }
    }
    let Ok(root) = app.canonicalize() else { return Vec::new() };
    let is_there = |folder: &PathBuf| {
        let path = root.join(folder);
        path.is_dir() && path.canonicalize().is_ok_and(|real| real == path)
    };
    all.into_iter().filter(is_there).collect()
}

/// A path without `..`, where it stays below the folder that it starts in.
fn within(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (clean != Path::new("")).then_some(clean)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn packages_are_where_composer_put_them_and_never_outside() {
        let app = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        for folder in ["vendor/composer", "web/core", "web/modules/contrib/token"] {
            fs::create_dir_all(app.path().join(folder)).unwrap();
        }
        symlink(outside.path(), app.path().join("linked")).unwrap();
        let places = [
            "../acme/x",
            "../../web/core",
            "../../web/core",
            "../../web/modules/contrib/token/",
            "../../gone",
            "../../linked",
            "../..",
            "../../../outside",
            "/etc",
        ];
        let packages: Vec<_> = places.iter().map(|place| format!(r#"{{"install-path": "{place}"}}"#)).collect();
        let meta = r#"{"name": "acme/meta", "install-path": null}"#;
        let text = format!(r#"{{"packages": [{}, {meta}]}}"#, packages.join(", "));
        for (text, found) in [
            (&*text, &["vendor", "web/core", "web/modules/contrib/token"][..]),
            ("no JSON", &["vendor"]),
            ("[]", &["vendor"]),
        ] {
            fs::write(app.path().join("vendor/composer/installed.json"), text).unwrap();
            assert_eq!(super::packages(app.path()), found.iter().map(PathBuf::from).collect::<Vec<_>>(), "{text}");
        }
    }
}
