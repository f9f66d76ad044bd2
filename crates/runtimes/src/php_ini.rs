//! PHP's settings and surroundings, the same for every runtime that is PHP.
//!
//! The settings are those of PHP's own `php.ini-production` where they matter for speed, with the opcode cache on
//! everywhere (also for the server that runs under the command line program) and no look at a script's time stamp.
//! <https://www.php.net/manual/en/opcache.configuration.php>

use std::collections::BTreeMap;
use std::path::PathBuf;

use minijinja::context;
use stampede_core::{App, Bytes, Limits, PhpAsked, PhpBuild, PlanError, RunFile};

use crate::framework;
use crate::template::Template;

const TEMPLATE: Template = Template { name: "php/php.ini.j2", source: include_str!("../templates/php/php.ini.j2") };

/// The rendered file, as arguments and settings name it.
pub(crate) const PATH: &str = "@{run}/php/php.ini";

/// Its folder.
pub(crate) const FOLDER: &str = "@{run}/php";

/// PHP's own default of `memory_limit`.
const MEMORY_LIMIT: Bytes = Bytes::from_mib(128);

/// The settings for one application on one build.
pub(crate) fn file(app: &App, build: &PhpBuild, limits: &Limits) -> Result<RunFile, PlanError> {
    let built_in = |name: &str| build.built_in.iter().any(|extension| extension == name);
    let mut extensions: Vec<String> = Vec::new();
    for name in app.extensions.iter().flat_map(|name| with_what_it_needs(name)) {
        if !built_in(name) && name != "opcache" && !extensions.iter().any(|known| known == name) {
            extensions.push(name.to_owned());
        }
    }
    let load_opcache = !built_in("opcache");
    let settings: Vec<(String, String)> = settings(app, limits).into_iter().collect();
    let text = TEMPLATE.fill(context! { extensions, load_opcache, settings })?;
    Ok(RunFile { path: PathBuf::from("php/php.ini"), text })
}

/// The settings that decide how fast PHP is, with the application's own over them.
fn settings(app: &App, limits: &Limits) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = [
        ("opcache.enable", "1"),
        ("opcache.enable_cli", "1"),
        ("opcache.memory_consumption", "128"),
        ("opcache.interned_strings_buffer", "16"),
        ("opcache.max_accelerated_files", "10000"),
        ("opcache.validate_timestamps", "0"),
        ("opcache.jit", "disable"),
        ("opcache.jit_buffer_size", "0"),
        ("realpath_cache_size", "4096K"),
        ("realpath_cache_ttl", "600"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    all.insert("memory_limit".to_owned(), MEMORY_LIMIT.min(limits.memory).get().to_string());
    all.extend(app.ini.clone());
    all
}

/// What is asked of a build: its version, the extensions and the settings.
pub(crate) fn asked(app: &App, build: &PhpBuild, limits: &Limits) -> PhpAsked {
    let opcache = std::iter::once("opcache".to_owned());
    PhpAsked {
        version: build.version.clone(),
        thread_safe: build.thread_safe,
        extensions: opcache.chain(app.extensions.iter().cloned()).collect(),
        settings: settings(app, limits),
    }
}

/// An extension after those that must be loaded before it, where builds have them as files of their own.
fn with_what_it_needs(name: &str) -> Vec<&str> {
    let before: &[&str] = match name {
        "pdo_pgsql" | "pdo_sqlite" => &["pdo"],
        "pdo_mysql" => &["pdo", "mysqlnd"],
        "mysqli" => &["mysqlnd"],
        _ => &[],
    };
    before.iter().copied().chain([name]).collect()
}

/// Folders that the settings name.
pub(crate) fn folders() -> Vec<PathBuf> {
    ["php", "php/sessions", "php/tmp"].map(PathBuf::from).into()
}

/// The log that the settings name.
pub(crate) fn log() -> PathBuf {
    PathBuf::from("php/errors.log")
}

/// The application's environment, and the variable that keeps PHP from reading the distribution's `conf.d`: set but
/// empty means no folder. <https://www.php.net/manual/en/configuration.file.php#configuration.file.scan>
pub(crate) fn environment(app: &App) -> BTreeMap<String, String> {
    let mut environment = framework::environment(app);
    environment.insert("PHP_INI_SCAN_DIR".to_owned(), String::new());
    environment
}
