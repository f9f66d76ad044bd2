//! What FrankenPHP is told, whether the application lies beside it or inside its binary: settings, Caddyfile, surroundings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    DefaultsContext, Deployment, GracefulStop, Install, PlanError, Program, RenderContext, Role, RunFile, StopSignal,
    Tunable, Tuning, TuningProblem, Unit,
};

use crate::caddy_site::{self, Scripts};
use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{framework, front, go, php_ini, php_probe, pool, status};

/// The key of the binary.
pub(crate) const KEY: &str = "frankenphp";

const CADDYFILE: Template = template!("frankenphp/Caddyfile.j2");

pub(crate) const MODE: &str = "mode";
pub(crate) const CLASSIC: &str = "classic";
pub(crate) const WORKER: &str = "worker";
const THREADS: &str = "num_threads";
const MAX_THREADS: &str = "max_threads";
const WORKERS: &str = "worker.num";
pub(crate) const MAX_REQUESTS: &str = "MAX_REQUESTS";
const MAX_WAIT: &str = "max_wait_time";
const GRACE: &str = "grace_period";
const GODEBUG: &str = "GODEBUG";
const GOMEMLIMIT: &str = "GOMEMLIMIT";
const CONFIG: &str = "https://frankenphp.dev/docs/config/#caddyfile-config";
const PERFORMANCE: &str = "https://frankenphp.dev/docs/performance/#go-runtime-configuration";

/// What the Go side may take of the memory limit: the rest is PHP's, which Go's collector does not see.
const GO_SHARE: u64 = 4;

/// The settings, in the order of the manual.
pub(crate) const TUNABLES: [Tunable; 10] = [
    Tunable::choice(MODE, Role::Mode, &[CLASSIC, WORKER])
        .does("whether each request starts the application, or workers keep it")
        .manual("https://frankenphp.dev/docs/worker/"),
    Tunable::count(THREADS, Role::PoolSize, 1, 1024).does("PHP threads, those of workers included").manual(CONFIG),
    Tunable::count(MAX_THREADS, Role::PoolSpare, 1, 1024)
        .does("the most PHP threads, more than num_threads are started when requests wait")
        .manual(CONFIG),
    Tunable::count(WORKERS, Role::PoolSize, 1, 1024).does("threads that keep the application (worker)").manual(CONFIG),
    Tunable::count(MAX_REQUESTS, Role::Recycle, 0, 1_000_000_000)
        .does("requests after which a worker starts the application again, 0 for never (worker)")
        .manual("https://frankenphp.dev/docs/worker/#restart-the-worker-after-a-certain-number-of-requests"),
    Tunable::count(MAX_WAIT, Role::Queue, 0, 3600)
        .does("seconds that a request waits for a thread before it is refused, 0 for as long as it takes")
        .manual(CONFIG),
    Tunable::count(GRACE, Role::Queue, 1, 3600)
        .does("seconds that a stop waits for requests in flight")
        .manual("https://caddyserver.com/docs/caddyfile/options#grace-period"),
    Tunable::choice(GODEBUG, Role::Memory, &["cgocheck=0", "cgocheck=1"])
        .does("whether Go checks each pointer that it hands to PHP")
        .manual(PERFORMANCE),
    Tunable::count(GOMEMLIMIT, Role::Memory, 8, 1_000_000)
        .does("MiB of its own memory at which Go collects more often")
        .manual(PERFORMANCE),
    go::TUNABLES[0],
];

/// The oldest version that knows `max_threads` and `max_wait_time`, and tells what its threads do.
/// <https://github.com/php/frankenphp/releases/tag/v1.5.0>
const OLDEST: [u32; 2] = [1, 5];

/// Defaults for [`TUNABLES`] where the application has one mode.
pub(crate) fn defaults(cx: &DefaultsContext<'_>, mode: &str, reason: &str) -> Tuning {
    let pool = pool::for_cores(cx.limits, cx.load);
    let mut tuning = go::defaults(cx).with_default(MODE, mode, reason);
    let threads = if cx.given.get(MODE).unwrap_or(mode) == WORKER {
        let workers = cx.given.count(WORKERS).unwrap_or(pool.workers);
        tuning = tuning
            .with_default(WORKERS, pool.workers, pool.reason)
            .with_default(MAX_REQUESTS, 0, "the application is not started again while measuring")
            .with_default(
                THREADS,
                workers + 1,
                "the workers, and the one thread beside them that FrankenPHP insists on",
            );
        workers + 1
    } else {
        tuning = tuning.with_default(THREADS, pool.workers, pool.reason);
        pool.workers
    };
    let threads = cx.given.count(THREADS).unwrap_or(threads);
    tuning
        .with_default(MAX_THREADS, threads, "num_threads, so that none is started while measuring")
        .with_default(MAX_WAIT, 0, "no request is refused that could be answered later")
        .with_default(GRACE, 3, "longer than a request; Caddy's own is for ever")
        .with_default(GODEBUG, "cgocheck=0", "that of FrankenPHP's own images")
        .with_default(
            GOMEMLIMIT,
            ((cx.limits.memory.get() / GO_SHARE) >> 20).max(8),
            format!("a quarter of {}: the rest is PHP's, which Go does not see", cx.limits.memory),
        )
        .overlaid_with(cx.given)
}

/// Settings that contradict each other or that the mode does not have.
pub(crate) fn problems(tuning: &Tuning) -> Vec<TuningProblem> {
    let mut problems = Vec::new();
    let mut add =
        |tunable: &str, problem: String, fix: String| problems.push(TuningProblem::new(tunable, problem, fix));
    if tuning.get(MODE) == Some(CLASSIC) {
        for tunable in [WORKERS, MAX_REQUESTS] {
            if tuning.get(tunable).is_some() {
                let problem = format!("{tunable} is not there with {MODE} = {CLASSIC}");
                add(tunable, problem, format!("remove it or set {MODE} to {WORKER}"));
            }
        }
    }
    if let (Some(workers), Some(threads)) = (tuning.count(WORKERS), tuning.count(THREADS))
        && workers >= threads
    {
        let problem = format!("{THREADS} = {threads} leaves no thread beside {WORKERS} = {workers}");
        add(THREADS, problem, format!("set {THREADS} to at least {}", workers + 1));
    }
    if let (Some(threads), Some(most)) = (tuning.count(THREADS), tuning.count(MAX_THREADS))
        && threads > most
    {
        let problem = format!("{MAX_THREADS} = {most} is less than {THREADS} = {threads}");
        add(MAX_THREADS, problem, format!("raise {MAX_THREADS} or lower {THREADS}"));
    }
    problems
}

/// What is served, with paths as FrankenPHP is to read them.
pub(crate) struct Served {
    /// The binary.
    pub(crate) program: String,
    /// The public folder, where files of it are sent.
    pub(crate) public: Option<WebRoot>,
    /// Whether all of it is inside the binary.
    pub(crate) inside: bool,
    /// The folder of the script.
    pub(crate) root: String,
    /// The script's path in URLs.
    pub(crate) name: String,
    /// The worker's script, in worker mode.
    pub(crate) worker: Option<String>,
    /// A script that is run before the start.
    pub(crate) check: Option<String>,
    /// Environment of its own.
    pub(crate) env: BTreeMap<String, String>,
}

/// The one unit.
pub(crate) fn deployment(
    cx: &RenderContext<'_>,
    lookup: &Lookup<'_>,
    served: Served,
    mut files: Vec<RunFile>,
) -> Result<Deployment, PlanError> {
    let Served { program, public, inside, root, name, worker, check, env: own } = served;
    let install = Install { package: None, page: "https://github.com/php/frankenphp/releases".to_owned() };
    lookup.at_least(KEY, OLDEST, "whose threads can be set and tell what they do", install)?;
    let has_worker = worker.is_some();
    let scripts = Scripts { fpm: None, root: &root, name: &name, inside, https: cx.app.site.https };
    let caddyfile = CADDYFILE.fill(context! {
        grace_period => lookup.count(GRACE)?,
        num_threads => lookup.count(THREADS)?,
        max_threads => lookup.count(MAX_THREADS)?,
        max_wait_time => lookup.count(MAX_WAIT)?,
        workers => has_worker.then(|| lookup.count(WORKERS)).transpose()?,
        worker,
        site => caddy_site::text(public.as_ref(), &scripts)?,
    })?;
    let mut env = php_ini::environment(cx.app);
    // Where PHP looks for its php.ini; FrankenPHP has no option for it.
    env.insert("PHPRC".to_owned(), php_ini::FOLDER.to_owned());
    env.insert(go::GOMAXPROCS.to_owned(), lookup.count(go::GOMAXPROCS)?.to_string());
    env.insert(GODEBUG.to_owned(), lookup.setting(GODEBUG)?.to_owned());
    env.insert(GOMEMLIMIT.to_owned(), format!("{}MiB", lookup.count(GOMEMLIMIT)?));
    if has_worker {
        // What the manual's workers read.
        env.insert(MAX_REQUESTS.to_owned(), lookup.count(MAX_REQUESTS)?.to_string());
    }
    // An application inside the binary is unpacked there, and Caddy keeps what it must remember.
    env.insert("TMPDIR".to_owned(), "@{run}/frankenphp".to_owned());
    env.insert("XDG_CONFIG_HOME".to_owned(), "@{run}/frankenphp".to_owned());
    env.insert("XDG_DATA_HOME".to_owned(), "@{run}/frankenphp".to_owned());
    env.extend(own);
    files.push(php_ini::file(cx.app, lookup.php(KEY)?, cx.limits)?);
    files.push(RunFile { path: PathBuf::from("frankenphp/Caddyfile"), text: caddyfile });
    let mut folders = php_ini::folders();
    folders.push(PathBuf::from("frankenphp"));
    let run = |args: &[&str]| Program::new(program.clone(), args, env.clone());
    // SIGTERM: Caddy lets requests finish within its grace period. https://caddyserver.com/docs/command-line#signals
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    let server = run(&["run", "--config", "@{run}/frankenphp/Caddyfile", "--adapter", "caddyfile"]);
    let unit = Unit {
        files,
        folders,
        check: check.map(|script| run(&["php-cli", &script])),
        logs: vec![php_ini::log()],
        statuses: vec![status::FRANKENPHP.source()],
        ..Unit::new(KEY, server, stop)
    };
    Ok(Deployment {
        addresses: vec![front::address(), php_probe::address(), status::FRANKENPHP.address()],
        preparation: framework::preparation_by(cx.app, |script| run(&["php-cli", script]))?,
        probe: Some(php_probe::at_address(cx.app, lookup.php(KEY)?, cx.limits)?),
        ..front::deployment(&cx.app.source, vec![unit])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_each_other_are_named() {
        for (settings, tunables) in [
            (vec![(MODE, CLASSIC), (THREADS, "4"), (MAX_THREADS, "4")], vec![]),
            (vec![(MODE, CLASSIC), (WORKERS, "4")], vec![WORKERS]),
            (vec![(MODE, WORKER), (WORKERS, "4"), (THREADS, "4")], vec![THREADS]),
            (vec![(MODE, WORKER), (WORKERS, "4"), (THREADS, "5")], vec![]),
            (vec![(THREADS, "5"), (MAX_THREADS, "4")], vec![MAX_THREADS]),
        ] {
            let mut tuning = Tuning::new();
            for (name, value) in &settings {
                tuning.give(name, value);
            }
            let found: Vec<String> = problems(&tuning).into_iter().map(|problem| problem.tunable).collect();
            assert_eq!(found, tunables, "{settings:?}");
        }
    }
}
