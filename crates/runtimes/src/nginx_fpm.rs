//! nginx in front of PHP-FPM.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, Documented, GracefulStop, Install, PlanError, ProcessModel,
    Program, Programs, RenderContext, Requirement, Role, RunFile, Runtime, StopSignal, Tunable, Tuning, TuningProblem,
    Unit, VersionProbe,
};

use crate::lookup::{self, Lookup};
use crate::supervisord::{self, SUPERVISORD};
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{fpm, fpm_pool, front, label, media_types, recipe, status};

const ID: &str = "nginx-fpm";
const NGINX: &str = "nginx";
const SUPERVISOR: &str = "supervisor";
const KEPT_FOR: &str = "fastcgi_keep_requests";
const BODY_SIZE: &str = "client_max_body_size";
const HEADER_BUFFERS: &str = "large_client_header_buffers";

const NGINX_CONF: Template = template!("nginx-fpm/nginx.conf.j2");

const FASTCGI_CONF: Template = template!("nginx-fpm/fastcgi.conf.j2");

const FRONT_TUNABLES: [Tunable; 11] = [
    Tunable::count("worker_processes", Role::FrontWorkers, 1, 1024)
        .does("processes that accept connections")
        .manual("https://nginx.org/en/docs/ngx_core_module.html#worker_processes"),
    Tunable::count("keepalive_timeout", Role::KeepAlive, 0, 86_400)
        .does("seconds for which an idle connection is kept, 0 to close after each answer")
        .manual("https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_timeout"),
    Tunable::count("keepalive_requests", Role::KeepAlive, 1, UNLIMITED_REQUESTS)
        .does("requests after which a connection is closed")
        .manual("https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_requests"),
    Tunable::choice(fpm::KEEP_CONN, Role::Transport, &["off", "on"])
        .does("whether nginx keeps its connections to FPM open; each occupies a worker, also while idle")
        .manual("https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_keep_conn"),
    Tunable::count(KEPT_FOR, Role::KeepAlive, 1, UNLIMITED_REQUESTS)
        .does("requests after which a kept connection to FPM is closed (keepalive_requests of the upstream), so that its worker \
                  takes one that waits")
        .manual("https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive_requests"),
    // With fewer than 3 nginx refuses its own default of fastcgi_busy_buffers_size, two buffers.
    Tunable::count("fastcgi_buffers", Role::Buffers, 3, 1024)
        .does("buffers for one answer, each of fastcgi_buffer_size; what does not fit goes to a file")
        .manual("https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_buffers"),
    Tunable::count("fastcgi_buffer_size", Role::Buffers, 1024, 1 << 20)
        .does("bytes of one buffer; an answer's headers must fit into one")
        .manual("https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_buffer_size"),
    Tunable::count(BODY_SIZE, Role::RequestSize, 0, 1 << 40)
        .does("bytes that a request's body may have, 0 for no limit; a larger one is answered with 413")
        .manual("https://nginx.org/en/docs/http/ngx_http_core_module.html#client_max_body_size"),
    Tunable::count(HEADER_BUFFERS, Role::RequestSize, 1024, 1 << 20)
        .does("bytes of each of 4 buffers for a request's headers; a header beyond one is answered with 400, a path with 414")
        .manual("https://nginx.org/en/docs/http/ngx_http_core_module.html#large_client_header_buffers"),
    Tunable::choice("access_log", Role::AccessLog, &["off", "on"])
        .does("whether a line is written for each request")
        .manual("https://nginx.org/en/docs/http/ngx_http_log_module.html#access_log"),
    Tunable::choice(SUPERVISOR, Role::Mode, &["none", SUPERVISORD])
        .does("whether one program starts nginx and FPM and starts them again, as in container images that hold both")
        .manual("https://supervisord.org/configuration.html"),
];

/// More than any connection sees; nginx has no word for unlimited.
const UNLIMITED_REQUESTS: u64 = 1_000_000_000;

const TUNABLES: [Tunable; 20] = fpm_pool::behind(&FRONT_TUNABLES);

/// nginx in front of PHP-FPM.
pub(crate) struct NginxFpm;

impl Runtime for NginxFpm {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "nginx in front of PHP-FPM",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::FPM),
            status: &[status::NGINX.says, status::FPM.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let install = Install::package(NGINX, "https://nginx.org/en/download.html");
        let mut all = vec![lookup::program(&[NGINX], VersionProbe { args: &["-v"], prefix: "nginx/" }, install)];
        all.extend(fpm::requirements(app));
        all
    }

    fn requires_for(&self, _app: &App, tuning: &Tuning) -> Vec<Requirement> {
        if tuning.get(SUPERVISOR) == Some(SUPERVISORD) { vec![supervisord::requirement()] } else { Vec::new() }
    }

    fn version(&self, programs: &Programs) -> String {
        let both = format!("{}, {}", label::program(programs, NGINX, "nginx"), label::php(programs, fpm::FPM));
        match programs.get(SUPERVISORD) {
            Some(found) => format!("{both}, supervisord {}", found.version),
            None => both,
        }
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        fpm_pool::defaults(cx)
            .with_default(
                "worker_processes",
                cx.limits.cpus.whole_cores(),
                format!("one per CPU of the limit ({}, rounded up), not of the machine", cx.limits.cpus),
            )
            .with_default("keepalive_timeout", front::KEEPALIVE_SECONDS, front::KEEPALIVE_REASON)
            .with_default(
                "keepalive_requests",
                UNLIMITED_REQUESTS,
                "practically unlimited: with nginx's own 1000, reconnecting would be measured too",
            )
            .with_default(fpm::KEEP_CONN, "off", "nginx's own default; a kept connection holds a worker")
            .with_default(KEPT_FOR, 8, "a kept connection occupies a worker, so it is closed soon; nginx's own is 1000")
            .with_default("fastcgi_buffers", 8, "nginx's own default")
            .with_default("fastcgi_buffer_size", 4096, "nginx's own default: one page")
            .with_default(BODY_SIZE, 8 << 20, "8 MiB, as PHP's own post_max_size; nginx's own is 1 MiB")
            .with_default(HEADER_BUFFERS, 8192, "nginx's own default, in 4 buffers")
            .with_default("access_log", "off", "logging would cost time in every request")
            .with_default(SUPERVISOR, "none", "Stampede itself starts both and notices when one ends")
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
        let mut deployment = fpm::behind(nginx_unit(cx, &lookup)?, &[status::NGINX], cx, &lookup)?;
        if lookup.setting(SUPERVISOR)? == SUPERVISORD {
            deployment.units = vec![supervisord::over(deployment.units, &lookup)?];
        }
        Ok(deployment)
    }
}

fn nginx_unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let web_root = WebRoot::of(lookup)?.values();
    // Each request takes two: one from the client and one to FPM; nginx keeps some for itself.
    let worker_connections = (u64::from(cx.load.connections()) * 2 + 64).max(1024);
    let worker_processes = lookup.count("worker_processes")?;
    let fpm = if fpm::on_tcp(cx.tuning) { "@{fpm}" } else { "unix:@{fpm}" };
    let keep_conn = fpm::keeps_connections(cx.tuning);
    let conf = NGINX_CONF.fill(context! {
        worker_processes,
        worker_connections,
        open_files => worker_connections + 64,
        keepalive_timeout => lookup.count("keepalive_timeout")?,
        keepalive_requests => lookup.count("keepalive_requests")?,
        fpm,
        keep_conn,
        // Fewer idle connections than FPM has workers, in all of nginx's processes: one of them may hold none that another's
        // request needs.
        kept => lookup.count("pm.max_children")?.saturating_sub(1) / worker_processes,
        kept_for => lookup.count(KEPT_FOR)?,
        body_size => lookup.count(BODY_SIZE)?,
        header_buffers => lookup.count(HEADER_BUFFERS)?,
        access_log => lookup.setting("access_log")? == "on",
        types => media_types::directives(),
        ..web_root
    })?;
    let fastcgi = FASTCGI_CONF.fill(context! {
        https => cx.app.site.https,
        fpm,
        keep_conn,
        buffers => lookup.count("fastcgi_buffers")?,
        buffer_size => lookup.count("fastcgi_buffer_size")?,
    })?;
    let mut run = vec!["-p", "@{run}", "-c", "@{run}/nginx/nginx.conf"];
    if takes_error_log(&lookup.program(NGINX)?.version) {
        run.extend(["-e", "@{run}/nginx/error.log"]);
    }
    let path = lookup.path(NGINX)?;
    let program = |args: &[&str]| Program::new(path.clone(), args, BTreeMap::new());
    // SIGQUIT lets requests finish and closes idle connections at once. https://nginx.org/en/docs/control.html
    let stop = GracefulStop { signal: StopSignal::Quit, grace: Duration::from_secs(5) };
    Ok(Unit {
        files: vec![
            RunFile { path: PathBuf::from("nginx/nginx.conf"), text: conf },
            RunFile { path: PathBuf::from("nginx/fastcgi.conf"), text: fastcgi },
        ],
        folders: vec![PathBuf::from("nginx")],
        check: Some(program(&[&["-t", "-q"], &run[..]].concat())),
        logs: vec![PathBuf::from("nginx/error.log")],
        statuses: vec![status::NGINX.source()],
        ..Unit::new(NGINX, program(&run), stop)
    })
}

/// Whether nginx has the option `-e`, which keeps it from opening the distribution's log before it reads ours: since
/// 1.19.5. <https://nginx.org/en/docs/switches.html>
pub(crate) fn takes_error_log(version: &str) -> bool {
    label::numbers(version) >= vec![1, 19, 5]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_log_option_is_there_since_1_19_5() {
        for (version, takes) in
            [("1.18.0", false), ("1.19.4", false), ("1.19.5", true), ("1.22.1", true), ("2.0", true)]
        {
            assert_eq!(takes_error_log(version), takes, "{version}");
        }
    }
}
