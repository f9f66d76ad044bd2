//! Caddy in front of PHP-FPM, by its directive `php_fastcgi`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, Documented, GracefulStop, Install, PlanError, ProcessModel,
    Program, Programs, RenderContext, Requirement, Role, RunFile, Runtime, StopSignal, Tunable, Tuning, TuningProblem,
    Unit, VersionProbe,
};

use crate::caddy_site::{self, Scripts};
use crate::lookup::{self, Lookup};
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{fpm, fpm_pool, front, label, recipe, status};

const ID: &str = "caddy-fpm";
const CADDY: &str = "caddy";
const GOMAXPROCS: &str = "GOMAXPROCS";
const FOLDER: &str = "@{run}/caddy";

/// How long Caddy waits for requests in flight when it is stopped. Its own default is for ever.
const GRACE_SECONDS: u64 = 3;

/// The oldest version with the option `protocols`. <https://github.com/caddyserver/caddy/releases/tag/v2.6.0>
const OLDEST: [u32; 2] = [2, 6];

const CADDYFILE: Template = template!("caddy-fpm/Caddyfile.j2");

const TUNABLES: [Tunable; 11] = fpm_pool::behind(&[
    Tunable::count(GOMAXPROCS, Role::Processors, 1, 1024)
        .does("threads of Caddy that run Go code at once")
        .manual("https://pkg.go.dev/runtime#hdr-Environment_Variables"),
    Tunable::count("idle", Role::KeepAlive, 1, 86_400)
        .does("seconds for which an idle connection is kept")
        .manual("https://caddyserver.com/docs/caddyfile/options#timeouts"),
]);

/// Caddy in front of PHP-FPM.
pub(crate) struct CaddyFpm;

impl Runtime for CaddyFpm {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "Caddy in front of PHP-FPM",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::CADDY_FPM),
            status: &[status::CADDY.says, status::FPM.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        // Debian's prints `2.6.2`, Caddy's own `v2.10.0 h1:...`; neither has a word before it, and both have this line among
        // their environment.
        let version = VersionProbe { args: &["environ"], prefix: "caddy.Version=" };
        let mut all = vec![lookup::program(&[CADDY], version, install())];
        all.extend(fpm::requirements(app));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, CADDY, "Caddy"), label::php(programs, fpm::FPM))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        fpm_pool::defaults(cx)
            .with_default(
                GOMAXPROCS,
                cx.limits.cpus.whole_cores(),
                format!("one per CPU of the limit ({}, rounded up), not of the machine", cx.limits.cpus),
            )
            .with_default("idle", front::KEEPALIVE_SECONDS, front::KEEPALIVE_REASON)
            .overlaid_with(cx.given)
    }

    fn documented(&self, _cx: &DefaultsContext<'_>) -> Option<Documented> {
        Some(fpm_pool::documented())
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        fpm_pool::problems(tuning)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        fpm::behind(caddy_unit(cx, &lookup)?, &[status::CADDY], cx, &lookup)
    }
}

fn install() -> Install {
    Install::package(CADDY, "https://caddyserver.com/docs/install")
}

fn caddy_unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    lookup.at_least(CADDY, OLDEST, "whose protocols can be set", install())?;
    let web_root = WebRoot::of(lookup)?;
    // https://caddyserver.com/docs/conventions#network-addresses
    let fpm = if fpm::on_tcp(cx.tuning) { "@{fpm}" } else { "unix/@{fpm}" };
    let https = cx.app.site.https;
    let scripts = Scripts { fpm: Some(fpm), root: &web_root.root, name: &web_root.name, inside: false, https };
    let caddyfile = CADDYFILE.fill(context! {
        grace_seconds => GRACE_SECONDS,
        idle_seconds => lookup.count("idle")?,
        site => caddy_site::text(Some(&web_root), &scripts)?,
        fpm,
    })?;
    // Caddy keeps its last configuration in these folders, otherwise in the user's own.
    let mut env: BTreeMap<String, String> =
        ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name.to_owned(), FOLDER.to_owned())).into();
    env.insert(GOMAXPROCS.to_owned(), lookup.count(GOMAXPROCS)?.to_string());
    let path = lookup.path(CADDY)?;
    let program = |command: &str| {
        let args = [command, "--config", "@{run}/caddy/Caddyfile", "--adapter", "caddyfile"];
        Program::new(path.clone(), &args, env.clone())
    };
    // SIGTERM closes idle connections and waits for requests in flight, as long as grace_period says.
    // https://caddyserver.com/docs/command-line#signals
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(GRACE_SECONDS + 2) };
    Ok(Unit {
        files: vec![RunFile { path: PathBuf::from("caddy/Caddyfile"), text: caddyfile }],
        folders: vec![PathBuf::from("caddy")],
        check: Some(program("validate")),
        statuses: vec![status::CADDY.source()],
        ..Unit::new(CADDY, program("run"), stop)
    })
}
