//! What a program that is PHP tells of its build.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use stampede_core::PhpBuild;

use crate::output::{OutputError, probe};

/// How much of a program is looked at for its loader, which stands right behind the program headers.
const HEAD: u64 = 4096;

/// Asks a program what it is, without any configuration.
pub(crate) async fn ask(path: &Path) -> Result<(String, PhpBuild), OutputError> {
    let information = probe(path, ["-n", "-i"]).await?;
    let modules = probe(path, ["-n", "-m"]).await?;
    let malformed = || io::Error::other("it does not tell its version as PHP does");
    let mut build = parse(&information, &modules).ok_or_else(malformed)?;
    build.loadable = loadable(&build.extension_dir);
    build.libc = libc(path);
    Ok((build.version.clone(), build))
}

/// Parses the output of `php -n -i` and `php -n -m`.
pub(crate) fn parse(information: &str, modules: &str) -> Option<PhpBuild> {
    let value = |key: &str| information.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" => "));
    let built_in = modules
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('['))
        .map(|line| match line.to_lowercase().as_str() {
            "zend opcache" => "opcache".to_owned(),
            name => name.to_owned(),
        })
        .collect();
    Some(PhpBuild {
        version: value("PHP Version")?.trim().to_owned(),
        thread_safe: value("Thread Safety")?.trim() == "enabled",
        debug: value("Debug Build").is_some_and(|told| told.trim() == "yes"),
        libc: String::new(),
        configure: value("Configure Command").unwrap_or_default().trim().replace('\'', ""),
        // The value in force stands before the compiled-in one; without configuration both are the same.
        extension_dir: value("extension_dir")?.split(" => ").next()?.into(),
        built_in,
        loadable: Vec::new(),
        setup: None,
    })
}

/// The extensions in a folder.
pub(crate) fn loadable(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Some(name.to_str()?.strip_suffix(".so")?.to_lowercase())
        })
        .collect();
    names.sort();
    names
}

/// The C library that a program asks for, by the loader that its head names (System V ABI, chapter 5, "Program
/// Interpreter"); empty where it names none.
pub(crate) fn libc(program: &Path) -> String {
    let mut head = Vec::new();
    let read = File::open(program).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let names = |loader: &[u8]| head.windows(loader.len()).any(|window| window == loader);
    match read {
        Ok(_) if names(b"/ld-musl-") => "musl".to_owned(),
        Ok(_) if names(b"/ld-linux") => "glibc".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFORMATION: &str = "phpinfo()\nPHP Version => 8.2.29\n\nSystem => Linux\nConfigure Command =>  './configure'  \
        '--enable-zts'\nThread Safety => disabled\nDebug Build => yes\n\
        extension_dir => /usr/lib/php/20220829 => /usr/lib/php/20220829\n";

    #[test]
    fn a_build_is_read_from_what_php_tells() {
        let modules = "[PHP Modules]\nCore\njson\nZend OPcache\n\n[Zend Modules]\nZend OPcache\n";
        let build = parse(INFORMATION, modules).unwrap();
        assert_eq!(build.version, "8.2.29");
        assert!(!build.thread_safe && build.debug);
        assert_eq!(build.configure, "./configure  --enable-zts");
        assert_eq!(build.extension_dir, Path::new("/usr/lib/php/20220829"));
        assert_eq!(build.built_in, ["core", "json", "opcache", "opcache"]);
        assert_eq!(parse("Usage: php", ""), None);
    }

    #[test]
    fn the_c_library_is_told_by_the_loader() {
        let folder = tempfile::tempdir().unwrap();
        for (head, name) in [
            ("\x7fELF../lib64/ld-linux-x86-64.so.2", "glibc"),
            ("\x7fELF../lib/ld-musl-x86_64.so.1", "musl"),
            ("#!", ""),
        ] {
            let program = folder.path().join("php");
            fs::write(&program, head).unwrap();
            assert_eq!(libc(&program), name);
        }
    }
}
