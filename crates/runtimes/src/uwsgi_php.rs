//! uWSGI with its plugin for PHP.
//!
//! It speaks HTTP in several ways, and they differ in what becomes of a connection:
//! <https://uwsgi-docs.readthedocs.io/en/latest/HTTP.html>
//!
//! - `http-socket`: each worker closes the connection after each answer;
//! - `http`: a router keeps connections and passes requests to workers. It does not turn off Nagle's algorithm towards
//!   clients (version 2.0.21), so that the end of an answer waits for a client's delayed acknowledgement, 40 ms on Linux;
//!   and it ends at once when uWSGI is stopped, with what it was passing on.
//!
//! A third, `http11-socket`, is not offered: version 2.0.21 keeps a connection also after an answer that has no length,
//! as PHP's have none, so that the client waits for its end until a time-out. The filter that would send such answers in
//! chunks (`route-run = chunked:`) leaves out the last chunk of one without a body, such as a redirect.

use std::path::{Path, PathBuf};
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, Address, AddressId, AddressKind, App, AppKind, DefaultsContext, Deployment, GracefulStop, Install, PhpSapi,
    PlanError, ProcessModel, Program, Programs, RenderContext, Requirement, Role, RunFile, Runtime, StopSignal,
    Tunable, Tuning, TuningProblem, Unit,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{
    bridge, framework, front, label, media_types, php_build, php_ini, php_probe, pool, recipe, service, status,
};

const ID: &str = "uwsgi-php";
const UWSGI: &str = "uwsgi";
const PHP: &str = "php-embed";
const BUFFER_SIZE: &str = "buffer-size";

/// How long workers may take for the requests that they are working on when uWSGI is stopped.
const GRACE_SECONDS: u64 = 3;

const INI: Template = template!("uwsgi-php/uwsgi.ini.j2");

const TUNABLES: [Tunable; 6] = [
    Tunable::choice("mode", Role::PoolMode, &["http-socket", "http"])
        .does("workers that close connections, or a router in front that keeps them")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/HTTP.html"),
    Tunable::count("processes", Role::PoolSize, 1, 1024)
        .does("workers")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/Options.html#processes"),
    Tunable::count("cheaper", Role::PoolSpare, 0, 1024)
        .does("workers that run while there is little load, 0 for all")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/Cheaper.html"),
    Tunable::count("listen", Role::Backlog, 1, 65_535)
        .does("connections that the kernel queues; uWSGI does not start with more than net.core.somaxconn")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/articles/TheArtOfGracefulReloading.html#the-listen-queue"),
    Tunable::count("max-requests", Role::Recycle, 0, 1_000_000_000)
        .does("requests after which a worker is replaced, 0 for never")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/Options.html#max-requests"),
    Tunable::count(BUFFER_SIZE, Role::RequestSize, 1024, 65_535)
        .does("bytes that a request's headers may have together; larger ones are dropped without an answer")
        .manual("https://uwsgi-docs.readthedocs.io/en/latest/Options.html#buffer-size"),
];

/// uWSGI with its plugin for PHP.
pub(crate) struct UwsgiPhp;

impl Runtime for UwsgiPhp {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "uWSGI with its plugin for PHP",
            process_model: ProcessModel::ProcessPerRequest,
            recipe: Some(&recipe::DISTRIBUTION),
            status: &[status::UWSGI.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        kind.index().is_some()
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let page = "https://uwsgi-docs.readthedocs.io/en/latest/PHP.html";
        let mut all = vec![
            service::needs(&[UWSGI, "uwsgi-core"], "", "uwsgi-core", page),
            Requirement::AnyFile {
                key: None,
                name: "uWSGI's plugin for PHP (php_plugin.so)".to_owned(),
                // Debian and Fedora.
                paths: ["/usr/lib/uwsgi/plugins", "/usr/lib64/uwsgi"]
                    .map(|folder| Path::new(folder).join("php_plugin.so"))
                    .into(),
                install: Install::package("uwsgi-plugin-php", page),
            },
            php_build::requirement(PHP, PhpSapi::Embed, "libphp-embed", app),
        ];
        // It cannot be asked for its settings, nor to warm an application up.
        all.push(bridge::php(app, &[]));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, UWSGI, "uWSGI"), label::php(programs, PHP))
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_cores(cx.limits, cx.load);
        Tuning::new()
            .with_default(
                "mode",
                "http-socket",
                "without the router, which holds back the end of each answer; connections are closed",
            )
            .with_default("processes", pool.workers, pool.reason)
            .with_default("cheaper", 0, "no worker starts or stops while measuring")
            .with_default(
                "listen",
                u64::from(cx.load.connections()).max(100),
                "uWSGI's own 100, or the load's connections where they are more, so that none is refused",
            )
            .with_default("max-requests", 0, "workers are not replaced while measuring")
            .with_default(BUFFER_SIZE, 8192, "as nginx's buffer for headers; uWSGI's own is 4096")
            .overlaid_with(cx.given)
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        // uWSGI refuses it.
        let refused = pool::out_of_order(tuning, "cheaper", "not less than", "processes");
        refused.filter(|_| tuning.count("cheaper") > Some(0)).into_iter().collect()
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        let mut addresses = vec![front::address(), status::UWSGI.address()];
        if lookup.setting("mode")? == "http" {
            addresses.push(Address { id: AddressId::new("uwsgi"), kind: AddressKind::UnixSocket });
        }
        Ok(Deployment {
            addresses,
            preparation: php_probe::saved_before(cx.app, &lookup, framework::preparation(cx.app, &lookup)?)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(PHP)?, cx.limits)?),
            ..front::deployment(&cx.app.source, vec![unit(cx, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let front = WebRoot::of(lookup)?;
    let ini = INI.fill(context! {
        mode => lookup.setting("mode")?,
        processes => lookup.count("processes")?,
        cheaper => lookup.count("cheaper")?,
        listen => lookup.count("listen")?,
        max_requests => lookup.count("max-requests")?,
        buffer_size => lookup.count(BUFFER_SIZE)?,
        keepalive_seconds => front::KEEPALIVE_SECONDS,
        php_ini => php_ini::PATH,
        grace_seconds => GRACE_SECONDS,
        ..front.values()
    })?;
    let program = Program::new(lookup.path(UWSGI)?, &["--ini", "@{run}/uwsgi/uwsgi.ini"], php_ini::environment(cx.app));
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(GRACE_SECONDS + 2) };
    Ok(Unit {
        files: vec![
            php_ini::file(cx.app, lookup.php(PHP)?, cx.limits)?,
            RunFile { path: PathBuf::from("uwsgi/uwsgi.ini"), text: ini },
            RunFile { path: PathBuf::from("uwsgi/mime.types"), text: media_types::lines() },
        ],
        folders: php_ini::folders(),
        logs: vec![php_ini::log()],
        statuses: vec![status::UWSGI.source()],
        ..Unit::new(UWSGI, program, stop)
    })
}
