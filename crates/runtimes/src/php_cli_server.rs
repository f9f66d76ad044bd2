//! PHP's built-in web server, with several workers.
//!
//! It closes the connection after each answer, whatever the client asks for.
//! <https://www.php.net/manual/en/features.commandline.webserver.php>

use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    About, App, AppKind, CaseRole, DefaultsContext, Deployment, GracefulStop, PhpSapi, PlanError, ProcessModel,
    Program, Programs, RenderContext, Requirement, Role, RunFile, Runtime, StopSignal, Tunable, Tuning, Unit,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{framework, front, label, php_build, php_ini, php_probe, pool, recipe};

const ID: &str = "php-cli-server";
const PHP: &str = "php";
/// The environment variable.
pub(crate) const WORKERS: &str = "PHP_CLI_SERVER_WORKERS";

/// Its settings.
pub(crate) const TUNABLES: [Tunable; 1] = [Tunable::count(WORKERS, Role::PoolSize, 1, 1024)
    .does("processes that are started to serve beside the first one; 1 starts none")
    .manual("https://www.php.net/manual/en/features.commandline.webserver.php")];

const ROUTER: Template = template!("php/router.php.j2");

/// PHP's built-in web server.
pub(crate) struct PhpCliServer;

impl Runtime for PhpCliServer {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "PHP's built-in web server (closes every connection)",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::CLI),
            status: &[],
            tunables: &TUNABLES,
        }
    }

    fn role(&self) -> CaseRole {
        CaseRole::NotForProduction
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![php_build::requirement(PHP, PhpSapi::Cli, "php-cli", app)]
    }

    fn version(&self, programs: &Programs) -> String {
        label::php(programs, PHP)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_cores(cx.limits, cx.load);
        Tuning::new()
            .with_default(
                WORKERS,
                pool.workers.saturating_sub(1).max(1),
                format!("{}; the first process serves too", pool.reason),
            )
            .overlaid_with(cx.given)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            preparation: php_probe::saved_before(cx.app, &lookup, framework::preparation(cx.app, &lookup)?)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(PHP)?, cx.limits)?),
            ..front::deployment(&cx.app.source, vec![unit(cx, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let public = WebRoot::of(lookup)?;
    let router = ROUTER.fill(public.values())?;
    let path = lookup.path(PHP)?;
    let mut env = php_ini::environment(cx.app);
    let check = Program::new(path.clone(), &["-c", php_ini::PATH, "-l", &public.script], env.clone());
    let workers = lookup.count(WORKERS)?;
    // The server refuses 1 with a warning; without the variable it has the one process.
    if workers > 1 {
        env.insert(WORKERS.to_owned(), workers.to_string());
    }
    // The first -q silences a line for each request, the second a line for each connection.
    let args = ["-c", php_ini::PATH, "-q", "-q", "-S", "@{front}", "-t", &public.root, "@{run}/php/router.php"];
    // The server has no graceful stop: SIGTERM ends the first process at once, and its workers stay until the
    // platform ends what is left of the unit. On SIGINT the first process would wait for them without telling them.
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(2) };
    Ok(Unit {
        files: vec![
            php_ini::file(cx.app, lookup.php(PHP)?, cx.limits)?,
            RunFile { path: PathBuf::from("php/router.php"), text: router },
        ],
        folders: php_ini::folders(),
        check: Some(check),
        logs: vec![php_ini::log()],
        ..Unit::new(PHP, Program::new(path, &args, env), stop)
    })
}
