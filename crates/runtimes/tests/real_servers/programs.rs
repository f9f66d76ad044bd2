//! Looking for the real programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use stampede_core::{App, Found, PhpBuild, PhpSapi, Programs, Requirement, Runtime};

/// What a runtime requires, or the name of the first thing that is missing.
pub(crate) fn find(runtime: &dyn Runtime, app: &App) -> Result<Programs, String> {
    let mut programs = BTreeMap::new();
    for requirement in runtime.requires(app) {
        match requirement {
            Requirement::Program { key, names, version, .. } => {
                let path = names.iter().find_map(|name| on_path(name)).ok_or(key)?;
                let version = printed(&path, version.args)
                    .split_once(version.prefix)
                    .and_then(|(_, rest)| rest.split([' ', '\n', '(']).next())
                    .expect("a version")
                    .to_owned();
                let php = None;
                programs.insert(key.to_owned(), Found { path, version, php });
            }
            Requirement::Php { key, sapi, .. } => {
                let path = php_path(sapi).ok_or(key)?;
                let php = on_path("php").ok_or("php (to list extensions)")?;
                let build = build(&php);
                programs.insert(key.to_owned(), Found { path, version: build.version.clone(), php: Some(build) });
            }
            Requirement::AnyFile { name, paths, .. } => {
                if !paths.iter().any(|path| app.source.join(path).exists()) {
                    return Err(name);
                }
            }
        }
    }
    Ok(programs)
}

fn php_path(sapi: PhpSapi) -> Option<PathBuf> {
    match sapi {
        PhpSapi::Cli => on_path("php"),
        PhpSapi::Fpm => named(Path::new("/usr/sbin"), "php-fpm", ""),
        PhpSapi::ApacheModule => named(Path::new("/usr/lib/apache2/modules"), "libphp", ".so"),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn named(folder: &Path, start: &str, end: &str) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        (name.starts_with(start) && name.ends_with(end)).then(|| path.clone())
    })
}

fn build(php: &Path) -> PhpBuild {
    let code =
        r#"echo PHP_VERSION, "\n", PHP_ZTS, "\n", PHP_EXTENSION_DIR, "\n", implode(",", get_loaded_extensions());"#;
    let printed = printed(php, &["-n", "-r", code]);
    let lines: Vec<&str> = printed.lines().collect();
    let extension_dir = PathBuf::from(lines[2]);
    let loadable = std::fs::read_dir(&extension_dir)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect())
        .unwrap_or_default();
    PhpBuild {
        version: lines[0].to_owned(),
        thread_safe: lines[1] == "1",
        extension_dir,
        built_in: lines[3].split(',').map(|name| name.to_lowercase().replace("zend opcache", "opcache")).collect(),
        loadable,
    }
}

fn printed(program: &Path, args: &[&str]) -> String {
    let output =
        Command::new(program).args(args).output().unwrap_or_else(|error| panic!("run {}: {error}", program.display()));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
