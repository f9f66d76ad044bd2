//! Finds builds of PHP and what extensions they have.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use stampede_core::{Availability, Found, Install, PhpChoice, PhpSapi};

use super::php_build::ask;
use super::php_choice;
use super::program::{find, is_executable, search_folders};

/// Where Apache's modules are: Debian, Fedora, and Apache's own installer.
const MODULE_FOLDERS: [&str; 3] =
    ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/local/apache2/modules"];

/// Where the library that programs embed is: Debian, Fedora, and PHP's own installer.
const LIBRARY_FOLDERS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// A series such as 8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series(pub(crate) u32, pub(crate) u32);

impl Series {
    /// The series of a version, or of the end of a file's name: `8.2.29`, `8.2`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        Some(Self(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

/// Looks for a build with an interface and extensions. Where none is chosen and several are installed, the one of the same
/// series as the `php` on the search path is taken, so that all runtimes get the same PHP; otherwise the newest.
pub(crate) async fn detect(
    sapi: PhpSapi,
    build: Option<&PhpChoice>,
    extensions: &[String],
    install: &Install,
) -> Availability {
    let found = match build {
        None => find_build(sapi).await,
        Some(choice) => php_choice::find(sapi, choice).await,
    };
    match found {
        Ok(found) => check_extensions(found, extensions, install),
        Err(what) => Availability::Missing { what, install: install.clone() },
    }
}

/// Finds a build, or says what is missing.
async fn find_build(sapi: PhpSapi) -> Result<Found, String> {
    let folders = search_folders();
    match sapi {
        PhpSapi::Cli => choose(programs(&folders, "php"), None).await.ok_or_else(|| "the program php".to_owned()),
        PhpSapi::Fpm => choose(programs(&folders, "php-fpm"), preferred(&folders).await)
            .await
            .ok_or_else(|| "the program php-fpm".to_owned()),
        PhpSapi::ApacheModule | PhpSapi::Embed => find_library(&folders, sapi).await,
    }
}

/// Where a library is, and what it is called in messages.
pub(crate) fn library(sapi: PhpSapi) -> ([&'static str; 3], &'static str) {
    match sapi {
        PhpSapi::ApacheModule => (MODULE_FOLDERS, "Apache's module for PHP (libphp*.so)"),
        _ => (LIBRARY_FOLDERS, "PHP's library for embedding (libphp*.so)"),
    }
}

/// Finds PHP as a shared library, or says what is missing.
async fn find_library(folders: &[PathBuf], sapi: PhpSapi) -> Result<Found, String> {
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
        Some(sibling) => Ok(Found { path, ..sibling }),
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

/// Programs of that name, with or without a series behind it; the plain name first.
pub(crate) fn programs(folders: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut versioned: Vec<(Series, PathBuf)> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let series = Series::parse(entry.file_name().to_str()?.strip_prefix(name)?)?;
            Some((series, entry.path()))
        })
        .filter(|(_, path)| is_executable(path))
        .collect();
    versioned.sort_by_key(|(series, _)| Reverse(*series));
    find(folders, name).into_iter().chain(versioned.into_iter().map(|(_, path)| path)).collect()
}

/// Apache's modules for PHP in a folder. Debian's name tells the series, a module of one's own has none.
pub(crate) fn modules(folder: &Path) -> Vec<(Option<Series>, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let middle = name.to_str()?.strip_prefix("libphp")?.strip_suffix(".so")?;
            Some((Series::parse(middle), entry.path()))
        })
        .collect()
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

pub(crate) fn check_extensions(found: Found, extensions: &[String], install: &Install) -> Availability {
    let has = |name: &String| {
        found.php.as_ref().is_some_and(|build| build.built_in.contains(name) || build.loadable.contains(name))
    };
    let missing: Vec<&str> = extensions.iter().filter(|name| !has(name)).map(String::as_str).collect();
    if missing.is_empty() {
        return Availability::Found(found);
    }
    let program = found.path.file_name().unwrap_or_default().display();
    let plural = if missing.len() == 1 { "" } else { "s" };
    // A server that holds PHP has a version of its own.
    let version = found.php.as_ref().map_or(&found.version, |build| &build.version);
    Availability::Missing {
        what: format!("the PHP extension{plural} {} (for {program}, PHP {version})", missing.join(", ")),
        // Debian has a package of each extension's name, or one that stands for it, and no package's name has an underscore; several
        // are written as they are given to its installer.
        install: Install {
            package: install.package.as_ref().map(|_| {
                let packages: Vec<String> =
                    missing.iter().map(|name| format!("php-{}", name.replace('_', "-"))).collect();
                packages.join(" ")
            }),
            page: install.page.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn missing_extensions_are_named_with_the_program_that_lacks_them_and_with_their_packages() {
        let found = Found {
            path: "/usr/sbin/php-fpm8.2".into(),
            version: "8.2.29".into(),
            php: crate::detect::php_build::parse(INFORMATION, "[PHP Modules]\njson\n"),
        };
        let install = Install { package: Some("php-fpm".into()), page: "https://www.php.net".into() };
        let needs = ["json", "mbstring", "pdo_sqlite"].map(str::to_owned);
        match check_extensions(found, &needs, &install) {
            Availability::Missing { what, install } => {
                assert_eq!(what, "the PHP extensions mbstring, pdo_sqlite (for php-fpm8.2, PHP 8.2.29)");
                assert_eq!(install.package.as_deref(), Some("php-mbstring php-pdo-sqlite"));
            }
            other => panic!("{other:?}"),
        }
    }
}
