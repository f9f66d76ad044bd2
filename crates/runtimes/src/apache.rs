//! Apache as a unit: what its worker models have in common.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use minijinja::context;

use stampede_core::{
    DefaultsContext, GracefulStop, Install, PhpBuild, PhpProbe, PlanError, Program, RenderContext, Requirement, Role,
    RunFile, StopSignal, Tunable, Tuning, Unit, VersionProbe,
};

use crate::lookup::{self, Lookup};
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{front, media_types, php_probe, status};

/// The name under which it is looked up.
pub(crate) const APACHE: &str = "apache2";

const FIELD_SIZE: &str = "LimitRequestFieldSize";

/// Far more than one machine holds, and below Apache's own bound for prefork (200,000).
pub(crate) const MOST_WORKERS: u64 = 20_000;

/// How long a graceful stop waits for requests in flight, and for children that hold an idle connection.
pub(crate) const GRACE_SECONDS: u64 = 3;

const SITE: Template = template!("apache/site.conf.j2");

/// Modules that `.htaccess` files count on: those that Debian's package and the image php:apache load, and those that such files
/// ask for by `<IfModule>`. `access_compat` has the `Order` and `Allow` of older files.
/// <https://salsa.debian.org/apache-team/apache2>, <https://hub.docker.com/_/php>
const HTACCESS_MODULES: [&str; 15] = [
    "access_compat",
    "alias",
    "auth_basic",
    "authn_core",
    "authn_file",
    "authz_host",
    "authz_user",
    "autoindex",
    "deflate",
    "env",
    "expires",
    "filter",
    "headers",
    "negotiation",
    "setenvif",
];

/// How connections are accepted and kept, and how large its headers may be.
pub(crate) const CONNECTION_TUNABLES: [Tunable; 6] = [
    Tunable::count("MaxConnectionsPerChild", Role::Recycle, 0, 1_000_000_000)
        .does("connections after which a child is replaced, 0 for never")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#maxconnectionsperchild"),
    Tunable::count("ListenBacklog", Role::Backlog, 1, 65_535)
        .does("connections that the kernel queues until one is accepted; it caps them at net.core.somaxconn")
        .manual("https://httpd.apache.org/docs/2.4/mod/mpm_common.html#listenbacklog"),
    Tunable::choice("KeepAlive", Role::KeepAlive, &["On", "Off"])
        .does("whether a connection takes more than one request")
        .manual("https://httpd.apache.org/docs/2.4/mod/core.html#keepalive"),
    Tunable::count("MaxKeepAliveRequests", Role::KeepAlive, 0, 1_000_000_000)
        .does("requests after which a connection is closed, 0 for never")
        .manual("https://httpd.apache.org/docs/2.4/mod/core.html#maxkeepaliverequests"),
    Tunable::count("KeepAliveTimeout", Role::KeepAlive, 1, 86_400)
        .does("seconds for which the next request of a connection is waited for")
        .manual("https://httpd.apache.org/docs/2.4/mod/core.html#keepalivetimeout"),
    Tunable::count(FIELD_SIZE, Role::RequestSize, 1, 1 << 20)
        .does("bytes that one header of a request may have; a larger one is answered with 400")
        .manual("https://httpd.apache.org/docs/2.4/mod/core.html#limitrequestfieldsize"),
];

/// Defaults for [`CONNECTION_TUNABLES`].
pub(crate) fn connection_defaults(cx: &DefaultsContext<'_>) -> Tuning {
    Tuning::new()
        .with_default("MaxConnectionsPerChild", 0, "children are not replaced while measuring")
        .with_default(
            "ListenBacklog",
            u64::from(cx.load.connections()).max(511),
            "Apache's own 511, or the load's connections where they are more, so that none is refused",
        )
        .with_default("KeepAlive", "On", "Apache's own default")
        .with_default("MaxKeepAliveRequests", 0, "unlimited; with Apache's own 100, reconnecting would be measured too")
        .with_default("KeepAliveTimeout", front::KEEPALIVE_SECONDS, front::KEEPALIVE_REASON)
        .with_default(FIELD_SIZE, 8190, "Apache's own default")
}

/// The program.
pub(crate) fn requirement() -> Requirement {
    let install = Install::package("apache2", "https://httpd.apache.org/download.cgi");
    lookup::program(&[APACHE, "httpd"], VersionProbe { args: &["-v"], prefix: "Apache/" }, install)
}

/// One of Apache's own modules, beside which the others are, by its file and the address of its page in the manual.
pub(crate) fn module(key: &'static str, manual: &str) -> Requirement {
    // Debian, Fedora, and Apache's own installer.
    let folders = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/local/apache2/modules"];
    Requirement::AnyFile {
        key: Some(key),
        name: format!("Apache's module {key}"),
        paths: folders.map(|folder| Path::new(folder).join(key).with_extension("so")).into(),
        install: Install::package("apache2", manual),
    }
}

/// The folder of [`module`].
pub(crate) fn modules(lookup: &Lookup<'_>, key: &'static str) -> Result<PathBuf, PlanError> {
    Ok(lookup.program(key)?.path.parent().map(Path::to_owned).unwrap_or_default())
}

/// The page of Apache's second site on which PHP is asked for its settings.
pub(crate) fn probe(cx: &RenderContext<'_>, build: &PhpBuild) -> Result<PhpProbe, PlanError> {
    php_probe::at_page(cx.app, build, cx.limits, status::APACHE.id(), "/probe.php")
}

/// The part of the configuration that serves the public folder.
pub(crate) fn site(lookup: &Lookup<'_>, modules: &Path) -> Result<String, PlanError> {
    let web_root = WebRoot::of(lookup)?.values();
    SITE.fill(context! {
        modules => modules.display().to_string(),
        htaccess_modules => HTACCESS_MODULES.to_vec(),
        field_size => lookup.count(FIELD_SIZE)?,
        ..web_root
    })
}

/// The unit that serves by a configuration, beside further files and folders.
pub(crate) fn unit(
    lookup: &Lookup<'_>,
    conf: String,
    env: &BTreeMap<String, String>,
    files: Vec<RunFile>,
    folders: Vec<PathBuf>,
) -> Result<Unit, PlanError> {
    let run = ["-d", "@{run}", "-f", "@{run}/apache/httpd.conf"];
    let path = lookup.path(APACHE)?;
    let program = |first: &str| Program::new(path.clone(), &[&[first], &run[..]].concat(), env.clone());
    // SIGWINCH lets requests in flight finish, for up to GracefulShutdownTimeout; SIGTERM would cut them off.
    // https://httpd.apache.org/docs/2.4/stopping.html
    let stop = GracefulStop { signal: StopSignal::Winch, grace: Duration::from_secs(GRACE_SECONDS + 2) };
    Ok(Unit {
        files: files
            .into_iter()
            .chain([
                RunFile { path: PathBuf::from("apache/httpd.conf"), text: conf },
                RunFile { path: PathBuf::from("apache/mime.types"), text: media_types::lines() },
            ])
            .collect(),
        folders: folders.into_iter().chain([PathBuf::from("apache")]).collect(),
        check: Some(program("-t")),
        logs: vec![PathBuf::from("apache/error.log")],
        statuses: vec![status::APACHE.source()],
        ..Unit::new("apache", program("-DFOREGROUND"), stop)
    })
}
