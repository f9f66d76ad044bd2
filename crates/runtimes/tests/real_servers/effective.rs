//! What settings a running server really has: from its processes, from the kernel, and from itself.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stampede_core::Tuning;

use crate::http::Connection;
use crate::launcher::Server;
use crate::{php_app, script, start};

const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until a server has the settings of a tuning; fails with what it has instead.
pub(crate) fn assert_effective(id: &str, server: &Server, tuning: &Tuning) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let different: Vec<_> =
            read_back(id, server, tuning).into_iter().filter(|(_, asked, found)| asked != found).collect();
        if different.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{id}: (what, asked, found) {different:?}; {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What is compared, what was asked for, and what is in force.
fn read_back(id: &str, server: &Server, tuning: &Tuning) -> Vec<(String, String, String)> {
    let mut read = Vec::new();
    let mut compare = |what: &str, asked: String, found: String| read.push((what.to_owned(), asked, found));
    let asked = |name: &str| tuning.get(name).unwrap_or_else(|| panic!("{id} has no {name}")).to_owned();
    let children = |unit: &str| children(server.process(unit)).len().to_string();
    let variable = |unit: &str, name: &str| variable(server.process(unit), name);
    match id {
        "apache-mod-php" => compare("StartServers", asked("StartServers"), children("apache")),
        "apache-fpm" => {
            let threads: u64 = tuning.count("ThreadsPerChild").expect("a number");
            let most = tuning.count("MaxRequestWorkers").expect("a number");
            compare("children", (most / threads).to_string(), children("apache"));
            let started = crate::effective::children(server.process("apache")).into_iter().map(threads_of).min();
            // Each child has one thread that listens and its first one beside those that work.
            compare("threads", (threads + 2).to_string(), started.unwrap_or_default().to_string());
        }
        "nginx-fpm" => compare("worker_processes", asked("worker_processes"), children("nginx")),
        "caddy-fpm" => compare("GOMAXPROCS", asked("GOMAXPROCS"), variable("caddy", "GOMAXPROCS")),
        "go" => compare("GOMAXPROCS", asked("GOMAXPROCS"), variable("go", "GOMAXPROCS")),
        "functions-framework-go" => compare("GOMAXPROCS", asked("GOMAXPROCS"), variable("function", "GOMAXPROCS")),
        "uwsgi-php" => {
            let router = u64::from(asked("mode") == "http");
            let processes = tuning.count("processes").expect("a number");
            compare("processes", (processes + router).to_string(), children("uwsgi"));
        }
        "php-cli-server" => {
            compare("workers", asked("PHP_CLI_SERVER_WORKERS"), children("php"));
        }
        "frankenphp" | "frankenphp-binary" => {
            compare("GOMAXPROCS", asked("GOMAXPROCS"), variable("frankenphp", "GOMAXPROCS"));
        }
        "roadrunner" => compare("num_workers", asked("http.pool.num_workers"), children("roadrunner")),
        // Process mode has a manager between the first process and the workers.
        "swoole" if tuning.get("mode") == Some("process") => {
            let manager = crate::effective::children(server.process("swoole")).into_iter().next();
            let workers = manager.map(crate::effective::children).unwrap_or_default();
            compare("worker_num", asked("worker_num"), workers.len().to_string());
        }
        "swoole" => compare("worker_num", asked("worker_num"), children("swoole")),
        "workerman" | "webman" => compare("count", asked("count"), children("workerman")),
        "functions-framework-php" => compare("workers", asked("PHP_CLI_SERVER_WORKERS"), children("php")),
        "custom" => compare("WORKERS", asked("WORKERS"), variable("custom", "WORKERS")),
        _ => panic!("{id}: say how its settings are read back"),
    }
    if id.ends_with("-fpm") {
        // Once it was asked for its status, FPM has a process that answers.
        let workers =
            crate::effective::children(server.process("php-fpm")).into_iter().filter(|child| is_worker(*child));
        compare("pm.max_children", asked("pm.max_children"), workers.count().to_string());
        let told = server.ask("php-fpm", |program| program.args.insert(0, "-tt".to_owned()));
        for name in ["listen.backlog", "pm", "pm.max_children", "pm.max_requests"] {
            let line = format!("{name} = ");
            let found = told.lines().find_map(|told| Some(told.split_once(&line)?.1.to_owned()));
            compare(name, asked(name), found.unwrap_or_else(|| told.clone()));
        }
        compare("FPM's backlog", asked("listen.backlog"), backlog(&server.place("fpm")));
    }
    let front = || backlog(&server.front.to_string());
    match id {
        "apache-mod-php" | "apache-fpm" => compare("ListenBacklog", asked("ListenBacklog"), front()),
        "uwsgi-php" => compare("listen", asked("listen"), front()),
        _ => {}
    }
    read
}

/// The children of a process.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Whether a process is one of FPM's that answer requests.
fn is_worker(process: u32) -> bool {
    let title = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).trim_end_matches(['\0', ' ']) == "php-fpm: pool app"
}

/// How many threads a process has.
fn threads_of(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count)
}

/// A variable in the environment that a process was started with.
fn variable(process: u32, name: &str) -> String {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    environment
        .split('\0')
        .find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='))
        .unwrap_or_default()
        .to_owned()
}

/// The bound of a listening socket's queue, as the kernel holds it.
fn backlog(place: &str) -> String {
    let kind = if place.starts_with('/') { "-xlnH" } else { "-tlnH" };
    let output = Command::new("ss").arg(kind).output().expect("run ss, of the package iproute2");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = table.lines().find(|row| row.split_whitespace().any(|word| word == place));
    // State, Recv-Q, Send-Q; for a unix socket the kind stands before them. ss(8)
    let column = if kind == "-xlnH" { 3 } else { 2 };
    row.and_then(|row| row.split_whitespace().nth(column)).unwrap_or("no such socket").to_owned()
}

/// What Composer wrote down of an application's autoloader is read back with PHP's settings.
#[test]
fn an_autoloader_is_read_back() {
    const DEVELOPERS: &str = r#"{"dev-package-names": ["phpunit/phpunit", "a/b"]}"#;
    const OWN: &str = "'App\\\\' => array($baseDir . '/src'),\n";
    const PHPUNIT: &str = "'PHPUnit\\\\' => array($vendorDir . '/phpunit/phpunit/src'),\n";
    const CLASS: &str = "'App\\\\A' => $baseDir . '/src/A.php',\n";
    for (name, installed, folders, classes, told) in [
        ("none", "", OWN.to_owned(), "", json!(null)),
        ("production's", DEVELOPERS, OWN.to_owned(), CLASS, json!({"developers": 0, "class_map": true})),
        ("a developer's", DEVELOPERS, [OWN, PHPUNIT].concat(), CLASS, json!({"developers": 1, "class_map": true})),
        ("without a map", DEVELOPERS, OWN.to_owned(), "", json!({"developers": 0, "class_map": false})),
    ] {
        let folder = script("<?php echo 'hello';");
        let composer = folder.path().join("vendor/composer");
        fs::create_dir_all(&composer).expect("make a folder");
        let map = |lines: &str| format!("<?php\nreturn array(\n{lines});\n");
        let maps = [("autoload_psr4.php", map(&folders)), ("autoload_classmap.php", map(classes))];
        for (file, text) in maps.into_iter().chain([("installed.json", installed.to_owned())]) {
            fs::write(composer.join(file), text).expect("write a file");
        }
        let Some(server) = start("nginx-fpm", &php_app(folder.path().to_owned(), &[]), &[]) else { return };
        let address = server.place("probe").parse().expect("an address");
        let answer =
            Connection::open(address).and_then(|mut probe| probe.exchange("GET", "/", &[], b"")).expect("an answer");
        let settings: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(settings["autoloader"], told, "{name}: {}", server.log());
        server.stop();
    }
}
