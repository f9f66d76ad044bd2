//! Finds FrankenPHP and asks the PHP inside it what it is.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use stampede_core::{Availability, Found, Install, PhpChoice};
use tokio::process::Command;

use super::php::{Series, check_extensions};
use super::php_build::{libc, loadable, parse};
use super::program::{find, search_folders, word_after};
use crate::output::{OutputError, collect};

const LIMIT: Duration = Duration::from_secs(10);

/// Prints what `php -n -i` and `php -n -m` print, as far as it is read: FrankenPHP has none of PHP's own flags.
const QUESTION: &str = r#"<?php
    echo "PHP Version => ", PHP_VERSION, "\n", "Thread Safety => ", PHP_ZTS ? "enabled" : "disabled", "\n";
    echo "extension_dir => ", ini_get("extension_dir"), "\n";
    echo "Debug Build => ", PHP_DEBUG ? "yes" : "no", "\n[PHP Modules]\n", implode("\n", get_loaded_extensions());
"#;

/// Looks for `frankenphp` on the search path, or at the binary that is given.
pub(crate) async fn detect(
    binary: Option<&Path>,
    build: Option<&PhpChoice>,
    extensions: &[String],
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
        Ok(found) => match build.and_then(|choice| other_php(&found, choice)) {
            Some(problem) => missing(problem),
            None => check_extensions(found, extensions, install),
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

async fn ask(path: &Path) -> Result<Found, OutputError> {
    // A binary with an application inside unpacks it before it does anything, and takes a script but no code.
    let scratch = tempfile::tempdir()?;
    let question = scratch.path().join("question.php");
    fs::write(&question, QUESTION)?;
    let run = async |args: &[&OsStr]| -> Result<String, OutputError> {
        let mut command = Command::new(path);
        command.args(args).env("TMPDIR", scratch.path());
        // No configuration: an empty list of folders, and a place where no php.ini is.
        command.env("PHP_INI_SCAN_DIR", "").env("PHPRC", "/nonexistent");
        let output = collect(command, LIMIT).await?;
        Ok(String::from_utf8_lossy(&output.bytes).into_owned())
    };
    let told = run(&["version".as_ref()]).await?;
    let answer = run(&["php-cli".as_ref(), question.as_ref()]).await?;
    let (information, modules) = answer.split_once("[PHP Modules]").unwrap_or_default();
    let malformed = || io::Error::other("it does not tell its version as FrankenPHP does");
    let version = word_after(&told, "FrankenPHP v").ok_or_else(malformed)?.to_owned();
    let mut build = parse(information, modules).ok_or_else(malformed)?;
    build.loadable = loadable(&build.extension_dir);
    build.libc = libc(path);
    Ok(Found { path: path.to_owned(), version, php: Some(build) })
}
