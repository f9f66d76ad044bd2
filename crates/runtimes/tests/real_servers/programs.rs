//! Looking for the real programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stampede_core::{App, Found, PhpBuild, PhpModule, PhpSapi, PhpSetup, Programs, Requirement, php_extension};

/// Folders into which Composer installed servers' packages, each a `vendor`, separated by colons.
const VENDORS: &str = "STAMPEDE_TEST_VENDORS";

/// The first of them that holds all packages that are required.
pub(crate) fn vendor(needs: &[Requirement]) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os(VENDORS)?)
        .find(|vendor| packages(needs).all(|name| vendor.join(name).is_dir()))
}

/// The names of required packages.
pub(crate) fn packages(needs: &[Requirement]) -> impl Iterator<Item = &'static str> {
    needs.iter().filter_map(|need| match need {
        Requirement::PhpPackage { package, .. } => Some(*package),
        _ => None,
    })
}

/// What is required, or the name of the first thing that is missing.
pub(crate) fn find(needs: &[Requirement], app: &App) -> Result<Programs, String> {
    let mut programs = BTreeMap::new();
    for requirement in needs.iter().cloned() {
        match requirement {
            Requirement::Program { key, names, version, .. } => {
                let path = names.iter().find_map(|name| on_path(name)).ok_or(key)?;
                let version = self::version(&printed(&path, version.args), version.prefix);
                programs.insert(key.to_owned(), Found { path, version, php: None });
            }
            Requirement::Builder { key, name, version, .. } => {
                let path = on_path(name).ok_or(key)?;
                let version = self::version(&printed(&path, version.args), version.prefix);
                programs.insert(key.to_owned(), Found { path, version, php: None });
            }
            Requirement::Php { key, sapi, wants, .. } => {
                let path = php_path(sapi).ok_or(key)?;
                let php = on_path("php").ok_or("php (to list extensions)")?;
                let mut build = build(&printed(&php, &["-n", "-r", BUILD]));
                let is_server = |need: &Requirement| matches!(need, Requirement::PhpExtension { .. });
                if needs.iter().any(is_server) {
                    let modules = with_what_servers_need(&build, &wants.extensions);
                    build.setup = Some(Box::new(PhpSetup { modules, ..PhpSetup::default() }));
                }
                programs.insert(key.to_owned(), Found { path, version: build.version.clone(), php: Some(build) });
            }
            Requirement::Command { key, name } => {
                let path = on_path(&name).ok_or(name)?;
                programs.insert(key.to_owned(), Found { path, version: String::new(), php: None });
            }
            Requirement::FrankenPhp { key, binary, .. } => {
                let path =
                    binary.or_else(|| on_path("frankenphp")).filter(|path| path.is_file()).ok_or("frankenphp")?;
                let version = version(&printed(&path, &["version"]), "FrankenPHP v");
                // A binary with an application inside takes a script, but no code.
                let script = tempfile::NamedTempFile::new().expect("make a file");
                std::fs::write(script.path(), format!("<?php {BUILD}")).expect("write it");
                let told = printed(&path, &["php-cli", &script.path().display().to_string()]);
                programs.insert(key.to_owned(), Found { php: Some(build(&told)), path, version });
            }
            Requirement::PhpExtension { key, extension, .. } => {
                let path = on_path("php").ok_or("php")?;
                let before = BEFORE_SERVERS.iter().flat_map(|name| ["-d".to_owned(), format!("extension={name}")]);
                let own = ["-d".to_owned(), format!("extension={extension}"), "--ri".to_owned(), extension.to_owned()];
                let args: Vec<String> = before.chain(own).collect();
                let told =
                    printed(&path, &[&["-n"], &args.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat());
                if !told.contains("Version => ") {
                    return Err(format!("the PHP extension {extension}"));
                }
                programs.insert(key.to_owned(), Found { path, version: version(&told, "Version => "), php: None });
            }
            Requirement::PhpPackage { key, package, .. } => {
                let names: Vec<_> = packages(needs).collect();
                let vendor = vendor(needs);
                let vendor =
                    vendor.ok_or_else(|| format!("{}, in a folder that {VENDORS} names", names.join(" and ")))?;
                let text = std::fs::read_to_string(vendor.join("composer/installed.json")).expect("read what is there");
                let installed: Value = serde_json::from_str(&text).expect("parse it");
                let known = installed["packages"].as_array().expect("packages");
                let row = known.iter().find(|row| row["name"] == package).expect("the package");
                let version = row["version"].as_str().expect("a version").to_owned();
                programs.insert(key.to_owned(), Found { path: vendor.join(package), version, php: None });
            }
            Requirement::Image { source, .. } => return Err(format!("the image {source}")),
            Requirement::AnyFile { key, name, paths, .. } => {
                let path =
                    paths.into_iter().map(|path| app.source.join(path)).find(|path| path.exists()).ok_or(name)?;
                if let Some(key) = key {
                    programs.insert(key.to_owned(), Found { path, version: String::new(), php: None });
                }
            }
        }
    }
    Ok(programs)
}

/// What an extension that is a server may have been built with, and then cannot be loaded without.
const BEFORE_SERVERS: [&str; 4] = ["curl", "sockets", "pdo", "mysqlnd"];

/// Extensions with those that servers may need before them, as far as they are there.
fn with_what_servers_need(build: &PhpBuild, wanted: &[String]) -> Vec<PhpModule> {
    let there = BEFORE_SERVERS.into_iter().filter(|name| build.loadable.iter().any(|loadable| loadable == name));
    // The opcode cache is loaded beside these, in a way of its own.
    let others = wanted.iter().map(String::as_str).filter(|name| *name != "opcache");
    let names: Vec<&str> = there.chain(others).chain(["swoole"]).collect();
    let ordered = php_extension::in_order(&names, |name| build.has_built_in(name));
    ordered.into_iter().map(PhpModule::named).collect()
}

fn php_path(sapi: PhpSapi) -> Option<PathBuf> {
    match sapi {
        PhpSapi::Cli => on_path("php"),
        PhpSapi::Fpm => named(Path::new("/usr/sbin"), "php-fpm", ""),
        PhpSapi::ApacheModule => named(Path::new("/usr/lib/apache2/modules"), "libphp", ".so"),
        PhpSapi::Embed => named(Path::new("/usr/lib"), "libphp", ".so"),
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

fn version(told: &str, prefix: &str) -> String {
    let after = told.split_once(prefix).and_then(|(_, rest)| rest.split([' ', '\n', '(']).next());
    after.unwrap_or_else(|| panic!("no version in {told:?}")).to_owned()
}

/// Prints what a build of PHP is.
const BUILD: &str = r#"echo PHP_VERSION, "\n", PHP_ZTS, "\n", ini_get("extension_dir"), "\n";
    echo implode(",", get_loaded_extensions());"#;

fn build(printed: &str) -> PhpBuild {
    let lines: Vec<&str> = printed.lines().collect();
    let extension_dir = PathBuf::from(lines[2]);
    let loadable = std::fs::read_dir(&extension_dir)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect())
        .unwrap_or_default();
    PhpBuild {
        version: lines[0].to_owned(),
        thread_safe: lines[1] == "1",
        debug: false,
        libc: String::new(),
        configure: String::new(),
        extension_dir,
        built_in: lines[3].split(',').map(|name| name.to_lowercase().replace("zend opcache", "opcache")).collect(),
        loadable,
        setup: None,
    }
}

fn printed(program: &Path, args: &[&str]) -> String {
    // What its owner has enabled is not part of the build.
    let bare = [("PHP_INI_SCAN_DIR", ""), ("PHPRC", "/nowhere")];
    let output = Command::new(program)
        .args(args)
        .envs(bare)
        .output()
        .unwrap_or_else(|error| panic!("run {}: {error}", program.display()));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
