//! How an application's classes are found, as Composer wrote it down.
//! <https://getcomposer.org/doc/articles/autoloader-optimization.md>

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What Composer's autoloader of an application is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Autoloader {
    /// Packages for development whose classes or files it knows.
    pub developers: u64,
    /// Whether classes are looked up in a map, and not on the disk.
    pub class_map: bool,
}

impl Autoloader {
    /// Composer's folder in an application's.
    pub const FOLDER: &str = "vendor/composer";

    /// That of an application, by the files of [`FOLDER`](Self::FOLDER), which `read` gives; none where nothing is installed.
    pub fn of(read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let installed: Value = serde_json::from_str(&read("installed.json")?).unwrap_or_default();
        let read = |name: &str| read(name).unwrap_or_default();
        let (by_name, map) = (read("autoload_psr4.php"), read("autoload_classmap.php"));
        let known = [&by_name, &map, &read("autoload_namespaces.php"), &read("autoload_files.php")];
        let is_known =
            |name: &str| ["/", "'"].iter().any(|end| known.iter().any(|text| text.contains(&format!("'/{name}{end}"))));
        let names = installed["dev-package-names"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let developers = names.filter(|name| is_known(name)).count() as u64;
        Some(Self { developers, class_map: has_class_map(&by_name, &map) })
    }

    /// Whether it is as production has it.
    pub fn is_production(&self) -> bool {
        self.developers == 0 && self.class_map
    }
}

/// `a class map, 2 packages for development`.
impl fmt::Display for Autoloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { developers, class_map } = self;
        f.write_str(if *class_map { "a class map, " } else { "no class map, " })?;
        match developers {
            0 => f.write_str("no packages for development"),
            1 => f.write_str("1 package for development"),
            number => write!(f, "{number} packages for development"),
        }
    }
}

/// Whether classes are looked up in a map rather than on the disk: an optimised one has those of PSR-4 folders too, which are
/// looked for by their names otherwise.
fn has_class_map(by_name: &str, map: &str) -> bool {
    // Folders as both files write them: $baseDir . '/src'.
    let folders: Vec<&str> = by_name
        .lines()
        .filter_map(|line| Some(line.split_once("array(")?.1.trim_end_matches(['\'', '"', ')', ','])))
        .filter(|folder| folder.starts_with('$'))
        .flat_map(|folders| folders.split("', "))
        .collect();
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
    fn it_is_as_composer_wrote_it_down() {
        let map = |classes: usize| format!("<?php\n{}", "    'App\\\\A' => $baseDir . '/src/a.php',\n".repeat(classes));
        let psr4 = "<?php\nreturn array(\n    'App\\\\' => array($baseDir . '/src'),\n);\n";
        let developers = "<?php\nreturn array(\n    'App\\\\' => array($baseDir . '/src'),\n    \
                          'PHPUnit\\\\' => array($vendorDir . '/phpunit/phpunit/src'),\n    'A\\\\' => array($vendorDir . '/a/b'),\n);\n";
        let named = r#"{"dev-package-names": ["phpunit/phpunit", "a/b", "a/c"]}"#;
        let production = "a class map, no packages for development";
        for (name, installed, classes, psr4, told) in [
            ("production", r#"{"dev": false, "dev-package-names": []}"#, 300, psr4, production),
            ("developers", named, 300, developers, "a class map, 2 packages for development"),
            ("developers, whom the autoloader leaves out", named, 300, psr4, production),
            ("no class map", r#"{"dev-package-names": []}"#, 0, psr4, "no class map, no packages for development"),
            ("nothing to look up", r#"{"dev": false}"#, 0, "<?php\nreturn array(\n);\n", production),
        ] {
            let map = map(classes);
            let files = [("installed.json", installed), ("autoload_classmap.php", &map), ("autoload_psr4.php", psr4)];
            let read = |name: &str| Some(files.iter().find(|(file, _)| *file == name)?.1.to_owned());
            let found = Autoloader::of(read).unwrap();
            assert_eq!(found.to_string(), told, "{name}");
            assert_eq!(found.is_production(), told == production, "{name}");
        }
        assert_eq!(Autoloader::of(|_| None), None);
    }
}
