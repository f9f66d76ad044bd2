//! How far an application's autoloader is from the one that production has: Composer writes down how it was made.
//! <https://getcomposer.org/doc/articles/autoloader-optimization.md>

use std::fs;
use std::path::Path;

use serde_json::Value;

/// What makes an autoloader for production, and what has it made in the copies that are served.
const COMMAND: &str =
    "composer install --no-dev -o (in the copies alone: prepare: [[composer, dump-autoload, --no-dev, -o]])";

/// What differs from production, a sentence each; nothing where there is no `vendor`.
pub(crate) fn remarks(folder: &Path) -> Vec<String> {
    let composer = folder.join("vendor/composer");
    let Ok(installed) = fs::read(composer.join("installed.json")) else {
        return Vec::new();
    };
    let installed: Value = serde_json::from_slice(&installed).unwrap_or_default();
    let maps = ["psr4", "namespaces", "classmap", "files"];
    let known: String = maps
        .iter()
        .map(|map| fs::read_to_string(composer.join(format!("autoload_{map}.php"))).unwrap_or_default())
        .collect();
    let names = installed["dev-package-names"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let developers =
        names.filter(|name| ["/", "'"].iter().any(|end| known.contains(&format!("'/{name}{end}")))).count();
    let mut remarks = Vec::new();
    if developers > 0 {
        let (plural, are) = if developers == 1 { ("", "is") } else { ("s", "are") };
        remarks.push(format!(
            "{developers} package{plural} for development {are} loaded with the rest; production runs {COMMAND}"
        ));
    } else if !has_class_map(&composer) {
        remarks.push(format!(
            "its autoloader has no class map and looks for each class on the disk; production runs {COMMAND}"
        ));
    }
    remarks
}

/// Whether classes are looked up in a map rather than on the disk: an optimised one has those of PSR-4 folders too, which are
/// looked for by their names otherwise.
fn has_class_map(composer: &Path) -> bool {
    let read = |name: &str| fs::read_to_string(composer.join(name)).unwrap_or_default();
    let by_name = read("autoload_psr4.php");
    // Folders as both files write them: $baseDir . '/src'.
    let folders: Vec<&str> = by_name
        .lines()
        .filter_map(|line| Some(line.split_once("array(")?.1.trim_end_matches(['\'', '"', ')', ','])))
        .filter(|folder| folder.starts_with('$'))
        .flat_map(|folders| folders.split("', "))
        .collect();
    let map = read("autoload_classmap.php");
    let mut mapped = map.lines().filter_map(|line| Some(line.split_once(" => ")?.1));
    folders.is_empty()
        || mapped.any(|path| {
            folders.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoloader_for_developers_is_told() {
        let map = |classes: usize| format!("<?php\n{}", "    'App\\\\A' => $baseDir . '/src/a.php',\n".repeat(classes));
        let psr4 = "<?php\nreturn array(\n    'App\\\\' => array($baseDir . '/src'),\n);\n";
        let developers = "<?php\nreturn array(\n    'App\\\\' => array($baseDir . '/src'),\n    \
                          'PHPUnit\\\\' => array($vendorDir . '/phpunit/phpunit/src'),\n    'A\\\\' => array($vendorDir . '/a/b'),\n);\n";
        let named = r#"{"dev-package-names": ["phpunit/phpunit", "a/b", "a/c"]}"#;
        for (name, installed, classes, psr4, told) in [
            ("production", r#"{"dev": false, "dev-package-names": []}"#, 300, psr4, ""),
            ("developers", named, 300, developers, "2 packages"),
            ("developers, whom the autoloader leaves out", named, 300, psr4, ""),
            ("no class map", r#"{"dev-package-names": []}"#, 0, psr4, "no class map"),
            ("nothing to look up", r#"{"dev": false}"#, 0, "<?php\nreturn array(\n);\n", ""),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let composer = folder.path().join("vendor/composer");
            fs::create_dir_all(&composer).unwrap();
            let files =
                [("installed.json", installed), ("autoload_classmap.php", &map(classes)), ("autoload_psr4.php", psr4)];
            files.iter().for_each(|(name, text)| fs::write(composer.join(name), text).unwrap());
            let found = remarks(folder.path()).join("; ");
            assert_eq!(found.is_empty(), told.is_empty(), "{name}: {found}");
            assert!(found.contains(told) && (told.is_empty() || found.contains(COMMAND)), "{name}: {found}");
        }
        assert!(remarks(tempfile::tempdir().unwrap().path()).is_empty());
    }
}
