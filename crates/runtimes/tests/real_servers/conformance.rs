//! Every runtime of the catalogue as it is meant to be: it gives the workload's answers, takes load from as many
//! connections as its settings are for, has the settings that were asked for, and cuts no request in flight when it is
//! stopped.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stampede_core::{
    App, AppKind, Bytes, Command, CommandReady, CommandTunable, CommandValues, Cpus, GracefulStop, Install, Limits,
    Load, Requirement, Runtime, Site, StopSignal, Tuning,
};

use crate::effective::assert_effective;
use crate::http::{Answer, Connection};
use crate::status::Watch;
use crate::{php_app, render, started, verify, workload};

const CONNECTIONS: u32 = 64;
/// Long enough for ten samples of its status, and some thousand answers of the slowest.
const LENGTH: Duration = Duration::from_secs(1);
const IN_FLIGHT: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);

/// Enough for a child for each connection.
const LIMITS: Limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(1024) };

/// What is asked of a runtime beside its defaults, and what it cannot do.
#[derive(Clone, Copy, Default)]
struct Row {
    id: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// Every answer ends its connection.
    closes: bool,
    /// A stop cuts requests off.
    cuts: bool,
}

const PLAIN: Row = Row { id: "", settings: &[], closes: false, cuts: false };

/// Makes a test of each row, so that several run at once.
macro_rules! rows {
    ($($test:ident: $row:expr,)*) => {
        const ROWS: &[Row] = &[$($row),*];

        $(#[test]
        fn $test() {
            conforms(&$row);
        })*
    };
}

rows! {
    apache_mod_php: Row { id: "apache-mod-php", settings: &[("ListenBacklog", "301")], ..PLAIN },
    apache_fpm: Row {
        id: "apache-fpm",
        settings: &[("ListenBacklog", "301"), ("ThreadsPerChild", "70"), ("MaxRequestWorkers", "140")],
        ..PLAIN
    },
    nginx_fpm: Row {
        id: "nginx-fpm",
        settings: &[("worker_processes", "2"), ("listen.backlog", "302"), ("pm.max_requests", "100000")],
        ..PLAIN
    },
    nginx_fpm_over_tcp: Row {
        id: "nginx-fpm",
        settings: &[("listen", "tcp"), ("access_log", "on"), ("pm.max_children", "5")],
        ..PLAIN
    },
    caddy_fpm: Row { id: "caddy-fpm", settings: &[("GOMAXPROCS", "2"), ("pm.max_children", "7")], ..PLAIN },
    caddy_fpm_over_tcp: Row { id: "caddy-fpm", settings: &[("listen", "tcp")], ..PLAIN },
    uwsgi: Row { id: "uwsgi-php", settings: &[("listen", "303"), ("processes", "6")], closes: true, cuts: false },
    uwsgi_with_its_router: Row {
        id: "uwsgi-php",
        settings: &[("mode", "http"), ("listen", "304")],
        closes: false,
        cuts: true,
    },
    php_cli_server: Row {
        id: "php-cli-server",
        settings: &[("PHP_CLI_SERVER_WORKERS", "5")],
        closes: true,
        cuts: true,
    },
    frankenphp: Row { id: "frankenphp", settings: &[("num_threads", "3"), ("GOMAXPROCS", "2")], ..PLAIN },
    frankenphp_with_workers: Row {
        id: "frankenphp",
        settings: &[("mode", "worker"), ("worker.num", "3")],
        ..PLAIN
    },
    frankenphp_binary: Row { id: "frankenphp-binary", settings: &[("num_threads", "3")], ..PLAIN },
    roadrunner: Row { id: "roadrunner", settings: &[("http.pool.num_workers", "3")], ..PLAIN },
    swoole: Row { id: "swoole", settings: &[("worker_num", "3"), ("backlog", "305")], ..PLAIN },
    // The process that holds the connections ends first.
    swoole_in_process_mode: Row {
        id: "swoole",
        settings: &[("mode", "process"), ("worker_num", "3")],
        closes: false,
        cuts: true,
    },
    workerman: Row { id: "workerman", settings: &[("count", "3"), ("backlog", "306")], ..PLAIN },
    webman: Row { id: "webman", settings: &[("count", "3"), ("reusePort", "false")], ..PLAIN },
    functions_framework_php: Row {
        id: "functions-framework-php",
        settings: &[("PHP_CLI_SERVER_WORKERS", "3")],
        closes: true,
        cuts: true,
    },
    go: Row { id: "go", settings: &[("GOMAXPROCS", "2")], ..PLAIN },
    functions_framework_go: Row {
        id: "functions-framework-go",
        settings: &[("GOMAXPROCS", "2")],
        closes: false,
        cuts: true,
    },
    custom: Row { id: "custom", settings: &[("WORKERS", "3")], ..PLAIN },
}

#[test]
fn every_runtime_has_a_row() {
    // Images are run by an engine, in the tests of the platform `docker`.
    for runtime in stampede_runtimes::all().iter().filter(|runtime| !runtime.serves_images()) {
        assert!(ROWS.iter().any(|row| row.id == runtime.id().as_str()), "{} has no row", runtime.id());
    }
}

fn conforms(row: &Row) {
    let runtime = stampede_runtimes::by_id(row.id).expect("a runtime of this name");
    if serves_under_load(row, runtime) {
        stops_without_cutting(row, runtime);
    }
}

/// Whether it could be started.
fn serves_under_load(row: &Row, runtime: &dyn Runtime) -> bool {
    let app = application(runtime, row.settings, &workload().join("app"), "markdown");
    let load = Load::Closed { connections: CONNECTIONS };
    let Some((server, tuning)) = started(row.id, &app, row.settings, &LIMITS, &load) else {
        return false;
    };
    verify(&server);
    assert_effective(row.id, &server, &tuning);
    let watch = Watch::begin(&server, LENGTH);
    let answers = drive(server.front, row.closes);
    watch.end(runtime, &tuning, answers);
    let _ = writeln!(std::io::stderr(), "  {answers} answers in {LENGTH:?}");
    assert!(answers > CONNECTIONS.into(), "{}: {answers} answers; {}", row.id, server.log());
    assert_effective(row.id, &server, &tuning);
    server.stop();
    true
}

/// Load from all connections at once; each answer must be the same. How many came.
fn drive(front: SocketAddr, closes: bool) -> u64 {
    let expected = render(&mut Connection::open(front).expect("connect")).body;
    let end = Instant::now() + LENGTH;
    let one = || {
        let mut connection = None;
        let mut answers = 0;
        while Instant::now() < end {
            let open = match &mut connection {
                Some(open) if !closes => open,
                connection => connection.insert(Connection::open(front).expect("connect")),
            };
            let answer = render(open);
            assert_eq!((answer.status, &answer.body), (200, &expected), "answer {answers}");
            assert!(closes || !answer.closes(), "closed after {answers} answers");
            answers += 1;
        }
        answers
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("load without an error")).sum()
    })
}

fn stops_without_cutting(row: &Row, runtime: &dyn Runtime) {
    let marks = tempfile::TempDir::new().expect("make a folder");
    fs::set_permissions(marks.path(), Permissions::from_mode(0o777)).expect("open the folder");
    let slow = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/slow");
    let mut app = application(runtime, row.settings, &slow, "slow");
    app.env.insert("MARKS".to_owned(), marks.path().display().to_string());
    let load = Load::Closed { connections: CONNECTIONS };
    let (server, _) = started(row.id, &app, row.settings, &LIMITS, &load).expect("it was started before");
    let front = server.front;
    let begun = || fs::read_dir(marks.path()).map_or(0, Iterator::count);
    let before = begun();
    let answers: Vec<std::io::Result<Answer>> = std::thread::scope(|scope| {
        let ask = || Connection::open(front)?.exchange("GET", "/?ms=1000", &[], b"");
        let threads: Vec<_> = (0..IN_FLIGHT).map(|_| scope.spawn(ask)).collect();
        let deadline = Instant::now() + PATIENCE;
        while begun() < before + IN_FLIGHT {
            assert!(Instant::now() < deadline, "{}: {} requests have begun; {}", row.id, begun(), server.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        for stopped in server.stop() {
            let _ = writeln!(std::io::stderr(), "  {} ended after {:?}", stopped.unit, stopped.took);
        }
        threads.into_iter().map(|thread| thread.join().expect("a client")).collect()
    });
    let whole = |answer: &std::io::Result<Answer>| {
        answer.as_ref().is_ok_and(|answer| (answer.status, answer.body.as_slice()) == (200, b"done"))
    };
    if row.cuts {
        assert!(!answers.iter().all(whole), "{} cuts no request: say so in its row: {answers:?}", row.id);
    } else {
        assert!(answers.iter().all(whole), "{}: {answers:?}", row.id);
    }
}

/// A folder of FrankenPHP binaries, each with the application of its name in it.
const EMBEDDED: &str = "STAMPEDE_TEST_EMBEDDED";

/// The form of an application that a runtime serves under these settings. Its folder has `php` and `go`.
pub(crate) fn application(runtime: &dyn Runtime, settings: &[(&str, &str)], folder: &Path, name: &str) -> App {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let command = Command {
        run: words("@{built}"),
        build: Some(words("go build -o @{output} .")),
        replacements: Vec::new(),
        ready: CommandReady::Port,
        stop: GracefulStop { signal: StopSignal::Int, grace: Duration::from_secs(5) },
        tunables: vec![CommandTunable {
            name: "WORKERS".to_owned(),
            values: CommandValues::Count { min: 1, max: 64 },
            default: "1".to_owned(),
        }],
    };
    let forms = [
        (AppKind::FrontController { index: PathBuf::from("public/index.php") }, "php"),
        (AppKind::Psr15Handler { handler: PathBuf::from("handler.php") }, "php"),
        (AppKind::PhpFunction { script: PathBuf::from("function.php"), function: name.to_owned() }, "php"),
        (
            AppKind::EmbeddedPhp {
                binary: PathBuf::from(name),
                index: PathBuf::from("public/index.php"),
                worker: None,
            },
            "php",
        ),
        (AppKind::GoProgram, "go"),
        (
            AppKind::GoFunction {
                module: format!("stampede/{name}"),
                package: format!("stampede/{name}/api"),
                function: "Serve".to_owned(),
            },
            "go",
        ),
        (AppKind::Command(command), "go"),
    ];
    let mut given = Tuning::new();
    for (setting, value) in settings {
        given.give(setting, value);
    }
    let (kind, language) = forms
        .into_iter()
        .find(|(kind, _)| runtime.serves(kind) && runtime.suits(kind, &given).is_ok())
        .unwrap_or_else(|| panic!("{}: the workload has no form that it serves", runtime.id()));
    let mut app = App { site: Site::of(&kind), kind, ..php_app(folder.join(language), &["mbstring"]) };
    match app.kind {
        AppKind::Command(_) => {
            app.env.insert("LISTEN".to_owned(), "@{front}".to_owned());
        }
        AppKind::EmbeddedPhp { .. } => app.source = std::env::var_os(EMBEDDED).unwrap_or_default().into(),
        AppKind::Psr15Handler { .. } => app.needs = vec![nyholm()],
        _ => {}
    }
    app
}

/// What the handlers make their answers with.
fn nyholm() -> Requirement {
    Requirement::AnyFile {
        key: None,
        name: "the Nyholm PSR-7 library".to_owned(),
        paths: vec![PathBuf::from("/usr/share/php/Nyholm/Psr7/autoload.php")],
        install: Install {
            package: Some("php-nyholm-psr7".to_owned()),
            page: "https://github.com/Nyholm/psr7".to_owned(),
        },
    }
}
