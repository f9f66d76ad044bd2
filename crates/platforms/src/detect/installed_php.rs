//! Builds of PHP that are installed, by their programs and libraries.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
use stampede_core::{Found, PhpSapi, php_extension};

use super::program::{find, is_executable};

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

/// A build that was found.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) found: Found,
    /// The program that tells of it; a library cannot be asked.
    pub(crate) program: PathBuf,
}

impl Installed {
    /// A program.
    pub(crate) fn program(found: Found) -> Self {
        Self { program: found.path.clone(), found }
    }

    /// A library that was built with a program.
    pub(crate) fn library(path: PathBuf, sibling: Found) -> Self {
        let program = sibling.path.clone();
        let mut found = Found { path, ..sibling };
        // What the program alone can have.
        let built_in = found.php.as_mut().map(|build| &mut build.built_in);
        built_in.into_iter().for_each(|names| names.retain(|name| !php_extension::is_for_command_line(name)));
        Self { found, program }
    }
}

/// Where a library is, and what it is called in messages.
pub(crate) fn library(sapi: PhpSapi) -> ([&'static str; 3], &'static str) {
    match sapi {
        PhpSapi::ApacheModule => (MODULE_FOLDERS, "Apache's module for PHP (libphp*.so)"),
        _ => (LIBRARY_FOLDERS, "PHP's library for embedding (libphp*.so)"),
    }
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

/// Whether a library is of a build of PHP: it holds the header that tells its version, and the sign that extensions are compared
/// with, `API20220829,NTS` or `,TS`.
/// <https://github.com/php/php-src/blob/master/main/SAPI.h> (`SAPI_PHP_VERSION_HEADER`),
/// <https://github.com/php/php-src/blob/master/Zend/zend_build.h> (`ZEND_BUILD_TS`)
pub(crate) fn is_of(library: &Path, version: &str, thread_safe: bool) -> bool {
    const API: &str = "API20";
    let Ok(bytes) = fs::read(library) else {
        return false;
    };
    let header = format!("X-Powered-By: PHP/{version}\0");
    let threads: &[u8] = if thread_safe { b",TS" } else { b",NTS" };
    let is_built_so = memmem::find_iter(&bytes, API).any(|at| {
        let rest = &bytes[at + API.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest[digits..].starts_with(threads)
    });
    is_built_so && memmem::find(&bytes, header.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_tells_its_build() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libphp.so");
        fs::write(&path, b"\x7fELF..\0X-Powered-By: PHP/8.4.16\0..API20240924\0API20240924,NTS\0").unwrap();
        assert!(is_of(&path, "8.4.16", false));
        assert!(!is_of(&path, "8.4.16", true));
        assert!(!is_of(&path, "8.4.1", false));
        assert!(!is_of(&path, "8.2.36", false));
        assert!(!is_of(&folder.path().join("other.so"), "8.4.16", false));
        fs::write(&path, b"API20240924,TS,debug\0X-Powered-By: PHP/8.4.16\0").unwrap();
        assert!(is_of(&path, "8.4.16", true) && !is_of(&path, "8.4.16", false));
    }
}
