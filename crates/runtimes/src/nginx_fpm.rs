//! nginx in front of PHP-FPM, over a unix socket.

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    Address, AddressId, AddressKind, App, AppKind, DefaultsContext, Deployment, Install, PhpSapi, PlanError,
    ProcessModel, Program, Programs, Ready, RenderContext, Requirement, Role, RunFile, Runtime, RuntimeId, Stop,
    StopSignal, Tunable, TunableKind, Tuning, TuningProblem, Unit, UnitId, VersionProbe,
};

use crate::front_controller::FrontController;
use crate::lookup::Lookup;
use crate::template::Template;
use crate::{fpm_pool, label, php_build, php_ini};

const ID: &str = "nginx-fpm";
const NGINX: &str = "nginx";
const FPM: &str = "php-fpm";

const NGINX_CONF: Template =
    Template { name: "nginx-fpm/nginx.conf.j2", source: include_str!("../templates/nginx-fpm/nginx.conf.j2") };
const FPM_CONF: Template =
    Template { name: "nginx-fpm/php-fpm.conf.j2", source: include_str!("../templates/nginx-fpm/php-fpm.conf.j2") };

/// Longer than any trial, so that the server never closes an idle connection.
const KEEPALIVE_SECONDS: u64 = 3600;

const FRONT_TUNABLES: [Tunable; 2] = [
    Tunable {
        name: "worker_processes",
        role: Role::FrontWorkers,
        kind: TunableKind::Count { min: 1, max: 1024 },
        summary: "processes that accept connections",
        manual: "https://nginx.org/en/docs/ngx_core_module.html#worker_processes",
    },
    Tunable {
        name: "keepalive_timeout",
        role: Role::KeepAlive,
        kind: TunableKind::Count { min: 0, max: 86_400 },
        summary: "seconds for which an idle connection is kept, 0 to close after each answer",
        manual: "https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_timeout",
    },
];

const TUNABLES: [Tunable; 10] = {
    let mut all = [FRONT_TUNABLES[0]; 10];
    all[1] = FRONT_TUNABLES[1];
    let mut row = 0;
    while row < fpm_pool::TUNABLES.len() {
        all[row + FRONT_TUNABLES.len()] = fpm_pool::TUNABLES[row];
        row += 1;
    }
    all
};

/// nginx in front of PHP-FPM.
pub(crate) struct NginxFpm;

impl Runtime for NginxFpm {
    fn id(&self) -> RuntimeId {
        RuntimeId::new(ID)
    }

    fn title(&self) -> &'static str {
        "nginx in front of PHP-FPM, over a unix socket"
    }

    fn process_model(&self) -> ProcessModel {
        ProcessModel::ProcessPerRequest
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::FrontController { .. })
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        vec![
            Requirement::Program {
                key: NGINX,
                names: &["nginx"],
                version: VersionProbe { args: &["-v"], prefix: "nginx/" },
                install: Install {
                    package: Some("nginx".to_owned()),
                    page: "https://nginx.org/en/download.html".to_owned(),
                },
            },
            php_build::requirement(FPM, PhpSapi::Fpm, "php-fpm", app),
        ]
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, NGINX, "nginx"), label::php(programs, FPM))
    }

    fn tunables(&self) -> &'static [Tunable] {
        &TUNABLES
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        fpm_pool::defaults(cx)
            .with_default(
                "worker_processes",
                cx.limits.cpus.whole_cores(),
                format!("one for each whole core of {} CPUs, not of the machine's", cx.limits.cpus),
            )
            .with_default(
                "keepalive_timeout",
                KEEPALIVE_SECONDS,
                "longer than a trial: only the client closes a connection",
            )
            .overlaid_with(cx.given)
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        fpm_pool::problems(tuning)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        let address = |id: &str, kind| Address { id: AddressId::new(id), kind };
        Ok(Deployment {
            addresses: vec![address("front", AddressKind::Tcp), address("fpm", AddressKind::UnixSocket)],
            front: AddressId::new("front"),
            app: cx.app.source.clone(),
            units: vec![fpm_unit(cx, &lookup)?, nginx_unit(cx, &lookup)?],
        })
    }
}

fn fpm_unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let pm = lookup.setting("pm")?;
    let mode_settings = fpm_pool::settings_of(pm)
        .iter()
        .map(|name| Ok(format!("{name} = {}", lookup.count(name)?)))
        .collect::<Result<Vec<_>, PlanError>>()?;
    let conf = FPM_CONF.fill(context! {
        pm,
        backlog => lookup.count("listen.backlog")?,
        max_children => lookup.count("pm.max_children")?,
        max_requests => lookup.count("pm.max_requests")?,
        mode_settings,
    })?;
    let run = ["-F", "-y", "@{run}/php-fpm/php-fpm.conf", "-c", php_ini::PATH];
    let program = |args: &[&str]| -> Result<Program, PlanError> {
        Ok(Program {
            path: lookup.path(FPM)?,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: php_ini::environment(cx.app),
        })
    };
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("php-fpm"));
    Ok(Unit {
        id: UnitId::new(FPM),
        build: None,
        files: vec![
            php_ini::file(cx.app, lookup.php(FPM)?, cx.limits)?,
            RunFile { path: PathBuf::from("php-fpm/php-fpm.conf"), text: conf },
        ],
        folders,
        check: Some(program(&[&["-t"], &run[..]].concat())?),
        program: program(&run)?,
        logs: vec![PathBuf::from("php-fpm/error.log"), php_ini::log()],
        ready: Ready::Port(AddressId::new("fpm")),
        // SIGQUIT lets workers finish their requests. https://www.php.net/manual/en/install.fpm.php
        stop: Stop { signal: StopSignal::Quit, grace: Duration::from_secs(5) },
    })
}

fn nginx_unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let front = FrontController::new(lookup.index()?);
    // Each request takes two: one from the client and one to FPM; nginx keeps some for itself.
    let worker_connections = (u64::from(cx.load.connections()) * 2 + 64).max(1024);
    let conf = NGINX_CONF.fill(context! {
        worker_processes => lookup.count("worker_processes")?,
        worker_connections,
        open_files => worker_connections + 64,
        keepalive_timeout => lookup.count("keepalive_timeout")?,
        root => front.root,
        script => front.script,
        name => front.name,
    })?;
    let mut run = vec!["-p", "@{run}", "-c", "@{run}/nginx/nginx.conf"];
    if takes_error_log(&lookup.program(NGINX)?.version) {
        run.extend(["-e", "@{run}/nginx/error.log"]);
    }
    let program = |args: &[&str]| -> Result<Program, PlanError> {
        Ok(Program {
            path: lookup.path(NGINX)?,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: std::collections::BTreeMap::new(),
        })
    };
    Ok(Unit {
        id: UnitId::new(NGINX),
        build: None,
        files: vec![RunFile { path: PathBuf::from("nginx/nginx.conf"), text: conf }],
        folders: vec![PathBuf::from("nginx")],
        check: Some(program(&[&["-t", "-q"], &run[..]].concat())?),
        program: program(&run)?,
        logs: vec![PathBuf::from("nginx/error.log")],
        ready: Ready::Request,
        // SIGQUIT lets requests finish and closes idle connections at once. https://nginx.org/en/docs/control.html
        stop: Stop { signal: StopSignal::Quit, grace: Duration::from_secs(5) },
    })
}

/// Whether nginx has the option `-e`, which keeps it from opening the distribution's log before it reads ours: since
/// 1.19.5. <https://nginx.org/en/docs/switches.html>
fn takes_error_log(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    numbers >= vec![1, 19, 5]
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
