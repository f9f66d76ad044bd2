//! PHP's settings and surroundings, the same for every runtime that is PHP.
//!
//! The settings are those of PHP's own `php.ini-production` where they matter for speed, with the opcode cache on
//! everywhere (also for the server that runs under the command line program) and no look at a script's time stamp.
//! <https://www.php.net/manual/en/opcache.configuration.php>

use std::collections::BTreeMap;
use std::path::PathBuf;

use minijinja::context;
use stampede_core::{App, Bytes, Limits, PhpAsked, PhpBuild, PhpModule, PlanError, RunFile, php_extension};

use crate::template::{Template, template};
use crate::{framework, label};

const TEMPLATE: Template = template!("php/php.ini.j2");

/// The rendered file, as arguments and settings name it.
pub(crate) const PATH: &str = "@{run}/php/php.ini";

const JIT: &str = "opcache.jit";
const JIT_BUFFER: &str = "opcache.jit_buffer_size";

/// Its folder.
pub(crate) const FOLDER: &str = "@{run}/php";

const OPCACHE: &str = "opcache";
const MEMORY: &str = "memory_limit";

/// PHP's own default of `memory_limit`.
const MEMORY_LIMIT: Bytes = Bytes::from_mib(128);

/// The settings for one application on one build.
pub(crate) fn file(app: &App, build: &PhpBuild, limits: &Limits) -> Result<RunFile, PlanError> {
    let (zend_modules, modules): (Vec<PhpModule>, Vec<PhpModule>) =
        modules(app, build).into_iter().partition(|module| module.is_zend);
    let (last_modules, zend_modules): (Vec<PhpModule>, Vec<PhpModule>) =
        zend_modules.into_iter().partition(|module| php_extension::is_after_opcache(&module.name));
    let files = |modules: Vec<PhpModule>| modules.into_iter().map(|module| module.file).collect::<Vec<_>>();
    let load_opcache = !build.has_built_in(OPCACHE);
    let settings: Vec<(String, String)> = settings(app, build, limits).into_iter().collect();
    let (zend_extensions, extensions, last_extensions) = (files(zend_modules), files(modules), files(last_modules));
    let text = TEMPLATE.fill(context! { zend_extensions, extensions, load_opcache, last_extensions, settings })?;
    Ok(RunFile { path: PathBuf::from("php/php.ini"), text })
}

/// What is loaded beside the opcode cache, in this order: what was set up for the build, and what the application and its server
/// need beside.
fn modules(app: &App, build: &PhpBuild) -> Vec<PhpModule> {
    let set_up = build.setup.as_ref().map(|setup| setup.modules.as_slice()).unwrap_or_default();
    let is_there =
        |name: &str| name == OPCACHE || build.has_built_in(name) || set_up.iter().any(|module| module.name == name);
    let needed: Vec<&str> = needed(app, build).collect();
    let beside = php_extension::in_order(&needed, is_there);
    set_up.iter().cloned().chain(beside.into_iter().map(PhpModule::named)).collect()
}

/// The extensions that are asked of a build: not those that only another form of PHP can have.
fn needed<'a>(app: &'a App, build: &PhpBuild) -> impl Iterator<Item = &'a str> {
    let can = |name: &&str| !php_extension::is_for_command_line(name) || build.has(name);
    app.extensions.iter().map(String::as_str).filter(can)
}

/// The settings of PHP's owner, where they are taken, and the bench's and the application's over them.
fn settings(app: &App, build: &PhpBuild, limits: &Limits) -> BTreeMap<String, String> {
    let owners = build.setup.as_ref().map(|setup| &setup.settings);
    let mut all = owners.cloned().unwrap_or_default();
    all.extend(bench_settings(app, build, limits));
    all
}

/// The settings that decide how fast PHP is, with the application's own over them.
fn bench_settings(app: &App, build: &PhpBuild, limits: &Limits) -> BTreeMap<String, String> {
    let [jit, buffer] = jit(app, build);
    let mut all: BTreeMap<String, String> = [
        ("opcache.enable", "1"),
        ("opcache.enable_cli", "1"),
        ("opcache.memory_consumption", "128"),
        ("opcache.interned_strings_buffer", "16"),
        ("opcache.max_accelerated_files", "10000"),
        ("opcache.validate_timestamps", "0"),
        (JIT, jit),
        (JIT_BUFFER, buffer),
        ("realpath_cache_size", "4096K"),
        ("realpath_cache_ttl", "600"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let owners_limit = build.setup.as_ref().and_then(|setup| setup.settings.get(MEMORY));
    let memory_limit = || MEMORY_LIMIT.min(limits.memory).get().to_string();
    all.insert(MEMORY.to_owned(), owners_limit.cloned().unwrap_or_else(memory_limit));
    all.extend(app.ini.clone());
    all
}

/// JIT's two settings: off where the application says nothing of them. Of one that it leaves out beside the other, PHP's own
/// default is rendered, as it would be in force elsewhere: up to 8.3 a buffer alone switches JIT on, since 8.4 it does not and
/// `opcache.jit` alone does. <https://www.php.net/manual/en/migration84.incompatible.php>
fn jit(app: &App, build: &PhpBuild) -> [&'static str; 2] {
    if ![JIT, JIT_BUFFER].iter().any(|name| app.ini.contains_key(*name)) {
        ["disable", "0"]
    } else if label::numbers(&build.version) < vec![8, 4] {
        ["tracing", "0"]
    } else {
        ["disable", "64M"]
    }
}

/// What is asked of a build: its version, the extensions and the settings.
pub(crate) fn asked(app: &App, build: &PhpBuild, limits: &Limits) -> PhpAsked {
    PhpAsked {
        version: build.version.clone(),
        thread_safe: build.thread_safe,
        extensions: [OPCACHE].into_iter().chain(needed(app, build)).map(str::to_owned).collect(),
        settings: bench_settings(app, build, limits)
            .into_iter()
            // The real place of a file of the copy is the platform's.
            .filter(|(_, value)| !is_constant(value) && !value.contains("@{"))
            .map(|(name, value)| (name, in_force(value)))
            .collect(),
    }
}

/// What PHP tells of a setting with this value in `php.ini`, where words are read in any case.
/// <https://www.php.net/manual/en/configuration.file.php>
fn in_force(value: String) -> String {
    let value = value.trim_matches('"').to_owned();
    match value.to_lowercase().as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" | "none" | "null" => String::new(),
        _ => value,
    }
}

/// Whether a value is one of PHP's constants, such as `E_ALL`, of which PHP tells the number.
fn is_constant(value: &str) -> bool {
    value.contains('_') && value.starts_with(|c: char| c.is_ascii_uppercase())
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

#[cfg(test)]
mod tests {
    use stampede_core::{AppKind, Cpus};

    use super::*;

    const LIMITS: Limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };

    fn build_of(version: &str) -> PhpBuild {
        PhpBuild {
            version: version.to_owned(),
            thread_safe: false,
            debug: false,
            libc: String::new(),
            configure: String::new(),
            extension_dir: PathBuf::new(),
            built_in: Vec::new(),
            loadable: Vec::new(),
            setup: None,
        }
    }

    fn asked_of(version: &str, ini: &[(&str, &str)]) -> BTreeMap<String, String> {
        let app = App {
            ini: ini.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..App::new("plain", AppKind::FrontController { index: "index.php".into() })
        };
        asked(&app, &build_of(version), &LIMITS).settings
    }

    #[test]
    fn a_debugger_is_loaded_by_the_engine_after_the_opcode_cache() {
        let app = App {
            extensions: ["mbstring", "xdebug"].map(str::to_owned).into(),
            ..App::new("plain", AppKind::FrontController { index: "index.php".into() })
        };
        let text = file(&app, &build_of("8.2.29"), &LIMITS).unwrap().text;
        let loaded: Vec<&str> = text.lines().filter(|line| line.contains("extension = ")).collect();
        assert_eq!(loaded, ["extension = mbstring", "zend_extension = opcache", "zend_extension = xdebug"]);
    }

    #[test]
    fn a_setting_of_jit_alone_means_what_it_means_to_that_php() {
        for (version, ini, jit, buffer) in [
            ("8.2.29", &[][..], "disable", "0"),
            ("8.4.1", &[], "disable", "0"),
            ("8.2.29", &[(JIT_BUFFER, "32M")], "tracing", "32M"),
            ("8.3.30", &[(JIT_BUFFER, "32M")], "tracing", "32M"),
            ("8.4.1", &[(JIT_BUFFER, "32M")], "disable", "32M"),
            ("8.2.29", &[(JIT, "tracing")], "tracing", "0"),
            ("8.4.1", &[(JIT, "tracing")], "tracing", "64M"),
            ("8.5.0", &[(JIT, "function"), (JIT_BUFFER, "8M")], "function", "8M"),
        ] {
            let asked = asked_of(version, ini);
            assert_eq!((asked[JIT].as_str(), asked[JIT_BUFFER].as_str()), (jit, buffer), "{version} {ini:?}");
        }
    }

    #[test]
    fn a_value_is_expected_as_php_tells_it() {
        let ini =
            [("display_errors", "On"), ("implicit_flush", "no"), ("error_reporting", "E_ALL"), ("memory_limit", "1G")];
        let asked = asked_of("8.2.29", &ini);
        assert_eq!((asked["display_errors"].as_str(), asked["implicit_flush"].as_str()), ("1", ""));
        assert_eq!((asked.get("error_reporting"), asked["memory_limit"].as_str()), (None, "1G"));
    }
}
