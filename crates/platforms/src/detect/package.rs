//! Finds PHP packages in what Composer wrote down of an application.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stampede_core::{Availability, Found, Install};

/// `vendor/composer/installed.json` of Composer 2.
#[derive(Deserialize)]
struct Installed {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// Looks a package up in an application's folder.
pub(crate) fn detect(package: &str, app: &Path, install: &Install) -> Availability {
    // Without a second dot in `./.`.
    let vendor = app.components().collect::<PathBuf>().join("vendor");
    match version(&vendor, package) {
        Some(version) => Availability::Found(Found { path: vendor.join(package), version, php: None }),
        None => Availability::Missing {
            what: format!("the PHP package {package} in {}", vendor.display()),
            install: install.clone(),
        },
    }
}

fn version(vendor: &Path, package: &str) -> Option<String> {
    let text = fs::read_to_string(vendor.join("composer/installed.json")).ok()?;
    let Installed { packages } = serde_json::from_str(&text).ok()?;
    let found = packages.into_iter().find(|found| found.name == package)?;
    Some(found.version.trim_start_matches('v').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_found_with_its_version() {
        let app = tempfile::tempdir().unwrap();
        let install = Install { package: None, page: "https://packagist.org".to_owned() };
        let missing = detect("a/b", app.path(), &install);
        assert!(matches!(&missing, Availability::Missing { what, .. } if what.contains("a/b")), "{missing:?}");
        let composer = app.path().join("vendor/composer");
        fs::create_dir_all(&composer).unwrap();
        let text = r#"{"packages": [{"name": "a/b", "version": "v3.4.0", "dist": {}}], "dev": false}"#;
        fs::write(composer.join("installed.json"), text).unwrap();
        match detect("a/b", app.path(), &install) {
            Availability::Found(found) => assert_eq!(found.version, "3.4.0"),
            missing => panic!("{missing:?}"),
        }
        assert!(matches!(detect("a/c", app.path(), &install), Availability::Missing { .. }));
    }
}
