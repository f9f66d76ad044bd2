//! Apache with PHP as a module, on the prefork worker model.

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, PhpSapi, PlanError, ProcessModel, Programs, RenderContext,
    Requirement, Role, Runtime, Tunable, Tuning, TuningProblem, Unit,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{apache, framework, front, label, php_build, php_ini, pool, recipe, status};

const ID: &str = "apache-mod-php";
const MODULE: &str = "php-apache";
/// Apache's own; PHP's may lie elsewhere.
const WORKER_MODEL: &str = "mod_mpm_prefork";
const MANUAL: &str = "https://httpd.apache.org/docs/2.4/mod/prefork.html";
/// Apache looks at no limit for requests that it passes on, so behind FPM there is no such setting.
const BODY_SIZE: &str = "LimitRequestBody";

const HTTPD_CONF: Template = template!("apache-mod-php/httpd.conf.j2");

const TUNABLES: [Tunable; 11] = [
    Tunable::count("MaxRequestWorkers", Role::PoolSize, 1, apache::MOST_WORKERS)
        .does("the most children, each bound to one connection")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#maxrequestworkers"),
    Tunable::count("StartServers", Role::PoolSpare, 1, apache::MOST_WORKERS)
        .does("children at the start")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#startservers"),
    Tunable::count("MinSpareServers", Role::PoolSpare, 1, apache::MOST_WORKERS)
        .does("idle children below which more are started")
        .manual("https://httpd.apache.org/docs/2.4/mod/prefork.html#minspareservers"),
    Tunable::count("MaxSpareServers", Role::PoolSpare, 2, apache::MOST_WORKERS)
        .does("idle children above which some are ended")
        .manual("https://httpd.apache.org/docs/2.4/mod/prefork.html#maxspareservers"),
    apache::CONNECTION_TUNABLES[0],
    apache::CONNECTION_TUNABLES[1],
    apache::CONNECTION_TUNABLES[2],
    apache::CONNECTION_TUNABLES[3],
    apache::CONNECTION_TUNABLES[4],
    apache::CONNECTION_TUNABLES[5],
    Tunable::count(BODY_SIZE, Role::RequestSize, 0, 1 << 40)
        .does("bytes that a request's body may have, 0 for no limit; a larger one is answered with 413")
        .manual("https://httpd.apache.org/docs/2.4/mod/core.html#limitrequestbody"),
];

/// Apache with PHP as a module.
pub(crate) struct ApacheModPhp;

impl Runtime for ApacheModPhp {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "Apache (prefork) with PHP as a module",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::APACHE),
            status: &[status::APACHE.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let module = php_build::requirement(MODULE, PhpSapi::ApacheModule, "libapache2-mod-php", app);
        let mut all = vec![apache::requirement(), apache::module(WORKER_MODEL, MANUAL), module];
        all.extend(framework::requirements(app));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, apache::APACHE, "Apache"), label::php(programs, MODULE))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_connections(cx.limits, cx.load);
        let children = cx.given.count("MaxRequestWorkers").unwrap_or(pool.workers).max(1);
        apache::connection_defaults(cx)
            .with_default(BODY_SIZE, 1 << 30, "1 GiB, Apache's own since 2.4.54; before it had no limit")
            .with_default("MaxRequestWorkers", pool.workers, pool.reason)
            .with_default("StartServers", children, "all children, so that none is started while measuring")
            .with_default("MinSpareServers", 1, "all children run from the start")
            .with_default("MaxSpareServers", children.max(2), "all children, so that none is ended while measuring")
            .overlaid_with(cx.given)
    }

    /// Apache itself corrects such settings with a warning; they would not be what was measured.
    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        let start = pool::out_of_order(tuning, "StartServers", "more than", "MaxRequestWorkers");
        let spare = pool::out_of_order(tuning, "MinSpareServers", "not less than", "MaxSpareServers");
        start.into_iter().chain(spare).collect()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            addresses: vec![front::address(), status::APACHE.address()],
            preparation: framework::preparation(cx.app, &lookup)?,
            probe: Some(apache::probe(cx, lookup.php(MODULE)?)?),
            ..front::deployment(&cx.app.source, vec![unit(cx, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let php_module = &lookup.program(MODULE)?.path;
    let modules = apache::modules(lookup, WORKER_MODEL)?;
    let conf = HTTPD_CONF.fill(context! {
        modules => modules.display().to_string(),
        php_module => php_module.display().to_string(),
        max_request_workers => lookup.count("MaxRequestWorkers")?,
        start_servers => lookup.count("StartServers")?,
        min_spare_servers => lookup.count("MinSpareServers")?,
        max_spare_servers => lookup.count("MaxSpareServers")?,
        max_connections_per_child => lookup.count("MaxConnectionsPerChild")?,
        listen_backlog => lookup.count("ListenBacklog")?,
        grace_seconds => apache::GRACE_SECONDS,
        keep_alive => lookup.setting("KeepAlive")?,
        max_keep_alive_requests => lookup.count("MaxKeepAliveRequests")?,
        keep_alive_timeout => lookup.count("KeepAliveTimeout")?,
        body_size => lookup.count(BODY_SIZE)?,
        php_folder => php_ini::FOLDER,
        site => apache::site(lookup, &modules)?,
    })?;
    apache::unit(
        lookup,
        conf,
        &php_ini::environment(cx.app),
        vec![php_ini::file(cx.app, lookup.php(MODULE)?, cx.limits)?],
        php_ini::folders(),
    )
    .map(|mut unit| {
        unit.logs.push(php_ini::log());
        unit
    })
}
