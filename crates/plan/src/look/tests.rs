use std::path::Path;

use super::*;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn an_application_is_known_by_its_files() {
    for (files, title, kind, index) in [
        (
            &["artisan", "bootstrap/app.php", "public/index.php"][..],
            "Laravel application",
            "front-controller",
            Some("public/index.php"),
        ),
        (
            &["config/bundles.php", "src/Kernel.php", "public/index.php", "bin/console"],
            "Symfony application",
            "front-controller",
            Some("public/index.php"),
        ),
        (&["wp-load.php", "index.php", "wp-config.php"], "WordPress site", "front-controller", Some("index.php")),
        (&["public/index.php", "index.php"], "PHP application", "front-controller", Some("public/index.php")),
        (&["web/index.php"], "PHP application", "front-controller", Some("web/index.php")),
        (&["index.php", "composer.json"], "PHP application", "front-controller", Some("index.php")),
    ] {
        let folder = folder(&files.iter().map(|file| (*file, "")).collect::<Vec<_>>());
        let found = look(folder.path()).unwrap();
        assert_eq!((found.title, found.kind, found.index.as_deref()), (title, kind, index.map(Path::new)), "{files:?}");
    }
    let go = folder(&[("go.mod", "module m\n"), ("main.go", "package main\n\nfunc main() {}\n")]);
    assert_eq!(look(go.path()).unwrap().kind, "go-program");
}

#[test]
fn a_framework_is_known_by_its_package_too() {
    let own = r#"{"require": {"laravel/framework": "^11.0"}}"#;
    let app = folder(&[("composer.json", own), ("public/index.php", "")]);
    let found = look(app.path()).unwrap();
    assert_eq!(
        (found.title, found.packages.as_slice()),
        ("Laravel application", &["laravel/framework ^11.0".to_owned()][..])
    );
}

#[test]
fn a_folder_that_cannot_be_served_says_why() {
    for (files, problem) in [
        (&[][..], "holds no application that is known by its files"),
        (&[("handler.php", "")], "holds no application that is known by its files"),
        (&[("go.mod", "module m\n"), ("m.go", "package m\n")], "a Go module without a main package"),
    ] {
        let error = look(folder(files).path()).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn composers_files_say_versions_and_extensions() {
    let lock = r#"{"packages": [
        {"name": "symfony/framework-bundle", "version": "v7.1.2", "require": {"php": ">=8.2", "ext-xml": "*"}},
        {"name": "symfony/polyfill-intl-icu", "version": "v1.30.0", "provide": {"ext-intl": "*"}},
        {"name": "other/thing", "version": "1.0.0", "require": {"ext-intl": "*", "ext-Ctype": "*", "a/b": "*"}}
    ]}"#;
    let own = r#"{"require": {"php": ">=8.2", "ext-pdo_pgsql": "*", "symfony/framework-bundle": "7.1.*"}}"#;
    let app = folder(&[
        ("composer.json", own),
        ("composer.lock", lock),
        ("config/bundles.php", ""),
        ("src/Kernel.php", ""),
        ("bin/console", ""),
        ("public/index.php", "<?php curl_init();"),
    ]);
    let found = look(app.path()).unwrap();
    assert_eq!(found.packages, ["symfony/framework-bundle v7.1.2"]);
    assert_eq!(found.extensions, ["ctype", "fileinfo", "iconv", "mbstring", "pdo_pgsql", "tokenizer", "xml"]);
    assert_eq!(found.env.get("APP_ENV").map(String::as_str), Some("prod"));
    assert_eq!(found.prepare, [["php", "bin/console", "cache:warmup", "--no-interaction"]]);
    assert!(found.remarks.iter().any(|remark| remark.contains("run composer install")), "{:?}", found.remarks);
    assert!(found.remarks.contains(&"it asks for PHP >=8.2".to_owned()));
    let installed = r#"{"packages": [{"name": "symfony/framework-bundle", "version": "v7.1.9"}]}"#;
    fs::create_dir_all(app.path().join("vendor/composer")).unwrap();
    fs::write(app.path().join("vendor/composer/installed.json"), installed).unwrap();
    fs::write(app.path().join("vendor/autoload.php"), "").unwrap();
    let found = look(app.path()).unwrap();
    assert_eq!(found.packages, ["symfony/framework-bundle v7.1.9"]);
    assert_eq!(found.remarks, ["it asks for PHP >=8.2"]);
    assert_eq!((found.kind, found.index), ("symfony", None), "a kept kernel has no front controller");
}

#[test]
fn scripts_without_composer_say_their_extensions_by_what_they_call() {
    let app = folder(&[
        ("index.php", "<?php echo mb_strlen('a'); if (function_exists('curl_init')) {} $my_mysqli_x = 1;"),
        ("lib/db.php", "<?php $db = new PDO('sqlite:' . __DIR__);"),
        ("vendor/x.php", "<?php new ZipArchive();"),
        ("notes.txt", "imagecreate("),
    ]);
    assert_eq!(
        look(app.path()).unwrap().extensions,
        ["ctype", "fileinfo", "iconv", "mbstring", "pdo", "pdo_sqlite", "tokenizer"]
    );
}
