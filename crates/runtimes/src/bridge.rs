//! From an application's kind to a process model: what lets a long-lived worker load an application once and ask it for
//! every request.
//!
//! Each server has a script of its own that receives requests in its way; they share a class, one for each kind of
//! application, that loads it and makes the kind's own requests and answers, and a script that loads it once before the
//! server starts. A PSR-15 handler is asked with the application's own PSR-7 package, a Symfony kernel with Symfony's
//! requests.

use std::path::PathBuf;

use minijinja::context;
use stampede_core::{App, AppKind, Install, PhpBuild, PhpSapi, PlanError, Program, Requirement, RunFile};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{framework, label, php_build, php_ini};

/// The key of the PHP that runs workers.
pub(crate) const PHP: &str = "php";

/// The oldest PHP that reads the scripts: first-class callables and read-only properties came with it.
/// <https://www.php.net/releases/8.1/en.php>
const OLDEST: [u32; 2] = [8, 1];

const CHECK: Template = template!("php/check.php.j2");

/// PHP as a command line program, with what the application needs and these extensions.
pub(crate) fn php(app: &App, extensions: &[&str]) -> Requirement {
    php_with(app, extensions, &[])
}

/// The same, with extensions that are loaded where this PHP has them.
pub(crate) fn php_with(app: &App, extensions: &[&str], optional: &[&str]) -> Requirement {
    let wants = php_build::wants(&with(app, extensions), optional);
    Requirement::Php { key: PHP, sapi: PhpSapi::Cli, build: None, wants, install: php_build::install("php-cli") }
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

/// Whether a worker can keep an application.
pub(crate) fn keeps(kind: &AppKind) -> bool {
    is_handler(kind) || matches!(kind, AppKind::Symfony { .. })
}

/// What a worker loads: a class in PHP, and the script that it is given.
pub(crate) struct Kept {
    class: &'static str,
    /// The script as scripts in the run's folder name it.
    pub(crate) script: String,
}

impl Kept {
    /// What a worker that runs on this PHP loads of an application.
    pub(crate) fn new(lookup: &Lookup<'_>, php: &PhpBuild) -> Result<Self, PlanError> {
        if label::numbers(&php.version) < OLDEST.to_vec() {
            let what = format!(
                "PHP {}.{} or newer for the scripts of its workers; found {}",
                OLDEST[0], OLDEST[1], php.version
            );
            return Err(lookup.unsuitable(what, php_build::install("php-cli")));
        }
        match lookup.kind() {
            AppKind::Psr15Handler { handler } => Ok(Self {
                class: include_str!("../templates/php/psr15.php"),
                script: format!("@{{app}}/{}", handler.display()),
            }),
            AppKind::Symfony { .. } => {
                Ok(Self { class: include_str!("../templates/php/symfony.php"), script: framework::KERNEL.to_owned() })
            }
            _ => Err(lookup.other_kind()),
        }
    }

    /// The class that loads the application, and the script that checks it.
    pub(crate) fn files(&self) -> Result<Vec<RunFile>, PlanError> {
        Ok(vec![
            server("application.php", self.class.to_owned()),
            server("answer.php", include_str!("../templates/php/answer.php").to_owned()),
            server("form.php", include_str!("../templates/php/form.php").to_owned()),
            server("check.php", CHECK.fill(context! { application => &self.script })?),
        ])
    }
}

/// A script in the bridge's folder.
pub(crate) fn server(name: &str, text: String) -> RunFile {
    RunFile { path: PathBuf::from("bridge").join(name), text }
}

/// The class that finds files of the public folder, for servers that send none by themselves.
pub(crate) fn public_file() -> RunFile {
    server("public_file.php", include_str!("../templates/php/public_file.php").to_owned())
}

/// Loads the application once.
pub(crate) fn check(lookup: &Lookup<'_>, app: &App) -> Result<Program, PlanError> {
    run(lookup, app, "check.php", &[])
}

/// Runs any script under the command line program.
pub(crate) fn php_program(lookup: &Lookup<'_>, app: &App, script: &str) -> Result<Program, PlanError> {
    Ok(Program::new(lookup.path(PHP)?, &["-c", php_ini::PATH, script], php_ini::environment(app)))
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
