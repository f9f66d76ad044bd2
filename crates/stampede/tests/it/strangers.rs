//! Applications that nobody wrote for Stampede: what once kept a stranger's from a table, each as a small one.

use std::fs;

use serde_json::Value;

use crate::stage::{Said, Stage, have};

/// What is served of a row, and what must come of it.
struct Row {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    code: i32,
    /// The cases that are measured; none where the command ends before.
    measured: &'static [&'static str],
    /// What is printed.
    told: &'static [&'static str],
}

const BOTH: &[&str] = &["nginx-fpm", "php-cli-server"];

const ROWS: [Row; 8] = [
    Row {
        name: "an extension that its configuration asks for, and composer.json does not name",
        files: &[
            ("composer.json", r#"{"require": {"php": ">=8.1"}}"#),
            (".env", "DB_CONNECTION=sqlite\n"),
            ("stampede.yaml", "app: {dir: ., extensions: minimal}\n"),
            ("public/index.php", "<?php echo (new PDO('sqlite::memory:'))->query('SELECT 7')->fetchColumn(), ' rows';"),
        ],
        code: 0,
        measured: BOTH,
        told: &["pdo_sqlite", "GET /: status 200 OK, 6 bytes"],
    },
    Row {
        name: "extensions that need others, which nobody names",
        files: &[
            ("stampede.yaml", "app: {dir: ., extensions: [minimal, pdo_mysql, mysqli]}\n"),
            (
                "public/index.php",
                "<?php echo implode(' ', array_filter(['mysqlnd', 'pdo', 'pdo_mysql', 'mysqli'], 'extension_loaded'));",
            ),
        ],
        code: 0,
        measured: BOTH,
        told: &["GET /: status 200 OK, 28 bytes"],
    },
    Row {
        name: "a library that calls an extension, of which composer.json has no word",
        files: &[
            ("stampede.yaml", "app: {dir: ., extensions: minimal}\n"),
            ("composer.json", r#"{"require": {"google/protobuf": "^4"}}"#),
            ("vendor/autoload.php", "<?php\n"),
            ("public/index.php", "<?php echo ctype_lower('protobuf') ? 'lower' : 'upper';"),
        ],
        code: 0,
        measured: BOTH,
        told: &["GET /: status 200 OK, 5 bytes"],
    },
    Row {
        name: "an extension that the command line program alone has",
        files: &[
            ("stampede.yaml", "app: {dir: ., extensions: [pcntl]}\n"),
            ("public/index.php", "<?php echo 'hello';"),
        ],
        code: 0,
        measured: BOTH,
        told: &["GET /: status 200 OK, 5 bytes"],
    },
    Row {
        name: "a driver that PHP lacks, and that the application's own preparation needs",
        files: &[
            ("stampede.yaml", "app: {dir: ., extensions: [pdo_firebird], prepare: [[php, seed.php]]}\n"),
            ("seed.php", "<?php throw new PDOException('could not find driver');"),
            ("public/index.php", "<?php echo 'hello';"),
        ],
        code: 3,
        measured: &[],
        told: &["the PHP extension pdo_firebird", "-interbase"],
    },
    Row {
        name: "a page that prints what it runs on, its time and its memory",
        files: &[(
            "public/index.php",
            "<?php $id = '<p>Laravel (PHP v' . PHP_VERSION . ', ' . PHP_SAPI . ')</p>';\n\
             echo str_repeat(\"<p>line</p>\\n\", 40), $id, '<p>Page rendered in ', sprintf('%.4f', mt_rand(1, 9999) / 1e4), \
             ' seconds using ', sprintf('%.2f', mt_rand(100, 999) / 100), ' MB of memory.</p>';",
        )],
        code: 0,
        measured: BOTH,
        told: &["varies: duration, memory", "may differ by runtime: PHP version, SAPI"],
    },
    Row {
        name: "twelve cookies of 3 KB",
        files: &[(
            "public/index.php",
            "<?php foreach (range(1, 12) as $n) { setcookie(\"c$n\", str_repeat('x', 3000)); } echo 'welcome';",
        )],
        code: 5,
        measured: &["php-cli-server"],
        told: &["--set nginx-fpm.fastcgi_buffer_size=65536 (now 4096)", "recorded on php-cli-server"],
    },
    Row {
        name: "an environment that lacks a key: its own words are shown",
        files: &[(
            "public/index.php",
            "<?php error_log('PHP Fatal error: MissingAppKeyException: No application encryption key has been specified.');\n\
             http_response_code(500);",
        )],
        code: 5,
        measured: &[],
        told: &["500 Internal Server Error", "No application encryption key has been specified", "APP_KEY"],
    },
];

fn compare(stage: &Stage, files: &[(&str, &str)], runtimes: &str) -> (tempfile::TempDir, Said) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let args = ["compare", ".", "--runtimes", runtimes, "--no-yard-stick", "--json", "-"];
    let short = ["--cpus", "0.5", "--memory", "128Mi", "--duration", "500ms", "--warm-up", "200ms", "--rounds", "1"];
    let said = stage.run_in(folder.path(), &[&args[..], &short].concat());
    (folder, said)
}

fn assert_row(name: &str, said: &Said, code: i32, measured: &[&str], told: &[&str]) {
    assert_eq!(said.code, Some(code), "{name}: {}", said.stderr);
    let words = format!("{} {}", said.stderr, said.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in told {
        assert!(words.contains(part), "{name}: {part}\n{}", said.stderr);
    }
    let study: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let is_measured = |case: &&Value| case["trials"][0]["outcome"] == "measured";
    let cases = study["cases"].as_array().into_iter().flatten().filter(is_measured);
    assert_eq!(cases.map(|case| case["id"].as_str().unwrap()).collect::<Vec<_>>(), measured, "{name}: {}", said.stderr);
}

#[test]
fn each_ends_with_a_table_or_with_what_to_do() {
    if !have("each_ends_with_a_table_or_with_what_to_do", &["nginx", "php-fpm", "php"]) {
        return;
    }
    let stage = Stage::new();
    for Row { name, files, code, measured, told } in &ROWS {
        let (_folder, said) = compare(&stage, files, &BOTH.join(","));
        assert_row(name, &said, *code, measured, told);
    }
    stage.assert_nothing_left();
}

#[test]
fn rules_that_apache_cannot_read_are_one_row() {
    if !have("rules_that_apache_cannot_read_are_one_row", &["nginx", "php-fpm", "apache2"]) {
        return;
    }
    let stage = Stage::new();
    for (rules, runtimes, measured, told) in [
        (
            "Options -Indexes\n# Bogus\nBogus On\n",
            "nginx-fpm,apache-fpm",
            &["nginx-fpm"][..],
            "fix: public/.htaccess:3: Invalid command 'Bogus': correct its name",
        ),
        (
            "php_value memory_limit 1G\n",
            "apache-fpm",
            &[],
            "fix: public/.htaccess:1: Invalid command 'php_value': write it under ini in stampede.yaml",
        ),
        (
            "Options -Indexes\nDocumentRoot /srv\n",
            "apache-fpm",
            &[],
            "fix: public/.htaccess:2: DocumentRoot not allowed here: remove it",
        ),
        (
            "<IfModule mod_rewrite.c>\nRewriteEngine On\nRewriteBase / /shop\n</IfModule>\n",
            "apache-fpm",
            &[],
            "fix: public/.htaccess:3: RewriteBase takes one argument, ",
        ),
        (
            "Options -Indexes\n<IfModule mod_missing.c>\nRewriteEngine On\n",
            "apache-fpm",
            &[],
            "fix: public/.htaccess:2: Expected </IfModule> before end of configuration: write its end",
        ),
    ] {
        let files = [("public/index.php", "<?php echo 'hello';"), ("public/.htaccess", rules)];
        let (_folder, said) = compare(&stage, &files, runtimes);
        assert_row(rules, &said, 5, measured, &[told]);
    }
    stage.assert_nothing_left();
}
