mod layouts;

use std::path::Path;

use super::*;

/// A look at what is there.
fn look(folder: &Path, index: Option<&Path>) -> Result<Look, Unfit> {
    super::look(folder, index, Packages::Here)
}

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

fn empty(files: &[&str]) -> tempfile::TempDir {
    folder(&files.iter().map(|file| (*file, "")).collect::<Vec<_>>())
}

/// A `composer.json` that requires these packages.
fn requires(packages: &[&str]) -> String {
    let packages: Vec<_> = packages.iter().map(|name| format!("\"{name}\": \"^1.0\"")).collect();
    format!("{{\"require\": {{{}}}}}", packages.join(", "))
}

#[test]
fn a_framework_is_known_by_its_package_too() {
    let own = r#"{"require": {"laravel/framework": "^11.0"}}"#;
    let app = folder(&[("composer.json", own), ("public/index.php", "")]);
    let found = look(app.path(), None).unwrap();
    assert_eq!(
        (found.title, found.packages.as_slice()),
        ("Laravel application", &["laravel/framework ^11.0".to_owned()][..])
    );
}

#[test]
fn a_folder_that_cannot_be_served_says_why() {
    let bad = ("composer.json", "{\n  \"require\": {\n    oops\n  }\n}\n");
    let contao = requires(&["contao/manager-bundle"]);
    for (files, problem, fix) in [
        (&[][..], "holds no known application", None),
        (&[("handler.php", "")], "holds no known application", None),
        (&[("go.mod", "module m\n"), ("m.go", "package m\n")], "holds a Go module without a main package", None),
        (
            &[bad, ("index.php", "")],
            "has a composer.json that is no JSON: key must be a string at line 3 column 5",
            Some("correct it"),
        ),
        (
            &[("composer.json", "{}"), ("composer.lock", "{"), ("index.php", "")],
            "has a composer.lock that is no JSON: EOF while parsing an object at line 1 column 1",
            Some("correct it"),
        ),
        (
            &[("composer.json", contao.as_str())],
            "holds a Contao site without its front controller public/index.php",
            Some("run php vendor/bin/contao-setup there"),
        ),
        (
            &[("init", ""), ("environments/index.php", ""), ("common/config/main.php", "")],
            "holds a Yii 2 application (advanced template) without its front controller frontend/web/index.php",
            Some("run php init --env=Production --overwrite=All there"),
        ),
        (
            &[("composer.json", &requires(&["slim/slim"]))],
            "holds a Slim application without its front controller public/index.php",
            Some("name it with --index, or write index in a stampede.yaml"),
        ),
    ] {
        let error = look(folder(files).path(), None).unwrap_err();
        assert!(error.problem.starts_with(problem), "{error:?}");
        assert_eq!(error.fix.as_deref(), fix);
    }
}

#[test]
fn an_application_one_folder_down_is_named() {
    let app = folder(&[
        ("api/composer.json", &requires(&["api-platform/symfony"])),
        ("api/public/index.php", ""),
        ("vendor/a/index.php", ""),
        (".git/index.php", ""),
        ("docs/readme.md", ""),
    ]);
    let place = app.path().join("api").display().to_string();
    let told = Unfit::fixed(
        format!("holds no application itself; {place} holds one (API Platform application)"),
        format!("stampede compare {place}"),
    );
    assert_eq!(look(app.path(), None).unwrap_err(), told);
    fs::create_dir_all(app.path().join("shop")).unwrap();
    fs::write(app.path().join("shop/index.php"), "").unwrap();
    let told = look(app.path(), None).unwrap_err();
    let shop = app.path().join("shop").display().to_string();
    assert!(
        told.problem
            .ends_with(&format!("{place} holds one (API Platform application), {shop} holds one (PHP application)"))
    );
    assert_eq!(told.fix, Some(format!("stampede compare {place}")));
}

#[test]
fn a_public_folder_that_leads_out_is_refused() {
    let (app, outside) = (empty(&["a.txt"]), empty(&["index.php"]));
    std::os::unix::fs::symlink(outside.path(), app.path().join("public")).unwrap();
    let told = look(app.path(), None).unwrap_err();
    assert!(told.problem.starts_with("has a front controller public/index.php that leads out of it to /"), "{told:?}");
    // A link within is none.
    let app = empty(&["releases/2/public/index.php"]);
    std::os::unix::fs::symlink("releases/2/public", app.path().join("public")).unwrap();
    assert_eq!(look(app.path(), None).unwrap().index, Some("public/index.php".into()));
}

#[test]
fn a_folder_without_read_permission_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let app = empty(&["index.php"]);
    fs::set_permissions(app.path(), fs::Permissions::from_mode(0o000)).unwrap();
    let read = look(app.path(), None);
    fs::set_permissions(app.path(), fs::Permissions::from_mode(0o755)).unwrap();
    match read {
        Err(told) => assert!(told.problem.starts_with("cannot be read: Permission denied"), "{told:?}"),
        // Root reads everything.
        Ok(found) => assert_eq!(found.index, Some("index.php".into())),
    }
    let told = look(&app.path().join("nowhere"), None).unwrap_err();
    assert!(told.problem.starts_with("cannot be read: No such file"), "{told:?}");
}

#[test]
fn of_several_front_controllers_one_is_chosen_with_its_reason() {
    let both = empty(&["public/index.php", "web/index.php", "index.php"]);
    let found = look(both.path(), None).unwrap();
    assert_eq!(found.index, Some("public/index.php".into()));
    assert_eq!(
        found.remarks,
        [
            "web/index.php is there too; public comes before web (--index web/index.php chooses it)",
            "index.php is there too; public comes before the folder itself (--index index.php chooses it)",
        ]
    );
    let found = look(both.path(), Some(Path::new("./web/index.php"))).unwrap();
    assert_eq!((found.index, found.site.root), (Some("web/index.php".into()), Some("web".into())));
    assert_eq!(found.remarks, [""; 0]);
    for (index, problem) in [
        ("web/none.php", "has no script web/none.php"),
        ("../a/index.php", "cannot be served by ../a/index.php, which is not a path within it"),
        ("/a/index.php", "cannot be served by /a/index.php, which is not a path within it"),
    ] {
        assert_eq!(look(both.path(), Some(Path::new(index))).unwrap_err().problem, problem);
    }
}

#[test]
fn two_applications_in_one_folder_are_both_named() {
    let app = empty(&[
        "artisan",
        "bootstrap/app.php",
        "public/index.php",
        "wp-load.php",
        "wp-settings.php",
        "wp-includes/version.php",
        "wp-config.php",
        "index.php",
    ]);
    let found = look(app.path(), None).unwrap();
    assert_eq!((found.framework, found.index), (Some("laravel"), Some("public/index.php".into())));
    let told =
        "index.php would be a WordPress site; Laravel application comes first here (--index index.php chooses it)";
    assert_eq!(found.remarks[0], told);
    let found = look(app.path(), Some(Path::new("index.php"))).unwrap();
    assert_eq!((found.framework, found.kind, found.index), (Some("wordpress"), "scripts", Some("index.php".into())));
}

#[test]
fn a_worker_keeps_what_its_row_and_its_front_controller_allow() {
    let closure = "<?php\nuse App\\Kernel;\nrequire_once dirname(__DIR__).'/vendor/autoload_runtime.php';\n\
        return fn (array $context) => new Kernel($context['APP_ENV'], (bool) $context['APP_DEBUG']);\n";
    let other =
        "<?php\nrequire_once dirname(__DIR__).'/vendor/autoload_runtime.php';\nreturn fn () => Own::kernel();\n";
    let own = "<?php\nrequire_once dirname(__DIR__).'/vendor/autoload_runtime.php';\n\
        return static function (array $context) { return new \\Acme\\ShopKernel($context['APP_ENV'], false, 1); };\n";
    let cached = "<?php\nrequire_once dirname(__DIR__).'/vendor/autoload_runtime.php';\n\
        return fn (array $context) => new HttpCache(new Kernel($context['APP_ENV'], false));\n";
    for (packages, index, kind, remark) in [
        (&["symfony/framework-bundle"][..], closure, "symfony", ""),
        (&["symfony/framework-bundle"], own, "symfony", ""),
        (&["symfony/framework-bundle"], cached, "front-controller", NO_CLOSURE),
        (&["sylius/sylius", "symfony/framework-bundle"], closure, "symfony", ""),
        (&["symfony/framework-bundle"], other, "front-controller", NO_CLOSURE),
        (&["sulu/sulu", "symfony/framework-bundle"], closure, "front-controller", "no worker can keep it"),
        (&["contao/manager-bundle"], closure, "front-controller", "no worker can keep it"),
        (&["shopware/core"], closure, "front-controller", "no worker can keep it"),
        (&["laravel/framework"], "", "laravel", ""),
        (&["laravel/framework", "statamic/cms"], "", "laravel", ""),
        (&["laravel/lumen-framework"], "", "front-controller", ""),
    ] {
        let app = folder(&[
            ("composer.json", &requires(packages)),
            ("vendor/autoload.php", ""),
            ("src/Kernel.php", ""),
            ("public/index.php", index),
            (".env", ""),
        ]);
        let found = look(app.path(), None).unwrap();
        assert_eq!(found.kind, kind, "{packages:?}");
        let is_told = found.remarks.iter().any(|told| !remark.is_empty() && told.starts_with(remark));
        assert_eq!(is_told, !remark.is_empty(), "{packages:?} {:?}", found.remarks);
    }
    let app = folder(&[
        ("composer.json", r#"{"require": {"symfony/framework-bundle": "7"}, "extra": {"public-dir": "html/"}}"#),
        ("vendor/autoload.php", ""),
        ("src/Kernel.php", ""),
        ("html/index.php", closure),
    ]);
    let found = look(app.path(), None).unwrap();
    assert_eq!((found.kind, found.index), ("front-controller", Some("html/index.php".into())));
    assert_eq!(found.remarks, [OTHER_FRONT]);
}

#[test]
fn packages_of_developers_say_nothing() {
    let installed = r#"{"packages": [
        {"name": "laravel/framework", "version": "v11", "require": {"ext-intl": "*"}},
        {"name": "slim/slim", "version": "4.1", "require": {"ext-json": "*"}}
    ], "dev-package-names": ["laravel/framework"]}"#;
    let app = folder(&[("vendor/composer/installed.json", installed), ("public/index.php", "")]);
    let found = look(app.path(), None).unwrap();
    assert_eq!((found.title, found.packages), ("Slim application", vec!["slim/slim 4.1".to_owned()]));
    assert_eq!(found.extensions, ["ctype", "fileinfo", "iconv", "json", "tokenizer"]);
}

#[test]
fn a_row_says_what_else_is_known() {
    let app = folder(&[
        ("bin/cake", ""),
        ("webroot/index.php", ""),
        ("webroot/info.php", ""),
        ("index.php", ""),
        ("tmp/a", ""),
        ("logs/a", ""),
        ("templates/Pages/home.php", "<?php throw new NotFoundException('replace me');"),
    ]);
    let found = look(app.path(), None).unwrap();
    assert_eq!(found.logs, ["logs/error.log", "logs/debug.log"].map(PathBuf::from));
    assert_eq!(found.writable, ["tmp", "logs"].map(PathBuf::from));
    assert_eq!(found.env, BTreeMap::from([("DEBUG".to_owned(), "false".to_owned())]));
    assert!(found.keys.contains(&"DATABASE_URL"));
    assert!(found.remarks[0].starts_with("its home page is an error"), "{:?}", found.remarks);
    assert_eq!(
        found.remarks[1],
        "webroot/info.php is not served as a script: write kind: scripts where production runs it"
    );
    assert_eq!(logs(app.path()), found.logs);
    let served = crate::application::in_folder(app.path(), None, Packages::Here).unwrap();
    assert_eq!(served.workload.apps[0].logs, found.logs);
}

#[test]
fn an_application_that_brings_its_server_says_how_to_run_it() {
    let app = folder(&[(".rr.yaml", "version: '3'\n"), ("worker.php", "")]);
    let found = look(app.path(), None).unwrap();
    assert_eq!((found.framework, found.kind, found.title), (Some("roadrunner"), "command", "RoadRunner application"));
    let keys = found.command.unwrap().keys();
    assert_eq!(
        keys,
        [
            (
                "run",
                "[rr, serve, \"-c\", \".rr.yaml\", \"-o\", \"http.address=@{front}\", \"-o\", \
                 \"http.pool.num_workers=${WORKERS}\", \"-o\", \"rpc.listen=unix://@{app}/rr.sock\"]"
                    .to_owned()
            ),
            ("stop", "{signal: TERM}".to_owned()),
            ("tunables", "{WORKERS: {min: 1, max: 1024, default: '5'}}".to_owned()),
        ]
    );
    let process = "<?php\nreturn ['webman' => [\n  'listen' => 'http://0.0.0.0:8787',\n  'count' => 4,\n]];\n";
    let hyperf = "<?php\nreturn ['servers' => [[\n'host' => '0.0.0.0',\n'port' => 9501,\n]], 'settings' => [\n\
        Constant::OPTION_WORKER_NUM => 4,\n]];\n";
    let workerman = "<?php\n$worker = new Worker('http://0.0.0.0:80');\n$worker->count = 4;\nWorker::runAll();\n";
    let swoole = "<?php\nuse Swoole\\Http\\Server;\n\n$server = new Server('0.0.0.0', 9501);\n\
        $server->set([\n'worker_num' => 2,\n]);\n";
    let webman = [("start.php", ""), ("config/process.php", process), ("support/bootstrap.php", "")];
    for (files, name, run, replaced) in [
        (
            &webman[..],
            "webman",
            "[php, start.php, start]",
            &["'listen' => 'http://@{front}',", "'count' => (int) getenv('WORKERS'),"][..],
        ),
        (
            &[("bin/hyperf.php", ""), ("config/autoload/server.php", hyperf)],
            "hyperf",
            "bin/hyperf.php, start]",
            &[
                "'host' => '@{front.host}',",
                "'port' => @{front.port},",
                "OPTION_WORKER_NUM => (int) getenv('WORKERS'),",
            ],
        ),
        (
            &[("start.php", workerman)],
            "workerman",
            "[php, start.php, start]",
            &["new Worker('http://@{front}');", "$worker->count = (int) getenv('WORKERS');"],
        ),
        (
            &[("bin/server.php", swoole)],
            "swoole",
            "[php, bin/server.php]",
            &["new Server('@{front.host}', @{front.port});", "'worker_num' => (int) getenv('WORKERS'),"],
        ),
        (
            &[("a.php", "<?php new SocketHttpServer();\n$server->expose('0.0.0.0:1337');\n")],
            "amphp",
            "[php, a.php]",
            &["->expose('@{front}');"],
        ),
    ] {
        let found = look(folder(files).path(), None).unwrap();
        assert_eq!((found.framework, found.kind), (Some(name), "command"));
        let keys = found.command.unwrap().keys();
        assert!(keys[0].1.ends_with(run), "{keys:?}");
        replaced.iter().for_each(|part| assert!(keys[1].1.contains(&part.replace('"', "\\\"")), "{part}\n{keys:?}"));
    }
    let process = "<?php\nreturn ['webman' => [\n  'listen' => config('app.listen'),\n  'count' => 4,\n]];\n";
    for (files, name, parts) in [
        (
            &[("start.php", ""), ("config/process.php", process), ("support/bootstrap.php", "")][..],
            "webman",
            &[
                "config/process.php:3: 'listen' => 'http://' . getenv('HOST') . ':' . getenv('PORT'),",
                "config/process.php:4: 'count' => (int) getenv('WORKERS'),",
                "run: [php, start.php, start]",
                "stop: {signal: INT}",
            ][..],
        ),
        (
            &[("bin/hyperf.php", "")],
            "hyperf",
            &["config/autoload/server.php: 'host' =>", "env: {APP_ENV: \"prod\", SCAN_CACHEABLE: \"(true)\"}"],
        ),
        (&[("a.php", "<?php new SocketHttpServer();")], "amphp", &["a.php: ->expose(", "stop: {signal: TERM}"]),
        (
            &[("a.php", "<?php new React\\Http\\HttpServer();")],
            "reactphp",
            &["a.php: new React\\Socket\\SocketServer("],
        ),
    ] {
        let told = look(folder(files).path(), None).unwrap_err();
        assert_eq!(told.framework, Some(name));
        let fix = told.fix.unwrap();
        parts.iter().for_each(|part| assert!(fix.contains(part), "{part}\n{fix}"));
    }
    let app = empty(&[".rr.yaml", "public/index.php"]);
    let found = look(app.path(), None).unwrap();
    assert_eq!((found.framework, found.kind), (None, "front-controller"));
    assert!(found.remarks[0].starts_with("it has a .rr.yaml too"), "{:?}", found.remarks);
}

#[test]
fn composers_files_say_versions_and_extensions() {
    let lock = r#"{"packages": [
        {"name": "symfony/framework-bundle", "version": "v7.1.2", "require": {"php": ">=8.2", "ext-xml": "*"}},
        {"name": "symfony/polyfill-intl-icu", "version": "v1.30.0", "provide": {"ext-intl": "*"}},
        {"name": "other/thing", "version": "1.0.0", "require": {"ext-intl": "*", "ext-Ctype": "*", "a/b": "*"}},
        {"name": "spiral/goridge", "version": "4.2.0", "require": {"ext-json": "*", "ext-sockets": "*"}}
    ]}"#;
    let own = r#"{"require": {"php": ">=8.2", "ext-pdo_pgsql": "*", "symfony/framework-bundle": "7.1.*"}}"#;
    let app = folder(&[
        ("composer.json", own),
        ("composer.lock", lock),
        ("config/bundles.php", ""),
        ("src/Kernel.php", ""),
        ("bin/console", ""),
        (
            "public/index.php",
            "<?php curl_init(); require 'autoload_runtime.php'; fn () => new Kernel(App\\Kernel::class);",
        ),
    ]);
    let found = look(app.path(), None).unwrap();
    assert_eq!(found.packages, ["symfony/framework-bundle v7.1.2"]);
    assert_eq!(found.extensions, ["ctype", "fileinfo", "iconv", "mbstring", "pdo_pgsql", "tokenizer", "xml"]);
    assert_eq!(found.env.get("APP_ENV").map(String::as_str), Some("prod"));
    assert_eq!(found.prepare, [["php", "bin/console", "cache:clear", "--no-interaction"]]);
    assert!(found.remarks.iter().any(|remark| remark.contains("run composer install")), "{:?}", found.remarks);
    assert!(found.remarks.contains(&"it asks for PHP >=8.2".to_owned()));
    assert_eq!((found.kind, &found.install), ("front-controller", &None));
    // Where Composer installs them in copies, its kernel can be kept.
    let installed = super::look(app.path(), None, Packages::Installed).unwrap();
    assert_eq!((installed.kind, installed.index), ("symfony", None));
    assert_eq!(installed.install.unwrap()[..3], ["composer", "install", "--no-dev"]);
    let installed = r#"{"packages": [{"name": "symfony/framework-bundle", "version": "v7.1.9"}]}"#;
    fs::create_dir_all(app.path().join("vendor/composer")).unwrap();
    fs::write(app.path().join("vendor/composer/installed.json"), installed).unwrap();
    fs::write(app.path().join("vendor/autoload.php"), "").unwrap();
    let found = look(app.path(), None).unwrap();
    assert_eq!(found.packages, ["symfony/framework-bundle v7.1.9"]);
    assert_eq!(found.remarks, ["it asks for PHP >=8.2"]);
    assert_eq!((found.kind, found.index), ("symfony", None), "a kept kernel has no front controller");
    assert_eq!(found.site, SiteEntry::default());
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
        look(app.path(), None).unwrap().extensions,
        ["ctype", "fileinfo", "iconv", "mbstring", "pdo", "pdo_sqlite", "tokenizer"]
    );
}

#[test]
fn yii_is_prepared_as_its_front_controller_says_for_production() {
    let index = "<?php\n\n// comment out the following two lines when deployed to production\n\
        defined('YII_DEBUG') or define('YII_DEBUG', true);\ndefined('YII_ENV') or define('YII_ENV', 'dev');\n";
    let app = folder(&[("yii", ""), ("web/index.php", index), ("config/web.php", "")]);
    let found = look(app.path(), None).unwrap();
    assert!(found.remarks.iter().any(|remark| remark.contains("commented out")), "{:?}", found.remarks);
    let [command] = found.prepare.as_slice() else { panic!("{:?}", found.prepare) };
    let (program, args) = command.split_first().unwrap();
    let done = std::process::Command::new(program).args(args).current_dir(app.path()).status().unwrap();
    assert!(done.success());
    let left = fs::read_to_string(app.path().join("web/index.php")).unwrap();
    assert_eq!(left.lines().filter(|line| line.starts_with("// defined('YII_")).count(), 2, "{left}");
    assert!(!left.contains("\ndefined("), "{left}");
}

#[test]
fn tables_are_made_by_the_frameworks_own_commands() {
    let laravel = requires(&["laravel/framework"]);
    let symfony = requires(&["symfony/framework-bundle", "doctrine/doctrine-migrations-bundle"]);
    let base = [("composer.json", &*laravel), ("public/index.php", "")];
    let (migrations, seeder) = ("database/migrations/1_a.php", "database/seeders/DatabaseSeeder.php");
    let made_up = "<?php User::factory(10)->create();";
    for (name, files, commands) in [
        ("no migrations", vec![], &[][..]),
        ("migrations", vec![(migrations, "")], &["artisan migrate"][..]),
        ("and rows", vec![(migrations, ""), (seeder, "<?php")], &["artisan migrate", "artisan db:seed"]),
        ("rows that need a package for development", vec![(migrations, ""), (seeder, made_up)], &["artisan migrate"]),
        (
            "which is there",
            vec![(migrations, ""), (seeder, made_up), ("vendor/fakerphp/faker/a.php", "")],
            &["artisan migrate", "artisan db:seed"],
        ),
        (
            "Doctrine",
            vec![("composer.json", &*symfony), ("migrations/Version1.php", "")],
            &["bin/console doctrine:migrations:migrate"],
        ),
        ("Doctrine without migrations", vec![("composer.json", &*symfony)], &[]),
    ] {
        let app = folder(&[&base[..], &files].concat());
        let found = look(app.path(), None).unwrap().migrations;
        let found: Vec<String> = found.iter().map(|command| command[1..3].join(" ")).collect();
        assert_eq!(found, commands, "{name}");
    }
}
