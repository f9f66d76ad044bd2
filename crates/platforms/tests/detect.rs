//! What is found on this machine.

use std::io::Write as _;
use std::path::PathBuf;

use stampede_core::{Availability, Found, Install, PhpBase, PhpSapi, PhpWants, Requirement, VersionProbe};
use stampede_platforms::{LocalConfig, LocalPlatform};
use stampede_seam::Platform;
use stampede_vantage::Here;

fn install() -> Install {
    Install { package: Some("the-package".to_owned()), page: "https://example.org".to_owned() }
}

fn detect(need: &Requirement) -> Availability {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let platform = LocalPlatform::new(
        LocalConfig {
            warden: vec!["/bin/false".into()],
            state_dir: folder.path().join("state"),
            cache_dir: folder.path().join("builds"),
            server_cpus: vec![0],
            listen: std::net::Ipv4Addr::LOCALHOST.into(),
            ready_timeout: std::time::Duration::from_secs(30),
            goes_first: false,
        },
        Here::new(),
    );
    let platform = platform.unwrap_or_else(|error| panic!("{error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap_or_else(|error| panic!("{error}")).block_on(platform.detect(need, None))
}

fn php(sapi: PhpSapi, extensions: &[&str]) -> Requirement {
    Requirement::Php {
        key: "php",
        sapi,
        build: None,
        wants: PhpWants {
            extensions: extensions.iter().map(|name| (*name).to_owned()).collect(),
            ..PhpWants::default()
        },
        install: install(),
    }
}

/// The build, or nothing (said loudly) where there is none.
fn find_php(sapi: PhpSapi) -> Option<Found> {
    match detect(&php(sapi, &["json"])) {
        Availability::Found(found) => Some(found),
        Availability::Missing { what, .. } => {
            let _ = writeln!(std::io::stderr(), "SKIP {sapi:?}: needs {what}");
            None
        }
    }
}

fn program(names: &'static [&'static str], prefix: &'static str) -> Requirement {
    Requirement::Program {
        key: "program",
        names,
        version: VersionProbe { args: &["-c", "echo tool 1.2.3, of today"], prefix },
        install: install(),
    }
}

#[test]
fn a_program_is_found_under_its_second_name_with_its_version() {
    match detect(&program(&["no-such-shell", "sh"], "tool ")) {
        Availability::Found(found) => {
            assert_eq!(found.version, "1.2.3");
            assert!(found.path.is_absolute() && found.path.ends_with("sh"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_says_what_to_install() {
    for (need, missing) in [
        (program(&["no-such-a", "no-such-b"], ""), "the program no-such-a or no-such-b"),
        (
            Requirement::AnyFile {
                key: None,
                name: "the library".to_owned(),
                paths: vec!["/no/such/file".into()],
                install: install(),
            },
            "the library",
        ),
    ] {
        let expected = Availability::Missing { what: missing.to_owned(), install: install() };
        assert_eq!(detect(&need), expected);
    }
    match detect(&program(&["sh"], "version ")) {
        Availability::Missing { what, .. } => {
            assert!(what.contains("says \"tool 1.2.3, of today\""), "{what}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_of_several_files_is_enough() {
    let need = Requirement::AnyFile {
        key: None,
        name: "a file".to_owned(),
        paths: vec!["/no/such/file".into(), "/etc/passwd".into()],
        install: install(),
    };
    match detect(&need) {
        Availability::Found(found) => assert_eq!(found.path, PathBuf::from("/etc/passwd")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_interfaces_of_php_come_from_one_series() {
    let Some(cli) = find_php(PhpSapi::Cli) else {
        return;
    };
    let series = |version: &str| version.rsplit_once('.').map(|(series, _)| series.to_owned());
    for sapi in [PhpSapi::Fpm, PhpSapi::ApacheModule] {
        if let Some(found) = find_php(sapi) {
            assert_eq!(series(&found.version), series(&cli.version), "{found:?}");
            assert!(found.path.exists());
        }
    }
    let build = cli.php.unwrap_or_else(|| panic!("no build"));
    assert!(build.built_in.contains(&"standard".to_owned()), "{build:?}");
}

#[test]
fn a_missing_extension_is_named() {
    let Some(cli) = find_php(PhpSapi::Cli) else {
        return;
    };
    let series = cli.version.rsplit_once('.').map_or("", |(series, _)| series);
    let package = format!("php{series}-no-such-extension");
    match detect(&php(PhpSapi::Cli, &["json", "no_such_extension"])) {
        Availability::Missing { what, install } => {
            assert!(what.starts_with("the PHP extension no_such_extension (for php"), "{what}");
            assert_eq!(install.package.as_deref(), Some(package.as_str()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_build_is_taken_as_its_owner_has_it_in_each_interface() {
    for sapi in [PhpSapi::Cli, PhpSapi::Fpm] {
        let Some(program) = find_php(sapi).map(|found| found.path) else {
            continue;
        };
        let need = |extensions: &[&str]| {
            let extensions = extensions.iter().map(|name| (*name).to_owned()).collect();
            let wants = PhpWants { extensions, base: PhpBase::OWNER, ..PhpWants::default() };
            Requirement::Php { key: "php", sapi, build: None, wants, install: install() }
        };
        let Availability::Found(found) = detect(&need(&["pcntl"])) else { panic!("{sapi:?} is asked for pcntl") };
        let build = found.php.unwrap_or_else(|| panic!("no build"));
        let setup = build.setup.unwrap_or_else(|| panic!("no setup"));
        let output = std::process::Command::new(program).arg("-m").output().unwrap_or_else(|error| panic!("{error}"));
        for name in
            String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.is_empty() && !line.starts_with('['))
        {
            let name = name.to_lowercase();
            let is_there = name == "zend opcache"
                || build.built_in.contains(&name)
                || setup.modules.iter().any(|module| module.name == name)
                || setup.left_out.contains_key(&name);
            assert!(is_there, "{sapi:?} lacks {name}: {setup:?}");
        }
        let at = |name: &str| setup.modules.iter().position(|module| module.name == name);
        if let (Some(pdo), Some(sqlite)) = (at("pdo"), at("pdo_sqlite")) {
            assert!(pdo < sqlite, "{setup:?}");
        }
    }
}
