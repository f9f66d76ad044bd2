//! Applications of frameworks on every runtime that can serve them: the same answers however a process is kept, warmed up
//! before the first request, from many connections at once.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_core::{App, AppKind, Bytes, Cpus, Install, Limits, Load, Requirement};

use crate::http::Connection;
use crate::launcher::Server;
use crate::{php_app, started};

const CONNECTIONS: u32 = 8;
const REQUESTS: u32 = 50;

type Settings = &'static [(&'static str, &'static str)];

/// Each runtime, in each of its modes that matter here.
const PER_REQUEST: [(&str, Settings); 7] = [
    ("apache-mod-php", &[]),
    ("apache-fpm", &[]),
    ("nginx-fpm", &[]),
    ("caddy-fpm", &[]),
    ("uwsgi-php", &[]),
    ("php-cli-server", &[]),
    ("frankenphp", &[("mode", "classic")]),
];
const WORKERS: [(&str, Settings); 5] = [
    ("frankenphp", &[("mode", "worker"), ("worker.num", "2")]),
    ("roadrunner", &[("http.pool.num_workers", "2")]),
    ("swoole", &[("worker_num", "2")]),
    ("swoole", &[("mode", "process"), ("worker_num", "2")]),
    ("workerman", &[("count", "2")]),
];
const OCTANE: [(&str, Settings); 6] = [
    ("frankenphp", &[("mode", "worker"), ("worker.num", "2")]),
    ("frankenphp", &[("mode", "worker"), ("worker.num", "2"), ("MAX_REQUESTS", "50")]),
    ("roadrunner", &[("http.pool.num_workers", "2")]),
    ("roadrunner", &[("http.pool.num_workers", "2"), ("http.pool.max_jobs", "50")]),
    ("swoole", &[("worker_num", "2"), ("task_worker_num", "1")]),
    ("swoole", &[("mode", "base"), ("worker_num", "2"), ("task_worker_num", "0")]),
];

fn hello() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/hello")
}

fn library(name: &str, package: &str, path: &str) -> Requirement {
    Requirement::AnyFile {
        key: None,
        name: format!("the package {package}"),
        paths: vec![PathBuf::from(path)],
        install: Install { package: Some(package.to_owned()), page: format!("https://packagist.org/?query={name}") },
    }
}

fn symfony() -> App {
    let mut app = php_app(hello().join("app/symfony"), &["ctype", "mbstring", "tokenizer"]);
    app.kind = AppKind::Symfony { kernel: "Stampede\\Hello\\Kernel".to_owned(), autoload: "autoload.php".into() };
    app.env = [("APP_SECRET".to_owned(), "secret".to_owned())].into();
    let autoload = "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php";
    app.needs = vec![library("symfony", "php-symfony-framework-bundle", autoload)];
    app
}

fn laravel() -> App {
    let mut app = php_app(hello().join("app/laravel"), &["ctype", "mbstring", "tokenizer"]);
    app.kind = AppKind::Laravel { autoload: "autoload.php".into() };
    app.env = [("APP_KEY".to_owned(), "base64:U3RhbXBlZGUncyBoZWxsbyB3b3JrbG9hZCwgbm8ga2U=".to_owned())].into();
    app.needs = vec![library("laravel", "php-laravel-framework", "/usr/share/php/Illuminate/autoload.php")];
    app
}

/// Sends each of the workload's requests and compares the answers.
fn verify(id: &str, server: &Server) {
    let text = fs::read_to_string(hello().join("workload.yaml")).expect("read the workload");
    let workload: Value = serde_saphyr::from_str(&text).expect("parse the workload");
    for request in workload["requests"].as_array().expect("requests") {
        let path = request["path"].as_str().expect("a path");
        let answer = Connection::open(server.front)
            .and_then(|mut connection| connection.exchange("GET", path, &[], b""))
            .unwrap_or_else(|error| panic!("{id}: {path}: {error}; {}", server.log()));
        let came = format!("{id}: {path}: {answer:?}; {}", server.log());
        assert_eq!(Some(u64::from(answer.status)), request["expect"]["status"].as_u64(), "{came}");
        assert_eq!(Some(&*String::from_utf8_lossy(&answer.body)), request["expect"]["body"].as_str(), "{came}");
        assert!(answer.headers["content-type"].eq_ignore_ascii_case("text/plain;charset=utf-8"), "{came}");
    }
}

/// Many connections at once, each with names of its own: an answer must greet the one who asked.
fn greet_many(id: &str, server: &Server) {
    let closes = ["uwsgi-php", "php-cli-server"].contains(&id);
    std::thread::scope(|scope| {
        for visitor in 0..CONNECTIONS {
            scope.spawn(move || {
                let mut connection = Connection::open(server.front).expect("connect");
                for request in 0..REQUESTS {
                    let name = format!("v{visitor}r{request}");
                    let ask = |connection: &mut Connection| {
                        connection.exchange(
                            "GET",
                            &format!("/?name={name}"),
                            &[("Cookie", &format!("who={name}"))],
                            b"",
                        )
                    };
                    let answer = ask(&mut connection).expect("an answer");
                    let text = String::from_utf8_lossy(&answer.body).into_owned();
                    assert_eq!((answer.status, text), (200, format!("Hello, {name}!\n")), "{id}");
                    if closes {
                        connection = Connection::open(server.front).expect("connect");
                    }
                }
            });
        }
    });
}

fn serves(app: &App, rows: &[(&str, Settings)]) {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(512) };
    let load = Load::Closed { connections: CONNECTIONS };
    for (id, settings) in rows {
        let _ = writeln!(std::io::stderr(), "{id} {settings:?}");
        let mut app = app.clone();
        if ["roadrunner", "workerman"].contains(id) {
            // The test's vendor folder holds webman beside what these need, and webman asks for it.
            app.extensions.push("phar".to_owned());
        }
        let Some((server, _)) = started(id, &app, settings, &limits, &load) else {
            continue;
        };
        verify(id, &server);
        greet_many(id, &server);
        assert!(!server.log().contains("PHP Fatal") && !server.log().contains("PHP Warning"), "{}", server.log());
        server.stop();
    }
}

#[test]
fn a_symfony_kernel_is_served_by_a_process_for_each_request() {
    serves(&symfony(), &PER_REQUEST);
}

#[test]
fn a_symfony_kernel_is_kept_by_workers() {
    serves(&symfony(), &WORKERS);
}

#[test]
fn a_laravel_application_is_kept_by_octane() {
    serves(&laravel(), &OCTANE);
}

#[test]
fn a_laravel_application_is_served_by_a_process_for_each_request() {
    serves(&laravel(), &PER_REQUEST);
}
