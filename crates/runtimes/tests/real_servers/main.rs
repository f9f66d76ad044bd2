//! Every runtime with its real programs: the rendered files pass the programs' own checks, the workload's answers come,
//! connections stay open, PHP's surroundings are the same everywhere, and a stop is graceful and quick.

#![expect(clippy::expect_used, reason = "a step that fails is a test that fails")]

mod conformance;
mod effective;
mod frameworks;
mod http;
mod jit;
mod launcher;
mod layouts;
mod paths;
mod programs;
mod status;
mod truth;
mod workers;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stampede_core::{
    App, AppKind, Bytes, Cpus, DefaultsContext, Install, Limits, Load, PlanError, RenderContext, Requirement, Runtime,
    Site, Tuning,
};

use http::Connection;
use launcher::Server;

/// More than Apache's 100 and nginx's 1000 requests, after which they close a connection by default.
const REQUESTS_ON_ONE_CONNECTION: u32 = 1100;

fn workload() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/markdown")
}

fn php_app(source: PathBuf, extensions: &[&str]) -> App {
    App {
        source,
        extensions: extensions.iter().map(|name| (*name).to_owned()).collect(),
        env: BTreeMap::from([("APP_ENV".to_owned(), "prod".to_owned())]),
        ..App::new("plain", AppKind::FrontController { index: PathBuf::from("public/index.php") })
    }
}

fn markdown_app(runtime: &dyn Runtime) -> App {
    if runtime.serves(&AppKind::GoProgram) {
        App { kind: AppKind::GoProgram, site: Site::default(), ..php_app(workload().join("app/go"), &[]) }
    } else {
        php_app(workload().join("app/php"), &["mbstring"])
    }
}

/// Starts an application on a runtime, or says what is missing and gives nothing.
fn start(id: &str, app: &App, settings: &[(&str, &str)]) -> Option<Server> {
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(256) };
    let load = Load::Closed { connections: 4 };
    started(id, app, settings, &limits, &load).map(|(server, _)| server)
}

/// The same under limits and for a load, with the settings in force.
fn started(id: &str, app: &App, settings: &[(&str, &str)], limits: &Limits, load: &Load) -> Option<(Server, Tuning)> {
    let runtime = stampede_runtimes::by_id(id).expect("a runtime of this name");
    let mut given = Tuning::new();
    for (name, value) in settings {
        given.give(name, value);
    }
    let tuning = runtime.defaults(&DefaultsContext { app, limits, load, given: &given });
    assert_eq!(runtime.validate(&tuning), []);
    let needs = [runtime.requires(app), runtime.requires_for(app, &tuning), app.needs.clone()].concat();
    let programs = match programs::find(&needs, app) {
        Ok(programs) => programs,
        Err(missing) => {
            let _ = writeln!(std::io::stderr(), "SKIP {id}: needs {missing}");
            return None;
        }
    };
    let cx = RenderContext { app, limits, load, tuning: &tuning, programs: &programs };
    let deployment = match runtime.deployment(&cx) {
        Err(PlanError::Unsuitable { what, .. }) => {
            let _ = writeln!(std::io::stderr(), "SKIP {id}: needs {what}");
            return None;
        }
        rendered => rendered.expect("render"),
    };
    eprintln!("{id}: {}", runtime.version(&programs));
    let vendor = programs::packages(&needs).next().and_then(|_| programs::vendor(&needs));
    let server = Server::start(&deployment, vendor.as_deref());
    if id == "uwsgi-php" {
        await_workers(&server);
    }
    Some((server, tuning))
}

/// Waits until each of uWSGI's workers accepts requests: it answers with the first, and until the others are started the main
/// process takes a stop signal for a reload, and a worker is deaf to it.
fn await_workers(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let accept = || -> Option<bool> {
        let mut status = String::new();
        UnixStream::connect(server.place("uwsgi-status")).ok()?.read_to_string(&mut status).ok()?;
        let status: Value = serde_json::from_str(&status).ok()?;
        Some(status["workers"].as_array()?.iter().all(|worker| worker["status"] == "cheap" || worker["accepting"] == 1))
    };
    while accept() != Some(true) {
        assert!(Instant::now() < deadline, "{}", server.log());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends each of the workload's requests and compares the answer.
fn verify(server: &Server) {
    let text = fs::read_to_string(workload().join("workload.yaml")).expect("read the workload");
    let workload_yaml: Value = serde_saphyr::from_str(&text).expect("parse the workload");
    for request in workload_yaml["requests"].as_array().expect("requests") {
        let expect = &request["expect"];
        let body = match request["body_file"].as_str() {
            Some(file) => fs::read(workload().join(file)).expect("read a body"),
            None => request["body"].as_str().unwrap_or_default().into(),
        };
        let answer = Connection::open(server.front)
            .and_then(|mut connection| {
                connection.exchange(
                    request["method"].as_str().unwrap_or("GET"),
                    request["path"].as_str().expect("a path"),
                    &[("Content-Type", "application/json")],
                    &body,
                )
            })
            .unwrap_or_else(|error| panic!("{}: {error}; {}", request["name"], server.log()));
        let came = format!("{}: {answer:?}; {}", request["name"], server.log());
        assert_eq!(Some(u64::from(answer.status)), expect["status"].as_u64(), "{came}");
        assert_eq!(answer.headers["content-type"], "application/json", "{came}");
        if let Some(body) = expect["body"].as_str() {
            assert_eq!(String::from_utf8_lossy(&answer.body), body, "{came}");
        }
        if let Some(file) = expect["json_html"]["file"].as_str() {
            let expected = fs::read_to_string(workload().join(file)).expect("read an answer");
            let message: Value = serde_json::from_slice(&answer.body).expect("JSON");
            let result = message["result"].as_str().expect("a result");
            assert_eq!(html_meaning(result), html_meaning(&expected), "{came}");
        }
    }
}

/// HTML without what the two Markdown libraries write differently: heading ids, the slash of empty elements, blank space
/// between elements, and the way in which a quotation mark is written.
fn html_meaning(html: &str) -> String {
    let mut text = html.replace(" />", ">").replace("&quot;", "\"");
    while let Some(start) = text.find(" id=\"") {
        let end = start + 5 + text[start + 5..].find('"').expect("a quoted id") + 1;
        text.replace_range(start..end, "");
    }
    let mut text = text.replace("\n<", "<").replace(">\n", ">");
    text.truncate(text.trim_end().len());
    text
}

fn render(connection: &mut Connection) -> http::Answer {
    let body = br##"{"data": "# h1"}"##;
    connection.exchange("POST", "/", &[("Content-Type", "application/json")], body).expect("an answer")
}

/// Stops a server and holds it to a normal stop's time.
fn stop(server: Server) {
    for stopped in server.stop() {
        eprintln!("  {} ended after {:?}: {}", stopped.unit, stopped.took, stopped.status);
        let longest = match stopped.unit.as_str() {
            // Prefork children that hold an idle connection are waited for until GracefulShutdownTimeout.
            "apache" => Duration::from_secs(4),
            // The main process looks for the end of its workers once a second.
            "uwsgi" => Duration::from_secs(4),
            // Go's servers look for the end of their connections twice a second.
            _ => Duration::from_secs(2),
        };
        assert!(stopped.took < longest, "{}: {:?}", stopped.unit, stopped.took);
    }
}

/// The whole life of a server that keeps connections open.
fn serves_and_stops(id: &str) {
    let runtime = stampede_runtimes::by_id(id).expect("a runtime of this name");
    let Some(server) = start(id, &markdown_app(runtime), &[]) else {
        return;
    };
    verify(&server);
    let mut connection = Connection::open(server.front).expect("connect");
    for request in 1..=REQUESTS_ON_ONE_CONNECTION {
        let answer = render(&mut connection);
        assert_eq!(answer.status, 200);
        assert!(!answer.closes(), "closed after {request} requests");
    }
    // An idle connection is still open.
    stop(server);
}

#[test]
fn apache_serves_the_workload_and_stops() {
    serves_and_stops("apache-mod-php");
}

#[test]
fn each_web_server_with_fpm_serves_the_workload_and_stops() {
    for id in ["apache-fpm", "nginx-fpm", "caddy-fpm"] {
        serves_and_stops(id);
    }
}

#[test]
fn uwsgi_serves_the_workload_closes_connections_and_stops() {
    let runtime = stampede_runtimes::by_id("uwsgi-php").expect("listed");
    let Some(server) = start("uwsgi-php", &markdown_app(runtime), &[]) else {
        return;
    };
    verify(&server);
    let mut connection = Connection::open(server.front).expect("connect");
    render(&mut connection);
    assert!(connection.exchange("GET", "/", &[], b"").is_err());
    stop(server);
}

#[test]
fn uwsgi_serves_through_its_router_and_with_workers_that_come_and_go() {
    let runtime = stampede_runtimes::by_id("uwsgi-php").expect("listed");
    for settings in [[("mode", "http"), ("cheaper", "0")], [("mode", "http"), ("cheaper", "2")]] {
        let Some(server) = start("uwsgi-php", &markdown_app(runtime), &settings) else {
            return;
        };
        verify(&server);
        let mut connection = Connection::open(server.front).expect("connect");
        assert!((0..3).all(|_| !render(&mut connection).closes()));
        stop(server);
    }
}

#[test]
fn nginx_keeps_its_connections_to_fpm() {
    let runtime = stampede_runtimes::by_id("nginx-fpm").expect("listed");
    for listen in ["unix", "tcp"] {
        let settings = [("fastcgi_keep_conn", "on"), ("listen", listen), ("fastcgi_buffer_size", "16384")];
        let Some(server) = start("nginx-fpm", &markdown_app(runtime), &settings) else {
            return;
        };
        verify(&server);
        stop(server);
    }
}

#[test]
fn connections_that_nginx_keeps_leave_a_worker_of_fpm_to_its_other_processes() {
    let runtime = stampede_runtimes::by_id("nginx-fpm").expect("listed");
    for workers in ["1", "2", "3"] {
        let settings = [("fastcgi_keep_conn", "on"), ("pm.max_children", workers), ("worker_processes", "2")];
        let Some(server) = start("nginx-fpm", &markdown_app(runtime), &settings) else {
            return;
        };
        // Both of nginx's processes take some of them.
        let mut connections: Vec<_> = (0..16).map(|_| Connection::open(server.front).expect("connect")).collect();
        for connection in &mut connections {
            assert_eq!(render(connection).status, 200, "{workers}");
        }
        stop(server);
    }
}

#[test]
fn a_go_program_serves_the_workload_and_stops() {
    serves_and_stops("go");
}

#[test]
fn the_built_in_server_serves_the_workload_closes_connections_and_stops() {
    let runtime = stampede_runtimes::by_id("php-cli-server").expect("listed");
    for workers in ["1", "3"] {
        let settings = [("PHP_CLI_SERVER_WORKERS", workers)];
        let Some(server) = start("php-cli-server", &markdown_app(runtime), &settings) else {
            return;
        };
        verify(&server);
        assert!(render(&mut Connection::open(server.front).expect("connect")).closes());
        let log = server.log();
        assert!(!log.contains("Accepted") && !log.contains("POST /"), "{log}");
        stop(server);
    }
}

#[test]
fn an_fpm_pool_grows_in_each_way() {
    let runtime = stampede_runtimes::by_id("nginx-fpm").expect("listed");
    for mode in ["dynamic", "ondemand"] {
        let Some(server) = start("nginx-fpm", &markdown_app(runtime), &[("pm", mode)]) else {
            return;
        };
        verify(&server);
        stop(server);
    }
}

/// A PHP application of one script.
fn script(text: &str) -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().expect("make a folder");
    fs::create_dir(folder.path().join("public")).expect("make a folder");
    fs::write(folder.path().join("public/index.php"), text).expect("write the script");
    folder
}

pub(crate) const PHP_RUNTIMES: [&str; 7] =
    ["apache-mod-php", "apache-fpm", "nginx-fpm", "caddy-fpm", "uwsgi-php", "php-cli-server", "frankenphp"];

#[test]
fn php_has_the_same_surroundings_everywhere() {
    const SCRIPT: &str = r#"<?php
        $settings = [];
        foreach ([
            'opcache.enable', 'opcache.validate_timestamps', 'opcache.memory_consumption', 'opcache.jit',
            'opcache.jit_buffer_size', 'opcache.preload', 'realpath_cache_size', 'memory_limit', 'output_buffering',
            'implicit_flush', 'display_errors', 'log_errors', 'html_errors', 'expose_php', 'variables_order',
            'max_execution_time', 'max_input_time', 'zend.assertions', 'session.save_handler', 'user_ini.filename',
        ] as $name) {
            $settings[$name] = ini_get($name);
        }
        $extensions = array_map('strtolower', get_loaded_extensions());
        $status = opcache_get_status(false);
        echo json_encode([
            'settings' => $settings,
            'scanned' => php_ini_scanned_files(),
            // PHP's own server has its router beside the script.
            'cached' => $status['opcache_enabled']
                && $status['opcache_statistics']['num_cached_scripts'] === (PHP_SAPI === 'cli-server' ? 2 : 1),
            'jit' => $status['jit']['on'] ?? false,
            'ours' => basename(dirname(session_save_path())) === 'php' && is_writable(session_save_path()),
            'environment' => getenv('APP_ENV'),
            'shared' => array_values(array_intersect($extensions, ['mbstring', 'tokenizer', 'xdebug'])),
            'script' => $_SERVER['SCRIPT_NAME'],
            'self' => $_SERVER['PHP_SELF'],
            'uri' => $_SERVER['REQUEST_URI'],
        ]);
    "#;
    let folder = script(SCRIPT);
    let app = php_app(folder.path().to_owned(), &["mbstring"]);
    let mut seen: Vec<(&str, Value)> = Vec::new();
    for id in PHP_RUNTIMES {
        let Some(server) = start(id, &app, &[]) else {
            continue;
        };
        for path in ["/", "/some/path?a=1"] {
            let mut connection = Connection::open(server.front).expect("connect");
            let answer = connection.exchange("GET", path, &[], b"").expect("an answer");
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            let mut surroundings: Value =
                serde_json::from_str(&body).unwrap_or_else(|error| panic!("{id}: {error}: {body}; {}", server.log()));
            assert_eq!(surroundings["cached"], true, "{id}: {surroundings:#}");
            assert_eq!(surroundings["jit"], false, "{id}: {surroundings:#}");
            assert_eq!(surroundings["ours"], true, "{id}: {surroundings:#}");
            assert_eq!(surroundings["environment"], "prod", "{id}: {surroundings:#}");
            assert_eq!(surroundings["uri"], path, "{id}: {surroundings:#}");
            assert!(!answer.headers.contains_key("x-powered-by"), "{id}");
            // FrankenPHP's PHP is another build, with extensions of its own compiled in.
            if id == "frankenphp" {
                let loaded = surroundings["shared"].as_array().expect("a list");
                assert!(loaded.contains(&"mbstring".into()), "{surroundings:#}");
                surroundings["shared"] = json!(["mbstring"]);
            }
            if path == "/" {
                seen.push((id, surroundings));
            }
        }
        // FrankenPHP waits its grace for a request that it lost while it started.
        server.stop();
    }
    for pair in seen.windows(2) {
        assert_eq!(pair[0].1, pair[1].1, "{} and {}", pair[0].0, pair[1].0);
    }
}

#[test]
fn a_fatal_error_is_in_the_log_and_not_in_the_answer() {
    let folder = script("<?php\nfunction_that_does_not_exist();\n");
    let app = php_app(folder.path().to_owned(), &[]);
    for id in PHP_RUNTIMES {
        let Some(server) = start(id, &app, &[]) else {
            continue;
        };
        let answer = Connection::open(server.front)
            .and_then(|mut connection| connection.exchange("GET", "/", &[], b""))
            .expect("an answer");
        assert_eq!(answer.status, 500, "{id}");
        assert!(answer.body.is_empty(), "{id}: {answer:?}");
        let log = server.log();
        assert!(log.contains("PHP Fatal error:  Uncaught Error: Call to undefined function"), "{id}: {log}");
    }
}

#[test]
fn the_requirements_name_what_to_install() {
    for runtime in stampede_runtimes::all().iter().filter(|runtime| !runtime.serves_images()) {
        for requirement in runtime.requires(&markdown_app(*runtime)) {
            let (Requirement::Program { install, .. }
            | Requirement::Php { install, .. }
            | Requirement::AnyFile { install, .. }) = requirement
            else {
                continue;
            };
            let Install { package, page } = install;
            assert!(package.is_some() || page.contains("https://"), "{}", runtime.id());
        }
    }
}
