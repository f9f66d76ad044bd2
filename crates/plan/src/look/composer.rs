//! What Composer's files say. <https://getcomposer.org/doc/04-schema.md>

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The kinds of `require` that are no packages. <https://getcomposer.org/doc/articles/composer-platform-dependencies.md>
const EXTENSION: &str = "ext-";

/// What is known of an application by its `composer.json`, `composer.lock` and `vendor`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Composer {
    /// Whether there is a `composer.json`.
    pub(super) is_there: bool,
    /// Whether it requires packages.
    pub(super) needs_packages: bool,
    /// Which versions of PHP it asks for.
    pub(super) php: Option<String>,
    /// Extensions that it or one of its packages requires, without those that another of its packages stands in for.
    pub(super) extensions: BTreeSet<String>,
    /// The installed version of each package or, where nothing is installed, the one that is asked for.
    pub(super) versions: BTreeMap<String, String>,
}

impl Composer {
    /// Reads what there is; nothing where there is no `composer.json`, or none that can be read.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let read = |name: &str| serde_json::from_slice::<Value>(&fs::read(folder.join(name)).ok()?).ok();
        let own = read("composer.json")?;
        // In the first version of Composer the list stands alone.
        let listed = |value: Value| match value {
            Value::Array(packages) => packages,
            mut other => match other["packages"].take() {
                Value::Array(packages) => packages,
                _ => Vec::new(),
            },
        };
        let installed = read("vendor/composer/installed.json").or_else(|| read("composer.lock")).map(listed);
        let packages = installed.unwrap_or_default();
        let mut composer = Self { is_there: true, php: text(&own["require"]["php"]), ..Self::default() };
        for (name, version) in entries(&own["require"]) {
            if name.contains('/') {
                composer.needs_packages = true;
                composer.versions.insert(name.to_owned(), text(version).unwrap_or_default());
            }
        }
        for package in &packages {
            if let (Some(name), Some(version)) = (text(&package["name"]), text(&package["version"])) {
                composer.versions.insert(name, version);
            }
        }
        let extensions = |of: &Value| -> BTreeSet<String> {
            let names = entries(of).filter_map(|(name, _)| name.strip_prefix(EXTENSION));
            names.map(|name| name.to_lowercase().replace("zend-opcache", "opcache")).collect()
        };
        let all = || packages.iter().chain([&own]);
        let stood_in: BTreeSet<String> = all()
            .flat_map(|package| [extensions(&package["provide"]), extensions(&package["replace"])])
            .flatten()
            .collect();
        composer.extensions = all().flat_map(|package| extensions(&package["require"])).collect();
        // The application's own word counts in any case.
        composer.extensions.retain(|name| !stood_in.contains(name));
        composer.extensions.extend(extensions(&own["require"]));
        Some(composer)
    }
}

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
