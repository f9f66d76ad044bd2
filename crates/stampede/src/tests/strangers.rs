//! Applications that nobody wrote for Stampede: what is found of each by looking at its folder, and what comes of it.

use std::fs;
use std::sync::Arc;

use stampede_core::{Answer, Request};
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp, runtime};

fn lay(machine: &MadeUp, files: &[(&str, &str)]) -> String {
    let app = machine.path("app");
    for (name, text) in files {
        let path = app.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    app.display().to_string()
}

fn html(body: String) -> Answer {
    Answer { status: 200, headers: vec![("Content-Type".to_owned(), "text/html".to_owned())], body: body.into_bytes() }
}

const BOTH: [&str; 6] = ["--runtimes", "nginx-fpm,php-cli-server", "--rounds", "1", "--no-yard-stick", "--json"];

#[test]
fn the_layouts_of_frameworks_are_served_from_their_public_folders() {
    let plan = "app:\n  dir: .\n  extensions: []\n  prepare: []\n  \
                requests: [{path: /}, {path: /style.css}, {path: /some/page}]\n";
    for (name, package, root, more) in [
        ("CakePHP", "cakephp/cakephp", "webroot", &[][..]),
        ("Nette", "nette/application", "www", &[]),
        ("ThinkPHP", "topthink/framework", "public", &[]),
        ("Drupal", "drupal/core", "web", &["web/core/lib/Drupal.php"]),
        ("WordPress", "", ".", &["wp-load.php", "wp-settings.php", "wp-includes/version.php"]),
        ("Bedrock", "roots/wordpress", "web", &["web/wp/wp-load.php"]),
    ] {
        let machine = MadeUp::new(move |launch| {
            // Each server is told of the folder; in a copy of the application, whose place the platform fills in.
            let public = if root == "." { "@{app}".to_owned() } else { format!("@{{app}}/{root}") };
            assert!(format!("{:?}", launch.deployment).contains(&public), "{name}: {:#?}", launch.deployment);
            let answer = |request: &Request| match request.path.as_str() {
                "/style.css" => Answer {
                    status: 200,
                    headers: vec![("Content-Type".to_owned(), "text/css".to_owned())],
                    body: b"a { color: red }\n".to_vec(),
                },
                path => html(format!("page {path}\n")),
            };
            FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
        });
        let composer = match package {
            "" => "{}".to_owned(),
            package => format!(r#"{{"require": {{"{package}": "*"}}}}"#),
        };
        let (index, style) = (format!("{root}/index.php"), format!("{root}/style.css"));
        let mut files = vec![
            ("composer.json", &*composer),
            ("stampede.yaml", plan),
            (&*index, "<?php echo 'page';"),
            (&*style, "a { color: red }\n"),
        ];
        files.extend(more.iter().map(|file| (*file, "<?php\n")));
        let app = lay(&machine, &files);
        let said = machine.run(&[&["compare", &app][..], &BOTH, &["-"]].concat());
        assert_eq!(said.code, 0, "{name}: {said:?}");
        for part in [name, "GET /style.css: status 200 OK, 17 bytes", "GET /some/page: status 200 OK, 16 bytes"] {
            assert!(said.words().contains(part), "{name}: {part}\n{}", said.stderr);
        }
        let told = said.json()["cases"][0]["public_folder"].to_string();
        let public = if root == "." { "its files" } else { root };
        assert!(told.contains(public), "{name}: {told}");
    }
}

#[test]
fn an_extension_that_configuration_asks_for_is_loaded() {
    let machine = MadeUp::new(|_| FakeLifetime::serving("7 rows", 1000.0));
    let app = lay(
        &machine,
        &[
            ("composer.json", r#"{"require": {"php": ">=8.1"}}"#),
            (".env", "DB_CONNECTION=sqlite\n"),
            ("stampede.yaml", "app: {dir: ., extensions: minimal}\n"),
            ("public/index.php", "<?php echo 7, ' rows';"),
        ],
    );
    let said = machine.run(&[&["compare", &app][..], &BOTH, &["-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["pdo_sqlite", "GET /: status 200 OK, 6 bytes"] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
}

#[test]
fn a_page_may_print_its_runtime_its_time_and_its_memory() {
    let machine = MadeUp::new(|launch| {
        let sapi = if runtime(launch) == "php-fpm" { "fpm-fcgi" } else { "cli-server" };
        let asked = std::sync::atomic::AtomicUsize::new(launch.number * 1000);
        let answer = move |_: &Request| {
            let number = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let (time, memory) = (number * 7919 % 9999, 100 + number * 137 % 900);
            html(format!(
                "{}<p>Laravel (PHP v8.4.1, {sapi})</p><p>Page rendered in 0.{time:04} seconds using {}.{:02} MB of memory.</p>",
                "<p>line</p>\n".repeat(40),
                memory / 100,
                memory % 100
            ))
        };
        FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = lay(&machine, &[("public/index.php", "<?php echo 'page';")]);
    let said = machine.run(&[&["compare", &app][..], &BOTH, &["-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["varies: duration, memory", "may differ by runtime: PHP version, SAPI"] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
}

#[test]
fn files_of_the_public_folder_are_loaded_beside_pages() {
    let machine = MadeUp::new(|_| FakeLifetime {
        answer: Arc::new(|request: &Request| {
            let (kind, body) = match request.path.as_str() {
                "/style.css" => ("text/css", "a { color: red }\n".to_owned()),
                "/img/logo.svg" => ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>\n".to_owned()),
                path => ("text/html", format!("<p>page of {path}</p>")),
            };
            Answer { status: 200, headers: vec![("Content-Type".to_owned(), kind.to_owned())], body: body.into_bytes() }
        }),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let plan = "app:\n  dir: .\n  requests: [{path: /}, {path: /style.css}, {path: /img/logo.svg}, {path: /about}]\n";
    let app = lay(
        &machine,
        &[
            ("stampede.yaml", plan),
            ("public/index.php", "<?php echo '<p>page of ', $_SERVER['REQUEST_URI'], '</p>';"),
            ("public/style.css", "a { color: red }\n"),
            ("public/img/logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n"),
        ],
    );
    let runtimes = "nginx-fpm,apache-fpm,php-cli-server";
    let said =
        machine.run(&["compare", &app, "--runtimes", runtimes, "--rounds", "1", "--no-yard-stick", "--json", "-"]);
    assert_eq!(said.code, 0, "{said:?}");
    let study = said.json();
    let cases = study["cases"].as_array().unwrap();
    let measured = cases.iter().filter(|case| case["trials"][0]["outcome"] == "measured");
    assert_eq!(measured.map(|case| case["id"].as_str().unwrap()).collect::<Vec<_>>().join(","), runtimes);
    assert_eq!(cases[0]["public_folder"], "public: its files, the rest to the front controller");
    for part in
        ["GET /style.css: status 200 OK, 17 bytes", "GET /img/logo.svg: status 200 OK", "GET /about: status 200 OK"]
    {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
}

#[test]
fn a_laravel_application_is_known_by_its_files() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = lay(
        &machine,
        &[
            ("artisan", ""),
            ("bootstrap/app.php", "<?php\nreturn new Illuminate\\Foundation\\Application();\n"),
            ("config/app.php", "<?php\nreturn ['name' => 'Hello'];\n"),
            ("public/index.php", "<?php\n$app = require __DIR__ . '/../bootstrap/app.php';\n"),
        ],
    );
    let said = machine.run(&[&["compare", &app][..], &BOTH, &["-"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["is a Laravel application: front-controller public/index.php", "GET /: status 200 OK, 6 bytes"] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
}
