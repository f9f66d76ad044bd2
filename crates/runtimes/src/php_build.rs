//! Which build of PHP a runtime needs.

use stampede_core::{App, Install, PhpSapi, Requirement};

/// PHP with one server interface, the opcode cache and the application's extensions.
pub(crate) fn requirement(key: &'static str, sapi: PhpSapi, package: &str, app: &App) -> Requirement {
    let opcache = "opcache".to_owned();
    Requirement::Php {
        key,
        sapi,
        build: None,
        extensions: std::iter::once(opcache).chain(app.extensions.iter().cloned()).collect(),
        install: install(package),
    }
}

/// How to get PHP.
pub(crate) fn install(package: &str) -> Install {
    Install { package: Some(package.to_owned()), page: "https://www.php.net/manual/en/install.php".to_owned() }
}
