//! What Composer's files say. <https://getcomposer.org/doc/04-schema.md>

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The kinds of `require` that are no packages. <https://getcomposer.org/doc/articles/composer-platform-dependencies.md>
const EXTENSION: &str = "ext-";

/// Packages by which a RoadRunner worker speaks with its server. What they require is loaded for that runtime alone: others serve the
/// same application without.
const OF_ROADRUNNER: [&str; 4] =
    ["spiral/goridge", "spiral/roadrunner", "spiral/roadrunner-worker", "spiral/roadrunner-http"];

/// What is known of an application by its `composer.json`, `composer.lock` and `vendor`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Composer {
    /// Whether there is any of them.
    pub(super) is_there: bool,
    /// Whether it requires packages.
    pub(super) needs_packages: bool,
    /// Which versions of PHP it asks for.
    pub(super) php: Option<String>,
    /// Extensions that it or one of its packages requires, without those that another of its packages stands in for.
    pub(super) extensions: BTreeSet<String>,
    /// The installed version of each package or, where nothing is installed, the one that is asked for; without those that only
    /// its developers need.
    pub(super) versions: BTreeMap<String, String>,
    /// The script that makes the classes of its packages known.
    pub(super) autoload: PathBuf,
    /// What it says for other programs.
    extra: Value,
}

impl Composer {
    /// Reads what there is.
    ///
    /// # Errors
    ///
    /// Which file cannot be read or is no JSON, as the end of a sentence that begins with the folder.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let own = read(folder, "composer.json")?;
        let is_named = own.is_some();
        let own = own.unwrap_or_default();
        // <https://getcomposer.org/doc/06-config.md#vendor-dir>
        let vendor = own["config"]["vendor-dir"].as_str().unwrap_or("vendor").trim_end_matches('/');
        let installed = match read(folder, &format!("{vendor}/composer/installed.json"))? {
            None => read(folder, "composer.lock")?,
            installed => installed,
        };
        let mut composer = Self {
            is_there: is_named || installed.is_some(),
            php: text(&own["require"]["php"]),
            autoload: Path::new(vendor).join("autoload.php"),
            extra: own["extra"].clone(),
            ..Self::default()
        };
        let packages = installed.map(listed).unwrap_or_default();
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
        let is_of_server = |package: &&Value| OF_ROADRUNNER.iter().any(|name| package["name"] == **name);
        let all = all().filter(|package| !is_of_server(package));
        composer.extensions = all.flat_map(|package| extensions(&package["require"])).collect();
        // The application's own word counts in any case.
        composer.extensions.retain(|name| !stood_in.contains(name));
        composer.extensions.extend(extensions(&own["require"]));
        Ok(composer)
    }

    /// A folder that is named below `extra`, by these keys from the outermost on.
    pub(super) fn extra(&self, keys: &[&str]) -> Option<PathBuf> {
        keys.iter().try_fold(&self.extra, |value, key| value.get(key))?.as_str().map(PathBuf::from)
    }
}

fn read(folder: &Path, name: &str) -> Result<Option<Value>, String> {
    let bytes = match fs::read(folder.join(name)) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(format!("has a {name} that cannot be read: {error}")),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| format!("has a {name} that is no JSON: {error}"))
}

/// The packages of `composer.lock` or `installed.json` but for those that only developers need. In the first version of Composer
/// the list stands alone.
fn listed(value: Value) -> Vec<Value> {
    let (packages, developers) = match value {
        Value::Array(packages) => (packages, None),
        mut other => {
            let Some(Value::Array(packages)) = other.get_mut("packages").map(Value::take) else { return Vec::new() };
            (packages, other.get_mut("dev-package-names").map(Value::take))
        }
    };
    let is_developers = |package: &Value| {
        developers.as_ref().and_then(Value::as_array).is_some_and(|names| names.contains(&package["name"]))
    };
    packages.into_iter().filter(|package| !is_developers(package)).collect()
}

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
