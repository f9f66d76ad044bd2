//! RoadRunner: a server in Go that hands requests to PHP processes over pipes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, GracefulStop, Install, PlanError, ProcessModel, Program,
    Programs, RenderContext, Requirement, Role, RunFile, Runtime, RuntimeId, StopSignal, Tunable, Tuning, Unit,
    VersionProbe,
};

use crate::bridge::Kept;
use crate::lookup::Lookup;
use crate::octane::Octane;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{bridge, framework, front, go, label, media_types, octane, php_ini, php_probe, pool, recipe, status};

const ID: &str = "roadrunner";
const RR: &str = "rr";
const HTTP: &str = "spiral/roadrunner-http";

const CONFIG: Template = template!("roadrunner/rr.yaml.j2");
const WORKER: Template = template!("roadrunner/worker.php.j2");
/// The worker of what is not asked with PSR-7 requests.
const HTTP_WORKER: Template = template!("roadrunner/http_worker.php.j2");
/// The worker of a Laravel application.
const OCTANE: Template = template!("roadrunner/octane.php.j2");

/// Goridge, which its worker package speaks, is built on PHP's sockets.
const EXTENSIONS: [&str; 1] = ["sockets"];

/// What its worker package calls of PHP without asking for it since it reads protocol buffers (google/protobuf calls
/// `ctype_lower`).
const PROTOCOL_BUFFERS: [&str; 1] = ["ctype"];

/// Since when it does. <https://github.com/roadrunner-php/http/releases/tag/v3.5.0>
const PROTOCOL_BUFFERS_SINCE: [u32; 2] = [3, 5];

const WORKERS: &str = "http.pool.num_workers";
const MAX_JOBS: &str = "http.pool.max_jobs";
const MAX_QUEUE: &str = "http.pool.max_queue_size";
const ALLOCATE: &str = "http.pool.allocate_timeout";
const MAX_MEMORY: &str = "http.pool.supervisor.max_worker_memory";
const TTL: &str = "http.pool.supervisor.ttl";
const REQUEST_SIZE: &str = "http.max_request_size";
const MANUAL: &str = "https://docs.roadrunner.dev/docs/php-worker/pool";

const TUNABLES: [Tunable; 8] = [
    Tunable::count(WORKERS, Role::PoolSize, 1, 1024)
        .does("PHP processes, each with one request at a time")
        .manual(MANUAL),
    Tunable::count(MAX_JOBS, Role::Recycle, 0, 1_000_000_000)
        .does("requests after which a process is replaced, 0 for never")
        .manual(MANUAL),
    Tunable::count(MAX_QUEUE, Role::Queue, 0, 1_000_000)
        .does("requests that wait for a process, more are refused, 0 for no limit")
        .manual(MANUAL),
    Tunable::count(ALLOCATE, Role::Queue, 1, 3600)
        .does("seconds that a request waits for a process, and a process may take to start")
        .manual(MANUAL),
    Tunable::count(MAX_MEMORY, Role::Recycle, 0, 1_000_000)
        .does("MiB of memory above which a process is replaced, 0 for never")
        .manual(MANUAL),
    Tunable::count(TTL, Role::Recycle, 0, 1_000_000)
        .does("seconds after which a process is replaced, 0 for never")
        .manual(MANUAL),
    Tunable::count(REQUEST_SIZE, Role::RequestSize, 1, 1_000_000)
        .does("megabytes that a request's body may have; a larger one is answered with 400")
        .manual("https://docs.roadrunner.dev/docs/http/http"),
    go::TUNABLES[0],
];

/// RoadRunner.
pub(crate) struct RoadRunner;

impl Runtime for RoadRunner {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "RoadRunner",
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::ROADRUNNER),
            status: &[status::ROADRUNNER.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        bridge::keeps(kind) || octane::drives(kind)
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let mut all = vec![
            Requirement::Program {
                key: RR,
                names: &["rr"],
                version: VersionProbe { args: &["--version"], prefix: "version " },
                install: install(),
            },
            bridge::php_with(app, &EXTENSIONS, &PROTOCOL_BUFFERS),
            bridge::package(HTTP, HTTP, app),
        ];
        all.extend(octane::requirement(app));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        let both = format!("{}, {}", label::program(programs, RR, "RoadRunner"), label::php(programs, bridge::PHP));
        octane::named(both, programs)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_cores(cx.limits, cx.load);
        let replacing = "processes are not replaced while measuring";
        go::defaults(cx)
            .with_default(WORKERS, pool.workers, pool.reason)
            .with_default(MAX_JOBS, 0, replacing)
            .with_default(MAX_QUEUE, 0, "no request is refused that could be answered later")
            .with_default(ALLOCATE, 60, "RoadRunner's own; more than a request ever waits here")
            .with_default(MAX_MEMORY, 0, replacing)
            .with_default(TTL, 0, replacing)
            .with_default(REQUEST_SIZE, 1000, "RoadRunner's own")
            .overlaid_with(cx.given)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            addresses: vec![front::address(), status::ROADRUNNER.address()],
            preparation: framework::preparation(cx.app, &lookup)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(bridge::PHP)?, cx.limits)?),
            ..front::deployment(&cx.app.source, vec![unit(cx, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let mut app = bridge::with(cx.app, &EXTENSIONS);
    if label::numbers(&lookup.program(HTTP)?.version) >= PROTOCOL_BUFFERS_SINCE.to_vec() {
        app = bridge::with(&app, lookup.php(bridge::PHP)?.having(&PROTOCOL_BUFFERS).as_slice());
    }
    let php = lookup.path(bridge::PHP)?;
    let (max_worker_memory, ttl) = (lookup.count(MAX_MEMORY)?, lookup.count(TTL)?);
    let public = WebRoot::beside(cx.app);
    let sent = public.as_ref().filter(|public| !is_sent_by_worker(lookup, public));
    let unsent = sent.iter().flat_map(|public| public.unsent_endings()).map(|ending| format!("{ending:?}"));
    let config = CONFIG.fill(context! {
        command => command(&lookup.program(RR)?.version, &php, &bridge::arguments("worker.php"))?,
        num_workers => lookup.count(WORKERS)?,
        max_jobs => lookup.count(MAX_JOBS)?,
        max_queue_size => lookup.count(MAX_QUEUE)?,
        max_request_size => lookup.count(REQUEST_SIZE)?,
        allocate_timeout => lookup.count(ALLOCATE)?,
        supervised => max_worker_memory > 0 || ttl > 0,
        max_worker_memory,
        ttl,
        unsent => unsent.collect::<Vec<_>>().join(", "),
        public => sent.map(|public| &public.root),
    })?;
    fit(&lookup.program(RR)?.version, &lookup.program(HTTP)?.version)?;
    let (mut files, mut env) = worker(cx, lookup, public.as_ref())?;
    let check = Program { env: env.clone(), ..bridge::check(lookup, cx.app)? };
    env.insert(go::GOMAXPROCS.to_owned(), lookup.count(go::GOMAXPROCS)?.to_string());
    files.push(php_ini::file(&app, lookup.php(bridge::PHP)?, cx.limits)?);
    files.push(RunFile { path: PathBuf::from("roadrunner/rr.yaml"), text: config });
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("roadrunner"));
    let args = ["serve", "-s", "-c", "@{run}/roadrunner/rr.yaml", "-w", "@{run}/roadrunner"];
    // SIGTERM lets requests finish, then asks the processes to end.
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    Ok(Unit {
        files,
        folders,
        check: Some(check),
        logs: vec![php_ini::log()],
        statuses: vec![status::ROADRUNNER.source()],
        ..Unit::new(ID, Program::new(lookup.path(RR)?, &args, env), stop)
    })
}

/// How workers are started, in YAML: a list of words, which RoadRunner takes since 2023.3. Older ones split one text at its
/// blanks and know no quotes.
/// <https://github.com/roadrunner-server/server/blob/v4.3.1/plugin.go>
fn command(server: &str, php: &str, arguments: &[String]) -> Result<String, PlanError> {
    let quoted = |word: &str| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
    let words = || [php].into_iter().chain(arguments.iter().map(String::as_str));
    if label::numbers(server) >= vec![2023, 3] {
        return Ok(format!("[{}]", words().map(quoted).collect::<Vec<_>>().join(", ")));
    }
    if php.contains(' ') {
        return Err(PlanError::Unsuitable {
            runtime: RuntimeId::new(ID),
            what: format!("RoadRunner 2023.3 or newer for a PHP whose path has a blank ({php}); found {server}"),
            install: install(),
        });
    }
    Ok(quoted(&words().collect::<Vec<_>>().join(" ")))
}

/// Whether a worker sends the files of the public folder: the server, which decides by endings alone, would send what is denied.
/// Octane's worker cannot.
fn is_sent_by_worker(lookup: &Lookup<'_>, public: &WebRoot) -> bool {
    !octane::drives(lookup.kind()) && !public.is_told_by_endings()
}

/// The scripts of a worker, and their environment.
fn worker(
    cx: &RenderContext<'_>,
    lookup: &Lookup<'_>,
    public: Option<&WebRoot>,
) -> Result<(Vec<RunFile>, BTreeMap<String, String>), PlanError> {
    const NAME: &str = "worker.php";
    if octane::drives(lookup.kind()) {
        let octane = Octane::new(lookup, "RoadRunner", [1, 0])?;
        return Ok((octane.files(NAME, &OCTANE, context! {})?, octane::environment(cx.app)));
    }
    let kept = Kept::new(lookup, lookup.php(bridge::PHP)?)?;
    let worker = if bridge::is_handler(lookup.kind()) { WORKER } else { HTTP_WORKER };
    let mut files = kept.files()?;
    let public = public.filter(|public| is_sent_by_worker(lookup, public));
    if public.is_some() {
        files.push(bridge::public_file());
    }
    let script = worker.fill(context! {
        application => &kept.script,
        https => cx.app.site.https,
        public => public.map(|public| &public.root),
        types => media_types::php(),
        ..public.map(WebRoot::values).unwrap_or_default()
    })?;
    files.push(bridge::server(NAME, script));
    Ok((files, php_ini::environment(cx.app)))
}

fn install() -> Install {
    Install { package: None, page: "https://docs.roadrunner.dev/docs/general/install".to_owned() }
}

/// Whether the server and the package in its workers speak the same: since 2024.1 the server sends the head of a request
/// as a protocol buffer, which the package reads since 3.5.
/// <https://docs.roadrunner.dev/docs/releases>
fn fit(server: &str, package: &str) -> Result<(), PlanError> {
    if label::numbers(server) < vec![2023] {
        return Err(PlanError::Unsuitable {
            runtime: RuntimeId::new(ID),
            what: format!("RoadRunner 2023.1 or newer, whose configuration is of version 3; found {server}"),
            install: install(),
        });
    }
    let protocol_buffers = label::numbers(server) >= vec![2024];
    let range = if protocol_buffers { "^3.5 || ^4.0" } else { "^3.0" };
    let package_numbers = label::numbers(package);
    let fits = if protocol_buffers {
        package_numbers >= PROTOCOL_BUFFERS_SINCE.to_vec()
    } else {
        package_numbers.starts_with(&[3])
    };
    if fits {
        return Ok(());
    }
    Err(PlanError::Unsuitable {
        runtime: RuntimeId::new(ID),
        what: format!("{HTTP} {range} for RoadRunner {server}; the application has {package}"),
        install: bridge::install(HTTP),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_worker_package_are_of_one_generation() {
        for (server, package, fits) in [
            ("2023.3.12", "3.4.0", true),
            ("2023.3.12", "v3.5.2", true),
            ("2023.3.12", "2.2.0", false),
            ("2.12.3", "2.2.0", false),
            ("2024.1.0", "3.4.0", false),
            ("2025.1.15", "3.5.0", true),
            ("2025.1.15", "4.0.0", true),
        ] {
            assert_eq!(fit(server, package).is_ok(), fits, "{server} and {package}");
        }
        let error = fit("2025.1.15", "3.4.0").unwrap_err().to_string();
        assert!(error.contains("^3.5 || ^4.0") && error.contains("the application has 3.4.0"), "{error}");
    }

    #[test]
    fn a_path_with_a_blank_is_one_word_or_refused() {
        let arguments = ["-c".to_owned(), "@{run}/php.ini".to_owned()];
        for (server, php, expected) in [
            ("2025.1.15", "/opt/my php/bin/php", Some(r#"["/opt/my php/bin/php", "-c", "@{run}/php.ini"]"#)),
            ("2023.3.0", r#"/a"b\c"#, Some(r#"["/a\"b\\c", "-c", "@{run}/php.ini"]"#)),
            ("2023.2.2", "/usr/bin/php8.2", Some(r#""/usr/bin/php8.2 -c @{run}/php.ini""#)),
            ("2023.2.2", "/opt/my php/bin/php", None),
        ] {
            let told = command(server, php, &arguments);
            assert_eq!(told.as_deref().ok(), expected, "{server} {php}: {told:?}");
        }
        let error = command("2023.2.2", "/opt/my php/bin/php", &arguments).unwrap_err().to_string();
        assert!(error.contains("/opt/my php/bin/php") && error.contains("2023.3 or newer"), "{error}");
    }
}
