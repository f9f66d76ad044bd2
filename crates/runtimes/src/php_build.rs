//! Which build of PHP a runtime needs.

use stampede_core::{App, Install, PhpSapi, Requirement};

/// PHP with one server interface, the opcode cache and the application's extensions.
pub(crate) fn requirement(key: &'static str, sapi: PhpSapi, package: &str, app: &App) -> Requirement {
    let opcache = "opcache".to_owned();
    Requirement::Php {
        key,
        sapi,
        extensions: std::iter::once(opcache).chain(app.extensions.iter().cloned()).collect(),
        install: Install {
            package: Some(package.to_owned()),
            page: "https://www.php.net/manual/en/install.php".to_owned(),
        },
    }
}
