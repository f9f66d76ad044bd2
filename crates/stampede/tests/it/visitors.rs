//! Visitors with sessions, and what they wait for: sessions that begin with every request, locks, sign-ins, connections.

use std::fs;

use serde_json::Value;

use crate::stage::{Said, Stage, have, have_extension};

/// Three ways to serve PHP, with the setting that gives each so many workers.
const RUNTIMES: &str = "nginx-fpm,apache-mod-php,php-cli-server";
const WORKERS: [&str; 6] = [
    "--set",
    "nginx-fpm.pm.max_children=24",
    "--set",
    "apache-mod-php.MaxRequestWorkers=24",
    "--set",
    "php-cli-server.PHP_CLI_SERVER_WORKERS=24",
];
const SERVERS: &[&str] = &["php", "nginx", "php-fpm", "apache2"];

const COUNTS_VISITS: &str = "<?php\nsession_start();\n$_SESSION['seen'] = 1;\necho '<h1>shop</h1>';\n";

/// All visitors have one session, whose lock each request holds for 8 ms.
const ONE_SESSION: &str = "<?php\nsession_id('one'); session_start(); usleep(8000); echo 'ok';\n";

/// Writes to a file of SQLite and does not wait for others who do.
const SQLITE: &str = "<?php\n$db = new PDO('sqlite:' . __DIR__ . '/shop.sqlite', null, null, [PDO::ATTR_TIMEOUT => 0]);\n\
    $db->exec('CREATE TABLE IF NOT EXISTS t (n INTEGER)');\n$db->exec('BEGIN IMMEDIATE');\n\
    $db->exec('INSERT INTO t VALUES (1)');\nusleep(3000);\n$db->exec('COMMIT');\necho 'ok';\n";

const MARIADB: &str = "<?php\n$db = new PDO(sprintf('mysql:host=%s;port=%s;dbname=%s', getenv('DB_HOST'), getenv('DB_PORT'), \
    getenv('DB_DATABASE')), getenv('DB_USERNAME'), getenv('DB_PASSWORD'));\n$db->query('SELECT SLEEP(0.02)');\necho 'ok';\n";

const POSTGRES: &str = "<?php\n$db = new PDO(sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), \
    getenv('PGDATABASE')), getenv('PGUSER'), getenv('PGPASSWORD'));\n$db->query('SELECT pg_sleep(0.02)');\necho 'ok';\n";

/// A shop with a sign-in: a token in the form, a new session after it, pages that show who is signed in. `$GLOBALS['kept']` stands for
/// state that a careless worker keeps.
const SHOP: &str = r#"<?php
session_start();
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$accounts = ['ann@a.example' => 'pa+ss&1', 'bob@a.example' => 'p w=2'];
header('Content-Type: text/html; charset=UTF-8');
switch ($path) {
    case '/login':
        if ($_SERVER['REQUEST_METHOD'] === 'POST') {
            if (!hash_equals($_SESSION['token'] ?? 'none', $_POST['_token'] ?? '')) { http_response_code(419); exit; }
            if (($accounts[$_POST['email'] ?? ''] ?? null) !== ($_POST['password'] ?? '')) { http_response_code(422); exit; }
            session_regenerate_id(true);
            $_SESSION['user'] = $_POST['email'];
            header('Location: /account', true, 303);
            exit;
        }
        if (isset($_SESSION['user'])) { header('Location: /account', true, 302); exit; }
        $_SESSION['token'] ??= bin2hex(random_bytes(20));
        echo "<form method=\"post\"><input type=\"hidden\" name=\"_token\" value=\"{$_SESSION['token']}\">";
        echo '<input name="email"><input name="password" type="password"></form>';
        break;
    case '/account':
    case '/orders':
        if (!isset($_SESSION['user'])) { header('Location: /login', true, 302); exit; }
        echo "<h1>$path of {$_SESSION['user']}</h1>";
        break;
    default:
        echo '<h1>home</h1>';
}
"#;

/// The same shop as one process that stays from one request to the next. `/*kept*/` is where a careless one keeps who is signed in.
const KEPT_SHOP: &str = r#"
const { createServer } = require('http');
const { randomBytes } = require('crypto');
const accounts = { 'ann@a.example': 'pa+ss&1', 'bob@a.example': 'p w=2' };
const sessions = new Map();
let kept = null;
createServer((request, response) => {
    let body = '';
    request.on('data', (part) => { body += part; });
    request.on('end', () => {
        const sid = (request.headers.cookie || '').match(/sid=([0-9a-f]+)/)?.[1];
        const session = sessions.get(sid) || {};
        const begin = (session) => {
            const id = randomBytes(16).toString('hex');
            sessions.set(id, session);
            response.setHeader('Set-Cookie', `sid=${id}; Path=/`);
            return session;
        };
        const to = (status, path) => response.writeHead(status, { Location: path }).end();
        const page = (html) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html);
        if (request.url === '/login' && request.method === 'POST') {
            const form = new URLSearchParams(body);
            if (!session.token || form.get('_token') !== session.token) { return response.writeHead(419).end(); }
            if (accounts[form.get('email')] !== form.get('password')) { return response.writeHead(422).end(); }
            sessions.delete(sid);
            begin({ user: form.get('email') });
            return to(303, '/account');
        }
        if (request.url === '/login') {
            if (session.user) { return to(302, '/account'); }
            const { token } = session.token ? session : begin({ token: randomBytes(20).toString('hex') });
            return page(`<form><input type="hidden" name="_token" value="${token}"></form>`);
        }
        if (!session.user) { return to(302, '/login'); }
        const user = /*kept*/ session.user;
        page(`<h1>${request.url} of ${user}</h1>`);
    });
}).listen(process.env.PORT, '127.0.0.1');
"#;

/// What a browser recorded of a visit to that shop.
fn recording() -> String {
    let token = "0123456789abcdef0123456789abcdef01234567";
    let form = format!("<form><input type=\\\"hidden\\\" name=\\\"_token\\\" value=\\\"{token}\\\"></form>");
    let entries = [
        ("GET", "/", 200, "", "home"),
        ("GET", "/login", 200, "", &*form),
        ("POST", "/login", 303, &*format!("_token={token}&email=ann%40a.example&password=pa%2Bss%261"), ""),
        ("GET", "/account", 200, "", "<h1>/account of ann@a.example</h1>"),
        ("GET", "/orders", 200, "", "<h1>/orders of ann@a.example</h1>"),
    ];
    let entries = entries.iter().enumerate().map(|(second, (method, path, status, posted, page))| {
        let posted = match *posted {
            "" => String::new(),
            text => format!(r#","postData":{{"mimeType":"application/x-www-form-urlencoded","text":"{text}"}}"#),
        };
        format!(
            r#"{{"startedDateTime":"2026-01-01T10:00:0{second}Z","request":{{"method":"{method}","url":"http://a.example{path}","headers":[]{posted}}},"response":{{"status":{status},"content":{{"text":"{page}"}}}}}}"#
        )
    });
    format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.collect::<Vec<_>>().join(","))
}

/// Compares an application of one file. What it says, and its cases.
fn compare(stage: &Stage, index: &str, runtimes: &str, flags: &[&str]) -> (Said, Vec<Value>) {
    let folder = stage.home().join("app");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.php"), index).unwrap();
    let folder = folder.display().to_string();
    let fixed = ["compare", &folder, "--runtimes", runtimes, "--json", "-"];
    let short = ["--rounds", "1", "--duration", "1500ms", "--warm-up", "300ms", "--no-yard-stick"];
    let said = stage.run(&[&fixed[..], &short, flags].concat());
    stage.assert_nothing_left();
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let cases = study["cases"].as_array().cloned().unwrap_or_default();
    assert_eq!(cases.len(), runtimes.split(',').count(), "{said:?}");
    (said, cases)
}

fn findings(case: &Value) -> Vec<(String, String)> {
    let findings = case["findings"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings.iter().map(|finding| (text(&finding["id"]), text(&finding["text"]))).collect()
}

/// Sees that a finding comes first, and is what the case's rate hangs on.
fn assert_first(cases: &[Value], id: &str) {
    for case in cases {
        let found = findings(case);
        assert_eq!(found.first().map(|(id, _)| &**id), Some(id), "{}: {found:?}", case["id"]);
        assert_eq!(case["bottleneck"], id, "{}", case["id"]);
    }
}

#[test]
fn every_request_is_a_new_visitor_unless_cookies_are_kept() {
    let test = "every_request_is_a_new_visitor_unless_cookies_are_kept";
    if !have(test, &["php", "nginx", "php-fpm"]) {
        return;
    }
    let stage = Stage::new();
    let (_, cases) = compare(&stage, COUNTS_VISITS, "nginx-fpm", &[]);
    let found = findings(&cases[0]);
    let (_, text) = found.iter().find(|(id, _)| id == "new-sessions").unwrap_or_else(|| panic!("{found:?}"));
    let sessions = cases[0]["trials"][0]["requests"]["ok"].as_u64().unwrap();
    let told =
        format!("Every request is a new visitor: about {sessions} sessions began in the windows (cookie PHPSESSID)");
    assert!(text.starts_with(&told), "{text}");
    assert!(text.contains("each a file of 4.0 KiB on disk"), "{text}");
    let (said, cases) = compare(&stage, COUNTS_VISITS, "nginx-fpm", &["--cookies"]);
    assert!(findings(&cases[0]).iter().all(|(id, _)| id != "new-sessions"), "{said:?}");
}

#[test]
fn requests_that_wait_for_one_session_are_named_first_on_three_runtimes() {
    let test = "requests_that_wait_for_one_session_are_named_first_on_three_runtimes";
    if !have(test, SERVERS) {
        return;
    }
    let (_, cases) = compare(&Stage::new(), ONE_SESSION, RUNTIMES, &["--load", "closed:8"]);
    assert_first(&cases, "session-lock");
}

#[test]
fn a_locked_file_of_sqlite_is_named_first_on_three_runtimes() {
    let test = "a_locked_file_of_sqlite_is_named_first_on_three_runtimes";
    if !have(test, SERVERS) || !have_extension(test, "pdo_sqlite") {
        return;
    }
    let (_, cases) = compare(&Stage::new(), SQLITE, RUNTIMES, &["--load", "closed:8"]);
    assert_first(&cases, "sqlite-locked");
}

#[test]
fn connections_that_a_database_refuses_are_told_before_the_load_and_named_first_on_three_runtimes() {
    let test = "connections_that_a_database_refuses_are_told_before_the_load_and_named_first_on_three_runtimes";
    if !have(test, SERVERS) {
        return;
    }
    for (service, index, extension, programs, takes) in [
        ("mariadb", MARIADB, "pdo_mysql", ["mariadbd", "mariadb"], 10),
        ("postgres", POSTGRES, "pdo_pgsql", ["postgres", "psql"], 7),
    ] {
        if !have(test, &programs) || !have_extension(test, extension) {
            continue;
        }
        let most = format!("{service}.max_connections=10");
        let beside = ["--services", service, "--set", &most, "--memory", "1Gi", "--load", "closed:20"];
        let (said, cases) = compare(&Stage::new(), index, RUNTIMES, &[&beside[..], &WORKERS].concat());
        assert_first(&cases, "database-connections");
        let told = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for case in RUNTIMES.split(',') {
            let warning = format!("{case}: 24 workers may open a connection each, and {service} takes {takes}");
            assert!(told.contains(&warning), "{warning}: {told}");
        }
    }
}

#[test]
fn a_recorded_sign_in_works_with_two_identities_and_shows_one_who_sees_the_other() {
    let test = "a_recorded_sign_in_works_with_two_identities_and_shows_one_who_sees_the_other";
    if !have(test, SERVERS) {
        return;
    }
    let stage = Stage::new();
    let folder = stage.home().join("app");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("index.php"), SHOP).unwrap();
    let har = stage.home().join("visit.har");
    fs::write(&har, recording()).unwrap();
    let (folder, har) = (folder.display().to_string(), har.display().to_string());
    let said = stage.run(&["init", &folder, "--har", &har]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for name in ["stampede.yaml", "stampede.scenario.yaml"] {
        let text = fs::read_to_string(stage.home().join("app").join(name)).unwrap();
        assert!(!text.contains("ann@") && !text.contains("pa+ss"), "{text}");
    }
    let command = ["compare", &folder, "--runtimes", RUNTIMES, "--load", "closed:20", "--rounds", "1"];
    let short = ["--duration", "1500ms", "--warm-up", "0s", "--no-yard-stick", "--json", "-"];
    let command = [&command[..], &short].concat();
    let said = stage.run(&command);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("STAMPEDE_USER_1 is not set in the environment"), "{said:?}");
    let accounts = [
        ("STAMPEDE_USER_1", "ann@a.example"),
        ("STAMPEDE_PASSWORD_1", "pa+ss&1"),
        ("STAMPEDE_USER_2", "bob@a.example"),
        ("STAMPEDE_PASSWORD_2", "p w=2"),
    ];
    let said = stage.run_with(&accounts, &command);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    for case in study["cases"].as_array().unwrap() {
        let trial = &case["trials"][0];
        assert_eq!((&trial["outcome"], &trial["requests"]["failed"]), (&"measured".into(), &0.into()), "{trial}");
        let steps = trial["steps"].as_array().unwrap();
        let ok = |name: &str| {
            let step = steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{name}: {steps:?}"));
            step["requests"]["ok"].as_u64().unwrap()
        };
        // Each of the two identities of 20 users signs in once.
        assert!((2..=40).contains(&ok("visit/sign in")), "{steps:?}");
        assert!(ok("visit//orders") > 40, "{steps:?}");
    }
    // A shop that answers with whoever signed in last.
    let careless = SHOP.replace("of {$_SESSION['user']}", "of {$last}").replace(
        "session_start();",
        "session_start();\n$file = __DIR__ . '/last';\n$last = is_file($file) ? file_get_contents($file) : '';",
    );
    let careless = careless.replace(
        "$_SESSION['user'] = $_POST['email'];",
        "$_SESSION['user'] = $_POST['email']; file_put_contents($file, $_POST['email']);",
    );
    fs::write(stage.home().join("app/index.php"), careless).unwrap();
    let said = stage.run_with(&accounts, &command);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    for case in study["cases"].as_array().unwrap() {
        let trial = &case["trials"][0];
        assert!(trial["outcome"] != "measured", "{trial}");
        assert!(trial["reason"].as_str().unwrap().contains("the body does not contain what it must"), "{trial}");
    }
    stage.assert_nothing_left();
}

#[test]
fn a_kept_worker_that_shows_one_visitor_to_another_is_found_by_a_recorded_sign_in() {
    let test = "a_kept_worker_that_shows_one_visitor_to_another_is_found_by_a_recorded_sign_in";
    if !have(test, &["php", "node"]) {
        return;
    }
    let stage = Stage::new();
    let [recorded, kept] = ["recorded", "kept"].map(|name| stage.home().join(name));
    [&recorded, &kept].iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    fs::write(recorded.join("index.php"), SHOP).unwrap();
    let har = stage.home().join("visit.har");
    fs::write(&har, recording()).unwrap();
    let said = stage.run(&["init", &recorded.display().to_string(), "--har", &har.display().to_string()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    fs::copy(recorded.join("stampede.scenario.yaml"), kept.join("stampede.scenario.yaml")).unwrap();
    let plan = "app:\n  dir: .\n  kind: command\n  command: {run: [node, shop.js]}\n  scenario: stampede.scenario.yaml\n  \
                requests: [{path: /login, expect: {status: 200, any_body: true}}]\n";
    fs::write(kept.join("stampede.yaml"), plan).unwrap();
    let accounts = [
        ("STAMPEDE_USER_1", "ann@a.example"),
        ("STAMPEDE_PASSWORD_1", "pa+ss&1"),
        ("STAMPEDE_USER_2", "bob@a.example"),
        ("STAMPEDE_PASSWORD_2", "p w=2"),
    ];
    let folder = kept.display().to_string();
    let command = ["compare", &folder, "--runtimes", "custom", "--load", "closed:20", "--rounds", "1"];
    let short = ["--duration", "1500ms", "--warm-up", "0s", "--no-yard-stick", "--json", "-"];
    let command = [&command[..], &short].concat();
    let careless = KEPT_SHOP.replace("/*kept*/ session.user", "(kept ??= session.user)");
    for (shop, is_right) in [(KEPT_SHOP, true), (&*careless, false)] {
        fs::write(kept.join("shop.js"), shop).unwrap();
        let said = stage.run_with(&accounts, &command);
        let study: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        let trial = &study["cases"][0]["trials"][0];
        assert_eq!(trial["outcome"] == "measured", is_right, "{trial}");
        let reason = trial["reason"].as_str().unwrap_or_default();
        assert!(is_right || reason.contains("the body does not contain what it must"), "{trial}");
    }
    stage.assert_nothing_left();
}
