//! An application inside a FrankenPHP binary: what is shipped is one file.

use std::collections::BTreeMap;

use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, Install, PlanError, ProcessModel, Programs, RenderContext,
    Requirement, Runtime, Tuning, TuningProblem,
};

use crate::caddy_php::{self, CLASSIC, MODE, Served, TUNABLES, WORKER};
use crate::lookup::Lookup;
use crate::web_root::WebRoot;
use crate::{label, php_build, status};

const ID: &str = "frankenphp-binary";

/// An application inside a FrankenPHP binary.
pub(crate) struct FrankenPhpBinary;

impl Runtime for FrankenPhpBinary {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "an application inside a FrankenPHP binary",
            // That of its workers; in classic mode the application starts afresh for each request.
            process_model: ProcessModel::LongLivedWorkers,
            recipe: None,
            status: &[status::FRANKENPHP.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::EmbeddedPhp { .. })
    }

    fn suits(&self, kind: &AppKind, given: &Tuning) -> Result<(), TuningProblem> {
        match (kind, given.get(MODE)) {
            (AppKind::EmbeddedPhp { worker: None, .. }, Some(WORKER)) => Err(TuningProblem::new(
                MODE,
                "asks for a worker mode, but the application names no worker script",
                "add worker: public/worker.php to the app, or set mode to classic",
            )),
            _ => Ok(()),
        }
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let binary = match &app.kind {
            AppKind::EmbeddedPhp { binary, .. } => app.source.join(binary),
            _ => app.source.clone(),
        };
        vec![Requirement::FrankenPhp {
            key: caddy_php::KEY,
            binary: Some(binary),
            build: None,
            wants: php_build::wants(app, &[]),
            install: Install { package: None, page: "https://frankenphp.dev/docs/embed/".to_owned() },
        }]
    }

    fn version(&self, programs: &Programs) -> String {
        if !programs.contains_key(caddy_php::KEY) {
            return "the application's own binary".to_owned();
        }
        let php = label::php(programs, caddy_php::KEY);
        format!("{}, {php}, embedded", label::program(programs, caddy_php::KEY, "FrankenPHP"))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let (mode, reason) = match &cx.app.kind {
            AppKind::EmbeddedPhp { worker: Some(_), .. } => (WORKER, "the application has a worker script"),
            _ => (CLASSIC, "the application has no worker script"),
        };
        caddy_php::defaults(cx, mode, reason)
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        caddy_php::problems(tuning)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let AppKind::EmbeddedPhp { binary, index, worker } = &cx.app.kind else {
            return Err(PlanError::AppKind(self.id()));
        };
        let lookup = Lookup::new(ID, cx);
        let worker = worker.as_ref().filter(|_| cx.tuning.get(MODE) == Some(WORKER));
        // FrankenPHP reads a relative path as one inside the binary.
        let script = worker.unwrap_or(index);
        let text = |path: Option<&std::path::Path>| path.map_or_else(String::new, |path| path.display().to_string());
        let root = text(script.parent());
        let name = script.file_name().map_or_else(String::new, |name| format!("/{}", name.display()));
        let served = Served {
            program: format!("@{{app}}/{}", binary.display()),
            public: cx.app.site.files.then(|| WebRoot::with_script(cx.app, script)),
            inside: true,
            root: if root.is_empty() { ".".to_owned() } else { root },
            name,
            worker: worker.map(|worker| worker.display().to_string()),
            check: None,
            env: BTreeMap::new(),
        };
        caddy_php::deployment(cx, &lookup, served, Vec::new())
    }
}
