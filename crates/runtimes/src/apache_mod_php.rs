//! Apache with PHP as a module, on the prefork worker model.

use std::path::{Path, PathBuf};
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
use crate::{label, php_build, php_ini, pool};

const ID: &str = "apache-mod-php";
const APACHE: &str = "apache2";
const MODULE: &str = "php-apache";

const HTTPD_CONF: Template = Template {
    name: "apache-mod-php/httpd.conf.j2",
    source: include_str!("../templates/apache-mod-php/httpd.conf.j2"),
};

/// Longer than any trial, so that the server never closes an idle connection.
const KEEPALIVE_SECONDS: u64 = 3600;

/// Far more than one machine holds, and below Apache's own bound for prefork (200,000).
const MOST_CHILDREN: u64 = 20_000;

const TUNABLES: [Tunable; 7] = [
    Tunable {
        name: "MaxRequestWorkers",
        role: Role::PoolSize,
        kind: TunableKind::Count { min: 1, max: MOST_CHILDREN },
        summary: "the most children, each bound to one connection",
        manual: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#maxrequestworkers",
    },
    Tunable {
        name: "StartServers",
        role: Role::PoolSpare,
        kind: TunableKind::Count { min: 1, max: MOST_CHILDREN },
        summary: "children at the start",
        manual: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#startservers",
    },
    Tunable {
        name: "MinSpareServers",
        role: Role::PoolSpare,
        kind: TunableKind::Count { min: 1, max: MOST_CHILDREN },
        summary: "idle children below which more are started",
        manual: "https://httpd.apache.org/docs/2.4/mod/prefork.html#minspareservers",
    },
    Tunable {
        name: "MaxSpareServers",
        role: Role::PoolSpare,
        kind: TunableKind::Count { min: 2, max: MOST_CHILDREN },
        summary: "idle children above which some are ended",
        manual: "https://httpd.apache.org/docs/2.4/mod/prefork.html#maxspareservers",
    },
    Tunable {
        name: "MaxConnectionsPerChild",
        role: Role::Recycle,
        kind: TunableKind::Count { min: 0, max: 1_000_000_000 },
        summary: "connections after which a child is replaced, 0 for never",
        manual: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#maxconnectionsperchild",
    },
    Tunable {
        name: "ListenBacklog",
        role: Role::Backlog,
        kind: TunableKind::Count { min: 1, max: 65_535 },
        summary: "connections that the kernel queues until a child is free",
        manual: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#listenbacklog",
    },
    Tunable {
        name: "KeepAliveTimeout",
        role: Role::KeepAlive,
        kind: TunableKind::Count { min: 1, max: 86_400 },
        summary: "seconds for which a child waits for the next request of its connection",
        manual: "https://httpd.apache.org/docs/2.4/mod/core.html#keepalivetimeout",
    },
];

/// Apache with PHP as a module.
pub(crate) struct ApacheModPhp;

impl Runtime for ApacheModPhp {
    fn id(&self) -> RuntimeId {
        RuntimeId::new(ID)
    }

    fn title(&self) -> &'static str {
        "Apache (prefork) with PHP as a module"
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
                key: APACHE,
                names: &["apache2", "httpd"],
                version: VersionProbe { args: &["-v"], prefix: "Apache/" },
                install: Install {
                    package: Some("apache2".to_owned()),
                    page: "https://httpd.apache.org/download.cgi".to_owned(),
                },
            },
            php_build::requirement(MODULE, PhpSapi::ApacheModule, "libapache2-mod-php", app),
        ]
    }

    fn version(&self, programs: &Programs) -> String {
        format!("{}, {}", label::program(programs, APACHE, "Apache"), label::php(programs, MODULE))
    }

    fn tunables(&self) -> &'static [Tunable] {
        &TUNABLES
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_connections(cx.limits, cx.load);
        let children = cx.given.count("MaxRequestWorkers").unwrap_or(pool.workers).max(1);
        Tuning::new()
            .with_default("MaxRequestWorkers", pool.workers, pool.reason)
            .with_default("StartServers", children, "all children, so that none is started while measuring")
            .with_default("MinSpareServers", 1, "all children run from the start")
            .with_default("MaxSpareServers", children.max(2), "all children, so that none is ended while measuring")
            .with_default("MaxConnectionsPerChild", 0, "replacing children would be measured with the requests")
            .with_default(
                "ListenBacklog",
                u64::from(cx.load.connections()).max(511),
                "Apache's own 511, or the load's connections where they are more, so that none is refused",
            )
            .with_default(
                "KeepAliveTimeout",
                KEEPALIVE_SECONDS,
                "longer than a trial: only the client closes a connection",
            )
            .overlaid_with(cx.given)
    }

    /// Apache itself corrects such settings with a warning; they would not be what was measured.
    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        let mut problems = Vec::new();
        let count = |name| tuning.count(name);
        if let (Some(start), Some(most)) = (count("StartServers"), count("MaxRequestWorkers"))
            && start > most
        {
            problems.push(TuningProblem {
                tunable: "StartServers".to_owned(),
                problem: format!("StartServers = {start} is more than MaxRequestWorkers = {most}"),
                fix: "lower StartServers or raise MaxRequestWorkers".to_owned(),
            });
        }
        if let (Some(least), Some(most)) = (count("MinSpareServers"), count("MaxSpareServers"))
            && least >= most
        {
            problems.push(TuningProblem {
                tunable: "MinSpareServers".to_owned(),
                problem: format!("MinSpareServers = {least} is not less than MaxSpareServers = {most}"),
                fix: "lower MinSpareServers or raise MaxSpareServers".to_owned(),
            });
        }
        problems
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            addresses: vec![Address { id: AddressId::new("front"), kind: AddressKind::Tcp }],
            front: AddressId::new("front"),
            app: cx.app.source.clone(),
            units: vec![unit(cx, &lookup)?],
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let front = FrontController::new(lookup.index()?);
    let php_module = &lookup.program(MODULE)?.path;
    // Apache's own modules lie beside PHP's.
    let modules = php_module.parent().unwrap_or(Path::new("modules"));
    let conf = HTTPD_CONF.fill(context! {
        modules => modules.display().to_string(),
        php_module => php_module.display().to_string(),
        max_request_workers => lookup.count("MaxRequestWorkers")?,
        start_servers => lookup.count("StartServers")?,
        min_spare_servers => lookup.count("MinSpareServers")?,
        max_spare_servers => lookup.count("MaxSpareServers")?,
        max_connections_per_child => lookup.count("MaxConnectionsPerChild")?,
        listen_backlog => lookup.count("ListenBacklog")?,
        keep_alive_timeout => lookup.count("KeepAliveTimeout")?,
        php_folder => php_ini::FOLDER,
        root => front.root,
        name => front.name,
    })?;
    let run = ["-d", "@{run}", "-f", "@{run}/apache/httpd.conf"];
    let program = |args: &[&str]| -> Result<Program, PlanError> {
        Ok(Program {
            path: lookup.path(APACHE)?,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: php_ini::environment(cx.app),
        })
    };
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("apache"));
    Ok(Unit {
        id: UnitId::new("apache"),
        build: None,
        files: vec![
            php_ini::file(cx.app, lookup.php(MODULE)?, cx.limits)?,
            RunFile { path: PathBuf::from("apache/httpd.conf"), text: conf },
        ],
        folders,
        check: Some(program(&[&["-t"], &run[..]].concat())?),
        program: program(&[&["-DFOREGROUND"], &run[..]].concat())?,
        logs: vec![PathBuf::from("apache/error.log"), php_ini::log()],
        ready: Ready::Request,
        // SIGTERM cuts off requests in flight, but there are none after a drain. The graceful SIGWINCH looks for the end
        // of its children once a second only, and waits for a child that holds an idle connection until
        // KeepAliveTimeout. https://httpd.apache.org/docs/2.4/stopping.html
        stop: Stop { signal: StopSignal::Term, grace: Duration::from_secs(5) },
    })
}
