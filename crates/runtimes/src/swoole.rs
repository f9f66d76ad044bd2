//! Swoole's HTTP server: an extension of PHP with its own event loop in front of long-lived workers.

use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    About, App, AppKind, DefaultsContext, Deployment, GracefulStop, Install, PlanError, ProcessModel, Program,
    Programs, RenderContext, Requirement, Role, Runtime, StopSignal, Tunable, Tuning, TuningProblem, Unit,
};

use crate::bridge::Kept;
use crate::lookup::Lookup;
use crate::octane::Octane;
use crate::template::{Template, template};
use crate::web_root::WebRoot;
use crate::{bridge, framework, front, label, octane, php_ini, php_probe, pool, recipe, status};

const ID: &str = "swoole";

const SERVER: Template = template!("swoole/server.php.j2");

/// The server of a Laravel application.
const OCTANE: Template = template!("swoole/octane.php.j2");

/// What Octane calls of PHP in its workers.
const OCTANE_EXTENSIONS: [&str; 2] = ["pcntl", "posix"];

/// Its key and its name.
const EXTENSION: &str = "swoole";

/// The server's script, in the bridge's folder.
const SCRIPT: &str = "server.php";

const MODE: &str = "mode";
const PROCESS: &str = "process";
const BASE: &str = "base";
const WORKERS: &str = "worker_num";
const TASK_WORKERS: &str = "task_worker_num";
const REACTORS: &str = "reactor_num";
const MAX_REQUEST: &str = "max_request";
const BACKLOG: &str = "backlog";
const COROUTINE: &str = "enable_coroutine";
const HOOKS: &str = "hook_flags";
const PACKAGE_SIZE: &str = "package_max_length";

const TUNABLES: [Tunable; 9] = [
    Tunable::choice(MODE, Role::Mode, &[PROCESS, BASE])
        .does("whether a process of its own holds the connections (process), or each worker its own (base)")
        .manual("https://wiki.swoole.com/en/#/learn?id=differences-between-the-three-modes-of-the-server"),
    Tunable::count(WORKERS, Role::PoolSize, 1, 1000)
        .does("PHP processes")
        .manual("https://wiki.swoole.com/en/#/server/setting?id=worker_num"),
    Tunable::count(TASK_WORKERS, Role::Tasks, 0, 1000)
        .does("PHP processes for what requests leave to others (Laravel Octane)")
        .manual("https://laravel.com/docs/octane#concurrent-tasks"),
    Tunable::count(REACTORS, Role::FrontWorkers, 1, 256)
        .does("threads that read and write connections (process)")
        .manual("https://wiki.swoole.com/en/#/server/setting?id=reactor_num"),
    Tunable::count(MAX_REQUEST, Role::Recycle, 0, 1_000_000_000)
        .does("requests after which a worker is replaced, 0 for never")
        .manual("https://wiki.swoole.com/en/#/server/setting?id=max_request"),
    Tunable::count(BACKLOG, Role::Backlog, 1, 65_535)
        .does("connections that the kernel queues until they are accepted")
        .manual("https://wiki.swoole.com/en/#/server/setting?id=backlog"),
    Tunable::choice(COROUTINE, Role::Concurrency, &["true", "false"])
        .does("whether each request is a coroutine, so that a worker takes another while one waits")
        .manual("https://wiki.swoole.com/en/#/server/setting?id=enable_coroutine"),
    Tunable::choice(HOOKS, Role::Concurrency, &["0", "SWOOLE_HOOK_ALL"])
        .does("whether PHP's own functions that wait yield to other coroutines")
        .manual("https://wiki.swoole.com/en/#/runtime"),
    Tunable::count(PACKAGE_SIZE, Role::RequestSize, 65_536, u32::MAX as u64)
        .does(
            "bytes that a request may have with its body; a larger one is answered with 413, or its connection closed",
        )
        .manual("https://wiki.swoole.com/en/#/server/setting?id=package_max_length"),
];

/// Swoole's HTTP server.
pub(crate) struct Swoole;

impl Runtime for Swoole {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "Swoole's HTTP server",
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::SWOOLE),
            status: &[status::SWOOLE.says],
            tunables: &TUNABLES,
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        bridge::keeps(kind) || octane::drives(kind)
    }

    fn suits(&self, kind: &AppKind, given: &Tuning) -> Result<(), TuningProblem> {
        if given.get(TASK_WORKERS).is_some() && !octane::drives(kind) {
            let problem = "is Laravel Octane's, and the application is not Laravel's";
            return Err(TuningProblem::new(TASK_WORKERS, problem, "remove it"));
        }
        Ok(())
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let own: &[&str] = if octane::drives(&app.kind) { &OCTANE_EXTENSIONS } else { &[] };
        let mut all = vec![
            bridge::php_with(app, own, &[EXTENSION]),
            Requirement::PhpExtension {
                key: EXTENSION,
                build: None,
                extension: EXTENSION,
                install: Install { package: None, page: "pecl install swoole, https://wiki.swoole.com/en/".to_owned() },
            },
        ];
        all.extend(octane::requirement(app));
        all
    }

    fn version(&self, programs: &Programs) -> String {
        let both = format!("{}, {}", label::program(programs, EXTENSION, "Swoole"), label::php(programs, bridge::PHP));
        octane::named(both, programs)
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let pool = pool::for_cores(cx.limits, cx.load);
        let octane = octane::drives(&cx.app.kind);
        let (own_mode, why) =
            if octane { (PROCESS, "Octane's own") } else { (BASE, "Swoole's own since version 5, and one hop less") };
        let for_cores = format!("one per CPU of the limit ({}, rounded up), not of the machine", cx.limits.cpus);
        let cores = cx.limits.cpus.whole_cores() as u64;
        let workers = cx.given.count(WORKERS).unwrap_or(pool.workers);
        let mut tuning = Tuning::new();
        if octane {
            tuning = tuning.with_default(TASK_WORKERS, cores, &for_cores);
        }
        if cx.given.get(MODE).unwrap_or(own_mode) == PROCESS {
            tuning = if octane {
                tuning.with_default(REACTORS, workers, "as many as workers, as Octane has it")
            } else {
                tuning.with_default(REACTORS, cores.min(workers), for_cores)
            };
        }
        let (size, why_size) = if octane {
            (10 << 20, "10 MiB, Octane's own")
        } else {
            (8 << 20, "8 MiB, as PHP's own post_max_size; Swoole's own is 2 MiB")
        };
        let alone = "an application that was not written for it expects one request at a time";
        tuning
            .with_default(MODE, own_mode, why)
            .with_default(WORKERS, pool.workers, pool.reason)
            .with_default(MAX_REQUEST, 0, "workers are not replaced while measuring")
            .with_default(
                BACKLOG,
                u64::from(cx.load.connections()).max(512),
                "Swoole's own 512, or the load's connections where they are more, so that none is refused",
            )
            .with_default(COROUTINE, "false", alone)
            .with_default(HOOKS, "0", alone)
            .with_default(PACKAGE_SIZE, size, why_size)
            .overlaid_with(cx.given)
    }

    fn validate(&self, tuning: &Tuning) -> Vec<TuningProblem> {
        let mut problems = Vec::new();
        if let (Some(reactors), Some(workers)) = (tuning.count(REACTORS), tuning.count(WORKERS))
            && reactors > workers
        {
            let problem = format!("{REACTORS} = {reactors} is more than {WORKERS} = {workers}: Swoole would lower it");
            problems.push(TuningProblem::new(REACTORS, problem, format!("lower {REACTORS} or raise {WORKERS}")));
        }
        if tuning.get(MODE) == Some(BASE) && tuning.get(REACTORS).is_some() {
            let problem =
                format!("{REACTORS} is not there with {MODE} = {BASE}: each worker reads its own connections");
            problems.push(TuningProblem::new(REACTORS, problem, format!("remove it or set {MODE} to {PROCESS}")));
        }
        if tuning.get(COROUTINE) == Some("false") && tuning.get(HOOKS).is_some_and(|hooks| hooks != "0") {
            let problem = format!("{HOOKS} has nothing to yield to with {COROUTINE} = false");
            problems.push(TuningProblem::new(HOOKS, problem, format!("set {COROUTINE} to true")));
        }
        problems
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            addresses: vec![front::address(), status::SWOOLE.address()],
            preparation: framework::preparation(cx.app, &lookup)?,
            probe: Some(php_probe::saved(cx.app, lookup.php(bridge::PHP)?, cx.limits)?),
            ..front::deployment(&cx.app.source, vec![unit(cx, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let octane = octane::drives(lookup.kind());
    let mode = lookup.setting(MODE)?;
    let public = WebRoot::beside(cx.app);
    // The static handler sends all that has an ending with a type, and cannot be told what not to send.
    let sends_by_itself = public.as_ref().is_some_and(WebRoot::is_told_by_types);
    let values = context! {
        mode => if mode == PROCESS { "SWOOLE_PROCESS" } else { "SWOOLE_BASE" },
        worker_num => lookup.count(WORKERS)?,
        reactor_num => (mode == PROCESS).then(|| lookup.count(REACTORS)).transpose()?,
        max_request => lookup.count(MAX_REQUEST)?,
        backlog => lookup.count(BACKLOG)?,
        enable_coroutine => lookup.setting(COROUTINE)?,
        hook_flags => lookup.setting(HOOKS)?,
        package_max_length => lookup.count(PACKAGE_SIZE)?,
        https => cx.app.site.https,
        public => public.as_ref().map(|public| &public.root),
        sends_by_itself,
        ..public.as_ref().map(WebRoot::values).unwrap_or_default()
    };
    let mut folders = php_ini::folders();
    let (mut files, app, env) = if octane {
        // Octane keeps the numbers of its processes there.
        folders.push(PathBuf::from("bridge"));
        let task_worker_num = lookup.count(TASK_WORKERS)?;
        let octane = Octane::new(lookup, "Swoole", [1, 0])?;
        let files = octane.files(SCRIPT, &OCTANE, context! { task_worker_num, ..values })?;
        (files, bridge::with(cx.app, &OCTANE_EXTENSIONS), octane::environment(cx.app))
    } else {
        let kept = Kept::new(lookup, lookup.php(bridge::PHP)?)?;
        let mut files = kept.files()?;
        if public.is_some() && !sends_by_itself {
            files.push(bridge::public_file());
        }
        files.push(bridge::server(SCRIPT, SERVER.fill(context! { application => &kept.script, ..values })?));
        (files, cx.app.clone(), php_ini::environment(cx.app))
    };
    files.push(php_ini::file(&bridge::with(&app, &[EXTENSION]), lookup.php(bridge::PHP)?, cx.limits)?);
    let check = Program { env: env.clone(), ..bridge::check(lookup, cx.app)? };
    let program = Program { env, ..bridge::run(lookup, cx.app, SCRIPT, &[])? };
    // SIGTERM lets requests finish, up to max_wait_time.
    let stop = GracefulStop { signal: StopSignal::Term, grace: Duration::from_secs(5) };
    Ok(Unit {
        files,
        folders,
        check: Some(check),
        logs: vec![php_ini::log()],
        statuses: vec![status::SWOOLE.source()],
        ..Unit::new(ID, program, stop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_each_other_are_named() {
        for (settings, tunables) in [
            (vec![(MODE, BASE), (WORKERS, "4")], vec![]),
            (vec![(MODE, BASE), (REACTORS, "2")], vec![REACTORS]),
            (vec![(MODE, PROCESS), (REACTORS, "2"), (WORKERS, "2")], vec![]),
            (vec![(MODE, PROCESS), (REACTORS, "3"), (WORKERS, "2")], vec![REACTORS]),
            (vec![(COROUTINE, "false"), (HOOKS, "SWOOLE_HOOK_ALL")], vec![HOOKS]),
            (vec![(COROUTINE, "true"), (HOOKS, "SWOOLE_HOOK_ALL")], vec![]),
        ] {
            let mut tuning = Tuning::new();
            for (name, value) in &settings {
                tuning.give(name, value);
            }
            let found: Vec<String> = Swoole.validate(&tuning).into_iter().map(|problem| problem.tunable).collect();
            assert_eq!(found, tunables, "{settings:?}");
        }
    }
}
