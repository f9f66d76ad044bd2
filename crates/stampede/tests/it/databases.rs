//! Workloads with databases: what they are made with, what a load makes in them, and what is wrong with either.

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::stage::{MOST_RUNS, Said, Stage, have};

/// A table of things: POST adds one, `/count` counts them. `/forget` answers as if it had added one. `/slow` asks for
/// long, and `/row` changes one row and holds it for a while.
const APP: &str = r#"<?php
$pg = new PDO(sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE')),
    getenv('PGUSER'), getenv('PGPASSWORD'));
switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    case '/things':
        $pg->exec("INSERT INTO things (name) VALUES ('a')");
        // Falls through: it was added.
    case '/forget':
        http_response_code(201);
        break;
    case '/slow':
        $pg->query('SELECT pg_sleep(0.2)');
        http_response_code(201);
        break;
    case '/row':
        $pg->beginTransaction();
        $pg->exec("UPDATE things SET name = 'b' WHERE name = 'b'");
        $pg->query('SELECT pg_sleep(0.05)');
        $pg->commit();
        http_response_code(201);
        break;
    default:
        echo $pg->query('SELECT count(*) FROM things')->fetchColumn();
}
"#;

/// A workload of things whose load asks for a path.
struct Things {
    stage: Stage,
    schema: String,
    path: &'static str,
    /// Whether what the load made is counted afterwards.
    audited: bool,
}

impl Things {
    fn new() -> Self {
        Self {
            stage: Stage::new(),
            schema: "CREATE TABLE things (name text NOT NULL);\nINSERT INTO things VALUES ('b'), ('c');\n".to_owned(),
            path: "/things",
            audited: true,
        }
    }

    fn compare(&self, flags: &[&str]) -> (Said, Value) {
        let Self { stage, schema, path, audited } = self;
        let after = "after: [{name: things, answers: {step: add, status: 201}, path: /count, \
                     query: {service: postgres, sql: SELECT count(*) FROM things}}]\n";
        let after = if *audited { after } else { "" };
        let folder = stage.home().join("things");
        fs::create_dir_all(folder.join("app")).unwrap();
        fs::write(folder.join("app/index.php"), APP).unwrap();
        fs::write(folder.join("schema.sql"), schema).unwrap();
        fs::write(folder.join("scenario.yaml"), adding(path)).unwrap();
        fs::write(
            folder.join("workload.yaml"),
            format!(
                "title: things\nservices: {{postgres: {{init: schema.sql, extensions: [pdo_pgsql]}}}}\n\
                 apps: [{{kind: front-controller, dir: app, index: index.php}}]\n\
                 requests: [{{name: count, path: /count, expect: {{status: 200, body: '2'}}}}]\n\
                 scenario: scenario.yaml\n{after}"
            ),
        )
        .unwrap();
        let workload = folder.display().to_string();
        let fixed = ["compare", &workload, "--runtimes", "php-cli-server", "--json", "-"];
        let short = ["--duration", "1s", "--warm-up", "300ms", "--no-yard-stick"];
        let said = stage.run(&[&fixed[..], &short[..], flags].concat());
        stage.assert_nothing_left();
        let study = serde_json::from_str(&said.stdout).unwrap_or_default();
        (said, study)
    }
}

/// The scenario of users who post to a path, which adds a thing each time.
pub(crate) fn adding(path: &str) -> String {
    format!(
        "crowds: [{{load: closed:4, requests: [{{name: add, method: POST, path: {path}, body: x, check: {{status: 201}}}}]}}]\n"
    )
}

fn ready(test: &str, programs: &[&str], extensions: &[&str]) -> bool {
    let listed = Command::new("php").arg("-m").output().map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let listed = listed.unwrap_or_default();
    if let Some(extension) = extensions.iter().find(|extension| !listed.lines().any(|line| line == **extension)) {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs the PHP extension {extension}");
        return false;
    }
    have(test, programs)
}

fn trials(study: &Value) -> Vec<&Value> {
    study["cases"].as_array().unwrap().iter().flat_map(|case| case["trials"].as_array().unwrap()).collect()
}

const POSTGRES: &[&str] = &["php", "postgres", "psql"];

#[test]
fn each_trial_begins_with_what_the_workload_says_and_its_load_is_accounted_for() {
    let test = "each_trial_begins_with_what_the_workload_says_and_its_load_is_accounted_for";
    if !ready(test, POSTGRES, &["pdo_pgsql"]) {
        return;
    }
    let things = Things::new();
    let (said, study) = things.compare(&["--rounds", "2", "--load", "closed:2"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let trials = trials(&study);
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let audit = &trial["audits"][0];
        let answered = audit["answered"].as_u64().unwrap();
        assert!(answered > 0 && audit["agrees"] == true, "{audit}");
        for told in audit["told"].as_array().unwrap() {
            assert_eq!((&told["before"], told["after"].as_u64()), (&Value::from(2), Some(2 + answered)), "{audit}");
        }
        // The warm-up has added some too.
        let in_window = trial["status"]["201"].as_u64().unwrap();
        assert!(in_window < answered, "{in_window} {audit}");
    }
    let shown = things.stage.run(&["show", "latest"]);
    assert!(shown.words().contains("were answered, and the application and postgres have as many"), "{}", shown.stdout);
}

#[test]
fn what_a_database_is_busy_with_is_found_and_named() {
    if !ready("what_a_database_is_busy_with_is_found_and_named", POSTGRES, &["pdo_pgsql"]) {
        return;
    }
    for (path, id, query) in [
        ("/slow", "database-bound", "SELECT pg_sleep(0.2)"),
        ("/row", "database-locks", "UPDATE things SET name = 'b'"),
    ] {
        let things = Things { path, audited: false, ..Things::new() };
        let workers = "php-cli-server.PHP_CLI_SERVER_WORKERS=4";
        let flags = ["--rounds", "1", "--load", "closed:4", "--cpus", "1", "--memory", "512Mi", "--set", workers];
        let (said, study) = things.compare(&flags);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let case = &study["cases"][0];
        let finding = case["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id);
        let finding = finding.unwrap_or_else(|| panic!("{path}: {}", case["findings"]));
        assert!(finding["text"].as_str().unwrap().contains(query), "{finding}");
        let queries = &case["trials"][0]["sampling"]["queries"];
        let texts: Vec<&str> =
            queries.as_array().unwrap().iter().map(|query| query["text"].as_str().unwrap()).collect();
        // What asks is not counted among those who ask.
        assert!(texts.iter().all(|text| !text.contains("pg_stat_activity")), "{queries}");
    }
}

#[test]
fn what_a_database_says_of_its_schema_is_told() {
    if !ready("what_a_database_says_of_its_schema_is_told", POSTGRES, &["pdo_pgsql"]) {
        return;
    }
    let things = Things { schema: "CREATE TABLE things (name txt);".to_owned(), ..Things::new() };
    let (said, study) = things.compare(&["--rounds", "1"]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let all = format!("{}{study}", said.stderr).replace("\\\"", "\"");
    assert!(all.contains("psql:schema.sql:1: ERROR:  type \"txt\" does not exist"), "{all}");
}

/// Makes a table, as a framework's migrations do, and counts its rows. Each request adds one more.
const MIGRATED: &str = r#"<?php
function database(): PDO {
    return getenv('DB_CONNECTION') === 'pgsql'
        ? new PDO(sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('DB_HOST'), getenv('DB_PORT'), getenv('DB_DATABASE')), getenv('DB_USERNAME'), getenv('DB_PASSWORD'))
        : new PDO(sprintf('mysql:host=%s;port=%s;dbname=%s', getenv('DB_HOST'), getenv('DB_PORT'), getenv('DB_DATABASE')), getenv('DB_USERNAME'), getenv('DB_PASSWORD'));
}
"#;
const MIGRATE: &str = "<?php\nrequire __DIR__ . '/db.php';\n$db = database();\n\
    $db->exec('CREATE TABLE IF NOT EXISTS things (id INTEGER PRIMARY KEY, name VARCHAR(99))');\n\
    $add = $db->prepare('INSERT INTO things VALUES (?, ?)');\n\
    foreach (['caf\u{e9}', \"it's; -- no comment\", \"two\nlines\"] as $id => $name) { $add->execute([$id + 10, $name]); }\n";
const SHOWS: &str = "<?php\nrequire __DIR__ . '/db.php';\n\
    foreach (database()->query('SELECT * FROM things ORDER BY id') as $row) { echo $row['id'], $row['name'], ';'; }\n";

#[test]
fn what_commands_under_prepare_write_is_what_each_trial_begins_with() {
    let test = "what_commands_under_prepare_write_is_what_each_trial_begins_with";
    for (service, programs, extension) in [
        ("mariadb", &["php", "mariadbd", "mariadb-install-db", "mariadb", "mariadb-dump"][..], "pdo_mysql"),
        ("postgres", &["php", "postgres", "psql", "pg_dump"], "pdo_pgsql"),
    ] {
        if !ready(test, programs, &[extension]) {
            continue;
        }
        let stage = Stage::new();
        let folder = stage.home().join("shop");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("db.php", MIGRATED), ("migrate.php", MIGRATE), ("index.php", SHOWS)] {
            fs::write(folder.join(name), text).unwrap();
        }
        let rows = "10caf\u{e9};11it's; -- no comment;12two\nlines;";
        for (name, init, answer) in
            [("an empty database", "", rows.to_owned()), ("beside a dump", "init: first.sql", format!("1first;{rows}"))]
        {
            let first = "CREATE TABLE things (id INTEGER PRIMARY KEY, name VARCHAR(99));\nINSERT INTO things VALUES (1, 'first');\n";
            fs::write(folder.join("first.sql"), first).unwrap();
            fs::write(folder.join("answer.txt"), answer).unwrap();
            let plan = format!(
                "app:\n  dir: .\n  kind: front-controller\n  index: index.php\n  root: .\n  extensions: [{extension}]\n  \
                 prepare: [[php, migrate.php]]\n  requests: [{{path: /, expect: {{status: 200, body_file: answer.txt}}}}]\n\
                 topology: {{services: {{{service}: {{{init}}}}}}}\n"
            );
            fs::write(folder.join("stampede.yaml"), plan).unwrap();
            let flags = ["--runtimes", "php-cli-server", "--rounds", "2", "--duration", "1s", "--warm-up", "0s"];
            // Fewer connections than workers, so that none waits behind another that stays with its worker.
            let flags = [&["compare", "--load", "closed:2"][..], &flags, &["--no-yard-stick", "--json", "-"]].concat();
            let said = stage.run_in(&folder, &flags);
            assert_eq!(said.code, Some(0), "{service}, {name}: {}", said.stderr);
            let study: Value = serde_json::from_str(&said.stdout).unwrap();
            let outcomes: Vec<&Value> = trials(&study).into_iter().map(|trial| &trial["outcome"]).collect();
            assert_eq!(outcomes, ["measured"; 2], "{service}, {name}: {said:?}");
            stage.assert_nothing_left();
        }
        fs::write(folder.join("migrate.php"), "<?php fwrite(STDERR, 'no such column'); exit(3);").unwrap();
        let said = stage.run_in(&folder, &["compare", "--runtimes", "php-cli-server", "--rounds", "1"]);
        assert_eq!(said.code, Some(5), "{said:?}");
        let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("run `php migrate.php` to prepare the application") && words.contains("no such column"),
            "{said:?}"
        );
        stage.assert_nothing_left();
    }
}

/// What mysqldump writes of a server that is another one in all ways.
const DUMP: &str = "-- MySQL dump 10.13  Distrib 8.4.0, for Linux (x86_64)
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */;
USE `shop`;
CREATE TABLE `posts` (`id` int NOT NULL, `title` varchar(99) COLLATE utf8mb4_0900_ai_ci, `seen` int NOT NULL DEFAULT 0) \
ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO `posts` (`id`, `title`) VALUES (1,'Hello'),(2,'caf\u{e9}');
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`shop`@`10.0.0.%`*/ /*!50003 TRIGGER `t` BEFORE UPDATE ON `posts` FOR EACH ROW SET NEW.seen = NEW.seen + 1 */;;
DELIMITER ;
";

/// A site whose settings have the address of its database in a file of their own, as WordPress has them. Each view of a post is counted.
const SITE: [(&str, &str); 5] = [
    ("wp-load.php", "<?php"),
    ("wp-settings.php", "<?php"),
    ("wp-includes/version.php", "<?php $wp_version = '6.9';"),
    (
        "wp-config.php",
        "<?php\ndefine( 'DB_NAME', 'shop' ); define('DB_USER', getenv('DB_USER') ?: 'shop');\n\tdefine(\"DB_PASSWORD\", \"a;b);\");\n\
         if (!defined('DB_HOST')) define( 'DB_HOST', 'db.internal:3307' );\n",
    ),
    (
        "index.php",
        r#"<?php
require 'wp-config.php';
[$host, $port] = explode(':', DB_HOST);
$db = new mysqli($host, DB_USER, DB_PASSWORD, DB_NAME, (int) $port);
$db->set_charset('utf8mb4');
header('Content-Type: text/html; charset=utf-8');
if (isset($_GET['p'])) {
    $post = $db->query('SELECT * FROM posts WHERE id = ' . (int) $_GET['p'])->fetch_assoc();
    $db->query('UPDATE posts SET title = title WHERE id = ' . (int) $_GET['p']);
    echo "<h1>{$post['title']}</h1>", defined('DISABLE_WP_CRON') ? 'no cron' : 'cron';
} else {
    foreach ($db->query('SELECT * FROM posts') as $post) {
        echo "<a href='/?p={$post['id']}'>{$post['title']}</a>";
    }
}
"#,
    ),
];

#[test]
fn a_site_with_the_dump_of_its_database_is_measured_with_the_pages_that_it_links_to() {
    let test = "a_site_with_the_dump_of_its_database_is_measured_with_the_pages_that_it_links_to";
    if !ready(test, &["mariadbd", "mariadb-install-db", "mariadb", "nginx", "php-fpm8.2"], &["mysqli"]) {
        return;
    }
    let stage = Stage::new();
    let site = stage.home().join("site");
    for (name, text) in SITE {
        fs::create_dir_all(site.join(name).parent().unwrap()).unwrap();
        fs::write(site.join(name), text).unwrap();
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(DUMP.as_bytes()).unwrap();
    fs::write(site.join("shop.sql.gz"), packed.finish().unwrap()).unwrap();
    let said = stage.run_in(&site, &["init", ".", "--database", "shop.sql.gz", "--crawl", "10"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in [
        "its mariadb begins each trial with shop.sql; names of databases left out (2); collations of MySQL 8 replaced (2); owners left out (1)",
        "3 requests are taken of 3 addresses that were asked",
    ] {
        let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(part), "{part}\n{}", said.stderr);
    }
    let plan = fs::read_to_string(site.join("stampede.yaml")).unwrap();
    assert!(plan.contains("mariadb: {init: shop.sql.gz}"), "{plan}");
    let expected = fs::read_to_string(site.join("stampede.expected/get-p-2.html")).unwrap();
    assert_eq!(expected, "<h1>caf\u{e9}</h1>no cron");
    let flags = ["--runtimes", "nginx-fpm,php-cli-server", "--rounds", "1", "--duration", "1s", "--warm-up", "0s"];
    let said = stage.run_in(&site, &[&["compare"][..], &flags, &["--no-yard-stick", "--json", "-"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(trials(&study).len(), 2, "{study}");
    stage.assert_nothing_left();
}

#[test]
fn rinha_runs_in_php_and_go_behind_a_balancer() {
    let test = "rinha_runs_in_php_and_go_behind_a_balancer";
    let programs = [POSTGRES, &["nginx", "php-fpm", "go"]].concat();
    if !ready(test, &programs, &["pdo_pgsql", "mbstring"]) {
        return;
    }
    let stage = Stage::alone();
    let flags = ["--app", "php,go", "--replicas", "2", "--balancer", "nginx", "--cpus", "1", "--memory", "1Gi"];
    let more = ["--runtimes", "nginx-fpm,go", "--duration", "5s", "--warm-up", "0", "--rounds", "1"];
    let report = ["--no-yard-stick", "--json", "-"];
    let said = stage.run_once(&[&["compare", "rinha"][..], &flags, &more, &report].concat());
    stage.assert_nothing_left();
    // Ten requests a second may all be late where this program is held up, and are accounted for all the same.
    assert!(matches!(said.code, Some(0 | 4)), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let mut ids: Vec<&str> =
        study["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["go/go", "nginx-fpm/php"]);
    for trial in trials(&study) {
        let audit = &trial["audits"][0];
        let by: Vec<&str> = audit["told"].as_array().unwrap().iter().map(|told| told["by"].as_str().unwrap()).collect();
        assert_eq!(by, ["replica-1", "replica-2", "postgres"]);
        // Two are due each second; most are valid.
        let answered = audit["answered"].as_u64().unwrap();
        assert!(audit["agrees"] == true && (6..=10).contains(&answered), "{audit}");
        let step = |name: &str| trial["steps"].as_array().unwrap().iter().find(|step| step["name"] == name).unwrap();
        assert_eq!(step("create and follow/follow")["requests"]["ok"].as_u64().unwrap(), answered);
        assert_eq!(step("search")["requests"]["ok"], 10);
        assert_eq!(step("invalid search")["status"]["400"], 10);
    }
}

#[test]
fn layers_read_and_change_rows_of_each_database() {
    let test = "layers_read_and_change_rows_of_each_database";
    let programs = [POSTGRES, &["mariadbd", "nginx", "php-fpm", "go"]].concat();
    if !ready(test, &programs, &["pdo_pgsql", "pdo_mysql", "pdo_sqlite"]) {
        return;
    }
    let stage = Stage::new();
    // What each layer answers from each database is tested without Stampede (tests/php/RandomRowTest.php).
    for (service, layers) in [
        (
            "postgres",
            &["pdo", "pdo-persistent", "dbal", "orm", "query-builder", "eloquent", "eloquent-alone", "go"][..],
        ),
        ("mariadb", &["pdo-persistent", "orm", "eloquent-alone", "go"]),
    ] {
        let mut layers = layers.to_vec();
        for run in 1.. {
            layers = unanswered(&stage, service, &layers, WINDOW * run as u32);
            if layers.is_empty() {
                break;
            }
            assert!(run < MOST_RUNS, "{service}: {layers:?} did not answer both requests in any of {run} windows");
            let _ =
                writeln!(std::io::stderr(), "AGAIN after run {run}, in which {layers:?} did not answer both requests");
        }
    }
}

/// Long enough for both requests, some ten times each, on a machine that is free.
const WINDOW: Duration = Duration::from_millis(500);

/// Measures an application of each layer: all of its answers are right. Those that did not answer both requests in the window are
/// left: beside other tests a window this short may end before the slower one of a layer is answered.
fn unanswered<'a>(stage: &Stage, service: &str, layers: &[&'a str], window: Duration) -> Vec<&'a str> {
    let apps = layers.join(",");
    let flags = ["--services", service, "--exchanges", "random,update", "--cpus", "1", "--memory", "1Gi"];
    let more = ["--app", &apps, "--runtimes", "nginx-fpm,go"];
    let window = format!("{}ms", window.as_millis());
    let study = ["--load", "open:40", "--duration", &window, "--warm-up", "100ms", "--rounds", "1"];
    let report = ["--no-yard-stick", "--json", "-"];
    let said = stage.run_once(&[&["compare", "random-row"][..], &flags, &more, &study, &report].concat());
    stage.assert_nothing_left();
    // A window this short is invalid where this program is held up, and its answers are right all the same.
    assert!(matches!(said.code, Some(0 | 4)), "{service}: {}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), layers.len());
    let is_unanswered = |case: &Value| {
        let trial = &case["trials"][0];
        let steps = trial["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 2, "{service}: {trial}");
        let counts = |name: &str| steps.iter().map(|step| step["requests"][name].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(counts("failed"), [0, 0], "{service}: {trial}");
        counts("ok").contains(&0)
    };
    let left: Vec<&str> =
        cases.iter().filter(|case| is_unanswered(case)).map(|case| case["app"].as_str().unwrap()).collect();
    layers.iter().copied().filter(|layer| left.contains(layer)).collect()
}
