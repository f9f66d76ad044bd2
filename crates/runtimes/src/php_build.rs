//! Which build of PHP a runtime needs.

use stampede_core::{App, Install, PhpSapi, PhpWants, Requirement};

/// PHP with one server interface, the opcode cache and the application's extensions.
pub(crate) fn requirement(key: &'static str, sapi: PhpSapi, package: &str, app: &App) -> Requirement {
    Requirement::Php { key, sapi, build: None, wants: wants(app, &[]), install: install(package) }
}

/// The opcode cache and the application's extensions, and these where PHP has them.
pub(crate) fn wants(app: &App, optional: &[&str]) -> PhpWants {
    let opcache = "opcache".to_owned();
    PhpWants {
        extensions: std::iter::once(opcache).chain(app.extensions.iter().cloned()).collect(),
        optional: optional.iter().map(|name| (*name).to_owned()).collect(),
        base: app.php,
    }
}

/// How to get PHP.
pub(crate) fn install(package: &str) -> Install {
    Install::package(package, "https://www.php.net/manual/en/install.php")
}
