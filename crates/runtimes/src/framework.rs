//! What an application of a framework needs before its first request, whatever serves it: an environment of production,
//! folders that it may write to, and its caches warmed up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minijinja::context;
use stampede_core::{App, AppKind, PlanError, Preparation, Program, Requirement, RunFile};

use crate::bridge;
use crate::lookup::Lookup;
use crate::template::{Template, template};

const SYMFONY_KERNEL: Template = template!("php/symfony_kernel.php.j2");
const SYMFONY_WARM: Template = template!("php/symfony_warm.php.j2");
const LARAVEL_WARM: Template = template!("php/laravel_warm.php.j2");

/// The script that returns a Symfony application's kernel.
pub(crate) const KERNEL: &str = "@{run}/framework/kernel.php";

const WARM: &str = "@{run}/framework/warm.php";

/// Where a Symfony application writes. <https://symfony.com/doc/current/setup/file_permissions.html>
const SYMFONY_FOLDERS: [&str; 1] = ["app/var"];

/// Where a Laravel application writes. <https://laravel.com/docs/8.x/installation#directory-permissions>
const LARAVEL_FOLDERS: [&str; 7] = [
    "app/bootstrap/cache",
    "app/storage/app",
    "app/storage/logs",
    "app/storage/framework/cache/data",
    "app/storage/framework/sessions",
    "app/storage/framework/views",
    "app/storage",
];

/// PHP as a command line program, which warms the caches up where the server itself cannot be asked to.
pub(crate) fn requirements(app: &App) -> Vec<Requirement> {
    if is_one(&app.kind) { vec![bridge::php(app, &[])] } else { Vec::new() }
}

/// The environment of production, under what the application says itself.
pub(crate) fn environment(app: &App) -> BTreeMap<String, String> {
    let production = match &app.kind {
        AppKind::Symfony { .. } => "prod",
        AppKind::Laravel { .. } => "production",
        _ => return app.env.clone(),
    };
    let mut env =
        BTreeMap::from([("APP_ENV", production), ("APP_DEBUG", "0")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    if app.site.https && matches!(app.kind, AppKind::Laravel { .. }) {
        // Octane makes its requests itself. https://laravel.com/docs/12.x/octane#serving-your-application-via-https
        env.insert("OCTANE_HTTPS".to_owned(), "true".to_owned());
    }
    env.extend(app.env.clone());
    env
}

/// What is done before the start, by PHP as a command line program.
pub(crate) fn preparation(app: &App, lookup: &Lookup<'_>) -> Result<Option<Preparation>, PlanError> {
    let program = || bridge::php_program(lookup, app, WARM);
    prepared(app, program)
}

/// What is done before the start, by a program that is given the script.
pub(crate) fn preparation_by(
    app: &App,
    program: impl FnOnce(&str) -> Program,
) -> Result<Option<Preparation>, PlanError> {
    prepared(app, || Ok(program(WARM)))
}

fn prepared(app: &App, program: impl FnOnce() -> Result<Program, PlanError>) -> Result<Option<Preparation>, PlanError> {
    let file = |name: &str, text: String| RunFile { path: Path::new("framework").join(name), text };
    let place = |path: &Path| format!("@{{app}}/{}", path.display());
    let (files, folders) = match &app.kind {
        AppKind::Symfony { kernel, autoload } => {
            let kernel = SYMFONY_KERNEL.fill(context! { kernel, autoload => place(autoload) })?;
            let warm = SYMFONY_WARM.fill(context! {})?;
            (vec![file("kernel.php", kernel), file("warm.php", warm)], &SYMFONY_FOLDERS[..])
        }
        AppKind::Laravel { autoload } => {
            let warm = LARAVEL_WARM.fill(context! { autoload => place(autoload) })?;
            (vec![file("warm.php", warm)], &LARAVEL_FOLDERS[..])
        }
        _ => return Ok(None),
    };
    let folders = folders.iter().map(PathBuf::from).collect();
    Ok(Some(Preparation { replacements: Vec::new(), files, folders, programs: vec![program()?] }))
}

fn is_one(kind: &AppKind) -> bool {
    matches!(kind, AppKind::Symfony { .. } | AppKind::Laravel { .. })
}
