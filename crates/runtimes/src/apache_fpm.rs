//! Apache in front of PHP-FPM: the event worker model with `proxy_fcgi`.

use std::collections::BTreeMap;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, Documented, PlanError, ProcessModel, Programs, RenderContext,
    Requirement, Role, Runtime, Tunable, Tuning, TuningProblem, Unit,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{apache, fpm, fpm_pool, label, recipe, status};

const ID: &str = "apache-fpm";
const MODULE: &str = "mod_proxy_fcgi";
const MANUAL: &str = "https://httpd.apache.org/docs/2.4/mod/mod_proxy_fcgi.html";

/// Apache's own default of `ThreadsPerChild`.
const THREADS_PER_CHILD: u64 = 25;

const HTTPD_CONF: Template = template!("apache-fpm/httpd.conf.j2");

const TUNABLES: [Tunable; 17] = fpm_pool::behind(&[
    Tunable::count("ThreadsPerChild", Role::FrontRequests, 1, apache::MOST_WORKERS)
        .does("threads of each of Apache's children")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#threadsperchild"),
    Tunable::count("MaxRequestWorkers", Role::FrontRequests, 1, apache::MOST_WORKERS)
        .does("threads of all children: the most requests that are passed to FPM at once")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#maxrequestworkers"),
    apache::CONNECTION_TUNABLES[0],
    apache::CONNECTION_TUNABLES[1],
    apache::CONNECTION_TUNABLES[2],
    apache::CONNECTION_TUNABLES[3],
    apache::CONNECTION_TUNABLES[4],
    apache::CONNECTION_TUNABLES[5],
]);

/// Apache in front of PHP-FPM.
pub(crate) struct ApacheFpm;

impl Runtime for ApacheFpm {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "Apache (event) in front of PHP-FPM",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::FPM),
            status: &[status::APACHE.says, status::FPM.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let mut all = vec![apache::requirement(), apache::module(MODULE, MANUAL)];
        all.extend(fpm::requirements(app));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, apache::APACHE, "Apache"), label::php(programs, fpm::FPM))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let connections = u64::from(cx.load.connections());
        let threads = (connections + 1).max(THREADS_PER_CHILD);
        let given_threads = cx.given.count("ThreadsPerChild").unwrap_or(threads).max(1);
        fpm_pool::defaults(cx)
            .overlaid_with(&apache::connection_defaults(cx))
            .with_default(
                "ThreadsPerChild",
                threads,
                format!(
                    "at least Apache's own {THREADS_PER_CHILD}, and one for each of {connections} connections and a \
                     check: a child whose threads are all busy closes the connections that it keeps"
                ),
            )
            .with_default(
                "MaxRequestWorkers",
                threads.next_multiple_of(given_threads),
                "a thread waits while FPM works on its request; no more children than hold all connections",
            )
            .overlaid_with(cx.given)
    }

    fn documented(&self, _cx: &DefaultsContext<'_>) -> Option<Documented> {
        Some(fpm_pool::documented())
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        let mut problems = fpm_pool::problems(tuning);
        if let (Some(threads), Some(workers)) = (tuning.count("ThreadsPerChild"), tuning.count("MaxRequestWorkers"))
            && !workers.is_multiple_of(threads.max(1))
        {
            // Apache rounds it down with a warning; that would not be what was asked for.
            problems.push(TuningProblem {
                tunable: "MaxRequestWorkers".to_owned(),
                problem: format!(
                    "MaxRequestWorkers = {workers} is no multiple of ThreadsPerChild = {threads}, and Apache starts \
                     whole children only"
                ),
                fix: format!("set MaxRequestWorkers = {}", workers.next_multiple_of(threads)),
            });
        }
        problems
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        let probe = apache::probe(cx, lookup.php(fpm::FPM)?)?;
        fpm::behind_with(apache_unit(cx, &lookup)?, &[status::APACHE], cx, &lookup, probe)
    }
}

fn apache_unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let modules = apache::modules(lookup, MODULE)?;
    let threads_per_child = lookup.count("ThreadsPerChild")?.max(1);
    let max_request_workers = lookup.count("MaxRequestWorkers")?;
    let conf = HTTPD_CONF.fill(context! {
        modules => modules.display().to_string(),
        server_limit => max_request_workers.div_ceil(threads_per_child),
        threads_per_child,
        max_request_workers,
        max_connections_per_child => lookup.count("MaxConnectionsPerChild")?,
        listen_backlog => lookup.count("ListenBacklog")?,
        grace_seconds => apache::GRACE_SECONDS,
        keep_alive => lookup.setting("KeepAlive")?,
        max_keep_alive_requests => lookup.count("MaxKeepAliveRequests")?,
        keep_alive_timeout => lookup.count("KeepAliveTimeout")?,
        site => apache::site(lookup, &modules)?,
        // https://httpd.apache.org/docs/2.4/mod/mod_proxy_fcgi.html
        fpm => if fpm::on_tcp(cx.tuning) { "fcgi://@{fpm}" } else { "unix:@{fpm}|fcgi://localhost" },
    })?;
    apache::unit(lookup, conf, &BTreeMap::new(), Vec::new(), Vec::new())
}
