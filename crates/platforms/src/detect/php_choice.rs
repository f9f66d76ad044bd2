//! Finds a chosen build of PHP in the form that a server needs, or says what is there instead.

use std::path::{Path, PathBuf};
use std::slice;

use stampede_core::{Found, PhpChoice, PhpSapi};

use super::installed_php::{self, Installed, Series, library, modules, programs};
use super::php_build::ask;
use super::program::{is_executable, search_folders};

/// The build of a choice with one server interface.
///
/// # Errors
///
/// What is missing, and what was found instead.
pub(crate) async fn find(sapi: PhpSapi, choice: &PhpChoice) -> Result<Installed, String> {
    match choice {
        PhpChoice::Series { major, minor } => in_series(sapi, Series(*major, *minor)).await,
        PhpChoice::Program(path) => {
            let cli = asked(path).await.map_err(|problem| format!("PHP at {}: {problem}", path.display()))?;
            of_program(sapi, cli).await
        }
    }
}

/// Programs and libraries of a series in the usual places.
async fn in_series(sapi: PhpSapi, series: Series) -> Result<Installed, String> {
    let folders = search_folders();
    let Series(major, minor) = series;
    match sapi {
        PhpSapi::Cli => first_of(by_folder(&folders, "php"), series)
            .await
            .map(Installed::program)
            .map_err(|others| format!("PHP {major}.{minor} as a command line program{others}")),
        PhpSapi::Fpm => first_of(by_folder(&folders, "php-fpm"), series)
            .await
            .map(Installed::program)
            .map_err(|others| format!("php-fpm of PHP {major}.{minor}{others}")),
        PhpSapi::ApacheModule | PhpSapi::Embed => {
            let (places, what) = library(sapi);
            let found = places.map(Path::new).map(modules).concat();
            let names: Vec<String> = found.iter().map(|(_, path)| path.display().to_string()).collect();
            // One of PHP's own build, as in PHP's images, has no series in its name: where it is the only one it is that of the
            // programs beside it, whose series is looked at below.
            let is_only = found.len() == 1;
            let of_series = found.into_iter().find(|(of, _)| *of == Some(series) || (is_only && of.is_none()));
            let (_, path) = of_series.ok_or_else(|| format!("{what} of PHP {major}.{minor}{}", instead(names)))?;
            // A library cannot be asked; the other interfaces of the same series come from the same build.
            let siblings = [by_folder(&folders, "php"), by_folder(&folders, "php-fpm")].concat();
            let sibling = first_of(siblings, series).await.map_err(|others| {
                format!("the program php or php-fpm {major}.{minor}, to tell what {} holds{others}", path.display())
            })?;
            Ok(Installed::library(path, sibling))
        }
    }
}

/// Programs of that name, with or without a series behind it, folder by folder: of several builds of one series, the one that comes
/// first on the search path serves and prepares, whatever its programs are called.
fn by_folder(folders: &[PathBuf], name: &str) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| programs(slice::from_ref(folder), name)).collect()
}

/// The first program of a series, or what was found instead.
async fn first_of(programs: Vec<PathBuf>, series: Series) -> Result<Found, String> {
    let mut others = Vec::new();
    for path in programs {
        match asked(&path).await {
            Ok(found) if Series::parse(&found.version) == Some(series) => return Ok(found),
            Ok(found) => {
                let path = path.canonicalize().unwrap_or(path);
                others.push(format!("{} {}", path.display(), found.version));
            }
            Err(_) => {}
        }
    }
    Err(instead(others))
}

/// What belongs to a command line program: built with it and so of the very same version, in the same place.
async fn of_program(sapi: PhpSapi, cli: Found) -> Result<Installed, String> {
    let same = |found: &Found| match (&found.php, &cli.php) {
        (Some(found), Some(cli)) => (&found.version, found.thread_safe) == (&cli.version, cli.thread_safe),
        _ => false,
    };
    let name = cli.path.file_name().and_then(|name| name.to_str()).unwrap_or("php");
    let suffix = name.strip_prefix("php").unwrap_or_default();
    let prefix = cli.path.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
    match sapi {
        PhpSapi::Cli => Ok(Installed::program(cli)),
        PhpSapi::Fpm => {
            let mut others = Vec::new();
            let series = Series::parse(&cli.version).map_or_else(String::new, |Series(a, b)| format!("{a}.{b}"));
            for folder in ["sbin", "bin"] {
                for name in ["php-fpm".to_owned(), format!("php-fpm{suffix}"), format!("php-fpm{series}")] {
                    let path = prefix.join(folder).join(name);
                    match asked(&path).await {
                        Ok(found) if same(&found) => return Ok(Installed::program(found)),
                        Ok(found) => others.push(format!("{} {}", path.display(), found.version)),
                        Err(_) => {}
                    }
                }
            }
            Err(format!("php-fpm {} beside {}{}", cli.version, cli.path.display(), instead(others)))
        }
        PhpSapi::ApacheModule | PhpSapi::Embed => {
            let (usual, what) = library(sapi);
            let places = match sapi {
                PhpSapi::ApacheModule => ["lib/apache2/modules", "modules", "lib64/httpd/modules"],
                _ => ["lib", "lib64", "libs"],
            };
            let found = places.map(|place| modules(&prefix.join(place))).concat();
            let series = Series::parse(&cli.version);
            // Debian's name tells the series, that of a build of one's own needs none.
            let fitting = found.into_iter().find(|(of, _)| of.is_none() || *of == series);
            if let Some((_, path)) = fitting {
                return Ok(Installed::library(path, cli));
            }
            // What PHP's own installer puts beside Apache's modules, wherever PHP itself goes: as in the image php:apache.
            let is_of = |path: &Path| {
                cli.php.as_ref().is_some_and(|build| installed_php::is_of(path, &build.version, build.thread_safe))
            };
            let usually = usual.map(Path::new).map(modules).concat();
            let same = usually
                .iter()
                .find(|(of, path)| matches!(sapi, PhpSapi::ApacheModule) && of.is_none() && is_of(path))
                .map(|(_, path)| Installed::library(path.clone(), cli.clone()));
            same.ok_or_else(|| {
                let others = usually.iter().map(|(_, path)| path.display().to_string()).collect();
                let build = cli.php.as_ref().map_or_else(|| cli.version.clone(), ToString::to_string);
                let (prefix, program) = (prefix.display(), cli.path.display());
                format!("{what} of {program}, {build}, under {prefix} or {}{}", usual.join(", "), instead(others))
            })
        }
    }
}

/// What a program says that it is.
async fn asked(path: &Path) -> Result<Found, String> {
    if !is_executable(path) {
        return Err("there is no program".to_owned());
    }
    let (version, build) = ask(path).await.map_err(|error| error.to_string())?;
    Ok(Found { path: path.to_owned(), version, php: Some(build) })
}

fn instead(mut others: Vec<String>) -> String {
    others.sort();
    others.dedup();
    if others.is_empty() { String::new() } else { format!("; found {}", others.join(", ")) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn of_two_builds_of_a_series_the_first_on_the_search_path_is_taken_in_each_form() {
        let root = tempfile::tempdir().unwrap();
        let files = ["own/php8.2", "own/php-fpm8.2", "usr/php", "usr/php8.2", "sbin/php-fpm8.2"];
        for file in files.map(|file| root.path().join(file)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let folders = ["own", "usr", "sbin"].map(|folder| root.path().join(folder));
        let found =
            |name| by_folder(&folders, name).into_iter().map(|path| path.strip_prefix(root.path()).unwrap().to_owned());
        let all = |name| found(name).map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(all("php"), ["own/php8.2", "usr/php", "usr/php8.2"]);
        assert_eq!(all("php-fpm"), ["own/php-fpm8.2", "sbin/php-fpm8.2"]);
    }
}
