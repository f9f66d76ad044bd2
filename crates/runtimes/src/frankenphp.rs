//! FrankenPHP: PHP inside Caddy, on threads of one process.

use std::collections::BTreeMap;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, Install, PlanError, ProcessModel, Programs, RenderContext,
    Requirement, RunFile, Runtime, Tuning, TuningProblem,
};

use crate::bridge::Kept;
use crate::caddy_php::{self, CLASSIC, MAX_REQUESTS, MODE, Served, TUNABLES, WORKER};
use crate::lookup::Lookup;
use crate::octane::Octane;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{bridge, label, octane, php_build, recipe, status};

const ID: &str = "frankenphp";

const SCRIPT: Template = template!("frankenphp/worker.php.j2");
/// The worker of a Laravel application.
const OCTANE: Template = template!("frankenphp/octane.php.j2");

/// The first version of Octane that knows FrankenPHP. <https://github.com/laravel/octane/releases/tag/v2.2.0>
const OCTANE_SINCE: [u32; 2] = [2, 2];

/// FrankenPHP.
pub(crate) struct FrankenPhp;

impl Runtime for FrankenPhp {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "FrankenPHP, classic or with workers",
            // That of its workers; in classic mode the application starts afresh for each request.
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::FRANKENPHP),
            status: &[status::FRANKENPHP.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        bridge::keeps(kind) || kind.index().is_some()
    }

    fn suits(&self, kind: &AppKind, given: &Tuning) -> Result<(), TuningProblem> {
        let problem = |problem: &str, fix: &str| Err(TuningProblem::new(MODE, problem, fix));
        match (kind, given.get(MODE)) {
            (AppKind::FrontController { .. } | AppKind::Scripts { .. }, Some(WORKER)) => problem(
                "asks a plain front controller for a worker mode, which it does not have: it answers one request and ends",
                "give the workload an app of kind psr-15-handler, or set mode to classic",
            ),
            (AppKind::Psr15Handler { .. }, Some(CLASSIC)) => problem(
                "asks for classic mode, but the workload has no script that answers one request and ends",
                "give the workload an app of kind front-controller, or set mode to worker",
            ),
            _ => Ok(()),
        }
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![Requirement::FrankenPhp {
            key: caddy_php::KEY,
            binary: None,
            build: None,
            wants: php_build::wants(app, &[]),
            install: Install { package: None, page: "https://frankenphp.dev/docs/#getting-started".to_owned() },
        }]
    }

    fn requires_for(&self, app: &App, tuning: &Tuning) -> Vec<Requirement> {
        octane::requirement(app).filter(|_| tuning.get(MODE) == Some(WORKER)).into_iter().collect()
    }

    fn version(&self, programs: &Programs) -> String {
        let php = label::php(programs, caddy_php::KEY);
        let both = format!("{}, {php}", label::program(programs, caddy_php::KEY, "FrankenPHP"));
        octane::named(both, programs)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let (mode, reason) = if bridge::keeps(&cx.app.kind) {
            (WORKER, "the application is one that a worker can keep")
        } else if octane::drives(&cx.app.kind) {
            (CLASSIC, "works for all of Laravel; for mode worker the application needs laravel/octane")
        } else {
            (CLASSIC, "the application is a script that answers one request and ends")
        };
        caddy_php::defaults(cx, mode, reason)
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        caddy_php::problems(tuning)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        if lookup.setting(MODE)? == WORKER {
            let (files, env) = worker(&lookup)?;
            let served = Served {
                program: lookup.path(caddy_php::KEY)?,
                public: WebRoot::beside(cx.app),
                inside: false,
                root: "@{run}/bridge".to_owned(),
                name: "/worker.php".to_owned(),
                worker: Some("@{run}/bridge/worker.php".to_owned()),
                check: Some("@{run}/bridge/check.php".to_owned()),
                env,
            };
            caddy_php::deployment(cx, &lookup, served, files)
        } else {
            let front = WebRoot::of(&lookup)?;
            let served = Served {
                program: lookup.path(caddy_php::KEY)?,
                root: front.root.clone(),
                name: front.name.clone(),
                public: Some(front),
                inside: false,
                worker: None,
                check: None,
                env: BTreeMap::new(),
            };
            caddy_php::deployment(cx, &lookup, served, Vec::new())
        }
    }
}

/// The scripts of a worker in `worker.php`, and what they need in their environment.
fn worker(lookup: &Lookup<'_>) -> Result<(Vec<RunFile>, BTreeMap<String, String>), PlanError> {
    const NAME: &str = "worker.php";
    if octane::drives(lookup.kind()) {
        let octane = Octane::new(lookup, "FrankenPHP", OCTANE_SINCE)?;
        let mut env = octane::own_environment();
        if lookup.count(MAX_REQUESTS)? == 0 {
            // Octane's worker takes the number as it is.
            env.insert(MAX_REQUESTS.to_owned(), i64::MAX.to_string());
        }
        return Ok((octane.files(NAME, &OCTANE, context! {})?, env));
    }
    let kept = Kept::new(lookup, lookup.php(caddy_php::KEY)?)?;
    let mut files = kept.files()?;
    files.push(bridge::server(NAME, SCRIPT.fill(context! { application => &kept.script })?));
    Ok((files, BTreeMap::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_needs_an_application_that_has_it() {
        let front = AppKind::FrontController { index: "index.php".into() };
        let handler = AppKind::Psr15Handler { handler: "handler.php".into() };
        let symfony = AppKind::Symfony { kernel: "App\\Kernel".into(), autoload: "vendor/autoload.php".into() };
        let laravel = AppKind::Laravel { autoload: "vendor/autoload.php".into() };
        for (kind, mode, suits) in [
            (&symfony, Some(CLASSIC), true),
            (&symfony, Some(WORKER), true),
            (&laravel, Some(CLASSIC), true),
            (&laravel, Some(WORKER), true),
            (&front, None, true),
            (&front, Some(CLASSIC), true),
            (&front, Some(WORKER), false),
            (&handler, None, true),
            (&handler, Some(WORKER), true),
            (&handler, Some(CLASSIC), false),
        ] {
            let mut given = Tuning::new();
            if let Some(mode) = mode {
                given.give(MODE, mode);
            }
            assert_eq!(FrankenPhp.suits(kind, &given).is_ok(), suits, "{kind:?} {mode:?}");
        }
    }
}
