//! What is on this machine: the programs, builds of PHP, extensions, packages and files that a deployment needs.

pub mod debian;
pub(crate) mod extension;
pub(crate) mod frankenphp;
pub(crate) mod image;
mod installed_php;
pub(crate) mod needs;
mod package;
pub(crate) mod php;
mod php_build;
mod php_choice;
mod php_conf;
mod php_setup;
pub(crate) mod program;
pub(crate) mod revision;

use stampede_core::{Availability, Install, Requirement};

use self::program::{detect_command, detect_file, detect_program};

/// Looks a requirement up.
pub async fn detect(need: &Requirement) -> Availability {
    match need {
        Requirement::Program { key: _, names, version, install } => detect_program(names, *version, install).await,
        Requirement::Builder { key: _, name, version, install } => detect_program(&[*name], *version, install).await,
        Requirement::Command { key: _, name } => detect_command(name),
        Requirement::FrankenPhp { key: _, binary, build, wants, install } => {
            frankenphp::detect(binary.as_deref(), build.as_ref(), wants, install).await
        }
        Requirement::PhpExtension { key: _, build, extension: name, install } => {
            extension::detect(name, build.as_ref(), install).await
        }
        Requirement::PhpPackage { key: _, package, app, install } => package::detect(package, app, install),
        Requirement::Php { key: _, sapi, build, wants, install } => {
            php::detect(*sapi, build.as_ref(), wants, install).await
        }
        Requirement::Image { key: _, source } => Availability::Missing {
            what: format!("the image {source}, and there are no containers"),
            install: Install { package: None, page: "compare it with --platform docker".to_owned() },
        },
        Requirement::AnyFile { key: _, name, paths, install } => detect_file(name, paths, install),
    }
}
