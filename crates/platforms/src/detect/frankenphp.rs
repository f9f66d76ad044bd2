//! Finds FrankenPHP and asks the PHP inside it what it is.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use stampede_core::{Availability, Found, Install, PhpBase, PhpChoice, PhpSapi, PhpWants};
use tokio::process::Command;

use super::installed_php::Series;
use super::php::finish;
use super::php_build::{libc, loadable, parse};
use super::php_conf::{self, Conf};
use super::php_setup::Loader;
use super::program::{find, search_folders, word_after};
use crate::output::{OutputError, collect};

const LIMIT: Duration = Duration::from_secs(10);

/// Prints what `php -n -i` and `php -n -m` print, as far as it is read: FrankenPHP has none of PHP's own flags.
const QUESTION: &str = r#"<?php
    echo "PHP Version => ", PHP_VERSION, "\n", "Thread Safety => ", PHP_ZTS ? "enabled" : "disabled", "\n";
    echo "extension_dir => ", ini_get("extension_dir"), "\n";
    foreach (ini_get_all(null, false) as $name => $value) {
        echo "$name => $value => $value\n";
    }
    echo "Debug Build => ", PHP_DEBUG ? "yes" : "no", "\n[PHP Modules]\n", implode("\n", get_loaded_extensions());
"#;

/// Prints which files it read its configuration from, as `php -i` does.
const FILES: &str = r#"<?php
    echo "Configuration File (php.ini) Path => ", PHP_CONFIG_FILE_PATH, "\n";
    echo "Loaded Configuration File => ", php_ini_loaded_file() ?: "(none)", "\n";
    echo "Additional .ini files parsed => ", php_ini_scanned_files() ?: "(none)", "\n";
"#;

/// Looks for `frankenphp` on the search path, or at the binary that is given.
pub(crate) async fn detect(
    binary: Option<&Path>,
    build: Option<&PhpChoice>,
    wants: &PhpWants,
    install: &Install,
) -> Availability {
    let missing = |what: String| Availability::Missing { what, install: install.clone() };
    let path = match binary {
        Some(path) => path.to_owned(),
        None => match find(&search_folders(), "frankenphp") {
            Some(path) => path,
            None => return missing("the program frankenphp".to_owned()),
        },
    };
    match ask(&path).await {
        Ok((found, defaults)) => match build.and_then(|choice| other_php(&found, choice)) {
            Some(problem) => missing(problem),
            None => {
                let conf = owners_conf(&path, wants.base, &defaults).await;
                finish(found, PhpSapi::Embed, wants, conf, &Loader::FrankenPhp(path), install).await
            }
        },
        Err(error) => missing(format!(
            "FrankenPHP: {} does not say that it is: {}",
            path.display(),
            stampede_core::with_causes(&error)
        )),
    }
}

/// Why the PHP inside is not the chosen one.
fn other_php(found: &Found, choice: &PhpChoice) -> Option<String> {
    let inside = &found.php.as_ref()?.version;
    match choice {
        PhpChoice::Series { major, minor } if Series::parse(inside) == Some(Series(*major, *minor)) => None,
        PhpChoice::Series { .. } => {
            Some(format!("FrankenPHP with PHP {choice} inside; {} has {inside}", found.path.display()))
        }
        PhpChoice::Program(_) => Some(format!(
            "FrankenPHP with the PHP of {choice} inside: it has one of its own ({inside} in {}); name it by its series",
            found.path.display()
        )),
    }
}

/// What the owner of its PHP has configured; nothing where nothing of it is taken, or it does not tell.
async fn owners_conf(path: &Path, base: PhpBase, defaults: &str) -> Conf {
    if base == PhpBase::default() {
        return Conf::default();
    }
    match answer(path, FILES, &[]).await {
        Ok(information) => php_conf::read(&information, PhpSapi::Cli, defaults),
        Err(_) => Conf::default(),
    }
}

/// What it prints when it runs a script. A binary with an application inside unpacks it before it does anything, and takes a
/// script but no code.
async fn answer(path: &Path, question: &str, env: &[(&str, &str)]) -> Result<String, OutputError> {
    let scratch = tempfile::tempdir()?;
    let script = scratch.path().join("question.php");
    fs::write(&script, question)?;
    run(path, &["php-cli".as_ref(), script.as_ref()], scratch.path(), env).await
}

async fn run(path: &Path, args: &[&OsStr], scratch: &Path, env: &[(&str, &str)]) -> Result<String, OutputError> {
    let mut command = Command::new(path);
    command.args(args).env("TMPDIR", scratch).envs(env.iter().copied());
    let output = collect(command, LIMIT).await?;
    Ok(String::from_utf8_lossy(&output.all()).into_owned())
}

/// What it is, and what its PHP printed of itself.
async fn ask(path: &Path) -> Result<(Found, String), OutputError> {
    // No configuration: an empty list of folders, and a place where no php.ini is.
    const BARE: [(&str, &str); 2] = [("PHP_INI_SCAN_DIR", ""), ("PHPRC", "/nonexistent")];
    let scratch = tempfile::tempdir()?;
    let told = run(path, &["version".as_ref()], scratch.path(), &BARE).await?;
    let answer = answer(path, QUESTION, &BARE).await?;
    let (information, modules) = answer.split_once("[PHP Modules]").unwrap_or_default();
    let malformed = || io::Error::other("it does not tell its version as FrankenPHP does");
    let version = word_after(&told, "FrankenPHP v").ok_or_else(malformed)?.to_owned();
    let mut build = parse(information, modules).ok_or_else(malformed)?;
    build.loadable = loadable(&build.extension_dir);
    build.libc = libc(path);
    Ok((Found { path: path.to_owned(), version, php: Some(build) }, information.to_owned()))
}
