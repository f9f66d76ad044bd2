//! Finds builds of PHP and what extensions they have.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stampede_core::{Availability, Found, Install, PhpBase, PhpBuild, PhpChoice, PhpSapi, PhpWants, php_extension};

use super::installed_php::{Installed, Series, library, modules, programs};
use super::php_build::ask;
use super::php_choice;
use super::php_conf::{self, Conf};
use super::php_setup::{Loader, Unloadable, needed, set_up};
use super::program::{find, search_folders};
use crate::output::{OutputError, probe};

/// Looks for a build with an interface and extensions. Where none is chosen and several are installed, the one of the same
/// series as the `php` on the search path is taken, so that all runtimes get the same PHP; otherwise the newest.
pub(crate) async fn detect(
    sapi: PhpSapi,
    build: Option<&PhpChoice>,
    wants: &PhpWants,
    install: &Install,
) -> Availability {
    let found = match build {
        None => find_build(sapi).await,
        Some(choice) => php_choice::find(sapi, choice).await,
    };
    match found {
        Ok(Installed { found, program }) => match owners_conf(&program, sapi, wants.base).await {
            Ok(conf) => finish(found, sapi, wants, conf, &Loader::Php(program), install).await,
            Err(what) => unusable(what),
        },
        Err(what) => Availability::Missing { what, install: of_series(install, build) },
    }
}

/// How to get a build of the series that was chosen: distributions that have several have the series in the names of packages, as
/// `php8.4-fpm` and `libapache2-mod-php8.4`.
fn of_series(install: &Install, build: Option<&PhpChoice>) -> Install {
    let Some(PhpChoice::Series { major, minor }) = build else { return install.clone() };
    let package = install.package.as_ref().map(|package| package.replacen("php", &format!("php{major}.{minor}"), 1));
    Install { package, page: install.page.clone() }
}

/// What the owner of a build has configured; nothing where nothing of it is taken, or the program does not tell.
///
/// # Errors
///
/// It starts without its owner's configuration alone.
async fn owners_conf(program: &Path, sapi: PhpSapi, base: PhpBase) -> Result<Conf, String> {
    if base == PhpBase::default() {
        return Ok(Conf::default());
    }
    match (probe(program, ["-i"]).await, probe(program, ["-n", "-i"]).await) {
        (Ok(information), Ok(defaults)) => Ok(php_conf::read(&information, sapi, &defaults)),
        (Err(error @ OutputError::Crashed(_)), Ok(_)) => {
            Err(format!("a PHP that starts as it is configured: {} -i: {error}", program.display()))
        }
        _ => Ok(Conf::default()),
    }
}

/// A build that is there and does not start as its owner has it.
fn unusable(what: String) -> Availability {
    let page = "correct its configuration, or take nothing of it: extensions: minimal and ini: minimal in a plan";
    Availability::Missing { what, install: Install { package: None, page: page.to_owned() } }
}

/// Checks that a build has all that a requirement names, and sets it up.
pub(crate) async fn finish(
    mut found: Found,
    sapi: PhpSapi,
    wants: &PhpWants,
    conf: Conf,
    loader: &Loader,
    install: &Install,
) -> Availability {
    let Some(build) = &mut found.php else {
        return Availability::Found(found);
    };
    if let Some(missing) = lacking(&found.path, build, &needed(build, sapi, wants), install) {
        return missing;
    }
    match set_up(build, sapi, wants, conf, loader).await {
        Ok(setup) => build.setup = setup.map(Box::new),
        Err(Unloadable { extension, why }) => {
            let what = format!("the PHP extension {extension} in a form that loads: {why} ({})", build.version);
            let page = "correct it, or leave the extension out".to_owned();
            return Availability::Missing { what, install: Install { package: None, page } };
        }
    }
    Availability::Found(found)
}

/// Finds a build, or says what is missing.
async fn find_build(sapi: PhpSapi) -> Result<Installed, String> {
    let folders = search_folders();
    match sapi {
        PhpSapi::Cli => choose(programs(&folders, "php"), None)
            .await
            .map(Installed::program)
            .ok_or_else(|| "the program php".to_owned()),
        PhpSapi::Fpm => choose(programs(&folders, "php-fpm"), preferred(&folders).await)
            .await
            .map(Installed::program)
            .ok_or_else(|| "the program php-fpm".to_owned()),
        PhpSapi::ApacheModule | PhpSapi::Embed => find_library(&folders, sapi).await,
    }
}

/// Finds PHP as a shared library, or says what is missing.
async fn find_library(folders: &[PathBuf], sapi: PhpSapi) -> Result<Installed, String> {
    let (libraries, what) = library(sapi);
    let preferred = preferred(folders).await;
    let mut found = libraries.map(Path::new).map(modules).concat();
    found.sort_by_key(|(series, _)| Reverse((*series == preferred, *series)));
    let (series, path) = found.into_iter().next().ok_or_else(|| what.to_owned())?;
    // A library cannot be asked; the other interfaces of the same series come from the same build.
    let series = series.or(preferred);
    let siblings = [programs(folders, "php"), programs(folders, "php-fpm")].concat();
    let sibling = choose(siblings, series).await;
    match sibling.filter(|found| Series::parse(&found.version) == series) {
        Some(sibling) => Ok(Installed::library(path, sibling)),
        None => Err(format!(
            "the program php or php-fpm of the same version as {}, to tell what that holds",
            path.display()
        )),
    }
}

/// The series of `php` on the search path.
async fn preferred(folders: &[PathBuf]) -> Option<Series> {
    let path = find(folders, "php")?;
    let (version, _) = ask(&path).await.ok()?;
    Series::parse(&version)
}

/// The first program of the wanted series that works, otherwise the first that works.
async fn choose(programs: Vec<PathBuf>, wanted: Option<Series>) -> Option<Found> {
    let mut first = None;
    for path in programs {
        let Ok((version, build)) = ask(&path).await else {
            continue;
        };
        let fits = wanted.is_none_or(|wanted| Series::parse(&version) == Some(wanted));
        let found = Found { path, version, php: Some(build) };
        if fits {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
}

/// The answer where a build lacks extensions.
fn lacking(path: &Path, build: &PhpBuild, needed: &[String], install: &Install) -> Option<Availability> {
    let missing: Vec<&str> = needed.iter().filter(|name| !build.has(name)).map(String::as_str).collect();
    if missing.is_empty() {
        return None;
    }
    let program = path.file_name().unwrap_or_default().display();
    let plural = if missing.len() == 1 { "" } else { "s" };
    let series =
        Series::parse(&build.version).map_or_else(String::new, |Series(major, minor)| format!("{major}.{minor}"));
    // Several are written as they are given to Debian's installer, and one may hold more than one extension.
    let packages: BTreeSet<String> = missing.iter().map(|name| php_extension::package(name, &series)).collect();
    Some(Availability::Missing {
        what: format!("the PHP extension{plural} {} (for {program}, PHP {})", missing.join(", "), build.version),
        install: Install {
            package: install.package.as_ref().map(|_| packages.into_iter().collect::<Vec<_>>().join(" ")),
            page: install.page.clone(),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const INFORMATION: &str = "PHP Version => 8.2.29\nThread Safety => disabled\nextension_dir => /e => /e\n";

    #[test]
    fn programs_are_found_plain_name_first_then_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["php", "php8.1", "php8.10", "php8.2", "phpize", "php-fpm8.2"] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).unwrap();
        }
        let found = programs(&[folder.path().to_owned()], "php");
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["php", "php8.10", "php8.2", "php8.1"]);
    }

    #[tokio::test]
    async fn one_that_crashes_as_it_is_configured_is_named_where_its_configuration_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("php");
        fs::write(&program, "#!/bin/sh\n[ \"$*\" = -i ] && kill -SEGV $$\nexit 0\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let conf = |base| owners_conf(&program, PhpSapi::Cli, base);
        assert_eq!(conf(PhpBase::default()).await, Ok(Conf::default()));
        let what = conf(PhpBase::OWNER).await.unwrap_err();
        let expected =
            format!("a PHP that starts as it is configured: {} -i: it crashes (signal 11)", program.display());
        assert_eq!(what, expected);
    }

    #[test]
    fn missing_extensions_are_named_with_the_program_that_lacks_them_and_with_their_packages() {
        let build = crate::detect::php_build::parse(INFORMATION, "[PHP Modules]\njson\n").unwrap();
        let install = Install { package: Some("php-fpm".into()), page: "https://www.php.net".into() };
        let needs = ["json", "mbstring", "pdo_sqlite", "sqlite3"].map(str::to_owned);
        match lacking(Path::new("/usr/sbin/php-fpm8.2"), &build, &needs, &install) {
            Some(Availability::Missing { what, install }) => {
                assert_eq!(what, "the PHP extensions mbstring, pdo_sqlite, sqlite3 (for php-fpm8.2, PHP 8.2.29)");
                assert_eq!(install.package.as_deref(), Some("php8.2-mbstring php8.2-sqlite3"));
            }
            other => panic!("{other:?}"),
        }
    }
}
