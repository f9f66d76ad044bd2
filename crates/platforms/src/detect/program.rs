//! Finds programs and reads their versions.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use stampede_core::{Availability, Found, Install, VersionProbe, with_causes};

use crate::output::probe;

/// Where servers are that are not on every user's search path.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The first of these files that is there.
pub(crate) fn detect_file(name: &str, paths: &[PathBuf], install: &Install) -> Availability {
    match paths.iter().find(|path| path.exists()) {
        Some(path) => Availability::Found(Found { path: path.clone(), version: String::new(), php: None }),
        None => Availability::Missing { what: name.to_owned(), install: install.clone() },
    }
}

pub(crate) fn detect_command(name: &str) -> Availability {
    match find(&search_folders(), name) {
        Some(path) => Availability::Found(Found { path, version: String::new(), php: None }),
        None => Availability::Missing {
            what: format!("the program {name}"),
            install: Install { package: None, page: "put it on the search path".to_owned() },
        },
    }
}

pub(crate) async fn detect_program(names: &[&str], version: VersionProbe, install: &Install) -> Availability {
    let VersionProbe { args, prefix } = version;
    detect_version(names, args, prefix, install).await
}

/// The first program of these names, with the word after `prefix` in what it prints when it is given `args`.
pub(crate) async fn detect_version<S: AsRef<str>, A: AsRef<OsStr>>(
    names: &[S],
    args: &[A],
    prefix: &str,
    install: &Install,
) -> Availability {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let missing = |what: String| Availability::Missing { what, install: install.clone() };
    let folders = search_folders();
    let Some(path) = names.iter().find_map(|name| find(&folders, name)) else {
        return missing(format!("the program {}", names.join(" or ")));
    };
    match probe(&path, args).await {
        Ok(text) => match word_after(&text, prefix) {
            Some(word) => Availability::Found(Found { version: word.to_owned(), path, php: None }),
            None => missing(format!(
                "a program {} that tells its version: {} says {:?}",
                names.join(" or "),
                path.display(),
                text.lines().next().unwrap_or_default()
            )),
        },
        Err(error) => missing(format!(
            "a program {} that runs: {} does not: {}",
            names.join(" or "),
            path.display(),
            with_causes(&error)
        )),
    }
}

/// The folders of the search path, and those of the system's servers.
pub(crate) fn search_folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
    env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(system).chain(postgres_folders()).collect()
}

/// Where Debian and Ubuntu keep PostgreSQL's programs, a folder a version: the newest first.
fn postgres_folders() -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

/// The first executable file of that name.
pub(crate) fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The word that follows a prefix, up to blank space or punctuation that no version has.
pub(crate) fn word_after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(prefix)?;
    let end = rest.find(|c: char| c.is_whitespace() || ",;()".contains(c));
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_word_after_its_prefix() {
        for (text, prefix, version) in [
            ("nginx version: nginx/1.22.1\n", "nginx/", Some("1.22.1")),
            ("Server version: Apache/2.4.62 (Debian)", "Apache/", Some("2.4.62")),
            ("go version go1.26.0 linux/amd64", "go version go", Some("1.26.0")),
            ("v 1.2,x", "v ", Some("1.2")),
            ("nothing", "v ", None),
            ("v ", "v ", None),
        ] {
            assert_eq!(word_after(text, prefix), version, "{text}");
        }
    }
}
