//! `stampede export`: what is refused, and that what is written serves.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use insta::assert_snapshot;
use rustix::process::Signal;
use stampede_core::{DefaultsContext, Outcome, Study, Trial, Tuning};
use stampede_plan::read_workload;
use stampede_store::Store;

use crate::forecast::made_up::{MadeUp, SINGLE, study};
use crate::stage::{PATIENCE, Said, Stage, command_line, have, send, wait_until};

fn markdown() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/markdown")
}

/// A study of two cases of nginx and PHP-FPM with all their settings, the second of which failed.
pub(crate) fn measured() -> (Study, Vec<Trial>) {
    let cases = [MadeUp { workers: 3, ..SINGLE }, MadeUp { id: "broken", ..SINGLE }];
    let (mut study, mut trials) = study("20260301-120000-made", &cases);
    let runtime = stampede_runtimes::by_id("nginx-fpm").unwrap();
    let workload = read_workload(&markdown()).unwrap();
    let app = workload.apps.iter().find(|app| runtime.serves(&app.kind)).unwrap();
    for case in &mut study.cases {
        let mut given = Tuning::new();
        given.give("pm.max_children", "3");
        let (limits, load) = (&case.limits, &case.load);
        case.tuning = runtime.defaults(&DefaultsContext { app, limits, load, given: &given });
        case.app = app.name.clone();
    }
    for trial in trials.iter_mut().filter(|trial| trial.case.as_str() == "broken") {
        trial.outcome = Outcome::Failed("the server ended".to_owned());
        trial.measurement = None;
    }
    (study, trials)
}

fn stage_with_study() -> Stage {
    let stage = Stage::new();
    keep(&stage, measured());
    stage
}

/// Puts a study into a stage's store.
pub(crate) fn keep(stage: &Stage, (study, trials): (Study, Vec<Trial>)) {
    let mut store = Store::open(&stage.store()).unwrap();
    store.begin_study(&study).unwrap();
    trials.iter().for_each(|trial| store.add_trial(&study.id, trial).unwrap());
    store.finish_study(&study.id, study.started_at).unwrap();
}

/// A folder that other users' servers can reach.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn what_is_not_exported_is_told() {
    let stage = stage_with_study();
    let new = stage.home().join("new");
    let full = stage.home().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("mine"), "").unwrap();
    let (new, full) = (new.to_str().unwrap(), full.to_str().unwrap());
    let workload = markdown();
    let workload = workload.to_str().unwrap();
    let inside = format!("{workload}/app/php/out");
    for (args, problem) in [
        (&["kubernets", "nginx-fpm", "markdown", "-o", new][..], "a similar value exists: 'kubernetes'"),
        (&["config", "ngnix-fpm", "markdown", "-o", new], "did you mean nginx-fpm?"),
        (&["config", "nginx-fpm", "markdwon", "-o", new], "did you mean markdown?"),
        (&["config", "-o", new], "nothing to export was named"),
        (&["config", "nginx-fpm", "markdown", "-o", full], "is not empty"),
        (&["config", "nginx-fpm", "markdown", "-o", new, "--listen", "0.0.0.0:80"], "ports below 1024 need root"),
        (&["config", "nginx-fpm", workload, "-o", &inside], "lie one in the other"),
        (&["config", "nginx-fpm,go", "markdown", "-o", new], "name one of nginx-fpm, go with --case"),
        (&["config", "frankenphp-binary", "markdown", "-o", new], "frankenphp-binary"),
        (&["config", "nginx-fpm", "rinha", "-o", new], "a runtime is exported alone"),
        (&["config", "--study", "2027", "-o", new], "2027"),
        (
            &["config", "--study", "latest", "--case", "single2", "-o", new],
            "has no case single2\n  it has single, broken",
        ),
        (&["config", "--study", "latest", "--case", "broken", "-o", new], "was never measured: the server ended"),
        (&["config", "go", "--study", "latest", "-o", new], "has no case of runtime go"),
        (&["config", "nginx-fpm", "hello", "--study", "latest", "-o", new], "is hello, and study"),
        (&["config", "--study", "latest", "--cpus", "2", "-o", new], "cannot be used with"),
    ] {
        let said = stage.run(&[&["export"], args].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(problem), "{args:?}: {}", said.stderr);
        assert!(!Path::new(new).exists(), "{args:?}");
    }
}

#[test]
fn help_teaches() {
    let Said { code, stdout, stderr, before: _ } = Stage::new().run(&["export", "--help"]);
    assert_snapshot!(
        "help_export",
        format!("exit code: {}\n--- stdout\n{stdout}--- stderr\n{stderr}", code.unwrap_or(-1))
    );
}

#[test]
fn the_best_case_of_a_study_is_exported_with_its_settings() {
    if !have("the_best_case_of_a_study_is_exported_with_its_settings", &["nginx", "php-fpm", "dpkg-query"]) {
        return;
    }
    let stage = stage_with_study();
    let out = stage.home().join("deploy");
    let export = |target: &str, rest: &[&str]| {
        let args = ["export", target, "--study", "latest", "--output", out.to_str().unwrap()];
        let said = stage.run(&[&args[..], rest].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said
    };
    let said = export("kubernetes", &[]);
    assert!(said.stderr.contains("measured nginx 1.22.1, PHP 8.2.29 NTS, and nginx "), "{}", said.stderr);
    let read = |path: &str| fs::read_to_string(out.join(path)).unwrap();
    let dockerfile = read("Dockerfile");
    for part in ["case single of study 20260301-120000-made", "'nginx=", "-fpm=", "-mbstring=", "'php-parsedown="] {
        assert!(dockerfile.contains(part), "{part}: {dockerfile}");
    }
    let manifest = read("kubernetes.yaml");
    for part in ["image: \"markdown-nginx-fpm:20260301-120000-made\"", "cpu: 1000m", "memory: 256Mi"] {
        assert!(manifest.contains(part), "{part}: {manifest}");
    }
    assert!(read("run/php-fpm/php-fpm.conf").contains("\npm.max_children = 3\n"));
    assert!(out.join("app/public/index.php").is_file());

    // What is not of this export stays where it is.
    fs::write(out.join("mine"), "").unwrap();
    export("systemd", &["--force", "--listen", "127.0.0.1:18080"]);
    assert!(out.join("mine").is_file());
    assert!(read("srv/markdown-nginx-fpm/nginx/nginx.conf").contains("listen 127.0.0.1:18080;"));
    if have("systemd-analyze verify", &["systemd-analyze"]) {
        let units = fs::read_dir(out.join("etc/systemd/system")).unwrap().map(|unit| unit.unwrap().path());
        let checked = Command::new("systemd-analyze").arg("verify").args(units).output().unwrap();
        let told = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success() && !told.contains("markdown"), "{told}");
    }
}

/// A started export; it is ended with this.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            send(self.0.id(), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

fn start(folder: &Path) -> Served {
    Served(Command::new(folder.join("start")).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// A port that is free, with free ones after it.
pub(crate) fn free() -> SocketAddr {
    let free = (20_000..u16::MAX)
        .step_by(10)
        .find(|port| (*port..port + 5).all(|port| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).is_ok()));
    SocketAddr::from(([127, 0, 0, 1], free.unwrap()))
}

pub(crate) fn ask(address: SocketAddr, method: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(stream, "{method} / HTTP/1.0\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Processes whose command line names a folder.
fn processes_of(folder: &Path) -> Vec<u32> {
    let name = folder.to_str().unwrap();
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid| command_line(*pid).iter().any(|word| word.contains(name))).collect()
}

fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

fn ends(served: &mut Served, folder: &Path) -> Option<i32> {
    let mut status = None;
    wait_until("all has ended", || {
        status = served.0.try_wait().unwrap();
        let left = processes_of(folder);
        if status.is_some() && left.is_empty() { Ok(()) } else { Err(format!("{status:?}, processes {left:?}")) }
    });
    status.unwrap().code()
}

#[test]
fn an_exported_configuration_serves_from_where_it_lies() {
    for (runtime, programs) in
        [("nginx-fpm", &["nginx", "php-fpm"][..]), ("apache-mod-php", &["apache2"]), ("go", &["go"])]
    {
        if !have(&format!("an_exported_configuration_serves_from_where_it_lies ({runtime})"), programs) {
            continue;
        }
        let stage = Stage::new();
        let parent = folder();
        let out = parent.path().join("server");
        let address = free();
        let listen = address.to_string();
        let said = stage.run(&[
            "export",
            "config",
            runtime,
            "markdown",
            "--cpus",
            "0.5",
            "--memory",
            "256Mi",
            "--listen",
            &listen,
            "-o",
            out.to_str().unwrap(),
        ]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        if runtime != "go" {
            let checked = Command::new(out.join("check")).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
        let mut served = start(&out);
        wait_until("it is healthy", || {
            let asked = Command::new(out.join("healthy")).output().unwrap();
            if asked.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&asked.stderr).into_owned()) }
        });
        let rendered = ask(address, "POST", r##"{"data": "# h1\n_test_\n__test__\n"}"##);
        let (head, body) = rendered.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(head.split(' ').nth(1) == Some("200"), "{head}");
        assert!(body["result"].as_str().unwrap().contains("h1</h1>"), "{body}");
        let empty = ask(address, "POST", r##"{"text": "# h1"}"##);
        assert!(empty.contains(r#"{"result":""}"#), "{empty}");
        let refused = ask(address, "GET", "");
        assert!(refused.split(' ').nth(1) == Some("400") && refused.contains("send a POST request"), "{refused}");

        send(served.0.id(), Signal::TERM);
        assert_eq!(ends(&mut served, &out), Some(0), "{runtime}");

        // When a server is killed, all ends, its orphans too; and it starts again where that left sockets and numbers.
        let mut served = start(&out);
        let healthy = || Command::new(out.join("healthy")).stderr(Stdio::null()).status().unwrap().success();
        wait_until("it is healthy", || if healthy() { Ok(()) } else { Err("not yet".to_owned()) });
        let servers = children(served.0.id());
        let orphans: Vec<u32> = servers.iter().flat_map(|server| children(*server)).collect();
        servers.iter().for_each(|server| send(*server, Signal::KILL));
        assert_ne!(ends(&mut served, &out), Some(0), "{runtime}");
        wait_until("no orphan is left", || match orphans.iter().find(|pid| !command_line(**pid).concat().is_empty()) {
            None => Ok(()),
            Some(left) => Err(format!("{left}: {:?}", command_line(*left))),
        });
        let served = start(&out);
        wait_until("it is healthy again", || if healthy() { Ok(()) } else { Err("not yet".to_owned()) });
        drop(served);
    }
}

/// A `GET` of a path: status, type and body of its answer.
fn get(address: SocketAddr, path: &str) -> (String, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let media_type =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-type: ").map(str::to_owned));
    let media_type = media_type.unwrap_or_default();
    let kind = media_type.split(';').next().unwrap_or_default().to_owned();
    (head.split(' ').nth(1).unwrap_or_default().to_owned(), kind, body.to_owned())
}

/// A front controller that knows two pages, one that takes the path as `PATH_INFO`, and a site of scripts with rules for Apache.
#[test]
fn pages_files_and_errors_come_from_an_export_as_they_came_on_the_bench() {
    const NAME: &str = "pages_files_and_errors_come_from_an_export_as_they_came_on_the_bench";
    const FRONT: &str = "<?php $path = strtok($_SERVER['REQUEST_URI'], '?');\n\
        if (!in_array($path, ['/', '/shop'])) { http_response_code(404); exit(\"nothing at $path\"); }\n\
        echo \"page $path\";\n";
    const INFO: &str = "<?php $path = $_SERVER['PATH_INFO'] ?? '/';\n\
        if (!in_array($path, ['/', '/shop', ''])) { http_response_code(404); exit(\"nothing at $path\"); }\n\
        echo 'page ', $path ?: '/';\n";
    const SCRIPT: &str = "<?php echo 'page ', strtok($_SERVER['REQUEST_URI'], '?');\n";
    const MISSING: &str = "<?php http_response_code(404); echo 'nothing at ', $_SERVER['REQUEST_URI'];\n";
    for (runtime, programs, extra, files) in [
        ("nginx-fpm", &["nginx", "php-fpm"][..], "", &[("public/index.php", FRONT)][..]),
        (
            "caddy-fpm",
            &["caddy", "php-fpm"],
            "kind: front-controller, index: public/index.php, fallback: path-info, ",
            &[("public/index.php", INFO)],
        ),
        (
            "apache-fpm",
            &["apache2", "php-fpm"],
            "",
            &[
                ("public/index.php", SCRIPT),
                ("public/shop.php", SCRIPT),
                ("public/error.php", MISSING),
                (
                    "public/.htaccess",
                    "RewriteEngine On\nRewriteRule ^shop$ shop.php [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n\
                 RewriteRule ^missing$ error.php [L]\n",
                ),
            ],
        ),
    ] {
        if !have(&format!("{NAME} ({runtime})"), programs) {
            continue;
        }
        let app = folder();
        let ok = |path: &str, kind: &str, body: &str| {
            format!("{{path: {path}, expect: {{status: 200, content_type: {kind}, body: {body:?}}}}}")
        };
        let requests = [
            ok("/", "text/html", "page /"),
            ok("/shop", "text/html", "page /shop"),
            ok("/style.css", "text/css", "a { color: red }\n"),
            "{path: /missing, load: false, expect: {status: 404, content_type: text/html, body: nothing at /missing}}"
                .to_owned(),
        ];
        let plan = format!("app: {{dir: ., {extra}requests: [{}]}}\n", requests.join(", "));
        let more =
            [("stampede.yaml", &*plan), ("public/style.css", "a { color: red }\n"), ("public/.env", "SECRET=1\n")];
        for (name, text) in files.iter().chain(&more) {
            let path = app.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let stage = Stage::new();
        let args = ["compare", ".", "--runtimes", runtime, "--no-yard-stick", "--rounds", "1", "--duration", "500ms"];
        let short = ["--warm-up", "100ms", "--cpus", "0.5", "--memory", "128Mi"];
        let said = stage.run_in(app.path(), &[&args[..], &short].concat());
        // What is looked at is what it verified, before it measured.
        assert!(said.code == Some(0) || said.was_held_up(), "{runtime}: {} {}", said.stderr, said.stdout);

        let parent = folder();
        let out = parent.path().join("server");
        let address = free();
        let (listen, to) = (address.to_string(), out.display().to_string());
        let said = stage.run_in(app.path(), &["export", "config", runtime, ".", "--listen", &listen, "-o", &to]);
        assert_eq!(said.code, Some(0), "{runtime}: {}", said.stderr);
        let served = start(&out);
        wait_until("it is healthy", || {
            let asked = Command::new(out.join("healthy")).output().unwrap();
            if asked.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&asked.stderr).into_owned()) }
        });
        for (path, status, kind, body) in [
            ("/", "200", "text/html", "page /"),
            ("/shop", "200", "text/html", "page /shop"),
            ("/style.css", "200", "text/css", "a { color: red }\n"),
            ("/missing", "404", "text/html", "nothing at /missing"),
        ] {
            assert_eq!(get(address, path), (status.to_owned(), kind.to_owned(), body.to_owned()), "{runtime} {path}");
        }
        assert!(!get(address, "/.env").2.contains("SECRET"), "{runtime}");
        drop(served);
        stage.assert_nothing_left();
    }
}

#[test]
fn a_start_that_does_not_get_ready_ends() {
    if !have("a_start_that_does_not_get_ready_ends", &["nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let parent = folder();
    let out = parent.path().join("server");
    let listen = free().to_string();
    let args = ["export", "config", "nginx-fpm", "markdown", "--listen", &listen, "-o", out.to_str().unwrap()];
    assert_eq!(stage.run(&args).code, Some(0));
    let conf = out.join("php-fpm/php-fpm.conf");
    fs::write(&conf, fs::read_to_string(&conf).unwrap().replace("pm = static", "pm = sometimes")).unwrap();
    let mut served = start(&out);
    assert_eq!(ends(&mut served, &out), Some(1));
}
