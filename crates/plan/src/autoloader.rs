//! How far an application's autoloader is from the one that production has.

use std::fs;
use std::path::Path;

use stampede_core::Autoloader;

/// What makes an autoloader for production, and what has it made in the copies that are served.
const COMMAND: &str =
    "composer install --no-dev -o (in the copies alone: prepare: [[composer, dump-autoload, --no-dev, -o]])";

/// What differs from production, in a sentence; nothing where there is no `vendor`.
pub(crate) fn remark(folder: &Path) -> Option<String> {
    let composer = folder.join(Autoloader::FOLDER);
    let found = Autoloader::of(|name| fs::read_to_string(composer.join(name)).ok())?;
    if found.is_production() {
        return None;
    }
    Some(match found.developers {
        0 => format!("its autoloader has no class map and looks for each class on the disk; production runs {COMMAND}"),
        1 => format!("1 package for development is loaded with the rest; production runs {COMMAND}"),
        number => format!("{number} packages for development are loaded with the rest; production runs {COMMAND}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoloader_for_developers_is_told() {
        let psr4 = |folders: &str| format!("<?php\nreturn array(\n{folders});\n");
        let own = "'App\\\\' => array($baseDir . '/src'),\n";
        let developers = [own, "'PHPUnit\\\\' => array($vendorDir . '/phpunit/phpunit/src'),\n"].concat();
        let map = "<?php\n    'App\\\\A' => $baseDir . '/src/a.php',\n";
        for (name, folders, map, told) in [
            ("production", own, map, None),
            ("developers", &developers, map, Some("1 package")),
            ("no class map", own, "", Some("no class map")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let composer = folder.path().join(Autoloader::FOLDER);
            fs::create_dir_all(&composer).unwrap();
            let installed = r#"{"dev-package-names": ["phpunit/phpunit"]}"#;
            fs::write(composer.join("installed.json"), installed).unwrap();
            fs::write(composer.join("autoload_classmap.php"), map).unwrap();
            fs::write(composer.join("autoload_psr4.php"), psr4(folders)).unwrap();
            let found = remark(folder.path());
            assert_eq!(found.is_some(), told.is_some(), "{name}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(told.unwrap()) && found.contains(COMMAND)), "{name}");
        }
        assert_eq!(remark(tempfile::tempdir().unwrap().path()), None);
    }
}
