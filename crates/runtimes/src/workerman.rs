//! Workerman: an HTTP server written in PHP, an event loop in each of its processes.

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, GracefulStop, PhpBuild, PlanError, ProcessModel, Programs,
    RenderContext, Requirement, Role, RunFile, Runtime, StopSignal, Tunable, Tuning, Unit,
};

use crate::bridge::Kept;
use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{bridge, framework, front, label, php_ini, php_probe, pool, recipe};

const ID: &str = "workerman";
pub(crate) const PACKAGE: &str = "workerman/workerman";

const SERVER: Template = template!("workerman/server.php.j2");

/// The oldest version that a stop can be given time. <https://github.com/walkor/workerman/releases/tag/v4.1.0>
const OLDEST: [u32; 2] = [4, 1];

/// Processes, signals, and what its HTTP parser calls.
const EXTENSIONS: [&str; 3] = ["pcntl", "posix", "ctype"];

/// The extension whose event loop Workerman takes where PHP has it; without it the loop is `stream_select`, which holds
/// no more than 1,024 connections. <https://www.workerman.net/doc/workerman/appendices/about-event.html>
const EVENT: &str = "event";

/// What its event loop is of, where PHP has it.
pub(crate) const FASTER: [&str; 2] = ["sockets", EVENT];

const COUNT: &str = "count";
const BACKLOG: &str = "backlog";
const REUSE_PORT: &str = "reusePort";
const PACKAGE_SIZE: &str = "defaultMaxPackageSize";

pub(crate) const TUNABLES: [Tunable; 4] = [
    Tunable::count(COUNT, Role::PoolSize, 1, 1024)
        .does("PHP processes")
        .manual("https://www.workerman.net/doc/workerman/worker/count.html"),
    Tunable::count(BACKLOG, Role::Backlog, 1, 65_535)
        .does("connections that the kernel queues until they are accepted")
        .manual("https://www.workerman.net/doc/workerman/worker/construct.html"),
    Tunable::choice(REUSE_PORT, Role::FrontWorkers, &["true", "false"])
        .does("whether each process listens for itself and the kernel deals connections out")
        .manual("https://www.workerman.net/doc/workerman/worker/reuse-port.html"),
    Tunable::count(PACKAGE_SIZE, Role::RequestSize, 1024, 1 << 40)
        .does("bytes that a request may have with its body; a larger one is answered with 413")
        .manual("https://www.workerman.net/doc/workerman/tcp-connection/default-max-package-size.html"),
];

/// Workerman.
pub(crate) struct Workerman;

impl Runtime for Workerman {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "Workerman",
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::CLI),
            status: &[],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        bridge::keeps(kind)
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![bridge::php_with(app, &EXTENSIONS, &FASTER), bridge::package(PACKAGE, PACKAGE, app)]
    }

    fn version(&self, programs: &Programs) -> String {
        version("Workerman", PACKAGE, programs)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        defaults(cx)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        lookup.at_least(PACKAGE, OLDEST, "which can be stopped in a set time", bridge::install(PACKAGE))?;
        deployment(cx, &lookup, &SERVER, &EXTENSIONS, Vec::new())
    }
}

/// Package, PHP and event loop in one line.
pub(crate) fn version(title: &str, package: &str, programs: &Programs) -> String {
    let event = programs.get(bridge::PHP).and_then(|found| found.php.as_ref()).is_some_and(has_event);
    let event_loop = if event { "event" } else { "select" };
    let php = label::php(programs, bridge::PHP);
    format!("{}, {php}, loop {event_loop}", label::program(programs, package, title))
}

fn has_event(build: &PhpBuild) -> bool {
    build.has(EVENT) && !build.setup.as_ref().is_some_and(|setup| setup.left_out.contains_key(EVENT))
}

/// Defaults for [`TUNABLES`].
pub(crate) fn defaults(cx: &DefaultsContext<'_>) -> Tuning {
    let pool = pool::for_cores(cx.limits, cx.load);
    Tuning::new()
        .with_default(COUNT, pool.workers, pool.reason)
        .with_default(
            BACKLOG,
            u64::from(cx.load.connections()).max(511),
            "the usual 511, or the load's connections where they are more, so that none is refused",
        )
        .with_default(REUSE_PORT, "true", "otherwise the process that wakes first takes most connections")
        .with_default(PACKAGE_SIZE, 8 << 20, "8 MiB, as PHP's own post_max_size; Workerman's own is 10 MiB")
        .overlaid_with(cx.given)
}

/// A deployment of a server script, with what it needs beside it in the bridge's folder.
pub(crate) fn deployment(
    cx: &RenderContext<'_>,
    lookup: &Lookup<'_>,
    server: &Template,
    extensions: &[&str],
    beside: Vec<RunFile>,
) -> Result<Deployment, PlanError> {
    let kept = Kept::new(lookup, lookup.php(bridge::PHP)?)?;
    let public = WebRoot::beside(cx.app);
    let server = server.fill(context! {
        application => &kept.script,
        https => cx.app.site.https,
        count => lookup.count(COUNT)?,
        backlog => lookup.count(BACKLOG)?,
        package_size => lookup.count(PACKAGE_SIZE)?,
        reuse_port => lookup.setting(REUSE_PORT)?,
        public => public.as_ref().map(|public| &public.root),
        ..public.as_ref().map(WebRoot::values).unwrap_or_default()
    })?;
    let build = lookup.php(bridge::PHP)?;
    let mut app = bridge::with(cx.app, extensions);
    if has_event(build) {
        app = bridge::with(&app, &FASTER);
    }
    let mut files = kept.files()?;
    files.push(bridge::server("server.php", server));
    files.extend(beside);
    if public.is_some() {
        files.push(bridge::public_file());
    }
    files.push(php_ini::file(&app, build, cx.limits)?);
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("bridge"));
    let program = bridge::run(lookup, cx.app, "server.php", &["start"])?;
    // SIGTERM: a process works on one request at a time and ends after it. The graceful SIGQUIT waits for idle
    // connections too. https://www.workerman.net/doc/workerman/install/start-and-stop.html
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    let unit = Unit {
        files,
        folders,
        check: Some(bridge::check(lookup, cx.app)?),
        logs: vec![php_ini::log(), PathBuf::from("bridge/workerman.log")],
        ..Unit::new(ID, program, stop)
    };
    Ok(Deployment {
        preparation: framework::preparation(cx.app, lookup)?,
        probe: Some(php_probe::saved(cx.app, build, cx.limits)?),
        ..front::deployment(&cx.app.source, vec![unit])
    })
}
