//! What each runtime renders at three sizes of limits: settings with their reasons, files, arguments and environment.

#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use stampede_core::{
    App, AppKind, Bytes, Cpus, DefaultsContext, Deployment, Found, Limits, Load, Origin, PhpBuild, PlanError, Program,
    Programs, RenderContext, Runtime, Tuning,
};

fn app(runtime: &dyn Runtime) -> App {
    let kind = if runtime.serves(&AppKind::GoProgram) {
        AppKind::GoProgram
    } else {
        AppKind::FrontController { index: PathBuf::from("public/index.php") }
    };
    App {
        kind,
        source: PathBuf::from("workloads/example/app"),
        extensions: vec!["ctype".to_owned(), "mbstring".to_owned()],
        env: BTreeMap::from([("APP_ENV".to_owned(), "prod".to_owned())]),
        needs: Vec::new(),
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
            extension_dir: PathBuf::from("/usr/lib/php/20220829"),
            built_in: vec!["ctype".to_owned(), "json".to_owned()],
            loadable: vec!["mbstring".to_owned(), "opcache".to_owned()],
        }),
    };
    [
        ("nginx", program("/usr/sbin/nginx", "1.22.1")),
        ("apache2", program("/usr/sbin/apache2", "2.4.65")),
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
    let app = app(runtime);
    let load = Load::Closed { connections: 16 };
    let tuning = runtime.defaults(&DefaultsContext { app: &app, limits, load: &load, given: &given(settings) });
    assert_eq!(runtime.validate(&tuning), [], "{}", runtime.id());
    for (name, setting) in tuning.iter() {
        let tunable = runtime.tunables().iter().find(|row| row.name == name);
        let tunable = tunable.unwrap_or_else(|| panic!("{name} is no tunable"));
        assert_eq!(tunable.check(&setting.value), Ok(()), "{name}");
    }
    let programs = programs();
    let deployment =
        runtime.deployment(&RenderContext { app: &app, limits, load: &load, tuning: &tuning, programs: &programs })?;
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
    for unit in &deployment.units {
        writeln!(text, "\n=== unit {}", unit.id).unwrap();
        if let Some(build) = &unit.build {
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
    ] {
        insta::assert_snapshot!(name, rendered(runtime, &limits, &settings).unwrap());
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
        assert!(matches!(runtime.deployment(&cx), Err(PlanError::Tunable { .. })), "{}", runtime.id());
        let tuning =
            runtime.defaults(&DefaultsContext { app: &app, limits: &limits, load: &load, given: &Tuning::new() });
        let cx = RenderContext { tuning: &tuning, programs: &Programs::new(), ..cx };
        assert!(matches!(runtime.deployment(&cx), Err(PlanError::Program { .. })), "{}", runtime.id());
        let wrong_kind = App {
            kind: match app.kind {
                AppKind::GoProgram => AppKind::FrontController { index: PathBuf::from("index.php") },
                AppKind::FrontController { .. } => AppKind::GoProgram,
            },
            ..app.clone()
        };
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
