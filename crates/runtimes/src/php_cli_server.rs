//! PHP's built-in web server, with several workers.
//!
//! It closes the connection after each answer, whatever the client asks for.
//! <https://www.php.net/manual/en/features.commandline.webserver.php>

use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    Address, AddressId, AddressKind, App, AppKind, CaseRole, DefaultsContext, Deployment, GracefulStop, PhpSapi,
    PlanError, ProcessModel, Program, Programs, Ready, Recipe, RenderContext, Requirement, Role, RunFile, Runtime,
    RuntimeId, StopSignal, Tunable, TunableKind, Tuning, TuningProblem, Unit, UnitId,
};

use crate::lookup::Lookup;
use crate::template::Template;
use crate::web_root::WebRoot;
use crate::{framework, label, php_build, php_ini, php_probe, pool, recipe};

const ID: &str = "php-cli-server";
const PHP: &str = "php";
/// The environment variable.
pub(crate) const WORKERS: &str = "PHP_CLI_SERVER_WORKERS";

/// Its settings.
pub(crate) const TUNABLES: [Tunable; 1] = [Tunable {
    name: WORKERS,
    role: Role::PoolSize,
    kind: TunableKind::Count { min: 1, max: 1024 },
    summary: "processes that are started to serve beside the first one; 1 starts none",
    manual: "https://www.php.net/manual/en/features.commandline.webserver.php",
}];

const ROUTER: Template = Template { name: "php/router.php.j2", source: include_str!("../templates/php/router.php.j2") };

/// PHP's built-in web server.
pub(crate) struct PhpCliServer;

impl Runtime for PhpCliServer {
    fn id(&self) -> RuntimeId {
        RuntimeId::new(ID)
    }

    fn title(&self) -> &'static str {
        "PHP's built-in web server (closes every connection)"
    }

    fn process_model(&self) -> ProcessModel {
        ProcessModel::ProcessPerRequest
    }

    fn role(&self) -> CaseRole {
        CaseRole::NotForProduction
    }

    fn recipe(&self) -> Option<&'static Recipe> {
        Some(&recipe::CLI)
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

    fn tunables(&self) -> &'static [Tunable] {
        &TUNABLES
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

    fn validate(&self, _tuning: &Tuning) -> Vec<TuningProblem> {
        Vec::new()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            addresses: vec![Address { id: AddressId::new("front"), kind: AddressKind::Tcp }],
            front: AddressId::new("front"),
            app: cx.app.source.clone(),
            container: None,
            image: None,
            preparation: php_probe::saved_before(cx.app, &lookup, framework::preparation(cx.app, &lookup)?)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(PHP)?, cx.limits)?),
            units: vec![unit(cx, &lookup)?],
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let front = WebRoot::of(lookup)?;
    let router = ROUTER.fill(front.values())?;
    let path = lookup.path(PHP)?;
    let mut env = php_ini::environment(cx.app);
    let check = Program {
        path: path.clone(),
        args: ["-c", php_ini::PATH, "-l", &front.script].map(str::to_owned).into(),
        env: env.clone(),
    };
    let workers = lookup.count(WORKERS)?;
    // The server refuses 1 with a warning; without the variable it has the one process.
    if workers > 1 {
        env.insert(WORKERS.to_owned(), workers.to_string());
    }
    Ok(Unit {
        id: UnitId::new(PHP),
        build: None,
        files: vec![
            php_ini::file(cx.app, lookup.php(PHP)?, cx.limits)?,
            RunFile { path: PathBuf::from("php/router.php"), text: router },
        ],
        folders: php_ini::folders(),
        check: Some(check),
        program: Program {
            path,
            // The first -q silences a line for each request, the second a line for each connection.
            args: ["-c", php_ini::PATH, "-q", "-q", "-S", "@{front}", "-t", &front.root, "@{run}/php/router.php"]
                .map(str::to_owned)
                .into(),
            env,
        },
        logs: vec![php_ini::log()],
        statuses: Vec::new(),
        ready: Ready::Request,
        // The server has no graceful stop: SIGTERM ends the first process at once, and its workers stay until the
        // platform ends what is left of the unit. On SIGINT the first process would wait for them without telling them.
        stop: GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(2) },
    })
}
