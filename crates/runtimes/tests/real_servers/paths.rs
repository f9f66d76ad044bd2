//! What a path is answered with, the same table asked of every runtime: a file of the public folder, a script, or nothing.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use stampede_core::{App, AppKind, Denied, Fallback, Site};

use crate::http::{Answer, Connection};
use crate::{PHP_RUNTIMES, php_app, start};

/// Tells which script was asked, and by which path.
pub(crate) const SCRIPT: &str = r#"<?php
    header('Content-Type: application/json');
    echo json_encode([
        'script' => basename(__FILE__),
        'name' => $_SERVER['SCRIPT_NAME'],
        'info' => $_SERVER['PATH_INFO'] ?? null,
        'uri' => $_SERVER['REQUEST_URI'],
        'folder' => basename(getcwd()),
    ]);
"#;

const HANDLER: &str = r#"<?php
    $vendor = __DIR__ . '/vendor/autoload.php';
    require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';
    return fn ($request) => new Nyholm\Psr7\Response(200, ['Content-Type' => 'application/json'], json_encode([
        'script' => 'handler.php',
        'uri' => $request->getUri()->getPath(),
    ]));
"#;

const IMAGE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().expect("make a folder");
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, text).expect("write a file");
    };
    for script in ["public/index.php", "public/remote.php", "public/sub/index.php"] {
        write(script, SCRIPT.as_bytes());
    }
    write("handler.php", HANDLER.as_bytes());
    write("public/style.css", b"a { color: red }\n");
    write("public/a b.css", b"b { color: red }\n");
    write("public/app.js", b"let a = 1;\n");
    write("public/logo.png", IMAGE);
    write("public/sub/page.html", b"<p>page</p>\n");
    write("public/.env", b"SECRET=1\n");
    write("public/.hidden/x.css", b"c { color: red }\n");
    write("public/.well-known/security.txt", b"Contact: mailto:a@example.org\n");
    write("public/private/x.css", b"d { color: red }\n");
    write("public/notes.yml", b"secret: 1\n");
    write("public/sub/notes.json", b"{}\n");
    write("public/sub/.user.ini", b"; secret\n");
    write("storage/app/a.txt", b"stored\n");
    write("secret.txt", b"secret\n");
    symlink("../storage/app", folder.path().join("public/storage")).expect("make a link");
    folder
}

/// What a path must be answered with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected<'a> {
    /// A file, by its beginning and a word of its type.
    File(&'a [u8], &'a str),
    /// A script of this name, and its PATH_INFO.
    Script(&'a str, Option<&'a str>),
    /// The front controller, or the handler that a worker keeps.
    Front,
    /// 404, or 403 where that is how the server says it.
    Nothing,
}

use Expected::{File, Front, Nothing, Script};

/// One front controller.
const FRONT: [(&str, Expected<'_>); 22] = [
    ("/", Front),
    ("/style.css", File(b"a { color", "css")),
    ("/style.css?v=1", File(b"a { color", "css")),
    ("/a%20b.css", File(b"b { color", "css")),
    ("/app.js", File(b"let a", "javascript")),
    ("/logo.png", File(IMAGE, "png")),
    ("/sub/", Front),
    ("/sub", Front),
    ("/sub/page.html", File(b"<p>page", "html")),
    ("/remote.php", Front),
    ("/remote.php/dav/x", Front),
    ("/missing", Front),
    ("/missing.css", Front),
    ("/.env", Front),
    ("/.hidden/x.css", Front),
    ("/private/x.css", Front),
    ("/notes.yml", Front),
    ("/sub/notes.json", Front),
    ("/sub/.user.ini", Front),
    ("/index.php", Script("index.php", None)),
    ("/index.php/x", Script("index.php", Some("/x"))),
    ("/storage/a.txt", File(b"stored", "text/plain")),
];

/// What is never sent.
const UNSENT: [&str; 6] =
    ["/.env", "/.hidden/x.css", "/private/x.css", "/notes.yml", "/sub/notes.json", "/sub/.user.ini"];

/// Servers whose workers keep an application.
const WORKERS: [&str; 5] = ["frankenphp", "roadrunner", "swoole", "workerman", "webman"];

/// A script for each path.
const SCRIPTS: [(&str, Expected<'_>); 10] = [
    ("/", Script("index.php", None)),
    ("/style.css", File(b"a { color", "css")),
    ("/sub/", Script("index.php", None)),
    ("/sub/index.php?a=1", Script("index.php", None)),
    ("/sub/page.html", File(b"<p>page", "html")),
    ("/remote.php", Script("remote.php", None)),
    ("/remote.php/dav/x", Script("remote.php", Some("/dav/x"))),
    ("/.well-known/security.txt", File(b"Contact:", "text/plain")),
    ("/index.php/x", Script("index.php", Some("/x"))),
    ("/storage/a.txt", File(b"stored", "text/plain")),
];

fn site(fallback: Fallback) -> Site {
    let folder = |name: &str| Denied::Folder(name.to_owned());
    let name = |name: &str| Denied::Name(name.to_owned());
    let denied = vec![folder("private"), name("notes.json"), Denied::Ending("yml".to_owned())];
    let hidden = vec![name(".env"), name(".user.ini"), folder(".hidden")];
    Site { root: Some("public".into()), files: true, fallback, denied, hidden, ..Site::default() }
}

fn app(folder: &Path, kind: AppKind, site: Site) -> App {
    App { kind, site, ..php_app(folder.to_owned(), &[]) }
}

pub(crate) fn ask(server: &crate::launcher::Server, method: &str, path: &str) -> Answer {
    Connection::open(server.front)
        .and_then(|mut connection| connection.exchange(method, path, &[], b""))
        .unwrap_or_else(|error| panic!("{path}: {error}; {}", server.log()))
}

/// What is wrong with an answer.
pub(crate) fn problem(expected: Expected<'_>, path: &str, answer: &Answer) -> Option<String> {
    let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let media_type = answer.headers.get("content-type").cloned().unwrap_or_default();
    let begins = |bytes: &[u8]| answer.body.starts_with(bytes);
    let is_script = |name: &str| answer.status == 200 && told["script"] == name;
    let right = match expected {
        File(body, word) => answer.status == 200 && begins(body) && media_type.contains(word),
        // Caddy gives an empty PATH_INFO where there is none.
        Script(name, info) => {
            is_script(name) && told["info"].as_str().filter(|told| !told.is_empty()) == info && told["uri"] == path
        }
        Front => (is_script("index.php") || is_script("handler.php")) && told["uri"] == path,
        Nothing => [403, 404].contains(&answer.status),
    };
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    (!right).then(|| format!("{path}: {expected:?}, not {} {media_type} {body}", answer.status))
}

/// Asks a runtime for every path; what it answers otherwise than expected, but for the paths that are named.
fn differences(id: &str, app: &App, settings: &[(&str, &str)], table: &[(&str, Expected<'_>)]) -> Vec<String> {
    let Some(server) = start(id, app, settings) else {
        return Vec::new();
    };
    let problems: Vec<_> = table
        .iter()
        .filter_map(|(path, expected)| problem(*expected, path, &ask(&server, "GET", path)))
        .map(|problem| format!("{id}: {problem}"))
        .collect();
    if !problems.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}", server.log());
    }
    server.stop();
    problems
}

pub(crate) fn assert_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn a_front_controller_answers_what_is_no_file() {
    let folder = folder();
    let app = app(folder.path(), AppKind::FrontController { index: "public/index.php".into() }, site(Fallback::Front));
    let all = PHP_RUNTIMES.iter().flat_map(|id| differences(id, &app, &[], &FRONT));
    let router = differences("uwsgi-php", &app, &[("mode", "http")], &FRONT);
    assert_none(all.chain(router).collect());
}

#[test]
fn a_front_controller_gets_the_path_as_path_info() {
    let folder = folder();
    let kind = AppKind::FrontController { index: "public/index.php".into() };
    let app = app(folder.path(), kind, site(Fallback::PathInfo));
    let table = [
        ("/style.css", File(b"a { color", "css")),
        ("/missing/x", Script("index.php", Some("/missing/x"))),
        ("/a%20c", Script("index.php", Some("/a c"))),
        ("/index.php/x", Script("index.php", Some("/x"))),
        ("/notes.yml", Script("index.php", Some("/notes.yml"))),
    ];
    assert_none(PHP_RUNTIMES.iter().flat_map(|id| differences(id, &app, &[], &table)).collect());
}

#[test]
fn each_script_answers_its_own_path() {
    let folder = folder();
    let kind = || AppKind::Scripts { index: "public/index.php".into() };
    let table = |missing: &[&'static str], expected| {
        let missing = missing.iter().chain(&UNSENT).map(|path| (*path, expected));
        SCRIPTS.into_iter().chain(missing).collect::<Vec<_>>()
    };
    let without = app(folder.path(), kind(), site(Fallback::NotFound));
    let nothing = table(&["/missing", "/missing.css", "/missing.php"], Nothing);
    let all = PHP_RUNTIMES.iter().flat_map(|id| differences(id, &without, &[], &nothing));
    let with_front = app(folder.path(), kind(), site(Fallback::Front));
    let front = table(&["/missing", "/missing.css", "/missing/sub"], Front);
    let others = PHP_RUNTIMES.iter().flat_map(|id| differences(id, &with_front, &[], &front));
    assert_none(all.chain(others).collect());
}

#[test]
fn no_file_is_sent_where_that_is_asked_for() {
    let folder = folder();
    let kind = AppKind::FrontController { index: "public/index.php".into() };
    let app = app(folder.path(), kind, Site { files: false, ..site(Fallback::Front) });
    let table = [("/", Front), ("/style.css", Front), ("/sub/page.html", Front), ("/storage/a.txt", Front)];
    assert_none(PHP_RUNTIMES.iter().flat_map(|id| differences(id, &app, &[], &table)).collect());
}

#[test]
fn servers_with_workers_send_files_too() {
    let folder = folder();
    let kind = || AppKind::Psr15Handler { handler: "handler.php".into() };
    let Site { denied, hidden, .. } = site(Fallback::Front);
    // Some send files by themselves where types or endings tell what is not to be sent, and otherwise leave them to PHP.
    for (name, denied, hidden, others) in [
        ("names and folders", &denied[..], &hidden[..], &[][..]),
        (
            "endings",
            &denied[2..],
            &hidden[..1],
            &["/.hidden/x.css", "/private/x.css", "/sub/notes.json", "/sub/.user.ini"],
        ),
        (
            "types",
            &[],
            &hidden[..1],
            &["/.hidden/x.css", "/private/x.css", "/sub/notes.json", "/sub/.user.ini", "/notes.yml"],
        ),
    ] {
        let site = Site { denied: denied.to_vec(), hidden: hidden.to_vec(), ..site(Fallback::Front) };
        let app = app(folder.path(), kind(), site);
        let asked = FRONT.into_iter().filter(|(path, _)| !others.contains(path));
        let table: Vec<_> =
            asked.map(|(path, expected)| (path, if let Script(..) = expected { Front } else { expected })).collect();
        let problems = WORKERS.iter().flat_map(|id| differences(id, &app, &[], &table));
        assert_none(problems.map(|problem| format!("{name}: {problem}")).collect());
    }
}

#[test]
fn an_application_that_is_reached_by_https_has_it_from_its_server() {
    const TELLS: &str = "<?php
        echo (($_SERVER['HTTPS'] ?? '') ?: 'off') . ' ' . ($_SERVER['REQUEST_SCHEME'] ?? 'none') . ' '
            . ($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? 'none');
    ";
    const HANDLER_TELLS: &str = "<?php
        $vendor = __DIR__ . '/vendor/autoload.php';
        require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';
        return fn ($request) => new Nyholm\\Psr7\\Response(200, [], (string) $request->getUri());
    ";
    let folder = folder();
    fs::write(folder.path().join("public/index.php"), TELLS).expect("write a file");
    fs::write(folder.path().join("handler.php"), HANDLER_TELLS).expect("write a file");
    let https = || Site { https: true, ..site(Fallback::Front) };
    let index = || "public/index.php".into();
    let front = app(folder.path(), AppKind::FrontController { index: index() }, https());
    let scripts = app(folder.path(), AppKind::Scripts { index: index() }, https());
    let handler = app(folder.path(), AppKind::Psr15Handler { handler: "handler.php".into() }, https());
    let plain = app(folder.path(), AppKind::FrontController { index: index() }, site(Fallback::Front));
    let [of_front, of_scripts, of_plain] = [&front, &scripts, &plain].map(|app| PHP_RUNTIMES.map(|id| (id, app)));
    for (id, app) in [&of_front[..], &of_scripts, &of_plain, &WORKERS.map(|id| (id, &handler))].concat() {
        let Some(server) = start(id, app, &[]) else { continue };
        let answer = Connection::open(server.front)
            .and_then(|mut connection| connection.exchange("GET", "/x", &[("X-Forwarded-Proto", "https")], b""))
            .unwrap_or_else(|error| panic!("{id}: {error}; {}", server.log()));
        let told = String::from_utf8_lossy(&answer.body).into_owned();
        let what = format!("{id} {:?}: {told}\n{}", app.kind, server.log());
        match app.kind {
            AppKind::Psr15Handler { .. } => assert!(told.starts_with("https://"), "{what}"),
            _ if app.site.https => assert_eq!(told, "on https https", "{what}"),
            _ => assert!(["off http https", "off none https"].contains(&told.as_str()), "{what}"),
        }
        server.stop();
    }
}

#[test]
fn no_path_leads_out_of_the_public_folder() {
    let folder = folder();
    let front =
        app(folder.path(), AppKind::FrontController { index: "public/index.php".into() }, site(Fallback::Front));
    let handler = app(folder.path(), AppKind::Psr15Handler { handler: "handler.php".into() }, site(Fallback::Front));
    let of = |ids: &[&'static str], app: &App| -> Vec<(&'static str, App)> {
        ids.iter().map(|id| (*id, app.clone())).collect()
    };
    let workers = of(&WORKERS, &handler);
    for (id, app) in of(&PHP_RUNTIMES, &front).into_iter().chain(workers) {
        let Some(server) = start(id, &app, &[]) else { continue };
        for path in
            ["/../secret.txt", "/%2e%2e/secret.txt", "/storage/../../secret.txt", "//secret.txt", "/..%2fsecret.txt"]
        {
            // A server may close the connection on such a path.
            let answer =
                Connection::open(server.front).and_then(|mut connection| connection.exchange("GET", path, &[], b""));
            let body = answer.map(|answer| answer.body).unwrap_or_default();
            assert!(!body.starts_with(b"secret"), "{id} {path}");
        }
        server.stop();
    }
}

#[test]
fn a_file_is_asked_for_without_its_body_and_in_part() {
    let folder = folder();
    let app = app(folder.path(), AppKind::FrontController { index: "public/index.php".into() }, site(Fallback::Front));
    for id in PHP_RUNTIMES {
        let Some(server) = start(id, &app, &[]) else { continue };
        let head = ask(&server, "HEAD", "/style.css");
        assert_eq!((head.status, head.body.len()), (200, 0), "{id}");
        let part = Connection::open(server.front)
            .and_then(|mut connection| connection.exchange("GET", "/style.css", &[("Range", "bytes=0-3")], b""))
            .expect("an answer");
        // PHP's built-in server and uWSGI, as it comes, know no ranges.
        let expected: (u16, &[u8]) = match id {
            "php-cli-server" | "uwsgi-php" => (200, b"a { color: red }\n"),
            _ => (206, b"a { "),
        };
        assert_eq!((part.status, part.body.as_slice()), expected, "{id}");
        server.stop();
    }
}

/// Rules as frameworks bring them: older access rules outside of any `IfModule`, options, and a front controller by rewriting.
const HTACCESS: &str = "\
Options All -Indexes
<Files .htaccess>
    order allow,deny
    deny from all
</Files>
<IfModule mod_rewrite.c>
    RewriteEngine On
    RewriteCond %{REQUEST_URI} ^/old$
    RewriteRule ^ /new [L,R=301]
    RewriteCond %{REQUEST_FILENAME} !-f
    RewriteRule ^ index.php [QSA,L]
</IfModule>
<IfModule mod_headers.c>
    Header always set X-Rules heeded
</IfModule>
";

#[test]
fn apache_heeds_the_rules_that_an_application_brings() {
    let folder = folder();
    fs::write(folder.path().join("public/.htaccess"), HTACCESS).expect("write a file");
    let kind = AppKind::FrontController { index: "public/index.php".into() };
    let app = app(folder.path(), kind, Site { htaccess: true, ..site(Fallback::Front) });
    for id in ["apache-mod-php", "apache-fpm"] {
        let Some(server) = start(id, &app, &[]) else { continue };
        // A folder without its slash is Apache's own business then.
        let asked = FRONT.iter().filter(|(path, _)| *path != "/sub");
        let problems = asked.filter_map(|(path, expected)| problem(*expected, path, &ask(&server, "GET", path)));
        assert_none(problems.map(|problem| format!("{id}: {problem}")).collect());
        let moved = ask(&server, "GET", "/old");
        let told = (moved.status, moved.headers.get("x-rules").map(String::as_str));
        assert_eq!(told, (301, Some("heeded")), "{id}: {moved:?}");
        server.stop();
    }
}
