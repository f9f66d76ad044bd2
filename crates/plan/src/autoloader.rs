//! How far an application's autoloader is from the one that production has.

use std::fs;
use std::path::Path;

use stampede_core::Autoloader;

/// What has an autoloader for production made in copies, also without a network.
const DUMP: &str = "[[composer, dump-autoload, --no-dev, -o]]";

/// The same where this package is: Laravel finds the service providers of all packages that are installed, so those for development must go.
/// <https://laravel.com/docs/packages#package-discovery>
const INSTALL: &str = "[[composer, install, --no-dev, -o]]";
const LARAVEL: &str = "vendor/laravel/framework";

/// What differs from production, in a sentence; nothing where there is no `vendor`.
pub(crate) fn remark(folder: &Path) -> Option<String> {
    let composer = folder.join(Autoloader::FOLDER);
    let found =
        Autoloader::of(|name| Some(String::from_utf8_lossy(&fs::read(composer.join(name)).ok()?).into_owned()))?;
    if found.is_production() {
        return None;
    }
    let prepare = if folder.join(LARAVEL).is_dir() { INSTALL } else { DUMP };
    let command = format!("composer install --no-dev -o (in the copies alone: prepare: {prepare})");
    Some(match found.developers {
        0 => format!("its autoloader has no class map and looks for each class on the disk; production runs {command}"),
        1 => format!("1 package for development is loaded with the rest; production runs {command}"),
        number => format!("{number} packages for development are loaded with the rest; production runs {command}"),
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
        // A class of Symfony's polyfills has a name that is no UTF-8.
        let map =
            b"<?php\n    '\xa9' => $vendorDir . '/a/b.php',\n    'App\\\\A' => $baseDir . '/src/a.php',\n".as_slice();
        for (name, folders, map, told) in [
            ("production", own, map, None),
            ("developers", &developers, map, Some("1 package")),
            ("no class map", own, b"", Some("no class map")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let composer = folder.path().join(Autoloader::FOLDER);
            fs::create_dir_all(&composer).unwrap();
            let installed = r#"{"dev-package-names": ["phpunit/phpunit"]}"#;
            fs::write(composer.join("installed.json"), installed).unwrap();
            fs::write(composer.join("autoload_classmap.php"), map).unwrap();
            fs::write(composer.join("autoload_psr4.php"), psr4(folders)).unwrap();
            for command in [DUMP, INSTALL] {
                let found = remark(folder.path());
                assert_eq!(found.is_some(), told.is_some(), "{name}: {found:?}");
                assert!(found.is_none_or(|found| found.contains(told.unwrap()) && found.contains(command)), "{name}");
                fs::create_dir_all(folder.path().join(LARAVEL)).unwrap();
            }
        }
        assert_eq!(remark(tempfile::tempdir().unwrap().path()), None);
    }
}
