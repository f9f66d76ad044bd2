//! What each runtime renders at three sizes of limits: settings with their reasons, files, arguments and environment.

#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use stampede_core::{
    App, AppKind, Bytes, Command, CommandReady, CommandTunable, CommandValues, Cpus, DefaultsContext, Denied,
    Deployment, Found, GracefulStop, ImageApp, ImageSource, Limits, Load, Origin, PhpBuild, PlanError, Program,
    Programs, RenderContext, Runtime, Site, StopSignal, Tuning, Volume,
};

/// An application of each kind.
fn kinds() -> Vec<AppKind> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    vec![
        AppKind::FrontController { index: PathBuf::from("public/index.php") },
        AppKind::Psr15Handler { handler: PathBuf::from("handler.php") },
        AppKind::PhpFunction { script: PathBuf::from("function.php"), function: "serve".to_owned() },
        AppKind::EmbeddedPhp {
            binary: PathBuf::from("bin/my-app"),
            index: PathBuf::from("public/index.php"),
            worker: Some(PathBuf::from("public/worker.php")),
        },
        AppKind::GoProgram,
        AppKind::GoFunction {
            module: "example".to_owned(),
            package: "example/api".to_owned(),
            function: "Serve".to_owned(),
        },
        AppKind::Command(Command {
            run: words("@{built} --port @{front.port}"),
            build: Some(words("cc -o @{output} server.c")),
            replacements: Vec::new(),
            ready: CommandReady::Port,
            stop: GracefulStop { signal: StopSignal::Int, grace: Duration::from_secs(2) },
            tunables: vec![CommandTunable {
                name: "WORKERS".to_owned(),
                values: CommandValues::Count { min: 1, max: 64 },
                default: "4".to_owned(),
            }],
        }),
        AppKind::Image(ImageApp {
            command: words("serve --workers 4"),
            volumes: vec![Volume::Empty { at: "/var/data".to_owned() }],
            ..ImageApp::of(ImageSource::Named("my/app:1".to_owned()))
        }),
    ]
}

fn app(runtime: &dyn Runtime) -> App {
    App {
        source: PathBuf::from("workloads/example/app"),
        extensions: vec!["ctype".to_owned(), "mbstring".to_owned()],
        env: BTreeMap::from([("APP_ENV".to_owned(), "prod".to_owned())]),
        ..App::new("plain", kinds().into_iter().find(|kind| runtime.serves(kind)).unwrap())
    }
}

fn programs() -> Programs {
    let program =
        |path: &str, version: &str| Found { path: PathBuf::from(path), version: version.to_owned(), php: None };
    let php = |path: &str| Found {
        path: PathBuf::from(path),
        version: "8.2.29".to_owned(),
        php: Some(PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: "glibc".to_owned(),
            configure: "--with-layout=GNU".to_owned(),
            extension_dir: PathBuf::from("/usr/lib/php/20220829"),
            built_in: vec!["ctype".to_owned(), "json".to_owned()],
            loadable: ["mbstring", "opcache", "pcntl"].map(str::to_owned).into(),
            setup: None,
        }),
    };
    [
        ("nginx", program("/usr/sbin/nginx", "1.22.1")),
        ("supervisord", program("/usr/bin/supervisord", "4.2.5")),
        ("apache2", program("/usr/sbin/apache2", "2.4.65")),
        ("caddy", program("/usr/bin/caddy", "2.6.2")),
        ("uwsgi", program("/usr/bin/uwsgi", "2.0.21-debian")),
        ("mod_proxy_fcgi", program("/usr/lib/apache2/modules/mod_proxy_fcgi.so", "")),
        ("mod_mpm_prefork", program("/usr/lib/apache2/modules/mod_mpm_prefork.so", "")),
        ("php-embed", php("/usr/lib/libphp8.2.so")),
        ("rr", program("/usr/bin/rr", "2025.1.15")),
        ("swoole", program("/usr/bin/php8.2", "6.2.2")),
        ("spiral/roadrunner-http", program("/app/vendor/spiral/roadrunner-http", "4.0.0")),
        ("laravel/octane", program("/app/vendor/laravel/octane", "2.3.6")),
        ("workerman/workerman", program("/app/vendor/workerman/workerman", "5.2.2")),
        ("workerman/webman-framework", program("/app/vendor/workerman/webman-framework", "2.2.1")),
        ("google/cloud-functions-framework", program("/app/vendor/google/cloud-functions-framework", "1.4.3")),
        ("frankenphp", Found { version: "1.12.7".to_owned(), ..php("/usr/bin/frankenphp") }),
        ("the command's builder", program("/usr/bin/cc", "")),
        ("the image", program("my/app:1", "sha256:0123456789abcdef")),
        ("go", program("/usr/bin/go", "1.19.8")),
        ("php", php("/usr/bin/php8.2")),
        ("php-fpm", php("/usr/sbin/php-fpm8.2")),
        ("php-apache", php("/usr/lib/apache2/modules/libphp8.2.so")),
    ]
    .map(|(key, found)| (key.to_owned(), found))
    .into()
}

fn given(settings: &[(&str, &str)]) -> Tuning {
    let mut tuning = Tuning::new();
    for (name, value) in settings {
        tuning.give(name, value);
    }
    tuning
}

fn rendered(runtime: &dyn Runtime, limits: &Limits, settings: &[(&str, &str)]) -> Result<String, PlanError> {
    rendered_app(runtime, &app(runtime), limits, settings)
}

fn rendered_app(
    runtime: &dyn Runtime,
    app: &App,
    limits: &Limits,
    settings: &[(&str, &str)],
) -> Result<String, PlanError> {
    let load = Load::Closed { connections: 16 };
    let tuning = runtime.defaults(&DefaultsContext { app, limits, load: &load, given: &given(settings) });
    assert_eq!(runtime.validate(&tuning), [], "{}", runtime.id());
    for (name, setting) in tuning.iter() {
        match (runtime.tunables().iter().find(|row| row.name == name), &app.kind) {
            (Some(tunable), _) => assert_eq!(tunable.check(&setting.value), Ok(()), "{name}"),
            (None, AppKind::Command(command)) => assert!(command.tunables.iter().any(|own| own.name == name)),
            (None, _) => panic!("{name} is no tunable"),
        }
    }
    let needs = [runtime.requires(app), runtime.requires_for(app, &tuning)].concat();
    let mut programs = programs();
    programs.retain(|found, _| needs.iter().any(|need| need.key() == Some(found)));
    let deployment =
        runtime.deployment(&RenderContext { app, limits, load: &load, tuning: &tuning, programs: &programs })?;
    let told: Vec<_> = deployment.units.iter().flat_map(|unit| &unit.statuses).collect();
    assert_eq!(told.len(), runtime.status().len(), "{}: what it says of its status", runtime.id());
    for status in told {
        assert!(deployment.addresses.iter().any(|address| address.id == status.address), "{status:?}");
    }
    Ok(text(&runtime.version(&programs), &tuning, &deployment))
}

fn text(version: &str, tuning: &Tuning, deployment: &Deployment) -> String {
    let mut text = format!("{version}\n\n");
    for (name, setting) in tuning.iter() {
        let origin = match &setting.origin {
            Origin::Default { reason } => reason,
            Origin::Given => "given",
        };
        writeln!(text, "{name} = {} ({origin})", setting.value).unwrap();
    }
    for address in &deployment.addresses {
        writeln!(text, "address {}: {:?}", address.id, address.kind).unwrap();
    }
    writeln!(text, "front {}", deployment.front).unwrap();
    if let Some(preparation) = &deployment.preparation {
        writeln!(text, "\n=== preparation, folders {:?}", preparation.folders).unwrap();
        for program in &preparation.programs {
            write_program(&mut text, "run", program);
        }
        for file in &preparation.files {
            write!(text, "--- {}\n{}", file.path.display(), file.text).unwrap();
        }
    }
    if let Some(probe) = &deployment.probe {
        let files: Vec<_> = probe.files.iter().map(|file| file.path.display().to_string()).collect();
        writeln!(text, "\nprobe {:?}, files {}", probe.source, files.join(", ")).unwrap();
    }
    for unit in &deployment.units {
        writeln!(text, "\n=== unit {}", unit.id).unwrap();
        if let Some(build) = &unit.build {
            for file in &build.files {
                write!(text, "--- for the build: {}\n{}", file.path.display(), file.text).unwrap();
            }
            write_program(&mut text, "build", &build.program);
            writeln!(text, "build gives {} by {}", build.output.display(), build.toolchain).unwrap();
        }
        if let Some(check) = &unit.check {
            write_program(&mut text, "check", check);
        }
        write_program(&mut text, "run", &unit.program);
        writeln!(text, "folders {:?}", unit.folders).unwrap();
        writeln!(text, "logs {:?}", unit.logs).unwrap();
        writeln!(text, "ready {:?}, stop {:?}", unit.ready, unit.stop).unwrap();
        for file in &unit.files {
            write!(text, "--- {}\n{}", file.path.display(), file.text).unwrap();
        }
    }
    text
}

fn write_program(text: &mut String, what: &str, program: &Program) {
    writeln!(text, "{what}: {} {}", program.path, program.args.join(" ")).unwrap();
    for (name, value) in &program.env {
        writeln!(text, "  {name}={value}").unwrap();
    }
}

#[test]
fn every_runtime_at_three_sizes() {
    for (size, millis, mib) in [("tiny", 167, 64), ("half", 500, 256), ("large", 4000, 4096)] {
        let limits = Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
        for runtime in stampede_runtimes::all() {
            insta::assert_snapshot!(format!("{}-{size}", runtime.id()), rendered(*runtime, &limits, &[]).unwrap());
        }
    }
}

#[test]
fn each_way_in_which_an_fpm_pool_can_grow() {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };
    let runtime = stampede_runtimes::by_id("nginx-fpm").unwrap();
    for (name, settings) in [
        ("nginx-fpm-dynamic", vec![("pm", "dynamic"), ("pm.max_children", "25")]),
        ("nginx-fpm-ondemand", vec![("pm", "ondemand")]),
        ("nginx-fpm-supervised", vec![("supervisor", "supervisord")]),
    ] {
        insta::assert_snapshot!(name, rendered(runtime, &limits, &settings).unwrap());
    }
}

#[test]
fn each_mode_that_is_not_the_default() {
    let limits = Limits { cpus: Cpus::from_millis(2000), memory: Bytes::from_mib(512) };
    let handler = AppKind::Psr15Handler { handler: PathBuf::from("handler.php") };
    for (name, id, settings) in [
        ("frankenphp-worker", "frankenphp", vec![("MAX_REQUESTS", "500"), ("max_wait_time", "5")]),
        ("roadrunner-supervised", "roadrunner", vec![("http.pool.supervisor.ttl", "60")]),
        ("swoole-process", "swoole", vec![("mode", "process"), ("enable_coroutine", "true")]),
    ] {
        let runtime = stampede_runtimes::by_id(id).unwrap();
        let app = App { site: Site::of(&handler), kind: handler.clone(), ..app(runtime) };
        insta::assert_snapshot!(name, rendered_app(runtime, &app, &limits, &settings).unwrap());
    }
}

#[test]
fn a_worker_sends_files_where_its_server_would_send_what_is_denied() {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };
    let handler = AppKind::Psr15Handler { handler: PathBuf::from("handler.php") };
    for id in ["roadrunner", "swoole"] {
        let runtime = stampede_runtimes::by_id(id).unwrap();
        let denied = vec![Denied::Folder("private".to_owned())];
        let site = Site { root: Some("public".into()), files: true, denied, ..Site::default() };
        let app = App { site, kind: handler.clone(), ..app(runtime) };
        insta::assert_snapshot!(format!("{id}-deny"), rendered_app(runtime, &app, &limits, &[]).unwrap());
    }
}

#[test]
fn applications_of_frameworks() {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };
    let symfony = AppKind::Symfony { kernel: "App\\Kernel".to_owned(), autoload: "vendor/autoload.php".into() };
    let laravel = AppKind::Laravel { autoload: "vendor/autoload.php".into() };
    for (name, id, kind, settings) in [
        ("nginx-fpm-symfony", "nginx-fpm", &symfony, &[][..]),
        ("nginx-fpm-laravel", "nginx-fpm", &laravel, &[]),
        ("frankenphp-symfony", "frankenphp", &symfony, &[]),
        ("frankenphp-laravel", "frankenphp", &laravel, &[]),
        ("frankenphp-octane", "frankenphp", &laravel, &[("mode", "worker")]),
        ("roadrunner-symfony", "roadrunner", &symfony, &[]),
        ("roadrunner-octane", "roadrunner", &laravel, &[]),
        ("swoole-octane", "swoole", &laravel, &[]),
    ] {
        let runtime = stampede_runtimes::by_id(id).unwrap();
        let app = App { site: Site::of(kind), kind: kind.clone(), ..app(runtime) };
        insta::assert_snapshot!(name, rendered_app(runtime, &app, &limits, settings).unwrap());
    }
}

#[test]
fn an_octane_that_does_not_know_the_server_is_an_error_that_says_which_does() {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };
    let load = Load::Closed { connections: 16 };
    for (id, settings, version, told) in [
        (
            "frankenphp",
            &[("mode", "worker")][..],
            "1.5.6",
            "needs laravel/octane ^2.2 for FrankenPHP; the application has 1.5.6",
        ),
        ("roadrunner", &[], "3.0.0", "needs laravel/octane ^1.0 || ^2.0 for RoadRunner; the application has 3.0.0"),
        ("swoole", &[], "0.5.0", "needs laravel/octane ^1.0 || ^2.0 for Swoole; the application has 0.5.0"),
    ] {
        let runtime = stampede_runtimes::by_id(id).unwrap();
        let kind = AppKind::Laravel { autoload: "vendor/autoload.php".into() };
        let app = &App { site: Site::of(&kind), kind, ..app(runtime) };
        let tuning = &runtime.defaults(&DefaultsContext { app, limits: &limits, load: &load, given: &given(settings) });
        let mut programs = programs();
        programs.get_mut("laravel/octane").unwrap().version = version.to_owned();
        let cx = RenderContext { app, limits: &limits, load: &load, tuning, programs: &programs };
        let error = runtime.deployment(&cx).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("composer require laravel/octane"), "{error}");
    }
}

#[test]
fn a_context_that_lacks_something_is_an_error_that_names_it() {
    let limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };
    let load = Load::Closed { connections: 16 };
    for runtime in stampede_runtimes::all() {
        let app = app(*runtime);
        let cx =
            RenderContext { app: &app, limits: &limits, load: &load, tuning: &Tuning::new(), programs: &programs() };
        if !runtime.tunables().is_empty() {
            assert!(matches!(runtime.deployment(&cx), Err(PlanError::Tunable { .. })), "{}", runtime.id());
        }
        let tuning =
            runtime.defaults(&DefaultsContext { app: &app, limits: &limits, load: &load, given: &Tuning::new() });
        let cx = RenderContext { tuning: &tuning, programs: &Programs::new(), ..cx };
        assert!(matches!(runtime.deployment(&cx), Err(PlanError::Program { .. })), "{}", runtime.id());
        let wrong_kind = kinds().into_iter().find(|kind| !runtime.serves(kind)).unwrap();
        let wrong_kind = App { kind: wrong_kind, ..app.clone() };
        let cx = RenderContext { app: &wrong_kind, programs: &programs(), ..cx };
        assert!(matches!(runtime.deployment(&cx), Err(PlanError::AppKind(_))), "{}", runtime.id());
    }
}

#[test]
fn apaches_settings_that_contradict_each_other_are_named() {
    let runtime = stampede_runtimes::by_id("apache-mod-php").unwrap();
    for (settings, tunables) in [
        (vec![], vec![]),
        (vec![("StartServers", "9"), ("MaxRequestWorkers", "8")], vec!["StartServers"]),
        (vec![("MinSpareServers", "5"), ("MaxSpareServers", "5")], vec!["MinSpareServers"]),
        (vec![("MinSpareServers", "5"), ("MaxSpareServers", "6")], vec![]),
    ] {
        let found: Vec<String> =
            runtime.validate(&given(&settings)).into_iter().map(|problem| problem.tunable).collect();
        assert_eq!(found, tunables, "{settings:?}");
    }
}
