//! From an application's kind to a process model: what lets a long-lived worker load a PSR-15 handler once and ask it for
//! every request.
//!
//! Each server has a script of its own that receives requests in its way; they share a class that loads the handler with
//! the application's own PSR-7 package, and a script that loads it once before the server starts.

use std::path::{Path, PathBuf};

use minijinja::context;
use stampede_core::{App, AppKind, Install, PhpSapi, PlanError, Program, Requirement, RunFile};

use crate::lookup::Lookup;
use crate::template::Template;
use crate::{php_build, php_ini};

/// The key of the PHP that runs workers.
pub(crate) const PHP: &str = "php";

const CHECK: Template = Template { name: "php/check.php.j2", source: include_str!("../templates/php/check.php.j2") };

/// PHP as a command line program, with what the application needs and these extensions.
pub(crate) fn php(app: &App, extensions: &[&str]) -> Requirement {
    php_build::requirement(PHP, PhpSapi::Cli, "php-cli", &with(app, extensions))
}

/// The application with extensions that its server needs.
pub(crate) fn with(app: &App, extensions: &[&str]) -> App {
    let mut app = app.clone();
    for extension in extensions {
        if !app.extensions.iter().any(|name| name == extension) {
            app.extensions.push((*extension).to_owned());
        }
    }
    app
}

/// A PHP package that has to be installed with the application.
pub(crate) fn package(key: &'static str, package: &'static str, app: &App) -> Requirement {
    Requirement::PhpPackage { key, package, app: app.source.clone(), install: install(package) }
}

/// How to get a PHP package.
pub(crate) fn install(package: &str) -> Install {
    Install { package: None, page: format!("composer require {package}, https://packagist.org/packages/{package}") }
}

/// Whether an application is a handler that a worker can load.
pub(crate) fn is_handler(kind: &AppKind) -> bool {
    matches!(kind, AppKind::Psr15Handler { .. })
}

/// The application's script as scripts in the run's folder name it.
pub(crate) fn script(handler: &Path) -> String {
    format!("@{{app}}/{}", handler.display())
}

/// The class that loads the application, and the script that checks it.
pub(crate) fn files(handler: &Path) -> Result<Vec<RunFile>, PlanError> {
    let file = |name: &str, text: String| RunFile { path: PathBuf::from("bridge").join(name), text };
    Ok(vec![
        file("application.php", include_str!("../templates/php/application.php").to_owned()),
        file("check.php", CHECK.fill(context! { handler => script(handler) })?),
    ])
}

/// A server's own script, beside them.
pub(crate) fn server(name: &str, text: String) -> RunFile {
    RunFile { path: PathBuf::from("bridge").join(name), text }
}

/// Loads the application once.
pub(crate) fn check(lookup: &Lookup<'_>, app: &App) -> Result<Program, PlanError> {
    run(lookup, app, "check.php", &[])
}

/// Runs one of the scripts under the command line program.
pub(crate) fn run(lookup: &Lookup<'_>, app: &App, script: &str, args: &[&str]) -> Result<Program, PlanError> {
    let mut all = arguments(script);
    all.extend(args.iter().map(|arg| (*arg).to_owned()));
    Ok(Program { path: lookup.path(PHP)?, args: all, env: php_ini::environment(app) })
}

/// What PHP is given to run one of the scripts. Under the command line program a script's time is not limited, whatever
/// `php.ini` says, which suits a worker. <https://www.php.net/manual/en/features.commandline.differences.php>
pub(crate) fn arguments(script: &str) -> Vec<String> {
    let script = format!("@{{run}}/bridge/{script}");
    ["-c", php_ini::PATH, &script].map(str::to_owned).into()
}
