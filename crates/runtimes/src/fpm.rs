//! PHP-FPM as a unit behind a web server: the same for every web server in front.

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    Address, AddressId, AddressKind, App, Deployment, GracefulStop, PhpProbe, PhpSapi, PlanError, Program, Ready,
    RenderContext, Requirement, RunFile, StopSignal, Tuning, Unit,
};

use crate::lookup::Lookup;
use crate::status::Status;
use crate::template::{Template, template};
use crate::{fpm_pool, framework, front, label, php_build, php_ini, php_probe, status};

/// The name under which it is looked up, and of its unit.
pub(crate) const FPM: &str = "php-fpm";

/// The setting of nginx that keeps connections to it.
pub(crate) const KEEP_CONN: &str = "fastcgi_keep_conn";

/// The address on which it listens.
const ADDRESS: &str = "fpm";

const CONF: Template = template!("php/php-fpm.conf.j2");

/// What web servers in front of PHP-FPM need beside themselves.
pub(crate) fn requirements(app: &App) -> Vec<Requirement> {
    let mut all = vec![php_build::requirement(FPM, PhpSapi::Fpm, "php-fpm", app)];
    all.extend(framework::requirements(app));
    all
}

/// Whether a tuning has it listen on a TCP port rather than on a unix socket.
pub(crate) fn on_tcp(tuning: &Tuning) -> bool {
    tuning.get("listen") == Some("tcp")
}

/// Whether a tuning has the web server keep its connections to it.
pub(crate) fn keeps_connections(tuning: &Tuning) -> bool {
    tuning.get(KEEP_CONN) == Some("on")
}

/// PHP-FPM and the web server in front of it, which tells its status at these addresses and has a second site for the probe.
pub(crate) fn behind(
    web_server: Unit,
    statuses: &[Status],
    cx: &RenderContext<'_>,
    lookup: &Lookup<'_>,
) -> Result<Deployment, PlanError> {
    let probe = php_probe::at_address(cx.app, lookup.php(FPM)?, cx.limits)?;
    let mut deployment = behind_with(web_server, statuses, cx, lookup, probe)?;
    deployment.addresses.push(php_probe::address());
    Ok(deployment)
}

/// PHP-FPM and the web server in front of it, with a probe that needs no address.
pub(crate) fn behind_with(
    web_server: Unit,
    statuses: &[Status],
    cx: &RenderContext<'_>,
    lookup: &Lookup<'_>,
    probe: PhpProbe,
) -> Result<Deployment, PlanError> {
    let kind = if on_tcp(cx.tuning) { AddressKind::Tcp } else { AddressKind::UnixSocket };
    let mut addresses = vec![front::address(), Address { id: AddressId::new(ADDRESS), kind }];
    addresses.extend(statuses.iter().map(Status::address));
    let fpm = unit(cx, lookup)?;
    if !fpm.statuses.is_empty() {
        addresses.push(status::FPM.address());
    }
    Ok(Deployment {
        addresses,
        preparation: framework::preparation(cx.app, lookup)?,
        probe: Some(probe),
        // FPM first: a web server that is asked before it could reach FPM would answer 502.
        ..front::deployment(&cx.app.source, vec![fpm, web_server])
    })
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let build = lookup.php(FPM)?;
    let pm = lookup.setting("pm")?;
    let mode_settings = fpm_pool::settings_of(pm)
        .iter()
        .map(|name| Ok(format!("{name} = {}", lookup.count(name)?)))
        .collect::<Result<Vec<_>, PlanError>>()?;
    let conf = CONF.fill(context! {
        pm,
        backlog => lookup.count("listen.backlog")?,
        max_children => lookup.count("pm.max_children")?,
        max_requests => lookup.count("pm.max_requests")?,
        mode_settings,
        status => tells_status(&build.version),
    })?;
    let run = ["-F", "-y", "@{run}/php-fpm/php-fpm.conf", "-c", php_ini::PATH];
    let told = if keeps_connections(cx.tuning) { status::FPM_WORKERS } else { status::FPM };
    let path = lookup.path(FPM)?;
    let program = |args: &[&str]| Program::new(path.clone(), args, php_ini::environment(cx.app));
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("php-fpm"));
    // SIGQUIT lets workers finish their requests. https://www.php.net/manual/en/install.fpm.php
    let stop = GracefulStop { signal: StopSignal::Quit, grace: Duration::from_secs(5) };
    Ok(Unit {
        files: vec![
            php_ini::file(cx.app, build, cx.limits)?,
            RunFile { path: PathBuf::from("php-fpm/php-fpm.conf"), text: conf },
        ],
        folders,
        check: Some(program(&[&["-t"], &run[..]].concat())),
        logs: vec![PathBuf::from("php-fpm/error.log"), php_ini::log()],
        statuses: tells_status(&build.version).then(|| told.source()).into_iter().collect(),
        ready: Ready::Port(AddressId::new(ADDRESS)),
        ..Unit::new(FPM, program(&run), stop)
    })
}

/// Whether FPM can tell its status on an address of its own: since PHP 8.0.
/// <https://www.php.net/manual/en/install.fpm.configuration.php#pm.status-listen>
fn tells_status(version: &str) -> bool {
    label::numbers(version) >= vec![8]
}
