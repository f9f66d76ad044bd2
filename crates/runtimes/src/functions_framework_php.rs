//! A PHP function behind Google's functions framework, served as the platform's buildpack serves it: by PHP's built-in web
//! server with the framework's router.
//! <https://github.com/GoogleCloudPlatform/buildpacks/blob/main/cmd/php/functions_framework/lib/lib.go>

use std::time::Duration;

use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, GracefulStop, PhpSapi, PlanError, ProcessModel, Program,
    Programs, RenderContext, Requirement, Runtime, StopSignal, Tuning, Unit,
};

use crate::lookup::Lookup;
use crate::php_cli_server::{TUNABLES, WORKERS};
use crate::{bridge, front, label, php_build, php_ini, php_probe, recipe};

const ID: &str = "functions-framework-php";
const PHP: &str = "php";
const PACKAGE: &str = "google/cloud-functions-framework";

/// A PHP function behind the functions framework.
pub(crate) struct FunctionsFrameworkPhp;

impl Runtime for FunctionsFrameworkPhp {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "functions framework for PHP (closes every connection)",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::CLI),
            status: &[],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::PhpFunction { .. })
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![php_build::requirement(PHP, PhpSapi::Cli, "php-cli", app), bridge::package(PACKAGE, PACKAGE, app)]
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, PACKAGE, "functions framework"), label::php(programs, PHP))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        Tuning::new()
            .with_default(WORKERS, 1, "the platform's buildpack starts one process and adds instances")
            .overlaid_with(cx.given)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let AppKind::PhpFunction { script, function } = &cx.app.kind else {
            return Err(PlanError::AppKind(self.id()));
        };
        let lookup = Lookup::new(ID, cx);
        let path = lookup.path(PHP)?;
        let router = format!("@{{app}}/vendor/{PACKAGE}/router.php");
        let mut env = php_ini::environment(cx.app);
        env.insert("FUNCTION_SOURCE".to_owned(), format!("@{{app}}/{}", script.display()));
        env.insert("FUNCTION_TARGET".to_owned(), function.clone());
        env.insert("FUNCTION_SIGNATURE_TYPE".to_owned(), "http".to_owned());
        let args = ["-c", php_ini::PATH, "-l", &format!("@{{app}}/{}", script.display())];
        let check = Program::new(path.clone(), &args, env.clone());
        let workers = lookup.count(WORKERS)?;
        // The server refuses 1 with a warning; without the variable it has the one process.
        if workers > 1 {
            env.insert(WORKERS.to_owned(), workers.to_string());
        }
        let args = ["-c", php_ini::PATH, "-q", "-q", "-S", "@{front}", &router];
        // Like the built-in server without a framework: no graceful stop.
        let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(2) };
        let unit = Unit {
            files: vec![php_ini::file(cx.app, lookup.php(PHP)?, cx.limits)?],
            folders: php_ini::folders(),
            check: Some(check),
            logs: vec![php_ini::log()],
            ..Unit::new(PHP, Program::new(path, &args, env), stop)
        };
        Ok(Deployment {
            preparation: php_probe::saved_before(cx.app, &lookup, None)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(PHP)?, cx.limits)?),
            ..front::deployment(&cx.app.source, vec![unit])
        })
    }
}
