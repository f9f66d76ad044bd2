//! What each target writes, and that a server's configuration is the bench's own text.

#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::select;
use stampede_core::{
    App, AppKind, Body, Bytes, Cpus, DefaultsContext, Deployment, Exchange, Expectation, ExtensionMeans, Found, Limit,
    Limits, Load, MakersImage, PhpBuild, PhpChoice, Programs, RenderContext, Request, Runtime, ScaledService, Tuning,
};
use stampede_export::{
    Additions, Bundle, BundleOrder, ExportError, Image, ImageSoftware, Package, Target, export, recipe,
};

fn kinds() -> [AppKind; 5] {
    [
        AppKind::FrontController { index: PathBuf::from("public/index.php") },
        AppKind::Psr15Handler { handler: PathBuf::from("handler.php") },
        AppKind::Symfony { kernel: "App\\Kernel".to_owned(), autoload: PathBuf::from("vendor/autoload.php") },
        AppKind::EmbeddedPhp {
            binary: PathBuf::from("bin/app"),
            index: PathBuf::from("index.php"),
            worker: Some(PathBuf::from("worker.php")),
        },
        AppKind::GoProgram,
    ]
}

fn programs() -> Programs {
    let php = PhpBuild {
        version: "8.2.29".to_owned(),
        thread_safe: false,
        debug: false,
        libc: "glibc".to_owned(),
        configure: String::new(),
        extension_dir: PathBuf::from("/usr/lib/php/20220829"),
        built_in: vec!["json".to_owned()],
        loadable: vec!["mbstring".to_owned(), "opcache".to_owned()],
        setup: None,
    };
    [
        ("nginx", "/usr/sbin/nginx", "1.22.1"),
        ("supervisord", "/usr/bin/supervisord", "4.2.5"),
        ("apache2", "/usr/sbin/apache2", "2.4.65"),
        ("caddy", "/usr/bin/caddy", "2.6.2"),
        ("uwsgi", "/usr/bin/uwsgi", "2.0.21"),
        ("mod_proxy_fcgi", "/usr/lib/apache2/modules/mod_proxy_fcgi.so", ""),
        ("mod_mpm_prefork", "/usr/lib/apache2/modules/mod_mpm_prefork.so", ""),
        ("php-embed", "/usr/lib/libphp8.2.so", "8.2.29"),
        ("rr", "/usr/bin/rr", "2025.1.15"),
        ("swoole", "/usr/bin/php8.2", "6.2.2"),
        ("spiral/roadrunner-http", "/app/vendor/spiral/roadrunner-http", "4.0.0"),
        ("workerman/workerman", "/app/vendor/workerman/workerman", "5.2.2"),
        ("frankenphp", "/usr/bin/frankenphp", "1.12.7"),
        ("go", "/usr/bin/go", "1.26.1"),
        ("php", "/usr/bin/php8.2", "8.2.29"),
        ("php-fpm", "/usr/sbin/php-fpm8.2", "8.2.29"),
        ("php-apache", "/usr/lib/apache2/modules/libphp8.2.so", "8.2.29"),
    ]
    .map(|(key, path, version)| {
        (key.to_owned(), Found { path: PathBuf::from(path), version: version.to_owned(), php: Some(php.clone()) })
    })
    .into()
}

fn deployment(runtime: &dyn Runtime, kind: AppKind, limits: &Limits, connections: u32) -> Deployment {
    let app = &App {
        source: PathBuf::from("app"),
        extensions: vec!["mbstring".to_owned()],
        env: BTreeMap::from([("GREETING".to_owned(), "it's 5 % of $HOME".to_owned())]),
        ..App::new("plain", kind)
    };
    let load = &Load::Closed { connections };
    let tuning = &runtime.defaults(&DefaultsContext { app, limits, load, given: &Tuning::new() });
    runtime.deployment(&RenderContext { app, limits, load, tuning, programs: &programs() }).unwrap()
}

fn nginx() -> &'static dyn Runtime {
    stampede_runtimes::by_id("nginx-fpm").unwrap()
}

fn exchange(method: &str, status: u16, body: &str) -> Exchange {
    Exchange {
        name: "home".to_owned(),
        request: Request {
            method: method.to_owned(),
            path: "/a?b=%20".to_owned(),
            headers: BTreeMap::new(),
            body: body.into(),
        },
        expect: Expectation { status, body: Body::Any, gzip: false, head: Default::default() },
        weight: 1,
        once: false,
        optional: false,
    }
}

const HALF: Limits = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(256) };

/// Each runtime's image with an extension of PHP's source, one of PECL, a program and a library.
#[test]
fn recipes_are_the_usual_way_upon_makers_images() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let additions = Additions {
        extensions: set(&["intl", "redis"]),
        packages: set(&["nginx"]),
        libraries: set(&["php-parsedown"]),
    };
    let mut known = Vec::new();
    let mut text = String::new();
    for runtime in stampede_runtimes::all() {
        let Some(of) = runtime.recipe() else { continue };
        let image = MakersImage::new(of, Some(&PhpChoice::Series { major: 8, minor: 2 }));
        let _ = writeln!(text, "# {}: {image}, see {}", runtime.id(), of.source);
        if !known.contains(&image) {
            // What is the distribution's is written with its packages alone.
            if of.extensions != ExtensionMeans::Packages {
                text += &recipe(&image, &image.to_string(), &additions).unwrap();
            }
            known.push(image);
        }
    }
    insta::assert_snapshot!("recipes", text);
}

fn bundle(target: Target, deployment: &Deployment, limits: &Limits, health: &Exchange) -> Result<Bundle, ExportError> {
    scaled(target, deployment, limits, health, None)
}

fn scaled(
    target: Target,
    deployment: &Deployment,
    limits: &Limits,
    health: &Exchange,
    scaling: Option<&ScaledService>,
) -> Result<Bundle, ExportError> {
    let package = |name: &str, version: &str| Package { name: name.to_owned(), version: version.to_owned() };
    let image = Image {
        name: "registry.example/shop:1".to_owned(),
        software: ImageSoftware::Packages {
            base: "debian:bookworm-slim".to_owned(),
            packages: vec![package("nginx", "1.22.1-9+deb12u2"), package("php8.2-fpm", "8.2.29-1~deb12u1")],
        },
    };
    export(
        target,
        &BundleOrder {
            name: "shop",
            origin: &["Made by stampede export from case tuned of study 20260301-120000-made.".to_owned()],
            deployment,
            limits,
            health: Some(health),
            ready: Duration::from_secs(30),
            listen: SocketAddr::from((target.address(), 8080)),
            folder: "/home/me/shop",
            concurrency: Some(8),
            scaling,
            image: Some(&image),
        },
    )
}

fn text(bundle: &Bundle) -> String {
    let mut text = format!("app at {}\nbuilt programs below {:?}\n", bundle.app.display(), bundle.run);
    for file in &bundle.files {
        let kind = if file.executable { " (a program)" } else { "" };
        write!(text, "\n=== {}{kind}\n{}", file.path.display(), file.text).unwrap();
    }
    text
}

#[test]
fn each_target_for_three_runtimes() {
    let cases = [("nginx-fpm", 0, exchange("POST", 200, "it's 5%")), ("apache-mod-php", 0, exchange("GET", 200, ""))];
    for (id, kind, health) in cases.into_iter().chain([("go", 4, exchange("GET", 200, ""))]) {
        let runtime = stampede_runtimes::by_id(id).unwrap();
        let deployment = deployment(runtime, kinds()[kind].clone(), &HALF, 16);
        let configuration = bundle(Target::Config, &deployment, &HALF, &health).unwrap();
        insta::assert_snapshot!(format!("config-{id}"), text(&configuration));
        for target in Target::ALL.into_iter().filter(|target| *target != Target::Config) {
            let mut bundle = bundle(target, &deployment, &HALF, &health).unwrap();
            // Those of an image are as of `config`, in another place.
            bundle.files.retain(|file| !file.path.starts_with("run") && !file.path.starts_with("srv"));
            if target.has_image() && target != Target::Dockerfile {
                bundle.files.retain(|file| !file.path.ends_with("Dockerfile"));
            }
            insta::assert_snapshot!(format!("{}-{id}", target.id()), text(&bundle));
        }
    }
}

#[test]
fn what_must_be_prepared_is_prepared_before_it_is_served() {
    let deployment = deployment(nginx(), kinds()[2].clone(), &HALF, 16);
    let text_of = |target: Target, path: &str| {
        let bundle = bundle(target, &deployment, &HALF, &exchange("GET", 200, "")).unwrap();
        bundle.files.into_iter().find(|file| file.path.ends_with(path)).unwrap().text
    };
    let dockerfile = text_of(Target::Dockerfile, "Dockerfile");
    assert!(dockerfile.contains("USER 33:33\nRUN /srv/prepare\nRUN /srv/check\n"), "{dockerfile}");
    assert!(text_of(Target::Dockerfile, "prepare").contains("APP_ENV=prod"));
    let service = text_of(Target::Systemd, "shop-php-fpm.service");
    assert!(service.contains("\nExecStartPre=/srv/shop/prepare\n"), "{service}");
}

#[test]
fn what_a_target_does_not_take_is_refused() {
    let runtime = stampede_runtimes::by_id("apache-mod-php").unwrap();
    let health = exchange("GET", 200, "");
    for (millis, taken) in [(79, false), (80, true), (1000, true), (1500, false), (2000, true), (3000, false)] {
        let limits = Limits { cpus: Cpus::from_millis(millis), ..HALF };
        let deployment = deployment(runtime, kinds()[0].clone(), &limits, 4);
        let exported = bundle(Target::CloudRun, &deployment, &limits, &health);
        assert_eq!(exported.is_ok(), taken, "{millis}");
        let manifest = exported.map(|bundle| text(&bundle)).unwrap_or_default();
        let one = manifest.contains("containerConcurrency: 1\n");
        assert_eq!(one, taken && millis < 1000, "{millis}: {manifest}");
    }
    let deployment = deployment(runtime, kinds()[0].clone(), &HALF, 4);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, u16::MAX));
    let order = BundleOrder {
        name: "shop",
        origin: &[],
        deployment: &deployment,
        limits: &HALF,
        health: None,
        ready: Duration::from_secs(30),
        listen,
        folder: "/x",
        concurrency: None,
        scaling: None,
        image: None,
    };
    assert!(matches!(export(Target::Config, &order), Err(ExportError::Ports(u16::MAX))));
    let order = BundleOrder { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)), ..order };
    assert!(matches!(export(Target::Compose, &order), Err(ExportError::Image)));
    assert!(export(Target::Config, &order).is_ok());
    for folder in ["/home/me/my shop", "/home/$me", &format!("/{}", "x".repeat(90))] {
        let order =
            BundleOrder { folder, deployment: &self::deployment(nginx(), kinds()[0].clone(), &HALF, 4), ..order };
        assert!(matches!(export(Target::Config, &order), Err(ExportError::Folder(_))), "{folder}");
    }
}

#[test]
fn an_autoscaled_service_is_deployed_as_it_was_scaled() {
    let whole = Limits { cpus: Cpus::from_millis(1000), ..HALF };
    let deployment = deployment(nginx(), kinds()[0].clone(), &whole, 16);
    let service = ScaledService {
        policy: "knative".to_owned(),
        concurrency: 10,
        min_instances: 1,
        max_instances: 6,
        queue_length: Limit::Unlimited,
        queue_wait: Duration::from_secs(10),
        request_timeout: Duration::from_secs(300),
        start: Duration::from_secs(1),
        price: "cloud-run-requests".to_owned(),
        total_cpus: None,
    };
    for (target, least, most) in
        [(Target::Knative, "min-scale", "max-scale"), (Target::CloudRun, "minScale", "maxScale")]
    {
        let bundle = scaled(target, &deployment, &whole, &exchange("GET", 200, ""), Some(&service)).unwrap();
        let service = bundle.files.into_iter().find(|file| file.path.ends_with("service.yaml")).unwrap().text;
        let key = "\n        autoscaling.knative.dev/";
        for line in [format!("{key}{least}: \"1\"\n"), format!("{key}{most}: \"6\"\n")] {
            assert!(service.contains("\n      annotations:\n") && service.contains(&line), "{line}: {service}");
        }
        // Not the pool, which is told where nothing was scaled.
        assert!(service.contains("\n      containerConcurrency: 10\n"), "{service}");
    }
}

/// Runs a checker on a file; says loudly when it is not there.
fn checked(test: &str, program: &str, args: &[&str], file: &std::path::Path) {
    let path = file.display().to_string();
    let args: Vec<&str> = args.iter().map(|arg| if *arg == "FILE" { path.as_str() } else { arg }).collect();
    match Command::new(program).args(args).output() {
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {program}");
        }
        Ok(said) => assert!(said.status.success(), "{}", String::from_utf8_lossy(&[said.stdout, said.stderr].concat())),
    }
}

#[test]
fn manifests_and_scripts_pass_their_checkers() {
    let test = "manifests_and_scripts_pass_their_checkers";
    let folder = tempfile::tempdir().unwrap();
    for (method, status) in [("GET", 200), ("GET", 400)] {
        let health = exchange(method, status, "");
        let deployment = deployment(nginx(), kinds()[2].clone(), &HALF, 16);
        for target in Target::ALL {
            let bundle = bundle(target, &deployment, &HALF, &health).unwrap();
            for file in &bundle.files {
                let path = folder.path().join(file.path.file_name().unwrap());
                fs::write(&path, &file.text).unwrap();
                match file.path.file_name().unwrap().to_str().unwrap() {
                    _ if file.executable => checked(test, "bash", &["-n", "FILE"], &path),
                    "compose.yaml" => checked(test, "docker-compose", &["-f", "FILE", "config", "-q"], &path),
                    // https://pypi.org/project/kubernetes-validate/
                    "kubernetes.yaml" => checked(test, "kubernetes-validate", &["--strict", "FILE"], &path),
                    _ => {}
                }
            }
        }
    }
}

/// Whether a text is another one with some word in the place of each `@{...}`.
fn is_filled(text: &str, with_places: &str) -> bool {
    let mut parts = with_places.split("@{");
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap()) else { return false };
    for part in parts {
        let literal = part.split_once('}').unwrap().1;
        let Some(at) = (if literal.is_empty() { Some(rest.len()) } else { rest.find(literal) }) else { return false };
        let put_in = &rest[..at];
        if put_in.is_empty() || put_in.contains(char::is_whitespace) {
            return false;
        }
        rest = &rest[at + literal.len()..];
    }
    rest.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn a_configuration_is_the_benchs_own_text(
        number in 0..stampede_runtimes::all().len(),
        kind in select(kinds().to_vec()),
        target in select(Target::ALL.to_vec()),
        millis in select(vec![100u32, 500, 1000, 2000]),
        mib in 64u64..4096,
        connections in 1u32..200,
        port in 1024u16..60_000,
        public in any::<bool>(),
    ) {
        let runtime = stampede_runtimes::all()[number];
        if !runtime.serves(&kind) {
            return Ok(());
        }
        let limits = Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
        let deployment = deployment(runtime, kind, &limits, connections);
        let ip = if public { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let image = Image { name: "a:1".to_owned(), software: ImageSoftware::Recipe("FROM debian:bookworm-slim\n".to_owned()) };
        let bundle = export(target, &BundleOrder {
            name: "shop",
            origin: &[],
            deployment: &deployment,
            limits: &limits,
            health: None,
            ready: Duration::from_secs(30),
            listen: SocketAddr::from((ip, port)),
            folder: "/home/me/shop",
            concurrency: None,
            scaling: None,
            image: Some(&image),
        }).unwrap();
        let preparation = deployment.preparation.iter().flat_map(|preparation| &preparation.files);
        for file in deployment.units.iter().flat_map(|unit| &unit.files).chain(preparation) {
            let exported = bundle.files.iter().find(|exported| exported.path == bundle.run.join(&file.path)).unwrap();
            assert!(is_filled(&exported.text, &file.text), "{}:\n{}", file.path.display(), exported.text);
        }
        for file in &bundle.files {
            assert!(!file.text.contains("@{"), "{}:\n{}", file.path.display(), file.text);
        }
    }
}
